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
struct cpu_dots;
struct cpu_grouped;
struct cpu_line;
struct cpu_deconvolved_line;
struct cpu_binary_row;
struct cpu_pool_window;
struct cpu_pool_lines;
struct cpu_given_lines;
struct cpu_lrn_pixel;
struct cpu_lrn_block;
struct cpu_lrn_back;
struct cpu_strassen_pair;
struct cpu_winograd_kernels;
struct cpu_winograd_patch;
struct cpu_winograd_sums;

struct cpu_loops {
    int64_t rows;  /* the maximum number of rows of a tile */
    int64_t lanes; /* the floats of a vector; a panel has twice as many columns, or as many */
    /* Indexed by the number of vectors of the panel minus one, and by rows. The other tables are
     * for b in BF16 and in F16; NULL: none. */
    const cpu_micro (*micro)[TILE_MOST_ROWS + 1], (*micro_of_bf16)[TILE_MOST_ROWS + 1],
        (*micro_of_f16)[TILE_MOST_ROWS + 1];
    /*
     * Gathers rows first … first + rows − 1 of a convolution's patches, elements k … k + depth − 1
     * of each.
     */
    void (*patches)(const struct cpu_patches *p, int64_t first, int64_t rows, int64_t k,
                    int64_t depth, float *to, int64_t to_row);
    /* Computes a line of a depthwise convolution: of all channels, which are contiguous, or of one
     * channel. */
    void (*depthwise_last)(const struct cpu_depthwise *d, const struct cpu_line *line);
    /* Computes lines first … first + count − 1 of an image with a kernel of 3 × 3; x and y are
     * those of line 0. */
    void (*depthwise_slide)(const struct cpu_depthwise *d, const void *x, int64_t y, int64_t first,
                            int64_t count);
    /* As depthwise_slide, for any kernel, and for channels c … c + COPIED_CHANNELS − 1. */
    void (*depthwise_copied)(const struct cpu_depthwise *d, const float *x, int64_t y,
                             int64_t first, int64_t count, int64_t c);
    void (*depthwise_plane)(const struct cpu_depthwise *d, const struct cpu_line *line,
                            int64_t channel);
    /*
     * y[i] = the sum of w[t] · x[place[t] + i] over the taps, for n elements and up to 63 more:
     * depthwise_planes.h.
     */
    void (*tap_sums)(const float *x, int64_t taps, const float *w, const int64_t *place, int64_t n,
                     float *y);
    /*
     * Computes lines first … first + lines − 1 of an image of grouped.h, for the block of
     * `channels` channels from `channel` on; x and y are the block's in line 0. NULL: not for this
     * set.
     */
    void (*grouped)(const struct cpu_grouped *g, const float *x, float *y, int64_t first,
                    int64_t lines, int64_t channel, int64_t channels);
    /* Computes the products of rows with `columns` rows of weights: dots.h. */
    void (*dots)(const struct cpu_dots *d, int64_t columns);
    /* Computes a line of a transposed convolution. */
    void (*deconvolve)(const struct cpu_deconvolved_line *line);
    /* Computes a function of UNARY on n contiguous elements; false: the function is not supported,
     * and nothing was done. x may be y. */
    bool (*unary)(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                  float *y);
    /* Computes SOFTMAX of n / 2 lines of two elements, which are contiguous. */
    void (*softmax_pairs)(int64_t n, const float *x, float *y);
    /* Computes the data pass of that function; it does not need c. dx may be dy. */
    bool (*slope)(uint32_t function, double a, double b, int64_t n, const float *dy, const float *r,
                  float *dx);
    /* Computes a function of BINARY. */
    void (*binary)(const struct cpu_binary_row *r, int64_t n);
    /* The sum of a row, and of the products of two rows. Blocks are summed in float, and their sums
     * in double. */
    double (*sum)(const float *x, int64_t n);
    double (*dot)(const float *x, const float *y, int64_t n);
    /* The sum of the squared differences of a row from a center, likewise; *sum is that of the
     * differences. */
    double (*deviation)(const float *x, float center, int64_t n, double *sum);
    /* dx = scale · (dy − mean − y · product). dx may be dy or y. */
    void (*center)(const float *dy, const float *y, float mean, float product, float scale,
                   int64_t n, float *dx);
    /* Adds rows of n floats, a distance of `row` apart, to n doubles, one row after the other. */
    void (*sum_rows)(const float *x, int64_t rows, int64_t row, int64_t n, double *to);
    /*
     * Copy, and add, lines of n elements that do not overlap, each a pitch after the previous one.
     */
    void (*move_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch, float *to,
                       int64_t to_pitch);
    void (*add_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch, float *to,
                      int64_t to_pitch);
    /* Interleaves n elements of `planes` planes. */
    void (*interleave)(int64_t planes, int64_t n, const float *x, int64_t plane, float *y);
    /* POOL: a window of contiguous channels, without a mask; windows of lines; and their backward
     * pass. */
    void (*pool)(const struct cpu_pool_window *w);
    void (*pool_lines)(const struct cpu_pool_lines *l);
    void (*give_lines)(const struct cpu_given_lines *l);
    /* LRN across channels: a pixel; a block of pixels; and the backward pass. */
    void (*lrn)(const struct cpu_lrn_pixel *p);
    void (*lrn_block)(const struct cpu_lrn_block *b);
    void (*lrn_back)(const struct cpu_lrn_back *b);
    /* Applies a step other than ADD to `columns` sums of a row; the operand is that of column 0. */
    void (*step)(const struct cpu_step *s, int64_t columns, float *sums);
    /* Stores a row of sums, which is read by whole vectors; pointers are those of column 0. */
    void (*store)(const struct cpu_store *s, int64_t column, int64_t columns, const float *sums,
                  const float *add, float *y);
    /* Makes the parts of a pair of rows: strassen.h. */
    void (*strassen_parts)(const struct cpu_strassen_pair *p);
    /* to = x + y, for n floats, whole vectors; `to` may be x or y. */
    void (*add_vectors)(int64_t n, const float *x, const float *y, float *to);
    /* Transforms the kernels of a panel to the points. */
    void (*winograd_taps)(const struct cpu_winograd_kernels *k);
    /*
     * Transforms a tile's patch to its points; and the products at its points to a tile, by whole
     * vectors.
     */
    void (*winograd_in)(const struct cpu_winograd_patch *p);
    void (*winograd_out)(const struct cpu_winograd_sums *s);
    /*
     * winograd_planes.h. Transforms the patches of tile lines, `tiles` each, along their lines,
     * whose padded copies are `pitch` apart: h has rows of all tiles for four lines of a patch, and
     * for four points of each. Then n tiles across the lines, to 16 points.
     */
    void (*winograd_across)(const float *lines, int64_t pitch, int64_t tile_lines, int64_t tiles,
                            float *h, int64_t h_row);
    void (*winograd_down)(const float *h, int64_t h_row, int64_t n, float *v, int64_t v_point);
    /* Transforms n products at the points to two lines of 2n elements, to_row apart. */
    void (*winograd_up)(const float *m, int64_t m_point, int64_t n, float *to, int64_t to_row);
    /* Transforms tiles of tile lines to 16 points: the reverse of winograd_up. */
    void (*winograd_give)(const float *lines, int64_t pitch, int64_t tile_lines, int64_t tiles,
                          float *d, int64_t d_row);
};

/*
 * Products of pairs of BF16: one instruction adds both products of a pair to a float. A float's
 * place in a and b holds two numbers, and the tile's spans count pairs.
 */
struct cpu_pairs {
    const cpu_micro (*micro)[TILE_MOST_ROWS + 1];
    /*
     * Rounds the rows of a tile to nearest even, without the gaps between spans, into rows of
     * `to_row` floats; if their count is odd, a zero follows the last number. Denormal numbers
     * become 0. Returns the floats of a row.
     */
    int64_t (*round)(const struct cpu_tile *tile, int64_t rows, float *to, int64_t to_row);
    /* Rounds n contiguous floats; a zero follows if n is odd. */
    void (*round_row)(const float *x, int64_t n, void *to);
    /*
     * Packs rows k, even, and k + 1 of b, of n columns, as pairs of a panel of `width` columns,
     * with zeros after column n. NULL for the second row: zeros.
     */
    void (*pack_two)(const float *even, const float *odd, int64_t n, int64_t width, float *to);
    /* Packs one of the rows: the other one's numbers in `to` stay. */
    void (*pack_half)(const float *row, bool is_odd, int64_t n, int64_t width, float *to);
};

/* The loops of an instruction set; they exist for every set that can be selected. */
const struct cpu_loops *cpu_loops_of(const struct cpu_isa *isa);
/* The functions for pairs of an instruction set; NULL: there are none. */
const struct cpu_pairs *cpu_pairs_of(const struct cpu_isa *isa);

/* One object per file; NULL if the compiler does not support the set. */
extern const struct cpu_loops *const cpu_loops_avx512,
    *const cpu_loops_avx2, *const cpu_loops_neon, *const cpu_loops_portable;
/* NULL if the compiler does not support the set. */
extern const struct cpu_pairs *const cpu_pairs_bf16;

#endif
