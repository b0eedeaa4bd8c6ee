/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Products by Strassen's method in the form of S. Winograd ("On multiplication of 2 × 2 matrices",
 * Linear Algebra and its Applications 4, 1971): a, b and y are divided into quarters, and seven
 * products of sums of quarters replace eight products of quarters.
 *
 * The rows of a are the pixels of an image. A tile is a range of them: its first half are the upper
 * rows of pairs, the other half the lower ones; the last tile of an odd number of pixels lacks a
 * lower row. k is divided in the middle. Two adjacent panels of b are its left and its right half.
 *
 * Sums of quarters round by their largest term. So that channels of any magnitude have their own
 * digits, b's rows and columns are scaled by powers of two (G. Ballard, A. Benson, A. Druinsky, B.
 * Lipshitz, O. Schwartz, "Improving the numerical stability of fast matrix multiplication", SIAM
 * Journal on Matrix Analysis and Applications 37, 2016): the scale of a row goes to a column of a,
 * that of a column to y.
 */
#ifndef FERRY_CPU_OP_STRASSEN_H
#define FERRY_CPU_OP_STRASSEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The parts of a tile of pairs, made of the quarters a11, a12 (upper), a21 and a22 (lower) with
 * their columns scaled. The last two are copies without scales, otherwise read in place.
 */
enum {
    STRASSEN_SUM,                    /* a21 + a22 */
    STRASSEN_REST,                   /* a21 + a22 − a11 */
    STRASSEN_FALL,                   /* a11 − a21 */
    STRASSEN_LAST,                   /* a12 − (a21 + a22 − a11) */
    STRASSEN_CORNER,                 /* a22 */
    STRASSEN_SCALED,                 /* the number of parts until here */
    STRASSEN_LEFT = STRASSEN_SCALED, /* a11 */
    STRASSEN_RIGHT,                  /* a12 */
    STRASSEN_PARTS
};

#define STRASSEN_PRODUCTS 7

/* A pair of rows of a, and the rows of the parts that are made of it. */
struct cpu_strassen_pair {
    const float *upper, *lower; /* lower NULL: zeros */
    int64_t half;               /* a multiple of the vector */
    const float *scales;        /* of the columns of a */
    float *to;                  /* rows `part` apart */
    int64_t part;
    bool copies;
};

#endif
