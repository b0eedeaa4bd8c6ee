/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels, compiled by the host's compiler, against the oracle: random operations, with margins
 * around every operand. FERRY_TEST_OPS: number of operations per kind (100); FERRY_TEST_SEED.
 */
#include "arith.h"
#include "ferry-test.h"
#include "op-backward.h"

#include <ferry/blob.h>

#include "kernels/host.h"
#include "tests/reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERANDS (FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define MARGIN   64

/* An operation with two sets of operands: for the oracle, and for the kernels. */
struct trial {
    ferry_op_desc op;
    struct kernel_plan plan;
    unsigned char *theirs[OPERANDS], *ours[OPERANDS];
    size_t size[OPERANDS];
    struct kernel_host_run on;
};

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

        t->size[i] = (size_t)extent + 2 * MARGIN;
        t->theirs[i] = malloc(t->size[i]);
        t->ours[i] = malloc(t->size[i]);
        memset(t->theirs[i], 0x3f, t->size[i]);
        for (int64_t k = 0; k < extent / size; k++)
            arith_put((ferry_dtype)o->dtype, t->theirs[i] + MARGIN, k, value_for(n, t, i, k));
        if (t->op.kind == FERRY_OP_POOL && t->op.pass == FERRY_PASS_BACKWARD_DATA && i == 1 &&
            t->op.n_in > 1)
            ob_fill_mask(n, &t->op, t->theirs[i] + MARGIN);
        memcpy(t->ours[i], t->theirs[i], t->size[i]);
        t->on.buffer[i < t->op.n_in ? FROM_IN(i) : FROM_OUT(i - t->op.n_in)] = t->ours[i] + MARGIN;
    }
}

/* With operands at that offset in their buffers. */
static void oracle_at(struct trial *t, uint64_t margin)
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

static void ask_the_oracle(struct trial *t)
{
    oracle_at(t, MARGIN);
}

/* Memory of exactly that size, so that the sanitizer knows its end. */
static unsigned char *rubbish(uint64_t bytes)
{
    unsigned char *p = bytes ? malloc(bytes) : NULL;

    if (p)
        memset(p, 0xff, bytes); /* NaN */
    return p;
}

static void run(struct trial *t)
{
    t->on.buffer[FROM_PACKED] = rubbish(t->plan.answer.packed_bytes);
    t->on.buffer[FROM_WORKSPACE] = rubbish(t->plan.answer.workspace_bytes);
    if (t->plan.answer.packed_bytes)
        kernel_host_run(&t->plan.pack, &t->on);
    for (uint32_t i = 0; i < t->plan.launches; i++)
        kernel_host_run(&t->plan.launch[i], &t->on);
    free(t->on.buffer[FROM_PACKED]);
    free(t->on.buffer[FROM_WORKSPACE]);
}

/* The largest difference from the oracle, relative to the largest value; 1 if bytes differ. */
static double distance(const struct trial *t, uint32_t i)
{
    const ferry_operand *o = operand_at(&t->op, i);
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
    double largest = 1e-3, far = 0;

    for (int64_t k = 0; k < ferry_operand_extent(o) / size; k++) {
        double a = (double)arith_get((ferry_dtype)o->dtype, t->theirs[i] + MARGIN, k);
        double b = (double)arith_get((ferry_dtype)o->dtype, t->ours[i] + MARGIN, k);

        if (isfinite(a))
            largest = fmax(largest, fabs(a));
        if (isnan(a) != isnan(b))
            return 1;
        if (!isnan(a) && a != b)
            far = fmax(far, fabs(a - b));
    }
    if (memcmp(t->ours[i], t->theirs[i], MARGIN) != 0 ||
        memcmp(t->ours[i] + t->size[i] - MARGIN, t->theirs[i] + t->size[i] - MARGIN, MARGIN) != 0)
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

/* A kind forward, or one of its passes. */
struct trying {
    uint32_t kind;
    const struct ob_pass *pass;
};

static void make_operation(struct om_numbers *n, struct trying what, ferry_op_desc *out)
{
    enum ob_role roles[FERRY_OP_INPUTS];
    ferry_op_desc forward;

    if (what.pass)
        ob_make(n, what.pass, &forward, out, roles);
    else
        om_make(n, what.kind, 1, out);
}

/* 1: equal, 0: different, −1: not supported by the kernels. */
static int try_one(struct trying what, uint64_t seed)
{
    struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
    static struct trial t;
    int good = 1;

    memset(&t, 0, sizeof t);
    t.on.seed = 7;
    t.on.offset = 12;
    t.on.scalars = om_scalars;
    make_operation(&n, what, &t.op);
    CU_ASSERT_EQUAL_FATAL(ferry_op_desc_check(&t.op), 0);
    if (kernel_plan_make(&kernel_host_target, &t.op, &t.plan))
        return -1;
    make_operands(&n, &t);
    run(&t);
    ask_the_oracle(&t);
    for (uint32_t i = 0; i < t.op.n_in + t.op.n_out; i++)
        if (!(distance(&t, i) <= om_tolerance(&t.op)))
            good = 0;
    if (!good)
        printf("kind %u pass %u seed %llu: %s\n", what.kind, t.op.pass, (unsigned long long)seed,
               om_text(&t.op));
    end(&t);
    return good;
}

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *value = getenv(name);

    return value && *value ? strtoull(value, NULL, 10) : usual;
}

/* Memory of exactly that size, so that the sanitizer knows its end. */
static int try_many(struct trying what)
{
    uint64_t n = number_of("FERRY_TEST_OPS", ferry_test_is_slow() ? 20 : 100);
    uint64_t first = number_of("FERRY_TEST_SEED", 1), refused = 0;
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

static void so_do_the_backward_passes(void)
{
    int bad = 0;

    for (int k = 0; k < ob_pass_count; k++)
        bad += try_many((struct trying){ ob_passes[k].kind, &ob_passes[k] });
    CU_ASSERT_EQUAL(bad, 0);
}

/* For rare operations: generates operations until enough of them use `lines`. */
static int try_lines(int64_t lines)
{
    struct trying what = { FERRY_OP_CONVOLUTION, NULL };
    int bad = 0, tried = 0;

    for (uint64_t seed = 1000000; tried < 20 && seed < 1010000; seed++) {
        struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
        struct kernel_plan plan;
        ferry_op_desc op;

        make_operation(&n, what, &op);
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

static void depthwise_lines_agree_too(void)
{
    CU_ASSERT_EQUAL(try_lines(1), 0);
    CU_ASSERT_EQUAL(try_lines(2), 0);
}

/* ---- conversions -------------------------------------------------------------------------------- */

#define HALVES 65536
#define FLOATS (HALVES * 3 * 3)

/* Copies `n` elements with that distance, instead of the device's kernels. */
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
        oracle_at(&trial, 0);
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
    FERRY_TEST(depthwise_lines_agree_too),
    FERRY_TEST(so_do_the_backward_passes),
    FERRY_TEST(the_oracle_copies_every_dtype),
    FERRY_TEST(conversions_of_halves_have_the_oracles_bits),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "kernels", cases, FERRY_TEST_COUNT(cases));
}
