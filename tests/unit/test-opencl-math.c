/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include "arith.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The arithmetic of the plugin in the cases that the core and the CPU plugin must pass, with each
 * kind of kernels. Operands are host memory there; here they are copied to an offset within blocks,
 * and back.
 */

struct operand {
    const void *from; /* NULL: it is made on the device */
    void *to;         /* NULL: it is not copied back */
    void *block;
    uint64_t bytes, offset;
};

/* `elements` of a dtype, three elements past a multiple of 64 bytes. */
static struct operand send(ferry_dtype t, int64_t elements, const void *from, void *to)
{
    struct operand o = { from, to, NULL, (uint64_t)elements * arith_size(t),
                         64 + 3 * arith_size(t) };

    o.block = ocl_block(o.offset + o.bytes);
    if (from)
        ocl_put(o.block, o.offset, from, o.bytes);
    return o;
}

static void fetch(struct operand *o)
{
    if (o->to)
        ocl_get(o->block, o->offset, o->to, o->bytes);
    ocl_free_block(o->block);
}

static ferry_ref at(const struct operand *o)
{
    return driver_ref(o->block, o->offset);
}

static ferry_cref const_at(const struct operand *o)
{
    return driver_cref(o->block, o->offset);
}

static int64_t span(int64_t n, int64_t inc)
{
    return (n - 1) * (inc < 0 ? -inc : inc) + 1;
}

static int64_t matrix_span(int64_t rows, int64_t columns, int64_t ld)
{
    return (rows - 1) * ld + columns;
}

/* ---- the entries, on host pointers ---------------------------------------------------------- */

static int on_axpy(ferry_dtype t, int64_t n, double alpha, const void *x, void *y)
{
    struct operand oy, ox;
    int err;

    if (n == 0)
        return 0;
    oy = send(t, n, y, y);
    ox = x == y ? oy : send(t, n, x, NULL);
    err = ocl->axpy(dev, NULL, t, n, alpha, const_at(&ox), at(&oy));
    if (x != y)
        fetch(&ox);
    fetch(&oy);
    return err;
}

static int on_scal(ferry_dtype t, int64_t n, double alpha, void *x)
{
    struct operand o;
    int err;

    if (n == 0)
        return 0;
    o = send(t, n, x, x);
    err = ocl->scal(dev, NULL, t, n, alpha, at(&o));
    fetch(&o);
    return err;
}

/* Ferry rejects values that an integer dtype cannot represent, so the plugin need not. */
static bool holds(ferry_dtype t, double value)
{
    bool is_unsigned = t == FERRY_U8 || t == FERRY_U32;
    double whole = rint(value), top = ldexp(1, (int)(8 * arith_size(t)) - (is_unsigned ? 0 : 1));

    return arith_is_real(t) || (whole >= (is_unsigned ? 0 : -top) && whole < top);
}

static int on_fill(ferry_dtype t, int64_t n, double value, void *y)
{
    struct operand o;
    int err;

    if (!holds(t, value))
        return FERRY_EOVERFLOW;
    if (n == 0)
        return 0;
    o = send(t, n, y, y);
    err = ocl->fill(dev, NULL, t, n, value, at(&o));
    fetch(&o);
    return err;
}

static int on_convert(int64_t n, ferry_dtype xt, const void *x, ferry_dtype yt, void *y)
{
    struct operand ox, oy;
    int err;

    if (n == 0)
        return 0;
    ox = send(xt, n, x, NULL);
    oy = send(yt, n, NULL, y);
    err = ocl->convert(dev, NULL, n, xt, const_at(&ox), yt, at(&oy));
    fetch(&ox);
    fetch(&oy);
    return err;
}

static int reduce(uint32_t op, ferry_dtype t, int64_t n, const void *x, const void *y, double *out)
{
    ferry_dtype rt = t == FERRY_F64 ? FERRY_F64 : FERRY_F32;
    double wide = -1;
    float narrow = -1;
    struct operand ox, oy, r;
    int err;

    if (n == 0) {
        *out = 0;
        return 0;
    }
    ox = send(t, n, x, NULL);
    oy = send(t, op == FERRY_OP_DOT ? n : 1, y, NULL);
    r = send(rt, 1, NULL, t == FERRY_F64 ? (void *)&wide : &narrow);
    err = op == FERRY_OP_DOT    ? ocl->dot(dev, NULL, t, n, const_at(&ox), const_at(&oy), at(&r))
          : op == FERRY_OP_ASUM ? ocl->asum(dev, NULL, t, n, const_at(&ox), at(&r))
                                : ocl->sumsq(dev, NULL, t, n, const_at(&ox), at(&r));
    fetch(&ox);
    fetch(&oy);
    fetch(&r);
    if (!err)
        *out = t == FERRY_F64 ? wide : (double)narrow;
    return err;
}

static int on_dot(ferry_dtype t, int64_t n, const void *x, const void *y, double *out)
{
    return reduce(FERRY_OP_DOT, t, n, x, y, out);
}

static int on_asum(ferry_dtype t, int64_t n, const void *x, double *out)
{
    return reduce(FERRY_OP_ASUM, t, n, x, x, out);
}

static int on_sumsq(ferry_dtype t, int64_t n, const void *x, double *out)
{
    return reduce(FERRY_OP_SUMSQ, t, n, x, x, out);
}

static int on_gemv(ferry_dtype t, int trans, int64_t m, int64_t n, double alpha, const void *a,
                   int64_t lda, const void *x, int64_t incx, double beta, void *y, int64_t incy)
{
    int64_t nx = trans == FERRY_TRANS ? m : n, ny = trans == FERRY_TRANS ? n : m;
    struct operand oa = send(t, matrix_span(m, n, lda), a, NULL);
    struct operand ox = send(t, span(nx, incx), x, NULL);
    struct operand oy = send(t, span(ny, incy), y, y);
    int err = ocl->gemv(dev, NULL, t, (uint32_t)trans, m, n, alpha, const_at(&oa), lda,
                        const_at(&ox), incx, beta, at(&oy), incy);

    fetch(&oa);
    fetch(&ox);
    fetch(&oy);
    return err;
}

static int on_gemm(ferry_dtype t, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                   const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                   int64_t ldc)
{
    int64_t a_span = ta == FERRY_TRANS ? matrix_span(k, m, lda) : matrix_span(m, k, lda);
    int64_t b_span = tb == FERRY_TRANS ? matrix_span(n, k, ldb) : matrix_span(k, n, ldb);
    struct operand oa = send(t, k ? a_span : 1, k ? a : NULL, NULL);
    struct operand ob = send(t, k ? b_span : 1, k ? b : NULL, NULL);
    struct operand oc = send(t, matrix_span(m, n, ldc), c, c);
    int err = ocl->gemm(dev, NULL, t, (uint32_t)ta, (uint32_t)tb, m, n, k, alpha, const_at(&oa),
                        lda, const_at(&ob), ldb, beta, at(&oc), ldc);

    fetch(&oa);
    fetch(&ob);
    fetch(&oc);
    return err;
}

static const struct arith plugin = {
    .axpy = on_axpy,
    .scal = on_scal,
    .fill = on_fill,
    .convert = on_convert,
    .dot = on_dot,
    .asum = on_asum,
    .sumsq = on_sumsq,
    .gemv = on_gemv,
    .gemm = on_gemm,
};

/* ---- supported dtypes ------------------------------------------------------------------------ */

static void doubles_and_halves_need_the_devices_extensions(void)
{
    static const uint32_t sums[] = { FERRY_OP_AXPY,  FERRY_OP_SCAL, FERRY_OP_DOT, FERRY_OP_ASUM,
                                     FERRY_OP_SUMSQ, FERRY_OP_GEMV, FERRY_OP_GEMM };
    char extensions[8192] = "";
    bool fp64, fp16;

    if (!ocl_open(0, NULL))
        return;
    (void)clGetDeviceInfo(ocl_id(), CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, NULL);
    fp64 = strstr(extensions, "cl_khr_fp64") != NULL;
    fp16 = strstr(extensions, "cl_khr_fp16") != NULL;
    for (size_t i = 0; i < FERRY_TEST_COUNT(sums); i++) {
        CU_ASSERT_EQUAL(ocl->supports(dev, sums[i], FERRY_F32), 1);
        CU_ASSERT_EQUAL(ocl->supports(dev, sums[i], FERRY_F64), fp64);
        CU_ASSERT_EQUAL(ocl->supports(dev, sums[i], FERRY_F16), fp16);
        CU_ASSERT_EQUAL(ocl->supports(dev, sums[i], FERRY_BF16), 1);
        CU_ASSERT_EQUAL(ocl->supports(dev, sums[i], FERRY_I32), 0);
    }
    for (uint32_t t = 0; t < FERRY_DTYPE_COUNT; t++) {
        CU_ASSERT_EQUAL(ocl->supports(dev, FERRY_OP_COPY, t), 1);
        CU_ASSERT_EQUAL(ocl->supports(dev, FERRY_OP_FILL, t), 1);
    }
    CU_ASSERT_EQUAL(ocl->supports(dev, FERRY_OP_COUNT, FERRY_F32), 0);
    ocl_close();
}

static void without_doubles_f64_is_unsupported_and_sums_stay_exact(void)
{
    const int64_t n = 1 << 22;
    float *x = malloc((size_t)n * sizeof(*x)), sum = 0;
    void *block;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.1f;
    for (int many = 0; many < 2; many++) {
        if (!ocl_open(0, "f64", "off", "items", many ? "many" : "few", NULL))
            break;
        block = ocl_block((uint64_t)n * sizeof(*x) + 64);
        ocl_put(block, 64, x, (uint64_t)n * sizeof(*x));
        CU_ASSERT_EQUAL(ocl->supports(dev, FERRY_OP_AXPY, FERRY_F64), 0);
        CU_ASSERT_EQUAL(ocl->supports_convert(dev, FERRY_F64, FERRY_F32), 0);
        CU_ASSERT_EQUAL(ocl->supports_convert(dev, FERRY_F32, FERRY_F64), 0);
        CU_ASSERT_EQUAL(ocl->supports_convert(dev, FERRY_F32, FERRY_I64), 1);
        CU_ASSERT_EQUAL(
            ocl->axpy(dev, NULL, FERRY_F64, 2, 1, driver_cref(block, 64), driver_ref(block, 64)),
            FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(ocl->convert(dev, NULL, 2, FERRY_F32, driver_cref(block, 64), FERRY_F64,
                                     driver_ref(block, 128)),
                        FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(
            ocl->asum(dev, NULL, FERRY_F32, n, driver_cref(block, 64), driver_ref(block, 0)), 0);
        ocl_get(block, 0, &sum, sizeof(sum));
        CU_ASSERT_DOUBLE_EQUAL(sum, (double)n * (double)0.1f, 1e-7 * (double)n * 0.1);
        ocl_free_block(block);
        ocl_close();
    }
    free(x);
}

/*
 * Eight squares of 2²⁴, and others of 0.9, of which even 128 are less than 8 units of the sum: the
 * rounding errors of 65,536 additions of an item are themselves a sum that is rounded.
 */
static void without_doubles_a_long_sum_keeps_its_small_terms(void)
{
    const int64_t n = INT64_C(1) << 26;
    uint16_t *x = malloc((size_t)n * sizeof(*x));
    double v = 0x1.e6p-1, wanted = 0x1p27 + (double)(n - 8) * v * v;
    float sum = 0;
    void *block;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = i < 8 ? 0x4580 : 0x3f73; /* BF16: 2¹², v */
    for (int many = 0; many < 2; many++) {
        if (!ocl_open(0, "f64", "off", "items", many ? "many" : "few", NULL))
            break;
        block = ocl_block((uint64_t)n * sizeof(*x) + 64);
        ocl_put(block, 64, x, (uint64_t)n * sizeof(*x));
        CU_ASSERT_EQUAL(
            ocl->sumsq(dev, NULL, FERRY_BF16, n, driver_cref(block, 64), driver_ref(block, 0)), 0);
        ocl_get(block, 0, &sum, sizeof(sum));
        CU_ASSERT_DOUBLE_EQUAL(sum, wanted, 2e-7 * wanted);
        ocl_free_block(block);
        ocl_close();
    }
    free(x);
}

/* y + alpha x is a product that is rounded, and then a sum, as on the host. */
static void kernels_of_ferry_do_not_contract_products_and_sums(void)
{
    enum { N = 1000 };
    float x[N], y[N], wanted[N];
    double xd[N], yd[N], wanted_d[N];
    float out[N];
    double out_d[N];
    const double alpha = 1.0 / 3;

    for (int i = 0; i < N; i++) {
        volatile float product = (float)alpha * (x[i] = 1 + (float)i / 777);
        volatile double product_d = alpha * (xd[i] = 1 + (double)i / 777);

        wanted[i] = (y[i] = -product * (i % 2 ? 1 : 0.75f)) + product;
        wanted_d[i] = (yd[i] = -product_d * (i % 2 ? 1 : 0.75)) + product_d;
    }
    for (int many = 0; many < 2; many++) {
        if (!ocl_open(0, "arithmetic", "own", "items", many ? "many" : "few", NULL))
            return;
        memcpy(out, y, sizeof(out));
        memcpy(out_d, yd, sizeof(out_d));
        CU_ASSERT_EQUAL(on_axpy(FERRY_F32, N, alpha, x, out), 0);
        CU_ASSERT_EQUAL(memcmp(out, wanted, sizeof(out)), 0);
        if (ocl->supports(dev, FERRY_OP_AXPY, FERRY_F64))
            CU_ASSERT(on_axpy(FERRY_F64, N, alpha, xd, out_d) == 0 &&
                      memcmp(out_d, wanted_d, sizeof(out_d)) == 0);
        ocl_close();
    }
}

static const ferry_test_case own_cases[] = {
    FERRY_TEST(kernels_of_ferry_do_not_contract_products_and_sums),
    FERRY_TEST(doubles_and_halves_need_the_devices_extensions),
    FERRY_TEST(without_doubles_f64_is_unsupported_and_sums_stay_exact),
    FERRY_TEST(without_doubles_a_long_sum_keeps_its_small_terms),
};

#define CASE(name) FERRY_TEST(name),
static ferry_test_case cases[] = { ARITH_CASES(CASE) };
static const struct {
    const char *title, *arithmetic, *items;
} kinds[] = {
    { "opencl, as a CPU", "auto", "few" },
    { "opencl, as a GPU", "auto", "many" },
    { "opencl, own kernels as a CPU", "own", "few" },
    { "opencl, own kernels as a GPU", "own", "many" },
};

static void is_left_to_check_long(void)
{
    ferry_test_skip("FERRY_TEST_QUICK: make check-long compiles a kernel for each pair of dtypes");
}

/*
 * Skips some pairs of dtypes: a driver compiles a kernel for each pair and each kind of kernels,
 * and the kinds differ only in the number of elements per item. The cases of integers and of halves
 * convert with the second kind, too.
 */
static void leave_out_pairs_of_dtypes(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(cases); i++)
        if (cases[i].run == convert_rounds_once_between_all_dtypes ||
            cases[i].run == convert_is_right_at_every_size_and_offset)
            cases[i].run = is_left_to_check_long;
}

int main(int argc, char **argv)
{
    /*
     * CLBlast, which the first two kinds use, compiles for a minute per kind; under a sanitizer
     * these two do not differ. The shortest run has the last kind only.
     */
    size_t first = ferry_test_is_shortest()     ? 3
                   : getenv("FERRY_TEST_QUICK") ? 2
                   : ferry_test_is_slow()       ? 1
                                                : 0;
    int result =
        ferry_test_main(argc, argv, "opencl, dtypes", own_cases, FERRY_TEST_COUNT(own_cases));

    arith = &plugin;
    for (size_t i = first; i < FERRY_TEST_COUNT(kinds) && result != 77; i++) {
        if (ferry_test_is_shortest() ||
            (getenv("FERRY_TEST_QUICK") && i == FERRY_TEST_COUNT(kinds) - 1))
            leave_out_pairs_of_dtypes();
        driver_reset();
        driver_set("f16", "on");
        driver_set("arithmetic", kinds[i].arithmetic);
        driver_set("items", kinds[i].items);
        if (ocl->device_open(ocl->plugin, 0, &dev) != 0)
            return 1;
        result = ferry_test_worse(
            result, ferry_test_main(argc, argv, kinds[i].title, cases, FERRY_TEST_COUNT(cases)));
        ocl->device_close(dev);
    }
    return result;
}
