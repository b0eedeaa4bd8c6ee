/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an HDF5 file says about its groups and datasets beside their values: attributes, which go from
 * file to file as they are.
 */
#ifndef FERRY_IO_ATTRIBUTES_H
#define FERRY_IO_ATTRIBUTES_H

#include "reader.h"

struct ferry__io_attribute {
    const char *path, *name; /* of its object, "" for the root; its own */
    uint64_t size;           /* bytes in the file */
    const char *why;         /* no copy could mean the same; NULL */
    struct ferry__io_attribute *next;
};

/* All of a file's, in the arena. Without libhdf5 there are none. */
int ferry__io_attributes(struct ferry_io *io, const struct ferry__io_attribute **out);

#endif
