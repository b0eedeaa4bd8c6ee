/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random operations and backward passes on each backend, in F32 and in halves, compared with the
 * reference, which computes results of halves in F64. FERRY_TEST_OPS: number of operations per kind
 * or pass (100); FERRY_TEST_SEED: the first seed. A failure prints its seed and the operation.
 */
#include "arith.h"
#include "fixture.h"
#include "op-backward.h"

#include "op/operation.h"
#include "tests/reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One operation with memories on the device, and the same values for the reference. */
struct trial {
    ferry_op_desc op, exact; /* exact: the reference's */
    ferry_memory *memory[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
    unsigned char *bytes[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS]; /* the reference's */
    ferry_operation_location place[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
    size_t size[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
};

static const ferry_operand *operand_at(const ferry_op_desc *op, uint32_t i)
{
    return i < op->n_in ? &op->in[i] : &op->out[i - op->n_in];
}

/* A value that is valid for the operand at this position of its kind. */
static double value_for(struct om_numbers *n, const ferry_op_desc *op, uint32_t i, int64_t k)
{
    bool index = (op->kind == FERRY_OP_GATHER || op->kind == FERRY_OP_SCATTER_ADD) && i == 1;

    if (index)
        return (double)om_pick(n, op->in[0].shape[0] + 1); /* an index one past the end is included
                                                            */
    if (op->kind == FERRY_OP_ROI_POOL && i == 1)
        return k % 5 == 0 ? (double)om_pick(n, op->in[0].shape[0]) : (double)om_pick(n, 30);
    if (op->kind == FERRY_OP_BINARY && op->params.binary.function == FERRY_BINARY_QUOTIENT &&
        i == 1)
        return 1.5 + om_value(n);
    if (op->kind == FERRY_OP_UPDATE && i > 1) /* histories are under a square root */
        return 1.25 + om_value(n);
    if (op->kind == FERRY_OP_LRN && i == 3)
        return 2 + om_value(n); /* the scale of a backward pass */
    if (operand_at(op, i)->dtype >= FERRY_I8)
        return (double)om_pick(n, 100);
    return om_value(n);
}

/* A margin before and after each operand shows writes outside it. */
#define MARGIN 64

static bool is_half(uint32_t dtype)
{
    return dtype == FERRY_F16 || dtype == FERRY_BF16;
}

/* Copies the same bytes, or the same numbers in another dtype. */
static void share(struct trial *t, uint32_t i, const unsigned char *bytes)
{
    const ferry_operand *o = operand_at(&t->op, i), *exact = operand_at(&t->exact, i);
    int64_t n = ferry_operand_extent(o) / (int64_t)ferry_dtype_size((ferry_dtype)o->dtype), k;
    size_t size = (size_t)ferry_operand_extent(exact) + 2 * MARGIN;

    t->bytes[i] = malloc(size);
    memset(t->bytes[i], 0x3f, size);
    if (o->dtype == exact->dtype)
        memcpy(t->bytes[i], bytes, size);
    else
        for (k = 0; k < n; k++)
            arith_put((ferry_dtype)exact->dtype, t->bytes[i] + MARGIN, k,
                      arith_get((ferry_dtype)o->dtype, bytes + MARGIN, k));
}

static void make(struct om_numbers *n, struct trial *t)
{
    uint32_t i, all = t->op.n_in + t->op.n_out;

    t->exact = t->op;
    for (i = 0; i < t->op.n_out; i++)
        if (is_half(t->op.out[i].dtype) && t->op.kind != FERRY_OP_STRIDED_COPY)
            t->exact.out[i].dtype = FERRY_F64;

    for (i = 0; i < all; i++) {
        const ferry_operand *o = operand_at(&t->op, i);
        int64_t extent = ferry_operand_extent(o),
                size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
        unsigned char *bytes;
        int64_t k;

        t->size[i] = (size_t)extent + 2 * MARGIN;
        t->memory[i] = fx_memory(t->size[i]);
        bytes = ferry_memory_overwrite_host_data(t->memory[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        memset(bytes, 0x3f, t->size[i]);
        for (k = 0; k < extent / size; k++)
            arith_put((ferry_dtype)o->dtype, bytes + MARGIN, k, value_for(n, &t->op, i, k));
        if (t->op.kind == FERRY_OP_POOL && t->op.pass == FERRY_PASS_BACKWARD_DATA && i == 1 &&
            t->op.n_in > 1)
            ob_fill_mask(n, &t->op, bytes + MARGIN);
        share(t, i, bytes);
        t->place[i] = (ferry_operation_location){ t->memory[i], MARGIN };
    }
}

static void end(struct trial *t)
{
    uint32_t i;

    for (i = 0; i < t->op.n_in + t->op.n_out; i++) {
        ferry_memory_release(t->memory[i]);
        free(t->bytes[i]);
    }
}

static void ask_the_oracle(struct trial *t)
{
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args args = { .struct_size = sizeof args, .in = in, .out = out, .seed = 7 };
    void *prepared;
    uint32_t i;

    for (i = 0; i < t->op.n_in; i++)
        in[i] = (ferry_cref){ t->bytes[i], MARGIN };
    for (i = 0; i < t->op.n_out; i++)
        out[i] = (ferry_ref){ t->bytes[t->op.n_in + i], MARGIN };
    args.offset = 12;
    args.scalars = om_scalars;
    args.scalar_count = FERRY_UPDATE_SCALARS;
    CU_ASSERT_EQUAL_FATAL(reference_table.create(NULL, &t->exact, &prepared), 0);
    CU_ASSERT_EQUAL(reference_table.run(NULL, NULL, prepared, &args), 0);
    reference_table.destroy(NULL, prepared);
}

/*
 * Numbers of operations that the plugin itself computed, that the device computed, and that used
 * copies in another dtype.
 */
struct tally {
    uint64_t own, device, by_images;
};

static int run(ferry_device *dev, struct trial *t, struct tally *tally)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_operation_args args = {
        .struct_size = sizeof args, .in = t->place, .seed = 7, .offset = 12
    };
    ferry_operation *operation;
    int err = ferry_operation_create(dev, &t->op, &operation);

    if (err)
        return err;
    args.out = t->place + t->op.n_in;
    args.scalars = om_scalars;
    args.scalar_count = FERRY_UPDATE_SCALARS;
    CU_ASSERT_EQUAL(ferry_operation_get_plan(operation, &plan), 0);
    tally->own += plan.tier == FERRY_TIER_OWN;
    tally->device += plan.tier != FERRY_TIER_HOST;
    tally->by_images += operation->plan.repeat > 1;
    err = ferry_operation_run(operation, NULL, &args);
    ferry_operation_destroy(operation);
    return err;
}

/*
 * Half a unit in the last place of this dtype for such a value; 0 where the results must be equal.
 */
static double half_a_place(uint32_t dtype, double value)
{
    int fraction = dtype == FERRY_F16 ? 10 : 7, least = dtype == FERRY_F16 ? -14 : -126, exponent;

    if (!is_half(dtype))
        return 0;
    frexp(value, &exponent);
    return ldexp(0.5, (exponent - 1 < least ? least : exponent - 1) - fraction);
}

/* Every byte between the elements is unchanged, and elements differ at most by the tolerance. */
/*
 * The magnitude of results from which on errors are relative. Sums of values of about 1 may cancel
 * each other; their errors are those of their terms.
 */
static double least_scale(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_MOMENTS || op->kind == FERRY_OP_REDUCE ? 0.02 : 1e-3;
}

static bool agrees(struct trial *t, uint32_t i)
{
    const ferry_operand *o = operand_at(&t->op, i);
    uint32_t exact = operand_at(&t->exact, i)->dtype;
    const unsigned char *got = ferry_memory_host_data(t->memory[i]);
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype), k;
    int64_t n = ferry_operand_extent(o) / size;
    double largest = 0, far = 0;

    if (!got)
        return false;
    for (k = 0; k < n; k++) {
        double a = (double)arith_get((ferry_dtype)exact, t->bytes[i] + MARGIN, k);
        double b = (double)arith_get((ferry_dtype)o->dtype, got + MARGIN, k);

        if (isfinite(a))
            largest = fmax(largest, fabs(a));
        if (isnan(a) || isnan(b))
            far = isnan(a) == isnan(b) ? far : INFINITY;
        else if (a != b)
            far = fmax(far, fabs(a - b) - (exact == o->dtype ? 0 : half_a_place(o->dtype, a)));
    }
    return far <= om_tolerance(&t->op) * fmax(largest, least_scale(&t->op)) &&
           !memcmp(got, t->bytes[i], MARGIN) &&
           !memcmp(got + t->size[i] - MARGIN, t->bytes[i], MARGIN);
}

/* The tested kind: forward, or one of its passes; for halves the dtype alternates. */
struct trying {
    uint32_t kind;
    const struct ob_pass *pass;
    bool halves;
    uint64_t most; /* bytes of an operand; 0: any number */
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

static bool is_within(const ferry_op_desc *op, uint64_t most)
{
    uint32_t i;

    for (i = 0; most && i < op->n_in + op->n_out; i++)
        if ((uint64_t)ferry_operand_extent(operand_at(op, i)) + 2 * MARGIN > most)
            return false;
    return true;
}

static bool one(ferry_device *dev, struct trying what, uint64_t seed, struct tally *tally)
{
    struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
    struct trial t = { .op = { 0 } };
    bool good = true;
    uint32_t i;

    make_operation(&n, what, &t.op);
    if (what.halves)
        om_halve(&t.op, seed & 1 ? FERRY_F16 : FERRY_BF16);
    if (ferry_op_desc_check(&t.op)) {
        printf("kind %u pass %u seed %llu: made what is refused: %s: %s\n", what.kind, t.op.pass,
               (unsigned long long)seed, ferry_last_error(), om_text(&t.op));
        return false;
    }
    if (!is_within(&t.op, what.most))
        return true;
    make(&n, &t);
    ask_the_oracle(&t);
    if (run(dev, &t, tally)) {
        printf("%s\n", ferry_last_error());
        good = false;
    }
    for (i = t.op.n_in; good && i < t.op.n_in + t.op.n_out; i++)
        good = agrees(&t, i);
    if (!good)
        printf("kind %u pass %u%s seed %llu: %s\n", what.kind, t.op.pass,
               what.halves ? " halves" : "", (unsigned long long)seed, om_text(&t.op));
    end(&t);
    return good;
}

/*
 * How many of n operations a plugin with operations must compute itself, or the device for halves,
 * so that an unintended fallback to the host fails the test. Kernels reject some conversions.
 */
static uint64_t least_own(struct trying what, uint64_t n)
{
    if (!fx_has_operations())
        return 0;
    if (!strcmp(ferry_test_backend(), "cpu"))
        return n;
    return what.kind == FERRY_OP_STRIDED_COPY ? n / 2 : n * 19 / 20;
}

/* The number of operations of one kind: `quick` with FERRY_TEST_QUICK, half in the shortest run. */
static uint64_t operations_of_a_kind(uint64_t quick)
{
    uint64_t usual = getenv("FERRY_TEST_QUICK") ? quick : 100;

    if (ferry_test_is_slow())
        usual = 10;
    else if (ferry_test_is_shortest())
        usual = quick / 2;
    return om_number_of("FERRY_TEST_OPS", usual);
}

/* Tests n operations of one kind; returns the number of wrong results, at most 10. */
static int try_many(ferry_device *dev, struct trying what, uint64_t n, struct tally *tally)
{
    uint64_t first = om_number_of("FERRY_TEST_SEED", 1), seed;
    int bad = 0;

    for (seed = first; seed < first + n && bad < 10; seed++)
        bad += !one(dev, what, seed, tally);
    return bad;
}

static int try_enough(ferry_device *dev, struct trying what)
{
    uint64_t n = operations_of_a_kind(ferry_test_has_options() ? 10 : 40), did;
    struct tally tally = { 0 };
    int bad = try_many(dev, what, n, &tally);

    did = what.halves ? tally.device : tally.own;
    if (bad || did >= least_own(what, n))
        return bad;
    printf("kind %u pass %u%s: %llu of %llu were the plugin's own\n", what.kind,
           what.pass ? what.pass->pass : 0, what.halves ? " halves" : "", (unsigned long long)did,
           (unsigned long long)n);
    return 1;
}

static void operations_agree(bool halves)
{
    ferry_device *dev = fx_device();
    int k, bad = 0;

    for (k = 0; k < om_kind_count && bad < 10; k++)
        bad += try_enough(dev, (struct trying){ om_kinds[k], NULL, halves, 0 });
    CU_ASSERT_EQUAL(bad, 0);
    fx_end();
}

static void passes_agree(bool halves)
{
    ferry_device *dev = fx_device();
    int k, bad = 0;

    for (k = 0; k < ob_pass_count && bad < 10; k++)
        bad += try_enough(dev, (struct trying){ ob_passes[k].kind, &ob_passes[k], halves, 0 });
    CU_ASSERT_EQUAL(bad, 0);
    fx_end();
}

static void random_operations_agree_with_the_oracle(void)
{
    operations_agree(false);
}

static void random_backward_passes_agree_with_the_oracle(void)
{
    passes_agree(false);
}

static void random_operations_on_halves_agree_with_the_oracle(void)
{
    operations_agree(true);
}

static void random_backward_passes_on_halves_agree_with_the_oracle(void)
{
    passes_agree(true);
}

/* Converts the operands of real numbers to F64. */
static void widen(ferry_op_desc *op)
{
    uint32_t i;

    for (i = 0; i < op->n_in; i++)
        op->in[i].dtype = op->in[i].dtype == FERRY_F32 ? FERRY_F64 : op->in[i].dtype;
    for (i = 0; i < op->n_out; i++)
        op->out[i].dtype = op->out[i].dtype == FERRY_F32 ? FERRY_F64 : op->out[i].dtype;
}

/* Only the cpu plugin computes in F64: an operation that it refused would fail on every device. */
static void the_cpu_plugin_computes_every_kind_in_f64(void)
{
    ferry_device *dev = fx_device();
    int k, bad = 0, made = 0;

    for (k = 0; k < om_kind_count + ob_pass_count && !strcmp(ferry_test_backend(), "cpu"); k++) {
        struct trying what = { .pass = k < om_kind_count ? NULL : &ob_passes[k - om_kind_count] };
        uint64_t seed;

        what.kind = what.pass ? what.pass->kind : om_kinds[k];
        for (seed = 1; seed <= 50; seed++) {
            struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
            ferry_operation_plan plan = { .struct_size = sizeof plan };
            ferry_op_desc op;

            make_operation(&n, what, &op);
            widen(&op);
            if (ferry_op_desc_check(&op)) /* a mask is F32 or I32 */
                continue;
            made++;
            if (ferry_operation_query(dev, &op, &plan) || plan.tier != FERRY_TIER_OWN) {
                printf("%s\n", om_text(&op));
                bad++;
            }
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT(strcmp(ferry_test_backend(), "cpu") || made >= 40 * (om_kind_count + ob_pass_count));
    fx_end();
}

/*
 * Temporary memory is half of a binding: many operations then use copies in parts, and some run on
 * the host.
 */
static void halves_beyond_the_binding_limit_are_computed_per_image(void)
{
    ferry_device *dev = fx_device();
    int k, bad = 0, kinds = 0;

    for (k = 0; k < om_kind_count + ob_pass_count && bad < 10; k++) {
        struct trying what = { .halves = true };
        struct tally tally = { 0 };

        what.pass = k < om_kind_count ? NULL : &ob_passes[k - om_kind_count];
        what.kind = what.pass ? what.pass->kind : om_kinds[k];
        what.most = ferry_device_get_properties(dev)->max_binding;
        bad += try_many(dev, what, operations_of_a_kind(100), &tally);
        kinds += tally.by_images > 0;
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT(kinds >= (ferry_test_is_slow() ? 5 : ferry_test_is_shortest() ? 15 : 20));
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(random_operations_agree_with_the_oracle),
    FERRY_TEST(random_backward_passes_agree_with_the_oracle),
    FERRY_TEST(random_operations_on_halves_agree_with_the_oracle),
    FERRY_TEST(random_backward_passes_on_halves_agree_with_the_oracle),
    FERRY_TEST(the_cpu_plugin_computes_every_kind_in_f64),
};

static const ferry_test_case by_images[] = { FERRY_TEST(
    halves_beyond_the_binding_limit_are_computed_per_image) };

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "sim[ops=arithmetic,FERRY_TEST_OPERATIONS=none,FERRY_TEST_WITHOUT=cpu]", cases,
          FERRY_TEST_COUNT(cases) },
        { "sim[max_binding=32KiB]", by_images, FERRY_TEST_COUNT(by_images) },
    };
    int result =
        ferry_test_main_backends(argc, argv, "random operations", cases, FERRY_TEST_COUNT(cases));

    return ferry_test_worse(result, ferry_test_main_sets(argc, argv, "random operations", sets,
                                                         FERRY_TEST_COUNT(sets)));
}
