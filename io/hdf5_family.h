/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5 files that their writer has split into members, x0.h5, x1.h5 …: only the first has a
 * superblock, the others begin with arbitrary bytes of the data.
 */
#ifndef FERRY_IO_HDF5_FAMILY_H
#define FERRY_IO_HDF5_FAMILY_H

#include "file_map.h"

#include <stdbool.h>

/* Whether an HDF5 file's superblock marks the first member of a family. */
bool ferry__hdf5_family_begins(const unsigned char *bytes, uint64_t size);

/*
 * FERRY_EUNSUPPORTED for a later member, with a message that names the first; 0 otherwise. The
 * member's number is taken from the file's name.
 */
int ferry__hdf5_family_refuse(const struct ferry__io_file *file);

/* FERRY_EUNSUPPORTED for the first member. */
int ferry__hdf5_family_refuse_first(const struct ferry__io_file *file);

#endif
