/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes, by libhdf5. All of it inside enter and leave.
 */
#ifndef FERRY_IO_HDF5_ATTRIBUTES_H
#define FERRY_IO_HDF5_ATTRIBUTES_H

#include "attributes.h"
#include "hdf5_lib.h"

/* A group or dataset that has some, by the path of one of its hard links; "" is the root. */
struct ferry__hdf5_attributed {
    const char *path;
    struct ferry__hdf5_attributed *next;
};

/* All of theirs; each value is read once, to see that it can be. */
int ferry__hdf5_attributes_list(struct ferry_io *io, hid_t file,
                                const struct ferry__hdf5_attributed *of,
                                struct ferry__io_attribute **out);

/* Gives one of the file `from` to the object of the same path in `to`. An error's code: libhdf5 says why. */
int ferry__hdf5_attribute_copy(hid_t from, const struct ferry__io_attribute *a, hid_t to);

#endif
