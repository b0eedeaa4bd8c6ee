/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/op_types.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * ops-values: NaN, infinities, zeros of both signs, large arguments of exponentials, equal maxima;
 * by the section "Special values and errors" of op_types.h.
 */

#define EVERY INT64_MAX

/* ---- contents ------------------------------------------------------------------------------- */

static const double special[] = { 0,   -0.0,     0.5,       -0.25, 1,       -1,   89,
                                  -89, 88.5,     -88.5,     200,   -200,    16.5, -16.5,
                                  NAN, INFINITY, -INFINITY, 2,     0x1p-20, 50,   -50 };
#define SPECIAL ((int)(sizeof(special) / sizeof(special[0])))
#define NUMBERS 7 /* of the above after every special one, so that vectors hold both */

/* Contents of in[i]: the kinds of special numbers that occur. */
enum special_set { FINITE, NO_NAN, ALL };

static bool is_in(enum special_set set, double v)
{
    return set == ALL || (!isnan(v) && (set == NO_NAN || !isinf(v)));
}

/*
 * Fills the inputs so that every pair of special numbers occurs in two inputs of 21 × 21 elements
 * and more.
 */
static void put_special(struct op_array *a, enum special_set set, int step)
{
    ferry_dtype t = (ferry_dtype)a->o.dtype;
    int64_t n = op_count(&a->o);

    for (int64_t k = 0; k < n; k++) {
        double v = special[(step == 1 ? k : k / SPECIAL) % SPECIAL];

        if (is_in(set, v))
            arith_put(t, a->host, k, (long double)v);
    }
}

static int64_t in_axis(const struct op_scene *s, uint32_t i, uint32_t axis)
{
    return s->in[i].o.shape[axis];
}

/* ---- values besides that of the definition -------------------------------------------------- */

/*
 * Whether x is infinite and the value is the limit, where the definition gives NaN: the limit is
 * permitted, too.
 */
static bool is_limit(const struct op_scene *s, long double x, long double got)
{
    const ferry_op_desc *op = s->op;
    struct op_number limit;

    if (!isinf(x))
        return false;
    op_unary(op->params.unary.function, x > 0 ? 1e30L : -1e30L, op->params.unary.a,
             op->params.unary.b, op->params.unary.c, &limit);
    return op_near((ferry_dtype)s->out[0].o.dtype, got, &limit);
}

/*
 * Whether a function that chooses by comparisons may treat NaN as a number beyond one of its
 * bounds.
 */
static bool is_bound(const ferry_op_desc *op, long double got)
{
    switch (op->params.unary.function) {
    case FERRY_UNARY_THRESHOLD:
    case FERRY_UNARY_HARD_SIGMOID:
        return got == 0 || got == 1 || isnan(got);
    case FERRY_UNARY_CLIP:
        return got == (long double)(float)op->params.unary.a ||
               got == (long double)(float)op->params.unary.b || isnan(got);
    case FERRY_UNARY_ROUND:
        return got == (long double)(op->params.unary.b / op->params.unary.a) ||
               got == (long double)(op->params.unary.c / op->params.unary.a) || isnan(got);
    case FERRY_UNARY_HARD_SWISH:
        return got == 0 || isnan(got);
    default:
        return false;
    }
}

static bool accepts_unary(const struct op_scene *s, uint32_t n, const int64_t *i, long double got)
{
    long double x = op_get(&s->in[0], i);
    struct op_number want;

    if (isnan(x))
        return is_bound(s->op, got);
    return op_expect(s, n, i, &want) && isnan(want.value) && is_limit(s, x, got);
}

/* Accepts the limit of a slope that is NaN by definition at an infinite r. */
static bool accepts_slope(const struct op_scene *s, uint32_t n, const int64_t *i, long double got)
{
    const ferry_op_desc *op = s->op;
    long double dy = op_get(&s->in[0], i), r = op_get(&s->in[1], i), slope;
    struct op_number want;

    if (!isinf(r) || !op_expect(s, n, i, &want) || !isnan(want.value))
        return false;
    slope = op_unary_slope(op->params.unary.function, r > 0 ? 1e30L : -1e30L, op->params.unary.a,
                           op->params.unary.b, op->params.unary.c);
    if (isnan(slope)) /* n·0 and n/n at 1e30, too: the limit is 1 or 0 */
        return got == 0 || op_near((ferry_dtype)s->out[0].o.dtype, got,
                                   &(struct op_number){ dy, fabsl(dy), 4 });
    return op_near((ferry_dtype)s->out[0].o.dtype, got,
                   &(struct op_number){ dy * slope, fabsl(dy * slope), 24 });
}

/* Accepts for a maximum of values with NaN either NaN or the maximum of the others. */
static bool accepts_max(const struct op_scene *s, uint32_t n, const int64_t *i, long double got)
{
    long double x = op_get(&s->in[0], i), u = op_get(&s->in[1], i);

    (void)n;
    if (s->op->params.binary.function != FERRY_BINARY_MAX || !(isnan(x) || isnan(u)))
        return false;
    return isnan(got) || (!isnan(x) && got == x) || (!isnan(u) && got == u);
}

static bool has_nan(const struct op_scene *s, const int64_t *i)
{
    int64_t at[FERRY_OP_AXES];
    uint32_t mask = s->op->params.reduce.axes;

    for (uint32_t axis = 0; axis < s->in[0].o.rank; axis++)
        at[axis] = mask >> axis & 1 ? 0 : i[axis];
    do
        if (isnan(op_get(&s->in[0], at)))
            return true;
    while (op_next_along(&s->in[0].o, mask, at));
    return false;
}

static bool accepts_reduce(const struct op_scene *s, uint32_t n, const int64_t *i, long double got)
{
    uint32_t function = s->op->params.reduce.function, axis = 0;

    (void)n;
    if (s->op->kind != FERRY_OP_REDUCE || function < FERRY_REDUCE_MAX || !has_nan(s, i))
        return false;
    while (!(s->op->params.reduce.axes >> axis & 1))
        axis++;
    return function == FERRY_REDUCE_MAX
               ? isnan(got) /* or it ignores NaN, as the reference does */
               : got >= 0 && got < (long double)in_axis(s, 0, axis) && got == floorl(got);
}

/* Accepts for a window with NaN either NaN, with any mask, or the maximum of the others. */
static bool accepts_pool(const struct op_scene *s, uint32_t n, const int64_t *i, long double got)
{
    const ferry_op_window *w = &s->op->params.window;
    int64_t x[FERRY_OP_AXES] = { i[0], i[1] };

    if (s->op->params.pool.method != FERRY_POOL_MAX)
        return false;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++)
        if (op_covered(w, &s->in[0].o.shape[2], &i[2],
                       (const int64_t[]){ k / w->kernel[1], k % w->kernel[1] }, &x[2]) &&
            isnan(op_get(&s->in[0], x)))
            return n == 1 || isnan(got);
    return false;
}

/* ---- elements ------------------------------------------------------------------------------- */

static void finish(struct op_whole *w, op_accepts *accepts)
{
    op_whole_run(w, NULL, true);
    op_whole_check(w, EVERY, accepts);
    op_whole_close(w);
}

static void unary(uint32_t dtype, uint32_t function, double a)
{
    ferry_op_desc op = op_begin(FERRY_OP_UNARY, 1, 1);
    struct op_whole w;

    op.params.unary.function = function;
    op.params.unary.a = a;
    op.params.unary.b = op_unary_trials[function][1];
    op.params.unary.c = op_unary_trials[function][2];
    OP_SHAPE(&op.in[0], dtype, SPECIAL * NUMBERS);
    op.out[0] = op.in[0];
    if (op_whole_open(&w, &op, "special values")) {
        op_array_fill(&w.in[0], -3, 3, 1);
        for (int k = 0; k < SPECIAL; k++)
            arith_put((ferry_dtype)dtype, w.in[0].host, k * NUMBERS, (long double)special[k]);
        finish(&w, accepts_unary);
    }
    if (function == FERRY_UNARY_THRESHOLD)
        return;
    op.pass = FERRY_PASS_BACKWARD_DATA;
    op.n_in = 2;
    op.in[1] = op.in[0];
    if (op_whole_open(&w, &op, "special values")) {
        op_array_fill(&w.in[0], 0.5, 3, 1);
        op_array_fill(&w.in[1], 0.5, 3, 2);
        put_special(&w.in[1], NO_NAN, 1);
        finish(&w, accepts_slope);
    }
}

static void binary(uint32_t dtype, uint32_t function)
{
    ferry_op_desc op = op_begin(FERRY_OP_BINARY, function == FERRY_BINARY_NORMALISE ? 3 : 2, 1);
    struct op_whole w;

    op.params.binary.function = function;
    op.params.binary.a = 1.5;
    op.params.binary.b = -0.5;
    OP_SHAPE(&op.in[0], dtype, SPECIAL, SPECIAL);
    op.in[1] = op.in[2] = op.out[0] = op.in[0];
    if (op.n_in < 3)
        memset(&op.in[2], 0, sizeof(op.in[2]));
    if (!op_whole_open(&w, &op, "special values"))
        return;
    for (uint32_t k = 0; k < op.n_in; k++)
        op_array_fill(&w.in[k], 1, 2, k);
    put_special(&w.in[0], ALL, 1);
    put_special(&w.in[1], ALL, SPECIAL);
    finish(&w, accepts_max);
    if (function != FERRY_BINARY_MAX && function != FERRY_BINARY_PRELU)
        return;
    op.pass = FERRY_PASS_BACKWARD_DATA; /* equal operands, and x = 0 */
    op.n_in = 3;
    op.in[2] = op.in[0];
    if (!op_whole_open(&w, &op, "special values"))
        return;
    op_array_fill(&w.in[0], 1, 2, 1);
    op_array_fill(&w.in[1], 1, 2, 2);
    op_array_fill(&w.in[2], 1, 2, 3);
    put_special(&w.in[1], FINITE, 1);
    put_special(&w.in[2], FINITE, SPECIAL);
    finish(&w, NULL);
}

/* ---- along axes ----------------------------------------------------------------------------- */

/* Row r has one of a few sets; the special number moves through the row. */
static void put_rows(struct op_array *a, int64_t rows, int64_t n)
{
    static const double marks[] = { NAN, INFINITY, -INFINITY, 89, -89, 200, -200, -0.0 };

    op_array_fill(a, -2, 2, 5);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < n; k++) {
            double mark = marks[r % 8];

            if (r % 10 == 7)
                arith_put((ferry_dtype)a->o.dtype, a->host, r * n + k, -200.0L - k % 3);
            else if (r % 10 == 8) /* equal numbers: every one of them is the largest */
                arith_put((ferry_dtype)a->o.dtype, a->host, r * n + k, 1.5L);
            else if (r % 10 == 9)
                arith_put((ferry_dtype)a->o.dtype, a->host, r * n + k, (long double)-INFINITY);
            else if (k == r * 7 % n || (r >= 40 && k % 3 == 0))
                arith_put((ferry_dtype)a->o.dtype, a->host, r * n + k, (long double)mark);
        }
}

static void along_rows(const ferry_op_desc *op, const char *note, op_accepts *accepts)
{
    struct op_whole w;

    if (!op_whole_open(&w, op, note))
        return;
    put_rows(&w.in[0], op->in[0].shape[0], op->in[0].shape[1]);
    finish(&w, accepts);
}

static void rows(uint32_t dtype, int64_t n)
{
    ferry_op_desc op;

    for (uint32_t logarithm = 0; logarithm < 2; logarithm++) {
        op = op_begin(FERRY_OP_SOFTMAX, 1, 1);
        op.params.softmax.axis = 1;
        op.params.softmax.logarithm = logarithm;
        OP_SHAPE(&op.in[0], dtype, 80, n);
        op.out[0] = op.in[0];
        along_rows(&op, logarithm ? "its logarithm, special values" : "special values", NULL);
    }
    for (uint32_t function = FERRY_REDUCE_SUM; function <= FERRY_REDUCE_ARGMAX; function++) {
        op = op_begin(FERRY_OP_REDUCE, 1, 1);
        op.params.reduce.function = function;
        op.params.reduce.axes = 2;
        op.params.reduce.scale = 1;
        OP_SHAPE(&op.in[0], dtype, 80, n);
        OP_SHAPE(&op.out[0], dtype, 80, 1);
        op.out[0].dtype = function == FERRY_REDUCE_ARGMAX ? FERRY_I32 : dtype;
        along_rows(&op, "special values", accepts_reduce);
    }
    op = op_begin(FERRY_OP_MOMENTS, 1, 2);
    op.params.reduce.axes = 2;
    OP_SHAPE(&op.in[0], dtype, 80, n);
    OP_SHAPE(&op.out[0], dtype, 80, 1);
    op.out[1] = op.out[0];
    along_rows(&op, "special values", NULL);
}

static void pool(uint32_t dtype, uint32_t method, bool mask, bool last)
{
    ferry_op_desc op = op_begin(FERRY_OP_POOL, 1, mask ? 2 : 1);
    struct op_whole w;

    op.params.pool.method = method;
    op.params.window = (ferry_op_window){ .axes = 2,
                                          .group = 1,
                                          .kernel = { 2, 3, 1 },
                                          .stride = { 1, 1, 1 },
                                          .dilation = { 1, 1, 1 },
                                          .pad = { 1, 1, 0 },
                                          .pad_end = { 1, 1, 0 } };
    OP_SHAPE(&op.in[0], dtype, 1, 11, 10, SPECIAL);
    OP_SHAPE(&op.out[0], dtype, 1, 11, 11, SPECIAL);
    if (last) {
        op_lay(&op.in[0], OP_LAST);
        op_lay(&op.out[0], OP_LAST);
    }
    op.out[1] = mask ? op.out[0] : op.out[1];
    op.out[1].dtype = mask ? FERRY_I32 : 0;
    if (!op_whole_open(&w, &op, "special values"))
        return;
    op_array_fill(&w.in[0], -2, 2, 3);
    for (int64_t k = 0; k < op_count(&op.in[0]); k++) {
        double v = special[k / 3 % SPECIAL];

        if (k % 3 == 0 || k % 50 > 40) /* and equal numbers side by side */
            arith_put((ferry_dtype)dtype, w.in[0].host, k, (long double)v);
    }
    finish(&w, accepts_pool);
}

/* Only the nearest element counts: NaN and infinities do not affect their neighbours. */
static void resize(uint32_t dtype, uint32_t pass)
{
    ferry_op_desc op = op_begin(FERRY_OP_RESIZE, 1, 1);
    bool data = pass == FERRY_PASS_BACKWARD_DATA;
    struct op_whole w;

    op.pass = pass;
    op.params.resize.method = FERRY_RESIZE_NEAREST;
    op.params.resize.sampling = FERRY_RESIZE_ASYMMETRIC;
    OP_SHAPE(&op.in[0], dtype, 1, 3, 6, SPECIAL);
    OP_SHAPE(&op.out[0], dtype, 1, 3, 12, 2 * SPECIAL);
    if (data) {
        op.in[0] = op.out[0];
        OP_SHAPE(&op.out[0], dtype, 1, 3, 6, SPECIAL);
    }
    if (!op_whole_open(&w, &op, "special values"))
        return;
    op_array_fill(&w.in[0], -2, 2, 4);
    for (int64_t k = 0; k < op_count(&op.in[0]); k += 5)
        arith_put((ferry_dtype)dtype, w.in[0].host, k, (long double)special[k / 5 % SPECIAL]);
    finish(&w, NULL);
}

/* ---- products ------------------------------------------------------------------------------- */

/* beta = 0: c is not read. */
static void gemm_by_beta_0(uint32_t dtype)
{
    ferry_op_desc op = op_begin(FERRY_OP_BATCHED_GEMM, 3, 1);
    struct op_whole w;

    op.params.gemm.alpha = 1;
    OP_SHAPE(&op.in[0], dtype, 2, 7, 9);
    OP_SHAPE(&op.in[1], dtype, 2, 9, 5);
    OP_SHAPE(&op.in[2], dtype, 2, 7, 5);
    op.out[0] = op.in[2];
    if (!op_whole_open(&w, &op, "beta = 0 and NaN in c"))
        return;
    op_array_fill(&w.in[0], -1, 1, 1);
    op_array_fill(&w.in[1], -1, 1, 2);
    for (int64_t k = 0; k < op_count(&op.in[2]); k++)
        arith_put((ferry_dtype)dtype, w.in[2].host, k, (long double)NAN);
    finish(&w, NULL);
}

/*
 * NaN in x makes the products with it NaN, also after a rectifier; other elements are not affected.
 */
static void product_of_nan(uint32_t dtype, bool convolution)
{
    ferry_op_desc op =
        op_begin(convolution ? FERRY_OP_CONVOLUTION : FERRY_OP_INNER_PRODUCT, 3, 1);
    struct op_whole w;

    op.constants = 6;
    op.n_epilogue = 1;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY, .function = FERRY_UNARY_RELU };
    OP_SHAPE(&op.in[2], dtype, 17);
    if (convolution) {
        op.params.window = (ferry_op_window){ .axes = 2,
                                              .group = 1,
                                              .kernel = { 3, 3, 1 },
                                              .stride = { 1, 1, 1 },
                                              .dilation = { 1, 1, 1 } };
        OP_SHAPE(&op.in[0], dtype, 1, 9, 12, 23);
        OP_SHAPE(&op.in[1], dtype, 17, 9, 3, 3);
        OP_SHAPE(&op.out[0], dtype, 1, 17, 10, 21);
    } else {
        OP_SHAPE(&op.in[0], dtype, 19, 35);
        OP_SHAPE(&op.in[1], dtype, 17, 35);
        OP_SHAPE(&op.out[0], dtype, 19, 17);
    }
    if (!op_whole_open(&w, &op, "NaN in x, followed by a rectifier"))
        return;
    for (uint32_t k = 0; k < w.op.n_in; k++)
        op_array_fill(&w.in[k], -1, 1, k);
    arith_put((ferry_dtype)dtype, w.in[0].host, 8, (long double)NAN);
    arith_put((ferry_dtype)dtype, w.in[0].host, op_count(&op.in[0]) - 1, (long double)NAN);
    finish(&w, NULL);
}

static void all_of(uint32_t dtype)
{
    for (uint32_t f = 0; f < FERRY_UNARY_COUNT; f++)
        unary(dtype, f, op_unary_trials[f][0]);
    unary(dtype, FERRY_UNARY_RELU, 0);
    unary(dtype, FERRY_UNARY_POWER, 1);
    unary(dtype, FERRY_UNARY_POWER, 2);
    for (uint32_t f = FERRY_BINARY_SUM; f <= FERRY_BINARY_QUOTIENT; f++)
        binary(dtype, f);
    rows(dtype, 13);
    rows(dtype, 301);
    for (int last = 0; last < 2; last++) {
        pool(dtype, FERRY_POOL_MAX, false, last);
        pool(dtype, FERRY_POOL_MAX, true, last);
        pool(dtype, FERRY_POOL_AVERAGE, false, last);
    }
    resize(dtype, FERRY_PASS_FORWARD);
    resize(dtype, FERRY_PASS_BACKWARD_DATA);
    gemm_by_beta_0(dtype);
    product_of_nan(dtype, false);
    product_of_nan(dtype, true);
}

void group_ops_values(void)
{
    uint32_t mask = 0;

    op_open();
    for (uint32_t t = FERRY_F32; t <= FERRY_F64; t++) {
        int so_far = op_tally.taken;

        all_of(t);
        mask |= op_tally.taken > so_far ? 1u << t : 0;
    }
    op_remark(kit_dtype_list(mask));
}
