/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * F(4 × 4, 3 × 3) of winograd.h for bytes, whose results are those of a product without tiles, bit
 * by bit. The points are 0, ±1, ±2 and infinity, and all numbers are integers:
 *
 * - Along an axis, six pixels d become the points 4·d0 − 5·d2 + d4, d4 − 4·d2 ± (d3 − 4·d1),
 *   d4 − d2 ± 2·(d3 − d1) and 4·d1 − 5·d3 + d5. Along both axes they are within −12,768 … 12,750
 *   for I8, and −12,750 … 17,340 for U8: 16 bits.
 * - Three taps g become g0, −(g0 + g1 + g2), −(g0 − g1 + g2), g0 + 2·g1 + 4·g2, g0 − 2·g1 + 4·g2
 *   and g2, the first and the last times 6: within ±6,272 along both axes.
 * - A product of matrices at each point then gives, after the last transform, 24, 12, 6 and 6 times
 *   the sums of the four pixels along each axis.
 *
 * Sums at the points, and all of the last transform, are modulo 2^32. There 9 has an inverse, by
 * which the common odd factor is taken away; a factor of at most 2^6 is left. A shift removes it,
 * so that a sum within −2^25 … 2^25 − 1 is exact. Where weights permit larger ones, the channels
 * are divided into parts whose sums are added.
 *
 * VPDPWSSD multiplies half as many pairs of 16 bits as VPDPBUSD multiplies bytes, and tiles need
 * four times fewer products.
 */
#ifndef FERRY_CPU_OP_INTEGER_WINOGRAD_H
#define FERRY_CPU_OP_INTEGER_WINOGRAD_H

#include "integer.h"

#define INTEGER_WINOGRAD_SIDE   4
#define INTEGER_WINOGRAD_EDGE   6
#define INTEGER_WINOGRAD_POINTS 36
#define INTEGER_WINOGRAD_PIXELS 16
/* Sums that are less than it, without their sign, are exact. */
#define INTEGER_WINOGRAD_LIMIT (1 << 25)

/* The part of one image under a tile. */
struct cpu_integer_patch {
    const char *x;            /* the first of its pixels, ignoring padding */
    int64_t line, pixel;      /* strides; the channels are contiguous, and at least as many as half
                               * a vector has bytes */
    int64_t first[2], end[2]; /* the range of lines, and of pixels of each, that is inside the
                               * image */
    int64_t channels;
    bool is_signed;
    int16_t *v;
    int64_t v_point; /* the number of elements from a point to the next */
};

/* The products at the points of one tile and one panel. */
struct cpu_integer_points {
    const uint32_t *m;
    int64_t m_point; /* the number of elements from a point to the next */
    int32_t *sums;   /* the tile's pixels, INTEGER_MOST_COLUMNS sums each */
    bool adds;       /* to `sums`, which has those of other channels */
    /*
     * The store and the place of the first pixel; the lines and pixels of the tile that y has, and
     * the bytes from a line to the next. NULL: the results are stored in `sums`.
     */
    const struct cpu_integer_tile *tile;
    int64_t lines, pixels, y_line, add_line;
};

struct cpu_integer_winograd_loops {
    void (*in)(const struct cpu_integer_patch *p);
    /*
     * As that of cpu_integer_loops, for groups of two numbers of 16 bits; one span, no store, and
     * sums that begin at 0.
     */
    void (*micro[INTEGER_MOST_ROWS + 1])(const struct cpu_integer_tile *t);
    void (*out)(const struct cpu_integer_points *p);
};

#endif
