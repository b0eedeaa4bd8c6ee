/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The CPU plugin's operations except convolution and matrices, which have a program of their own:
 * random shapes and strides of each kind against the reference, with each instruction set.
 */

static int rounds(void)
{
    const char *text = getenv("FERRY_TEST_ROUNDS");
    int n = text ? atoi(text) : getenv("FERRY_TEST_QUICK") ? 24 : 60;

    return ferry_test_is_slow() ? n / 4 + 1 : n;
}

static int layout(void)
{
    return (int)rig_random(RIG_LAYOUTS);
}

static uint32_t real(void)
{
    return rig_random(4) ? FERRY_F32 : FERRY_F64;
}

/* A random shape of `rank` axes; the second is sometimes larger than a vector. */
static void any_shape(uint32_t rank, int64_t *shape)
{
    static const int64_t channels[] = { 1, 3, 8, 17, 33, 64 };

    for (uint32_t i = 0; i < rank; i++)
        shape[i] = 1 + rig_random(i == 0 ? 3 : 7);
    if (rank > 1)
        shape[1] = channels[rig_random(6)];
}

/* ---- elements ------------------------------------------------------------------------------- */

static void unary_functions_agree_for_any_strides(void)
{
    for (int i = 0; i < (int)FERRY_UNARY_COUNT * rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)rig_random(6);
        uint32_t function = (uint32_t)i % FERRY_UNARY_COUNT;
        int64_t shape[8];
        int both = layout();
        struct rig r;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_UNARY);
        r.in_place = (int)rig_random(2);
        rig_in(&r, dtype, both, rank, shape);
        rig_out(&r, dtype, r.in_place ? both : layout(), rank, shape);
        r.op.params.unary.function = function;
        r.op.params.unary.a = function == FERRY_UNARY_CLIP ? -0.5 : 0.25 * (double)rig_random(9);
        r.op.params.unary.b = 0.5;
        r.op.params.unary.c = 1.5;
        if (function == FERRY_UNARY_LOG) {
            r.op.params.unary.a = 0.5;
            r.op.params.unary.b = 1;
        }
        rig_run(&r, NULL);
    }
}

static void unary_functions_agree_at_extreme_values(void)
{
    static const double ends[] = { 0,    -0.0, 1e-8, -1e-8, 20,       -20,       88,  -88,
                                   89.5, -104, 1000, -1000, INFINITY, -INFINITY, NAN, 0.5 };
    static const uint32_t functions[] = {
        FERRY_UNARY_RELU,      FERRY_UNARY_ELU,  FERRY_UNARY_SIGMOID, FERRY_UNARY_TANH,
        FERRY_UNARY_ABS,       FERRY_UNARY_EXP,  FERRY_UNARY_BNLL,    FERRY_UNARY_CLIP,
        FERRY_UNARY_THRESHOLD, FERRY_UNARY_MISH, FERRY_UNARY_GELU,    FERRY_UNARY_SOFTSIGN
    };
    const int64_t one = 1;

    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
        for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
            struct rig r;

            rig_begin(&r, FERRY_OP_UNARY);
            rig_in(&r, FERRY_F32, RIG_PLAIN, 1, &one)[0] = ends[e];
            rig_out(&r, FERRY_F32, RIG_PLAIN, 1, &one);
            r.op.params.unary.function = functions[f];
            r.op.params.unary.a = functions[f] == FERRY_UNARY_EXP ? 0.5 : 0.1;
            r.op.params.unary.b = 6 * (functions[f] == FERRY_UNARY_CLIP);
            if (isnan(ends[e]) && functions[f] == FERRY_UNARY_CLIP) {
                rig_end(&r); /* fmin and fmax of the reference drop a NaN */
                continue;
            }
            rig_run(&r, NULL);
        }
}

static void binary_functions_broadcast_axes_of_size_one(void)
{
    for (int i = 0; i < 7 * rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)(1 + rig_random(5)), function = (uint32_t)(i % 7);
        int64_t shape[8], part[8];
        struct rig r;
        double *u;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_BINARY);
        rig_in(&r, dtype, layout(), rank, shape);
        for (uint32_t a = 0; a < rank; a++)
            part[a] = rig_random(2) ? shape[a] : 1;
        u = rig_in(&r, dtype, layout(), rank, part);
        for (int64_t k = 0; k < rig_count(&r.op.in[1]) && function == FERRY_BINARY_QUOTIENT; k++)
            u[k] += u[k] < 0 ? -0.5 : 0.5;
        if (function == FERRY_BINARY_NORMALISE ||
            (function == FERRY_BINARY_SCALE && rig_random(2))) {
            for (uint32_t a = 0; a < rank; a++)
                part[a] = rig_random(2) ? shape[a] : 1;
            rig_in(&r, dtype, layout(), rank, part);
        }
        rig_out(&r, dtype, layout(), rank, shape);
        r.op.params.binary.function = function;
        r.op.params.binary.a = 0.75;
        r.op.params.binary.b = -2;
        rig_run(&r, NULL);
    }
}

/* Whether both dtypes of a copy can represent negative numbers. */
static int is_signed(const ferry_op_desc *op)
{
    uint32_t x = op->in[0].dtype, y = op->out[0].dtype;

    return x != FERRY_U8 && x != FERRY_U32 && y != FERRY_U8 && y != FERRY_U32;
}

static void copies_convert_and_tile(void)
{
    for (int i = 0; i < 4 * rounds(); i++) {
        uint32_t rank = (uint32_t)rig_random(9);
        int64_t shape[8];
        struct rig r;

        for (uint32_t a = 0; a < rank; a++)
            shape[a] = 1 + rig_random(rank > 5 ? 3 : 9);
        rig_begin(&r, FERRY_OP_STRIDED_COPY);
        rig_in(&r, rig_random(2) ? FERRY_F32 : (uint32_t)rig_random(FERRY_DTYPE_COUNT), layout(),
               rank, shape);
        rig_out(&r, rig_random(2) ? r.op.in[0].dtype : (uint32_t)rig_random(FERRY_DTYPE_COUNT),
                layout(), rank, shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] = (double)(rig_random(100) - 50 * is_signed(&r.op));
        if (rank > 1 && rig_random(3) == 0) { /* the same along an axis */
            uint32_t axis = (uint32_t)rig_random(rank);
            int64_t inner = 1;

            for (uint32_t a = axis + 1; a < rank; a++)
                inner *= shape[a];
            for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
                r.in[0][k] = r.in[0][k - k / inner % shape[axis] * inner];
            r.op.in[0].stride[axis] = 0;
        }
        rig_run(&r, NULL);
    }
}

/* ---- over axes ------------------------------------------------------------------------------ */

static void reductions_over_any_axes_agree(void)
{
    for (int i = 0; i < 5 * rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)(1 + rig_random(5));
        uint32_t axes = 1 + (uint32_t)rig_random((1 << rank) - 1);
        int64_t shape[8];
        struct rig r;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_REDUCE);
        r.op.params.reduce.function = (uint32_t)(i % 5);
        if (r.op.params.reduce.function == FERRY_REDUCE_ARGMAX)
            axes = 1u << rig_random(rank);
        r.op.params.reduce.axes = axes;
        r.op.params.reduce.scale = 0.25;
        rig_in(&r, dtype, layout(), rank, shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]) && rig_random(2); k++)
            r.in[0][k] = (double)rig_random(3); /* often equal values */
        for (uint32_t a = 0; a < rank; a++)
            shape[a] = axes >> a & 1u ? 1 : shape[a];
        if (r.op.params.reduce.function == FERRY_REDUCE_ARGMAX && dtype == FERRY_F32 &&
            rig_random(2))
            dtype = FERRY_I32;
        rig_out(&r, dtype, layout(), rank, shape);
        rig_run(&r, NULL);
    }
}

/* Floats near 3e6 are multiples of 1/4; the reference's variance of them is exact to 2e-6. */
static void moments_are_computed_in_two_passes(void)
{
    static const double means[] = { 1000, 30000, 3e6 };

    for (int i = 0; i < rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)(1 + rig_random(5));
        uint32_t axes = 1 + (uint32_t)rig_random((1 << rank) - 1);
        double mean = means[i % (dtype == FERRY_F64 ? 2 : 3)], times = mean > 1e6 ? 16 : 1;
        int64_t shape[8];
        struct rig r;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_MOMENTS);
        r.op.params.reduce.axes = axes;
        rig_in(&r, dtype, layout(), rank, shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] = (double)(float)(r.in[0][k] * times + mean);
        for (uint32_t a = 0; a < rank; a++)
            shape[a] = axes >> a & 1u ? 1 : shape[a];
        rig_out(&r, dtype, layout(), rank, shape);
        rig_out(&r, dtype, layout(), rank, shape);
        /* Means near 30000 are rounded by 4e-12, and the variance of values that are close together
         * is sensitive to that. */
        r.tolerance = dtype == FERRY_F64 ? 1e-9 : 0;
        rig_run(&r, NULL);
    }
}

static void softmax_along_any_axis_agrees(void)
{
    for (int i = 0; i < 2 * rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)(1 + rig_random(5));
        int64_t shape[8];
        int both = layout();
        struct rig r;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_SOFTMAX);
        r.in_place = (int)rig_random(2);
        rig_in(&r, dtype, both, rank, shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] *= 30;
        rig_out(&r, dtype, r.in_place ? both : layout(), rank, shape);
        r.op.params.softmax.axis = (uint32_t)rig_random(rank);
        r.op.params.softmax.logarithm = (uint32_t)rig_random(2);
        rig_run(&r, NULL);
    }
}

static void lrn_across_and_within_channels_agrees(void)
{
    for (int i = 0; i < rounds(); i++) {
        uint32_t dtype = real(), rank = (uint32_t)(3 + rig_random(3));
        int64_t shape[8];
        struct rig r;

        any_shape(rank, shape);
        if (shape[1] > 17)
            shape[1] = 17;
        rig_begin(&r, FERRY_OP_LRN);
        r.op.params.lrn.region = rank > 3 ? (uint32_t)rig_random(2) : FERRY_LRN_ACROSS;
        r.op.params.lrn.size = 1 + 2 * rig_random(4);
        r.op.params.lrn.alpha = 0.5;
        r.op.params.lrn.beta = rig_random(2) ? 0.75 : 0.6;
        r.op.params.lrn.k = 1.5;
        rig_in(&r, dtype, layout(), rank, shape);
        rig_out(&r, dtype, layout(), rank, shape);
        if (rig_random(2))
            rig_out(&r, dtype, layout(), rank, shape);
        rig_run(&r, NULL);
    }
}

/*
 * LRN of contiguous pixels: numbers of pixels around a block's 256 and around a vector's lanes, in
 * whole planes and in parts of planes.
 */
static void lrn_across_planes_agrees(void)
{
    static const int64_t planes[][2] = { { 1, 2 },   { 3, 5 },   { 1, 17 },  { 15, 17 },
                                         { 16, 16 }, { 1, 257 }, { 17, 31 }, { 3, 260 } };
    static const int64_t channels[] = { 1, 2, 5, 19 };

    for (int i = 0; i < 32; i++)
        for (int64_t size = 1; size < 8; size += 2 + 2 * rig_random(2)) {
            const int64_t *plane = planes[i / 4], c = channels[i % 4];
            int slices = rig_random(3) == 0;
            struct rig r;

            rig_begin(&r, FERRY_OP_LRN);
            r.op.params.lrn.size = size;
            r.op.params.lrn.alpha = 0.5;
            r.op.params.lrn.beta = 0.75;
            r.op.params.lrn.k = 1.5;
            rig_in(&r, FERRY_F32, RIG_PLAIN, 4, (int64_t[]){ 2, c, plane[0], plane[1] });
            rig_out(&r, FERRY_F32, slices ? RIG_SLICE : RIG_PLAIN, 4, r.op.in[0].shape);
            if (rig_random(2))
                rig_out(&r, FERRY_F32, RIG_PLAIN, 4, r.op.in[0].shape);
            rig_run(&r, NULL);
        }
}

/* ---- windows -------------------------------------------------------------------------------- */

static void any_window(ferry_op_window *w, uint32_t axes)
{
    w->axes = axes;
    w->group = 1;
    for (uint32_t i = 0; i < axes; i++) {
        w->kernel[i] = 1 + rig_random(4);
        w->stride[i] = 1 + rig_random(3);
        w->dilation[i] = 1;
        w->pad[i] = rig_random(w->kernel[i]);
        w->pad_end[i] = rig_random(w->kernel[i]);
    }
}

static void pooling_of_both_kinds_with_masks_agrees(void)
{
    for (int i = 0; i < 4 * rounds(); i++) {
        uint32_t dtype = real(), axes = (uint32_t)(1 + rig_random(3));
        ferry_op_window *w;
        int64_t shape[8];
        struct rig r;

        any_shape(2 + axes, shape);
        rig_begin(&r, FERRY_OP_POOL);
        w = &r.op.params.window;
        any_window(w, axes);
        r.op.params.pool.method = (uint32_t)rig_random(2);
        r.op.params.pool.divisor = (uint32_t)rig_random(2);
        rig_in(&r, dtype, layout(), 2 + axes, shape);
        for (uint32_t a = 0; a < axes; a++) { /* windows that begin before in + pad_end: rounded up
                                               */
            shape[2 + a] = (shape[2 + a] + w->pad_end[a] + w->pad[a] - 1) / w->stride[a] + 1;
            shape[2 + a] -= rig_random(2) && shape[2 + a] > 1;
        }
        rig_out(&r, dtype, layout(), 2 + axes, shape);
        if (r.op.params.pool.method == FERRY_POOL_MAX && rig_random(2))
            rig_out(&r, rig_random(2) ? FERRY_F32 : FERRY_I32, layout(), 2 + axes, shape);
        rig_run(&r, NULL);
    }
}

/*
 * Pools of contiguous channels: their number is a multiple of a vector's or not, and the windows of
 * a line share columns or do not.
 */
static void pooling_of_channels_last_images_agrees(void)
{
    for (int64_t i = 0; i < 60; i++) {
        int64_t shape[4] = { 2, 3 + 5 * (i % 8), 2 + i % 7, 1 + i % 11 };
        ferry_op_window *w;
        struct rig r;

        rig_begin(&r, FERRY_OP_POOL);
        w = &r.op.params.window;
        *w = (ferry_op_window){ .axes = 2, .group = 1 };
        r.op.params.pool.method = (uint32_t)(i % 5 == 0);
        r.op.params.pool.divisor = (uint32_t)(i % 2);
        rig_in(&r, FERRY_F32, i % 3 ? RIG_LAST : RIG_LAST_SLICE, 4, shape);
        for (uint32_t a = 0; a < 2; a++) {
            w->kernel[a] = 2 + (i + a) % 3 % 2;
            w->stride[a] = 1 + i / 8 % 3;
            w->dilation[a] = 1;
            w->pad[a] = i / 4 % 2;
            w->pad_end[a] = i / 2 % 2;
            shape[2 + a] = (shape[2 + a] + w->pad_end[a] + w->pad[a] - 1) / w->stride[a] + 1;
        }
        rig_out(&r, FERRY_F32, i % 4 ? RIG_LAST : RIG_LAST_SLICE, 4, shape);
        rig_run(&r, NULL);
    }
}

/* Pools of lines with more windows than lanes, and of rows that are not contiguous. */
static void pooling_of_wide_planes_agrees(void)
{
    for (int i = 0; i < 3 * rounds(); i++) {
        uint32_t mask = rig_random(2) ? FERRY_F32 : FERRY_I32;
        int64_t shape[4] = { 2, 3, 3 + rig_random(9), 18 + rig_random(60) };
        struct rig r;

        rig_begin(&r, FERRY_OP_POOL);
        any_window(&r.op.params.window, 2);
        r.op.params.pool.method = (uint32_t)rig_random(2);
        r.op.params.pool.divisor = (uint32_t)rig_random(2);
        rig_in(&r, FERRY_F32, rig_random(2) ? RIG_PLAIN : RIG_SLICE, 4, shape);
        for (uint32_t a = 0; a < 2; a++) {
            const ferry_op_window *w = &r.op.params.window;

            shape[2 + a] = (shape[2 + a] + w->pad_end[a] + w->pad[a] - 1) / w->stride[a] + 1;
            shape[2 + a] -= rig_random(2) && shape[2 + a] > 1;
        }
        rig_out(&r, FERRY_F32, rig_random(2) ? RIG_PLAIN : RIG_SLICE, 4, shape);
        if (r.op.params.pool.method == FERRY_POOL_MAX && rig_random(3))
            rig_out(&r, mask, rig_random(2) ? RIG_PLAIN : RIG_SLICE, 4, shape);
        rig_run(&r, NULL);
    }
}

static void im2col_and_col2im_agree_with_the_oracle(void)
{
    for (int i = 0; i < 2 * rounds(); i++) {
        uint32_t dtype = real(), axes = (uint32_t)(1 + rig_random(3));
        int64_t image[8], columns[8];
        int back = i & 1;
        struct rig r;

        rig_begin(&r, back ? FERRY_OP_COL2IM : FERRY_OP_IM2COL);
        any_window(&r.op.params.window, axes);
        any_shape(2 + axes, image);
        image[1] = 1 + rig_random(5);
        columns[0] = image[0];
        columns[1] = image[1];
        for (uint32_t a = 0; a < axes; a++) {
            ferry_op_window *w = &r.op.params.window;

            w->dilation[a] = 1 + rig_random(2);
            image[2 + a] += w->dilation[a] * (w->kernel[a] - 1);
            columns[1] *= w->kernel[a];
            columns[2 + a] = (image[2 + a] + w->pad[a] + w->pad_end[a] -
                              (w->dilation[a] * (w->kernel[a] - 1) + 1)) /
                                 w->stride[a] +
                             1;
        }
        rig_in(&r, dtype, layout(), 2 + axes, back ? columns : image);
        rig_out(&r, dtype, layout(), 2 + axes, back ? image : columns);
        rig_run(&r, NULL);
    }
}

/* ---- samples and rows ----------------------------------------------------------------------- */

static void resizing_by_every_sampling_agrees(void)
{
    for (int i = 0; i < 6 * rounds(); i++) {
        uint32_t dtype = real();
        int64_t shape[8];
        struct rig r;

        any_shape(4, shape);
        rig_begin(&r, FERRY_OP_RESIZE);
        r.op.params.resize.method = (uint32_t)(i & 1);
        r.op.params.resize.sampling = (uint32_t)(i / 2 % 3);
        rig_in(&r, dtype, layout(), 4, shape);
        shape[2] = 1 + rig_random(20);
        shape[3] = 1 + rig_random(20);
        rig_out(&r, dtype, layout(), 4, shape);
        rig_run(&r, NULL);
    }
}

static void roi_pooling_inside_and_outside_the_image_agrees(void)
{
    for (int i = 0; i < 2 * rounds(); i++) {
        int64_t x[4] = { 2, 0, 5 + rig_random(12), 5 + rig_random(12) }, rois[2] = { 6, 5 };
        int64_t group = i & 1 ? 1 + rig_random(3) : 0, y[4] = { 6, 1 + rig_random(5), 0, 0 };
        uint32_t dtype = real();
        struct rig r;
        double *roi;

        rig_begin(&r, FERRY_OP_ROI_POOL);
        r.op.params.roi.group = (uint32_t)group;
        r.op.params.roi.spatial_scale = 0.5;
        x[1] = group ? y[1] * group * group : y[1];
        y[2] = group ? group : 1 + rig_random(4);
        y[3] = group ? group : 1 + rig_random(4);
        rig_in(&r, dtype, layout(), 4, x);
        roi = rig_in(&r, dtype, RIG_PLAIN, 2, rois);
        for (int k = 0; k < 6; k++, roi += 5) {
            roi[0] = (double)(rig_random(4) - 1);
            roi[1] = (double)(rig_random(30) - 4);
            roi[2] = (double)(rig_random(30) - 4);
            roi[3] = roi[1] + (double)rig_random(20);
            roi[4] = roi[2] + (double)rig_random(20);
        }
        rig_out(&r, dtype, layout(), 4, y);
        rig_run(&r, NULL);
    }
}

static void gather_and_scatter_accept_indices_of_any_type(void)
{
    static const uint32_t types[] = { FERRY_F32, FERRY_I32, FERRY_I64 };

    for (int i = 0; i < 2 * rounds(); i++) {
        uint32_t dtype = real(), index_rank = (uint32_t)rig_random(3);
        uint32_t row_rank = (uint32_t)rig_random(3);
        int64_t index[3] = { 1 + rig_random(9), 1 + rig_random(4) }, rows[8], many[8];
        struct rig r;

        many[0] = 1 + rig_random(6);
        for (uint32_t a = 0; a < index_rank; a++)
            rows[a] = index[a];
        for (uint32_t a = 0; a < row_rank; a++)
            many[1 + a] = rows[index_rank + a] = 1 + rig_random(9);
        rig_begin(&r, i & 1 ? FERRY_OP_SCATTER_ADD : FERRY_OP_GATHER);
        if (i & 1)
            rig_in(&r, dtype, layout(), index_rank + row_rank, rows);
        else
            rig_in(&r, dtype, layout(), 1 + row_rank, many);
        rig_in(&r, types[rig_random(3)], layout(), index_rank, index);
        for (int64_t k = 0; k < rig_count(&r.op.in[1]); k++)
            r.in[1][k] = (double)(rig_random(many[0] + 3) - 1);
        if (i & 1)
            rig_out(&r, dtype, layout(), 1 + row_rank, many);
        else
            rig_out(&r, dtype, layout(), index_rank + row_rank, rows);
        rig_run(&r, NULL);
    }
}

/* ---- random numbers ------------------------------------------------------------------------- */

static void random_numbers_are_philox_words_of_seed_and_offset(void)
{
    for (int i = 0; i < 3 * rounds(); i++) {
        uint32_t rank = (uint32_t)rig_random(4);
        int64_t shape[8];
        struct rig r;

        any_shape(rank, shape);
        rig_begin(&r, FERRY_OP_RANDOM);
        r.op.params.random.distribution = (uint32_t)(i % 3);
        r.op.params.random.a = 0.25;
        r.op.params.random.b = 3;
        r.seed = (uint64_t)rig_random(1 << 30) << 20;
        r.offset = (uint64_t)rig_random(1 << 30) << 10;
        rig_out(&r, real(), layout(), rank, shape);
        rig_run(&r, NULL);
    }
}

/* Known words of Philox 4×32-10, from its authors' table (Random123, kat_vectors). */
static void the_first_block_of_philox_has_the_published_words(void)
{
    static const uint32_t words[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
    const int64_t four = 4;
    double *got[1] = { NULL };
    struct rig r;

    rig_begin(&r, FERRY_OP_RANDOM);
    r.op.params.random.b = 1;
    rig_out(&r, FERRY_F64, RIG_PLAIN, 1, &four);
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(got[0][i], (double)(words[i] >> 8) / 0x1p24);
    free(got[0]);
    rig_end(&r);
}

/* ---- refused operations ---------------------------------------------------------------------- */

static void unknown_operations_are_unsupported(void)
{
    static const uint32_t kinds[] = { 0, FERRY_OP_CONVOLUTION - 1, FERRY_OP_LAST + 1,
                                      FERRY_OP_NAMED, 1000 };
    ferry_op_desc op = { .struct_size = sizeof(op) };
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    void *prepared = NULL;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        op.kind = kinds[i];
        CU_ASSERT_EQUAL(rig_table->query(rig_device, &op, &answer), FERRY_EUNSUPPORTED);
        CU_ASSERT_EQUAL(rig_table->create(rig_device, &op, &prepared), FERRY_EUNSUPPORTED);
    }
    op.kind = FERRY_OP_UNARY;
    op.n_in = op.n_out = 1;
    CU_ASSERT_EQUAL(rig_table->query(rig_device, &op, &answer), 0);
    op.pass = 9;
    CU_ASSERT_EQUAL(rig_table->query(rig_device, &op, &answer), FERRY_EUNSUPPORTED);
    op.pass = FERRY_PASS_FORWARD;
    op.in[0].dtype = op.out[0].dtype = FERRY_I32;
    CU_ASSERT_EQUAL(rig_table->query(rig_device, &op, &answer), FERRY_EUNSUPPORTED);
    CU_ASSERT_PTR_NULL(prepared);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(unary_functions_agree_for_any_strides),
    FERRY_TEST(unary_functions_agree_at_extreme_values),
    FERRY_TEST(binary_functions_broadcast_axes_of_size_one),
    FERRY_TEST(copies_convert_and_tile),
    FERRY_TEST(reductions_over_any_axes_agree),
    FERRY_TEST(moments_are_computed_in_two_passes),
    FERRY_TEST(softmax_along_any_axis_agrees),
    FERRY_TEST(lrn_across_and_within_channels_agrees),
    FERRY_TEST(lrn_across_planes_agrees),
    FERRY_TEST(pooling_of_both_kinds_with_masks_agrees),
    FERRY_TEST(pooling_of_channels_last_images_agrees),
    FERRY_TEST(pooling_of_wide_planes_agrees),
    FERRY_TEST(im2col_and_col2im_agree_with_the_oracle),
    FERRY_TEST(resizing_by_every_sampling_agrees),
    FERRY_TEST(roi_pooling_inside_and_outside_the_image_agrees),
    FERRY_TEST(gather_and_scatter_accept_indices_of_any_type),
    FERRY_TEST(random_numbers_are_philox_words_of_seed_and_offset),
    FERRY_TEST(the_first_block_of_philox_has_the_published_words),
    FERRY_TEST(unknown_operations_are_unsupported),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-ops", cases, FERRY_TEST_COUNT(cases));
}
