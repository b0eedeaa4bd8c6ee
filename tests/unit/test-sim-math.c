/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * The simulated device's arithmetic. Values are chosen so that every correct result is exact, in
 * every type.
 */

enum { N = 24 };

static void *dev;

static bool setup(const char *ops)
{
    if (!sim_load())
        return false;
    driver_set("ops", ops);
    dev = sim_open(0);
    return true;
}

static const uint32_t floats[] = { FERRY_F32, FERRY_F64, FERRY_F16, FERRY_BF16 };

/* ---- vectors on the device, by way of conversion from F64 ---- */

static void *upload(uint32_t dtype, const double *values, int64_t n)
{
    void *from = sim_block(dev, (uint64_t)n * 8, 0);
    void *to = sim_block(dev, (uint64_t)n * 8, 0);

    sim_put(dev, from, values, (uint64_t)n * 8);
    CU_ASSERT_EQUAL(
        sim->convert(dev, NULL, n, FERRY_F64, driver_cref(from, 0), dtype, driver_ref(to, 0)), 0);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, from);
    return to;
}

static void download(uint32_t dtype, const void *from, double *values, int64_t n)
{
    void *wide = sim_block(dev, (uint64_t)n * 8, 0);

    CU_ASSERT_EQUAL(
        sim->convert(dev, NULL, n, dtype, driver_cref(from, 0), FERRY_F64, driver_ref(wide, 0)), 0);
    sim_get(dev, wide, values, (uint64_t)n * 8);
    sim_free_block(dev, wide);
}

/* Small integers, some of them negative. */
static void count_up(double *values, int n, int start)
{
    for (int i = 0; i < n; i++)
        values[i] = (double)((start + i * 5) % 7 - 3);
}

static bool expect(uint32_t dtype, const void *block, const double *wanted, int64_t n)
{
    double got[64];

    download(dtype, block, got, n);
    for (int64_t i = 0; i < n; i++)
        if (got[i] != wanted[i]) {
            printf("     type %u, element %d: %g, not %g\n", dtype, (int)i, got[i], wanted[i]);
            return false;
        }
    return true;
}

/* ---- dtypes ------------ */

static void sim_reports_its_supported_operations_and_refuses_others(void)
{
    void *block;

    if (!setup("all"))
        return;
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    for (uint32_t dtype = 0; dtype < FERRY_DTYPE_COUNT; dtype++) {
        bool number = dtype <= FERRY_BF16;
        int err = sim->scal(dev, NULL, dtype, 4, 2, driver_ref(block, 0));

        CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_SCAL, dtype), number);
        CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_GEMM, dtype), number);
        CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_COPY, dtype), 1);
        CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_CONVERT, dtype), 1);
        CU_ASSERT_EQUAL(err, number ? 0 : FERRY_EUNSUPPORTED);
    }
    CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_COUNT, FERRY_F32), 0);
    CU_ASSERT_EQUAL(sim->supports(dev, FERRY_OP_AXPY, 99), 0);
    CU_ASSERT_EQUAL(driver_count(sim, dev).ops, 4);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static void a_minimal_device_supports_only_axpy_of_f32(void)
{
    ferry_cref x;
    ferry_ref y;
    void *block;

    if (!setup("minimal"))
        return;
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    x = driver_cref(block, 0);
    y = driver_ref(block, 32);
    for (uint32_t op = 0; op < FERRY_OP_COUNT; op++)
        for (uint32_t dtype = 0; dtype < FERRY_DTYPE_COUNT; dtype++)
            CU_ASSERT_EQUAL(sim->supports(dev, op, dtype),
                            op == FERRY_OP_AXPY && dtype == FERRY_F32);
    CU_ASSERT_EQUAL(sim->axpy(dev, NULL, FERRY_F32, 4, 1, x, y), 0);
    CU_ASSERT_EQUAL(sim->axpy(dev, NULL, FERRY_F64, 4, 1, x, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->scal(dev, NULL, FERRY_F32, 4, 1, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->copy(dev, NULL, FERRY_F32, 4, x, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->fill(dev, NULL, FERRY_F32, 4, 1, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->convert(dev, NULL, 4, FERRY_F32, x, FERRY_F16, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->dot(dev, NULL, FERRY_F32, 4, x, x, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->asum(dev, NULL, FERRY_F32, 4, x, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->sumsq(dev, NULL, FERRY_F32, 4, x, y), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->gemv(dev, NULL, FERRY_F32, FERRY_NO_TRANS, 1, 1, 1, x, 1, x, 1, 0, y, 1),
                    FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(sim->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 1, 1, x,
                              1, x, 1, 0, y, 1),
                    FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(driver_count(sim, dev).ops, 1);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* ---- vectors ---- */

static void vectors_are_computed_in_every_floating_type(void)
{
    double x[N], y[N], wanted[N];

    if (!setup("all"))
        return;
    count_up(x, N, 1);
    count_up(y, N, 4);
    for (size_t t = 0; t < 4; t++) {
        uint32_t dtype = floats[t];
        void *a = upload(dtype, x, N), *b = upload(dtype, y, N);

        CU_ASSERT_EQUAL(sim->axpy(dev, NULL, dtype, N, -2, driver_cref(a, 0), driver_ref(b, 0)), 0);
        for (int i = 0; i < N; i++)
            wanted[i] = y[i] - 2 * x[i];
        CU_ASSERT(expect(dtype, b, wanted, N));
        CU_ASSERT_EQUAL(sim->scal(dev, NULL, dtype, N, 0.5, driver_ref(b, 0)), 0);
        for (int i = 0; i < N; i++)
            wanted[i] *= 0.5;
        CU_ASSERT(expect(dtype, b, wanted, N));
        CU_ASSERT_EQUAL(sim->axpy(dev, NULL, dtype, N, 1, driver_cref(a, 0), driver_ref(a, 0)), 0);
        CU_ASSERT_EQUAL(sim->copy(dev, NULL, dtype, N, driver_cref(a, 0), driver_ref(b, 0)), 0);
        for (int i = 0; i < N; i++)
            wanted[i] = 2 * x[i];
        CU_ASSERT(expect(dtype, b, wanted, N));
        CU_ASSERT_EQUAL(sim->fill(dev, NULL, dtype, N, -1.5, driver_ref(b, 0)), 0);
        for (int i = 0; i < N; i++)
            wanted[i] = -1.5;
        CU_ASSERT(expect(dtype, b, wanted, N));
        sim_free_block(dev, a);
        sim_free_block(dev, b);
    }
    sim_close(dev);
}

static double reduced(uint32_t dtype, uint32_t op, void *x, void *y)
{
    void *cell = sim_block(dev, 16, 0);
    double wide = 0;
    float narrow = 0;
    int err;

    if (op == FERRY_OP_DOT)
        err = sim->dot(dev, NULL, dtype, N, driver_cref(x, 0), driver_cref(y, 0),
                       driver_ref(cell, 8));
    else
        err = (op == FERRY_OP_ASUM ? sim->asum : sim->sumsq)(dev, NULL, dtype, N, driver_cref(x, 0),
                                                             driver_ref(cell, 8));
    CU_ASSERT_EQUAL(err, 0);
    CU_ASSERT_EQUAL(sim->memcpy(dev, NULL, FERRY_MEMCPY_D2H,
                                driver_ref(dtype == FERRY_F64 ? (void *)&wide : &narrow, 0),
                                driver_cref(cell, 8), dtype == FERRY_F64 ? 8 : 4),
                    0);
    CU_ASSERT_EQUAL(sim->synchronize(dev), 0);
    sim_free_block(dev, cell);
    return dtype == FERRY_F64 ? wide : (double)narrow;
}

static void reductions_write_one_element_of_the_accumulating_type(void)
{
    double x[N], y[N], dot = 0, asum = 0, sumsq = 0;

    if (!setup("all"))
        return;
    count_up(x, N, 2);
    count_up(y, N, 3);
    for (int i = 0; i < N; i++) {
        dot += x[i] * y[i];
        asum += fabs(x[i]);
        sumsq += x[i] * x[i];
    }
    for (size_t t = 0; t < 4; t++) {
        void *a = upload(floats[t], x, N), *b = upload(floats[t], y, N);

        CU_ASSERT_EQUAL(reduced(floats[t], FERRY_OP_DOT, a, b), dot);
        CU_ASSERT_EQUAL(reduced(floats[t], FERRY_OP_DOT, a, a), sumsq);
        CU_ASSERT_EQUAL(reduced(floats[t], FERRY_OP_ASUM, a, b), asum);
        CU_ASSERT_EQUAL(reduced(floats[t], FERRY_OP_SUMSQ, a, b), sumsq);
        sim_free_block(dev, a);
        sim_free_block(dev, b);
    }
    sim_close(dev);
}

/* ---- matrices ---- */

/* gemm by its definition, on row-major arrays with unused elements after each row. */
static void reference(bool ta, bool tb, int m, int n, int k, const double *a, int lda,
                      const double *b, int ldb, double *c, int ldc)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;

            for (int p = 0; p < k; p++)
                sum +=
                    (ta ? a[p * lda + i] : a[i * lda + p]) * (tb ? b[j * ldb + p] : b[p * ldb + j]);
            c[i * ldc + j] = 2 * sum - c[i * ldc + j];
        }
}

static void one_gemm(uint32_t dtype, bool ta, bool tb)
{
    enum { M = 3, COLUMNS = 4, K = 2, LD = 5 };
    double a[N], b[N], c[N];
    void *da, *db, *dc;

    count_up(a, N, 0);
    count_up(b, N, 2);
    count_up(c, N, 5);
    da = upload(dtype, a, N);
    db = upload(dtype, b, N);
    dc = upload(dtype, c, N);
    reference(ta, tb, M, COLUMNS, K, a, LD, b, LD, c, LD);
    CU_ASSERT_EQUAL(sim->gemm(dev, NULL, dtype, ta ? FERRY_TRANS : FERRY_NO_TRANS,
                              tb ? FERRY_TRANS : FERRY_NO_TRANS, M, COLUMNS, K, 2,
                              driver_cref(da, 0), LD, driver_cref(db, 0), LD, -1, driver_ref(dc, 0),
                              LD),
                    0);
    CU_ASSERT(expect(dtype, dc, c, N));
    sim_free_block(dev, da);
    sim_free_block(dev, db);
    sim_free_block(dev, dc);
}

static void gemm_is_right_for_every_transposition_and_keeps_padding(void)
{
    if (!setup("all"))
        return;
    for (size_t t = 0; t < 4; t++)
        for (int trans = 0; trans < 4; trans++)
            one_gemm(floats[t], trans & 1, trans & 2);
    sim_close(dev);
}

static void one_gemv(uint32_t dtype, bool trans, int incx, int incy)
{
    enum { M = 3, COLUMNS = 2, LD = 3 };
    int rows = trans ? COLUMNS : M, columns = trans ? M : COLUMNS;
    double a[N], x[N], y[N];
    void *da, *dx, *dy;

    count_up(a, N, 0);
    count_up(x, N, 2);
    count_up(y, N, 5);
    da = upload(dtype, a, N);
    dx = upload(dtype, x, N);
    dy = upload(dtype, y, N);
    for (int i = 0; i < rows; i++) {
        double *out = &y[incy > 0 ? i * incy : (i - rows + 1) * incy];
        double sum = 0;

        for (int j = 0; j < columns; j++)
            sum += (trans ? a[j * LD + i] : a[i * LD + j]) *
                   x[incx > 0 ? j * incx : (j - columns + 1) * incx];
        *out = 2 * sum - *out;
    }
    CU_ASSERT_EQUAL(sim->gemv(dev, NULL, dtype, trans ? FERRY_TRANS : FERRY_NO_TRANS, M, COLUMNS, 2,
                              driver_cref(da, 0), LD, driver_cref(dx, 0), incx, -1,
                              driver_ref(dy, 0), incy),
                    0);
    CU_ASSERT(expect(dtype, dy, y, N));
    sim_free_block(dev, da);
    sim_free_block(dev, dx);
    sim_free_block(dev, dy);
}

static void gemv_is_right_for_every_stride(void)
{
    static const int strides[] = { 1, 2, -1, -3 };

    if (!setup("all"))
        return;
    for (size_t t = 0; t < 4; t++)
        for (int i = 0; i < 32; i++)
            one_gemv(floats[t], i & 1, strides[i / 2 % 4], strides[i / 8]);
    sim_close(dev);
}

static void with_beta_0_the_old_values_are_not_read(void)
{
    const double one = 1;
    void *a, *out;

    if (!setup("all"))
        return;
    a = upload(FERRY_F32, &one, 1);
    out = sim_block(dev, 4, 0); /* undefined contents: NaN */
    CU_ASSERT_EQUAL(sim->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 1, 3,
                              driver_cref(a, 0), 1, driver_cref(a, 0), 1, 0, driver_ref(out, 0), 1),
                    0);
    CU_ASSERT(expect(FERRY_F32, out, (const double[]){ 3 }, 1));
    CU_ASSERT_EQUAL(sim->gemm(dev, NULL, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 0, 3,
                              driver_cref(NULL, 0), 1, driver_cref(NULL, 0), 1, 2,
                              driver_ref(out, 0), 1),
                    0); /* k 0: C = beta·C, and A and B are not read */
    CU_ASSERT(expect(FERRY_F32, out, (const double[]){ 6 }, 1));
    sim_free_block(dev, a);
    sim_free_block(dev, out);
    sim_close(dev);
}

/* ---- conversion ---- */

static const struct {
    uint32_t to;
    double from, wanted;
} conversions[] = {
    { FERRY_I8, 127.6, 127 },
    { FERRY_I8, -200, -128 },
    { FERRY_I8, 2.5, 2 },
    { FERRY_I8, 3.5, 4 },
    { FERRY_I8, -0.5, 0 },
    { FERRY_I8, NAN, 0 },
    { FERRY_U8, -1, 0 },
    { FERRY_U8, 255.4, 255 },
    { FERRY_U8, INFINITY, 255 },
    { FERRY_I32, 3e9, 2147483647 },
    { FERRY_I32, -INFINITY, -2147483648.0 },
    { FERRY_U32, 4294967295.4, 4294967295.0 },
    { FERRY_U32, 5e9, 4294967295.0 },
    { FERRY_U32, -1, 0 },
    { FERRY_I64, 1e30, 0x1p63 },
    { FERRY_I64, -1e30, -0x1p63 },
    { FERRY_I64, NAN, 0 },
    { FERRY_F16, 65504, 65504 },
    { FERRY_F16, 65519.99, 65504 },
    { FERRY_F16, 65520, INFINITY },
    { FERRY_F16, 1e30, INFINITY },
    { FERRY_F16, -1e30, -INFINITY },
    { FERRY_F16, 1 + 0x1p-11, 1 },                     /* a tie, to even */
    { FERRY_F16, 1 + 3 * 0x1p-11, 1 + 0x1p-9 },        /* the tie rounds up */
    { FERRY_F16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10 }, /* no tie */
    { FERRY_F16, 0x1p-24, 0x1p-24 },                   /* the smallest subnormal number */
    { FERRY_F16, 0x1p-25, 0 },                         /* a tie with 0 */
    { FERRY_F16, 0x1.8p-25, 0x1p-24 },                 /**/
    { FERRY_F16, 0x1.ffcp-15 + 0x1p-25, 0x1p-14 },     /* rounds up to a normal number */
    { FERRY_BF16, 1 + 0x1p-8, 1 },
    { FERRY_BF16, 1 + 3 * 0x1p-8, 1 + 0x1p-6 },
    { FERRY_BF16, 0x1.ffp127, INFINITY },
    { FERRY_BF16, 0x1.fep127, 0x1.fep127 },
    { FERRY_BF16, 0x1p-133, 0x1p-133 },
    { FERRY_F32, 1 + 0x1p-24, 1 },
};

static void conversion_rounds_to_even_and_saturates(void)
{
    if (!setup("all"))
        return;
    for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        void *block = upload(conversions[i].to, &conversions[i].from, 1);

        CU_ASSERT(expect(conversions[i].to, block, &conversions[i].wanted, 1));
        sim_free_block(dev, block);
    }
    sim_close(dev);
}

static void every_f16_value_round_trips(void)
{
    enum { ALL = 65536 };
    static uint16_t in[ALL], out[ALL];
    static const uint32_t halves[] = { FERRY_F16, FERRY_BF16 };
    void *half, *wide;

    if (!setup("all"))
        return;
    half = sim_block(dev, sizeof(in), 0);
    wide = sim_block(dev, ALL * 8, 0);
    for (unsigned i = 0; i < ALL; i++)
        in[i] = (uint16_t)i;
    for (int t = 0; t < 2; t++) {
        unsigned infinity = t ? 0x7f80 : 0x7c00;

        sim_put(dev, half, in, sizeof(in));
        CU_ASSERT_EQUAL(sim->convert(dev, NULL, ALL, halves[t], driver_cref(half, 0), FERRY_F64,
                                     driver_ref(wide, 0)),
                        0);
        CU_ASSERT_EQUAL(sim->convert(dev, NULL, ALL, FERRY_F64, driver_cref(wide, 0), halves[t],
                                     driver_ref(half, 0)),
                        0);
        sim_get(dev, half, out, sizeof(out));
        for (unsigned i = 0; i < ALL; i++)
            if ((i & 0x7fff) > infinity)
                CU_ASSERT((out[i] & 0x7fffu) > infinity)
            else
                CU_ASSERT_EQUAL(out[i], in[i])
    }
    sim_free_block(dev, half);
    sim_free_block(dev, wide);
    sim_close(dev);
}

static void a_large_integer_is_rounded_once(void)
{
    /* One more than a tie of F32: rounding to a double first would turn it into the tie. */
    const int64_t value = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1;
    const double wanted = 0x1p62 + 0x1p39;
    int64_t back = 0;
    void *from, *to;

    if (!setup("all"))
        return;
    from = sim_block(dev, 8, 0);
    to = sim_block(dev, 8, 0);
    sim_put(dev, from, &value, 8);
    CU_ASSERT_EQUAL(
        sim->convert(dev, NULL, 1, FERRY_I64, driver_cref(from, 0), FERRY_F32, driver_ref(to, 0)),
        0);
    CU_ASSERT(expect(FERRY_F32, to, &wanted, 1));
    CU_ASSERT_EQUAL(
        sim->convert(dev, NULL, 1, FERRY_I64, driver_cref(from, 0), FERRY_I64, driver_ref(to, 0)),
        0);
    sim_get(dev, to, &back, 8);
    CU_ASSERT_EQUAL(back, value);
    sim_free_block(dev, from);
    sim_free_block(dev, to);
    sim_close(dev);
}

/* ---- operands ---- */

static void operands_are_checked_like_references_of_copies(void)
{
    ferry_cref x;
    void *block;

    if (!setup("all"))
        return;
    block = sim_block(dev, 64, FERRY_ALLOC_ZERO);
    x = driver_cref(block, 0);
    CU_ASSERT(driver_failed(sim->axpy(dev, NULL, FERRY_F32, 17, 1, x, driver_ref(block, 0)),
                            FERRY_EINVAL, "68 bytes: the block has 64 bytes"));
    CU_ASSERT(driver_failed(sim->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 2)),
                            FERRY_EINVAL, "elements have 4 bytes"));
    CU_ASSERT(driver_failed(sim->axpy(dev, NULL, FERRY_F32, 4, 1, x, driver_ref(block, 8)),
                            FERRY_EINVAL, "overlap"));
    CU_ASSERT(driver_failed(sim->asum(dev, NULL, FERRY_F32, 4, x, driver_ref(block, 12)),
                            FERRY_EINVAL, "overlap"));
    CU_ASSERT(driver_failed(sim->scal(dev, NULL, FERRY_F32, 0, 1, driver_ref(block, 0)),
                            FERRY_EINVAL, "has no elements"));
    CU_ASSERT(
        driver_failed(sim->scal(dev, NULL, FERRY_I8, INT64_C(1) << 31, 1, driver_ref(block, 0)),
                      FERRY_EUNSUPPORTED, "type 4"));
    CU_ASSERT(driver_failed(
        sim->gemv(dev, NULL, FERRY_F32, 1, 1, 1, 1, x, 1, x, 1, 0, driver_ref(block, 32), 1),
        FERRY_EINVAL, "gemv"));
    CU_ASSERT(driver_failed(sim->gemv(dev, NULL, FERRY_F32, FERRY_TRANS, 2, 2, 1, x, 1, x, 1, 0,
                                      driver_ref(block, 32), 1),
                            FERRY_EINVAL, "gemv"));
    CU_ASSERT(driver_failed(sim->gemm(dev, NULL, FERRY_F32, FERRY_TRANS, FERRY_NO_TRANS, 9, 1, 9, 1,
                                      x, 9, x, 1, 0, driver_ref(block, 0), 1),
                            FERRY_EINVAL, "324 bytes"));
    CU_ASSERT_EQUAL(driver_count(sim, dev).ops, 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(sim_reports_its_supported_operations_and_refuses_others),
    FERRY_TEST(a_minimal_device_supports_only_axpy_of_f32),
    FERRY_TEST(vectors_are_computed_in_every_floating_type),
    FERRY_TEST(reductions_write_one_element_of_the_accumulating_type),
    FERRY_TEST(gemm_is_right_for_every_transposition_and_keeps_padding),
    FERRY_TEST(gemv_is_right_for_every_stride),
    FERRY_TEST(with_beta_0_the_old_values_are_not_read),
    FERRY_TEST(conversion_rounds_to_even_and_saturates),
    FERRY_TEST(every_f16_value_round_trips),
    FERRY_TEST(a_large_integer_is_rounded_once),
    FERRY_TEST(operands_are_checked_like_references_of_copies),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-math", cases, FERRY_TEST_COUNT(cases));
}
