/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include "arith.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* gemv, gemm: row-major, with rows longer than necessary, transposed and not. */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define FIRST         5 /* the offset of operands in elements: not the block's beginning */

/* A matrix of rows × columns with row stride `ld`; a vector is a matrix of one column. */
struct matrix {
    ferry_dtype t;
    int64_t rows, columns, ld, first;
    struct mirror m;
};

static void matrix_create(struct matrix *a, ferry_dtype t, int64_t rows, int64_t columns,
                          int64_t ld, unsigned seed)
{
    int64_t first = kit_first(FIRST, arith_size(t)), elements = first + rows * ld + 8;

    a->first = first;
    a->t = t;
    a->rows = rows;
    a->columns = columns;
    a->ld = ld;
    mirror_make(&a->m, (uint64_t)elements * arith_size(t), seed);
    arith_random(t, a->m.want, elements, 1, seed);
    mirror_upload(&a->m);
}

static long double at(const struct matrix *a, bool transposed, int64_t i, int64_t k)
{
    return arith_get(a->t, a->m.want, a->first + (transposed ? k * a->ld + i : i * a->ld + k));
}

static ferry_ref ref(const struct matrix *a)
{
    return mirror_ref(&a->m, (uint64_t)a->first * arith_size(a->t));
}

static ferry_cref cref(const struct matrix *a)
{
    return ferry_ref_const(ref(a));
}

/* One operation: C = alpha op(A) op(B) + beta C; y = … is the case of one column. */
struct product {
    struct matrix a, b, c;
    bool trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    long double *want, *tolerance; /* of m × n */
};

/* The expected element. Products of F16 and BF16 are accumulated in F32. */
static void expect(struct product *p, int64_t i, int64_t j)
{
    long double sum = 0, magnitude = 0, old = p->beta != 0 ? at(&p->c, false, i, j) : 0;
    ferry_dtype inner = p->c.t == FERRY_F64 ? FERRY_F64 : FERRY_F32;
    int64_t element = i * p->n + j;

    for (int64_t k = 0; k < p->k && p->alpha != 0; k++) {
        long double term = at(&p->a, p->trans_a, i, k) * at(&p->b, p->trans_b, k, j);

        sum += term;
        magnitude += fabsl(term);
    }
    p->want[element] = (long double)p->alpha * sum + (long double)p->beta * old;
    magnitude = fabsl((long double)p->alpha) * magnitude + fabsl((long double)p->beta * old);
    p->tolerance[element] = kit_tolerance(p->c.t, p->want[element]) +
                            (long double)(p->k + 4) * kit_tolerance(inner, magnitude);
}

static void expect_all(struct product *p)
{
    p->want = kit_host((size_t)(p->m * p->n) * sizeof(*p->want));
    p->tolerance = kit_host((size_t)(p->m * p->n) * sizeof(*p->tolerance));
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            expect(p, i, j);
}

/* Checks C row by row; bytes between the rows must not change. */
static void check_result(struct product *p)
{
    size_t size = arith_size(p->c.t);
    struct mirror *c = &p->c.m;

    mirror_download(c);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            int64_t element = p->c.first + i * p->c.ld + j;
            long double got = arith_get(p->c.t, c->got, element);

            if (!arith_near(got, p->want[i * p->n + j], p->tolerance[i * p->n + j]))
                kit_fail("row %" PRId64 ", column %" PRId64 " is %.9Lg, should be %.9Lg", i, j, got,
                         p->want[i * p->n + j]);
            memcpy(c->want + (size_t)element * size, c->got + (size_t)element * size, size);
        }
    c->begin = (uint64_t)p->c.first * size;
    c->end = (uint64_t)(p->c.first + (p->m - 1) * p->c.ld + p->n) * size;
    if (memcmp(c->got, c->want, c->bytes) == 0)
        return;
    for (uint64_t i = 0; i < c->bytes; i++)
        if (c->got[i] != c->want[i] && i >= c->begin && i < c->end)
            kit_fail("wrote between the rows: byte %" PRIu64 " after the first element has changed",
                     i - c->begin);
    mirror_check(c);
}

static void product_destroy(struct product *p)
{
    mirror_destroy(&p->a.m);
    mirror_destroy(&p->b.m);
    mirror_destroy(&p->c.m);
    free(p->want);
    free(p->tolerance);
}

/* With beta 0 the old contents are not read: NaN must not propagate. */
static void fill_with_nan(struct product *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            arith_put(p->c.t, p->c.m.want, p->c.first + i * p->c.ld + j, NAN);
    mirror_upload(&p->c.m);
}

/* ---- gemm ----------------------------------------------------------------------------------- */

static bool gemm(ferry_dtype t, int64_t m, int64_t n, int64_t k, int trans, int64_t wider,
                 double alpha, double beta)
{
    struct product p = { .trans_a = (trans & 1) != 0,
                         .trans_b = (trans & 2) != 0,
                         .m = m,
                         .n = n,
                         .k = k,
                         .alpha = alpha,
                         .beta = beta };
    int64_t a_rows = p.trans_a ? k : m, a_columns = p.trans_a ? m : k;
    int64_t b_rows = p.trans_b ? n : k, b_columns = p.trans_b ? k : n;
    bool done;

    kit_case("gemm %s, m n k = %" PRId64 " %" PRId64 " %" PRId64 ", A%s, B%s, rows %" PRId64
             " longer than needed, alpha %g, beta %g",
             kit_dtype_name(t), m, n, k, p.trans_a ? "'" : "", p.trans_b ? "'" : "", wider, alpha,
             beta);
    matrix_create(&p.a, t, a_rows, a_columns, a_columns + wider, 1);
    matrix_create(&p.b, t, b_rows, b_columns, b_columns + wider, 2);
    matrix_create(&p.c, t, m, n, n + wider, 3);
    if (beta == 0)
        fill_with_nan(&p);
    expect_all(&p);
    done = kit_done(kit.ops.gemm(kit.dev, NULL, t, p.trans_a ? FERRY_TRANS : FERRY_NO_TRANS,
                                 p.trans_b ? FERRY_TRANS : FERRY_NO_TRANS, m, n, k, alpha,
                                 cref(&p.a), p.a.ld, cref(&p.b), p.b.ld, beta, ref(&p.c), p.c.ld),
                    FERRY_OP_GEMM, t, "gemm");
    if (done) {
        kit_wait(NULL);
        check_result(&p);
    }
    product_destroy(&p);
    return done;
}

static bool gemm_dtype(ferry_dtype t)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 },    { 1, 5, 3 },    { 4, 1, 7 },
                                        { 3, 4, 1 },    { 8, 8, 8 },    { 7, 9, 11 },
                                        { 16, 17, 15 }, { 33, 31, 65 }, { 64, 64, 64 },
                                        { 70, 130, 40 } };

    for (int i = 0; i < LENGTH(sizes); i++)
        for (int trans = 0; trans < 4; trans++)
            if (!gemm(t, sizes[i][0], sizes[i][1], sizes[i][2], trans, (i + trans) % 3,
                      (i & 1) ? -1.5 : 1, (trans & 1) ? 0.5 : 0))
                return false;
    return gemm(t, 9, 10, 11, 0, 3, 0.25, 1) && gemm(t, 9, 10, 11, 3, 1, 0, 2);
}

void group_gemm(void)
{
    uint32_t mask = 0;

    kit_open();
    if (!kit.ops.gemm)
        kit_not_offered("no gemm entry; ferry computes on the host");
    for (uint32_t t = FERRY_F32; t <= FERRY_BF16; t++)
        if (kit_supports(FERRY_OP_GEMM, t) && gemm_dtype((ferry_dtype)t))
            mask |= 1u << t;
    if (!mask)
        kit_not_offered("gemm supports no dtype; ferry computes on the host");
    kit_remark("%s", kit_dtype_list(mask));
}

/* ---- gemv ----------------------------------------------------------------------------------- */

/* A vector is a matrix of one column with row stride `inc`. */
static bool gemv(ferry_dtype t, int64_t rows, int64_t columns, bool transposed, int64_t wider,
                 int64_t incx, int64_t incy, double alpha, double beta)
{
    struct product p = { .trans_a = transposed,
                         .m = transposed ? columns : rows,
                         .n = 1,
                         .k = transposed ? rows : columns,
                         .alpha = alpha,
                         .beta = beta };
    bool done;

    kit_case("gemv %s, m n = %" PRId64 " %" PRId64 ", A%s, rows %" PRId64
             " longer than needed, incx %" PRId64 ", incy %" PRId64 ", alpha %g, beta %g",
             kit_dtype_name(t), rows, columns, transposed ? "'" : "", wider, incx, incy, alpha,
             beta);
    matrix_create(&p.a, t, rows, columns, columns + wider, 1);
    matrix_create(&p.b, t, p.k, 1, incx, 2);
    matrix_create(&p.c, t, p.m, 1, incy, 3);
    if (beta == 0)
        fill_with_nan(&p);
    expect_all(&p);
    done = kit_done(kit.ops.gemv(kit.dev, NULL, t, transposed ? FERRY_TRANS : FERRY_NO_TRANS, rows,
                                 columns, alpha, cref(&p.a), p.a.ld, cref(&p.b), incx, beta,
                                 ref(&p.c), incy),
                    FERRY_OP_GEMV, t, "gemv");
    if (done) {
        kit_wait(NULL);
        check_result(&p);
    }
    product_destroy(&p);
    return done;
}

static bool gemv_dtype(ferry_dtype t)
{
    static const int64_t sizes[][2] = { { 1, 1 },   { 1, 9 },   { 7, 1 },   { 4, 4 },    { 8, 16 },
                                        { 13, 11 }, { 33, 65 }, { 64, 64 }, { 200, 150 } };

    for (int i = 0; i < LENGTH(sizes); i++)
        for (int trans = 0; trans < 2; trans++)
            if (!gemv(t, sizes[i][0], sizes[i][1], trans != 0, i % 3, 1 + i % 2,
                      1 + (i + trans) % 3, (i & 1) ? -1.5 : 1, (i + trans) % 2 ? 0.5 : 0))
                return false;
    return gemv(t, 9, 10, false, 1, 1, 1, 0.25, 1) && gemv(t, 9, 10, true, 1, 1, 1, 0, 2);
}

void group_gemv(void)
{
    uint32_t mask = 0;

    kit_open();
    if (!kit.ops.gemv)
        kit_not_offered("no gemv entry; ferry computes on the host");
    for (uint32_t t = FERRY_F32; t <= FERRY_BF16; t++)
        if (kit_supports(FERRY_OP_GEMV, t) && gemv_dtype((ferry_dtype)t))
            mask |= 1u << t;
    if (!mask)
        kit_not_offered("gemv supports no dtype; ferry computes on the host");
    kit_remark("%s", kit_dtype_list(mask));
}
