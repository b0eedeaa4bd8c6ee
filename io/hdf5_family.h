/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HDF5 file that its writer has cut into members, x0.h5, x1.h5 …: the first says so, the others
 * are bytes from the middle of something.
 */
#ifndef FERRY_IO_HDF5_FAMILY_H
#define FERRY_IO_HDF5_FAMILY_H

#include "file_map.h"

#include <stdbool.h>

/* Whether an HDF5 file's superblock says that it is the first member of several. */
bool ferry__hdf5_family_begins(const unsigned char *bytes, uint64_t size);

/* FERRY_EUNSUPPORTED for a later one, which names the first; else 0. Its name has to say which it is. */
int ferry__hdf5_family_refuse(const struct ferry__io_file *file);

/* The same for the first. */
int ferry__hdf5_family_refuse_first(const struct ferry__io_file *file);

#endif
