/* SPDX-License-Identifier: BSD-2-Clause */
#include "dots.h"

#include "op.h"

#include <ferry/op_types.h>

#include <string.h>

/*
 * Constant weights: the fewest floats, and the most rows. Smaller weights stay in the caches, where
 * the packed form takes less time; more rows take longer than with packed weights.
 */
#define LEAST_CONSTANT (2 * 1024 * 1024)
#define FEW_ROWS       4
/* Other weights, which each run would pack: the fewest floats. */
#define LEAST_OTHER (64 * 1024)
/* The shortest rows: each sum ends with the addition of its lanes. */
#define LEAST_DEPTH 256
/* The tasks for each thread, and the maximum columns of a task: its sums stay in the cache. */
#define TASKS_EACH   8
#define MOST_COLUMNS 64

bool cpu_dots_plan(struct cpu_op *p)
{
    const ferry_operand *w = &p->op.in[1];
    struct cpu_gemm *g = &p->plan.matrix.gemm;
    int64_t block = cut(g->n, TASKS_EACH * (int64_t)p->threads);
    bool is_constant = p->op.constants & 2, is_half = w->dtype != FERRY_F32;

    if (g->m > (is_constant ? FEW_ROWS : DOTS_MOST_ROWS) || g->k < LEAST_DEPTH ||
        g->n * g->k < (is_constant ? LEAST_CONSTANT : LEAST_OTHER) || w->stride[1] != 1)
        return false;
    p->plan.matrix.is_dots = true;
    p->plan.matrix.block = least(cut(block, 4) * 4, MOST_COLUMNS);
    p->plan.matrix.x_row = rounded(g->k);
    p->answer.epilogue = cpu_epilogue_taken(p, true);
    cpu_op_pack_or_not(
        p, 1, is_constant && is_half ? (uint64_t)(g->n * g->k) * 2 : 0,
        (uint64_t)(g->m * (p->plan.matrix.x_row + p->threads * p->plan.matrix.block)) *
            sizeof(float));
    return true;
}

void cpu_dots_pack(const struct cpu_op *p, const uint16_t *w, uint16_t *packed)
{
    const struct cpu_gemm *g = &p->plan.matrix.gemm;

    for (int64_t i = 0; i < g->n; i++)
        memcpy(packed + i * g->k, w + i * p->op.in[1].stride[0], (size_t)g->k * sizeof *w);
}

struct job {
    const struct cpu_op *op;
    const struct cpu_gemm_run *run;
    struct cpu_dots dots;
    float *copied, *sums; /* the copied rows of x; the sums of all slots */
};

/* Copies one row of x to the order of the weights' rows. */
static void copy_row(const struct cpu_op *p, const float *x, float *to)
{
    const struct cpu_turn *t = &p->plan.matrix.turn;
    const struct cpu_walk *walk = &p->plan.matrix.walk;
    int64_t count = p->plan.matrix.gemm.k;

    if (t->rank == 0) {
        for (int64_t k = 0; k < count; k++)
            to[k] = x[walk->rank > 1 ? walk_at(walk, 0, k) : k * walk_step(walk, 0)];
        return;
    }
    for (int64_t k = 0; k < count; k += t->shape[0]) {
        int64_t at = cpu_turn_at(t, k);

        for (int64_t i = 0; i < t->shape[0]; i++)
            to[at + i * t->step[0]] = x[k + i];
    }
}

static void copy_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct job *job = arg;
    const struct cpu_op *p = job->op;

    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        copy_row(p, job->run->a + i * job->run->a_row, job->copied + i * p->plan.matrix.x_row);
}

/* Computes a block of columns of all rows. */
static void multiply(void *arg, int64_t number, unsigned slot)
{
    const struct job *job = arg;
    const struct cpu_gemm *g = job->run->plan;
    const int64_t block = job->op->plan.matrix.block, first = number * block;
    const int64_t columns = least(block, g->n - first);
    struct cpu_dots dots = job->dots;

    dots.w = (const char *)dots.w + first * dots.w_row * (dots.widen ? 2 : 4);
    dots.sums = job->sums + (int64_t)slot * g->m * block;
    job->op->loops->dots(&dots, columns);
    for (int64_t i = 0; i < g->m; i++)
        cpu_gemm_finish_row(job->run, i, first, columns, dots.sums + i * block);
}

void cpu_dots_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_gemm_run *r,
                  const void *w)
{
    const struct cpu_gemm *g = r->plan;
    const struct cpu_walk *walk = &p->plan.matrix.walk;
    const uint32_t w_dtype = p->op.in[1].dtype;
    bool is_in_place = p->plan.matrix.turn.rank == 0 && walk->rank == 1 && walk_step(walk, 0) == 1;
    struct job job = { .op = p,
                       .run = r,
                       .dots = { .x = is_in_place ? r->a : r->scratch,
                                 .w = p->answer.packed_bytes ? r->b : w,
                                 .widen = w_dtype == FERRY_F32 ? NULL : d->kernels->widen[w_dtype],
                                 .x_row = is_in_place ? r->a_row : p->plan.matrix.x_row,
                                 .w_row = p->answer.packed_bytes ? g->k : p->op.in[1].stride[0],
                                 .rows = g->m,
                                 .k = g->k,
                                 .sums_row = p->plan.matrix.block },
                       .copied = r->scratch,
                       .sums = r->scratch + g->m * p->plan.matrix.x_row };

    if (!is_in_place)
        workers_run(d->workers, g->m, walk_piece_of(g->m, g->k * (int64_t)sizeof(float)), copy_rows,
                    &job);
    workers_tasks(d->workers, cut(g->n, p->plan.matrix.block), multiply, &job);
}
