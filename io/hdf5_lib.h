/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libhdf5, as the reader and the writer use it: one call at a time, since its usual build is not
 * safe for threads, and without its habit of printing errors.
 */
#ifndef FERRY_IO_HDF5_LIB_H
#define FERRY_IO_HDF5_LIB_H

#include <ferry/blob.h>

#include <hdf5.h>

/* Around every use of the library; they do not nest. */
void ferry__hdf5_enter(void);
void ferry__hdf5_leave(void);

/* The library's own words for what went wrong last; "unknown" if it has none. */
const char *ferry__hdf5_reason(char *buf, size_t size);

/* A type of the library for a dtype, little-endian or native; negative on failure. H5Tclose it. */
hid_t ferry__hdf5_type(ferry_dtype dtype, int native);

/* The dtype that a type of the library is, in either byte order; false if it is none. */
bool ferry__hdf5_dtype(hid_t type, ferry_dtype *out);

#endif
