/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BLAS on device references, against plain loops in double, for every dtype with arithmetic. */

#define N      67 /* not a multiple of any vector's length */
#define OFFSET 5  /* elements before the operands, so that references have offsets */

static ferry_queue *queue;

static ferry_device *start(void)
{
    ferry_device *dev = fx_device();

    queue = ferry_device_queue(dev);
    return dev;
}

/* An array on the device after OFFSET elements that must not change. */
struct array {
    ferry_dtype dtype;
    int64_t n;
    ferry_memory *memory;
    double values[512]; /* the expected values, already rounded to its dtype */
};

static double rounded(ferry_dtype dtype, double value)
{
    unsigned char element[8];

    fx_set(dtype, element, 0, value);
    return fx_get(dtype, element, 0);
}

static void make(struct array *a, ferry_dtype dtype, int64_t n, double scale)
{
    size_t bytes = (size_t)(n + OFFSET) * ferry_dtype_size(dtype);
    void *p;

    CU_ASSERT_FATAL(n <= 512);
    a->dtype = dtype;
    a->n = n;
    a->memory = fx_memory(bytes);
    p = ferry_memory_overwrite_host_data(a->memory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < OFFSET; i++)
        fx_set(dtype, p, i, 77);
    for (int64_t i = 0; i < n; i++) {
        a->values[i] = rounded(dtype, scale * (rand() % 17 - 8) / 4);
        fx_set(dtype, p, i + OFFSET, a->values[i]);
    }
}

static ferry_ref shifted(ferry_ref ref, ferry_dtype dtype)
{
    ref.offset += OFFSET * ferry_dtype_size(dtype);
    return ref;
}

static ferry_ref to_write(struct array *a)
{
    return shifted(ferry_memory_mutable_device_data(a->memory), a->dtype);
}

static ferry_cref to_read(struct array *a)
{
    ferry_cref ref = ferry_memory_device_data(a->memory);

    ref.offset += OFFSET * ferry_dtype_size(a->dtype);
    return ref;
}

/* Compares with the expected values, whose largest term was `size`, and frees the array. */
static void check_and_free(struct array *a, double size)
{
    const void *p = ferry_memory_host_data(a->memory);
    double tolerance = 4 * fx_epsilon(a->dtype) * size;
    int wrong = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < OFFSET; i++)
        wrong += fx_get(a->dtype, p, i) != 77;
    for (int64_t i = 0; i < a->n; i++)
        wrong += !(fabs(fx_get(a->dtype, p, i + OFFSET) - a->values[i]) <= tolerance);
    CU_ASSERT_EQUAL(wrong, 0);
    ferry_memory_release(a->memory);
}

/* ---- vectors -------------------------------------------------------------------------------- */

static void axpy_adds_a_multiple(void)
{
    static const double alphas[] = { 1, -1, 0, 2.5 };

    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (size_t k = 0; k < FERRY_TEST_COUNT(alphas); k++)
            for (int64_t n = 0; n <= N; n += n < 9 ? 1 : 29) {
                struct array x, y;

                make(&x, fx_floats[t], N, 1);
                make(&y, fx_floats[t], N, 1);
                for (int64_t i = 0; i < n; i++)
                    y.values[i] += alphas[k] * x.values[i];
                FX_OK(
                    ferry_math_axpy(queue, fx_floats[t], n, alphas[k], to_read(&x), to_write(&y)));
                check_and_free(&x, 0);
                check_and_free(&y, 8);
            }
    fx_end();
}

static void scal_multiplies(void)
{
    static const double alphas[] = { 1, -1, 0, 2.5 };

    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (size_t k = 0; k < FERRY_TEST_COUNT(alphas); k++) {
            struct array x;

            make(&x, fx_floats[t], N, 1);
            for (int64_t i = 0; i < N - 1; i++)
                x.values[i] *= alphas[k];
            FX_OK(ferry_math_scal(queue, fx_floats[t], N - 1, alphas[k], to_write(&x)));
            check_and_free(&x, 6);
        }
    fx_end();
}

static void scal_by_zero_keeps_nan(void)
{
    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++) {
        ferry_dtype dtype = fx_floats[t];
        ferry_memory *m = fx_memory(3 * 8);
        void *p = ferry_memory_overwrite_host_data(m);

        memset(p, 0, 3 * 8);
        fx_set(dtype, p, 0, NAN);
        fx_set(dtype, p, 1, INFINITY);
        fx_set(dtype, p, 2, 5);
        FX_OK(ferry_math_scal(queue, dtype, 3, 0, ferry_memory_mutable_device_data(m)));
        p = ferry_memory_mutable_host_data(m);
        CU_ASSERT(isnan(fx_get(dtype, p, 0)));
        CU_ASSERT(isnan(fx_get(dtype, p, 1)));
        CU_ASSERT_EQUAL(fx_get(dtype, p, 2), 0);
        ferry_memory_release(m);
    }
    fx_end();
}

static void copy_and_fill_accept_every_dtype(void)
{
    start();
    for (int t = 0; t < FERRY_DTYPE_COUNT; t++) {
        struct array x, y;

        make(&x, (ferry_dtype)t, N, t == FERRY_U8 || t == FERRY_U32 ? 0 : 4);
        make(&y, (ferry_dtype)t, N, t == FERRY_U8 || t == FERRY_U32 ? 0 : 4);
        memcpy(y.values, x.values, (N - 2) * sizeof(double));
        FX_OK(ferry_math_copy(queue, (ferry_dtype)t, N - 2, to_read(&x), to_write(&y)));
        for (int64_t i = 0; i < 9; i++)
            x.values[i] = 3;
        FX_OK(ferry_math_fill(queue, (ferry_dtype)t, 9, 3, to_write(&x)));
        check_and_free(&x, 0);
        check_and_free(&y, 0);
    }
    fx_end();
}

static void fill_rounds_and_refuses_values_beyond_an_integer(void)
{
    struct array x;

    start();
    make(&x, FERRY_F32, 4, 1);
    for (int i = 0; i < 4; i++)
        x.values[i] = (double)0.1f;
    FX_OK(ferry_math_fill(queue, FERRY_F32, 4, 0.1, to_write(&x)));
    check_and_free(&x, 0);
    for (int t = FERRY_I8; t <= FERRY_U32; t++) {
        static const double given[] = { 1.5, 2.5, 2.75 }, wanted[] = { 2, 2, 3 };

        for (size_t i = 0; i < FERRY_TEST_COUNT(given); i++) {
            make(&x, (ferry_dtype)t, 4, 0);
            for (int k = 0; k < 4; k++)
                x.values[k] = wanted[i];
            FX_OK(ferry_math_fill(queue, (ferry_dtype)t, 4, given[i], to_write(&x)));
            check_and_free(&x, 0);
        }
    }
    make(&x, FERRY_I8, 4, 1);
    FX_FAILS(FERRY_EOVERFLOW, ferry_math_fill(queue, FERRY_I8, 4, 128, to_write(&x)));
    FX_FAILS(FERRY_EOVERFLOW, ferry_math_fill(queue, FERRY_I8, 4, NAN, to_write(&x)));
    check_and_free(&x, 0);
    fx_end();
}

static void convert_rounds_to_nearest_even(void)
{
    static const double values[] = { 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8, 1 + 0x3p-8, 65519, 65520,
                                     0x1p-24,     0x1p-25,     3e38,       -0.0,       1e-45, 0.1 };
    const int64_t n = FERRY_TEST_COUNT(values);

    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++) {
        ferry_dtype to = fx_floats[t];
        ferry_memory *x = fx_memory(sizeof(values)), *y = fx_memory(sizeof(values));
        unsigned char expected[sizeof(values)];
        size_t bytes = (size_t)n * ferry_dtype_size(to);

        memcpy(ferry_memory_overwrite_host_data(x), values, sizeof(values));
        for (int64_t i = 0; i < n; i++)
            fx_set(to, expected, i, values[i]);
        FX_OK(ferry_math_convert(queue, n, FERRY_F64, ferry_memory_device_data(x), to,
                                 ferry_memory_mutable_device_data(y)));
        CU_ASSERT_EQUAL(memcmp(ferry_memory_host_data(y), expected, bytes), 0);
        ferry_memory_release(x);
        ferry_memory_release(y);
    }
    fx_end();
}

/* ---- reductions ----------------------------------------------------------------------------- */

static void reductions_return_a_double(void)
{
    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (int64_t n = 0; n <= N; n += n < 9 ? 1 : 29) {
            struct array x, y;
            double dot = 0, asum = 0, sumsq = 0, got = -1;

            make(&x, fx_floats[t], N, 1);
            make(&y, fx_floats[t], N, 1);
            for (int64_t i = 0; i < n; i++) {
                dot += x.values[i] * y.values[i];
                asum += fabs(x.values[i]);
                sumsq += x.values[i] * x.values[i];
            }
            FX_OK(ferry_math_dot(queue, fx_floats[t], n, to_read(&x), to_read(&y), &got));
            CU_ASSERT_DOUBLE_EQUAL(got, dot, 1e-6 * 4 * N);
            FX_OK(ferry_math_asum(queue, fx_floats[t], n, to_read(&x), &got));
            CU_ASSERT_DOUBLE_EQUAL(got, asum, 1e-6 * asum);
            FX_OK(ferry_math_sumsq(queue, fx_floats[t], n, to_read(&x), &got));
            CU_ASSERT_DOUBLE_EQUAL(got, sumsq, 1e-6 * sumsq);
            FX_OK(ferry_math_dot(queue, fx_floats[t], n, to_read(&x), to_read(&x), &got));
            CU_ASSERT_DOUBLE_EQUAL(got, sumsq, 1e-6 * sumsq);
            check_and_free(&x, 0);
            check_and_free(&y, 0);
        }
    fx_end();
}

static void long_reductions_stay_accurate(void)
{
    int64_t n = ferry_test_is_slow() ? 1 << 18 : 1 << 24;
    ferry_memory *m;
    double got = 0, x = (double)0.1f;

    start();
    m = fx_memory((size_t)n * sizeof(float));
    FX_OK(ferry_math_fill(queue, FERRY_F32, n, x, ferry_memory_overwrite_device_data(m)));
    FX_OK(ferry_math_asum(queue, FERRY_F32, n, ferry_memory_device_data(m), &got));
    CU_ASSERT_DOUBLE_EQUAL(got, (double)n * x, 1e-6 * (double)n * x);
    FX_OK(ferry_math_sumsq(queue, FERRY_F32, n, ferry_memory_device_data(m), &got));
    CU_ASSERT_DOUBLE_EQUAL(got, (double)n * x * x, 1e-6 * (double)n * x * x);
    FX_OK(ferry_math_dot(queue, FERRY_F32, n, ferry_memory_device_data(m),
                         ferry_memory_device_data(m), &got));
    CU_ASSERT_DOUBLE_EQUAL(got, (double)n * x * x, 1e-6 * (double)n * x * x);
    ferry_memory_release(m);
    fx_end();
}

/* ---- matrices ------------------------------------------------------------------------------- */

static int64_t at(int64_t index, int64_t n, int64_t inc)
{
    return inc > 0 ? index * inc : (index - n + 1) * inc;
}

static void check_gemv(ferry_dtype dtype, int trans, int64_t incx, int64_t incy, double beta)
{
    enum { ROWS = 5, COLUMNS = 7, LDA = 9 };
    int64_t nx = trans == FERRY_TRANS ? ROWS : COLUMNS, ny = ROWS + COLUMNS - nx;
    struct array a, x, y;

    make(&a, dtype, ROWS * LDA, 1);
    make(&x, dtype, COLUMNS * 2, 1);
    make(&y, dtype, COLUMNS * 2, 1);
    for (int64_t i = 0; i < ny; i++) {
        double sum = 0;

        for (int64_t j = 0; j < nx; j++)
            sum += a.values[trans == FERRY_TRANS ? j * LDA + i : i * LDA + j] *
                   x.values[at(j, nx, incx)];
        y.values[at(i, ny, incy)] = 1.5 * sum + beta * y.values[at(i, ny, incy)];
    }
    FX_OK(ferry_math_gemv(queue, dtype, trans, ROWS, COLUMNS, 1.5, to_read(&a), LDA, to_read(&x),
                          incx, beta, to_write(&y), incy));
    check_and_free(&a, 0);
    check_and_free(&x, 0);
    check_and_free(&y, 60);
}

static void gemv_multiplies_in_either_orientation_with_any_stride(void)
{
    static const int64_t incs[] = { 1, 2, -1, -2 };

    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (size_t i = 0; i < FERRY_TEST_COUNT(incs); i++) {
            check_gemv(fx_floats[t], FERRY_NO_TRANS, incs[i], 1, 0.5);
            check_gemv(fx_floats[t], FERRY_TRANS, 1, incs[i], 0);
            check_gemv(fx_floats[t], FERRY_TRANS, incs[i], incs[i], 1);
        }
    fx_end();
}

static void check_gemm(ferry_dtype dtype, int trans_a, int trans_b, double beta)
{
    enum { ROWS = 5, COLUMNS = 7, INNER = 6, LDA = 8, LDB = 9, LDC = 10 };
    struct array a, b, c;

    make(&a, dtype, 6 * LDA, 1);
    make(&b, dtype, 7 * LDB, 1);
    make(&c, dtype, ROWS * LDC, 1);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;

            for (int k = 0; k < INNER; k++)
                sum += a.values[trans_a == FERRY_TRANS ? k * LDA + i : i * LDA + k] *
                       b.values[trans_b == FERRY_TRANS ? j * LDB + k : k * LDB + j];
            c.values[i * LDC + j] = 1.5 * sum + beta * c.values[i * LDC + j];
        }
    FX_OK(ferry_math_gemm(queue, dtype, trans_a, trans_b, ROWS, COLUMNS, INNER, 1.5, to_read(&a),
                          LDA, to_read(&b), LDB, beta, to_write(&c), LDC));
    check_and_free(&a, 0);
    check_and_free(&b, 0);
    check_and_free(&c, 60);
}

/* CLBlast's product of this dtype, which a CPU's driver compiles for 15 seconds. */
static bool is_compiled_for_long(ferry_dtype dtype)
{
    return getenv("FERRY_TEST_QUICK") && !strcmp(ferry_test_backend(), "opencl") &&
           (dtype == FERRY_F64 || dtype == FERRY_F16);
}

static void gemm_multiplies_in_every_orientation(void)
{
    static const int trans[] = { FERRY_NO_TRANS, FERRY_TRANS };

    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (int i = 0; i < 4 && !is_compiled_for_long(fx_floats[t]); i++) {
            check_gemm(fx_floats[t], trans[i / 2], trans[i % 2], 0);
            check_gemm(fx_floats[t], trans[i / 2], trans[i % 2], 0.5);
        }
    fx_end();
}

static void beta_zero_does_not_read_the_old_values(void)
{
    start();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++) {
        ferry_dtype dtype = fx_floats[t];
        ferry_memory *m = fx_memory(3 * 8);
        void *p = ferry_memory_overwrite_host_data(m);
        ferry_ref one, out;

        memset(p, 0, 3 * 8);
        fx_set(dtype, p, 0, 2);
        fx_set(dtype, p, 1, NAN);
        one = out = ferry_memory_mutable_device_data(m);
        out.offset += ferry_dtype_size(dtype);
        if (is_compiled_for_long(dtype))
            fx_set(dtype, ferry_memory_mutable_host_data(m), 1, 4);
        else
            FX_OK(ferry_math_gemm(queue, dtype, FERRY_NO_TRANS, FERRY_NO_TRANS, 1, 1, 1, 1,
                                  ferry_ref_const(one), 1, ferry_ref_const(one), 1, 0, out, 1));
        CU_ASSERT_EQUAL(fx_get(dtype, ferry_memory_host_data(m), 1), 4);
        fx_set(dtype, ferry_memory_mutable_host_data(m), 1, NAN);
        one = out = ferry_memory_mutable_device_data(m);
        out.offset += ferry_dtype_size(dtype);
        FX_OK(ferry_math_gemv(queue, dtype, FERRY_NO_TRANS, 1, 1, 1, ferry_ref_const(one), 1,
                              ferry_ref_const(one), 1, 0, out, 1));
        CU_ASSERT_EQUAL(fx_get(dtype, ferry_memory_host_data(m), 1), 4);
        ferry_memory_release(m);
    }
    fx_end();
}

/* ---- wrong arguments ------------------------------------------------------------------------ */

static void integers_have_no_arithmetic(void)
{
    start();
    for (int t = FERRY_I8; t <= FERRY_U32; t++) {
        ferry_memory *m = fx_memory(64);
        ferry_ref ref = ferry_memory_mutable_device_data(m);
        ferry_cref c = ferry_ref_const(ref);
        double out;

        FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_axpy(queue, (ferry_dtype)t, 2, 1, c, ref));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_scal(queue, (ferry_dtype)t, 2, 1, ref));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_dot(queue, (ferry_dtype)t, 2, c, c, &out));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_asum(queue, (ferry_dtype)t, 2, c, &out));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_sumsq(queue, (ferry_dtype)t, 2, c, &out));
        ferry_memory_release(m);
    }
    fx_end();
}

static void wrong_sizes_and_queues_are_refused(void)
{
    ferry_memory *m;
    ferry_ref ref;
    ferry_cref c;
    double out = 7;

    start();
    m = fx_memory(1024);
    ref = ferry_memory_mutable_device_data(m);
    c = ferry_ref_const(ref);
    FX_FAILS(FERRY_EINVAL, ferry_math_axpy(NULL, FERRY_F32, 1, 1, c, ref));
    FX_FAILS(FERRY_EINVAL, ferry_math_axpy(queue, FERRY_F32, -1, 1, c, ref));
    FX_FAILS(FERRY_EINVAL, ferry_math_axpy(queue, (ferry_dtype)FERRY_DTYPE_COUNT, 1, 1, c, ref));
    FX_FAILS(FERRY_EINVAL, ferry_math_scal(NULL, FERRY_F32, 1, 1, ref));
    FX_FAILS(FERRY_EINVAL, ferry_math_copy(queue, FERRY_F32, -1, c, ref));
    FX_FAILS(FERRY_EINVAL, ferry_math_asum(queue, FERRY_F32, -1, c, &out));
    FX_FAILS(FERRY_EINVAL, ferry_math_asum(queue, FERRY_F32, 1, c, NULL));
    FX_FAILS(FERRY_EINVAL,
             ferry_math_gemv(queue, FERRY_F32, FERRY_NO_TRANS, 2, 3, 1, c, 2, c, 1, 0, ref, 1));
    FX_FAILS(FERRY_EINVAL,
             ferry_math_gemv(queue, FERRY_F32, FERRY_NO_TRANS, 2, 3, 1, c, 3, c, 0, 0, ref, 1));
    FX_FAILS(FERRY_EINVAL, ferry_math_gemv(queue, FERRY_F32, 5, 2, 3, 1, c, 3, c, 1, 0, ref, 1));
    FX_FAILS(FERRY_EINVAL, ferry_math_gemm(queue, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 2, 3,
                                           4, 1, c, 3, c, 3, 0, ref, 3));
    FX_FAILS(FERRY_EINVAL, ferry_math_gemm(queue, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 2, 3,
                                           4, 1, c, 4, c, 3, 0, ref, 2));
    CU_ASSERT_EQUAL(out, 7);
    ferry_memory_release(m);
    fx_end();
}

static void matrices_beyond_int32_are_refused_before_anything_is_done(void)
{
    const int64_t big = (int64_t)INT32_MAX + 1;
    ferry_memory *m;
    ferry_ref ref;
    ferry_cref c;

    start();
    m = fx_memory(64);
    ref = ferry_memory_mutable_device_data(m);
    c = ferry_ref_const(ref);
    FX_FAILS(FERRY_EUNSUPPORTED,
             ferry_math_gemv(queue, FERRY_F32, FERRY_NO_TRANS, big, 1, 1, c, 1, c, 1, 0, ref, 1));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_math_gemm(queue, FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS,
                                                 1, 1, big, 1, c, big, c, 1, 0, ref, 1));
    ferry_memory_release(m);
    fx_end();
}

static void a_null_reference_returns_the_code_that_produced_it(void)
{
    double out;

    start();
    FX_FAILS(FERRY_EINVAL,
             ferry_math_scal(queue, FERRY_F32, 4, 2, ferry_memory_mutable_device_data(NULL)));
    FX_FAILS(FERRY_EINVAL,
             ferry_math_asum(queue, FERRY_F32, 4, ferry_memory_device_data(NULL), &out));
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(axpy_adds_a_multiple),
    FERRY_TEST(scal_multiplies),
    FERRY_TEST(scal_by_zero_keeps_nan),
    FERRY_TEST(copy_and_fill_accept_every_dtype),
    FERRY_TEST(fill_rounds_and_refuses_values_beyond_an_integer),
    FERRY_TEST(convert_rounds_to_nearest_even),
    FERRY_TEST(reductions_return_a_double),
    FERRY_TEST(long_reductions_stay_accurate),
    FERRY_TEST(gemv_multiplies_in_either_orientation_with_any_stride),
    FERRY_TEST(gemm_multiplies_in_every_orientation),
    FERRY_TEST(beta_zero_does_not_read_the_old_values),
    FERRY_TEST(integers_have_no_arithmetic),
    FERRY_TEST(wrong_sizes_and_queues_are_refused),
    FERRY_TEST(matrices_beyond_int32_are_refused_before_anything_is_done),
    FERRY_TEST(a_null_reference_returns_the_code_that_produced_it),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "math", cases, FERRY_TEST_COUNT(cases));
}
