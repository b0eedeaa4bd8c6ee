/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Products of matrices, F32, for convolution, inner product and gemm: y (m × n) = a (m × k) · b (k
 * × n), `batches` times.
 *
 * b is packed into panels of one or two vectors' width. A task is a block of rows by a block of
 * panels; it processes k in blocks, gathers the rows of one tile of a, and runs the micro-kernel
 * over the panels. Each element of y is one chain of multiplications and additions in the order of
 * k, so that tiles, tasks and threads do not change a bit of it. (Zeros of the padding may be
 * skipped: they change a sum only if weights are infinite or NaN.)
 */
#ifndef FERRY_CPU_OP_GEMM_H
#define FERRY_CPU_OP_GEMM_H

#include "../workers.h"
#include "loops.h"

/*
 * The forms of packed b: floats; or BF16, rounded to nearest even, of which the micro-kernel makes
 * floats; or pairs of BF16 along k, which are multiplied by pairs of a.
 */
enum cpu_gemm_form { CPU_GEMM_FLOATS, CPU_GEMM_BF16, CPU_GEMM_BF16_PAIRS };

/* The division of a product; it depends on shapes, instruction set and number of threads only. */
struct cpu_gemm {
    enum cpu_gemm_form form;
    int64_t batches, m, n, k;
    int64_t m_line, k_line;        /* rows and elements that are adjacent in a; 0: all, or none */
    int64_t panel, panels;         /* columns of one, and their number */
    int64_t depth;                 /* of a block of k */
    int64_t row_block, row_blocks; /* maximum rows of a task, and the number of tasks that share the
                                    * rows */
    int64_t row_unit;              /* a task has whole units of it: a row, or a line of rows */
    int64_t panel_block, panel_blocks;              /* panels of a task */
    int64_t a_row, sums_row, a_floats, slot_floats; /* of the scratch memory of one thread */
    unsigned slots;                                 /* threads that share the tasks */
};

struct cpu_gemm_run {
    const struct cpu_gemm *plan;
    const struct cpu_loops *loops;
    const struct cpu_pairs *pairs; /* of CPU_GEMM_BF16_PAIRS */
    const float *b;  /* packed */
    int64_t b_batch; /* from a batch's panels to the next one's; 0: the same for all */
    /* a, either in place or gathered. */
    const float *a;         /* NULL: see `reach` and `bring` */
    int64_t a_batch, a_row; /* strides; columns are contiguous */
    /*
     * The number of these rows, from the first on, that can be read in place, and a, a_row and the
     * spans of a tile of them, with no spans if they add nothing; or, negative, the number that
     * cannot. May be NULL.
     */
    int64_t (*reach)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                     int64_t k, int64_t depth, struct cpu_tile *tile);
    /*
     * Gathers rows into `to`, plan->a_row apart, where the tile expects them; or in another form,
     * which it sets in the tile, within rows · depth floats.
     */
    void (*bring)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile);
    bool brings_windows; /* `bring` is fast */
    /*
     * The beginning of rows of y, and of the added operand: column 0 of the batch. NULL: by
     * strides.
     */
    void (*place)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t *y_at, int64_t *add_at);
    int64_t y_batch, y_row, add_batch, add_row;
    const void *arg; /* of these functions */
    float *y;
    int64_t y_column;
    const float *add; /* of the ADD step */
    int64_t add_column;
    struct cpu_step step[CPU_MOST_STEPS];
    uint32_t steps;
    int64_t step_batch; /* columns of the steps' operands from a batch to the next */
    float *scratch;     /* cpu_gemm_workspace bytes */
    /* cpu_gemm_do makes it from the steps. */
    struct cpu_store store;
    bool stores; /* the micro-kernel performs the first `stored` steps; functions follow */
    uint32_t stored;
};

/* The shape of the product and its form are filled in; this decides the rest. */
void cpu_gemm_plan(struct cpu_gemm *g, const struct cpu_loops *loops, unsigned threads);
/*
 * The form of a constant b that may be rounded to BF16, from the shape: floats where BF16 is not
 * faster. `pairs` may be NULL.
 */
enum cpu_gemm_form cpu_gemm_form(const struct cpu_gemm *g, const struct cpu_loops *loops,
                                 const struct cpu_pairs *pairs);
uint64_t cpu_gemm_workspace(const struct cpu_gemm *g);
/* gemm_pack.c: the floats of one batch's packed b. */
int64_t cpu_gemm_packed(const struct cpu_gemm *g);

/* The columns that panel p occupies in memory: those of one vector if that is enough. */
int64_t cpu_gemm_width(const struct cpu_gemm *g, int64_t p);
/* Floats of the first k rows of a panel of that width. */
int64_t cpu_gemm_floats(const struct cpu_gemm *g, int64_t k, int64_t width);

/* The offset of element (k, column) of packed b of floats. */
int64_t cpu_gemm_packed_at(const struct cpu_gemm *g, int64_t k, int64_t column);

/*
 * Whether the micro-kernel supports the steps, a bias, an addition and a clamp, but for functions
 * at their end, and y's columns are contiguous; fills in the store.
 */
bool cpu_gemm_make_store(struct cpu_gemm_run *r);

/* The functions that follow the store, on `columns` stored elements of a row. */
void cpu_gemm_functions(const struct cpu_gemm_run *r, int64_t columns, float *y);

/* Computes the product. */
void cpu_gemm_do(struct workers *w, struct cpu_gemm_run *r);

/*
 * Packs rows k … k + depth − 1 of b's columns: element (k, j) is at from[j·column], and `from`
 * advances by `row` for each k. For batch 0; each further batch is cpu_gemm_packed floats after the
 * previous one.
 */
void cpu_gemm_pack(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                   int64_t row, int64_t column, float *packed);
/* Packs row k of a b of floats, whose columns are contiguous. */
void cpu_gemm_pack_row(const struct cpu_gemm *g, int64_t k, const float *from, float *packed);

#endif
