/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel-trial.h"

#include "arith.h"
#include "ferry-test.h"

#include <ferry/blob.h>

#include "tests/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ferry_operand *operand_at(const ferry_op_desc *op, uint32_t i)
{
    return i < op->n_in ? &op->in[i] : &op->out[i - op->n_in];
}

static double value_for(struct om_numbers *n, const struct trial *t, uint32_t i, int64_t k)
{
    const ferry_op_desc *op = &t->op;

    if ((op->kind == FERRY_OP_GATHER || op->kind == FERRY_OP_SCATTER_ADD) && i == 1)
        return (double)om_pick(n, op->in[0].shape[0] + 1);
    if (op->kind == FERRY_OP_ROI_POOL && i == 1)
        return k % 5 == 0 ? (double)om_pick(n, op->in[0].shape[0]) : (double)om_pick(n, 30);
    if (op->kind == FERRY_OP_BINARY && op->params.binary.function == FERRY_BINARY_QUOTIENT && i)
        return 1.5 + om_value(n);
    if (op->kind == FERRY_OP_UPDATE && i > 1) /* histories are under square roots */
        return 1.25 + om_value(n);
    if (op->kind == FERRY_OP_LRN && i == 3)
        return 2 + om_value(n); /* the scale of a backward pass */
    return operand_at(op, i)->dtype >= FERRY_I8 ? (double)om_pick(n, 100) : om_value(n);
}

static void make_operands(struct om_numbers *n, struct trial *t)
{
    for (uint32_t i = 0; i < t->op.n_in + t->op.n_out; i++) {
        const ferry_operand *o = operand_at(&t->op, i);
        int64_t extent = ferry_operand_extent(o);
        int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);

        t->size[i] = (size_t)extent + 2 * TRIAL_MARGIN;
        t->theirs[i] = malloc(t->size[i]);
        t->ours[i] = malloc(t->size[i]);
        memset(t->theirs[i], 0x3f, t->size[i]);
        for (int64_t k = 0; k < extent / size; k++)
            arith_put((ferry_dtype)o->dtype, t->theirs[i] + TRIAL_MARGIN, k, value_for(n, t, i, k));
        if (t->op.kind == FERRY_OP_POOL && t->op.pass == FERRY_PASS_BACKWARD_DATA && i == 1 &&
            t->op.n_in > 1)
            ob_fill_mask(n, &t->op, t->theirs[i] + TRIAL_MARGIN);
        memcpy(t->ours[i], t->theirs[i], t->size[i]);
        t->on.buffer[i < t->op.n_in ? FROM_IN(i) : FROM_OUT(i - t->op.n_in)] =
            t->ours[i] + TRIAL_MARGIN;
    }
}

void trial_oracle_at(struct trial *t, uint64_t margin)
{
    ferry_op_desc op = t->op;
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args args = { .struct_size = sizeof args,
                               .in = in,
                               .out = out,
                               .seed = 7,
                               .offset = 12,
                               .scalars = om_scalars,
                               .scalar_count = FERRY_UPDATE_SCALARS };
    void *prepared;

    /* the steps that are not supported */
    for (; op.n_epilogue > t->plan.answer.epilogue; op.n_epilogue--)
        op.n_in -= op.epilogue[op.n_epilogue - 1].step != FERRY_STEP_UNARY;
    for (uint32_t i = 0; i < op.n_in; i++)
        in[i] = (ferry_cref){ t->theirs[i], margin };
    for (uint32_t i = 0; i < op.n_out; i++)
        out[i] = (ferry_ref){ t->theirs[t->op.n_in + i], margin };
    CU_ASSERT_EQUAL_FATAL(reference_table.create(NULL, &op, &prepared), 0);
    CU_ASSERT_EQUAL(reference_table.run(NULL, NULL, prepared, &args), 0);
    reference_table.destroy(NULL, prepared);
}

/* Memory of exactly that size, so that the sanitizer knows its end. */
static unsigned char *rubbish(uint64_t bytes)
{
    unsigned char *p = bytes ? malloc(bytes) : NULL;

    if (p)
        memset(p, 0xff, bytes); /* NaN */
    return p;
}

static bool run(struct trial *t, trial_launch *launch)
{
    bool good = true;

    t->on.buffer[FROM_PACKED] = rubbish(t->plan.answer.packed_bytes);
    t->on.buffer[FROM_WORKSPACE] = rubbish(t->plan.answer.workspace_bytes);
    if (t->plan.answer.packed_bytes)
        good = launch(t, &t->plan.pack);
    for (uint32_t i = 0; i < t->plan.launches && good; i++)
        good = launch(t, &t->plan.launch[i]);
    free(t->on.buffer[FROM_PACKED]);
    free(t->on.buffer[FROM_WORKSPACE]);
    return good;
}

/* The largest difference from the oracle, relative to the largest value; 1 if bytes differ. */
static double distance(const struct trial *t, uint32_t i)
{
    const ferry_operand *o = operand_at(&t->op, i);
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
    double largest = 1e-3, far = 0;

    for (int64_t k = 0; k < ferry_operand_extent(o) / size; k++) {
        double a = (double)arith_get((ferry_dtype)o->dtype, t->theirs[i] + TRIAL_MARGIN, k);
        double b = (double)arith_get((ferry_dtype)o->dtype, t->ours[i] + TRIAL_MARGIN, k);

        if (isfinite(a))
            largest = fmax(largest, fabs(a));
        if (isnan(a) != isnan(b))
            return 1;
        if (!isnan(a) && a != b)
            far = fmax(far, fabs(a - b));
    }
    if (memcmp(t->ours[i], t->theirs[i], TRIAL_MARGIN) != 0 ||
        memcmp(t->ours[i] + t->size[i] - TRIAL_MARGIN, t->theirs[i] + t->size[i] - TRIAL_MARGIN,
               TRIAL_MARGIN) != 0)
        return 1;
    return far / largest;
}

static void end(struct trial *t)
{
    for (uint32_t i = 0; i < t->op.n_in + t->op.n_out; i++) {
        free(t->theirs[i]);
        free(t->ours[i]);
    }
}

void trial_make_operation(struct trying what, uint64_t seed, struct om_numbers *n,
                          ferry_op_desc *out)
{
    enum ob_role roles[FERRY_OP_INPUTS];
    ferry_op_desc forward;

    *n = (struct om_numbers){ seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
    if (what.pass)
        ob_make(n, what.pass, &forward, out, roles);
    else
        om_make(n, what.kind, 1, out);
}

bool trial_plan_operation(const ferry_op_desc *op, struct om_numbers numbers,
                          const struct kernel_target *target, struct trial *t)
{
    memset(t, 0, sizeof *t);
    t->on.seed = 7;
    t->on.offset = 12;
    t->on.scalars = om_scalars;
    t->numbers = numbers;
    t->op = *op;
    CU_ASSERT_EQUAL_FATAL(ferry_op_desc_check(&t->op), 0);
    return kernel_plan_make(target, &t->op, &t->plan) == 0;
}

bool trial_plan(struct trying what, uint64_t seed, const struct kernel_target *target,
                struct trial *t)
{
    struct om_numbers numbers;
    ferry_op_desc op;

    trial_make_operation(what, seed, &numbers, &op);
    return trial_plan_operation(&op, numbers, target, t);
}

/* ---- bounds ---- */

/*
 * Each addition, in any order and with any rounding, and each factor may cost 2^-23 of the sum of
 * the magnitudes; the result is rounded to nearest, or to a multiple of the smallest number.
 */
static bool is_within(ferry_dtype half, long double got, const struct op_number *want)
{
    long double error = (want->roundings + 4) * 0x1p-23L, small = half == FERRY_F16 ? 0x1p-25L : 0;
    long double place = half == FERRY_F16 ? 0x1p-11L : 0x1p-8L;

    error *= want->magnitude / (1 - error);
    error += place * (fabsl(want->value) + error) + small;
    return fabsl(got - want->value) <= error;
}

static bool is_bounded(const struct trial *t)
{
    struct op_view in[FERRY_OP_INPUTS], out = { t->op.out[0], t->theirs[t->op.n_in] };
    const struct op_scene scene = { .op = &t->op, .own_in = t->op.n_in, .in = in, .out = &out };
    ferry_dtype half = (ferry_dtype)out.o.dtype;
    int64_t i[FERRY_OP_AXES] = { 0 };
    struct op_number want;
    bool good = true;

    for (uint32_t k = 0; k < t->op.n_in; k++)
        in[k] = (struct op_view){ t->op.in[k], t->theirs[k] + TRIAL_MARGIN };
    out.first += TRIAL_MARGIN;
    do {
        good = op_expect(&scene, 0, i, &want) &&
               is_within(half,
                         arith_get(half, t->ours[t->op.n_in] + TRIAL_MARGIN, op_place(&out.o, i)),
                         &want);
    } while (good && op_next(&out.o, i));
    return good;
}

bool trial_is_bounded(struct trial *t, trial_launch *launch)
{
    bool good;

    make_operands(&t->numbers, t);
    good = run(t, launch) && (op_count(&t->op.out[0]) == 0 || is_bounded(t));
    end(t);
    return good;
}

bool trial_plan_half(uint32_t kind, ferry_dtype half, uint64_t seed,
                     const struct kernel_target *target, struct trial *t)
{
    struct om_numbers numbers = { seed * UINT64_C(0x9E3779B97F4A7C15) + kind };
    ferry_op_desc op;

    om_make(&numbers, kind, 0, &op);
    om_halve(&op, half);
    return trial_plan_operation(&op, numbers, target, t);
}

bool trial_agrees(struct trial *t, trial_launch *launch)
{
    double slack = (double)om_number_of("FERRY_TEST_SLACK", 1);
    bool good;

    make_operands(&t->numbers, t);
    good = run(t, launch);
    if (good)
        trial_oracle_at(t, TRIAL_MARGIN);
    for (uint32_t i = 0; good && i < t->op.n_in + t->op.n_out; i++)
        good = distance(t, i) <= om_tolerance(&t->op) * slack;
    end(t);
    return good;
}
