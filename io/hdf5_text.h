/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_IO_HDF5_TEXT_H
#define FERRY_IO_HDF5_TEXT_H

#include "hdf5_lib.h"
#include "reader.h"

/*
 * Reads the text of a dataset that is one string into the arena of `io`; *out is NULL if it is too
 * long for metadata. FERRY_EFORMAT for a damaged string of variable length, FERRY_ENOMEM. Called
 * between enter and leave.
 */
int ferry__hdf5_text_read(struct ferry_io *io, const char *path, hid_t set,
                          const struct ferry__hdf5_header *header, char **out);

#endif
