/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "arith.h"
#include "fixture.h"

#include "op/operation.h"

#include <ferry/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The tiers that compute an operation that a plugin lacks: halves, which are computed in F32 where
 * the plugin has that, and transposed operands. Also the errors under FERRY_STRICT.
 */

static ferry_device *dev; /* of the case that runs */

/* y = x·wᵀ, 2 × 3 by 4 × 3. */
static ferry_op_desc product(ferry_dtype dtype)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(dtype, (int64_t[]){ 2, 3 }, 2, NULL);
    op.in[1] = ferry_operand_make(dtype, (int64_t[]){ 4, 3 }, 2, NULL);
    op.out[0] = ferry_operand_make(dtype, (int64_t[]){ 2, 4 }, 2, NULL);
    return op;
}

/*
 * The product as a matrix product: 1 × 2 × 3 by 1 × 3 × 4; the second operand has the memory layout
 * of w.
 */
static ferry_op_desc matrices(ferry_dtype dtype)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = 2;
    op.n_out = 1;
    op.params.gemm.alpha = 1;
    op.in[0] = ferry_operand_make(dtype, (int64_t[]){ 1, 2, 3 }, 3, NULL);
    op.in[1] = ferry_operand_make(dtype, (int64_t[]){ 1, 3, 4 }, 3, (uint8_t[]){ 0, 2, 1 });
    op.out[0] = ferry_operand_make(dtype, (int64_t[]){ 1, 2, 4 }, 3, NULL);
    return op;
}

/*
 * Kinds whose first input is x, 2 × 3, and whose values every floating-point dtype represents
 * exactly.
 */
static ferry_op_desc plain(ferry_dtype dtype, uint32_t kind, int64_t columns)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, kind);
    op.n_in = op.n_out = 1;
    op.in[0] = ferry_operand_make(dtype, (int64_t[]){ 2, 3 }, 2, NULL);
    op.out[0] = ferry_operand_make(dtype, (int64_t[]){ 2, columns }, 2, NULL);
    return op;
}

static const double x[6] = { 1, -2, 3, 0.5, -5, 6 };
static const double w[12] = { 1, 0, 0, 0, 2, 0, 1, 1, 1, -1, 0, 4 };
static const double xw[8] = { 1, -4, 2, 11, 0.5, -10, 1.5, 23.5 };

static ferry_memory *memory_of(ferry_dtype dtype, const double *values, int64_t n)
{
    ferry_memory *m = fx_memory((size_t)n * ferry_dtype_size(dtype));
    unsigned char *to = ferry_memory_overwrite_host_data(m);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < n; i++)
        arith_put(dtype, to, i, values ? values[i] : -77);
    return m;
}

static bool holds(ferry_memory *m, ferry_dtype dtype, const double *wanted, int64_t n)
{
    const unsigned char *got = ferry_memory_host_data(m);

    for (int64_t i = 0; got && i < n; i++)
        if ((double)arith_get(dtype, got, i) != wanted[i])
            return false;
    return got != NULL;
}

/*
 * Runs the operation twice on x and w. Checks the result and the number of bytes that the runs
 * transfer. Returns the tier.
 */
static ferry_operation_tier check(const ferry_op_desc *op, const double *wanted, int64_t n)
{
    ferry_dtype dtype = (ferry_dtype)op->in[0].dtype;
    ferry_memory *in[2] = { memory_of(dtype, x, 6), memory_of(dtype, w, 12) };
    ferry_memory *out = memory_of(dtype, NULL, n);
    ferry_operation_location from[2] = { { in[0], 0 }, { in[1], 0 } }, to = { out, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = from, .out = &to };
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_operation_stats stats = { .struct_size = sizeof stats };
    int64_t elements = n + 6 + (op->n_in > 1 ? 12 : 0);
    ferry_operation *o = NULL;

    FX_OK_FATAL(ferry_operation_create(dev, op, &o));
    FX_OK(ferry_operation_get_plan(o, &plan));
    FX_OK(ferry_operation_run(o, NULL, &args));
    fx_mark();
    FX_OK(ferry_operation_run(o, NULL, &args)); /* no transfer: the operands are on the device */
    if (plan.tier != FERRY_TIER_HOST)
        CU_ASSERT_EQUAL(fx_copies(), 0);
    CU_ASSERT(holds(out, dtype, wanted, n));
    CU_ASSERT(holds(in[0], dtype, x, 6));
    FX_OK(ferry_operation_get_stats(o, &stats));
    CU_ASSERT_EQUAL(stats.host_bytes, plan.tier == FERRY_TIER_HOST
                                          ? 2 * (uint64_t)elements * ferry_dtype_size(dtype)
                                          : 0);
    CU_ASSERT_EQUAL(stats.runs, 2);
    ferry_operation_destroy(o);
    for (int i = 0; i < 2; i++)
        ferry_memory_release(in[i]);
    ferry_memory_release(out);
    return plan.tier;
}

static void halves_are_computed_and_their_copies_counted(void)
{
    static const ferry_dtype dtypes[] = { FERRY_F16, FERRY_BF16, FERRY_F64, FERRY_F32 };

    dev = fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(dtypes); i++) {
        ferry_op_desc ops[6] = { product(dtypes[i]),
                                 matrices(dtypes[i]),
                                 plain(dtypes[i], FERRY_OP_UNARY, 3),
                                 plain(dtypes[i], FERRY_OP_REDUCE, 1),
                                 plain(dtypes[i], FERRY_OP_STRIDED_COPY, 3),
                                 plain(dtypes[i], FERRY_OP_STRIDED_COPY, 3) };
        const double rectified[6] = { 1, 0, 3, 0.5, 0, 6 };
        const double *const wanted[6] = { xw, xw, rectified, (double[]){ 2, 1.5 }, x, rectified };
        const int64_t counts[6] = { 8, 8, 6, 2, 6, 6 };
        int on_host = 0;

        ops[3].params.reduce.axes = 2;
        ops[5].n_epilogue = 1; /* a rectifier after the copy */
        for (int k = 0; k < 6; k++)
            on_host += check(&ops[k], wanted[k], counts[k]) == FERRY_TIER_HOST;
        if (!fx_has_operations())
            CU_ASSERT_EQUAL(on_host, 6);
        if (fx_has_operations() && dtypes[i] != FERRY_F64)
            CU_ASSERT_EQUAL(on_host, 0);
    }
    fx_end();
}

/* Weights of halves beside F32: own where the plugin declares them, elsewhere composed. */
static void half_weights_have_the_results_of_f32(void)
{
    dev = fx_device();
    for (ferry_dtype dtype = FERRY_F16; dtype <= FERRY_BF16; dtype++) {
        ferry_op_desc op = product(FERRY_F32);
        ferry_memory *in[2] = { memory_of(FERRY_F32, x, 6), memory_of(dtype, w, 12) };
        ferry_memory *y = memory_of(FERRY_F32, NULL, 8);
        ferry_operation_location from[2] = { { in[0], 0 }, { in[1], 0 } }, to = { y, 0 };
        ferry_operation_args args = { .struct_size = sizeof args, .in = from, .out = &to };
        ferry_operation_plan plan = { .struct_size = sizeof plan };
        ferry_operation *o = NULL;

        op.in[1].dtype = dtype;
        FX_OK_FATAL(ferry_operation_create(dev, &op, &o));
        FX_OK(ferry_operation_get_plan(o, &plan));
        FX_OK(ferry_operation_run(o, NULL, &args));
        CU_ASSERT(holds(y, FERRY_F32, xw, 8));
        CU_ASSERT_EQUAL(plan.tier, !fx_has_operations()                   ? FERRY_TIER_HOST
                                   : !strcmp(ferry_test_backend(), "cpu") ? FERRY_TIER_OWN
                                                                          : FERRY_TIER_COMPOSED);
        ferry_operation_destroy(o);
        ferry_memory_release(y);
        ferry_memory_release(in[0]);
        ferry_memory_release(in[1]);
        op.in[0].dtype = FERRY_BF16;
        FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
        op = matrices(FERRY_F32);
        op.in[1].dtype = dtype;
        FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    }
    fx_end();
}

/* An x or y of BF16 beside u and v of F32: own or composed. */
static void values_of_bf16_have_the_results_of_f32(void)
{
    static const double u[3] = { 2, 0.5, -1 }, v[3] = { 1, 0, 0.25 };
    static const double scaled[6] = { 3, 0, 0, 2, 0, 0 };

    dev = fx_device();
    for (int i = 1; i < 4; i++) {
        ferry_dtype from = i & 1 ? FERRY_BF16 : FERRY_F32, to = i & 2 ? FERRY_BF16 : FERRY_F32;
        ferry_op_desc op = plain(FERRY_F32, FERRY_OP_BINARY, 3);
        ferry_memory *in[3] = { memory_of(from, x, 6), memory_of(FERRY_F32, u, 3),
                                memory_of(FERRY_F32, v, 3) };
        ferry_memory *y = memory_of(to, NULL, 6);
        ferry_operation_location at[3] = { { in[0], 0 }, { in[1], 0 }, { in[2], 0 } };
        ferry_operation_location out = { y, 0 };
        ferry_operation_args args = { .struct_size = sizeof args, .in = at, .out = &out };
        ferry_operation *o = NULL;

        op.params.binary.function = FERRY_BINARY_SCALE;
        op.in[0].dtype = from;
        op.in[1] = op.in[2] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 3 }, 2, NULL);
        op.out[0].dtype = to;
        op.n_in = 3;
        op.n_epilogue = 1;
        op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY, .function = FERRY_UNARY_RELU };
        FX_OK_FATAL(ferry_operation_create(dev, &op, &o));
        FX_OK(ferry_operation_run(o, NULL, &args));
        CU_ASSERT(holds(y, to, scaled, 6));
        ferry_operation_destroy(o);
        ferry_memory_release(y);
        for (int k = 0; k < 3; k++)
            ferry_memory_release(in[k]);
        op.in[2].dtype = FERRY_BF16;
        FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
        op.in[2].dtype = FERRY_F32;
        op.in[1].dtype = FERRY_BF16;
        FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    }
    fx_end();
}

/* If a kind allows an output to be an input, this also applies to halves. */
static void halves_are_computed_in_place(void)
{
    static const double before[8] = { 1, 2, 3, 4, -1, -2, -3, -4 };
    static const double sums[8] = { 2, -2, 5, 15, -0.5, -12, -1.5, 19.5 };
    static const double rectified[8] = { 1, 2, 3, 4, 0, 0, 0, 0 };

    dev = fx_device();
    for (ferry_dtype dtype = FERRY_F16; dtype <= FERRY_BF16; dtype++) {
        ferry_op_desc ops[2] = { matrices(dtype), plain(dtype, FERRY_OP_UNARY, 4) };
        ferry_memory *m[2] = { memory_of(dtype, x, 6), memory_of(dtype, w, 12) };

        ops[0].in[2] = ops[0].out[0];
        ops[0].n_in = 3;
        ops[0].params.gemm.beta = 1;
        ops[1].in[0] = ops[1].out[0];
        for (int i = 0; i < 2; i++) {
            ferry_memory *y = memory_of(dtype, before, 8);
            ferry_operation_location from[3] = { { i ? y : m[0], 0 }, { m[1], 0 }, { y, 0 } },
                                     to = { y, 0 };
            ferry_operation_args args = { .struct_size = sizeof args, .in = from, .out = &to };
            ferry_operation *o = NULL;

            FX_OK_FATAL(ferry_operation_create(dev, &ops[i], &o));
            FX_OK(ferry_operation_run(o, NULL, &args));
            CU_ASSERT(holds(y, dtype, i ? rectified : sums, 8));
            ferry_operation_destroy(o);
            ferry_memory_release(y);
        }
        for (int i = 0; i < 2; i++)
            ferry_memory_release(m[i]);
    }
    fx_end();
}

/* Transposed matrices are not computed on the host. */
static void transposed_operands_cause_no_fallback_to_the_host(void)
{
    static const uint8_t turned[3] = { 0, 2, 1 };
    ferry_op_desc op = matrices(FERRY_F32);
    double yt[8];

    dev = fx_device();
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < 4; n++)
            yt[n * 2 + m] = xw[m * 4 + n];
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 2, 4 }, 3, turned);
    CU_ASSERT_EQUAL(check(&op, yt, 8) == FERRY_TIER_HOST, !fx_has_operations());
    fx_end();
}

/* Whether the CUDA plugin computes products of halves by itself: option.f16 = tensor. */
static bool has_tensor_cores(void)
{
    ferry_runtime_option_info info = { .struct_size = sizeof info };
    bool found = false;
    int n = 0;

    if (strncmp(ferry_device_name(dev), "cuda:", 5))
        return false;
    FX_OK(ferry_runtime_option_count(fx_runtime(), "cuda", &n));
    for (int i = 0; i < n && !found; i++) {
        FX_OK(ferry_runtime_option_at(fx_runtime(), "cuda", i, &info));
        found = !strcmp(info.name, "f16") && !strcmp(info.value, "tensor");
    }
    return found;
}

/* With FERRY_STRICT an operation is an error where without it the host computes. */
static void strict_names_kind_shape_and_plugin(void)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan }, strict = plan;
    ferry_op_desc op = product(FERRY_BF16);
    ferry_operation *o = NULL;
    ferry_runtime *rt = NULL;
    ferry_device *other = NULL;
    const char *name;

    dev = fx_device();
    name = ferry_device_name(dev);
    FX_OK(ferry_operation_query(dev, &op, &plan));
    CU_ASSERT_EQUAL(plan.tier, !fx_has_operations() ? FERRY_TIER_HOST
                               : has_tensor_cores() ? FERRY_TIER_OWN
                                                    : FERRY_TIER_COMPOSED);
    setenv("FERRY_STRICT", "1", 1);
    FX_OK_FATAL(ferry_runtime_open(NULL, &rt));
    unsetenv("FERRY_STRICT");
    FX_OK_FATAL(ferry_runtime_get_device(rt, name, &other));
    if (plan.tier != FERRY_TIER_HOST) {
        FX_OK(ferry_operation_query(other, &op, &strict));
        CU_ASSERT_EQUAL(strict.tier, plan.tier);
    } else {
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_operation_query(other, &op, &strict));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_operation_create(other, &op, &o));
        CU_ASSERT_PTR_NULL(o);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), name));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "inner product of in[0] BF16 2x3"));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "FERRY_STRICT"));
    }
    ferry_runtime_close(rt);
    fx_end();
}

/* ---- the host of a runtime ------------------------------------------------------------------- */

/* Writes `text` to a configuration file of this case. */
static const char *conf_with(const char *text)
{
    static char path[1024];
    const char *folder = getenv("TMPDIR");
    FILE *f;

    snprintf(path, sizeof path, "%s/ferry-tiers-%ld.conf", folder ? folder : "/tmp",
             (long)getpid());
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
    return path;
}

/*
 * Opens a runtime with its own options. Its device is not that of fx_runtime, because it is strict.
 */
static ferry_runtime *open_strict(const char *conf, ferry_device **out)
{
    ferry_runtime_options o = { .struct_size = sizeof o, .conf = conf, .strict = FERRY_STRICT_ON };
    ferry_runtime *rt = NULL;

    o.backend = ferry_test_backend();
    FX_OK_FATAL(ferry_runtime_open(&o, &rt));
    FX_OK_FATAL(ferry_runtime_get_device(rt, NULL, out));
    return rt;
}

/* A choice that the program made through the API is kept when the environment changes later. */
static void a_fallback_uses_the_host_device_of_the_devices_runtime(void)
{
    char *before = strdup(getenv("FERRY_CONF") ? getenv("FERRY_CONF") : "");
    char *broken = strdup(conf_with("[cpu\nnonsense"));
    ferry_op_desc op = product(FERRY_F64);
    ferry_operation *o = NULL;
    ferry_device *strict = NULL;
    ferry_runtime *rt;

    rt = open_strict(before, &strict);
    setenv("FERRY_CONF", broken, 1);
    FX_OK_FATAL(ferry__operation_create_on_host(strict, &op, &o));
    CU_ASSERT_PTR_NOT_NULL_FATAL(o->plan.target.device);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(o->plan.target.device), "cpu:0");
    setenv("FERRY_CONF", before, 1);
    ferry_runtime_close(rt); /* the operation keeps the cpu's device open */
    CU_ASSERT_STRING_EQUAL(ferry_device_name(o->plan.target.device), "cpu:0");
    ferry_operation_destroy(o);
    unlink(broken);
    free(broken);
    free(before);
}

/*
 * If the configured cpu plugin cannot be opened, this is an error with its cause; the slow loops
 * are not used.
 */
static void a_host_that_cannot_be_opened_is_an_error(void)
{
    const char *conf = conf_with("[plugin cpu]\nlibrary = /nowhere/ferry_cpu.so\n");
    ferry_op_desc op = product(FERRY_F64);
    ferry_operation *o = NULL;
    ferry_device *strict = NULL;
    ferry_runtime *rt;

    if (!strncmp(ferry_test_backend(), "cpu", 3)) {
        ferry_test_skip("the device is the host");
        unlink(conf);
        return;
    }
    rt = open_strict(conf, &strict);
    CU_ASSERT(ferry__operation_create_on_host(strict, &op, &o) < 0);
    CU_ASSERT_PTR_NULL(o);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "/nowhere/ferry_cpu.so"));
    ferry_runtime_close(rt);
    unlink(conf);
}

static void a_sibling_is_of_the_same_runtime(void)
{
    ferry_device *strict = NULL, *other = NULL, *again = NULL;
    ferry_memory *keeper = NULL;
    ferry_runtime *rt = open_strict(getenv("FERRY_CONF"), &strict);

    FX_OK_FATAL(ferry_device_sibling(strict, "cpu", &other));
    CU_ASSERT(ferry_device_is_strict(other));
    FX_OK(ferry_runtime_get_device(rt, "cpu", &again));
    CU_ASSERT_PTR_EQUAL(other, again);
    FX_FAILS(FERRY_ENODEV, ferry_device_sibling(strict, "nosuch", &again));
    FX_FAILS(FERRY_EINVAL, ferry_device_sibling(NULL, "cpu", &again));
    FX_FAILS(FERRY_EINVAL, ferry_device_sibling(strict, NULL, &again));
    CU_ASSERT_PTR_EQUAL(other, again);
    FX_OK_FATAL(ferry_memory_create(strict, 0, &keeper));
    ferry_runtime_close(rt);
    FX_FAILS(FERRY_EINVAL, ferry_device_sibling(strict, "cpu", &again));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "closed"));
    ferry_memory_release(keeper);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* y = ((x·wᵀ + bias)·scale + add, at least 0)·0.5 + 1, 2 × 3 by 4 × 3, as U8. */
static ferry_op_desc integers(void)
{
    const int64_t four = 4, both[2] = { 2, 4 };
    ferry_op_desc op = product(FERRY_U8);

    op.in[1].dtype = FERRY_I8;
    op.in[2] = op.in[3] = ferry_operand_make(FERRY_F32, &four, 1, NULL);
    op.in[4] = ferry_operand_make(FERRY_I8, both, 2, NULL);
    op.n_in = 5;
    op.n_epilogue = 4;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_SCALE, .operand = 3 };
    op.epilogue[1] = (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = 4 };
    op.epilogue[2] = (ferry_op_step){ .step = FERRY_STEP_UNARY, .function = FERRY_UNARY_RELU };
    op.epilogue[3] = (ferry_op_step){
        .step = FERRY_STEP_UNARY, .function = FERRY_UNARY_POWER, .a = 1, .b = 0.5, .c = 1
    };
    return op;
}

/* The values are computed by hand: rounded to even, and saturated. */
static void integers_have_the_same_results_on_every_tier(void)
{
    static const double in[5][12] = { { 255, 1, 2, 0, 200, 100 },
                                      { 1, 0, 0, -128, 2, 0, 1, 1, 1, 127, 0, -1 },
                                      { 1, 0, -2, 3 },
                                      { 0.5, 1, 1, 0.25 },
                                      { 1, 2, -128, 3, 0, -100, 127, 0 } };
    static const double wanted[8] = { 66, 1, 65, 255, 1, 151, 214, 1 };
    static const ferry_dtype dtypes[5] = { FERRY_U8, FERRY_I8, FERRY_F32, FERRY_F32, FERRY_I8 };
    static const int64_t counts[5] = { 6, 12, 4, 4, 8 };
    ferry_op_desc op = integers();
    ferry_operation_location at[5], to = { NULL, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = at, .out = &to };
    ferry_operation *o = NULL;

    dev = fx_device();
    for (int i = 0; i < 5; i++)
        at[i] = (ferry_operation_location){ memory_of(dtypes[i], in[i], counts[i]), 0 };
    to.memory = memory_of(FERRY_U8, NULL, 8);
    FX_OK_FATAL(ferry_operation_create(dev, &op, &o));
    FX_OK(ferry_operation_run(o, NULL, &args));
    CU_ASSERT(holds(to.memory, FERRY_U8, wanted, 8));
    ferry_operation_destroy(o);
    for (int i = 0; i < 5; i++)
        ferry_memory_release(at[i].memory);
    ferry_memory_release(to.memory);
    fx_end();
}

/* Nets compute with integers only where the device does, and is faster with them. */
static void integers_that_the_device_computes_slowly_do_not_gain(void)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_op_desc op = integers();
    ferry_runtime *rt = NULL;
    ferry_device *other = NULL;
    bool gains = true;

    dev = fx_device();
    setenv("FERRY_STRICT", "1", 1); /* the device computes although the host is faster */
    FX_OK_FATAL(ferry_runtime_open(NULL, &rt));
    unsetenv("FERRY_STRICT");
    FX_OK_FATAL(ferry_runtime_get_device(rt, ferry_device_name(dev), &other));
    if (ferry_operation_query(other, &op, &plan) == 0) {
        FX_OK(ferry__operation_gains(other, &op, &gains));
        CU_ASSERT(!gains || plan.tier == FERRY_TIER_OWN);
        CU_ASSERT(!gains || strncmp(ferry_device_name(dev), "opencl", 6) != 0);
    }
    ferry_runtime_close(rt);
    fx_end();
}

static void integers_with_other_dtypes_are_refused(void)
{
    ferry_op_desc op = integers();

    op.in[1].dtype = FERRY_U8;
    FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "in[1]"));
    op = integers();
    op.in[2].dtype = FERRY_I32;
    FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "in[2]"));
    op = integers();
    op.in[3].dtype = FERRY_I8;
    FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "in[3]"));
    op = integers();
    op.out[0].dtype = FERRY_F16;
    FX_FAILS(FERRY_EINVAL, ferry_op_desc_check(&op));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "out[0]"));
    op = plain(FERRY_I8, FERRY_OP_UNARY, 3);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_op_desc_check(&op));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(integers_have_the_same_results_on_every_tier),
    FERRY_TEST(integers_that_the_device_computes_slowly_do_not_gain),
    FERRY_TEST(integers_with_other_dtypes_are_refused),
    FERRY_TEST(a_fallback_uses_the_host_device_of_the_devices_runtime),
    FERRY_TEST(a_host_that_cannot_be_opened_is_an_error),
    FERRY_TEST(a_sibling_is_of_the_same_runtime),
    FERRY_TEST(halves_are_computed_and_their_copies_counted),
    FERRY_TEST(half_weights_have_the_results_of_f32),
    FERRY_TEST(values_of_bf16_have_the_results_of_f32),
    FERRY_TEST(halves_are_computed_in_place),
    FERRY_TEST(transposed_operands_cause_no_fallback_to_the_host),
    FERRY_TEST(strict_names_kind_shape_and_plugin),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "op tiers", cases, FERRY_TEST_COUNT(cases));
}
