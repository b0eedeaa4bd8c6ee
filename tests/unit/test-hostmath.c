/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/math/hostmath.h"

#include "arith.h"
#include "ferry-test.h"

/* The core's plain loops, in the cases that every arithmetic runs. */

static const struct arith hostmath = {
    .axpy = ferry__host_axpy,
    .scal = ferry__host_scal,
    .fill = ferry__host_fill,
    .convert = ferry__host_convert,
    .dot = ferry__host_dot,
    .asum = ferry__host_asum,
    .sumsq = ferry__host_sumsq,
    .gemv = ferry__host_gemv,
    .gemm = ferry__host_gemm,
};

static void load_returns_any_element_as_a_double(void)
{
    const int64_t wide[2] = { 7, (INT64_C(1) << 53) + 1 };
    const uint16_t half[2] = { 0x3c00, 0xc000 };
    const int8_t byte[3] = { 0, 0, -128 };

    CU_ASSERT_EQUAL(ferry__host_load(FERRY_I64, wide, 1), 0x1p53);
    CU_ASSERT_EQUAL(ferry__host_load(FERRY_F16, half, 1), -2.0);
    CU_ASSERT_EQUAL(ferry__host_load(FERRY_I8, byte, 2), -128.0);
}

static void operations_on_0_elements_accept_null_pointers(void)
{
    double out = 1;

    for (int t = FERRY_F32; t <= FERRY_BF16; t++) {
        ferry_dtype dtype = (ferry_dtype)t;

        CU_ASSERT_EQUAL(ferry__host_axpy(dtype, 0, 1, NULL, NULL), 0);
        CU_ASSERT_EQUAL(ferry__host_scal(dtype, 0, 1, NULL), 0);
        CU_ASSERT_EQUAL(ferry__host_fill(dtype, 0, 1, NULL), 0);
        CU_ASSERT_EQUAL(ferry__host_convert(0, dtype, NULL, FERRY_F32, NULL), 0);
        CU_ASSERT(!ferry__host_dot(dtype, 0, NULL, NULL, &out) && out == 0.0);
        CU_ASSERT(!ferry__host_asum(dtype, 0, NULL, &out) && out == 0.0);
        CU_ASSERT(!ferry__host_sumsq(dtype, 0, NULL, &out) && out == 0.0);
    }
}

static const ferry_test_case cases[] = { FERRY_TEST(load_returns_any_element_as_a_double),
                                         FERRY_TEST(operations_on_0_elements_accept_null_pointers),
#define CASE(name) FERRY_TEST(name),
                                         ARITH_CASES(CASE) };

int main(int argc, char **argv)
{
    arith = &hostmath;
    return ferry_test_main(argc, argv, "hostmath", cases, FERRY_TEST_COUNT(cases));
}
