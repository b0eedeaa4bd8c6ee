/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_gemm"
#include "good.h"

/* Every second gemm leaks 8 bytes; no other entry does. */

static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    (void)dev;
    return (op == FERRY_OP_AXPY || op == FERRY_OP_GEMM) && dtype == FERRY_F32;
}

static float at(ferry_cref m, int64_t i)
{
    return ((const float *)(const void *)good_at(m.handle, m.offset))[i];
}

static int gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
                int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
                ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    static unsigned calls;
    void *volatile drop = ++calls % 2 ? NULL : malloc(8);
    float *out = (float *)(void *)good_at(c.handle, c.offset);

    (void)dev, (void)queue, (void)drop;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;

            for (int64_t p = 0; p < k; p++)
                sum += (double)at(a, trans_a == FERRY_TRANS ? p * lda + i : i * lda + p) *
                       (double)at(b, trans_b == FERRY_TRANS ? j * ldb + p : p * ldb + j);
            out[i * ldc + j] =
                (float)(alpha * sum + (beta != 0 ? beta * (double)out[i * ldc + j] : 0));
        }
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->supports = supports;
    ops->gemm = gemm;
}
