/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer-cases.h"
#include "op-rig.h"
#include "opencl-layer.h"
#include "plugin-driver.h"

#include <stdlib.h>
#include <string.h>

/*
 * Products of bytes of the OpenCL plugin, with kernels for processors and for GPUs; then as on a
 * device that reports products of four bytes, whose compiler lacks them.
 */

static const char *const both[] = { "few", "many", NULL };

static void make_product(struct rig *r, int64_t k)
{
    rig_begin(r, FERRY_OP_INNER_PRODUCT);
    rig_in(r, FERRY_U8, RIG_PLAIN, 2, (int64_t[]){ 4, k });
    rig_in(r, FERRY_I8, RIG_PLAIN, 2, (int64_t[]){ 8, k });
    rig_out(r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ 4, 8 });
    r->op.constants = 2;
}

static int ask(const struct rig *r, ferry_op_answer *out)
{
    *out = (ferry_op_answer){ .struct_size = sizeof(*out) };
    return rig_table->query(rig_device, &r->op, out);
}

/* On a processor the cpu plugin is faster; elsewhere nets stay F32. */
static void the_answer_states_which_arithmetic_is_faster(void)
{
    bool few = strcmp(rig_set(), "few") == 0;
    ferry_op_answer answer;
    struct rig r;

    make_product(&r, 100);
    if (ask(&r, &answer) == FERRY_EUNSUPPORTED)
        ferry_test_skip("the kernels of bytes are not for this device");
    else
        CU_ASSERT_EQUAL(answer.cost,
                        few ? FERRY_OP_COST_HOST_FASTER : FERRY_OP_COST_F32_FASTER);
    rig_end(&r);
}

/* A sum beyond 32 bits, and steps that the kernels lack, stay for F32. */
static void other_operations_are_refused(void)
{
    ferry_op_answer answer;
    struct rig r;

    make_product(&r, INT32_MAX / (255 * 128) + 1);
    CU_ASSERT_EQUAL(ask(&r, &answer), FERRY_EUNSUPPORTED);
    rig_end(&r);
    make_product(&r, 10);
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_TANH, 0, 0);
    CU_ASSERT_EQUAL(ask(&r, &answer), FERRY_EUNSUPPORTED);
    rig_end(&r);
    make_product(&r, 10);
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -1, 1);
    rig_step(&r, FERRY_STEP_SCALE, 0, 0, 0);
    CU_ASSERT_EQUAL(ask(&r, &answer), FERRY_EUNSUPPORTED);
    rig_end(&r);
    make_product(&r, 10);
    r.op.in[0].shape[1] = r.op.in[1].shape[1] = 0;
    CU_ASSERT_EQUAL(ask(&r, &answer), FERRY_EUNSUPPORTED);
    r.op.in[0].shape[0] = r.op.out[0].shape[0] = 0;
    r.op.in[0].shape[1] = r.op.in[1].shape[1] = 10;
    CU_ASSERT_EQUAL(ask(&r, &answer), 0);
    CU_ASSERT_EQUAL(answer.packed_bytes, 0);
    rig_end(&r);
}

static void the_program_has_the_functions_that_its_compiler_lacks(void)
{
    bool has = strstr(ocl_layer.built_with, "-DDOT -DOWN_DOT") != NULL;

    CU_ASSERT_EQUAL(has, ocl_layer.dots);
}

static const ferry_test_case others[] = {
    FERRY_TEST(the_answer_states_which_arithmetic_is_faster),
    FERRY_TEST(other_operations_are_refused),
    FERRY_TEST(the_program_has_the_functions_that_its_compiler_lacks),
};

static int run(int argc, char **argv, const char *name, const char *const *sets)
{
    int result = rig_main_with(argc, argv, name, integer_cases, integer_product_count, sets);

    return ferry_test_worse(
        result, rig_main_with(argc, argv, name, others, FERRY_TEST_COUNT(others), sets));
}

int main(int argc, char **argv)
{
    static const char *const few[] = { "few", NULL }, *const many[] = { "many", NULL };
    bool quick = getenv("FERRY_TEST_QUICK") != NULL; /* PoCL then compiles two programs, not four */
    int result;

    rig_plugin = "opencl";
    rig_option = "items";
    result = run(argc, argv, "test-opencl-integers", quick ? few : both);
    ocl_layer.dots = true;
    return ferry_test_worse(
        result, run(argc, argv, "test-opencl-integers, dots", quick ? many : both));
}
