/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The database is written into a folder beside the one that is wanted, which gets its name at the end. Its
 * map grows before it is full: what a transaction held when the map was full would be lost.
 */
#define _XOPEN_SOURCE 700
#include "dataset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FERRY_NET_HAVE_LMDB
#include <lmdb.h>
#endif
#ifdef FERRY_NET_HAVE_PNG
#include <png.h>
#endif

#ifdef FERRY_NET_HAVE_LMDB

#define FIRST_MAP   ((size_t)64 << 20)
#define TRANSACTION 1000 /* records */

struct dataset_writer {
    char *folder, *fresh; /* the name that is wanted, and the one that it has */
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    size_t map, used; /* bytes; no less than what was used */
    int pending;
    unsigned char *record;
    size_t room;
};

static int failed(const struct dataset_writer *w, int code)
{
    return ferry_error_set(code == ENOMEM ? FERRY_ENOMEM : FERRY_EIO, "%.400s: LMDB: %s", w->folder,
                           mdb_strerror(code));
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* `fresh` is the writer's once it is there, for the end to remove. */
static int make_fresh(struct dataset_writer *w, char *fresh)
{
    if (!w->folder || !fresh)
        return ferry_error_set(FERRY_ENOMEM, "no memory for the name of a folder");
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

static int begin(struct dataset_writer *w)
{
    int code = mdb_txn_begin(w->env, NULL, 0, &w->txn);

    if (!code)
        code = mdb_dbi_open(w->txn, NULL, 0, &w->dbi);
    return code ? failed(w, code) : 0;
}

int dataset_create(const char *folder, struct dataset_writer **out)
{
    struct dataset_writer *w = calloc(1, sizeof *w);
    int code, err;

    if (!w)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory", folder);
    w->map = FIRST_MAP;
    err = make_folder(w, folder);
    if (!err) {
        code = mdb_env_create(&w->env);
        if (!code)
            code = mdb_env_set_mapsize(w->env, w->map);
        if (!code)
            code = mdb_env_open(w->env, w->fresh, MDB_NOSYNC | MDB_NOLOCK, 0666);
        err = code ? failed(w, code) : begin(w);
    }
    if (err)
        dataset_abort(w);
    else
        *out = w;
    return err;
}

/* ---- records ------------------------------------------------------------------------------------- */

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

/* Fields 1 to 5 and 7 of caffe.proto's Datum: channels, height, width, data, label, encoded. */
static int make_record(struct dataset_writer *w, const struct dataset_datum *d, MDB_val *out)
{
    unsigned char *to = w->record;

    if (w->room < d->size + 80) {
        to = realloc(w->record, d->size + 80);
        if (!to)
            return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for a record", w->folder);
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
    *out = (MDB_val){ (size_t)(to - w->record), w->record };
    return 0;
}

static int end_transaction(struct dataset_writer *w)
{
    int code = mdb_txn_commit(w->txn);

    w->txn = NULL;
    w->pending = 0;
    return code ? failed(w, code) : 0;
}

/* A record takes its own pages, or a part of one; twice a page more covers the tree above. */
static int make_room(struct dataset_writer *w, size_t size)
{
    size_t wanted = w->used + size + 2 * 4096;
    int code = 0, err;

    if (wanted <= w->map / 2 && w->pending < TRANSACTION) {
        w->used = wanted;
        return 0;
    }
    err = end_transaction(w);
    if (err)
        return err;
    if (wanted > w->map / 2) {
        while (wanted > w->map / 2 && w->map <= SIZE_MAX / 2)
            w->map *= 2;
        code = mdb_env_set_mapsize(w->env, w->map);
    }
    w->used = wanted;
    return code ? failed(w, code) : begin(w);
}

int dataset_put(struct dataset_writer *w, const char *key, const struct dataset_datum *datum)
{
    MDB_val k = { strlen(key), (void *)(uintptr_t)key }, v;
    int code, err = make_record(w, datum, &v);

    if (!err)
        err = make_room(w, k.mv_size + v.mv_size);
    if (err)
        return err;
    code = mdb_put(w->txn, w->dbi, &k, &v, MDB_APPEND);
    w->pending++;
    return code ? failed(w, code) : 0;
}

/* ---- the end ------------------------------------------------------------------------------------- */

static void end(struct dataset_writer *w, bool keep)
{
    char file[4096];

    if (w->txn)
        mdb_txn_abort(w->txn);
    if (w->env)
        mdb_env_close(w->env);
    if (!keep && w->fresh) {
        if (snprintf(file, sizeof file, "%s/data.mdb", w->fresh) < (int)sizeof file)
            unlink(file);
        rmdir(w->fresh);
    }
    free(w->folder);
    free(w->fresh);
    free(w->record);
    free(w);
}

int dataset_commit(struct dataset_writer *w)
{
    int code, err = end_transaction(w);

    if (!err) {
        code = mdb_env_sync(w->env, 1);
        if (code)
            err = failed(w, code);
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

#else

int dataset_create(const char *folder, struct dataset_writer **out)
{
    (void)out;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: this ferry was built without liblmdb",
                           folder);
}

/* There is never a writer. */
int dataset_put(struct dataset_writer *w, const char *key, const struct dataset_datum *datum)
{
    (void)w;
    (void)datum;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: no liblmdb", key);
}

int dataset_commit(struct dataset_writer *w)
{
    return dataset_put(w, "", NULL);
}

void dataset_abort(struct dataset_writer *w)
{
    (void)w;
}

#endif

/* ---- PNG ----------------------------------------------------------------------------------------- */

#ifdef FERRY_NET_HAVE_PNG

static unsigned char *interleave(const struct dataset_datum *d)
{
    size_t area = (size_t)(d->height * d->width), c, i;
    unsigned char *pixels = malloc(d->size);

    for (c = 0; pixels && c < (size_t)d->channels; c++)
        for (i = 0; i < area; i++)
            pixels[i * (size_t)d->channels + c] = d->bytes[c * area + i];
    return pixels;
}

int dataset_png(const struct dataset_datum *d, unsigned char **out, size_t *out_size)
{
    png_image image = { .version = PNG_IMAGE_VERSION };
    unsigned char *pixels = interleave(d), *bytes;
    png_alloc_size_t size = 0;
    bool made;

    image.format = d->channels == 3 ? PNG_FORMAT_BGR : PNG_FORMAT_GRAY;
    image.height = (png_uint_32)d->height;
    image.width = (png_uint_32)d->width;
    size = PNG_IMAGE_PNG_SIZE_MAX(image);
    bytes = malloc(size);
    made = pixels && bytes && png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL);
    free(pixels);
    if (!made) {
        free(bytes);
        return ferry_error_set(FERRY_ENOMEM, "no PNG: %s",
                               image.message[0] ? image.message : "no memory");
    }
    *out = bytes;
    *out_size = size;
    return 0;
}

#else

int dataset_png(const struct dataset_datum *d, unsigned char **out, size_t *out_size)
{
    (void)d;
    (void)out;
    (void)out_size;
    return ferry_error_set(FERRY_EUNSUPPORTED, "this ferry was built without libpng");
}

#endif
