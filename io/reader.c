/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int out_of_arena(const struct ferry_io *io)
{
    if (io->arena.no_memory)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for the names of its arrays",
                               io->file.path);
    return ferry_error_set(
        FERRY_EFORMAT, "%s: array %lld: names and shapes need more than %llu bytes of memory",
        io->file.path, (long long)io->count, (unsigned long long)io->arena.limit);
}

void *ferry__io_alloc(struct ferry_io *io, size_t size)
{
    void *out = ferry__mem_alloc(&io->arena, size);

    if (!out)
        out_of_arena(io);
    return out;
}

char *ferry__io_string(struct ferry_io *io, const void *bytes, size_t size)
{
    char *out = ferry__mem_copy(&io->arena, bytes, size);

    if (!out)
        out_of_arena(io);
    return out;
}

static const char *make_name(struct ferry_io *io, const struct ferry__io_name *name)
{
    size_t size;
    char *out;

    if (name->name)
        return ferry__io_string(io, name->name, strlen(name->name));
    size = strlen(name->layer) + 24;
    out = ferry__io_alloc(io, size);
    if (out)
        snprintf(out, size, "%s/%lld", name->layer, (long long)name->number);
    return out;
}

/*
 * Returns the previous array's string if it is equal, since the arrays of a layer are consecutive.
 */
static const char *share_string(struct ferry_io *io, const char *text, const char *former)
{
    if (!text || !*text)
        return "";
    if (former && strcmp(text, former) == 0)
        return former;
    return ferry__io_string(io, text, strlen(text));
}

int ferry__io_add(struct ferry_io *io, const struct ferry__io_name *name, ferry_dtype dtype,
                  int rank, const int64_t *shape, struct ferry__io_array **out)
{
    const ferry_io_entry *former = io->last ? &io->last->entry : NULL;
    struct ferry__io_array *array = ferry__io_alloc(io, sizeof(*array));
    int64_t *own_dims = ferry__io_alloc(io, (size_t)rank * sizeof(*shape));

    if (!array || !own_dims)
        return ferry_last_error_code();
    if (rank > 0)
        memcpy(own_dims, shape, (size_t)rank * sizeof(*shape));
    array->entry.name = make_name(io, name);
    array->entry.layer_name = share_string(io, name->layer, former ? former->layer_name : NULL);
    array->entry.layer_type =
        share_string(io, name->layer_type, former ? former->layer_type : NULL);
    if (!array->entry.name || !array->entry.layer_name || !array->entry.layer_type)
        return ferry_last_error_code();
    array->entry.struct_size = sizeof(array->entry);
    array->entry.index = io->count++;
    array->entry.dtype = dtype;
    array->entry.diff_dtype = dtype;
    array->entry.storage = ferry_dtype_name(dtype);
    array->entry.rank = rank;
    array->entry.shape = own_dims;
    array->entry.count = ferry__io_count(rank, shape, 1);
    if (io->last)
        io->last->next = array;
    else
        io->first = array;
    io->last = array;
    *out = array;
    return FERRY_OK;
}

void ferry__io_set_data(struct ferry_io *io, struct ferry__io_array *array,
                        const struct ferry__values *data)
{
    array->data = *data;
    array->entry.stored_bytes = data->size;
    array->entry.storage = data->encoding == FERRY__VALUES_ROWS ? FERRY_IO_I8_ROWS
                           : data->storage                      ? ferry__storage_name(data->storage)
                                                                : ferry_dtype_name(data->dtype);
    if (data->bytes)
        array->entry.offset = (uint64_t)(data->bytes - io->file.bytes);
}

int ferry__io_mark(struct ferry_io *io, struct ferry__io_array *array, const char *storage,
                   const char *why)
{
    array->entry.storage = ferry__io_string(io, storage, strlen(storage));
    array->entry.unreadable = why;
    return array->entry.storage ? FERRY_OK : ferry_last_error_code();
}

int ferry__io_add_metadata(struct ferry_io *io, const char *key, const char *value)
{
    struct ferry__io_metadata *metadata = ferry__io_alloc(io, sizeof(*metadata));

    if (!metadata)
        return ferry_last_error_code();
    metadata->key = key;
    metadata->value = value;
    if (io->last_metadata)
        io->last_metadata->next = metadata;
    else
        io->metadata = metadata;
    io->last_metadata = metadata;
    io->metadata_count++;
    return FERRY_OK;
}
