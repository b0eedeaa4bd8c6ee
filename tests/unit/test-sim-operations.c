/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
/*
 * Prepared operations that fail, complete late, or are not supported: the state of the operands and
 * of the operation.
 */
#include "fixture.h"
#include "backends/sim/control.h"

#include <ferry/ferry.h>
#include <ferry/op.h>

#include <stdlib.h>
#include <string.h>

static struct {
    ferry_runtime *rt;
    ferry_device *dev;
    const struct sim_control *control;
    void *sim;
    ferry_memory *x, *w, *y;
    ferry_operation *o;
} f;

static const float six[6] = { 1, 2, 3, 4, 5, 6 };

static void fill(ferry_memory *m, size_t n, float first)
{
    float *p = ferry_memory_overwrite_host_data(m);

    for (size_t i = 0; i < n; i++)
        p[i] = first + (float)i;
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

/* A device, and operands. */
static void begin(void)
{
    const ferry_runtime_options backend = { .struct_size = sizeof backend, .backend = "sim" };

    memset(&f, 0, sizeof f);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&backend, &f.rt), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(f.rt, NULL, &f.dev), 0);
    fx_sim(f.dev, &f.control, &f.sim);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(f.dev, 6 * sizeof(float), &f.x), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(f.dev, 12 * sizeof(float), &f.w), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(f.dev, 8 * sizeof(float), &f.y), 0);
    memcpy(ferry_memory_overwrite_host_data(f.x), six, sizeof six);
    fill(f.w, 12, 0);
    fill(f.y, 8, 100);
}

static void end(void)
{
    ferry_operation_destroy(f.o);
    ferry_memory_release(f.x);
    ferry_memory_release(f.w);
    ferry_memory_release(f.y);
    ferry_runtime_close(f.rt);
}

static int create(void)
{
    ferry_op_desc op = product();

    return ferry_operation_create(f.dev, &op, &f.o);
}

static int run(void)
{
    ferry_operation_location in[2] = { { f.x, 0 }, { f.w, 0 } }, out = { f.y, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = &out };

    return ferry_operation_run(f.o, NULL, &args);
}

static int has(ferry_memory *m, float first, float second)
{
    const float *p = ferry_memory_host_data(m);

    return p && !(p[0] < first || p[0] > first || p[1] < second || p[1] > second);
}

/* x = 1 2 3, the first two rows of w are 0 1 2 and 3 4 5. */
#define FIRST  8
#define SECOND 26

static int is_lost(ferry_memory *m)
{
    return !ferry_memory_host_data(m) &&
           (ferry_last_error_code() == FERRY_EDEVICE || ferry_last_error_code() == FERRY_ELOST);
}

static void a_failed_call_to_run_loses_its_output_and_keeps_its_inputs(void)
{
    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    f.control->fail_next(f.sim, SIM_CALL_RUN, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(run(), FERRY_EDEVICE);
    CU_ASSERT(has(f.x, 1, 2));
    CU_ASSERT(has(f.w, 0, 1));
    CU_ASSERT(is_lost(f.y));
    CU_ASSERT_EQUAL(run(), 0); /* written completely, without having been read */
    CU_ASSERT(has(f.y, FIRST, SECOND));
    end();
}

static void an_asynchronously_failed_run_loses_the_output_and_keeps_the_inputs(void)
{
    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    f.control->fail_later(f.sim, SIM_CALL_RUN, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(is_lost(f.y));
    CU_ASSERT(has(f.x, 1, 2));
    CU_ASSERT(has(f.w, 0, 1));
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    end();
}

static void a_run_without_memory_is_retried_once(void)
{
    uint64_t before;

    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    before = f.control->calls(f.sim, SIM_CALL_RUN);
    f.control->fail_next(f.sim, SIM_CALL_RUN, 1, FERRY_ENOMEM);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT_EQUAL(f.control->calls(f.sim, SIM_CALL_RUN) - before, 2);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    end();
}

static void an_operation_whose_prepare_fails_is_not_created(void)
{
    begin();
    CU_ASSERT_EQUAL(create(), FERRY_EDEVICE);
    CU_ASSERT_PTR_NULL(f.o);
    CU_ASSERT_EQUAL(create(), 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    end();
}

static void constants_that_could_not_be_packed_are_packed_by_the_next_run(void)
{
    ferry_operation_stats stats = { .struct_size = sizeof stats };

    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    CU_ASSERT_EQUAL(run(), FERRY_EDEVICE);
    CU_ASSERT(has(f.y, 100, 101));
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    CU_ASSERT_EQUAL(ferry_operation_get_stats(f.o, &stats), 0);
    CU_ASSERT_EQUAL(stats.packs, 1);
    end();
}

/*
 * The clock does not advance until a call waits: the run is submitted before the packing has
 * failed.
 */
static void packing_that_failed_asynchronously_is_repeated(void)
{
    ferry_operation_stats stats = { .struct_size = sizeof stats };

    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    f.control->fail_later(f.sim, SIM_CALL_PREPARE, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(is_lost(f.y)); /* results of the failed packing are invalid */
    CU_ASSERT(has(f.x, 1, 2));
    CU_ASSERT(has(f.w, 0, 1));
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    CU_ASSERT_EQUAL(ferry_operation_get_stats(f.o, &stats), 0);
    CU_ASSERT_EQUAL(stats.packs, 2);
    end();
}

/* The packing has failed before the next run, which packs once more. */
static void packing_that_failed_before_the_run_is_repeated_in_the_run(void)
{
    ferry_operation_stats stats = { .struct_size = sizeof stats };

    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    f.control->fail_later(f.sim, SIM_CALL_PREPARE, 1, FERRY_EDEVICE);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    CU_ASSERT_EQUAL(ferry_operation_get_stats(f.o, &stats), 0);
    CU_ASSERT_EQUAL(stats.packs, 2);
    end();
}

static void a_pending_run_is_waited_for(void)
{
    begin();
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(f.control->pending(f.sim) > 0);
    CU_ASSERT(has(f.y, FIRST, SECOND)); /* steps the clock as far as necessary */
    CU_ASSERT_EQUAL(run(), 0);
    ferry_operation_destroy(f.o); /* while its run is pending */
    f.o = NULL;
    CU_ASSERT(has(f.y, FIRST, SECOND));
    end();
}

static ferry_operation_tier tier_of(const ferry_op_desc *op)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan, .tier = FERRY_TIER_HOST };

    CU_ASSERT_EQUAL(ferry_operation_query(f.dev, op, &plan), 0);
    return plan.tier;
}

static void a_disabled_kind_is_computed_on_the_host(void)
{
    ferry_op_desc relu, op = product();

    ferry_op_desc_init(&relu, FERRY_OP_UNARY);
    relu.n_in = relu.n_out = 1;
    relu.in[0] = relu.out[0] = op.in[0];
    begin();
    CU_ASSERT_EQUAL(tier_of(&relu), FERRY_TIER_HOST);
    CU_ASSERT_EQUAL(tier_of(&op), FERRY_TIER_OWN);
    end();
}

static void without_operations_the_host_computes(void)
{
    ferry_op_desc op = product();

    begin();
    CU_ASSERT_EQUAL(tier_of(&op), FERRY_TIER_HOST);
    CU_ASSERT_EQUAL_FATAL(create(), 0);
    CU_ASSERT_EQUAL(run(), 0);
    CU_ASSERT(has(f.y, FIRST, SECOND));
    CU_ASSERT_EQUAL(f.control->calls(f.sim, SIM_CALL_RUN), 0);
    end();
}

static const ferry_test_case plain[] = {
    FERRY_TEST(a_failed_call_to_run_loses_its_output_and_keeps_its_inputs),
    FERRY_TEST(an_asynchronously_failed_run_loses_the_output_and_keeps_the_inputs),
    FERRY_TEST(a_run_without_memory_is_retried_once),
};
static const ferry_test_case fail_create[] = {
    FERRY_TEST(an_operation_whose_prepare_fails_is_not_created),
};
static const ferry_test_case fail_prepare[] = {
    FERRY_TEST(constants_that_could_not_be_packed_are_packed_by_the_next_run),
};
static const ferry_test_case manual[] = {
    FERRY_TEST(a_pending_run_is_waited_for),
    FERRY_TEST(packing_that_failed_asynchronously_is_repeated),
};
static const ferry_test_case sync[] = {
    FERRY_TEST(packing_that_failed_before_the_run_is_repeated_in_the_run),
};
static const ferry_test_case without[] = {
    FERRY_TEST(a_disabled_kind_is_computed_on_the_host),
};
static const ferry_test_case arithmetic[] = {
    FERRY_TEST(without_operations_the_host_computes),
};

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "sim", plain, FERRY_TEST_COUNT(plain) },
        { "sim[fail_create=1]", fail_create, FERRY_TEST_COUNT(fail_create) },
        { "sim[fail_prepare=1]", fail_prepare, FERRY_TEST_COUNT(fail_prepare) },
        { "sim[clock=manual]", manual, FERRY_TEST_COUNT(manual) },
        { "sim[clock=sync]", sync, FERRY_TEST_COUNT(sync) },
        { "sim[without=unary]", without, FERRY_TEST_COUNT(without) },
        { "sim[ops=arithmetic]", arithmetic, FERRY_TEST_COUNT(arithmetic) },
    };

    return ferry_test_main_sets(argc, argv, "sim operations", sets, FERRY_TEST_COUNT(sets));
}
