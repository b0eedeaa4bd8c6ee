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

static const struct {
    uint32_t kind, pass;
    oracle_function *function;
} functions[] = {
#define ROW(kind, pass, id, ...) { FERRY_OP_##kind, FERRY_PASS_##pass, oracle_##id },
    KIND_LIST(ROW)
};

static oracle_function *function_of(const ferry_op_desc *op)
{
    size_t i;

    for (i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].kind == op->kind && functions[i].pass == op->pass)
            return functions[i].function;
    return NULL;
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
