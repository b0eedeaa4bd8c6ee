/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filters of a chunk are undone in ferry: libhdf5 trusts the sizes that a damaged chunk claims
 * and allocates as much memory as it decodes to.
 */
#ifndef FERRY_IO_HDF5_FILTER_H
#define FERRY_IO_HDF5_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FERRY__HDF5_FILTERS 32 /* the format's limit of filters in a dataset */

/* The filters in the order in which they were applied when the file was written. */
struct ferry__hdf5_filters {
    unsigned count;
    unsigned id[FERRY__HDF5_FILTERS];
    uint64_t element; /* the size of an element, for the shuffle filter */
};

/* Whether ferry can undo the filter. */
bool ferry__hdf5_filter_known(unsigned id);

/* LZF's number, for which libhdf5 has no constant. */
#define FERRY__HDF5_LZF 32000

/* The size of a checksum, which follows its data. */
#define FERRY__HDF5_CHECKSUM 4
bool ferry__hdf5_checksum_fits(const unsigned char *bytes, uint64_t size);

/* The name, "Blosc" for example; NULL for an unknown number. */
const char *ferry__hdf5_filter_name(unsigned id);

/*
 * Undoes the filters whose bits in `mask` are clear: from `raw` to exactly `size` bytes at `out`;
 * allocates twice `size` temporarily. Returns NULL, or a description of the damage, or "" without
 * memory.
 */
const char *ferry__hdf5_unfilter(const struct ferry__hdf5_filters *filters, uint32_t mask,
                                 const unsigned char *raw, uint64_t raw_size, unsigned char *out,
                                 uint64_t size);

#endif
