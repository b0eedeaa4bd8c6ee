/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Winograd's convolutions (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"):
 * F(2 × 2, 3 × 3) and F(4 × 4, 3 × 3). The image is cut into tiles of y; the patch that a tile sees
 * becomes (side + 2)² points, at each of which there is a product of matrices, tiles by channels by
 * outputs, and what comes of them becomes the tile. 2.25 or 4 times fewer multiplications.
 */
#ifndef FERRY_CPU_OP_WINOGRAD_H
#define FERRY_CPU_OP_WINOGRAD_H

#include <stdint.h>

/* Points of the larger tile: 0, ±A, ±B and infinity. With 1 and 2 errors are four times as large. */
#define WINOGRAD_A 0.75f
#define WINOGRAD_B 1.5f

#define WINOGRAD_MOST_SIDE   4
#define WINOGRAD_MOST_POINTS 36

/* What a tile sees of one image. */
struct cpu_winograd_patch {
    const float *x;           /* where the first of its pixels would be, were there no padding */
    int64_t line, pixel;      /* strides; channels lie side by side, a vector's at the least */
    int64_t first[2], end[2]; /* lines, and pixels of each, that lie in the image */
    int64_t side, channels;
    float *v;
    int64_t v_point; /* floats from a point to the next */
};

/* What the products have made of a tile, one or two vectors wide. */
struct cpu_winograd_sums {
    const float *m;
    int64_t m_point, side, columns;
    float *y; /* side × side rows of y_row floats */
    int64_t y_row;
};

#endif
