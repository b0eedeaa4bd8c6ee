/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of an HDF5 file's groups and datasets. They are copied from file to file
 * unchanged.
 */
#ifndef FERRY_IO_ATTRIBUTES_H
#define FERRY_IO_ATTRIBUTES_H

#include "reader.h"

struct ferry__io_attribute {
    const char *path, *name; /* the path of the object, "" for the root; the attribute's name */
    uint64_t size;           /* the size in bytes in the file */
    const char *why;         /* why a copy could not have the same meaning; NULL: it can be
                              * copied */
    struct ferry__io_attribute *next;
};

/* All attributes of a file, in the arena. Without libhdf5 the list is empty. */
int ferry__io_attributes(struct ferry_io *io, const struct ferry__io_attribute **out);

#endif
