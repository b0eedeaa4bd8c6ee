/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The net definition of a caffemodel: bytes given by the caller, or those of another file, with
 * each layer's blobs appended to its other fields.
 */
#ifndef FERRY_IO_WRITE_DEFINITION_H
#define FERRY_IO_WRITE_DEFINITION_H

#include "writer.h"

/*
 * Keeps a copy of the definition. FERRY_EFORMAT for bytes that are not a NetParameter of the
 * current form, or contain blobs. `lender`: the file that owns the bytes, or NULL. Lent bytes are
 * not copied, their blobs are skipped, and only layers with blobs receive new ones.
 */
int ferry__definition_set(ferry_io_writer *w, const void *bytes, size_t size, char *lender);

/* A layer's name, without a terminating NUL. */
struct ferry__definition_name {
    const char *text;
    size_t size;
};

/*
 * Writes the bytes before the blobs of the next layer that the definition calls `former`:
 * everything up to it, its tag, its length including `blobs_size` bytes of blobs, and its own
 * fields with `name` as its name. FERRY_EINVAL if there is no such layer.
 */
int ferry__definition_put_layer(ferry_io_writer *w, struct ferry__definition_name former,
                                struct ferry__definition_name name, uint64_t blobs_size);

/* Writes the bytes after the last layer with blobs. */
int ferry__definition_put_rest(ferry_io_writer *w);

#endif
