/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A net's definition in a caffemodel: its bytes as the caller gave them, or as another file has them, each
 * layer's blobs behind its other fields.
 */
#ifndef FERRY_IO_WRITE_DEFINITION_H
#define FERRY_IO_WRITE_DEFINITION_H

#include "writer.h"

/*
 * Keeps a copy; FERRY_EFORMAT for what is no NetParameter of today, or has blobs. `lender`: the file whose bytes
 * they are, or NULL. They stay where they are then, their blobs are passed over, and only layers that have some
 * get others.
 */
int ferry__definition_set(ferry_io_writer *w, const void *bytes, size_t size, char *lender);

/* A layer's name, which no NUL ends. */
struct ferry__definition_name {
    const char *text;
    size_t size;
};

/*
 * What comes before the blobs of the next layer that the definition calls `former`: everything up to it, its
 * tag, its length with `blobs_size` bytes of blobs, and its own fields, with `name` for its name. FERRY_EINVAL
 * if there is none.
 */
int ferry__definition_put_layer(ferry_io_writer *w, struct ferry__definition_name former,
                                struct ferry__definition_name name, uint64_t blobs_size);

/* What is behind the last layer with blobs. */
int ferry__definition_put_rest(ferry_io_writer *w);

#endif
