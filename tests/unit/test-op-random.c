/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random operations and backward passes on each backend, against the oracle. FERRY_TEST_OPS: how many
 * of a kind or pass (100); FERRY_TEST_SEED: the first seed. A failure prints its seed, and the operation.
 */
#include "fixture.h"
#include "op-backward.h"

#include "op/element.h"
#include "op/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One operation with memories on the device, and the same bytes for the oracle. */
struct trial {
    ferry_op op;
    ferry_memory *memory[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
    unsigned char *bytes[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS]; /* the oracle's */
    ferry_op_place place[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
    size_t size[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS];
};

static const ferry_operand *operand_at(const ferry_op *op, uint32_t i)
{
    return i < op->n_in ? &op->in[i] : &op->out[i - op->n_in];
}

/* A number that the operand's place in its kind can have. */
static double value_for(struct om_numbers *n, const ferry_op *op, uint32_t i, int64_t k)
{
    bool index = (op->kind == FERRY_OP_GATHER || op->kind == FERRY_OP_SCATTER_ADD) && i == 1;

    if (index)
        return (double)om_pick(n, op->in[0].shape[0] + 1); /* one behind the last, too */
    if (op->kind == FERRY_OP_ROI_POOL && i == 1)
        return k % 5 == 0 ? (double)om_pick(n, op->in[0].shape[0]) : (double)om_pick(n, 30);
    if (op->kind == FERRY_OP_BINARY && op->params.binary.function == FERRY_BINARY_QUOTIENT &&
        i == 1)
        return 1.5 + om_value(n);
    if (op->kind == FERRY_OP_UPDATE && i > 1) /* histories have roots */
        return 1.25 + om_value(n);
    if (op->kind == FERRY_OP_LRN && i == 3)
        return 2 + om_value(n); /* the scale of a backward pass */
    if (operand_at(op, i)->dtype >= FERRY_I8)
        return (double)om_pick(n, 100);
    return om_value(n);
}

/* A margin before and behind shows whoever writes outside. */
#define MARGIN 64

static void make(struct om_numbers *n, struct trial *t)
{
    uint32_t i, all = t->op.n_in + t->op.n_out;

    for (i = 0; i < all; i++) {
        const ferry_operand *o = operand_at(&t->op, i);
        int64_t extent = ferry_operand_extent(o),
                size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
        int64_t k;

        t->size[i] = (size_t)extent + 2 * MARGIN;
        t->bytes[i] = malloc(t->size[i]);
        memset(t->bytes[i], 0x3f, t->size[i]);
        for (k = 0; k < extent / size; k++)
            ferry__element_set(o->dtype, t->bytes[i] + MARGIN, k, value_for(n, &t->op, i, k));
        if (t->op.kind == FERRY_OP_POOL && t->op.pass == FERRY_PASS_BACKWARD_DATA && i == 1 &&
            t->op.n_in > 1)
            ob_fill_mask(n, &t->op, t->bytes[i] + MARGIN);
        t->memory[i] = fx_memory(t->size[i]);
        memcpy(ferry_memory_overwrite_host_data(t->memory[i]), t->bytes[i], t->size[i]);
        t->place[i] = (ferry_op_place){ t->memory[i], MARGIN };
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
    args.n_scalars = FERRY_UPDATE_SCALARS;
    CU_ASSERT_EQUAL_FATAL(ferry__oracle.create(NULL, &t->op, &prepared), 0);
    CU_ASSERT_EQUAL(ferry__oracle.run(NULL, NULL, prepared, &args), 0);
    ferry__oracle.destroy(NULL, prepared);
}

static int run(ferry_device *dev, struct trial *t, uint64_t *own)
{
    ferry_op_plan plan = { .struct_size = sizeof plan };
    ferry_op_args args = { .struct_size = sizeof args, .in = t->place, .seed = 7, .offset = 12 };
    ferry_operation *operation;
    int err = ferry_op_create(dev, &t->op, &operation);

    if (err)
        return err;
    args.out = t->place + t->op.n_in;
    args.scalars = om_scalars;
    args.n_scalars = FERRY_UPDATE_SCALARS;
    CU_ASSERT_EQUAL(ferry_op_plan_of(operation, &plan), 0);
    *own += plan.tier == FERRY_TIER_OWN;
    err = ferry_op_run(operation, NULL, &args);
    ferry_op_destroy(operation);
    return err;
}

/* Every byte between the elements is as it was; elements differ by no more than they may. */
static bool agrees(struct trial *t, uint32_t i)
{
    const ferry_operand *o = operand_at(&t->op, i);
    const unsigned char *got = ferry_memory_host_data(t->memory[i]);
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype), k;
    int64_t n = ferry_operand_extent(o) / size;
    double largest = 0, far = 0;

    if (!got)
        return false;
    for (k = 0; k < n; k++) {
        double a = ferry__element_get(o->dtype, t->bytes[i] + MARGIN, k);
        double b = ferry__element_get(o->dtype, got + MARGIN, k);

        if (isfinite(a))
            largest = fmax(largest, fabs(a));
        if (isnan(a) || isnan(b))
            far = isnan(a) == isnan(b) ? far : INFINITY;
        else if (a != b)
            far = fmax(far, fabs(a - b));
    }
    return far <= om_tolerance(&t->op) * fmax(largest, 1e-3) && !memcmp(got, t->bytes[i], MARGIN) &&
           !memcmp(got + t->size[i] - MARGIN, t->bytes[i] + t->size[i] - MARGIN, MARGIN);
}

/* What is tried: a kind forward, or one of its passes. */
struct trying {
    uint32_t kind;
    const struct ob_pass *pass;
};

static void make_operation(struct om_numbers *n, struct trying what, ferry_op *out)
{
    enum ob_role roles[FERRY_OP_INPUTS];
    ferry_op forward;

    if (what.pass)
        ob_make(n, what.pass, &forward, out, roles);
    else
        om_make(n, what.kind, 1, out);
}

static bool one(ferry_device *dev, struct trying what, uint64_t seed, uint64_t *own)
{
    struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + what.kind };
    struct trial t = { .op = { 0 } };
    bool good = true;
    uint32_t i;

    make_operation(&n, what, &t.op);
    if (ferry_op_check(&t.op)) {
        printf("kind %u pass %u seed %llu: made what is refused: %s: %s\n", what.kind, t.op.pass,
               (unsigned long long)seed, ferry_last_error(), om_text(&t.op));
        return false;
    }
    make(&n, &t);
    ask_the_oracle(&t);
    if (run(dev, &t, own)) {
        printf("%s\n", ferry_last_error());
        good = false;
    }
    for (i = t.op.n_in; good && i < t.op.n_in + t.op.n_out; i++)
        good = agrees(&t, i);
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

/*
 * How many of n a plugin with operations has to compute itself: a silent fall to the host would pass
 * else. Kernels leave conversions to others.
 */
static uint64_t least_own(struct trying what, uint64_t n)
{
    if (!fx_has_operations())
        return 0;
    if (!strcmp(ferry_test_backend(), "cpu"))
        return n;
    return what.kind == FERRY_OP_STRIDED_COPY ? n / 2 : n * 19 / 20;
}

/* Many of one; how many were bad, up to 10. */
static int try_many(ferry_device *dev, struct trying what)
{
    uint64_t n = number_of("FERRY_TEST_OPS", ferry_test_is_slow() ? 10 : 100);
    uint64_t first = number_of("FERRY_TEST_SEED", 1), own = 0, seed;
    int bad = 0;

    for (seed = first; seed < first + n && bad < 10; seed++)
        bad += !one(dev, what, seed, &own);
    if (!bad && own < least_own(what, n)) {
        printf("kind %u pass %u: %llu of %llu were the plugin's own\n", what.kind,
               what.pass ? what.pass->pass : 0, (unsigned long long)own, (unsigned long long)n);
        bad++;
    }
    return bad;
}

static void random_operations_agree_with_the_oracle(void)
{
    ferry_device *dev = fx_device();
    int k, bad = 0;

    for (k = 0; k < om_kind_count && bad < 10; k++)
        bad += try_many(dev, (struct trying){ om_kinds[k], NULL });
    CU_ASSERT_EQUAL(bad, 0);
    fx_end();
}

static void random_backward_passes_agree_with_the_oracle(void)
{
    ferry_device *dev = fx_device();
    int k, bad = 0;

    for (k = 0; k < ob_pass_count && bad < 10; k++)
        bad += try_many(dev, (struct trying){ ob_passes[k].kind, &ob_passes[k] });
    CU_ASSERT_EQUAL(bad, 0);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(random_operations_agree_with_the_oracle),
    FERRY_TEST(random_backward_passes_agree_with_the_oracle),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "random operations", cases,
                                    FERRY_TEST_COUNT(cases));
}
