/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_IO_HDF5_TEXT_H
#define FERRY_IO_HDF5_TEXT_H

#include "hdf5_lib.h"
#include "reader.h"

/*
 * The text of a dataset that is one string, in the arena of `io`; NULL where it is too long to be
 * one. FERRY_EFORMAT for one of a variable length that is damaged, FERRY_ENOMEM. Inside enter and
 * leave.
 */
int ferry__hdf5_text_read(struct ferry_io *io, const char *path, hid_t set,
                          const struct ferry__hdf5_header *header, char **out);

#endif
