/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tile of a product of matrices, and the steps before it is stored: the interface between the
 * driver (gemm.h) and the micro-kernels of each instruction set (loops.h). F32 only.
 */
#ifndef FERRY_CPU_OP_TILE_H
#define FERRY_CPU_OP_TILE_H

#include <ferry/op_desc.h>

#include <stdbool.h>

/* The maximum rows of a tile, and columns of a panel, of any instruction set. */
#define TILE_MOST_ROWS    14
#define TILE_MOST_COLUMNS 32
/* The maximum depth before sums are stored. */
#define TILE_MOST_DEPTH 256

/*
 * A step of the epilogue, with its operand of a run. A bias is a SHIFT. The operand of ADD is
 * passed separately and multiplied by a.
 */
struct cpu_step {
    uint32_t step, function;
    double a, b, c;
    const float *operand;
    int64_t stride; /* per column; 0: one for all */
};

#define CPU_MOST_STEPS (FERRY_OP_EPILOGUE + 1)

/* The steps that micro-kernels perform: y = f(bias + sum + add). Sums start with the bias. */
struct cpu_store {
    const float *bias;   /* by column; NULL: none */
    bool adds;           /* a tile's `add` is set */
    uint32_t clamp;      /* CPU_CLAMP_… */
    float slope;         /* CPU_CLAMP_RELU: x > 0 ? x : slope·x */
    const float *slopes; /* CPU_CLAMP_PRELU: likewise, by column */
    float least, most;   /* CPU_CLAMP_CLIP */
};

#define CPU_CLAMP_NONE 0u
#define CPU_CLAMP_RELU 1u
#define CPU_CLAMP_CLIP 2u
/* max(x, 0), which is CPU_CLAMP_RELU with a slope of 0 unless x is infinite. */
#define CPU_CLAMP_POSITIVE 3u
#define CPU_CLAMP_PRELU    4u

/* Up to TILE_MOST_ROWS rows by one panel. */
struct cpu_tile {
    const float *a; /* rows, a_row apart; each has `spans` times `span` floats, `jump` apart */
    int64_t a_row, spans, span, jump;
    int64_t line, line_jump; /* after every `line` spans, the next is that much farther; 0: none */
    const float *b; /* as many rows, as wide as the panel */
    bool first;     /* sums start at 0, not with the contents of `sums` */
    float *sums;    /* where they are stored, unless `store` is set */
    int64_t sums_row;
    const float *bias;             /* by column, the initial value with `first`; NULL: 0 */
    const struct cpu_store *store; /* NULL: into sums */
    float *const *y;               /* where each row's column 0 is stored; columns are contiguous */
    const float *const *add;       /* likewise */
    int64_t column;                /* of the panel's first */
    /*
     * Consecutive tiles of equal size, each following the previous one in a; and their distance in
     * y and add. One, unless `store` is set.
     */
    int64_t tiles, y_step, add_step;
};

typedef void (*cpu_micro)(const struct cpu_tile *tile);

#endif
