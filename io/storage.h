/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Element types of files that ferry has no dtype for. Each is read as a dtype that holds all of its
 * values exactly, and written from that dtype.
 */
#ifndef FERRY_IO_STORAGE_H
#define FERRY_IO_STORAGE_H

#include <ferry/blob.h>

enum ferry__storage {
    FERRY__STORED_AS_DTYPE = 0, /* the stored type is the dtype itself */
    FERRY__STORED_U16,
    FERRY__STORED_U64,
    FERRY__STORED_I16,
    FERRY__STORED_BOOL,
    FERRY__STORED_F8_E4M3,
    FERRY__STORED_F8_E5M2,
    FERRY__STORED_OTHERWISE, /* a type that ferry cannot read */
    FERRY__STORED_I8_ROWS    /* of writers only: rows.h */
};

/* The name, for example "U16"; NULL for FERRY__STORED_AS_DTYPE and FERRY__STORED_OTHERWISE. */
const char *ferry__storage_name(enum ferry__storage storage);

/* The storage of that name; AS_DTYPE if the name is unknown. NULL is accepted. */
enum ferry__storage ferry__storage_named(const char *name);

/* The size of an element in bytes; the size of `dtype` for AS_DTYPE, 1 for OTHERWISE. */
size_t ferry__storage_size(enum ferry__storage storage, ferry_dtype dtype);

/* The dtype that its values are read as; U8 for OTHERWISE. Not valid for AS_DTYPE. */
ferry_dtype ferry__storage_dtype(enum ferry__storage storage);

/*
 * Converts `n` elements in native byte order to its dtype. Returns −1, or the index of the first
 * element that is out of range: a U64 of 2^63 or more does not fit into I64.
 */
int64_t ferry__storage_widen(enum ferry__storage storage, const void *from, int64_t n, void *to);

/*
 * The reverse conversion, F8 to nearest with ties to even. Returns −1, or the index of the first
 * element that is out of range.
 */
int64_t ferry__storage_narrow(enum ferry__storage storage, const void *from, int64_t n, void *to);

#endif
