/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to libhdf5 for the reader and the writer. Calls are serialized, since the usual build of
 * libhdf5 is not thread-safe, and its printing of errors is off.
 */
#ifndef FERRY_IO_HDF5_LIB_H
#define FERRY_IO_HDF5_LIB_H

#include "values.h"

#include <hdf5.h>

/* Called around every use of the library; the pair does not nest. */
void ferry__hdf5_enter(void);
void ferry__hdf5_leave(void);

/* A dataset's type, space and property list; each is negative if libhdf5 has none. */
struct ferry__hdf5_header {
    hid_t type, space, plist;
};

/*
 * Opens the type, the space and the property list of a dataset; false if one is missing. Close them
 * in any case.
 */
bool ferry__hdf5_header_open(hid_t set, struct ferry__hdf5_header *out);
void ferry__hdf5_header_close(const struct ferry__hdf5_header *header);

/* libhdf5's description of the last error; "unknown" if it has none. */
const char *ferry__hdf5_reason(char *buf, size_t size);

/*
 * The libhdf5 type of a dtype, little-endian or native; negative on failure. Close it with
 * H5Tclose.
 */
hid_t ferry__hdf5_type(ferry_dtype dtype, int native);

/* The libhdf5 type of a dtype or a storage, little-endian; negative if there is none. */
hid_t ferry__hdf5_stored_type(enum ferry__storage storage, ferry_dtype dtype);

/* ferry's description of one element of a libhdf5 type. */
struct ferry__hdf5_element {
    ferry_dtype dtype;
    enum ferry__storage storage; /* FERRY__STORED_OTHERWISE: ferry cannot read it */
    size_t size;                 /* always set, in bytes */
    bool swap;                   /* not in this machine's byte order */
    const char *word;            /* "string", "compound" …: the kind of type */
};

void ferry__hdf5_element_of(hid_t type, struct ferry__hdf5_element *out);

#endif
