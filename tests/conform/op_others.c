/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>

/* Trials of the kinds that access images by coordinates, and of those that modify data. */

static void resize(uint32_t dtype, uint32_t method, uint32_t sampling)
{
    static const int64_t sizes[][4] = {
        { 5, 4, 10, 12 }, { 8, 9, 3, 5 }, { 1, 1, 4, 3 }, { 7, 5, 1, 1 }
    };

    for (int i = 0; i < 4; i++) {
        ferry_op_desc op = op_begin(FERRY_OP_RESIZE, 1, 1);

        op.params.resize.method = method;
        op.params.resize.sampling = sampling;
        OP_SHAPE(&op.in[0], dtype, 2, 5, sizes[i][0], sizes[i][1]);
        OP_SHAPE(&op.out[0], dtype, 2, 5, sizes[i][2], sizes[i][3]);
        op_try(&op, "", false);
        op_try_backward(&op, "");
    }
}

static void roi_pool(uint32_t dtype, uint32_t group, double scale)
{
    ferry_op_desc op = op_begin(FERRY_OP_ROI_POOL, 2, 1);

    op.params.roi.group = group;
    op.params.roi.spatial_scale = scale;
    OP_SHAPE(&op.in[0], dtype, 2, 3 * (group ? group * group : 1), 9, 8);
    OP_SHAPE(&op.in[1], dtype, 4, 5);
    OP_SHAPE(&op.out[0], dtype, 4, 3, 4, 2);
    op_try(&op, group ? "by groups of channels" : "largest", false);
}

static void scatter_add(uint32_t dtype, uint32_t index)
{
    ferry_op_desc op = op_begin(FERRY_OP_SCATTER_ADD, 2, 1);

    OP_SHAPE(&op.in[0], dtype, 4, 6, 5);
    OP_SHAPE(&op.in[1], index, 4, 6);
    OP_SHAPE(&op.out[0], dtype, 7, 5);
    op_try(&op, "indices in and out of the table", false);
}

static void random_numbers(uint32_t dtype, uint32_t distribution)
{
    ferry_op_desc op = op_begin(FERRY_OP_RANDOM, 0, 1);

    op.params.random.distribution = distribution;
    op.params.random.a = distribution == FERRY_RANDOM_BERNOULLI ? 0.25 : -0.5;
    op.params.random.b = 1.5;
    OP_SHAPE(&op.out[0], dtype, 5, 7);
    op_try(&op, "", false);
    OP_SHAPE(&op.out[0], dtype, 2, 3, 50);
    op_try(&op, "", false);
}

static void update(uint32_t dtype, uint32_t solver)
{
    ferry_op_desc op = op_begin(FERRY_OP_UPDATE, 1, solver >= FERRY_UPDATE_ADADELTA ? 3 : 2);

    op.params.update.solver = solver;
    OP_SHAPE(&op.in[0], dtype, 3, 5, 7);
    op.out[0] = op.out[1] = op.in[0];
    if (op.n_out > 2)
        op.out[2] = op.in[0];
    op_try(&op, "", false);
}

void op_other_trials(uint32_t dtype)
{
    for (uint32_t method = FERRY_RESIZE_NEAREST; method <= FERRY_RESIZE_BILINEAR; method++)
        for (uint32_t s = FERRY_RESIZE_HALF_PIXEL; s <= FERRY_RESIZE_ASYMMETRIC; s++)
            resize(dtype, method, s);
    roi_pool(dtype, 0, 0.5);
    roi_pool(dtype, 0, 1);
    roi_pool(dtype, 2, 0.5);
    scatter_add(dtype, FERRY_I32);
    scatter_add(dtype, FERRY_I64);
    for (uint32_t d = FERRY_RANDOM_UNIFORM; d <= FERRY_RANDOM_BERNOULLI; d++)
        random_numbers(dtype, d);
    for (uint32_t solver = FERRY_UPDATE_SGD; solver <= FERRY_UPDATE_ADAM; solver++)
        update(dtype, solver);
}
