/* SPDX-License-Identifier: BSD-2-Clause */
#include "arith.h"
#include "op-rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * INNER_PRODUCT of F32 with weights of F16 or BF16, by the CPU plugin with each instruction set:
 * the same bits as with the same weights in F32.
 */

static const char *const sets[] = { "bf16", "vnni", "avx512", "avx2", "neon", "portable", NULL };

static void make(struct rig *r, uint32_t dtype, int64_t m, int64_t n, const int64_t *row)
{
    const int64_t x[4] = { m, row[0], row[1], row[2] }, w[2] = { n, row[0] * row[1] * row[2] };

    rig_begin(r, FERRY_OP_INNER_PRODUCT);
    rig_in(r, FERRY_F32, rig_random(2) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, x);
    rig_in(r, dtype, rig_random(2) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS), 2, w);
    if (rig_random(2))
        rig_in(r, FERRY_F32, RIG_PLAIN, 1, &n);
    rig_out(r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, n });
    if (rig_random(3) == 0)
        rig_step(r, FERRY_STEP_ADD, 0, 0, 0);
    if (rig_random(2))
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, rig_random(3) ? 0 : 0.25, 0);
    r->op.constants = rig_random(6) ? 2 : 0;
    for (int64_t i = 0; i < rig_count(&r->op.in[1]); i++) {
        uint32_t half;

        arith_put((ferry_dtype)dtype, &half, 0, r->in[1][i] * (rig_random(4) ? 1 : 0x1p-20));
        r->in[1][i] = (double)arith_get((ferry_dtype)dtype, &half, 0);
    }
}

/* Compares it with the same weights in F32, and frees it. */
static void check(struct rig *r)
{
    size_t bytes = sizeof(double) * (size_t)rig_count(&r->op.out[0]);
    double *got[1] = { NULL }, *want[1] = { NULL };
    struct rig wide = *r;

    wide.op.in[1].dtype = FERRY_F32;
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, got), 0);
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&wide, want), 0);
    CU_ASSERT_EQUAL(memcmp(got[0], want[0], bytes), 0);
    free(got[0]);
    free(want[0]);
    rig_end(r);
}

static void results_have_the_bits_of_weights_in_f32(void)
{
    int n = ferry_test_is_slow() ? 30 : 120;

    for (int i = 0; i < n; i++) {
        int64_t row[3] = { 1 + rig_random(i % 5 == 0 ? 600 : 40), 1 + rig_random(4),
                           1 + rig_random(4) };
        struct rig r;

        make(&r, i % 2 ? FERRY_F16 : FERRY_BF16, 1 + rig_random(i % 7 == 0 ? 90 : 20),
             1 + rig_random(90), row);
        check(&r);
    }
}

/* With FERRY_MATH_BF16 both are rounded equally; the plugin may refuse products of many rows. */
static void results_have_these_bits_with_bf16_too(void)
{
    int n = 0;

    for (int i = 0; i < 40; i++) {
        int64_t row[3] = { 1 + rig_random(200), 1 + rig_random(3), 1 };
        ferry_op_answer answer = { .struct_size = sizeof(answer) };
        struct rig r;

        make(&r, i % 2 ? FERRY_F16 : FERRY_BF16, 1 + rig_random(60), 1 + rig_random(90), row);
        r.op.math = FERRY_MATH_BF16;
        if (rig_table->query(rig_device, &r.op, &answer)) {
            rig_end(&r);
            continue;
        }
        n++;
        check(&r);
    }
    CU_ASSERT(n > 10);
}

/* Zeros, denormal numbers, the largest ones, infinities and NaN. */
static void each_half_has_its_value(void)
{
    const int64_t k = 65536;

    for (uint32_t dtype = FERRY_F16; dtype <= FERRY_BF16; dtype++) {
        struct rig r;
        double *got[1] = { NULL };

        make(&r, dtype, 1, k, (int64_t[]){ 1, 1, 1 });
        r.op.n_in = 2;
        r.op.n_epilogue = 0;
        r.in[0][0] = 1;
        for (int64_t i = 0; i < k; i++) {
            uint16_t half = (uint16_t)i;

            r.in[1][i] = (double)arith_get((ferry_dtype)dtype, &half, 0);
        }
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
        for (int64_t i = 0; i < k; i++)
            CU_ASSERT(got[0][i] == r.in[1][i] || (isnan(got[0][i]) && isnan(r.in[1][i])));
        free(got[0]);
        r.op.n_in = FERRY_OP_INPUTS;
        rig_end(&r);
    }
}

/* Of few rows, where the plugin converts them in registers. */
static void packed_weights_have_two_bytes(void)
{
    for (uint32_t dtype = FERRY_F16; dtype <= FERRY_BF16; dtype++) {
        ferry_op_answer half = { .struct_size = sizeof(half) }, wide = half;
        struct rig r;

        make(&r, dtype, 1, 64, (int64_t[]){ 64, 1, 1 });
        r.op.constants = 2;
        CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &half), 0);
        r.op.in[1].dtype = FERRY_F32;
        CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &wide), 0);
        CU_ASSERT_NOT_EQUAL(half.packed_key, wide.packed_key);
        CU_ASSERT_EQUAL(half.math, 0);
        if (strcmp(rig_set(), "portable") && strcmp(rig_set(), "neon"))
            CU_ASSERT_EQUAL(half.packed_bytes, 64 * 64 * 2);
        rig_end(&r);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(results_have_the_bits_of_weights_in_f32),
    FERRY_TEST(results_have_these_bits_with_bf16_too),
    FERRY_TEST(each_half_has_its_value),
    FERRY_TEST(packed_weights_have_two_bytes),
};

int main(int argc, char **argv)
{
    return rig_main_with(argc, argv, "cpu-halves", cases, sizeof(cases) / sizeof(cases[0]), sets);
}
