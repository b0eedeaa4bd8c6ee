/* SPDX-License-Identifier: BSD-2-Clause */
/* Layers that move, split, concatenate, reorder or reduce values. */
#include "net/onnx/layers.h"

#include <string.h>

int ferry__onnx_axis(const ferry_blob *b, const ferry_proto *p, const char *field)
{
    int64_t axis = ferry_proto_integer(p, field, 0);

    return (int)(axis < 0 ? axis + ferry_blob_rank(b) : axis);
}

void ferry__onnx_split(struct ferry__onnx *o)
{
    for (int i = 0; i < o->layer->n_tops; i++)
        ferry__onnx_top(o, i, ferry__onnx_bottom(o, 0));
}

void ferry__onnx_silence(struct ferry__onnx *o)
{
    (void)o;
}

/* Converts Reshape and Flatten. */
void ferry__onnx_reshape(struct ferry__onnx *o)
{
    ferry__onnx_top(
        o, 0, ferry__onnx_reshape_as(o, ferry__onnx_bottom(o, 0), ferry__onnx_top_blob(o, 0)));
}

void ferry__onnx_permute(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "permute_param");
    int rank = ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)), n, i;
    int64_t order[FERRY_MAX_AXES];
    uint64_t seen = 0;

    for (n = 0; n < (int)ferry_proto_value_count(p, "order"); n++) {
        order[n] = ferry_proto_integer(p, "order", n);
        seen |= UINT64_C(1) << order[n];
    }
    for (i = 0; i < rank; i++)
        if (!(seen >> i & 1))
            order[n++] = i;
    ferry__onnx_top(o, 0, ferry__onnx_transpose(o, ferry__onnx_bottom(o, 0), rank, order));
}

void ferry__onnx_shuffle_channel(struct ferry__onnx *o)
{
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int64_t group =
        ferry_proto_integer(ferry__onnx_message(o->layer, "shuffle_channel_param"), "group", 0);
    int64_t channels = ferry_blob_dim(b, 1), dims[4] = { ferry_blob_dim(b, 0), group };
    int x;

    dims[2] = channels / group;
    dims[3] = ferry_blob_element_count_range(b, 2, ferry_blob_rank(b));
    x = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 4, dims);
    x = ferry__onnx_transpose(o, x, 4, (int64_t[]){ 0, 2, 1, 3 });
    ferry__onnx_top(o, 0, ferry__onnx_reshape_as(o, x, b));
}

void ferry__onnx_tile(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "tile_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int64_t repeats[FERRY_MAX_AXES];
    int i, rank = ferry_blob_rank(b);

    for (i = 0; i < rank; i++)
        repeats[i] = 1;
    repeats[ferry__onnx_axis(b, p, "axis")] = ferry_proto_integer(p, "tiles", 0);
    ferry__onnx_top(
        o, 0, ONNX_OP(o, "Tile", ferry__onnx_bottom(o, 0), ferry__onnx_ints(o, rank, repeats)));
}

/* ---- concatenating and splitting ------------------------------------------------------------ */

/* The axis, from the field with its current or its old name. */
static int axis_of(const struct ferry__onnx *o, const char *message, const char *old)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, message);

    return ferry__onnx_axis(ferry__onnx_bottom_blob(o, 0), p,
                            ferry_proto_value_count(p, old) ? old : "axis");
}

void ferry__onnx_concat(struct ferry__onnx *o)
{
    int n = o->layer->n_bottoms, axis = axis_of(o, "concat_param", "concat_dim"), i;
    int *in = ferry__onnx_alloc(o, (size_t)n * sizeof *in);

    for (i = 0; in && i < n; i++)
        in[i] = ferry__onnx_bottom(o, i);
    if (in)
        ferry__onnx_top(o, 0, n > 1 ? ferry__onnx_concat_of(o, axis, n, in) : in[0]);
}

void ferry__onnx_slice(struct ferry__onnx *o)
{
    int n = o->layer->n_tops, axis = axis_of(o, "slice_param", "slice_dim"), i, y;
    int64_t *sizes = ferry__onnx_alloc(o, (size_t)n * sizeof *sizes);
    int x = ferry__onnx_bottom(o, 0);

    for (i = 0; sizes && i < n; i++)
        sizes[i] = ferry_blob_dim(ferry__onnx_top_blob(o, i), axis);
    if (!sizes || n == 1) {
        ferry__onnx_top(o, 0, x);
        return;
    }
    y = o->opset < 13 ? ONNX_OP(o, "Split", x)
                      : ONNX_OP(o, "Split", x, ferry__onnx_ints(o, n, sizes));
    ferry__onnx_set_int(o, "axis", axis);
    if (o->opset < 13)
        ferry__onnx_set_ints(o, "split", n, sizes);
    ferry__onnx_top(o, 0, y);
    for (i = 1; i < n; i++)
        ferry__onnx_top(o, i, ferry__onnx_more(o));
}

void ferry__onnx_crop(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "crop_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0), *like = ferry__onnx_bottom_blob(o, 1);
    int first = ferry__onnx_axis(b, p, "axis"), n = 0, i;
    int64_t axes[FERRY_MAX_AXES], from[FERRY_MAX_AXES], end[FERRY_MAX_AXES];
    int64_t offsets = ferry_proto_value_count(p, "offset");
    int x = ferry__onnx_bottom(o, 0);

    for (i = first; i < ferry_blob_rank(b); i++) {
        if (ferry_blob_dim(b, i) == ferry_blob_dim(like, i))
            continue;
        axes[n] = i;
        from[n] = offsets ? ferry_proto_integer(p, "offset", offsets > 1 ? i - first : 0) : 0;
        end[n] = from[n] + ferry_blob_dim(like, i);
        n++;
    }
    ferry__onnx_top(o, 0, n ? ferry__onnx_slices(o, x, n, axes, from, end) : x);
}

/* Converts Filter: the items of each bottom except the last for which the last bottom is not 0. */
void ferry__onnx_filter(struct ferry__onnx *o)
{
    int last = o->layer->n_bottoms - 1, i, y;
    int64_t entries = ferry_blob_element_count(ferry__onnx_bottom_blob(o, last));
    int chosen = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, last), 1, &entries);

    chosen = ferry__onnx_cast(o, chosen, FERRY__ONNX_BOOL);
    for (i = 0; i < last; i++) {
        y = ONNX_OP(o, "Compress", ferry__onnx_bottom(o, i), chosen);
        ferry__onnx_set_int(o, "axis", 0);
        ferry__onnx_top(o, i, y);
    }
}

/* ---- along an axis -------------------------------------------------------------------------- */

void ferry__onnx_softmax(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "softmax_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);

    ferry__onnx_top(o, 0,
                    ferry__onnx_softmax_of(o, "Softmax", ferry__onnx_bottom(o, 0),
                                           ferry_blob_rank(b), ferry__onnx_axis(b, p, "axis")));
}

void ferry__onnx_reduction(struct ferry__onnx *o)
{
    static const char *const types[][2] = { { "SUM", "ReduceSum" },
                                            { "ASUM", "ReduceL1" },
                                            { "SUMSQ", "ReduceSumSquare" },
                                            { "MEAN", "ReduceMean" } };
    const ferry_proto *p = ferry__onnx_message(o->layer, "reduction_param");
    const char *operation = ferry_proto_enum(p, "operation", 0), *type = "ReduceSum";
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int64_t axes[FERRY_MAX_AXES];
    int n = 0, i;

    for (i = 0; i < 4; i++)
        if (!strcmp(types[i][0], operation))
            type = types[i][1];
    for (i = ferry__onnx_axis(b, p, "axis"); i < ferry_blob_rank(b); i++)
        axes[n++] = i;
    i = ferry__onnx_reduce(o, type, ferry__onnx_bottom(o, 0), n, axes, false);
    ferry__onnx_top(o, 0, ferry__onnx_scaled(o, i, ferry_proto_real(p, "coeff", 0), 0));
}

/*
 * Converts ArgMax. The axis is reversed, because among equal values Caffe takes the last index
 * first and TopK the first.
 */
void ferry__onnx_arg_max(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "argmax_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0), *top = ferry__onnx_top_blob(o, 0);
    bool has_axis = ferry_proto_value_count(p, "axis") > 0;
    bool values = ferry_proto_boolean(p, "out_max_val", 0);
    int axis = has_axis ? ferry__onnx_axis(b, p, "axis") : 1, x = ferry__onnx_bottom(o, 0), y;
    int k = ferry__onnx_ints(o, 1, &(int64_t){ ferry_proto_integer(p, "top_k", 0) }), index;
    int64_t along;

    if (!has_axis)
        x = ONNX_OP(o, "Flatten", x);
    y = ferry__onnx_top_k(o, ferry__onnx_reverse(o, x, axis), k, axis, &index);
    along = has_axis ? ferry_blob_dim(b, axis)
                     : ferry_blob_element_count_range(b, 1, ferry_blob_rank(b));
    index = ONNX_OP(o, "Sub", ferry__onnx_int(o, along - 1), index);
    index = ferry__onnx_cast(o, index, FERRY__ONNX_FLOAT);
    if (has_axis)
        y = values ? y : index;
    else
        y = ferry__onnx_reshape_as(
            o, values ? ferry__onnx_concat_of(o, 1, 2, (int[]){ index, y }) : index, top);
    ferry__onnx_top(o, 0, y);
}
