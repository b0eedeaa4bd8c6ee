/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Products of matrices, F32: what convolution, inner product and gemm are made of. y (m × n) =
 * a (m × k) · b (k × n), `batches` times.
 *
 * b is packed into panels of one or two vectors' width. A task is a block of rows by a block of
 * panels; it goes through k in blocks, brings the rows of one tile of a together, and lets the
 * micro-kernel run over the panels. Each element of y is one chain of multiplications and additions
 * in the order of k, so that neither tiles nor tasks nor threads change a bit of it. (Zeros beside an image
 * may be left out: they change a sum only where weights are infinite or no numbers.)
 */
#ifndef FERRY_CPU_OP_GEMM_H
#define FERRY_CPU_OP_GEMM_H

#include "../workers.h"
#include "loops.h"

/* How a product is cut; of shapes, instruction set and number of threads alone. */
struct cpu_gemm {
    int64_t batches, m, n, k;
    int64_t m_line, k_line;        /* rows and elements that lie close in a; 0: all do, or none */
    int64_t panel, panels;         /* columns of one, and how many there are */
    int64_t depth;                 /* of a block of k */
    int64_t row_block, row_blocks; /* rows of a task at most, and how many tasks share the rows */
    int64_t row_unit;              /* of which a task has whole ones: a row, or a line of them */
    int64_t panel_block, panel_blocks;              /* panels of a task */
    int64_t a_row, sums_row, a_floats, slot_floats; /* of the scratch of one thread */
    unsigned slots;                                 /* threads that share the tasks */
};

struct cpu_gemm_run {
    const struct cpu_gemm *plan;
    const struct cpu_loops *loops;
    const float *b;  /* packed */
    int64_t b_batch; /* from a batch's panels to the next one's; 0: the same for all */
    /* a, either as it lies or brought together. */
    const float *a;         /* NULL: see `reach` and `bring` */
    int64_t a_batch, a_row; /* strides; columns lie side by side */
    /*
     * How many of these rows, from the first on, can be read as they lie, and a, a_row, spans, span
     * and jump of a tile of them, no spans where they add nothing; or, negative, how many cannot. May be
     * NULL.
     */
    int64_t (*reach)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                     int64_t k, int64_t depth, struct cpu_tile *tile);
    /*
     * Brings rows together in `to`, plan->a_row apart, where the tile expects them; or otherwise, if it
     * tells the tile, within rows · depth floats.
     */
    void (*bring)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile);
    bool brings_windows; /* `bring` takes little time */
    /* Where rows of y, and of what is added, begin: at column 0 of the batch. NULL: by strides. */
    void (*place)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t *y_at, int64_t *add_at);
    int64_t y_batch, y_row, add_batch, add_row;
    const void *arg; /* of these */
    float *y;
    int64_t y_column;
    const float *add; /* of the ADD step */
    int64_t add_column;
    struct cpu_step step[CPU_MOST_STEPS];
    uint32_t steps;
    int64_t step_batch; /* columns of the steps' operands from a batch to the next */
    float *scratch;     /* cpu_gemm_workspace bytes */
    /* Made of the steps by cpu_gemm_do. */
    struct cpu_store store;
    bool stores; /* the micro-kernel does all the steps */
};

/* What product it is is filled in; this decides the rest. */
void cpu_gemm_plan(struct cpu_gemm *g, const struct cpu_loops *loops, unsigned threads);
uint64_t cpu_gemm_workspace(const struct cpu_gemm *g);
/* Floats of one batch's packed b. */
int64_t cpu_gemm_packed(const struct cpu_gemm *g);

/* Where element (k, column) of packed b is. */
int64_t cpu_gemm_packed_at(const struct cpu_gemm *g, int64_t k, int64_t column);

/*
 * Whether the steps are what the micro-kernel does, a bias, something added, a clamp, and columns of y
 * lie side by side; fills in the store.
 */
bool cpu_gemm_make_store(struct cpu_gemm_run *r);

/* Does it. */
void cpu_gemm_do(struct workers *w, struct cpu_gemm_run *r);

/*
 * Packs rows k … k + depth − 1 of b's columns: element (k, j) is at from[j·column], and `from` moves
 * on by `row` for each k. For batch 0; a batch is cpu_gemm_packed floats behind the one before.
 */
void cpu_gemm_pack(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                   int64_t row, int64_t column, float *packed);
/* Row k of b, whose columns lie side by side. */
void cpu_gemm_pack_row(const struct cpu_gemm *g, int64_t k, const float *from, float *packed);

#endif
