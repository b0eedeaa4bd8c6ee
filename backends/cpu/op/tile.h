/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tile of a product of matrices, and what is done to it before it is stored: what the driver
 * (gemm.h) and the micro-kernels of each instruction set (loops.h) say to each other. F32 alone.
 */
#ifndef FERRY_CPU_OP_TILE_H
#define FERRY_CPU_OP_TILE_H

#include <ferry/op_types.h>

#include <stdbool.h>

/* The most rows of a tile, and columns of a panel, of any instruction set. */
#define TILE_MOST_ROWS    14
#define TILE_MOST_COLUMNS 32
/* The most that is summed before sums are put down. */
#define TILE_MOST_DEPTH 256

/*
 * A step of the epilogue, with its operand as a run has it. A bias is a SHIFT. ADD has its operand
 * elsewhere, and multiplies it by a.
 */
struct cpu_step {
    uint32_t step, function;
    double a, b, c;
    const float *operand;
    int64_t stride; /* per column; 0: one for all */
};

#define CPU_MOST_STEPS (FERRY_OP_EPILOGUE + 1)

/* What micro-kernels do themselves: y = f(bias + sum + add). Sums begin at the bias. */
struct cpu_store {
    const float *bias;   /* by column; NULL: none */
    bool adds;           /* a tile's `add` is there */
    uint32_t clamp;      /* CPU_CLAMP_… */
    float slope;         /* CPU_CLAMP_RELU: x > 0 ? x : slope·x */
    const float *slopes; /* CPU_CLAMP_PRELU: likewise, by column */
    float least, most;   /* CPU_CLAMP_CLIP */
};

#define CPU_CLAMP_NONE 0u
#define CPU_CLAMP_RELU 1u
#define CPU_CLAMP_CLIP 2u
/* max(x, 0), which is CPU_CLAMP_RELU with a slope of 0 wherever x is no infinity. */
#define CPU_CLAMP_POSITIVE 3u
#define CPU_CLAMP_PRELU    4u

/* Up to TILE_MOST_ROWS rows by one panel. */
struct cpu_tile {
    const float
        *a; /* rows, a_row apart; of each `spans` times `span` floats, `jump` between them */
    int64_t a_row, spans, span, jump;
    const float *b; /* as many rows, as wide as the panel */
    bool first;     /* sums begin at 0, not at what `sums` has */
    float *sums;    /* where they are put, unless `store` is there */
    int64_t sums_row;
    const float *bias;             /* by column, where `first` begins; NULL: 0 */
    const struct cpu_store *store; /* NULL: into sums */
    float *const *y;               /* where each row's column 0 goes; columns lie side by side */
    const float *const *add;       /* likewise */
    int64_t column;                /* of the panel's first */
    /*
     * Tiles of as many rows, one after the other, each following the last in a; and from one to the next
     * in y and add. One, where `store` is not there.
     */
    int64_t tiles, y_step, add_step;
};

typedef void (*cpu_micro)(const struct cpu_tile *tile);

#endif
