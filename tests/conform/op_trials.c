/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op.h>

#include <string.h>

/* The trials: small shapes with the sizes at which loops are split. */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A plain operand; dimensions end at −1. */
void op_shape(ferry_operand *o, uint32_t dtype, const int64_t *shape)
{
    memset(o, 0, sizeof(*o));
    o->dtype = dtype;
    for (; o->rank < FERRY_OP_AXES && shape[o->rank] >= 0; o->rank++)
        o->shape[o->rank] = shape[o->rank];
    op_lay(o, OP_PLAIN);
}

ferry_op_desc op_begin(uint32_t kind, uint32_t n_in, uint32_t n_out)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, kind);
    op.n_in = n_in;
    op.n_out = n_out;
    return op;
}

/* ---- windows -------------------------------------------------------------------------------- */

struct windowed {
    const char *note;
    uint32_t axes, group, transposed;
    int64_t n, c, o;
    int64_t in[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
};

#define ONES    \
    {           \
        1, 1, 1 \
    }

static const struct windowed convolutions[] = {
    { "1 x 1", 2, 1, 0, 2, 5, 7, { 4, 3 }, ONES, ONES, ONES, { 0 }, { 0 } },
    { "3 x 3", 2, 1, 0, 1, 3, 17, { 9, 8 }, { 3, 3 }, ONES, ONES, { 1, 1 }, { 1, 1 } },
    { "many channels", 2, 1, 0, 1, 35, 33, { 5, 6 }, { 3, 3 }, ONES, ONES, { 1, 1 }, { 1, 1 } },
    { "stride and uneven pads",
      2,
      1,
      0,
      2,
      4,
      5,
      { 7, 9 },
      { 3, 2 },
      { 2, 3 },
      ONES,
      { 2, 0 },
      { 0, 1 } },
    { "dilation", 2, 1, 0, 1, 3, 4, { 9, 9 }, { 3, 3 }, ONES, { 2, 3 }, { 1, 2 }, { 1, 2 } },
    { "groups", 2, 3, 0, 2, 6, 9, { 5, 5 }, { 3, 3 }, ONES, ONES, { 1, 1 }, { 0, 2 } },
    { "a group a channel",
      2,
      19,
      0,
      1,
      19,
      19,
      { 6, 7 },
      { 3, 3 },
      { 2, 1 },
      ONES,
      { 1, 1 },
      { 1, 1 } },
    { "axes of 1", 2, 1, 0, 1, 1, 1, { 1, 1 }, { 3, 3 }, ONES, ONES, { 1, 1 }, { 1, 1 } },
    { "a kernel as large as the image",
      2,
      1,
      0,
      3,
      2,
      5,
      { 4, 3 },
      { 4, 3 },
      ONES,
      ONES,
      { 0 },
      { 0 } },
    { "one axis", 1, 1, 0, 2, 3, 4, { 11 }, { 4 }, { 2, 1, 1 }, ONES, { 1 }, { 2 } },
    { "three axes",
      3,
      1,
      0,
      1,
      3,
      5,
      { 4, 5, 3 },
      { 2, 3, 3 },
      ONES,
      ONES,
      { 0, 1, 1 },
      { 1, 1, 1 } },
    { "transposed", 2, 1, 1, 2, 5, 3, { 4, 3 }, { 3, 2 }, { 2, 2 }, ONES, { 1, 0 }, { 0, 0 } },
    { "transposed, groups",
      2,
      2,
      1,
      1,
      4,
      6,
      { 3, 3 },
      { 4, 4 },
      { 2, 2 },
      ONES,
      { 1, 1 },
      { 1, 1 } },
    { "no image", 2, 1, 0, 0, 3, 4, { 5, 5 }, { 3, 3 }, ONES, ONES, { 0 }, { 0 } },
};

static void window_of(const struct windowed *t, ferry_op_window *w)
{
    w->axes = t->axes;
    w->group = t->group;
    w->transposed = t->transposed;
    for (uint32_t i = 0; i < t->axes; i++) {
        w->kernel[i] = t->kernel[i];
        w->stride[i] = t->stride[i] > 0 ? t->stride[i] : 1;
        w->dilation[i] = t->dilation[i];
        w->pad[i] = t->pad[i];
        w->pad_end[i] = t->pad_end[i];
    }
    for (uint32_t i = t->axes; i < FERRY_OP_SPATIAL; i++)
        w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
}

static int64_t windows_along(const ferry_op_window *w, uint32_t i, int64_t in)
{
    int64_t extent = w->dilation[i] * (w->kernel[i] - 1) + 1;

    return w->transposed ? w->stride[i] * (in - 1) + extent - w->pad[i] - w->pad_end[i]
                         : (in + w->pad[i] + w->pad_end[i] - extent) / w->stride[i] + 1;
}

/* (n, c, image…) or, with a window, (n, c, number of windows…). */
static void image(ferry_operand *o, uint32_t dtype, const struct windowed *t, int64_t c,
                  const ferry_op_window *w)
{
    int64_t shape[FERRY_OP_AXES] = { t->n, c };

    for (uint32_t i = 0; i < t->axes; i++)
        shape[2 + i] = w ? windows_along(w, i, t->in[i]) : t->in[i];
    shape[2 + t->axes] = -1;
    op_shape(o, dtype, shape);
}

static void convolution(const struct windowed *t, uint32_t dtype, bool constant)
{
    ferry_op_desc op = op_begin(FERRY_OP_CONVOLUTION, constant ? 3 : 2, 1);
    ferry_op_window *w = &op.params.window;
    int64_t shape[6];

    window_of(t, w);
    shape[0] = t->transposed ? t->c : t->o;
    shape[1] = (t->transposed ? t->o : t->c) / t->group;
    memcpy(&shape[2], t->kernel, sizeof(t->kernel));
    shape[2 + t->axes] = -1;
    image(&op.in[0], dtype, t, t->c, NULL);
    op_shape(&op.in[1], dtype, shape);
    image(&op.out[0], dtype, t, t->o, w);
    if (constant) { /* weights and bias that may be packed, followed by a ReLU */
        OP_SHAPE(&op.in[2], dtype, t->o);
        op.constants = 6;
        op.n_epilogue = 1;
        op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY, .a = 0.25 };
    }
    op_try(&op, t->note, false);
    if (!constant)
        op_try_backward(&op, t->note);
}

static void columns(const struct windowed *t, uint32_t dtype, uint32_t kind)
{
    ferry_op_desc op = op_begin(kind, 1, 1);
    int64_t c = t->c;

    window_of(t, &op.params.window);
    for (uint32_t i = 0; i < t->axes; i++)
        c *= t->kernel[i];
    image(kind == FERRY_OP_IM2COL ? &op.in[0] : &op.out[0], dtype, t, t->c, NULL);
    image(kind == FERRY_OP_IM2COL ? &op.out[0] : &op.in[0], dtype, t, c, &op.params.window);
    op_try(&op, t->note, false);
}

static const struct windowed pools[] = {
    { "2 x 2", 2, 1, 0, 2, 5, 0, { 6, 5 }, { 2, 2 }, { 2, 2 }, ONES, { 0 }, { 0 } },
    { "3 x 3, overlapping",
      2,
      1,
      0,
      1,
      33,
      0,
      { 7, 8 },
      { 3, 3 },
      { 2, 2 },
      ONES,
      { 1, 1 },
      { 1, 1 } },
    { "uneven", 2, 1, 0, 1, 3, 0, { 8, 5 }, { 3, 2 }, { 1, 3 }, ONES, { 0, 1 }, { 2, 1 } },
    { "the whole image", 2, 1, 0, 2, 19, 0, { 5, 4 }, { 5, 4 }, ONES, ONES, { 0 }, { 0 } },
    { "axes of 1", 2, 1, 0, 1, 1, 0, { 1, 1 }, { 1, 1 }, ONES, ONES, { 0 }, { 0 } },
};

static void pool(const struct windowed *t, uint32_t dtype, uint32_t method, uint32_t divisor,
                 uint32_t n_out)
{
    ferry_op_desc op = op_begin(FERRY_OP_POOL, 1, n_out);

    window_of(t, &op.params.window);
    op.params.pool.method = method;
    op.params.pool.divisor = divisor;
    image(&op.in[0], dtype, t, t->c, NULL);
    image(&op.out[0], dtype, t, t->c, &op.params.window);
    op.out[1] = n_out > 1 ? op.out[0] : op.out[1];
    op.out[1].dtype = n_out > 1 ? FERRY_I32 : 0;
    op_try(&op, t->note, false);
    if (method == FERRY_POOL_AVERAGE || n_out > 1)
        op_try_backward(&op, t->note);
}

static void windows(uint32_t dtype)
{
    for (int i = 0; i < LENGTH(convolutions); i++) {
        convolution(&convolutions[i], dtype, false);
        convolution(&convolutions[i], dtype, true);
        if (convolutions[i].group > 1 || convolutions[i].transposed)
            continue;
        columns(&convolutions[i], dtype, FERRY_OP_IM2COL);
        columns(&convolutions[i], dtype, FERRY_OP_COL2IM);
    }
    for (int i = 0; i < LENGTH(pools); i++) {
        pool(&pools[i], dtype, FERRY_POOL_MAX, 0, 1);
        pool(&pools[i], dtype, FERRY_POOL_MAX, 0, 2);
        pool(&pools[i], dtype, FERRY_POOL_AVERAGE, FERRY_POOL_DIVISOR_PADDED, 1);
        pool(&pools[i], dtype, FERRY_POOL_AVERAGE, FERRY_POOL_DIVISOR_VALID, 1);
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

static void inner_product(uint32_t dtype, const int64_t *x, int64_t n, bool constant)
{
    ferry_op_desc op = op_begin(FERRY_OP_INNER_PRODUCT, constant ? 3 : 2, 1);

    op_shape(&op.in[0], dtype, x);
    OP_SHAPE(&op.in[1], dtype, n, x[0] ? op_count(&op.in[0]) / x[0] : 8);
    OP_SHAPE(&op.out[0], dtype, x[0], n);
    if (constant) {
        OP_SHAPE(&op.in[2], dtype, n);
        op.constants = 6;
    }
    op_try(&op, constant ? "constants" : "", false);
    if (!constant)
        op_try_backward(&op, "");
}

static void gemm(uint32_t dtype, int64_t b, int64_t m, int64_t n, int64_t k, uint32_t n_in)
{
    ferry_op_desc op = op_begin(FERRY_OP_BATCHED_GEMM, n_in, 1);

    op.params.gemm.alpha = -1.5;
    op.params.gemm.beta = n_in > 2 ? 0.5 : 0;
    OP_SHAPE(&op.in[0], dtype, b, m, k);
    OP_SHAPE(&op.in[1], dtype, 1, k, n);
    OP_SHAPE(&op.out[0], dtype, b, m, n);
    if (n_in > 2)
        op.in[2] = op.out[0];
    op_try(&op, "", false);
}

static void matrices(uint32_t dtype)
{
    static const int64_t x[][4] = { { 1, 1, -1 },    { 3, 5, -1 },       { 7, 33, -1 },
                                    { 2, 3, 4, -1 }, { 17, 70, -1, -1 }, { 0, 8, -1 } };
    static const int64_t products[][4] = {
        { 1, 1, 1, 1 }, { 2, 3, 4, 5 }, { 3, 17, 33, 9 }, { 1, 7, 5, 0 }, { 0, 2, 2, 2 }
    };

    for (int i = 0; i < LENGTH(x); i++) {
        inner_product(dtype, x[i], 3 + 7 * i, false);
        inner_product(dtype, x[i], 1 + 8 * i, true);
    }
    for (int i = 0; i < LENGTH(products); i++)
        for (uint32_t n_in = 2; n_in <= 3; n_in++)
            gemm(dtype, products[i][0], products[i][1], products[i][2], products[i][3], n_in);
}

/* ---- elements ------------------------------------------------------------------------------- */

static const int64_t shapes[][6] = { { 1, -1 },          { 7, -1 },           { 3, 5, -1 },
                                     { 2, 3, 5, 7, -1 }, { 1, 17, 1, 9, -1 }, { 2, 3, 1, 4, 5, -1 },
                                     { 2, 0, 3, -1 },    { 1037, -1 } };

static void unary(uint32_t dtype, uint32_t function, const int64_t *shape, bool in_place)
{
    ferry_op_desc op = op_begin(FERRY_OP_UNARY, 1, 1);

    op.params.unary.function = function;
    op.params.unary.a = op_unary_trials[function][0];
    op.params.unary.b = op_unary_trials[function][1];
    op.params.unary.c = op_unary_trials[function][2];
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    op_try(&op, in_place ? "in place" : "", in_place);
    if (!in_place && (shape == shapes[3] || shape == shapes[7]))
        op_try_backward(&op, "");
}

static void binary(uint32_t dtype, uint32_t function, const int64_t *shape, int smaller)
{
    ferry_op_desc op = op_begin(FERRY_OP_BINARY, function == FERRY_BINARY_NORMALISE ? 3 : 2, 1);

    op.params.binary.function = function;
    op.params.binary.a = 1.5;
    op.params.binary.b = -0.5;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[1] = op.in[0];
    for (uint32_t axis = 0; axis < op.in[1].rank && smaller; axis++)
        op.in[1].shape[axis] = (int)axis == smaller ? op.in[1].shape[axis] : 1;
    op_lay(&op.in[1], OP_PLAIN);
    if (function == FERRY_BINARY_SCALE && smaller)
        op.n_in = 3;
    if (op.n_in == 3)
        op.in[2] = op.in[1];
    op_try(&op, smaller ? "one operand smaller" : "", false);
    if (shape == shapes[3] || shape == shapes[7])
        op_try_backward(&op, smaller ? "one operand smaller" : "");
    if (!smaller)
        op_try(&op, "in place", true);
}

static void copy(uint32_t dtype, const int64_t *shape)
{
    ferry_op_desc op = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);

    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    op_try(&op, "", false);
}

static void elements(uint32_t dtype)
{
    for (int i = 0; i < LENGTH(shapes); i++) {
        for (uint32_t f = 0; f < FERRY_UNARY_COUNT; f++)
            unary(dtype, f, shapes[i], f == (uint32_t)i);
        for (uint32_t f = FERRY_BINARY_SUM; f <= FERRY_BINARY_QUOTIENT; f++)
            for (int smaller = 0; smaller < 3; smaller++)
                binary(dtype, f, shapes[i], smaller);
        copy(dtype, shapes[i]);
    }
}

/* ---- along axes ----------------------------------------------------------------------------- */

static void reduce(uint32_t dtype, uint32_t function, const int64_t *shape, uint32_t axes)
{
    bool both = function > FERRY_REDUCE_ARGMAX; /* MOMENTS */
    ferry_op_desc op = op_begin(both ? FERRY_OP_MOMENTS : FERRY_OP_REDUCE, 1, both ? 2 : 1);

    op.params.reduce.function = both ? 0 : function;
    op.params.reduce.scale = both ? 0 : function == FERRY_REDUCE_ARGMAX ? 1 : 0.5;
    op.params.reduce.axes = axes;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    for (uint32_t axis = 0; axis < op.in[0].rank; axis++)
        op.out[0].shape[axis] = axes >> axis & 1 ? 1 : op.in[0].shape[axis];
    op_lay(&op.out[0], OP_PLAIN);
    op.out[1] = both ? op.out[0] : op.out[1];
    op.out[0].dtype = function == FERRY_REDUCE_ARGMAX ? FERRY_I32 : dtype;
    op_try(&op, "", false);
    if (axes > 9)
        op_try_backward(&op, "");
}

static void softmax(uint32_t dtype, const int64_t *shape, uint32_t axis, uint32_t logarithm)
{
    ferry_op_desc op = op_begin(FERRY_OP_SOFTMAX, 1, 1);

    op.params.softmax.axis = axis;
    op.params.softmax.logarithm = logarithm;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    op_try(&op, logarithm ? "its logarithm" : "", false);
    op_try_backward(&op, logarithm ? "its logarithm" : "");
    op_try(&op, "in place", true);
}

static void lrn(uint32_t dtype, uint32_t region, const int64_t *shape, int64_t size, uint32_t n_out)
{
    ferry_op_desc op = op_begin(FERRY_OP_LRN, 1, n_out);

    op.params.lrn.region = region;
    op.params.lrn.size = size;
    op.params.lrn.alpha = 0.75;
    op.params.lrn.beta = 0.75;
    op.params.lrn.k = region == FERRY_LRN_ACROSS ? 2 : 1;
    op_shape(&op.in[0], dtype, shape);
    op.out[0] = op.in[0];
    op.out[1] = n_out > 1 ? op.in[0] : op.out[1];
    op_try(&op, region == FERRY_LRN_ACROSS ? "across channels" : "within a channel", false);
    op_try_backward(&op, region == FERRY_LRN_ACROSS ? "across channels" : "within a channel");
}

static void gather(uint32_t dtype, uint32_t index)
{
    ferry_op_desc op = op_begin(FERRY_OP_GATHER, 2, 1);

    OP_SHAPE(&op.in[0], dtype, 7, 5); /* indices from −9 to 9, some of which are out of range */
    OP_SHAPE(&op.in[1], index, 4, 6);
    OP_SHAPE(&op.out[0], dtype, 4, 6, 5);
    op_try(&op, "indices in and out of the table", false);
}

static void axes(uint32_t dtype)
{
    static const int64_t shape[][6] = { { 2, 5, 3, 4, -1 },
                                        { 1, 33, 5, 1, -1 },
                                        { 3, 1, 7, 9, -1 } };
    static const int64_t none[] = { 3, 0, -1 };

    for (int i = 0; i < LENGTH(shape); i++) {
        for (uint32_t f = FERRY_REDUCE_SUM; f <= FERRY_REDUCE_MAX; f++)
            for (uint32_t mask = 1; mask < 16; mask += 1 + (uint32_t)i)
                reduce(dtype, f, shape[i], mask);
        for (uint32_t axis = 0; axis < 4; axis++) {
            reduce(dtype, FERRY_REDUCE_ARGMAX, shape[i], 1u << axis);
            softmax(dtype, shape[i], axis, axis & 1);
        }
        reduce(dtype, FERRY_REDUCE_ARGMAX + 1, shape[i], 13);
        reduce(dtype, FERRY_REDUCE_ARGMAX + 1, shape[i], 14);
        lrn(dtype, FERRY_LRN_ACROSS, shape[i], 5, 1);
        lrn(dtype, FERRY_LRN_ACROSS, shape[i], 3, 2);
        lrn(dtype, FERRY_LRN_WITHIN, shape[i], 3, 1);
    }
    reduce(dtype, FERRY_REDUCE_SUM, none, 2); /* an empty sum */
    gather(dtype, FERRY_I32);
    gather(dtype, FERRY_I64);
}

void op_trials(uint32_t dtype)
{
    windows(dtype);
    matrices(dtype);
    elements(dtype);
    axes(dtype);
    op_other_trials(dtype);
}
