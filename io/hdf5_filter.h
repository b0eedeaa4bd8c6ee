/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filters that a chunk went through, undone here: libhdf5 itself believes the sizes that a damaged
 * chunk claims, and takes memory for whatever it makes of it.
 */
#ifndef FERRY_IO_HDF5_FILTER_H
#define FERRY_IO_HDF5_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FERRY__HDF5_FILTERS 32 /* that a dataset may have; the format's limit */

/* In the order in which they were applied. */
struct ferry__hdf5_filters {
    unsigned count;
    unsigned id[FERRY__HDF5_FILTERS];
    uint64_t element; /* bytes, that shuffle takes apart */
};

/* Whether it can be undone here. */
bool ferry__hdf5_filter_known(unsigned id);

/* LZF's number, which libhdf5 has no name for. */
#define FERRY__HDF5_LZF 32000

/* Bytes of a checksum, behind those that it is of; and whether it is right. */
#define FERRY__HDF5_CHECKSUM 4
bool ferry__hdf5_checksum_fits(const unsigned char *bytes, uint64_t size);

/* "Blosc"; NULL for a number that is registered for none that this knows. */
const char *ferry__hdf5_filter_name(unsigned id);

/*
 * Undoes them, but those of which `mask` has a bit: from `raw` to exactly `size` bytes at `out`; takes
 * twice `size` besides. NULL, or what is wrong with the chunk; "" for want of memory.
 */
const char *ferry__hdf5_unfilter(const struct ferry__hdf5_filters *filters, uint32_t mask,
                                 const unsigned char *raw, uint64_t raw_size, unsigned char *out,
                                 uint64_t size);

#endif
