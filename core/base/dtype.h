/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of elements.
 */
#ifndef FERRY_CORE_DTYPE_H
#define FERRY_CORE_DTYPE_H

#include <ferry/blob.h>

/* Bytes of an element of a valid dtype; inlined for frequent paths. */
static inline size_t ferry__dtype_size(unsigned dtype)
{
    static const unsigned char sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };

    return sizes[dtype];
}

#endif
