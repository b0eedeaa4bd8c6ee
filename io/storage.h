/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Element types that files have and ferry has not: read as a dtype that holds each of their values
 * exactly, and written from it.
 */
#ifndef FERRY_IO_STORAGE_H
#define FERRY_IO_STORAGE_H

#include <ferry/blob.h>

enum ferry__storage {
    FERRY__STORED_AS_DTYPE = 0, /* one of ferry's own */
    FERRY__STORED_U16,
    FERRY__STORED_U64,
    FERRY__STORED_I16,
    FERRY__STORED_BOOL,
    FERRY__STORED_F8_E4M3,
    FERRY__STORED_F8_E5M2,
    FERRY__STORED_OTHERWISE /* there is no way to read it */
};

/* "U16"; NULL for the first and the last. */
const char *ferry__storage_name(enum ferry__storage storage);

/* The storage of that name; AS_DTYPE if it is none. NULL is accepted. */
enum ferry__storage ferry__storage_named(const char *name);

/* Bytes of an element; of one stored as its dtype, that dtype's. 1 for OTHERWISE. */
size_t ferry__storage_size(enum ferry__storage storage, ferry_dtype dtype);

/* What its values are read as; U8 for OTHERWISE. Not for AS_DTYPE. */
ferry_dtype ferry__storage_dtype(enum ferry__storage storage);

/*
 * `n` elements, native byte order, into elements of its dtype. −1, or the index of the first that
 * does not fit: of U64 into I64, from 2^63 on.
 */
int64_t ferry__storage_widen(enum ferry__storage storage, const void *from, int64_t n, void *to);

/* The way back, F8 to nearest with ties to even. −1, or the index of the first that does not fit. */
int64_t ferry__storage_narrow(enum ferry__storage storage, const void *from, int64_t n, void *to);

#endif
