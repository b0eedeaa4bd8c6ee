/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reduce (reduce_param), ferry's own: SUM, MEAN, ASUM, SUMSQ or MAX over the listed axes, which
 * keep one element or, without keep_axes (true), vanish. (ONNX: ReduceSum, ReduceMean, ReduceL1,
 * ReduceSumSquare, ReduceMax.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

static uint32_t function_of(const char *operation)
{
    return !strcmp(operation, "ASUM")    ? FERRY_REDUCE_ASUM
           : !strcmp(operation, "SUMSQ") ? FERRY_REDUCE_SUMSQ
           : !strcmp(operation, "MAX")   ? FERRY_REDUCE_MAX
                                         : FERRY_REDUCE_SUM;
}

static const ferry_proto *parameters_of(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "reduce_param", 0);
}

/* Reads the axes to reduce as bits. */
static int read_axes(const ferry_layer *layer, const ferry_proto *p, int rank, uint32_t *out)
{
    *out = 0;
    for (int64_t i = 0; i < ferry_proto_value_count(p, "axis"); i++) {
        int axis,
            err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", i), rank, &axis);

        if (err)
            return err;
        *out |= 1u << axis;
    }
    return 0;
}

/*
 * If there are more axes than an operation supports, merges adjacent axes that are all reduced or
 * all kept. `shape` and the bit mask `axes` have *rank axes, before and after.
 */
static int merge(const ferry_layer *layer, int64_t *shape, int *rank, uint32_t *axes)
{
    uint32_t mask = 0;
    int n = 0;

    for (int i = 0; i < *rank; i++) {
        uint32_t summed = *axes >> i & 1;

        if (shape[i] == 1)
            continue;
        if (n && summed == (mask >> (n - 1) & 1)) {
            shape[n - 1] *= shape[i];
        } else {
            shape[n] = shape[i];
            mask |= summed << n++;
        }
    }
    *rank = n;
    *axes = mask;
    return n <= FERRY_OP_AXES
               ? 0
               : ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                   "listed axes and others take turns %d times, %d are the most", n,
                                   FERRY_OP_AXES);
}

/*
 * Makes the operands of bottom 0 and top 0, with the same number of axes, and the mask of the
 * reduced axes.
 */
static int make_operands(const ferry_layer *layer, uint32_t *axes, ferry_operand *x,
                         ferry_operand *y)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(bottom), err = 0;

    for (int i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    if (rank > FERRY_OP_AXES)
        err = merge(layer, shape, &rank, axes);
    if (err)
        return err;
    *x = ferry_operand_make(FERRY_F32, shape, rank, NULL);
    for (int i = 0; i < rank; i++)
        if (*axes >> i & 1)
            shape[i] = 1;
    *y = ferry_operand_make(FERRY_F32, shape, rank, NULL);
    return 0;
}

/* Shapes top 0, and counts how many elements are reduced to one. */
static int shape_top(ferry_layer *layer, const ferry_proto *p, uint32_t axes, int64_t *out_elements)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t kept[FERRY_MAX_AXES];
    int n = 0;

    *out_elements = 1;
    for (int i = 0; i < ferry_blob_rank(bottom); i++) {
        bool summed = axes >> i & 1;

        if (summed)
            *out_elements *= ferry_blob_dim(bottom, i);
        if (!summed || ferry_proto_boolean(p, "keep_axes", 0))
            kept[n++] = summed ? 1 : ferry_blob_dim(bottom, i);
    }
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), kept, n, NULL);
}

static int emit(ferry_layer *layer, const ferry_op_desc *op, ferry_operand x, ferry_operand y)
{
    const struct ferry__term from = { x, ferry__of_bottom(0) }, to = { y, ferry__of_top(0) };
    const struct ferry__term dy = { y, ferry__diff(to.at) };
    int err = ferry__emit_pass(layer, op, FERRY_PASS_FORWARD, 1, &from, to);

    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    return ferry__emit_pass(
        layer, op, FERRY_PASS_BACKWARD_DATA, op->params.reduce.function == FERRY_REDUCE_SUM ? 1 : 2,
        (struct ferry__term[]){ dy, from }, (struct ferry__term){ x, ferry__diff(from.at) });
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = parameters_of(layer);
    const char *operation = ferry_proto_enum(p, "operation", 0);
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), err;
    ferry_operand x, y;
    int64_t elements;
    uint32_t axes;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.params.reduce.function = function_of(operation);
    err = read_axes(layer, p, rank, &axes);
    if (!err)
        err = shape_top(layer, p, axes, &elements);
    if (!err)
        err = make_operands(layer, &axes, &x, &y);
    if (err)
        return err;
    if (!strcmp(operation, "MAX") && !elements)
        return ferry_layer_error(layer, FERRY_ESHAPE, "the largest of no elements");
    op.params.reduce.axes = axes;
    op.params.reduce.scale = !strcmp(operation, "MEAN") && elements ? 1 / (double)elements : 1;
    return emit(layer, &op, x, y);
}

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)index;
    return strcmp(ferry_proto_enum(parameters_of(layer), "operation", 0), "MAX")
               ? NULL
               : " has no gradient of MAX";
}

static const char *const messages[] = { "reduce_param", NULL };

const ferry_layer_type ferry__reduce_layer = {
    .struct_size = sizeof ferry__reduce_layer,
    .name = "Reduce",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
    .refuses = refuses,
};
