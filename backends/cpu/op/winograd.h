/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Winograd's convolutions (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"):
 * F(2 × 2, 3 × 3) and F(4 × 4, 3 × 3). The image is divided into tiles of y; the patch under a tile
 * is transformed to (side + 2)² points; at each point there is a product of matrices, tiles by
 * channels by outputs, and the results are transformed to the tile. This needs 2.25 or 4 times
 * fewer multiplications.
 */
#ifndef FERRY_CPU_OP_WINOGRAD_H
#define FERRY_CPU_OP_WINOGRAD_H

#include <stdint.h>

struct cpu_window;
struct cpu_winograd;

/*
 * The points of the larger tile are 0, ±A, ±B and infinity. With 1 and 2 the errors would be four
 * times as large.
 */
#define WINOGRAD_A 0.75f
#define WINOGRAD_B 1.5f

/* The number of taps of a kernel. */
#define WINOGRAD_TAPS 9

/* Sets the tiles of y, with sides of `side` pixels (winograd_plan.c). */
void cpu_winograd_cut(const struct cpu_window *w, int64_t side, struct cpu_winograd *out);

/* The position of a tile. */
struct cpu_winograd_place {
    int64_t image, line, pixel; /* of y */
    int64_t x;                  /* the offset in elements of the patch under it, ignoring padding */
    int64_t first[2], end[2];   /* the range of the patch's lines, and of pixels of each, that is
                                 * inside the image */
};

struct cpu_winograd_place cpu_winograd_place_of(const struct cpu_window *w,
                                                const struct cpu_winograd *c, int64_t tile);

/* The part of one image under a tile. */
struct cpu_winograd_patch {
    const void *x;            /* the position of the first of its pixels, ignoring padding */
    int64_t line, pixel;      /* strides; the channels are contiguous, and at least as many as a
                               * vector has floats */
    int64_t first[2], end[2]; /* the range of lines, and of pixels of each, that is inside the
                               * image */
    int64_t side, channels;
    float *v;
    int64_t v_point; /* the number of floats from a point to the next */
};

/* The kernels of a panel of outputs, as a product without tiles has them. */
struct cpu_winograd_kernels {
    const float *w;
    int64_t tap, side; /* tap: the floats of each of nine taps, whole vectors */
    float *u;
    int64_t u_point; /* the number of floats from a point to the next */
};

/* The products at the points of one tile, one or two vectors wide. */
struct cpu_winograd_sums {
    const float *m;
    int64_t m_point, side, columns;
    float *y; /* side × side rows, y_row floats apart */
    int64_t y_row;
};

#endif
