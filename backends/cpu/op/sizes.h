/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic of sizes. */
#ifndef FERRY_CPU_OP_SIZES_H
#define FERRY_CPU_OP_SIZES_H

#include <stdint.h>

/* The number of parts of at most `most` ≥ 1 elements that n elements are cut into. */
static inline int64_t cut(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/*
 * Rounds a number of bytes up to an odd number of cache lines: addresses at this distance are in
 * different sets of a cache.
 */
static inline int64_t odd_lines(int64_t bytes)
{
    return ((bytes + 63) / 64 | 1) * 64;
}

/* Rounds a number of floats up to whole cache lines. */
static inline int64_t rounded(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

#endif
