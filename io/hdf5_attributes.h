/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes read and written with libhdf5. Call all functions between enter and leave. */
#ifndef FERRY_IO_HDF5_ATTRIBUTES_H
#define FERRY_IO_HDF5_ATTRIBUTES_H

#include "attributes.h"
#include "hdf5_lib.h"

/* A group or dataset with attributes, by the path of one of its hard links; "" is the root. */
struct ferry__hdf5_attributed {
    const char *path;
    struct ferry__hdf5_attributed *next;
};

/* Lists the attributes of all objects; each value is read once to check that it is readable. */
int ferry__hdf5_attributes_list(struct ferry_io *io, hid_t file,
                                const struct ferry__hdf5_attributed *of,
                                struct ferry__io_attribute **out);

/*
 * Copies an attribute of the file `from` to the object of the same path in `to`. Returns an error
 * code; libhdf5 has the reason.
 */
int ferry__hdf5_attribute_copy(hid_t from, const struct ferry__io_attribute *a, hid_t to);

#endif
