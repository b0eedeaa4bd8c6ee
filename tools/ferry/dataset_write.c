/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a database to a temporary folder beside the final one, and renames it at the end. */
#define _XOPEN_SOURCE 700
#include "dataset.h"
#include "dataset_store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dataset_writer {
    const struct dataset_backend *backend;
    void *store;          /* the open database */
    char *folder, *fresh; /* the final name, and the temporary one */
    unsigned char *record;
    size_t room;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes the temporary folder. *w owns `fresh` once the folder exists, and removes it at the end. */
static int make_fresh(struct dataset_writer *w, char *fresh)
{
    if (!w->folder || !fresh)
        return ferry_error_set(FERRY_ENOMEM, "out of memory for the name of a folder");
    if (access(w->folder, F_OK) == 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", w->folder, strerror(EEXIST));
    snprintf(fresh, strlen(w->folder) + 8, "%s.XXXXXX", w->folder);
    if (mkdtemp(fresh)) {
        w->fresh = fresh;
        return 0;
    }
    return ferry_error_set(FERRY_EIO, "%.400s: %s", fresh, strerror(errno));
}

static int make_folder(struct dataset_writer *w, const char *folder)
{
    size_t length = strlen(folder);
    char *fresh;
    mode_t mask;
    int err;

    while (length > 1 && folder[length - 1] == '/')
        length--;
    w->folder = strndup(folder, length);
    fresh = malloc(length + 8);
    err = make_fresh(w, fresh);
    if (err) {
        free(fresh);
        return err;
    }
    mask = umask(0);
    umask(mask);
    (void)chmod(w->fresh, 0777 & ~mask);
    return 0;
}

const struct dataset_backend *dataset_backend_find(const char *name)
{
    static const struct dataset_backend *const backends[] = { &dataset_lmdb, &dataset_leveldb };

    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(name, backends[i]->name))
            return backends[i];
    return NULL;
}

int dataset_create(const char *folder, const struct dataset_backend *backend,
                   struct dataset_writer **out)
{
    struct dataset_writer *w = calloc(1, sizeof *w);
    int err;

    if (!w)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", folder);
    w->backend = backend;
    err = make_folder(w, folder);
    if (!err)
        err = backend->open(w->fresh, w->folder, &w->store);
    if (err)
        dataset_abort(w);
    else
        *out = w;
    return err;
}

/* ---- records --------------------------------------------------------------------------------- */

static unsigned char *put_varint(unsigned char *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *to++ = (unsigned char)(value | 128);
    *to++ = (unsigned char)value;
    return to;
}

static unsigned char *put_number(unsigned char *to, unsigned field, int64_t value)
{
    *to++ = (unsigned char)(field << 3);
    return put_varint(to, (uint64_t)value);
}

/*
 * Encodes fields 1 to 5 and 7 of caffe.proto's Datum: channels, height, width, data, label,
 * encoded.
 */
static int make_record(struct dataset_writer *w, const struct dataset_datum *d, size_t *out)
{
    unsigned char *to = w->record;

    if (w->room < d->size + 80) {
        to = realloc(w->record, d->size + 80);
        if (!to)
            return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory for a record", w->folder);
        w->record = to;
        w->room = d->size + 80;
    }
    if (!d->encoded) {
        to = put_number(to, 1, d->channels);
        to = put_number(to, 2, d->height);
        to = put_number(to, 3, d->width);
    }
    *to++ = 4 << 3 | 2;
    to = put_varint(to, d->size);
    memcpy(to, d->bytes, d->size);
    to = put_number(to + d->size, 5, d->label);
    if (d->encoded)
        to = put_number(to, 7, 1);
    *out = (size_t)(to - w->record);
    return 0;
}

int dataset_put(struct dataset_writer *w, const char *key, const struct dataset_datum *datum)
{
    size_t size = 0;
    int err = make_record(w, datum, &size);

    return err ? err : w->backend->put(w->store, key, w->record, size);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Removes the folder and the files of the database, which contains no folders. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char file[4096];

    while (dir && (entry = readdir(dir)))
        if (snprintf(file, sizeof file, "%s/%s", folder, entry->d_name) < (int)sizeof file)
            unlink(file);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

static void end(struct dataset_writer *w, bool keep)
{
    if (w->store)
        w->backend->close(w->store);
    if (!keep && w->fresh)
        remove_folder(w->fresh);
    free(w->folder);
    free(w->fresh);
    free(w->record);
    free(w);
}

int dataset_commit(struct dataset_writer *w)
{
    int err = w->backend->sync(w->store);

    if (!err) {
        w->backend->close(w->store);
        w->store = NULL;
    }
    if (!err && rename(w->fresh, w->folder) != 0)
        err = ferry_error_set(FERRY_EIO, "%.400s: %s", w->folder, strerror(errno));
    end(w, !err);
    return err;
}

void dataset_abort(struct dataset_writer *w)
{
    if (w)
        end(w, false);
}
