/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/op_types.h>
#include <string.h>

/*
 * ops-large: every kind beyond 65,535 groups of 64 outputs, sums of more than 65,536 · 16 terms,
 * more than 2^24 elements, and the sizes between, at which plugins choose among algorithms. All
 * elements have to be written; the values of some are computed. In F32, and in F16 what the plugin
 * takes.
 */

/* Two sides of an image of 65,535 · 64 + 25,555 elements, neither a multiple of 4. */
#define H 1185
#define W 1187

/* Terms of the longest sums, and elements beyond those that a float counts. */
#define LONG  INT64_C(1100003)
#define MANY  INT64_C(16777261)
#define INDEX INT64_C(66003)

static ferry_dtype dtype; /* of this round */

/* ---- contents ------------------------------------------------------------------------------- */

static void fill_indices(struct op_array *a, int64_t rows)
{
    for (int64_t k = 0; k < op_count(&a->o); k++)
        arith_put((ferry_dtype)a->o.dtype, a->host, k, (long double)(k * 7919 % rows));
}

static void fill_regions(struct op_array *a, int64_t images)
{
    for (int64_t k = 0; k < op_count(&a->o); k++) {
        int64_t r = k / 5, c = k % 5;

        arith_put((ferry_dtype)a->o.dtype, a->host, k,
                  (long double)(c == 0   ? r % images
                                : c < 3 ? r % 5
                                        : r % 5 + 3 + r % 7));
    }
}

/*
 * Sums have positive terms, so that a part that is missing is larger than the tolerance. Those of
 * F16 have small ones: the sum of 2^24 is below 65504.
 */
static void fill(struct op_whole *w)
{
    const ferry_op_desc *op = &w->op;
    bool sums = op->kind == FERRY_OP_REDUCE || op->kind == FERRY_OP_INNER_PRODUCT ||
                op->kind == FERRY_OP_BATCHED_GEMM || op->kind == FERRY_OP_MOMENTS ||
                op->pass >= FERRY_PASS_BACKWARD_WEIGHTS;
    double most = sums && dtype == FERRY_F16 && op->kind != FERRY_OP_MOMENTS ? 0x1p-9 : 1;

    for (uint32_t i = 0; i < op->n_in; i++)
        op_array_fill(&w->in[i], sums ? most / 4 : -1, most, i);
    for (uint32_t i = 0; i < op->n_out && op_reads_outputs(op); i++)
        op_array_fill(&w->out[i], 0.25, 1, 9 + i);
    if (op->kind == FERRY_OP_LRN && op->pass)
        op_array_fill(&w->in[3], 0.5, 2, 3);
    if (op->kind == FERRY_OP_GATHER)
        fill_indices(&w->in[1], op->in[0].shape[0] + 3);
    if (op->kind == FERRY_OP_SCATTER_ADD)
        fill_indices(&w->in[1], op->out[0].shape[0] + 3);
    if (op->kind == FERRY_OP_ROI_POOL)
        fill_regions(&w->in[1], op->in[0].shape[0]);
    if (op->kind == FERRY_OP_POOL && op->pass && op->n_in > 1)
        for (int64_t k = 0; k < op_count(&op->in[1]); k++) /* the offset of the window's first */
            ((int32_t *)(void *)w->in[1].host)[k] =
                (int32_t)(k / op->in[1].shape[3] * op->out[0].shape[3] + k % op->in[1].shape[3]);
    if (op->kind == FERRY_OP_REDUCE && op->params.reduce.function >= FERRY_REDUCE_MAX &&
        op->in[0].rank == 1) /* the largest twice, the second one beyond what a float counts */
        for (int64_t k = 1; k <= 2; k++)
            arith_put(dtype, w->in[0].host, op_count(&op->in[0]) * k / 2 - 3 * k, 7);
}

/* `terms`: the number of products or elements that contribute to one output. */
static void try(const ferry_op_desc *op, int64_t terms, const char *note)
{
    int64_t most = 400000 / (terms > 0 ? terms : 1);
    struct op_whole w;

    if (!op_whole_open(&w, op, note))
        return;
    fill(&w);
    op_whole_run(&w, NULL, true);
    op_whole_check(&w, most < 1 ? 1 : most > 1500 ? 1500 : most, NULL);
    op_whole_close(&w);
}

/* ---- elements ------------------------------------------------------------------------------- */

static ferry_op_desc unary(uint32_t function, const int64_t *shape)
{
    ferry_op_desc op = op_begin(FERRY_OP_UNARY, 1, 1);

    op.params.unary.function = function;
    op.params.unary.a = op_unary_trials[function][0];
    op.params.unary.b = op_unary_trials[function][1];
    op.params.unary.c = op_unary_trials[function][2];
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    return op;
}

static void binary(uint32_t function, const int64_t *shape, bool channels)
{
    ferry_op_desc op = op_begin(FERRY_OP_BINARY, function == FERRY_BINARY_SCALE ? 3 : 2, 1);

    op.params.binary.function = function;
    op.params.binary.a = 1.5;
    op.params.binary.b = -0.5;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[1] = op.in[0];
    if (channels)
        for (uint32_t axis = 0; axis < op.in[1].rank; axis++)
            op.in[1].shape[axis] = axis == 1 ? op.in[1].shape[axis] : 1;
    op_lay(&op.in[1], OP_PLAIN);
    op.in[2] = op.n_in > 2 ? op.in[1] : op.in[2];
    try(&op, 1, "");
    if (!channels)
        return;
    op.pass = FERRY_PASS_BACKWARD_WEIGHTS; /* sums over images of all but the channels */
    op.n_in = 2;
    op.out[0] = op.in[1];
    op.in[1] = op.in[0];
    memset(&op.in[2], 0, sizeof(op.in[2]));
    try(&op, op_count(&op.in[0]), "");
    op.pass = FERRY_PASS_BACKWARD_BIAS;
    op.n_in = 1;
    memset(&op.in[1], 0, sizeof(op.in[1]));
    try(&op, op_count(&op.in[0]), "");
}

static void copy(const int64_t *shape, bool exchanged)
{
    ferry_op_desc op = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);

    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    if (exchanged)
        op_lay(&op.in[0], OP_LAST);
    try(&op, 1, "");
}

static void update(uint32_t solver, int64_t n)
{
    ferry_op_desc op = op_begin(FERRY_OP_UPDATE, 1, solver == FERRY_UPDATE_ADAM ? 3 : 2);

    op.params.update.solver = solver;
    OP_SHAPE(&op.in[0], dtype, n);
    for (uint32_t i = 0; i < op.n_out; i++)
        op.out[i] = op.in[0];
    try(&op, 1, "");
}

static void random_numbers(uint32_t distribution, int64_t n)
{
    ferry_op_desc op = op_begin(FERRY_OP_RANDOM, 0, 1);

    op.params.random.distribution = distribution;
    op.params.random.a = 0.25;
    op.params.random.b = 1.5;
    OP_SHAPE(&op.out[0], dtype, n);
    try(&op, 1, "");
}

/* ---- sums ----------------------------------------------------------------------------------- */

static void reduce(uint32_t function, const int64_t *shape, uint32_t axes)
{
    ferry_op_desc op = op_begin(FERRY_OP_REDUCE, 1, 1);
    int64_t n = 1;

    op.params.reduce.function = function;
    op.params.reduce.axes = axes;
    op.params.reduce.scale = 1;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    for (uint32_t axis = 0; axis < op.in[0].rank; axis++)
        if (axes >> axis & 1) {
            n *= op.in[0].shape[axis];
            op.out[0].shape[axis] = 1;
        }
    op_lay(&op.out[0], OP_PLAIN);
    op.out[0].dtype = function == FERRY_REDUCE_ARGMAX ? FERRY_I32 : dtype;
    try(&op, n, "");
    if (function > FERRY_REDUCE_SUM)
        return;
    op.kind = FERRY_OP_MOMENTS;
    op.params.reduce.scale = 0;
    op.n_out = 2;
    op.out[1] = op.out[0];
    try(&op, n, "");
}

/*
 * The first eight terms are so large that the others are below half a unit of the sum. A
 * compensated sum keeps those in a second sum, which is long too, and rounds each addition in one
 * direction.
 */
static void lost_terms(uint32_t function)
{
    bool squares = function == FERRY_REDUCE_SUMSQ;
    ferry_op_desc op = op_begin(FERRY_OP_REDUCE, 1, 1);
    struct op_whole w;

    op.params.reduce.function = function;
    op.params.reduce.axes = 1;
    op.params.reduce.scale = 1;
    OP_SHAPE(&op.in[0], dtype, LONG);
    OP_SHAPE(&op.out[0], dtype, 1);
    if (dtype != FERRY_F32 || !op_whole_open(&w, &op, ", of 8 large terms and others of 0.9"))
        return;
    for (int64_t k = 0; k < LONG; k++)
        arith_put(dtype, w.in[0].host, k,
                  k < 8 ? (squares ? 0x1p12 : 0x1p24) : (squares ? 0x1.e5b9d2p-1 : 0.9));
    op_whole_run(&w, NULL, true);
    op_whole_check(&w, 1, NULL);
    op_whole_close(&w);
}

static void softmax(const int64_t *shape, uint32_t axis)
{
    ferry_op_desc op = op_begin(FERRY_OP_SOFTMAX, 1, 1);

    op.params.softmax.axis = axis;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    try(&op, op.in[0].shape[axis], "");
    op.pass = FERRY_PASS_BACKWARD_DATA;
    op.n_in = 2;
    op.in[1] = op.in[0];
    try(&op, op.in[0].shape[axis], "");
}

static void inner_product(int64_t m, int64_t n, int64_t k)
{
    ferry_op_desc op = op_begin(FERRY_OP_INNER_PRODUCT, 3, 1);

    OP_SHAPE(&op.in[0], dtype, m, k);
    OP_SHAPE(&op.in[1], dtype, n, k);
    OP_SHAPE(&op.in[2], dtype, n);
    OP_SHAPE(&op.out[0], dtype, m, n);
    op.constants = 6;
    try(&op, k, "");
}

static void gemm(int64_t m, int64_t n, int64_t k)
{
    ferry_op_desc op = op_begin(FERRY_OP_BATCHED_GEMM, 3, 1);

    op.params.gemm.alpha = 1;
    op.params.gemm.beta = 0.5;
    OP_SHAPE(&op.in[0], dtype, 1, m, k);
    OP_SHAPE(&op.in[1], dtype, 1, k, n);
    OP_SHAPE(&op.out[0], dtype, 1, m, n);
    op.in[2] = op.out[0];
    try(&op, k, "");
}

/* ---- windows -------------------------------------------------------------------------------- */

static ferry_op_window window(int64_t kernel, int64_t stride, int64_t pad, int64_t group)
{
    return (ferry_op_window){ .axes = 2,
                              .group = (uint32_t)group,
                              .kernel = { kernel, kernel, 1 },
                              .stride = { stride, stride, 1 },
                              .dilation = { 1, 1, 1 },
                              .pad = { pad, pad, 0 },
                              .pad_end = { pad, pad, 0 } };
}

static int64_t windows(int64_t in, const ferry_op_window *w)
{
    return (in + w->pad[0] + w->pad_end[0] - w->kernel[0]) / w->stride[0] + 1;
}

struct shape {
    int64_t c, o, h, w, kernel, stride, pad, group;
};

static void convolution(const struct shape *s, enum op_layout layout, bool backward)
{
    ferry_op_desc op = op_begin(FERRY_OP_CONVOLUTION, 3, 1);
    ferry_op_window *w = &op.params.window;
    ferry_operand x, y, weights;
    int64_t terms = s->c / s->group * s->kernel * s->kernel;

    *w = window(s->kernel, s->stride, s->pad, s->group);
    OP_SHAPE(&x, dtype, 1, s->c, s->h, s->w);
    OP_SHAPE(&weights, dtype, s->o, s->c / s->group, s->kernel, s->kernel);
    OP_SHAPE(&op.in[2], dtype, s->o);
    OP_SHAPE(&y, dtype, 1, s->o, windows(s->h, w), windows(s->w, w));
    op_lay(&x, layout);
    op_lay(&y, layout);
    op.in[0] = x;
    op.in[1] = weights;
    op.out[0] = y;
    op.constants = 6;
    try(&op, terms, "");
    if (!backward)
        return;
    op.constants = 0;
    memset(&op.in[2], 0, sizeof(op.in[2]));
    op.n_in = 2;
    op.in[0] = y;
    op.out[0] = x;
    op.pass = FERRY_PASS_BACKWARD_DATA;
    try(&op, s->o / s->group * s->kernel * s->kernel, "");
    op.in[1] = x;
    op.out[0] = weights;
    op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
    try(&op, op_count(&y) / s->o, "");
    op.n_in = 1;
    memset(&op.in[1], 0, sizeof(op.in[1]));
    OP_SHAPE(&op.out[0], dtype, s->o);
    op.pass = FERRY_PASS_BACKWARD_BIAS;
    try(&op, op_count(&y) / s->o, "");
}

static void columns(int64_t h, int64_t w, int64_t kernel, int64_t stride)
{
    ferry_op_desc op = op_begin(FERRY_OP_IM2COL, 1, 1);
    ferry_operand image, all;

    op.params.window = window(kernel, stride, 0, 1);
    OP_SHAPE(&image, dtype, 1, 1, h, w);
    OP_SHAPE(&all, dtype, 1, kernel * kernel, windows(h, &op.params.window),
             windows(w, &op.params.window));
    op.in[0] = image;
    op.out[0] = all;
    try(&op, 1, "");
    op.kind = FERRY_OP_COL2IM;
    op.in[0] = all;
    op.out[0] = image;
    try(&op, kernel * kernel, "");
}

static void pool(uint32_t method, int64_t c, int64_t h, int64_t w, int64_t kernel,
                 enum op_layout layout)
{
    ferry_op_desc op = op_begin(FERRY_OP_POOL, 1, method == FERRY_POOL_MAX ? 2 : 1);
    ferry_operand x, y, mask;

    op.params.pool.method = method;
    op.params.window = window(kernel, 1, 0, 1);
    OP_SHAPE(&x, dtype, 1, c, h, w);
    OP_SHAPE(&y, dtype, 1, c, windows(h, &op.params.window), windows(w, &op.params.window));
    op_lay(&x, layout);
    op_lay(&y, layout);
    mask = y;
    mask.dtype = FERRY_I32;
    op.in[0] = x;
    op.out[0] = y;
    op.out[1] = op.n_out > 1 ? mask : op.out[1];
    try(&op, kernel * kernel, "");
    op.pass = FERRY_PASS_BACKWARD_DATA;
    op.in[0] = y;
    op.in[1] = op.n_out > 1 ? mask : op.in[1];
    op.n_in = op.n_out;
    op.n_out = 1;
    memset(&op.out[1], 0, sizeof(op.out[1]));
    op.out[0] = x;
    try(&op, kernel * kernel, "");
}

static void lrn(uint32_t region)
{
    ferry_op_desc op = op_begin(FERRY_OP_LRN, 1, 2);

    op.params.lrn.region = region;
    op.params.lrn.size = 3;
    op.params.lrn.alpha = op.params.lrn.beta = 0.75;
    op.params.lrn.k = 1;
    OP_SHAPE(&op.in[0], dtype, 1, 3, H, W);
    op.out[0] = op.out[1] = op.in[0];
    op.n_out = region == FERRY_LRN_ACROSS ? 2 : 1;
    if (op.n_out < 2)
        memset(&op.out[1], 0, sizeof(op.out[1]));
    try(&op, 9, "");
    op.pass = FERRY_PASS_BACKWARD_DATA;
    op.n_out = 1;
    memset(&op.out[1], 0, sizeof(op.out[1]));
    op.n_in = 4;
    op.in[1] = op.in[2] = op.in[3] = op.in[0];
    try(&op, 9, "");
}

static void resize(uint32_t method)
{
    ferry_op_desc op = op_begin(FERRY_OP_RESIZE, 1, 1);

    op.params.resize.method = method;
    OP_SHAPE(&op.in[0], dtype, 1, 3, 400, 300);
    OP_SHAPE(&op.out[0], dtype, 1, 3, H, W);
    try(&op, 4, "");
    op.pass = FERRY_PASS_BACKWARD_DATA;
    OP_SHAPE(&op.out[0], dtype, 1, 3, 400, 300);
    OP_SHAPE(&op.in[0], dtype, 1, 3, H, W);
    try(&op, 10000, "");
}

static void tables(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_GATHER, 2, 1);

    OP_SHAPE(&op.in[0], dtype, 1009, 64);
    OP_SHAPE(&op.in[1], FERRY_I32, INDEX);
    OP_SHAPE(&op.out[0], dtype, INDEX, 64);
    try(&op, 1, "");
    op.kind = FERRY_OP_SCATTER_ADD;
    OP_SHAPE(&op.in[0], dtype, INDEX, 64);
    OP_SHAPE(&op.out[0], dtype, INDEX - 300, 64);
    try(&op, INDEX, "");
    op = op_begin(FERRY_OP_ROI_POOL, 2, 1);
    op.params.roi.spatial_scale = 1;
    OP_SHAPE(&op.in[0], dtype, 2, 16, 9, 11);
    OP_SHAPE(&op.in[1], dtype, INDEX, 5);
    OP_SHAPE(&op.out[0], dtype, INDEX, 16, 2, 2);
    try(&op, 100, "");
}

/* ---- the cases ------------------------------------------------------------------------------ */

#define SHAPE(...) ((const int64_t[]){ __VA_ARGS__, -1 })

static void more_than_65535_groups(void)
{
    static const struct shape shapes[] = { { 2, 3, H, W, 1, 1, 0, 1 }, { 1, 3, H, W, 3, 1, 1, 1 },
                                           { 4, 4, 1027, 1029, 3, 1, 1, 4 } };
    ferry_op_desc op = unary(FERRY_UNARY_SIGMOID, SHAPE(1, 3, H, W));

    try(&op, 1, "");
    op.pass = FERRY_PASS_BACKWARD_DATA;
    op.n_in = 2;
    op.in[1] = op.in[0];
    try(&op, 1, "");
    binary(FERRY_BINARY_SUM, SHAPE(1, 3, H, W), false);
    binary(FERRY_BINARY_SCALE, SHAPE(1, 3, H, W), true);
    copy(SHAPE(1, 3, H, W), false);
    copy(SHAPE(1, 3, H, W), true);
    for (int i = 0; i < 3; i++)
        convolution(&shapes[i], i ? OP_PLAIN : OP_LAST, i == 1);
    inner_product(2053, 2051, 9);
    gemm(2053, 2051, 9);
    columns(2062, 2064, 2, 2);
    pool(FERRY_POOL_MAX, 1, 2053, 2059, 2, OP_PLAIN);
    pool(FERRY_POOL_AVERAGE, 3, H, W, 2, OP_LAST);
    reduce(FERRY_REDUCE_SUM, SHAPE(3 * H * W, 2), 2);
    reduce(FERRY_REDUCE_ARGMAX, SHAPE(2, 3 * H * W), 1);
    softmax(SHAPE(H * W, 3), 1);
    softmax(SHAPE(1, 3, H, W), 1);
    lrn(FERRY_LRN_ACROSS);
    lrn(FERRY_LRN_WITHIN);
    resize(FERRY_RESIZE_NEAREST);
    resize(FERRY_RESIZE_BILINEAR);
    tables();
    random_numbers(FERRY_RANDOM_UNIFORM, 3 * H * W);
    random_numbers(FERRY_RANDOM_GAUSSIAN, 3 * H * W + 1);
    update(FERRY_UPDATE_SGD, 3 * H * W);
    update(FERRY_UPDATE_ADAM, 3 * H * W);
}

static void long_sums(void)
{
    static const struct shape wide = { 1, 2, 1051, 1053, 3, 1, 0, 1 };

    for (uint32_t function = FERRY_REDUCE_SUM; function <= FERRY_REDUCE_ARGMAX; function++) {
        reduce(function, SHAPE(LONG), 1);
        reduce(function, SHAPE(2, LONG), 2);
        reduce(function, SHAPE(LONG, 3), 1);
        if (function <= FERRY_REDUCE_ASUM)
            lost_terms(function);
    }
    softmax(SHAPE(1, LONG), 1);
    softmax(SHAPE(LONG, 2), 0);
    inner_product(1, 2, LONG);
    inner_product(3, 5, LONG / 10);
    gemm(2, 1, LONG);
    convolution(&wide, OP_PLAIN, true);
    pool(FERRY_POOL_AVERAGE, 1, 1051, 1053, 1050, OP_PLAIN);
}

static void more_than_a_float_counts(void)
{
    ferry_op_desc op = unary(FERRY_UNARY_RELU, SHAPE(MANY));

    try(&op, 1, "");
    binary(FERRY_BINARY_MAX, SHAPE(MANY), false);
    copy(SHAPE(MANY), false);
    reduce(FERRY_REDUCE_SUM, SHAPE(MANY), 1);
    reduce(FERRY_REDUCE_MAX, SHAPE(MANY), 1);
    reduce(FERRY_REDUCE_ARGMAX, SHAPE(MANY), 1);
}

/*
 * Tests the sizes at which plugins choose between algorithms: elements, rows, and products of the
 * layers of known nets.
 */
static void sizes_between(void)
{
    static const int64_t sizes[] = { 1009, 2053, 4099, 10007, 32771, 65537, 100003 };
    static const struct shape shapes[] = {
        { 3, 64, 57, 57, 7, 2, 3, 1 },  { 16, 16, 32, 32, 3, 1, 1, 1 },
        { 64, 64, 14, 14, 3, 1, 1, 1 }, { 32, 64, 28, 28, 1, 1, 0, 1 },
        { 96, 96, 29, 29, 3, 1, 1, 96 }, { 128, 130, 7, 7, 3, 1, 1, 1 },
        { 256, 48, 13, 13, 1, 1, 0, 1 }, { 48, 128, 27, 27, 5, 1, 2, 2 },
        { 512, 40, 1, 1, 1, 1, 0, 1 },  { 5, 7, 101, 99, 3, 2, 1, 1 }
    };
    static const int64_t products[][3] = { { 1, 1009, 257 },  { 8, 1000, 512 },  { 33, 100, 1003 },
                                           { 128, 512, 65 },  { 129, 129, 129 }, { 257, 255, 31 },
                                           { 1000, 10, 100 }, { 2, 4099, 1031 } };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ferry_op_desc op = unary(FERRY_UNARY_TANH, SHAPE(sizes[i]));

        try(&op, 1, "");
        binary(FERRY_BINARY_PRODUCT, SHAPE(sizes[i]), false);
        copy(SHAPE(sizes[i] / 7, 7), true);
        for (uint32_t f = FERRY_REDUCE_SUM; f <= FERRY_REDUCE_ARGMAX; f++) {
            reduce(f, SHAPE(sizes[i]), 1);
            reduce(f, SHAPE(sizes[i] / 100, 100), 2);
            reduce(f, SHAPE(100, sizes[i] / 100), 1);
        }
        softmax(SHAPE(1, sizes[i]), 1);
        softmax(SHAPE(sizes[i] / 100, 100), 1);
        update(FERRY_UPDATE_SGD, sizes[i]);
        random_numbers(FERRY_RANDOM_UNIFORM, sizes[i]);
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        convolution(&shapes[i], OP_PLAIN, true);
        convolution(&shapes[i], OP_LAST, false);
        pool(FERRY_POOL_MAX, shapes[i].c, shapes[i].h, shapes[i].w, shapes[i].h > 1 ? 2 : 1,
             OP_PLAIN);
    }
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        inner_product(products[i][0], products[i][1], products[i][2]);
        gemm(products[i][0], products[i][1], products[i][2]);
    }
}

void group_ops_large(void)
{
    static const ferry_dtype dtypes[] = { FERRY_F32, FERRY_F16 };
    unsigned mask = 0;

    op_open();
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        int so_far = op_tally.taken;

        dtype = dtypes[i];
        sizes_between();
        long_sums();
        more_than_65535_groups();
        more_than_a_float_counts();
        mask |= op_tally.taken > so_far ? 1u << dtype : 0;
    }
    op_remark(kit_dtype_list(mask));
}
