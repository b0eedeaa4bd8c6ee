/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/oracle.h"

#include "op/oracle_parts.h"
#include "op/unary.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the epilogue ------------------------------------------------------------------------------ */

static double step_of(const struct scene *s, const ferry_op_step *step, const int64_t *index,
                      double y)
{
    const struct view *u = &s->in[step->operand];
    double v;

    if (step->step == FERRY_STEP_UNARY)
        return ferry__unary_value(step->function, y, step->a, step->b, step->c);
    v = step->step == FERRY_STEP_ADD ? view_get(u, index) : view_get(u, &index[1]);
    return step->step == FERRY_STEP_SCALE   ? y * v
           : step->step == FERRY_STEP_PRELU ? (y > 0 ? y : v * y)
                                            : y + v;
}

static void epilogue(const struct scene *s)
{
    const struct view *y = &s->out[0];
    struct walk w;
    uint32_t i;

    for (w = walk_over(&y->o); s->op->n_epilogue && w.left; walk_on(&w, &y->o)) {
        double value = view_get(y, w.i);

        for (i = 0; i < s->op->n_epilogue; i++)
            value = step_of(s, &s->op->epilogue[i], w.i, value);
        view_set(y, w.i, value);
    }
}

/* ---- the table --------------------------------------------------------------------------------- */

static oracle_function forward_of(uint32_t kind)
{
    switch (kind) {
    case FERRY_OP_CONVOLUTION:
        return oracle_convolution;
    case FERRY_OP_INNER_PRODUCT:
        return oracle_inner_product;
    case FERRY_OP_IM2COL:
        return oracle_im2col;
    case FERRY_OP_COL2IM:
        return oracle_col2im;
    case FERRY_OP_BATCHED_GEMM:
        return oracle_gemm;
    case FERRY_OP_POOL:
        return oracle_pool;
    case FERRY_OP_UNARY:
        return oracle_elementwise;
    case FERRY_OP_BINARY:
        return oracle_binary;
    case FERRY_OP_REDUCE:
        return oracle_reduce;
    case FERRY_OP_MOMENTS:
        return oracle_moments;
    case FERRY_OP_SOFTMAX:
        return oracle_softmax;
    case FERRY_OP_LRN:
        return oracle_lrn;
    case FERRY_OP_STRIDED_COPY:
        return oracle_copy;
    case FERRY_OP_RESIZE:
        return oracle_resize;
    case FERRY_OP_ROI_POOL:
        return oracle_roi;
    case FERRY_OP_GATHER:
        return oracle_gather;
    case FERRY_OP_SCATTER_ADD:
        return oracle_scatter;
    case FERRY_OP_RANDOM:
        return oracle_random;
    case FERRY_OP_UPDATE:
        return oracle_update;
    default:
        return NULL;
    }
}

static oracle_function function_of(const ferry_op_desc *op)
{
    return op->pass == FERRY_PASS_FORWARD ? forward_of(op->kind)
                                          : oracle_backward_of(op->kind, op->pass);
}

static int oracle_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev;
    if (!function_of(op))
        return FERRY_EUNSUPPORTED;
    out->epilogue = op->n_epilogue;
    return 0;
}

static int oracle_create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    ferry_op_desc *copy = malloc(sizeof *copy);

    (void)dev;
    if (!copy)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for an operation",
                               ferry_op_kind_name(op->kind));
    *copy = *op;
    *out_prepared = copy;
    return 0;
}

static int oracle_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                          ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return 0; /* nothing is ever packed */
}

static int oracle_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    struct scene s = { .op = prepared };
    uint32_t i;

    (void)dev, (void)queue;
    for (i = 0; i < s.op->n_in; i++) {
        s.in[i].o = s.op->in[i];
        s.in[i].at = (char *)(uintptr_t)args->in[i].handle + args->in[i].offset;
    }
    for (i = 0; i < s.op->n_out; i++) {
        s.out[i].o = s.op->out[i];
        s.out[i].at = (char *)args->out[i].handle + args->out[i].offset;
    }
    s.scalars = args->scalars;
    s.scalar_count = args->scalar_count;
    s.seed = args->seed;
    s.offset = args->offset;
    function_of(s.op)(&s);
    epilogue(&s);
    return 0;
}

static void oracle_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

const ferry_op_table ferry__oracle = {
    .struct_size = sizeof ferry__oracle,
    .query = oracle_query,
    .create = oracle_create,
    .prepare = oracle_prepare,
    .run = oracle_run,
    .destroy = oracle_destroy,
};
