/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels, compiled by the host's compiler, against the oracle: random operations, with margins
 * around every operand. FERRY_TEST_OPS: number of operations per kind (100); FERRY_TEST_SEED.
 */
#include "arith.h"
#include "ferry-test.h"
#include "kernel-trial.h"

#include <ferry/blob.h>

#include "kernels/host.h"
#include "kernels/vector.h"
#include "tests/reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool on_host(const struct trial *t, const struct kernel_launch *l)
{
    kernel_host_run(l, &t->on);
    return true;
}

/* 1: equal, 0: different, −1: not supported by the kernels. */
static int try_one(struct trying what, uint64_t seed)
{
    static struct trial t;

    if (!trial_plan(what, seed, &kernel_host_target, &t))
        return -1;
    if (trial_agrees(&t, on_host))
        return 1;
    printf("kind %u pass %u seed %llu: %s\n", what.kind, t.op.pass, (unsigned long long)seed,
           om_text(&t.op));
    return 0;
}

/* Memory of exactly that size, so that the sanitizer knows its end. */
static int try_many(struct trying what)
{
    uint64_t n = om_number_of("FERRY_TEST_OPS", ferry_test_is_slow() ? 20 : 100);
    uint64_t first = om_number_of("FERRY_TEST_SEED", 1), refused = 0;
    int bad = 0;

    for (uint64_t seed = first; seed < first + n && bad < 10; seed++) {
        int answer = try_one(what, seed);

        bad += answer == 0;
        refused += answer < 0;
    }
    if (refused > 0) {
        printf("kind %u pass %u: %llu of %llu refused\n", what.kind,
               what.pass ? what.pass->pass : 0, (unsigned long long)refused, (unsigned long long)n);
        CU_FAIL("the kernels refuse what they should do");
    }
    return bad;
}

static void kernels_compiled_by_the_host_agree_with_the_oracle(void)
{
    int bad = 0;

    for (int k = 0; k < om_kind_count; k++)
        bad += try_many((struct trying){ om_kinds[k], NULL });
    CU_ASSERT_EQUAL(bad, 0);
}

static void backward_kernels_agree_with_the_oracle(void)
{
    int bad = 0;

    for (int k = 0; k < ob_pass_count; k++)
        bad += try_many((struct trying){ ob_passes[k].kind, &ob_passes[k] });
    CU_ASSERT_EQUAL(bad, 0);
}

/*
 * Products of halves, which a CUDA device computes by tensor cores, and other devices by the items
 * of a group.
 */
static void products_of_halves_are_within_the_bounds_of_their_sums(void)
{
    static const uint32_t kinds[] = { FERRY_OP_CONVOLUTION, FERRY_OP_INNER_PRODUCT,
                                      FERRY_OP_BATCHED_GEMM };
    uint64_t n = om_number_of("FERRY_TEST_OPS", ferry_test_is_slow() ? 10 : 50), tried = 0;
    struct kernel_target with = kernel_host_target;
    static struct trial t;

    for (uint64_t i = 0; i < 6 * n; i++) {
        uint32_t kind = kinds[i % 3];
        ferry_dtype half = i % 2 ? FERRY_BF16 : FERRY_F16;

        with.f16 = half == FERRY_F16;
        with.bf16 = half == FERRY_BF16;
        if (!trial_plan_half(kind, half, i, &with, &t))
            continue; /* a convolution that is not a product */
        tried++;
        if (trial_is_bounded(&t, on_host))
            continue;
        printf("kind %u of dtype %d seed %llu: %s\n", kind, (int)half, (unsigned long long)i,
               om_text(&t.op));
        CU_FAIL("a sum is outside its bound");
    }
    CU_ASSERT(tried > 4 * n);
    CU_ASSERT_FALSE(trial_plan_half(kinds[1], FERRY_F16, 1, &with, &t)); /* BF16 alone */
}

/* For rare operations: generates operations until enough of them use `lines`. */
static int try_lines(int64_t lines)
{
    struct trying what = { FERRY_OP_CONVOLUTION, NULL };
    int bad = 0, tried = 0;

    for (uint64_t seed = 1000000; tried < 20 && seed < 1010000; seed++) {
        struct om_numbers n;
        struct kernel_plan plan;
        ferry_op_desc op;

        trial_make_operation(what, seed, &n, &op);
        if (kernel_plan_make(&kernel_host_target, &op, &plan) || plan.launches == 0 ||
            plan.launch[plan.launches - 1].kernel != KERNEL_SLIDE ||
            plan.launch[plan.launches - 1].args.convolution.lines != lines)
            continue;
        bad += try_one(what, seed) != 1;
        tried++;
    }
    CU_ASSERT_EQUAL(tried, 20);
    return bad;
}

static void depthwise_line_kernels_agree_with_the_oracle(void)
{
    CU_ASSERT_EQUAL(try_lines(1), 0);
    CU_ASSERT_EQUAL(try_lines(2), 0);
}

/* ---- long sums ------------------------------------------------------------------------------- */

/*
 * Four terms of 2²⁴, and others of 0.9, which are below half a unit of the sum. The sum of the
 * rounding errors is itself rounded in each addition, in one direction.
 */
static double sum_of_lost_terms(uint32_t function, int64_t n)
{
    static const int64_t one = 1;
    static struct trial t;
    float *x = malloc((size_t)n * sizeof *x), y[2] = { 0, 0 };

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t k = 0; k < n; k++)
        x[k] = k < 4 ? 0x1p24f : 0.9f;
    for (int64_t k = 0; function == FERRY_REDUCE_SUMSQ && k < n; k++)
        x[k] = sqrtf(x[k]);
    memset(&t, 0, sizeof t);
    ferry_op_desc_init(&t.op, FERRY_OP_REDUCE);
    t.op.n_in = t.op.n_out = 1;
    t.op.in[0] = ferry_operand_make(FERRY_F32, &n, 1, NULL);
    t.op.out[0] = ferry_operand_make(FERRY_F32, &one, 1, NULL);
    t.op.params.reduce.function = function;
    t.op.params.reduce.axes = 1;
    t.op.params.reduce.scale = 1;
    CU_ASSERT_EQUAL_FATAL(kernel_plan_make(&kernel_host_target, &t.op, &t.plan), 0);
    t.on.buffer[FROM_IN(0)] = (unsigned char *)x;
    t.on.buffer[FROM_OUT(0)] = (unsigned char *)y;
    for (uint32_t i = 0; i < t.plan.launches; i++)
        kernel_host_run(&t.plan.launch[i], &t.on);
    free(x);
    return (double)y[0];
}

static void small_terms_of_a_long_sum_are_kept(void)
{
    const int64_t n = 1100003;
    double wanted = 0x1p26 + (double)(n - 4) * (double)0.9f;

    for (uint32_t f = FERRY_REDUCE_SUM; f <= FERRY_REDUCE_ASUM; f++)
        CU_ASSERT_DOUBLE_EQUAL(sum_of_lost_terms(f, n), wanted, 1e-6 * wanted);
}

/* As sum_of_lost_terms, by the kernel of vectors: Σ x·y, Σ |x|, Σ x². */
static double vector_sum_of_lost_terms(uint32_t op, int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x), sums[64], result = 0;
    struct kernel_host_run on = { .buffer = { NULL } };
    struct kernel_launch l;
    uint32_t come = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_FATAL(VECTOR_SUMS_BYTES(&kernel_host_target) <= sizeof sums);
    for (int64_t k = 0; k < n; k++)
        x[k] = k < 4 ? 0x1p24f : 0.9f;
    for (int64_t k = 0; op != FERRY_OP_ASUM && k < n; k++)
        x[k] = sqrtf(x[k]);
    kernel_vector_sum(&kernel_host_target, op, FERRY_F32, n, &l);
    for (uint32_t i = 0; i < BUFFERS; i++)
        l.from[i] = i + 1;
    on.buffer[1 + VECTOR_X] = on.buffer[1 + VECTOR_Y] = (unsigned char *)x;
    on.buffer[1 + VECTOR_SUMS] = (unsigned char *)sums;
    on.buffer[1 + VECTOR_COME] = (unsigned char *)&come;
    on.buffer[1 + VECTOR_RESULT] = (unsigned char *)&result;
    kernel_host_run(&l, &on);
    free(x);
    return (double)result;
}

static void small_terms_of_a_long_vector_are_kept(void)
{
    static const uint32_t sums[] = { FERRY_OP_DOT, FERRY_OP_ASUM, FERRY_OP_SUMSQ };
    const int64_t n = 4400003;
    double wanted = 0x1p26 + (double)(n - 4) * (double)0.9f;

    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        CU_ASSERT_DOUBLE_EQUAL(vector_sum_of_lost_terms(sums[i], n), wanted, 1e-6 * wanted);
}

/* ---- conversions ----------------------------------------------------------------------------- */

#define HALVES 65536
#define FLOATS (HALVES * 3 * 3)

/* Copies `n` elements with a distance between them. Replaces the kernels of a device. */
static void convert(ferry_dtype from, const void *x, ferry_dtype to, void *y, int64_t n,
                    int64_t step)
{
    static struct trial t;

    memset(&t, 0, sizeof t);
    ferry_op_desc_init(&t.op, FERRY_OP_STRIDED_COPY);
    t.op.n_in = t.op.n_out = 1;
    t.op.in[0] = ferry_operand_make(from, &n, 1, NULL);
    t.op.out[0] = ferry_operand_make(to, &n, 1, NULL);
    t.op.in[0].stride[0] = t.op.out[0].stride[0] = step;
    CU_ASSERT_EQUAL_FATAL(kernel_plan_make(&kernel_host_target, &t.op, &t.plan), 0);
    t.on.buffer[FROM_IN(0)] = (unsigned char *)(uintptr_t)x;
    t.on.buffer[FROM_OUT(0)] = y;
    kernel_host_run(&t.plan.launch[0], &t.on);
}

/* Whether elements equal the oracle's bit by bit, including the sign of NaN. */
static bool is_converted(ferry_dtype from, const void *x, ferry_dtype to, const void *y, int64_t n)
{
    size_t size = ferry_dtype_size(to);

    for (int64_t i = 0; i < n; i++) {
        double value = (double)arith_get(from, x, i), got = (double)arith_get(to, y, i);
        unsigned char want[8];

        arith_put(to, want, 0, value);
        if (isnan(value) ? isnan(got) && !signbit(got) == !signbit(value)
                         : !memcmp(want, (const char *)y + (size_t)i * size, size))
            continue;
        printf("%s to %s: element %lld, %a, became %a\n", ferry_dtype_name(from),
               ferry_dtype_name(to), (long long)i, value, got);
        return false;
    }
    return true;
}

static bool converts(ferry_dtype from, const void *x, ferry_dtype to, int64_t n)
{
    size_t size = ferry_dtype_size(to);
    char *y = malloc((size_t)n * size), *apart = malloc((size_t)n * size);
    bool good;

    CU_ASSERT_FATAL(y && apart);
    convert(from, x, to, y, n, 1);
    good = is_converted(from, x, to, y, n);
    convert(from, x, to, apart, n / 2, 2);
    for (int64_t i = 0; i < n / 2 && good; i++)
        good = !memcmp(apart + (size_t)i * 2 * size, y + (size_t)i * 2 * size, size);
    free(y);
    free(apart);
    return good;
}

static void the_oracle_copies_every_dtype(void)
{
    const int64_t n = 5, wide[5] = { 0, 1, -1, INT64_C(1) << 53, -(INT64_C(1) << 53) };

    for (ferry_dtype t = FERRY_F32; t < FERRY_DTYPE_COUNT; t++) {
        ferry_operand o = ferry_operand_make(t, &n, 1, NULL);
        size_t bytes = (size_t)n * ferry_dtype_size(t);
        unsigned char x[5 * 8], y[5 * 8];
        struct trial trial = { .theirs = { x, y } };

        if (t == FERRY_I64)
            memcpy(x, wide, sizeof wide);
        else
            memset(x, 0xc1, bytes);
        memset(y, 0, sizeof y);
        ferry_op_desc_init(&trial.op, FERRY_OP_STRIDED_COPY);
        trial.op.n_in = trial.op.n_out = 1;
        trial.op.in[0] = trial.op.out[0] = o;
        trial_oracle_at(&trial, 0);
        CU_ASSERT(!memcmp(x, y, bytes));
    }
}

/* Each half, the midpoint to the next one, and the floats before and after all of these. */
static void floats_around(ferry_dtype half, const uint16_t *halves, float *out)
{
    for (int64_t i = 0; i < HALVES; i++) {
        int64_t next = (i & 0x7fff) == 0x7fff ? i : i + 1;
        float at = (float)arith_get(half, halves, i);
        float towards = (float)arith_get(half, halves, next);
        float largest = isnan(at) ? at : INFINITY;
        float between = isinf(towards) && isfinite(at)
                            ? copysignf(half == FERRY_F16 ? 65520 : 0x1.ffp127f, at)
                            : at / 2 + towards / 2;

        for (int k = 0; k < 3; k++) {
            float f = k == 0 ? at : k == 1 ? between : towards;

            *out++ = f;
            *out++ = nextafterf(f, largest);
            *out++ = nextafterf(f, -largest);
        }
    }
}

/* Every half as F32 and as the other half, every limit of rounding to halves: the oracle's bits. */
static void conversions_of_halves_have_the_oracles_bits(void)
{
    static uint16_t halves[HALVES];
    static float floats[FLOATS];

    for (int i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    for (ferry_dtype half = FERRY_F16; half <= FERRY_BF16; half++) {
        ferry_dtype other = half == FERRY_F16 ? FERRY_BF16 : FERRY_F16;

        CU_ASSERT(converts(half, halves, FERRY_F32, HALVES));
        CU_ASSERT(converts(half, halves, other, HALVES));
        floats_around(half, halves, floats);
        CU_ASSERT(converts(FERRY_F32, floats, half, FLOATS));
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(kernels_compiled_by_the_host_agree_with_the_oracle),
    FERRY_TEST(depthwise_line_kernels_agree_with_the_oracle),
    FERRY_TEST(backward_kernels_agree_with_the_oracle),
    FERRY_TEST(products_of_halves_are_within_the_bounds_of_their_sums),
    FERRY_TEST(small_terms_of_a_long_sum_are_kept),
    FERRY_TEST(small_terms_of_a_long_vector_are_kept),
    FERRY_TEST(the_oracle_copies_every_dtype),
    FERRY_TEST(conversions_of_halves_have_the_oracles_bits),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "kernels", cases, FERRY_TEST_COUNT(cases));
}
