/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-make.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint32_t om_kinds[] = {
    FERRY_OP_CONVOLUTION,  FERRY_OP_INNER_PRODUCT, FERRY_OP_IM2COL,   FERRY_OP_COL2IM,
    FERRY_OP_BATCHED_GEMM, FERRY_OP_POOL,          FERRY_OP_UNARY,    FERRY_OP_BINARY,
    FERRY_OP_REDUCE,       FERRY_OP_MOMENTS,       FERRY_OP_SOFTMAX,  FERRY_OP_LRN,
    FERRY_OP_STRIDED_COPY, FERRY_OP_RESIZE,        FERRY_OP_ROI_POOL, FERRY_OP_GATHER,
    FERRY_OP_SCATTER_ADD,  FERRY_OP_RANDOM,        FERRY_OP_UPDATE,
};
_Static_assert(sizeof om_kinds / sizeof *om_kinds == FERRY_OP_LAST - FERRY_OP_CONVOLUTION + 1,
               "all kinds are made");
const int om_kind_count = sizeof om_kinds / sizeof *om_kinds;

uint64_t om_number_of(const char *name, uint64_t usual)
{
    const char *value = getenv(name);

    return value && *value ? strtoull(value, NULL, 10) : usual;
}

int64_t om_pick(struct om_numbers *n, int64_t below)
{
    n->state = n->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below > 0 ? (int64_t)((n->state >> 33) % (uint64_t)below) : 0;
}

double om_value(struct om_numbers *n)
{
    return (double)(om_pick(n, 2048) - 1024) / 1024;
}

/* A dimension: small, often 1, sometimes not a multiple of a vector. */
static int64_t dim(struct om_numbers *n, int64_t most)
{
    int64_t kind = om_pick(n, 8);

    return kind == 0 ? 1 : kind == 1 && most >= 17 ? 17 : 1 + om_pick(n, most);
}

/* Row-major; else channels-last; else a slice of a wider inner axis. */
static ferry_operand operand(struct om_numbers *n, int rank, const int64_t *shape)
{
    static const uint8_t last[3][5] = { { 0, 2, 1 }, { 0, 2, 3, 1 }, { 0, 2, 3, 4, 1 } };
    int64_t how = om_pick(n, 4);
    ferry_operand o = ferry_operand_make(
        FERRY_F32, shape, rank, how == 1 && rank >= 3 && rank <= 5 ? last[rank - 3] : NULL);
    int axis, k;

    if (how != 2 || rank < 2)
        return o;
    axis = 1 + (int)om_pick(n, rank - 1); /* all outer axes have larger strides */
    for (k = 0; k < axis; k++)
        o.stride[k] += o.stride[axis] * (o.shape[axis] > 0 ? o.shape[axis] : 1) * (k == 0 ? 3 : 2) *
                       (o.stride[k] / (o.stride[axis] ? o.stride[axis] : 1) + 1);
    for (k = axis; k-- > 1;)
        if (o.stride[k - 1] < o.stride[k] * o.shape[k])
            o.stride[k - 1] = o.stride[k] * o.shape[k];
    return o;
}

/* One number per channel; sometimes with a stride of two or three elements. */
static ferry_operand vector(struct om_numbers *n, int64_t length)
{
    ferry_operand o = ferry_operand_make(FERRY_F32, &length, 1, NULL);

    if (!om_pick(n, 4))
        o.stride[0] = 2 + om_pick(n, 2);
    return o;
}

static void image_shape(struct om_numbers *n, int spatial, int64_t channels, int64_t *shape)
{
    int i;

    shape[0] = 1 + om_pick(n, 3);
    shape[1] = channels;
    for (i = 0; i < spatial; i++)
        shape[2 + i] = dim(n, spatial == 1 ? 40 : spatial == 2 ? 14 : 6);
}

static void window(struct om_numbers *n, int spatial, const int64_t *image, bool pooling,
                   ferry_op_window *w)
{
    int i;

    w->axes = (uint32_t)spatial;
    for (i = 0; i < spatial; i++) {
        w->dilation[i] = pooling ? 1 : 1 + om_pick(n, 2);
        w->kernel[i] = 1 + om_pick(n, 5);
        w->stride[i] = 1 + om_pick(n, 3);
        w->pad[i] = om_pick(n, pooling ? w->kernel[i] : 4);
        w->pad_end[i] = pooling || om_pick(n, 3) ? w->pad[i] : om_pick(n, 3);
        while (w->dilation[i] * (w->kernel[i] - 1) + 1 > image[2 + i] + w->pad[i] + w->pad_end[i])
            w->kernel[i]--;
        if (w->pad[i] >= w->kernel[i] && pooling)
            w->pad[i] = w->pad_end[i] = w->kernel[i] - 1;
    }
}

static int64_t slid(const ferry_op_window *w, int i, int64_t in)
{
    return (in + w->pad[i] + w->pad_end[i] - w->dilation[i] * (w->kernel[i] - 1) - 1) /
               w->stride[i] +
           1;
}

/* Kernels of 3 × 3 with stride 1 or 2, for which plugins have special loops. */
static void three_by_three(struct om_numbers *n, ferry_op_window *w, int64_t *image)
{
    for (int i = 0; i < 2; i++) {
        w->kernel[i] = 3;
        w->dilation[i] = 1;
        w->stride[i] = 1 + om_pick(n, 2);
        if (image[2 + i] + w->pad[i] + w->pad_end[i] < 3)
            image[2 + i] = 3;
    }
}

static void make_convolution(struct om_numbers *n, ferry_op_desc *op)
{
    static const uint8_t last[] = { 0, 2, 3, 1 };
    static const int64_t groups[] = { 1, 1, 1, 2, 3 };
    ferry_op_window *w = &op->params.window;
    int spatial = om_pick(n, 5) ? 2 : 1 + (int)om_pick(n, 3), i;
    bool depthwise = !om_pick(n, 5), lines = depthwise && spatial == 2 && om_pick(n, 2);
    int64_t x[5], k[5], y[5], in, out;

    w->group = depthwise ? (uint32_t)dim(n, 40) : (uint32_t)groups[om_pick(n, 5)];
    in = (depthwise ? 1 : dim(n, 20)) * w->group;
    out = (depthwise ? 1 + om_pick(n, 2) : dim(n, 40)) * w->group;
    if (lines)
        w->group = (uint32_t)(in = out = (om_pick(n, 2) ? 16 : 4) * (1 + om_pick(n, 4)));
    image_shape(n, spatial, in, x);
    window(n, spatial, x, false, w);
    if (lines)
        three_by_three(n, w, x);
    w->transposed = !om_pick(n, 4);
    k[0] = w->transposed ? in : out;
    k[1] = (w->transposed ? out : in) / w->group;
    y[0] = x[0];
    y[1] = out;
    for (i = 0; i < spatial; i++) {
        k[2 + i] = w->kernel[i];
        y[2 + i] = slid(w, i, x[2 + i]);
        if (w->transposed) {
            int64_t wide = w->stride[i] * (x[2 + i] - 1) + w->dilation[i] * (w->kernel[i] - 1) + 1;

            while (wide - w->pad[i] - w->pad_end[i] < 1)
                w->pad[i] ? w->pad[i]-- : w->pad_end[i]--;
            y[2 + i] = wide - w->pad[i] - w->pad_end[i];
        }
    }
    op->in[0] = lines ? ferry_operand_make(FERRY_F32, x, 4, last) : operand(n, spatial + 2, x);
    op->in[1] = operand(n, spatial + 2, k);
    op->in[2] = vector(n, out);
    op->n_in = 2 + (uint32_t)om_pick(n, 2);
    op->constants = om_pick(n, 2) ? op->n_in == 3 ? 6 : 2 : 0;
    op->out[0] = lines ? ferry_operand_make(FERRY_F32, y, 4, last) : operand(n, spatial + 2, y);
}

static void make_columns(struct om_numbers *n, ferry_op_desc *op)
{
    ferry_op_window *w = &op->params.window;
    int spatial = 1 + (int)om_pick(n, 3), i;
    int64_t x[5], y[5];
    ferry_operand image, columns;

    image_shape(n, spatial, dim(n, 6), x);
    window(n, spatial, x, false, w);
    y[0] = x[0];
    y[1] = x[1];
    for (i = 0; i < spatial; i++) {
        y[1] *= w->kernel[i];
        y[2 + i] = slid(w, i, x[2 + i]);
    }
    image = operand(n, spatial + 2, x);
    columns = ferry_operand_make(FERRY_F32, y, spatial + 2, NULL);
    op->in[0] = op->kind == FERRY_OP_IM2COL ? image : columns;
    op->out[0] = op->kind == FERRY_OP_IM2COL ? columns : image;
    op->n_in = 1;
}

static void make_pool(struct om_numbers *n, ferry_op_desc *op)
{
    ferry_op_window *w = &op->params.window;
    int spatial = om_pick(n, 4) ? 2 : 1 + 2 * (int)om_pick(n, 2), i;
    int64_t x[5], y[5];

    image_shape(n, spatial, dim(n, 40), x);
    window(n, spatial, x, true, w);
    op->params.pool.method = (uint32_t)om_pick(n, 2);
    op->params.pool.divisor = (uint32_t)om_pick(n, 2);
    y[0] = x[0];
    y[1] = x[1];
    for (i = 0; i < spatial; i++) {
        y[2 + i] = slid(w, i, x[2 + i]);
        if (y[2 + i] * w->stride[i] - w->pad[i] < x[2 + i] && om_pick(n, 2))
            y[2 + i]++; /* rounded up, as in Caffe */
    }
    op->in[0] = operand(n, spatial + 2, x);
    op->out[0] = operand(n, spatial + 2, y);
    op->n_in = 1;
    if (op->params.pool.method == FERRY_POOL_MAX && om_pick(n, 2)) {
        op->out[1] = ferry_operand_make(FERRY_F32, y, spatial + 2, NULL);
        op->n_out = 2;
    }
}

static void make_matrices(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t b = 1 + om_pick(n, 3), m = dim(n, 40), k = dim(n, 50), cols = dim(n, 40);
    int i;

    op->in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ om_pick(n, 3) ? b : 1, m, k }, 3,
                                   om_pick(n, 2) ? NULL : (uint8_t[]){ 0, 2, 1 });
    op->in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ om_pick(n, 3) ? b : 1, k, cols }, 3,
                                   om_pick(n, 2) ? NULL : (uint8_t[]){ 0, 2, 1 });
    op->out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ b, m, cols }, 3, NULL);
    op->n_in = 2;
    op->params.gemm.alpha = om_pick(n, 2) ? 1 : 0.5;
    if (om_pick(n, 2)) {
        op->in[2] = op->out[0];
        op->n_in = 3;
        op->params.gemm.beta = 0.25;
    }
    for (i = 0; i < 2; i++)
        op->constants |= (uint32_t)om_pick(n, 2) << i;
}

static void make_inner_product(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t x[4] = { dim(n, 12), dim(n, 12), dim(n, 5), dim(n, 5) }, out = dim(n, 60), k;
    int rank = 2 + (int)om_pick(n, 3), i;

    for (i = 1, k = 1; i < rank; i++)
        k *= x[i];
    op->in[0] = operand(n, rank, x);
    op->in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ out, k }, 2,
                                   om_pick(n, 3) ? NULL : (uint8_t[]){ 1, 0 });
    op->in[2] = vector(n, out);
    op->n_in = 2 + (uint32_t)om_pick(n, 2);
    op->constants = om_pick(n, 2) ? 2 : 0;
    op->out[0] = operand(n, 2, (int64_t[]){ x[0], out });
}

static int any_shape(struct om_numbers *n, int most_rank, int64_t *shape)
{
    int rank = 1 + (int)om_pick(n, most_rank), i;

    for (i = 0; i < rank; i++)
        shape[i] = om_pick(n, 30) ? dim(n, rank < 3 ? 60 : 9) : 0;
    return rank;
}

static void make_unary(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8];
    int rank = any_shape(n, 5, shape);

    op->in[0] = operand(n, rank, shape);
    op->out[0] = operand(n, rank, shape);
    op->n_in = 1;
    op->params.unary.function = (uint32_t)om_pick(n, FERRY_UNARY_COUNT);
    op->params.unary.a = 0.5;
    op->params.unary.b = op->params.unary.function == FERRY_UNARY_LOG ? 2.0 : 0.75;
    op->params.unary.c = 1.5;
    if (op->params.unary.function == FERRY_UNARY_POWER)
        op->params.unary.a = (double)om_pick(n, 4) - 0.5 * (double)om_pick(n, 2);
}

static void make_binary(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8], part[8];
    int rank = any_shape(n, 4, shape), i, k;

    op->params.binary.function = (uint32_t)om_pick(n, FERRY_BINARY_QUOTIENT + 1);
    op->params.binary.a = 0.5;
    op->params.binary.b = -2;
    op->n_in = 2;
    if (op->params.binary.function == FERRY_BINARY_NORMALISE ||
        (op->params.binary.function == FERRY_BINARY_SCALE && om_pick(n, 2)))
        op->n_in = 3;
    op->in[0] = operand(n, rank, shape);
    for (k = 1; k < (int)op->n_in; k++) {
        for (i = 0; i < rank; i++)
            part[i] = om_pick(n, 2) ? shape[i] : 1;
        op->in[k] = operand(n, rank, part);
    }
    op->out[0] = operand(n, rank, shape);
}

static void make_reduction(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8], rest[8];
    int rank = any_shape(n, 4, shape), i;

    for (i = 0; i < rank; i++)
        shape[i] += !shape[i];
    op->params.reduce.axes = 1u + (uint32_t)om_pick(n, (1 << rank) - 1);
    if (op->kind == FERRY_OP_REDUCE) {
        op->params.reduce.function = (uint32_t)om_pick(n, 5);
        op->params.reduce.scale = om_pick(n, 2) ? 1 : 0.125;
        if (op->params.reduce.function == FERRY_REDUCE_ARGMAX)
            op->params.reduce.axes = 1u << om_pick(n, rank);
    }
    for (i = 0; i < rank; i++)
        rest[i] = op->params.reduce.axes >> i & 1 ? 1 : shape[i];
    op->in[0] = operand(n, rank, shape);
    op->n_in = 1;
    op->out[0] = op->out[1] = ferry_operand_make(FERRY_F32, rest, rank, NULL);
    op->n_out = op->kind == FERRY_OP_MOMENTS ? 2 : 1;
}

static void make_rows(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8];
    int rank = any_shape(n, 4, shape);

    op->in[0] = operand(n, rank, shape);
    op->out[0] = operand(n, rank, shape);
    op->n_in = 1;
    op->params.softmax.axis = (uint32_t)om_pick(n, rank);
    op->params.softmax.logarithm = !om_pick(n, 4);
}

static void make_lrn(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[5];

    image_shape(n, 2, dim(n, 30), shape);
    op->in[0] = operand(n, 4, shape);
    op->out[0] = operand(n, 4, shape);
    op->n_in = 1;
    op->params.lrn.region = (uint32_t)om_pick(n, 2);
    op->params.lrn.size = 1 + 2 * om_pick(n, 4);
    op->params.lrn.alpha = 0.75;
    op->params.lrn.beta = om_pick(n, 2) ? 0.75 : 0.6;
    op->params.lrn.k = 1 + (double)om_pick(n, 2);
    if (om_pick(n, 2)) {
        op->out[1] = ferry_operand_make(FERRY_F32, shape, 4, NULL);
        op->n_out = 2;
    }
}

static void make_copy(struct om_numbers *n, ferry_op_desc *op)
{
    static const ferry_dtype types[] = { FERRY_F32, FERRY_F32, FERRY_F64, FERRY_I32,
                                         FERRY_U8,  FERRY_F16, FERRY_U32, FERRY_BF16 };
    int64_t shape[8];
    int rank = any_shape(n, 8, shape), i;

    for (i = 0; i < rank && rank > 4; i++)
        shape[i] = shape[i] % 4;
    op->in[0] = operand(n, rank, shape);
    op->out[0] = operand(n, rank, shape);
    op->in[0].dtype = types[om_pick(n, 8)];
    op->out[0].dtype = om_pick(n, 2) ? op->in[0].dtype : (uint32_t)types[om_pick(n, 8)];
    op->n_in = 1;
    if (!om_pick(n, 4))
        op->in[0].stride[om_pick(n, rank)] = 0;
}

static void make_image(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t x[5], y[4] = { 0, 0, dim(n, 20), dim(n, 20) }, group = om_pick(n, 3);
    int64_t rois[2] = { 1 + om_pick(n, 5), 5 };

    image_shape(n, 2, dim(n, 6) * (group > 0 ? group * group : 1), x);
    y[0] = x[0];
    y[1] = x[1];
    op->n_in = 1;
    if (op->kind == FERRY_OP_RESIZE) {
        op->params.resize.method = (uint32_t)om_pick(n, 2);
        op->params.resize.sampling = (uint32_t)om_pick(n, 3);
    } else {
        op->params.roi.group = (uint32_t)group;
        op->params.roi.spatial_scale = 0.5;
        y[0] = rois[0];
        y[1] = group ? x[1] / (group * group) : x[1];
        y[2] = group ? group : 1 + om_pick(n, 4);
        y[3] = group ? group : 1 + om_pick(n, 4);
        op->in[1] = operand(n, 2, rois);
        op->n_in = 2;
    }
    op->in[0] = operand(n, 4, x);
    op->out[0] = operand(n, 4, y);
}

static void make_table(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t table[2] = { 1 + om_pick(n, 9), dim(n, 30) },
            rows[2] = { 1 + om_pick(n, 12), table[1] };
    ferry_operand t = operand(n, 2, table), r = operand(n, 2, rows);

    op->in[0] = op->kind == FERRY_OP_GATHER ? t : r;
    op->out[0] = op->kind == FERRY_OP_GATHER ? r : t;
    op->in[1] = vector(n, rows[0]);
    op->n_in = 2;
}

static void make_random(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8];
    int rank = any_shape(n, 3, shape);

    op->out[0] = ferry_operand_make(FERRY_F32, shape, rank, NULL);
    op->params.random.distribution = (uint32_t)om_pick(n, 3);
    op->params.random.a = 0.25;
    op->params.random.b = 2;
}

static void make_update(struct om_numbers *n, ferry_op_desc *op)
{
    int64_t shape[8];
    int rank = any_shape(n, 3, shape);
    uint32_t i;

    op->params.update.solver = (uint32_t)om_pick(n, 6);
    op->n_in = 1;
    op->n_out = op->params.update.solver >= FERRY_UPDATE_ADADELTA ? 3 : 2;
    op->in[0] = operand(n, rank, shape);
    for (i = 0; i < op->n_out; i++)
        op->out[i] = operand(n, rank, shape);
}

static void (*maker_of(uint32_t kind))(struct om_numbers *, ferry_op_desc *)
{
    switch (kind) {
    case FERRY_OP_CONVOLUTION:
        return make_convolution;
    case FERRY_OP_INNER_PRODUCT:
        return make_inner_product;
    case FERRY_OP_IM2COL:
    case FERRY_OP_COL2IM:
        return make_columns;
    case FERRY_OP_BATCHED_GEMM:
        return make_matrices;
    case FERRY_OP_POOL:
        return make_pool;
    case FERRY_OP_UNARY:
        return make_unary;
    case FERRY_OP_BINARY:
        return make_binary;
    case FERRY_OP_REDUCE:
    case FERRY_OP_MOMENTS:
        return make_reduction;
    case FERRY_OP_SOFTMAX:
        return make_rows;
    case FERRY_OP_LRN:
        return make_lrn;
    case FERRY_OP_STRIDED_COPY:
        return make_copy;
    case FERRY_OP_RESIZE:
    case FERRY_OP_ROI_POOL:
        return make_image;
    case FERRY_OP_GATHER:
    case FERRY_OP_SCATTER_ADD:
        return make_table;
    case FERRY_OP_UPDATE:
        return make_update;
    case FERRY_OP_RANDOM:
        return make_random;
    default:
        abort();
    }
}

static void add_epilogue(struct om_numbers *n, ferry_op_desc *op)
{
    static const uint32_t functions[] = { FERRY_UNARY_RELU, FERRY_UNARY_CLIP, FERRY_UNARY_SIGMOID,
                                          FERRY_UNARY_ELU };
    int64_t steps = om_pick(n, 4), i;
    int64_t channels = op->out[0].shape[1];

    for (i = 0; i < steps && op->out[0].rank >= 2 && op->n_in < FERRY_OP_INPUTS; i++) {
        ferry_op_step *s = &op->epilogue[op->n_epilogue++];

        s->step = (uint32_t)om_pick(n, 5);
        s->function = functions[om_pick(n, 4)];
        s->a = 0.125;
        s->b = 0.75;
        if (s->step == FERRY_STEP_UNARY)
            continue;
        s->operand = op->n_in;
        op->in[op->n_in++] = s->step == FERRY_STEP_ADD
                                 ? operand(n, (int)op->out[0].rank, op->out[0].shape)
                                 : vector(n, channels);
    }
}

/*
 * Products always may have an epilogue; one in four of the other kinds with one F32 output of sums
 * or selections.
 */
static bool takes_steps(struct om_numbers *n, const ferry_op_desc *op)
{
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
        return true;
    case FERRY_OP_STRIDED_COPY:
    case FERRY_OP_UPDATE:
    case FERRY_OP_UNARY: /* the tolerance of a function is too small for a step after it */
    case FERRY_OP_RANDOM:
        return false;
    default:
        return op->out[0].dtype == FERRY_F32 && !om_pick(n, 4);
    }
}

void om_make(struct om_numbers *n, uint32_t kind, int epilogue, ferry_op_desc *out)
{
    ferry_op_desc_init(out, kind);
    out->n_out = 1;
    maker_of(kind)(n, out);
    if (epilogue && takes_steps(n, out))
        add_epilogue(n, out);
}

void om_halve(ferry_op_desc *op, ferry_dtype half)
{
    bool is_table = op->kind == FERRY_OP_GATHER || op->kind == FERRY_OP_SCATTER_ADD;
    bool is_index = op->kind == FERRY_OP_REDUCE && op->pass == FERRY_PASS_FORWARD &&
                    op->params.reduce.function == FERRY_REDUCE_ARGMAX;
    bool is_pool = op->kind == FERRY_OP_POOL;
    uint32_t i;

    if (op->kind == FERRY_OP_STRIDED_COPY)
        return;
    for (i = 0; i < op->n_in; i++)
        if (!(i == 1 && (is_table || (is_pool && op->pass))) && !(i > 0 && is_index))
            op->in[i].dtype = half;
    for (i = 0; i < op->n_out; i++)
        if (!(is_index || (i == 1 && is_pool)))
            op->out[i].dtype = half;
}

const double om_scalars[FERRY_UPDATE_SCALARS] = { 0.5, 0.01, 0.02, 0.125, 0.9, 0.99, 0.001 };

double om_tolerance(const ferry_op_desc *op)
{
    if (!op->n_epilogue && (op->kind == FERRY_OP_STRIDED_COPY || op->kind == FERRY_OP_GATHER))
        return 0;
    return op->kind == FERRY_OP_UNARY || op->kind == FERRY_OP_RANDOM ? 3e-6 : 1e-5;
}

static void put_operand(char *text, size_t size, const char *what, const ferry_operand *o)
{
    size_t used = strlen(text);
    uint32_t i;

    used += (size_t)snprintf(text + used, size - used, " %s", what);
    for (i = 0; i < o->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "x" : "",
                                 (long long)o->shape[i]);
    for (i = 0; i < o->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "/",
                                 (long long)o->stride[i]);
}

const char *om_text(const ferry_op_desc *op)
{
    static char text[1200];
    const ferry_op_window *w = &op->params.window;
    uint32_t i;

    snprintf(text, sizeof text, "%s", ferry_op_kind_name(op->kind));
    for (i = 0; i < op->n_in; i++)
        put_operand(text, sizeof text, "in ", &op->in[i]);
    for (i = 0; i < op->n_out; i++)
        put_operand(text, sizeof text, "out ", &op->out[i]);
    if (op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_POOL)
        for (i = 0; i < w->axes; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     " [k%lld s%lld d%lld p%lld+%lld g%u t%u]", (long long)w->kernel[i],
                     (long long)w->stride[i], (long long)w->dilation[i], (long long)w->pad[i],
                     (long long)w->pad_end[i], w->group, w->transposed);
    else
        snprintf(text + strlen(text), sizeof text - strlen(text), " params %u %u",
                 op->params.unary.function, op->params.reduce.axes);
    snprintf(text + strlen(text), sizeof text - strlen(text), " epilogue %u", op->n_epilogue);
    return text;
}
