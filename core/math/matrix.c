/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <ferry/math.h>

#include "core/math/hostmath.h"
#include "core/math/mathcall.h"
#include "core/base/status.h"

#include <ferry/blob.h>
#include <inttypes.h>

/* A call of gemv or gemm. For gemv, n is A's columns, b the vector x, c the vector y. */
struct product {
    const char *name;
    ferry_queue *q;
    uint32_t op;
    ferry_dtype dtype;
    int trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    ferry_cref a, b;
    ferry_ref c;
    int64_t lda, ldb, ldc; /* for gemv: lda, incx, incy */
};

static bool is_trans(int trans)
{
    return trans == FERRY_TRANS;
}

static int check_common(const struct product *p)
{
    const int64_t sizes[] = { p->m, p->n, p->k, p->lda, p->ldb, p->ldc };
    unsigned i;
    int err = ferry__math_check(p->q, p->name, p->dtype, p->m, true);

    if (!err && (p->n < 0 || p->k < 0))
        err = ferry__error(FERRY_EINVAL, "%s: a negative size", p->name);
    if (!err && p->op == FERRY_OP_GEMV && p->trans_a != FERRY_TRANS && p->trans_a != FERRY_NO_TRANS)
        err = ferry__error(FERRY_EINVAL, "%s: trans is %d", p->name, p->trans_a);
    if (!err && ((p->trans_a != FERRY_TRANS && p->trans_a != FERRY_NO_TRANS) ||
                 (p->trans_b != FERRY_TRANS && p->trans_b != FERRY_NO_TRANS)))
        err = ferry__error(FERRY_EINVAL, "%s: trans is %d, %d", p->name, p->trans_a, p->trans_b);
    for (i = 0; i < sizeof sizes / sizeof sizes[0] && !err; i++)
        if (sizes[i] > INT32_MAX || sizes[i] < -INT32_MAX)
            err = ferry__error(FERRY_EUNSUPPORTED, "%s: a size of %" PRId64 " is beyond %" PRId32,
                               p->name, sizes[i], INT32_MAX);
    if (!err && (!p->a.handle || !p->b.handle || !p->c.handle))
        err = ferry__error_null_ref(p->name);
    return err;
}

static int check_leading(const struct product *p, const char *which, int64_t given, int64_t least)
{
    if (given < (least > 1 ? least : 1))
        return ferry__error(FERRY_EINVAL, "%s: %s is %" PRId64 ", a row has %" PRId64 " elements",
                            p->name, which, given, least);
    return 0;
}

/* The number of bytes from the first element of `rows` rows to the last. */
static uint64_t span(const struct product *p, int64_t rows, int64_t columns, int64_t stride)
{
    if (rows == 0 || columns == 0)
        return 0;
    return (uint64_t)((rows - 1) * stride + columns) * ferry_dtype_size(p->dtype);
}

static void set_operand(struct ferry__operand *o, ferry_ref ref, uint64_t bytes, bool in, bool out)
{
    o->ref = ref;
    o->bytes = bytes;
    o->in = in;
    o->out = out;
}

/* Whether to call the plugin's entry. */
static bool is_offered(const struct product *p)
{
    ferry_device *dev = p->q->device;

    return ferry__math_offered(dev, p->op, p->dtype) && ferry__math_reaches(dev, p->a) &&
           ferry__math_reaches(dev, p->b) && ferry__math_reaches(dev, ferry_ref_const(p->c));
}

/* Submits the product; submits it once more if memory was short and could be freed. */
static int on_device(const struct product *p, int (*submit)(const struct product *p))
{
    int err;

    if (!is_offered(p))
        return FERRY_EUNSUPPORTED;
    err = submit(p);
    if (ferry__math_again(p->q, err))
        err = submit(p);
    if (err == FERRY_EUNSUPPORTED)
        ferry__math_refuse(p->q->device, p->op, p->dtype);
    else if (err)
        err = ferry__math_fail(p->q->device, p->name, p->dtype, p->m * p->n, err);
    return err;
}

/* ---- gemv ---- */

static int compute_gemv(const void *arg, struct ferry__operand *o)
{
    const struct product *p = arg;

    return ferry__host_gemv(p->dtype, p->trans_a, p->m, p->n, p->alpha, o[0].host, p->lda,
                            o[1].host, p->ldb, p->beta, o[2].host, p->ldc);
}

static int detour_gemv(const struct product *p)
{
    struct ferry__operand o[3];
    int64_t x = is_trans(p->trans_a) ? p->m : p->n, y = is_trans(p->trans_a) ? p->n : p->m;
    int64_t incx = p->ldb < 0 ? -p->ldb : p->ldb, incy = p->ldc < 0 ? -p->ldc : p->ldc;

    set_operand(&o[0], ferry__ref_of(p->a), span(p, p->m, p->n, p->lda), true, false);
    set_operand(&o[1], ferry__ref_of(p->b), span(p, x, 1, incx), true, false);
    set_operand(&o[2], p->c, span(p, y, 1, incy), true, true);
    return ferry__math_detour(p->q, p->name, p->dtype, o, 3, compute_gemv, p);
}

static int submit_gemv(const struct product *p)
{
    const ferry_device *dev = p->q->device;
    int err;

    ferry__queue_enter(p->q);
    err = dev->ops->gemv(dev->dev, p->q->handle, p->dtype, (uint32_t)p->trans_a, p->m, p->n,
                         p->alpha, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
    ferry__queue_leave(p->q);
    return err;
}

int ferry_math_gemv(ferry_queue *q, ferry_dtype dtype, int trans, int64_t m, int64_t n,
                    double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx,
                    double beta, ferry_ref y, int64_t incy)
{
    const struct product p = {
        "gemv", q, FERRY_OP_GEMV, dtype, trans, FERRY_NO_TRANS, m, n, 0, alpha, beta, a,
        x,      y, lda,           incx,  incy
    };
    int err = check_common(&p);

    if (!err)
        err = check_leading(&p, "lda", lda, n);
    if (!err && (incx == 0 || incy == 0))
        err = ferry__error(FERRY_EINVAL, "gemv: an increment of 0");
    if (err || m == 0 || n == 0)
        return err;
    err = on_device(&p, submit_gemv);
    return err == FERRY_EUNSUPPORTED ? detour_gemv(&p) : err;
}

/* ---- gemm ---- */

static int compute_gemm(const void *arg, struct ferry__operand *o)
{
    const struct product *p = arg;

    return ferry__host_gemm(p->dtype, p->trans_a, p->trans_b, p->m, p->n, p->k, p->alpha, o[0].host,
                            p->lda, o[1].host, p->ldb, p->beta, o[2].host, p->ldc);
}

static int detour_gemm(const struct product *p)
{
    struct ferry__operand o[3];
    int64_t a_rows = is_trans(p->trans_a) ? p->k : p->m,
            b_rows = is_trans(p->trans_b) ? p->n : p->k;

    set_operand(&o[0], ferry__ref_of(p->a), span(p, a_rows, p->m + p->k - a_rows, p->lda), true,
                false);
    set_operand(&o[1], ferry__ref_of(p->b), span(p, b_rows, p->n + p->k - b_rows, p->ldb), true,
                false);
    set_operand(&o[2], p->c, span(p, p->m, p->n, p->ldc), true, true);
    return ferry__math_detour(p->q, p->name, p->dtype, o, 3, compute_gemm, p);
}

/* Computes C = beta·C for k = 0, row by row if rows have gaps. */
static int scale_c(const struct product *p)
{
    int64_t rows = p->ldc == p->n ? 1 : p->m, columns = p->ldc == p->n ? p->m * p->n : p->n, i;
    int err = 0;

    for (i = 0; i < rows && !err; i++) {
        ferry_ref row = ferry__ref_plus(p->c, (uint64_t)(i * p->ldc) * ferry_dtype_size(p->dtype));

        err = p->beta == 0 ? ferry_math_fill(p->q, p->dtype, columns, 0, row)
                           : ferry_math_scal(p->q, p->dtype, columns, p->beta, row);
    }
    return err;
}

static int check_gemm(const struct product *p)
{
    int err = check_common(p);

    if (!err)
        err = check_leading(p, "lda", p->lda, is_trans(p->trans_a) ? p->m : p->k);
    if (!err)
        err = check_leading(p, "ldb", p->ldb, is_trans(p->trans_b) ? p->k : p->n);
    if (!err)
        err = check_leading(p, "ldc", p->ldc, p->n);
    return err;
}

static int submit_gemm(const struct product *p)
{
    const ferry_device *dev = p->q->device;
    int err;

    ferry__queue_enter(p->q);
    err = dev->ops->gemm(dev->dev, p->q->handle, p->dtype, (uint32_t)p->trans_a,
                         (uint32_t)p->trans_b, p->m, p->n, p->k, p->alpha, p->a, p->lda, p->b,
                         p->ldb, p->beta, p->c, p->ldc);
    ferry__queue_leave(p->q);
    return err;
}

int ferry_math_gemm(ferry_queue *q, ferry_dtype dtype, int trans_a, int trans_b, int64_t m,
                    int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
                    int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    const struct product p = { "gemm", q,     FERRY_OP_GEMM, dtype, trans_a, trans_b, m,   n,
                               k,      alpha, beta,          a,     b,       c,       lda, ldb,
                               ldc };
    int err = check_gemm(&p);

    if (err || m == 0 || n == 0)
        return err;
    if (k == 0)
        return scale_c(&p);
    err = on_device(&p, submit_gemm);
    return err == FERRY_EUNSUPPORTED ? detour_gemm(&p) : err;
}
