/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/model/reread.h"

#include "net/model/narrow.h"

#include "op/origin.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ferry__reread {
    pthread_mutex_t lock; /* protects `users`; held while `io` is read */
    unsigned users;
    ferry_io *io;
    char *path;
};

/* The values of one parameter. */
struct values {
    struct ferry__reread *file;
    const ferry_io_entry *entry;
    bool integers; /* of rows of integers (narrow.h), instead of F32 */
};

bool ferry__reread_fits(const ferry_net *net, const ferry_io *io, const ferry_io_entry *entry,
                        const ferry_layer *layer)
{
    const ferry_blob *blob = layer->params[0].blob;
    ferry_io_format format = ferry_io_get_format(io);

    return net->reread && ferry__is_product(layer) &&
           (format == FERRY_IO_CAFFEMODEL || format == FERRY_IO_HDF5) &&
           (entry->dtype == FERRY_F32 || ferry__narrow_fit(net, entry, layer, 0)) &&
           !entry->has_diff && !entry->unreadable &&
           ferry_device_get_properties(ferry_blob_home(blob))->host_memory &&
           (uint64_t)entry->count * sizeof(float) >= FERRY__ORIGIN_BYTES;
}

struct ferry__reread *ferry__reread_open(ferry_io *io, const char *path)
{
    struct ferry__reread *file = malloc(sizeof *file);
    char *copy = strdup(path);

    if (!file || !copy) {
        free(file);
        free(copy);
        return NULL;
    }
    *file = (struct ferry__reread){ .users = 1, .io = io, .path = copy };
    pthread_mutex_init(&file->lock, NULL);
    return file;
}

void ferry__reread_leave(struct ferry__reread *file)
{
    unsigned left;

    if (!file)
        return;
    pthread_mutex_lock(&file->lock);
    left = --file->users;
    pthread_mutex_unlock(&file->lock);
    if (left)
        return;
    ferry_io_close(file->io);
    pthread_mutex_destroy(&file->lock);
    free(file->path);
    free(file);
}

static int changed(const struct ferry__reread *file)
{
    return ferry_error_set(FERRY_EIO,
                           "%.400s: it was overwritten after its weights were loaded, and they "
                           "have to be read again (reread_weights)",
                           file->path);
}

/* Also checks the file after reading, because it may have been overwritten meanwhile. */
static int read_again(void *arg, void *bytes)
{
    const struct values *v = arg;
    struct ferry__reread *file = v->file;
    int err;

    pthread_mutex_lock(&file->lock);
    err = ferry_io_is_unchanged(file->io) ? 0 : changed(file);
    if (!err)
        err = v->integers ? ferry_io_read_integers(file->io, v->entry, bytes, NULL)
                          : ferry_io_read_values(file->io, v->entry, 0, v->entry->count, bytes);
    if (!err && !ferry_io_is_unchanged(file->io))
        err = changed(file);
    pthread_mutex_unlock(&file->lock);
    return err;
}

static void end(void *arg)
{
    struct values *v = arg;

    ferry__reread_leave(v->file);
    free(v);
}

int ferry__reread_bind(struct ferry__reread *file, const ferry_io_entry *entry, ferry_blob *blob)
{
    ferry_memory *memory = ferry_blob_data_memory(blob);
    struct values *v = malloc(sizeof *v);
    int err;

    if (!v || !memory) {
        free(v);
        return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory", file->path);
    }
    *v = (struct values){ .file = file,
                          .entry = entry,
                          .integers = ferry_blob_dtype(blob) == FERRY_I8 };
    err = ferry__origin_create(memory, read_again, end, v);
    if (err) {
        free(v);
        return err;
    }
    pthread_mutex_lock(&file->lock);
    file->users++;
    pthread_mutex_unlock(&file->lock);
    return 0;
}

int ferry__reread_keep(const ferry_net *net)
{
    int i, k, err = 0;

    for (i = 0; !err && i < net->n_layers; i++)
        for (k = 0; !err && k < net->layers[i].n_params; k++)
            err = ferry__origin_keep(ferry_blob_data_memory(net->layers[i].params[k].blob));
    return err;
}
