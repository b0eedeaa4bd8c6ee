/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tile of a product of matrices, and the steps before it is stored: the interface between the
 * driver (gemm.h) and the micro-kernels of each instruction set (loops.h). F32 only.
 */
#ifndef FERRY_CPU_OP_TILE_H
#define FERRY_CPU_OP_TILE_H

#include <ferry/op_desc.h>

#include <stdbool.h>

/* The maximum number of rows of a tile, and of columns of a panel, of any instruction set. */
#define TILE_MOST_ROWS    14
#define TILE_MOST_COLUMNS 32
/* The maximum depth of each block of k, if there are several: sums are stored after each. */
#define TILE_MOST_DEPTH 256

/*
 * A step of the epilogue, with its operand of a run. A bias is a SHIFT. The operand of ADD is
 * passed separately and multiplied by a.
 */
struct cpu_step {
    uint32_t step, function;
    double a, b, c;
    const float *operand;
    int64_t stride; /* 1: one value per column; 0: one value for all columns */
};

#define CPU_MOST_STEPS (FERRY_OP_EPILOGUE + 1)

/* The steps that micro-kernels perform: y = f((bias + sum) · scale + add). */
struct cpu_store {
    const float *bias;   /* `add` of the tile is set */
    const float *scales; /* a factor for each column; NULL: 1. Not of loops.h's `store` */
    bool adds;           /* a tile's `add` is set */
    uint32_t clamp;      /* CPU_CLAMP_… */
    float slope;         /* CPU_CLAMP_RELU: x > 0 ? x : slope·x */
    const float *slopes; /* CPU_CLAMP_PRELU: as CPU_CLAMP_RELU, with a slope for each column */
    float least, most;   /* CPU_CLAMP_CLIP */
};

#define CPU_CLAMP_NONE 0u
#define CPU_CLAMP_RELU 1u
#define CPU_CLAMP_CLIP 2u
/* Computes max(x, 0), which is CPU_CLAMP_RELU with a slope of 0 unless x is infinite. */
#define CPU_CLAMP_POSITIVE 3u
#define CPU_CLAMP_PRELU    4u

/* A tile: up to TILE_MOST_ROWS rows by one panel. */
struct cpu_tile {
    const float *a; /* rows, a_row apart; each row has `spans` spans of `span` floats, `jump`
                     * apart */
    int64_t a_row, spans, span, jump;
    int64_t line, line_jump; /* after every `line` spans, the next span is line_jump farther; 0:
                              * none */
    const float *b; /* a row of b for each element of a row of a, as wide as the panel */
    bool first;     /* sums start at 0, not with the contents of `sums` */
    float *sums;    /* where the sums are stored, unless `store` is set */
    int64_t sums_row;
    const float *bias;             /* added to the initial sums, by column; NULL: 0 */
    const struct cpu_store *store; /* NULL: the sums are stored in `sums` */
    float *const *y;               /* for each row, where column 0 is stored; columns are
                                    * contiguous */
    const float *const *add;       /* for each row, column 0 of the added operand */
    int64_t column;                /* the number of the panel's first column */
    int64_t missing;               /* the number of columns that the panel's last vector lacks */
    /*
     * The number of consecutive tiles of equal size, each following the previous one in a; and
     * their distance in y and add. 1, unless `store` is set.
     */
    int64_t tiles, y_step, add_step;
    /*
     * For each row of b, a cache line is prefetched to the second-level cache: `ahead` floats
     * apart, from `next` on for the first tile, and i times its rows farther for tile i. 0: none.
     */
    const float *next;
    int64_t ahead;
};

typedef void (*cpu_micro)(const struct cpu_tile *tile);

#endif
