/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer-cases.h"
#include "op-rig.h"

#include <string.h>

/* Integer arithmetic of the CPU plugin with each instruction set. */

static const char *const sets[] = { "vnni",    "avx512", "avxvnni",  "avx2", "i8mm",
                                    "dotprod", "neon",   "portable", "amx",  NULL };
/* The plugin whose AVX-VNNI products processors with AVX-512 VNNI execute. */
static const char *const evex_sets[] = { "avxvnni", NULL };
/* The plugin whose AMX products a model of the instructions computes. */
static const char *const amx_sets[] = { "amx", NULL };

/* Products of four bytes take less time than F32's, and those of two numbers of 16 bits do not. */
static void the_cost_depends_on_the_width_of_products(void)
{
    const char *set = rig_set();
    bool is_wide = strcmp(set, "avx512") == 0 || strcmp(set, "avx2") == 0;
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    struct rig r;

    rig_begin(&r, FERRY_OP_INNER_PRODUCT);
    r.op.n_in = 2;
    r.op.n_out = 1;
    r.op.in[0] = (ferry_operand){
        .dtype = FERRY_U8, .rank = 2, .shape = { 8, 64 }, .stride = { 64, 1 }
    };
    r.op.in[1] = (ferry_operand){
        .dtype = FERRY_I8, .rank = 2, .shape = { 32, 64 }, .stride = { 64, 1 }
    };
    r.op.out[0] = (ferry_operand){
        .dtype = FERRY_U8, .rank = 2, .shape = { 8, 32 }, .stride = { 32, 1 }
    };
    r.op.constants = 2;
    if (rig_table->query(rig_device, &r.op, &answer) == 0)
        CU_ASSERT_EQUAL(answer.cost, is_wide ? FERRY_OP_COST_F32_FASTER : FERRY_OP_COST_DEVICE);
    rig_end(&r);
}

static const ferry_test_case costs[] = {
    FERRY_TEST(the_cost_depends_on_the_width_of_products),
};

/* Runs the cases with each of the sets. */
static int run(int argc, char **argv, const char *name, const char *const *with)
{
    int result = rig_main_with(argc, argv, name, integer_cases, integer_case_count, with);

    return ferry_test_worse(
        result, rig_main_with(argc, argv, name, costs, FERRY_TEST_COUNT(costs), with));
}

int main(int argc, char **argv)
{
    int result = run(argc, argv, "test-cpu-integers", sets);

    rig_plugin = "tests/plugins/evex/ferry_cpu.so";
    result = ferry_test_worse(result, run(argc, argv, "test-cpu-integers, EVEX", evex_sets));
    rig_plugin = "tests/plugins/amx/ferry_cpu.so";
    return ferry_test_worse(result, run(argc, argv, "test-cpu-integers, AMX's model", amx_sets));
}
