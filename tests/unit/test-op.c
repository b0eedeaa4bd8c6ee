/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include "tests/reference/reference.h"

#include <ferry/op.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Prepared operations through the public interface, on each backend. */

/* y = max(x, 0) on 2 × 3 elements. */
static ferry_op_desc relu(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 3 }, 2, NULL);
    return op;
}

/* y = x·wᵀ, 2 × 3 by 4 × 3, whose weights are constant. */
static ferry_op_desc product(void)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 3 }, 2, NULL);
    op.in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ 4, 3 }, 2, NULL);
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 4 }, 2, NULL);
    op.constants = 2;
    return op;
}

static ferry_memory *floats(const float *values, size_t n)
{
    ferry_memory *m = fx_memory(n * sizeof *values);

    if (values)
        memcpy(ferry_memory_overwrite_host_data(m), values, n * sizeof *values);
    return m;
}

static bool is(ferry_memory *m, size_t n, const float *wanted)
{
    const float *got = ferry_memory_host_data(m);
    size_t i;

    for (i = 0; got && i < n; i++)
        if (!(got[i] >= wanted[i] && got[i] <= wanted[i]))
            return false; /* −0 equals 0, and a NaN never equals the expected value */
    return got != NULL;
}

static const float six[6] = { -1, 2, -3, 4, -5, 6 };

static int run(ferry_operation *o, ferry_queue *q, ferry_memory *x, ferry_memory *w,
               ferry_memory *y)
{
    ferry_operation_location in[2] = { { x, 0 }, { w, 0 } }, out = { y, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = &out };

    return ferry_operation_run(o, q, &args);
}

static void an_operation_runs_on_the_plugin_or_falls_back_to_the_host(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats(six, 6), *y = floats(NULL, 6);
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_operation_stats stats = { .struct_size = sizeof stats };
    ferry_op_desc op = relu();
    ferry_operation *o;

    FX_OK(ferry_operation_query(dev, &op, &plan));
    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(run(o, NULL, x, NULL, y));
    CU_ASSERT(is(y, 6, (float[]){ 0, 2, 0, 4, 0, 6 }));
    FX_OK(run(o, NULL, x, NULL, x)); /* in place, which the kind allows */
    CU_ASSERT(is(x, 6, (float[]){ 0, 2, 0, 4, 0, 6 }));
    FX_OK(ferry_operation_get_stats(o, &stats));
    CU_ASSERT_EQUAL(stats.runs, 2);
    CU_ASSERT_EQUAL(stats.host_bytes, plan.tier == FERRY_TIER_HOST ? 96 : 0);
    CU_ASSERT_EQUAL(plan.tier, fx_has_operations() ? FERRY_TIER_OWN : FERRY_TIER_HOST);
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(y);
    fx_end();
}

/* x[i] and u[i], whose products F32 does not represent exactly. */
#define TERMS 1000

static void terms(float *x, float *u)
{
    for (int i = 0; i < TERMS; i++) {
        x[i] = 1 + (float)i / 777;
        u[i] = -(i % 2 ? 1 : 0.75f) / 3 - (float)i / 2331;
    }
}

/*
 * a x + b u and x u + v, compared with the host's bits: no device rounds once where others round
 * twice.
 */
static void a_product_is_rounded_before_the_sum(void)
{
    static float x[TERMS], u[TERMS], sum[TERMS], scaled[TERMS];
    const float a = 1.0f / 3;
    ferry_device *dev = fx_device();
    ferry_memory *mx, *mu, *my = floats(NULL, TERMS);
    ferry_op_desc op;

    terms(x, u);
    for (int i = 0; i < TERMS; i++) {
        volatile float ax = a * x[i], xu = x[i] * u[i];

        sum[i] = ax + u[i];
        scaled[i] = xu + x[i];
    }
    mx = floats(x, TERMS);
    mu = floats(u, TERMS);
    for (int scale = 0; scale < 2; scale++) {
        ferry_operation_location in[3] = { { mx, 0 }, { mu, 0 }, { mx, 0 } }, out = { my, 0 };
        ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = &out };
        ferry_operation *o;

        ferry_op_desc_init(&op, FERRY_OP_BINARY);
        op.n_in = scale ? 3 : 2;
        op.n_out = 1;
        for (uint32_t i = 0; i < op.n_in; i++)
            op.in[i] = ferry_operand_make(FERRY_F32, (int64_t[]){ TERMS }, 1, NULL);
        op.out[0] = op.in[0];
        op.params.binary.function = scale ? FERRY_BINARY_SCALE : FERRY_BINARY_SUM;
        op.params.binary.a = (double)a;
        op.params.binary.b = 1;
        FX_OK_FATAL(ferry_operation_create(dev, &op, &o));
        FX_OK(ferry_operation_run(o, NULL, &args));
        CU_ASSERT(is(my, TERMS, scale ? scaled : sum));
        ferry_operation_destroy(o);
    }
    ferry_memory_release(mx);
    ferry_memory_release(mu);
    ferry_memory_release(my);
    fx_end();
}

static void constants_are_packed_once_and_again_after_a_write(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats((float[]){ 1, 2, 3, 4, 5, 6 }, 6), *y = floats(NULL, 8);
    ferry_memory *w = floats((float[]){ 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1 }, 12);
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_operation_stats stats = { .struct_size = sizeof stats };
    ferry_op_desc op = product();
    ferry_operation *o, *twin;

    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(ferry_operation_create(dev, &op, &twin));
    FX_OK(ferry_operation_get_plan(o, &plan));
    FX_OK(run(o, NULL, x, w, y));
    FX_OK(run(o, NULL, x, w, y));
    CU_ASSERT(is(y, 8, (float[]){ 1, 2, 3, 6, 4, 5, 6, 15 }));
    FX_OK(run(twin, NULL, x, w, y)); /* uses the weights that the other operation packed */
    ((float *)ferry_memory_mutable_host_data(w))[0] = 10;
    FX_OK(run(o, NULL, x, w, y));
    CU_ASSERT(is(y, 8, (float[]){ 10, 2, 3, 6, 40, 5, 6, 15 }));
    FX_OK(ferry_operation_get_stats(o, &stats));
    CU_ASSERT_EQUAL(stats.packs, plan.packed_bytes ? 2 : 0);
    FX_OK(ferry_operation_get_stats(twin, &stats));
    CU_ASSERT_EQUAL(stats.packs, 0);
    ferry_operation_destroy(o);
    ferry_operation_destroy(twin);
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_memory_release(w);
    fx_end();
}

static void invalid_locations_are_refused_and_nothing_changes(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats(six, 6), *y = floats(six, 6), *small = floats(NULL, 5);
    ferry_operation_location in = { x, 0 }, out = { y, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = &in, .out = &out };
    ferry_op_desc op = relu();
    ferry_operation *o;

    FX_OK(ferry_operation_create(dev, &op, &o));
    CU_ASSERT_EQUAL(ferry_operation_run(NULL, NULL, &args), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, NULL), FERRY_EINVAL);
    args.struct_size = 1;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    args.struct_size = sizeof args;
    in.memory = NULL;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    in.memory = small;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_ESHAPE);
    in.memory = x;
    in.offset = 2;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    in.offset = 4;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_ESHAPE);
    CU_ASSERT(is(x, 6, six));
    CU_ASSERT(is(y, 6, six));
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_memory_release(small);
    fx_end();
}

static void operands_that_overlap_are_refused_but_slices_are_not(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = floats((float[]){ -1, -2, 1, 2, 3, 4, 0, 0 }, 8);
    ferry_operation_location in = { m, 0 }, out = { m, 8 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = &in, .out = &out };
    ferry_op_desc op;
    ferry_operation *o;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 2 }, 2, NULL);
    op.in[0].stride[0] = op.out[0].stride[0] = 4; /* the left and the right half of 2 × 4 */
    op.params.unary.function = FERRY_UNARY_ABS;
    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(ferry_operation_run(o, NULL, &args));
    CU_ASSERT(is(m, 8, (float[]){ -1, -2, 1, 2, 3, 4, 3, 4 }));
    out.offset = 4;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    CU_ASSERT(strstr(ferry_last_error(), "overlaps") != NULL);
    ferry_operation_destroy(o);
    ferry_memory_release(m);
    fx_end();
}

/*
 * The result of a product may overwrite its own c, but not the operand of a step, which is read
 * later.
 */
static void the_result_does_not_overwrite_an_operand_of_a_step(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *a = floats((float[]){ 1, 2, 3, 4 }, 4), *y = floats(six, 4);
    ferry_operation_location in[3] = { { a, 0 }, { a, 0 }, { y, 0 } }, out = { y, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = &out };
    ferry_op_desc op;
    ferry_operation *o;

    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = 3;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 2, 2 }, 3, NULL);
    op.in[1] = op.in[2] = op.out[0] = op.in[0];
    op.params.gemm.beta = 1;
    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(ferry_operation_run(o, NULL, &args));
    CU_ASSERT(is(y, 4, (float[]){ 7 - 1, 10 + 2, 15 - 3, 22 + 4 }));
    ferry_operation_destroy(o);
    op.params.gemm.beta = 0;
    op.n_epilogue = 1;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = 2 };
    FX_OK(ferry_operation_create(dev, &op, &o));
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    CU_ASSERT(strstr(ferry_last_error(), "out[0] overlaps in[2]") != NULL);
    ferry_operation_destroy(o);
    ferry_memory_release(a);
    ferry_memory_release(y);
    fx_end();
}

/* Dimensions of 1, whose strides are not used, and a step's operand that is not read. */
static void ignored_strides_may_have_any_value(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats(six, 6), *w = floats((float[]){ 2, -1 }, 2), *y = floats(NULL, 6);
    ferry_operation *o;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 1, 2, 3 }, 4, NULL);
    op.in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 1, 1, 2 }, 4, NULL);
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 1, 2, 2 }, 4, NULL);
    op.params.window.kernel[1] = 2;
    op.in[0].stride[0] = op.in[0].stride[1] = op.out[0].stride[1] = INT64_MAX;
    op.in[1].stride[0] = op.in[1].stride[2] = INT64_MAX / 2;
    op.out[0].stride[0] = 0;
    op.n_epilogue = 1;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY, .operand = 0x80000000u };
    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(run(o, NULL, x, w, y));
    CU_ASSERT(is(y, 4, (float[]){ 0, 7, 13, 0 }));
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(w);
    ferry_memory_release(y);
    fx_end();
}

static ferry_operation *made(ferry_device *dev, const ferry_op_desc *op)
{
    ferry_operation *o = NULL;

    FX_OK_FATAL(ferry_operation_create(dev, op, &o));
    return o;
}

static void the_mean_of_no_elements_is_zero(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *none = fx_memory(0), *mean = floats(six, 2), *variance = floats(six, 2);
    ferry_operation_location in = { none, 0 }, out[2] = { { mean, 0 }, { variance, 0 } };
    ferry_operation_args args = { .struct_size = sizeof args, .in = &in, .out = out };
    ferry_operation *o;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_MOMENTS);
    op.n_in = 1;
    op.n_out = 2;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 0 }, 2, NULL);
    op.out[0] = op.out[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 1 }, 2, NULL);
    op.params.reduce.axes = 2;
    o = made(dev, &op);
    FX_OK(ferry_operation_run(o, NULL, &args));
    CU_ASSERT(is(mean, 2, (float[]){ 0, 0 }));
    CU_ASSERT(is(variance, 2, (float[]){ 0, 0 }));
    ferry_operation_destroy(o);
    ferry_memory_release(none);
    ferry_memory_release(mean);
    ferry_memory_release(variance);
    fx_end();
}

/*
 * A table of two rows and indices near its ends: fractions are truncated, but negative fractions
 * are out of range.
 */
static void an_index_out_of_range_selects_no_row(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *table = floats((float[]){ 1, 2 }, 2), *y = floats(NULL, 7);
    ferry_memory *index = floats((float[]){ -0.5f, -0.0f, 0.9f, 1.5f, 2, NAN, 1e30f }, 7);
    ferry_operation *o;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_GATHER);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2 }, 1, NULL);
    op.in[1] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 7 }, 1, NULL);
    o = made(dev, &op);
    FX_OK(run(o, NULL, table, index, y));
    CU_ASSERT(is(y, 7, (float[]){ 0, 1, 1, 2, 0, 0, 0 }));
    ferry_operation_destroy(o);
    ferry_memory_release(table);
    ferry_memory_release(index);
    ferry_memory_release(y);
    fx_end();
}

/* Values that a double does not represent, on the device and on the host. */
static void a_copy_keeps_every_bit(void)
{
    const int64_t odd[2] = { INT64_MAX - 6, -((INT64_C(1) << 53) + 1) };
    int64_t copied[2] = { 0, 0 };
    ferry_device *dev = fx_device();
    ferry_memory *x = fx_memory(sizeof odd), *y = fx_memory(sizeof odd);
    ferry_cref from = { odd, 0 };
    ferry_ref to = { copied, 0 };
    ferry_op_run_args args = { .struct_size = sizeof args, .in = &from, .out = &to };
    ferry_operation *o;
    void *prepared = NULL;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_STRIDED_COPY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_I64, (int64_t[]){ 2 }, 1, NULL);
    memcpy(ferry_memory_overwrite_host_data(x), odd, sizeof odd);
    o = made(dev, &op);
    FX_OK(run(o, NULL, x, NULL, y));
    CU_ASSERT(!memcmp(ferry_memory_host_data(y), odd, sizeof odd));
    CU_ASSERT_EQUAL_FATAL(reference_table.create(NULL, &op, &prepared), 0);
    CU_ASSERT_EQUAL(reference_table.run(NULL, NULL, prepared, &args), 0);
    CU_ASSERT(!memcmp(copied, odd, sizeof odd));
    reference_table.destroy(NULL, prepared);
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(y);
    fx_end();
}

static void an_empty_operation_does_nothing(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory(0);
    ferry_operation_location at = { m, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = &at, .out = &at };
    ferry_op_desc op = relu();
    ferry_operation *o;

    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 0, 3 }, 2, NULL);
    FX_OK(ferry_operation_create(dev, &op, &o));
    FX_OK(ferry_operation_run(o, NULL, &args));
    ferry_operation_destroy(o);
    ferry_memory_release(m);
    fx_end();
}

static void lost_inputs_are_reported_and_outputs_are_kept(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats(six, 6), *y = floats(six, 6);
    ferry_op_desc op = relu();
    ferry_operation *o;

    FX_OK(ferry_operation_create(dev, &op, &o));
    ferry_memory_mark_lost(x);
    CU_ASSERT_PTR_NULL(ferry_memory_host_data(x));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ELOST);
    CU_ASSERT_EQUAL(run(o, NULL, x, NULL, y), FERRY_ELOST);
    CU_ASSERT(is(y, 6, six));
    /* once written again, it is complete */
    memcpy(ferry_memory_overwrite_host_data(x), six, sizeof six);
    FX_OK(run(o, NULL, x, NULL, y));
    CU_ASSERT(is(y, 6, (float[]){ 0, 2, 0, 4, 0, 6 }));
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(y);
    fx_end();
}

static void invalid_operations_are_refused_before_any_device(void)
{
    ferry_device *dev = fx_device();
    ferry_op_desc op = relu();
    ferry_operation *o = NULL;
    ferry_operation_plan plan = { .struct_size = 1 };

    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 4 }, 2, NULL);
    CU_ASSERT_EQUAL(ferry_operation_create(dev, &op, &o), FERRY_ESHAPE);
    op = relu();
    CU_ASSERT_EQUAL(ferry_operation_create(NULL, &op, &o), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operation_create(dev, NULL, &o), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operation_create(dev, &op, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operation_query(dev, &op, &plan), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_operation_get_plan(NULL, &plan), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(o);
    ferry_operation_destroy(NULL);
    fx_end();
}

/*
 * A program compiled with an older, shorter header: fields beyond it are neither read nor written.
 */
static void shorter_structures_are_accepted(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *x = floats(six, 6), *y = floats(NULL, 6);
    ferry_operation_location in = { x, 0 }, out = { y, 0 };
    ferry_operation_args args = {
        offsetof(ferry_operation_args, scalars), &in, &out, (const double *)1, 99, 1, 1
    };
    ferry_operation_plan plan = { .struct_size = offsetof(ferry_operation_plan, steps),
                                  .steps = 77 };
    ferry_operation_stats stats = { .struct_size = offsetof(ferry_operation_stats, packs),
                                    .packs = 77 };
    ferry_op_desc op = relu();
    ferry_operation *o = NULL;

    op.struct_size = offsetof(ferry_op_desc, epilogue);
    memset(op.epilogue, 0xff, sizeof op.epilogue);
    FX_OK(ferry_operation_query(dev, &op, &plan));
    FX_OK(ferry_operation_create(dev, &op, &o));
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    FX_OK(ferry_operation_get_plan(o, &plan));
    CU_ASSERT_EQUAL(plan.tier, fx_has_operations() ? FERRY_TIER_OWN : FERRY_TIER_HOST);
    CU_ASSERT_EQUAL(plan.steps, 77);
    FX_OK(ferry_operation_run(o, NULL, &args));
    CU_ASSERT(is(y, 6, (float[]){ 0, 2, 0, 4, 0, 6 }));
    FX_OK(ferry_operation_get_stats(o, &stats));
    CU_ASSERT_EQUAL(stats.runs, 1);
    CU_ASSERT_EQUAL(stats.packs, 77);
    stats.struct_size--;
    CU_ASSERT_EQUAL(ferry_operation_get_stats(o, &stats), FERRY_EINVAL);
    args.struct_size--;
    CU_ASSERT_EQUAL(ferry_operation_run(o, NULL, &args), FERRY_EINVAL);
    ferry_operation_destroy(o);
    op.struct_size--;
    CU_ASSERT_EQUAL(ferry_operation_create(dev, &op, &o), FERRY_EINVAL);
    ferry_memory_release(x);
    ferry_memory_release(y);
    fx_end();
}

/*
 * A program compiled with a newer header: fields beyond the known ones are not copied, not even for
 * a plugin.
 */
static void longer_structures_are_accepted(void)
{
    ferry_device *dev = fx_device();
    struct {
        ferry_op_desc op;
        uint64_t more;
    } op = { relu(), 0 };
    struct {
        ferry_operation_plan plan;
        uint64_t more;
    } plan = { { .struct_size = sizeof plan }, 77 };
    ferry_memory *x = floats(six, 6), *y = floats(NULL, 6);
    ferry_operation *o = NULL;

    op.op.struct_size = sizeof op;
    FX_OK(ferry_operation_query(dev, &op.op, &plan.plan));
    CU_ASSERT_EQUAL(plan.more, 77);
    CU_ASSERT_EQUAL(plan.plan.struct_size, sizeof plan);
    FX_OK(ferry_operation_create(dev, &op.op, &o));
    FX_OK(run(o, NULL, x, NULL, y));
    CU_ASSERT(is(y, 6, (float[]){ 0, 2, 0, 4, 0, 6 }));
    ferry_operation_destroy(o);
    ferry_memory_release(x);
    ferry_memory_release(y);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_operation_runs_on_the_plugin_or_falls_back_to_the_host),
    FERRY_TEST(a_product_is_rounded_before_the_sum),
    FERRY_TEST(constants_are_packed_once_and_again_after_a_write),
    FERRY_TEST(invalid_locations_are_refused_and_nothing_changes),
    FERRY_TEST(operands_that_overlap_are_refused_but_slices_are_not),
    FERRY_TEST(the_result_does_not_overwrite_an_operand_of_a_step),
    FERRY_TEST(ignored_strides_may_have_any_value),
    FERRY_TEST(the_mean_of_no_elements_is_zero),
    FERRY_TEST(an_index_out_of_range_selects_no_row),
    FERRY_TEST(a_copy_keeps_every_bit),
    FERRY_TEST(an_empty_operation_does_nothing),
    FERRY_TEST(lost_inputs_are_reported_and_outputs_are_kept),
    FERRY_TEST(invalid_operations_are_refused_before_any_device),
    FERRY_TEST(shorter_structures_are_accepted),
    FERRY_TEST(longer_structures_are_accepted),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "op", cases, FERRY_TEST_COUNT(cases));
}
