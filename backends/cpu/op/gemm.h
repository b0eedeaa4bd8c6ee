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
#include "sizes.h"

#include <string.h>

/*
 * The forms of packed b: floats; or BF16, rounded to nearest even, or F16, which the micro-kernel
 * converts to floats; or pairs of BF16 along k, which are multiplied by pairs of a.
 */
enum cpu_gemm_form { CPU_GEMM_FLOATS, CPU_GEMM_BF16, CPU_GEMM_BF16_PAIRS, CPU_GEMM_F16 };

/* The division of a product; it depends on shapes, instruction set and number of threads only. */
struct cpu_gemm {
    enum cpu_gemm_form form;
    int64_t batches, m, n, k;
    int64_t m_line, k_line;        /* the number of rows, and of elements, that are adjacent in a;
                                    * 0: all rows, or no elements */
    bool is_in_place;              /* the rows of a need not be gathered */
    bool is_short;                 /* gathering a row takes as long as its sums */
    int64_t brought;               /* the number of tiles of one line that `bring` may gather at
                                    * once; 0: one */
    int64_t panel, panels;         /* the columns of a panel, and the number of panels */
    int64_t depth;                 /* the depth of a block of k */
    int64_t row_block, row_blocks; /* maximum rows of a task, and the number of tasks that share the
                                    * rows */
    int64_t row_parts;             /* the parts of the rows whose tasks come one after the other: of
                                    * two threads, each then has the same half in all products. 1,
                                    * if threads read parts of b or rows do not divide evenly */
    int64_t row_unit;              /* the rows are divided at multiples of it: a row, or a line of
                                    * rows */
    int64_t panel_block, panel_blocks;              /* the panels of a task, and the number of tasks
                                                     * that share the panels */
    int64_t a_row, sums_row, a_floats, slot_floats; /* sizes in floats in the scratch memory of one
                                                     * thread */
    unsigned slots;                                 /* the number of threads that share the tasks */
};

struct cpu_gemm_run {
    const struct cpu_gemm *plan;
    const struct cpu_loops *loops;
    const struct cpu_pairs *pairs; /* the functions for CPU_GEMM_BF16_PAIRS */
    const float *b;  /* packed b */
    int64_t b_batch; /* the distance from a batch's panels to those of the next batch; 0: all
                      * batches use the same */
    /* The operand a, read in place or gathered. */
    const float *a;         /* NULL: `reach` and `bring` provide it */
    bool has_pairs;         /* a has pairs of BF16, for that form: rows and strides in floats */
    int64_t a_batch, a_row; /* the strides of a, whose columns are contiguous */
    /*
     * Returns the number of these rows, from the first on, that can be read in place, and sets a,
     * a_row and the spans of a tile of them (no spans if the rows contribute nothing). A negative
     * result is the number of rows that cannot be read in place. May be NULL.
     */
    int64_t (*reach)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                     int64_t k, int64_t depth, struct cpu_tile *tile);
    /*
     * Gathers rows into `to`, plan->a_row apart, in the layout that the tile expects, or in another
     * one that it sets in the tile; at most rows · depth floats.
     */
    void (*bring)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile);
    bool brings_windows; /* `bring` copies whole windows, which is fast */
    /*
     * Sets the address of column 0 of the batch in rows of y, and of the added operand. NULL: the
     * strides give it.
     */
    void (*place)(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t *y_at, int64_t *add_at);
    int64_t y_batch, y_row, add_batch, add_row;
    const void *arg; /* the argument of these functions */
    float *y;
    int64_t y_column;
    const float *add; /* the operand of the ADD step */
    int64_t add_column;
    struct cpu_step step[CPU_MOST_STEPS];
    uint32_t steps;
    int64_t step_batch; /* the distance of the columns of the steps' operands from a batch to the
                         * next */
    float *scratch;     /* cpu_gemm_workspace bytes */
    /* Made by cpu_gemm_do from the steps. */
    struct cpu_store store;
    bool stores; /* the micro-kernel performs the first `stored` steps; functions follow them */
    uint32_t stored;
};

/* gemm_plan.c. Completes a plan whose shape and form are set. */
void cpu_gemm_plan(struct cpu_gemm *g, const struct cpu_loops *loops, unsigned threads);
/* Whether blocks of k have whole pairs, as the form of pairs requires. */
bool cpu_gemm_has_pairs(const struct cpu_gemm *g);
/*
 * The form, without pairs, for a constant b that may be rounded to BF16, by the shape: floats if
 * BF16 is not faster.
 */
enum cpu_gemm_form cpu_gemm_form(const struct cpu_gemm *g, const struct cpu_loops *loops);
/* The form in which the micro-kernel converts a constant b of F16 or BF16; floats if it cannot. */
enum cpu_gemm_form cpu_gemm_half_form(const struct cpu_gemm *g, const struct cpu_loops *loops,
                                      uint32_t dtype);
uint64_t cpu_gemm_workspace(const struct cpu_gemm *g);
/* The number of floats of one batch's packed b (gemm_pack.c). */
int64_t cpu_gemm_packed(const struct cpu_gemm *g);

/* The number of columns that panel p occupies in memory: those of one vector if that is enough. */
int64_t cpu_gemm_width(const struct cpu_gemm *g, int64_t p);
/* The number of floats of the first k rows of a panel of that width. */
int64_t cpu_gemm_floats(const struct cpu_gemm *g, int64_t k, int64_t width);

/* The offset of element (k, column) of packed b in the form of floats. */
int64_t cpu_gemm_packed_at(const struct cpu_gemm *g, int64_t k, int64_t column);

/*
 * Whether the micro-kernel supports the steps: a bias, an addition and a clamp, apart from
 * functions at their end; the columns of y must be contiguous. Fills in the store.
 */
bool cpu_gemm_make_store(struct cpu_gemm_run *r);

/* Applies the functions that follow the store to `columns` stored elements of a row. */
void cpu_gemm_functions(const struct cpu_gemm_run *r, int64_t columns, float *y);

/* Applies all steps to sums of a row of batch 0, which it changes, and stores them in y. */
void cpu_gemm_finish_row(const struct cpu_gemm_run *r, int64_t row, int64_t column, int64_t columns,
                         float *sums);

/* Rounds to nearest even; NaN stays NaN. */
static inline uint16_t cpu_bf16_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float cpu_float_of_bf16(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float wide;

    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* Computes the product. */
void cpu_gemm_do(struct workers *w, struct cpu_gemm_run *r);

/*
 * Packs rows k … k + depth − 1 of b's columns: element (k, j) is at from[j·column], and `from`
 * advances by `row` for each k. It packs batch 0; each further batch is cpu_gemm_packed floats
 * after the previous one.
 */
void cpu_gemm_pack(const struct cpu_gemm *g, int64_t k, int64_t depth, const float *from,
                   int64_t row, int64_t column, float *packed);
/* A b of F16 or BF16 and the function that converts n contiguous elements of it to floats. */
struct cpu_halves {
    uint32_t dtype;
    void (*widen)(int64_t n, const void *x, float *y);
};

/* The same for a b of halves, on all threads if it is large; depth ≥ 1. */
void cpu_gemm_pack_halves(struct workers *w, const struct cpu_gemm *g,
                          const struct cpu_halves *halves, int64_t k, int64_t depth,
                          const uint16_t *from, int64_t row, int64_t column, float *packed);
/*
 * Packs row k of b in the form of floats or of pairs; its columns are contiguous. In pairs, the row
 * after the last one of an odd number is a row of zeros.
 */
void cpu_gemm_pack_row(const struct cpu_gemm *g, int64_t k, const float *from, float *packed);
/* Packs rows k, even, and k + 1 of b in the form of pairs. NULL for the second row: zeros. */
void cpu_gemm_pack_two(const struct cpu_gemm *g, int64_t k, const float *even, const float *odd,
                       float *packed);

#endif
