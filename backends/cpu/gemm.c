/* SPDX-License-Identifier: BSD-2-Clause */
#include "blas.h"
#include "cpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * gemv and gemm call OpenBLAS for F32 and F64. F16 and BF16 are widened one tile at a time and
 * multiplied in F32, including the sums, so that a matrix of any size needs only a few MiB.
 */

#define TILE_ROWS    256
#define TILE_COLUMNS 512
#define TILE_INNER   512

/* A matrix of F16 or BF16 as the operation accesses it: element (i, j) is at i·row + j·column. */
struct half_matrix {
    const struct cpu_kernels *kernels;
    const struct cpu_blas *blas;
    uint32_t dtype;
    const uint16_t *at;
    int64_t row, column;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * A leading dimension for OpenBLAS, which requires at least 1, even for a matrix without elements,
 * and prints an error otherwise.
 */
static blasint leading(int64_t elements)
{
    return elements < 1 ? 1 : (blasint)elements;
}

/* ---- F16 and BF16: pieces of vectors and matrices in F32 ------------------------------------ */

/* Widens x[0], x[step] … */
static void widen_strided(const struct half_matrix *m, int64_t n, const uint16_t *x, int64_t step,
                          float *out)
{
    uint16_t together[64];

    if (step == 1) {
        m->kernels->widen[m->dtype](n, x, out);
        return;
    }
    for (int64_t at = 0; at < n; at += 64) {
        int64_t count = least(n - at, 64);

        for (int64_t i = 0; i < count; i++)
            together[i] = x[(at + i) * step];
        m->kernels->widen[m->dtype](count, together, out + at);
    }
}

/*
 * Widens rows i … i + rows − 1, columns j … of the matrix to contiguous rows; reads along the
 * direction in which the matrix is stored.
 */
static void widen_tile(const struct half_matrix *m, int64_t i, int64_t j, int64_t rows,
                       int64_t columns, float *out)
{
    float line[TILE_INNER]; /* the maximum number of rows of a tile */

    if (m->column == 1) {
        for (int64_t r = 0; r < rows; r++)
            widen_strided(m, columns, m->at + (i + r) * m->row + j, 1, out + r * columns);
        return;
    }
    for (int64_t c = 0; c < columns; c++) {
        widen_strided(m, rows, m->at + i * m->row + (j + c) * m->column, m->row, line);
        for (int64_t r = 0; r < rows; r++)
            out[r * columns + c] = line[r];
    }
}

/*
 * Stores y = sums + beta·y; `sums` are n values of F32 that already include alpha's term; y is not
 * read if beta is 0.
 */
static void narrow_result(const struct half_matrix *m, int64_t n, float *sums, double beta,
                          uint16_t *y, int64_t step)
{
    float ys[64];
    uint16_t half[64];

    for (int64_t at = 0; at < n; at += 64) {
        int64_t count = least(n - at, 64);

        if (beta != 0.0) {
            widen_strided(m, count, y + at * step, step, ys);
            m->kernels->axpy[FERRY_F32](count, beta, ys, sums + at);
        }
        m->kernels->narrow[m->dtype](count, sums + at, half);
        for (int64_t i = 0; i < count; i++)
            y[(at + i) * step] = half[i];
    }
}

static int no_memory(const char *what, size_t floats)
{
    return cpu_host->error(FERRY_ENOMEM, "%s: malloc of %zu bytes for F32 failed", what,
                           floats * sizeof(float));
}

/* ---- gemv ----------------------------------------------------------------------------------- */

/* Computes sums = alpha · rows of op(A) times x, for one tile of rows. */
static void gemv_tile(const struct half_matrix *a, int64_t i, int64_t rows, int64_t inner,
                      double alpha, const float *x, float *tile, float *sums)
{
    memset(sums, 0, (size_t)rows * sizeof(*sums));
    if (alpha == 0.0)
        return;
    for (int64_t j = 0; j < inner; j += TILE_INNER) {
        int64_t columns = least(inner - j, TILE_INNER);

        widen_tile(a, i, j, rows, columns, tile);
        a->blas->sgemv(CblasRowMajor, CblasNoTrans, (blasint)rows, (blasint)columns, (float)alpha,
                       tile, (blasint)columns, x + j, 1, 1.0f, sums, 1);
    }
}

/* gemv of F16 or BF16. y and x start at their first element, whatever the sign of their strides. */
static int gemv_half(const struct half_matrix *a, int64_t outer, int64_t inner, double alpha,
                     const uint16_t *x, int64_t incx, double beta, uint16_t *y, int64_t incy)
{
    int64_t tile_rows = least(outer, TILE_ROWS);
    size_t floats = (size_t)(inner + tile_rows + tile_rows * least(inner, TILE_INNER));
    float *xs = malloc(floats * sizeof(*xs));
    float *sums = xs + inner, *tile = sums + tile_rows;

    if (!xs)
        return no_memory("gemv", floats);
    widen_strided(a, inner, x, incx, xs);
    for (int64_t i = 0; i < outer; i += TILE_ROWS) {
        int64_t rows = least(outer - i, TILE_ROWS);

        gemv_tile(a, i, rows, inner, alpha, xs, tile, sums);
        narrow_result(a, rows, sums, beta, y + i * incy, incy);
    }
    free(xs);
    return 0;
}

int cpu_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy)
{
    struct cpu_device *d = dev;
    bool stored = trans == FERRY_NO_TRANS;
    int64_t outer = stored ? m : n, inner = stored ? n : m;
    const void *ap = cpu_const_pointer(a), *xp = cpu_const_pointer(x);
    void *yp = cpu_pointer(y);
    CBLAS_TRANSPOSE op = stored ? CblasNoTrans : CblasTrans;
    const struct cpu_blas *blas;
    int err = 0;

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("gemv", dtype);
    if (m == 0 || n == 0)
        return 0;
    blas = cpu_blas();
    if (!blas)
        return FERRY_EUNSUPPORTED;
    if (dtype == FERRY_F32) {
        blas->sgemv(CblasRowMajor, op, (blasint)m, (blasint)n, (float)alpha, ap, leading(lda), xp,
                    (blasint)incx, (float)beta, yp, (blasint)incy);
    } else if (dtype == FERRY_F64) {
        blas->dgemv(CblasRowMajor, op, (blasint)m, (blasint)n, alpha, ap, leading(lda), xp,
                    (blasint)incx, beta, yp, (blasint)incy);
    } else {
        struct half_matrix matrix = { d->kernels,      blas, dtype, ap, stored ? lda : 1,
                                      stored ? 1 : lda };
        const uint16_t *first_x = (const uint16_t *)xp + (incx < 0 ? (1 - inner) * incx : 0);
        uint16_t *first_y = (uint16_t *)yp + (incy < 0 ? (1 - outer) * incy : 0);

        err = gemv_half(&matrix, outer, inner, alpha, first_x, incx, beta, first_y, incy);
    }
    if (!err)
        cpu_count_op(d);
    return err;
}

/* ---- gemm ----------------------------------------------------------------------------------- */

struct tiles {
    float *a, *b, *c;
};

/* Computes tiles->c = alpha · op(A) · op(B) for one tile of C. */
static void gemm_tile(const struct half_matrix *a, const struct half_matrix *b, int64_t i,
                      int64_t j, int64_t rows, int64_t columns, int64_t k, double alpha,
                      const struct tiles *tiles)
{
    memset(tiles->c, 0, (size_t)(rows * columns) * sizeof(float));
    if (alpha == 0.0)
        return;
    for (int64_t p = 0; p < k; p += TILE_INNER) {
        int64_t inner = least(k - p, TILE_INNER);

        widen_tile(a, i, p, rows, inner, tiles->a);
        widen_tile(b, p, j, inner, columns, tiles->b);
        a->blas->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)columns,
                       (blasint)inner, (float)alpha, tiles->a, (blasint)inner, tiles->b,
                       (blasint)columns, 1.0f, tiles->c, (blasint)columns);
    }
}

static int gemm_half(const struct half_matrix *a, const struct half_matrix *b, int64_t m, int64_t n,
                     int64_t k, double alpha, double beta, uint16_t *c, int64_t ldc)
{
    size_t rows = (size_t)least(m, TILE_ROWS), columns = (size_t)least(n, TILE_COLUMNS);
    size_t inner = (size_t)least(k, TILE_INNER);
    size_t floats = rows * columns + rows * inner + inner * columns;
    struct tiles tiles = { .c = malloc(floats * sizeof(float)) };

    if (!tiles.c)
        return no_memory("gemm", floats);
    tiles.a = tiles.c + rows * columns;
    tiles.b = tiles.a + rows * inner;
    for (int64_t i = 0; i < m; i += TILE_ROWS) {
        for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
            int64_t height = least(m - i, TILE_ROWS), width = least(n - j, TILE_COLUMNS);

            gemm_tile(a, b, i, j, height, width, k, alpha, &tiles);
            for (int64_t r = 0; r < height; r++)
                narrow_result(a, width, tiles.c + r * width, beta, c + (i + r) * ldc + j, 1);
        }
    }
    free(tiles.c);
    return 0;
}

int cpu_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
             int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    struct cpu_device *d = dev;
    bool a_stored = trans_a == FERRY_NO_TRANS, b_stored = trans_b == FERRY_NO_TRANS;
    const void *ap = cpu_const_pointer(a), *bp = cpu_const_pointer(b);
    void *cp = cpu_pointer(c);
    CBLAS_TRANSPOSE op_a = a_stored ? CblasNoTrans : CblasTrans;
    CBLAS_TRANSPOSE op_b = b_stored ? CblasNoTrans : CblasTrans;
    const struct cpu_blas *blas;
    int err = 0;

    (void)queue;
    if (!cpu_is_real(dtype))
        return cpu_unsupported("gemm", dtype);
    if (m == 0 || n == 0)
        return 0;
    blas = cpu_blas();
    if (!blas)
        return FERRY_EUNSUPPORTED;
    if (dtype == FERRY_F32) {
        blas->sgemm(CblasRowMajor, op_a, op_b, (blasint)m, (blasint)n, (blasint)k, (float)alpha, ap,
                    leading(lda), bp, leading(ldb), (float)beta, cp, leading(ldc));
    } else if (dtype == FERRY_F64) {
        blas->dgemm(CblasRowMajor, op_a, op_b, (blasint)m, (blasint)n, (blasint)k, alpha, ap,
                    leading(lda), bp, leading(ldb), beta, cp, leading(ldc));
    } else {
        struct half_matrix ma = { d->kernels,        blas, dtype, ap, a_stored ? lda : 1,
                                  a_stored ? 1 : lda };
        struct half_matrix mb = { d->kernels,        blas, dtype, bp, b_stored ? ldb : 1,
                                  b_stored ? 1 : ldb };

        err = gemm_half(&ma, &mb, m, n, k, alpha, beta, cp, ldc);
    }
    if (!err)
        cpu_count_op(d);
    return err;
}
