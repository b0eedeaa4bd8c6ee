/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

/* INNER_PRODUCT and BATCHED_GEMM, row by row: what no faster form takes. */

struct product {
    const void *a, *b, *c;
    void *y;
    double alpha, beta;
    int64_t m, n, k;
    int64_t a_step[3], b_step[3], c_step[3], y_step[3]; /* batch, row, column */
    const struct cpu_walk *a_at;                        /* in place of its columns' step */
};

#define T          float
#define NAME(name) name##_f32
#include "matrix_impl.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "matrix_impl.h"

static void run_product(struct cpu_device *d, const struct cpu_op *p, const struct product *m,
                        int64_t batches)
{
    struct product product = *m;
    int64_t rows = batches * m->m;

    workers_run(d->workers, rows, walk_piece_of(rows, m->n * m->k + 1),
                p->op.out[0].dtype == FERRY_F32 ? product_rows_f32 : product_rows_f64, &product);
}

static int inner_product_plan(struct cpu_op *p)
{
    const ferry_operand *x = &p->op.in[0];

    if (!cpu_op_is_real(p) || x->rank < 1)
        return FERRY_EUNSUPPORTED;
    walk_begin(&p->plan.walk, x->rank - 1, x->shape + 1);
    walk_add(&p->plan.walk, x->stride + 1);
    walk_end_as_given(&p->plan.walk);
    return 0;
}

static void inner_product_run(struct cpu_device *d, const struct cpu_op *p,
                              const struct cpu_op_args *args)
{
    const ferry_operand *x = &p->op.in[0], *w = &p->op.in[1], *y = &p->op.out[0];
    struct product m = { .a = args->in[0],
                         .b = args->in[1],
                         .c = p->own_in > 2 ? args->in[2] : NULL,
                         .y = args->out[0],
                         .alpha = 1,
                         .beta = 1,
                         .m = y->shape[0],
                         .n = y->shape[1],
                         .k = w->shape[1],
                         .a_step = { 0, x->stride[0], 0 },
                         .b_step = { 0, w->stride[1], w->stride[0] },
                         .c_step = { 0, 0, p->op.in[2].stride[0] },
                         .y_step = { 0, y->stride[0], y->stride[1] },
                         .a_at = &p->plan.walk };

    run_product(d, p, &m, 1);
}

const struct cpu_op_kind cpu_op_inner_product = {
    .kind = FERRY_OP_INNER_PRODUCT,
    .plan = inner_product_plan,
    .run = inner_product_run,
};

static int batched_gemm_plan(struct cpu_op *p)
{
    return cpu_op_is_real(p) ? 0 : FERRY_EUNSUPPORTED;
}

static void batched_gemm_run(struct cpu_device *d, const struct cpu_op *p,
                             const struct cpu_op_args *args)
{
    const ferry_op *op = &p->op;
    struct product m = { .a = args->in[0],
                         .b = args->in[1],
                         .c = p->own_in > 2 ? args->in[2] : NULL,
                         .y = args->out[0],
                         .alpha = op->params.gemm.alpha,
                         .beta = op->params.gemm.beta,
                         .m = op->out[0].shape[1],
                         .n = op->out[0].shape[2],
                         .k = op->in[0].shape[2] };

    for (int i = 0; i < 3; i++) {
        m.a_step[i] = op->in[0].stride[i];
        m.b_step[i] = op->in[1].stride[i];
        m.c_step[i] = op->in[2].stride[i];
        m.y_step[i] = op->out[0].stride[i];
    }
    run_product(d, p, &m, op->out[0].shape[0]);
}

const struct cpu_op_kind cpu_op_batched_gemm = {
    .kind = FERRY_OP_BATCHED_GEMM,
    .plan = batched_gemm_plan,
    .run = batched_gemm_run,
};
