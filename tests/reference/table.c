/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include "arith.h"

#include <ferry/op_types.h>
#include <ferry/status.h>

#include <stdlib.h>

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev;
    if (op->kind < FERRY_OP_CONVOLUTION || op->kind > FERRY_OP_LAST)
        return FERRY_EUNSUPPORTED;
    out->epilogue = op->n_epilogue;
    return 0;
}

static int create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    ferry_op_desc *copy = malloc(sizeof(*copy));

    (void)dev;
    if (!copy)
        return FERRY_ENOMEM;
    *copy = *op;
    *out_prepared = copy;
    return 0;
}

/* Does nothing: the reference has no packed format. */
static int prepare(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return 0;
}

static void destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

/*
 * The values of all elements of an output in logical order, in memory that the caller frees; NULL
 * if it has no elements.
 */
static long double *expected(const struct op_scene *s, uint32_t n)
{
    const ferry_operand *o = &s->op->out[n];
    int64_t i[FERRY_OP_AXES] = { 0 }, k = 0;
    long double *all;

    if (op_count(o) == 0)
        return NULL;
    all = malloc((size_t)op_count(o) * sizeof(*all));
    if (!all)
        abort();
    do {
        struct op_number number;

        if (!op_expect(s, n, i, &number))
            abort();
        all[k++] = number.value;
    } while (op_next(o, i));
    return all;
}

static void put_all(const struct op_view *v, const long double *all)
{
    int64_t i[FERRY_OP_AXES] = { 0 };

    if (op_count(&v->o) == 0)
        return;
    do
        arith_put((ferry_dtype)v->o.dtype, v->first, op_place(&v->o, i), *all++);
    while (op_next(&v->o, i));
}

/* Every output is computed before any is written: an output may be an input. */
static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    struct op_view in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    long double *all[FERRY_OP_OUTPUTS];
    const struct op_scene s = {
        op, op_own_inputs(op), in, out, args->scalars, args->seed, args->offset
    };

    (void)dev, (void)queue;
    for (uint32_t i = 0; i < op->n_in; i++)
        in[i] = (struct op_view){ op->in[i], (unsigned char *)(uintptr_t)args->in[i].handle +
                                                 args->in[i].offset };
    for (uint32_t i = 0; i < op->n_out; i++)
        out[i] = (struct op_view){ op->out[i],
                                   (unsigned char *)args->out[i].handle + args->out[i].offset };
    for (uint32_t i = 0; i < op->n_out; i++)
        all[i] = expected(&s, i);
    for (uint32_t i = 0; i < op->n_out; i++) {
        put_all(&out[i], all[i]);
        free(all[i]);
    }
    return 0;
}

const ferry_op_table reference_table = {
    .struct_size = sizeof(ferry_op_table),
    .query = query,
    .create = create,
    .prepare = prepare,
    .run = run,
    .destroy = destroy,
};
