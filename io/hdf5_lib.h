/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libhdf5, as the reader and the writer use it: one call at a time, since its usual build is not
 * safe for threads, and without its habit of printing errors.
 */
#ifndef FERRY_IO_HDF5_LIB_H
#define FERRY_IO_HDF5_LIB_H

#include "values.h"

#include <hdf5.h>

/* Around every use of the library; they do not nest. */
void ferry__hdf5_enter(void);
void ferry__hdf5_leave(void);

/* A dataset's type, space and list of properties; each negative where libhdf5 has none. */
struct ferry__hdf5_header {
    hid_t type, space, plist;
};

/* Those of a dataset; false if one is missing. Close them in any case. */
bool ferry__hdf5_header_open(hid_t set, struct ferry__hdf5_header *out);
void ferry__hdf5_header_close(const struct ferry__hdf5_header *header);

/* The library's own words for what went wrong last; "unknown" if it has none. */
const char *ferry__hdf5_reason(char *buf, size_t size);

/* A type of the library for a dtype, little-endian or native; negative on failure. H5Tclose it. */
hid_t ferry__hdf5_type(ferry_dtype dtype, int native);

/* The library's type for a dtype or a storage, little-endian; negative where it has none. */
hid_t ferry__hdf5_stored_type(enum ferry__storage storage, ferry_dtype dtype);

/* What one element of a type of the library is to ferry. */
struct ferry__hdf5_element {
    ferry_dtype dtype;
    enum ferry__storage storage; /* FERRY__STORED_OTHERWISE: nothing that it could read */
    size_t size;                 /* bytes, in any case */
    bool swap;                   /* not this machine's byte order */
    const char *word;            /* "string", "compound" …: the kind of type */
};

void ferry__hdf5_element_of(hid_t type, struct ferry__hdf5_element *out);

#endif
