/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/onnx/ops.h"

#include <stdlib.h>
#include <string.h>

int ferry__onnx_reshape_to(struct ferry__onnx *o, int x, int rank, const int64_t *dims)
{
    int64_t list[FERRY_MAX_AXES + 2];

    memcpy(list, dims, (size_t)rank * sizeof *dims);
    if (o->dynamic_batch && rank > 0)
        list[0] = -1;
    return ONNX_OP(o, "Reshape", x, ferry__onnx_ints(o, rank, list));
}

int ferry__onnx_reshape_as(struct ferry__onnx *o, int x, const ferry_blob *b)
{
    return ferry__onnx_reshape_to(o, x, ferry_blob_rank(b), ferry_blob_shape(b));
}

int ferry__onnx_cast(struct ferry__onnx *o, int x, enum ferry__onnx_type type)
{
    int y = ONNX_OP(o, "Cast", x);

    ferry__onnx_set_int(o, "to", type);
    return y;
}

int ferry__onnx_transpose(struct ferry__onnx *o, int x, int rank, const int64_t *order)
{
    int y = ONNX_OP(o, "Transpose", x);

    ferry__onnx_set_ints(o, "perm", rank, order);
    return y;
}

int ferry__onnx_concat_of(struct ferry__onnx *o, int axis, int n, const int *in)
{
    int y = ferry__onnx_op(o, "Concat", n, in);

    ferry__onnx_set_int(o, "axis", axis);
    return y;
}

int ferry__onnx_gather(struct ferry__onnx *o, int x, int index, int axis)
{
    int y = ONNX_OP(o, "Gather", x, index);

    ferry__onnx_set_int(o, "axis", axis);
    return y;
}

/*
 * Adds a node with axes, which are an attribute before operator set `set` and an input from then
 * on.
 */
static int with_axes(struct ferry__onnx *o, const char *type, int x, int n, const int64_t *axes,
                     int since)
{
    int y;

    if (o->opset >= since)
        return ONNX_OP(o, type, x, ferry__onnx_ints(o, n, axes));
    y = ONNX_OP(o, type, x);
    ferry__onnx_set_ints(o, "axes", n, axes);
    return y;
}

int ferry__onnx_squeeze(struct ferry__onnx *o, int x, int axis)
{
    return with_axes(o, "Squeeze", x, 1, &(int64_t){ axis }, 13);
}

int ferry__onnx_unsqueeze(struct ferry__onnx *o, int x, int n, const int64_t *axes)
{
    return with_axes(o, "Unsqueeze", x, n, axes, 13);
}

int ferry__onnx_reduce(struct ferry__onnx *o, const char *type, int x, int n, const int64_t *axes,
                       bool keep)
{
    int y = with_axes(o, type, x, n, axes, strcmp(type, "ReduceSum") ? 18 : 13);

    ferry__onnx_set_int(o, "keepdims", keep);
    return y;
}

int ferry__onnx_slices(struct ferry__onnx *o, int x, int n, const int64_t *axes,
                       const int64_t *first, const int64_t *end)
{
    int begin = ferry__onnx_ints(o, n, first), until = ferry__onnx_ints(o, n, end);

    return ONNX_OP(o, "Slice", x, begin, until, ferry__onnx_ints(o, n, axes));
}

int ferry__onnx_slice_of(struct ferry__onnx *o, int x, int axis, int64_t first, int64_t end)
{
    return ferry__onnx_slices(o, x, 1, &(int64_t){ axis }, &first, &end);
}

int ferry__onnx_filled(struct ferry__onnx *o, double value, int rank, const int64_t *dims)
{
    return ONNX_OP(o, "Expand", ferry__onnx_float(o, value), ferry__onnx_ints(o, rank, dims));
}

int ferry__onnx_reverse(struct ferry__onnx *o, int x, int axis)
{
    int from = ferry__onnx_ints(o, 1, &(int64_t){ -1 });
    int until = ferry__onnx_ints(o, 1, &(int64_t){ INT64_MIN });
    int along = ferry__onnx_ints(o, 1, &(int64_t){ axis });

    return ONNX_OP(o, "Slice", x, from, until, along, from);
}

int ferry__onnx_pad(struct ferry__onnx *o, int x, int n, const int64_t *pads)
{
    return ONNX_OP(o, "Pad", x, ferry__onnx_ints(o, 2 * n, pads), ferry__onnx_float(o, 0));
}

int ferry__onnx_clip_to(struct ferry__onnx *o, int x, double least, double most)
{
    return ONNX_OP(o, "Clip", x, ferry__onnx_float(o, least), ferry__onnx_float(o, most));
}

/*
 * Adds a Softmax. Before operator set 13, Softmax flattened the axes from `axis` on, so that the
 * axis must be the last one.
 */
int ferry__onnx_softmax_of(struct ferry__onnx *o, const char *type, int x, int rank, int axis)
{
    int64_t order[FERRY_MAX_AXES];
    bool moved = o->opset < 13 && axis != rank - 1;
    int y, i;

    for (i = 0; i < rank; i++)
        order[i] = i;
    order[axis] = rank - 1;
    order[rank - 1] = axis;
    if (moved)
        x = ferry__onnx_transpose(o, x, rank, order);
    y = ONNX_OP(o, type, x);
    ferry__onnx_set_int(o, "axis", moved ? rank - 1 : axis);
    return moved ? ferry__onnx_transpose(o, y, rank, order) : y;
}

int ferry__onnx_top_k(struct ferry__onnx *o, int x, int k, int axis, int *out_index)
{
    int y = ONNX_OP(o, "TopK", x, k);

    ferry__onnx_set_int(o, "axis", axis);
    *out_index = ferry__onnx_more(o);
    return y;
}

int ferry__onnx_scaled(struct ferry__onnx *o, int x, double factor, double term)
{
    struct ferry__onnx_affine affine = { .channels = 1 };
    double zero = 0, one = 1;

    if (factor != 1) {
        x = ONNX_OP(o, "Mul", x, ferry__onnx_float(o, factor));
        affine.factors = &factor;
        affine.terms = &zero;
        ferry__onnx_set_affine(o, &affine);
    }
    if (term != 0) {
        x = ONNX_OP(o, "Add", x, ferry__onnx_float(o, term));
        affine.factors = &one;
        affine.terms = &term;
        ferry__onnx_set_affine(o, &affine);
    }
    return x;
}

int ferry__onnx_raised(struct ferry__onnx *o, int x, double power)
{
    if (power == 1)
        return x;
    if (power == 2)
        return ONNX_OP(o, "Mul", x, x);
    if (power == 0.5)
        return ONNX_OP(o, "Sqrt", x);
    return ONNX_OP(o, "Pow", x, ferry__onnx_float(o, power));
}
