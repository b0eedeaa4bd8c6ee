/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that are compiled once for each instruction set, from the sources that vector.h
 * names.
 */
#ifndef FERRY_CPU_OP_LOOPS_H
#define FERRY_CPU_OP_LOOPS_H

#include "../isa.h"
#include "tile.h"

struct cpu_patches;
struct cpu_depthwise;
struct cpu_line;
struct cpu_deconvolved_line;
struct cpu_binary_row;
struct cpu_pool_window;
struct cpu_pool_lines;
struct cpu_given_lines;
struct cpu_lrn_pixel;
struct cpu_lrn_block;
struct cpu_lrn_back;
struct cpu_winograd_patch;
struct cpu_winograd_sums;

struct cpu_loops {
    int64_t rows;  /* maximum of a tile */
    int64_t lanes; /* floats of a vector; a panel has twice as many columns, or as many */
    /* By vectors of the panel minus one, and rows. The second is for a b of BF16; NULL: none. */
    const cpu_micro (*micro)[TILE_MOST_ROWS + 1], (*micro_of_bf16)[TILE_MOST_ROWS + 1];
    /*
     * Rows first … first + rows − 1 of a convolution's patches, elements k … k + depth − 1 of each.
     */
    void (*patches)(const struct cpu_patches *p, int64_t first, int64_t rows, int64_t k,
                    int64_t depth, float *to, int64_t to_row);
    /* A line of a depthwise convolution: of all channels, contiguous, or of one. */
    void (*depthwise_last)(const struct cpu_depthwise *d, const struct cpu_line *line);
    /* Lines first … first + count − 1 of an image, kernel 3 × 3; x and y of its line 0. */
    void (*depthwise_slide)(const struct cpu_depthwise *d, const float *x, int64_t y, int64_t first,
                            int64_t count);
    /* The same of any kernel, channels c … c + COPIED_CHANNELS − 1. */
    void (*depthwise_copied)(const struct cpu_depthwise *d, const float *x, int64_t y,
                             int64_t first, int64_t count, int64_t c);
    void (*depthwise_plane)(const struct cpu_depthwise *d, const struct cpu_line *line,
                            int64_t channel);
    /* A line of a transposed convolution. */
    void (*deconvolve)(const struct cpu_deconvolved_line *line);
    /* A function of UNARY on n contiguous elements; false: nothing was done. x may be y. */
    bool (*unary)(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                  float *y);
    /* Its data pass; c is not needed. dx may be dy. */
    bool (*slope)(uint32_t function, double a, double b, int64_t n, const float *dy, const float *r,
                  float *dx);
    /* A function of BINARY. */
    void (*binary)(const struct cpu_binary_row *r, int64_t n);
    /* The sum of a row, and of the products of two: by blocks, whose sums are doubles. */
    double (*sum)(const float *x, int64_t n);
    double (*dot)(const float *x, const float *y, int64_t n);
    /* Adds rows of n floats, a distance of `row` apart, to n doubles, one row after the other. */
    void (*sum_rows)(const float *x, int64_t rows, int64_t row, int64_t n, double *to);
    /*
     * Lines of n elements that do not overlap, each a pitch after the previous one: copied, and
     * added.
     */
    void (*move_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch, float *to,
                       int64_t to_pitch);
    void (*add_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch, float *to,
                      int64_t to_pitch);
    /* Interleaves n elements of `planes` planes. */
    void (*interleave)(int64_t planes, int64_t n, const float *x, int64_t plane, float *y);
    /* POOL: a window of contiguous channels, without a mask; windows of lines, and backward. */
    void (*pool)(const struct cpu_pool_window *w);
    void (*pool_lines)(const struct cpu_pool_lines *l);
    void (*give_lines)(const struct cpu_given_lines *l);
    /* LRN across channels: a pixel, a block of them, and backward. */
    void (*lrn)(const struct cpu_lrn_pixel *p);
    void (*lrn_block)(const struct cpu_lrn_block *b);
    void (*lrn_back)(const struct cpu_lrn_back *b);
    /* A step other than ADD on `columns` sums of a row; the operand is that of column 0. */
    void (*step)(const struct cpu_step *s, int64_t columns, float *sums);
    /* A row of sums, read by whole vectors, with the store; pointers are those of column 0. */
    void (*store)(const struct cpu_store *s, int64_t column, int64_t columns, const float *sums,
                  const float *add, float *y);
    /*
     * Transforms a tile's patch to its points; and the products at its points to a tile, by whole
     * vectors.
     */
    void (*winograd_in)(const struct cpu_winograd_patch *p);
    void (*winograd_out)(const struct cpu_winograd_sums *s);
};

/*
 * Products of pairs of BF16, which one instruction adds to a float: a tile's a and b have two
 * numbers in the place of a float, and its spans count pairs.
 */
struct cpu_pairs {
    const cpu_micro (*micro)[TILE_MOST_ROWS + 1];
    /*
     * Rounds the rows of a tile to nearest even, without its gaps, into rows of `to_row` floats; a
     * zero follows the last number if their count is odd. Denormal numbers become 0. Returns the
     * floats of a row.
     */
    int64_t (*round)(const struct cpu_tile *tile, int64_t rows, float *to, int64_t to_row);
};

/* Those of a set; they exist for every set that can be found. */
const struct cpu_loops *cpu_loops_of(const struct cpu_isa *isa);
/* NULL: none for that set. */
const struct cpu_pairs *cpu_pairs_of(const struct cpu_isa *isa);

/* One per file; NULL if the compiler does not support the set. */
extern const struct cpu_loops *const cpu_loops_avx512, *const cpu_loops_avx2, *const cpu_loops_neon,
    *const cpu_loops_portable;
/* NULL if the compiler does not support it. */
extern const struct cpu_pairs *const cpu_pairs_bf16;

#endif
