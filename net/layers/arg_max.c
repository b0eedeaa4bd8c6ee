/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ArgMax (argmax_param): the indices of the top_k largest values, along `axis` or over each whole
 * item. With out_max_val the top has the values instead of the indices if `axis` is set, otherwise
 * both. Among equal values the larger index comes first, or with ferry's own `first` the smaller
 * one. NaN is the largest value. (Caffe: ArgMaxLayer; ONNX: ArgMax.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <stdlib.h>

struct arg_max {
    int64_t k;
    bool values, has_axis, first;
    int axis;
};

static int setup(ferry_layer *layer)
{
    struct arg_max *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "argmax_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t along;

    s->k = ferry_proto_integer(p, "top_k", 0);
    s->values = ferry_proto_boolean(p, "out_max_val", 0);
    s->first = ferry_proto_boolean(p, "first", 0);
    s->has_axis = ferry_proto_value_count(p, "axis") > 0;
    if (ferry_blob_rank(bottom) < 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom is a scalar");
    if (s->has_axis) {
        int err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                                 ferry_blob_rank(bottom), &s->axis);

        if (err)
            return err;
    }
    along = s->has_axis ? ferry_blob_dim(bottom, s->axis)
                        : ferry_blob_element_count_range(bottom, 1, ferry_blob_rank(bottom));
    if (s->k < 1 || s->k > along)
        return ferry_proto_error(p, "top_k", 0, FERRY_ESHAPE,
                                 "layer \"%s\": top_k is %lld, there are %lld values",
                                 ferry_layer_name(layer), (long long)s->k, (long long)along);
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const struct arg_max *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), i;
    int64_t shape[FERRY_MAX_AXES];

    if (s->has_axis) {
        for (i = 0; i < rank; i++)
            shape[i] = i == s->axis ? s->k : ferry_blob_dim(bottom, i);
        return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
    }
    if (rank < 3)
        rank = 3;
    for (i = 0; i < rank; i++)
        shape[i] = 1;
    shape[0] = ferry_blob_dim(bottom, 0);
    shape[2] = s->k;
    if (s->values)
        shape[1] = 2;
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

struct one {
    float value;
    int64_t index;
};

static int smaller_index_first(const void *x, const void *y)
{
    const struct one *a = x, *b = y;
    int order = ferry__descending(a->value, b->value);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int larger_index_first(const void *x, const void *y)
{
    const struct one *a = x, *b = y;
    int order = ferry__descending(a->value, b->value);

    return order ? order : (a->index < b->index) - (a->index > b->index);
}

static int forward(ferry_layer *layer)
{
    const struct arg_max *s = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    const float *x = ferry_blob_host_data(bottom);
    float *y = x ? ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0)) : NULL;
    int rank = ferry_blob_rank(bottom);
    int64_t along = s->has_axis ? ferry_blob_dim(bottom, s->axis)
                                : ferry_blob_element_count_range(bottom, 1, rank);
    int64_t step = s->has_axis ? ferry_blob_element_count_range(bottom, s->axis + 1, rank) : 1;
    int64_t rows = along ? ferry_blob_element_count(bottom) / along : 0, r, i;
    struct one *all = malloc((size_t)(along + 1) * sizeof *all);

    if (!y || !all) {
        free(all);
        return y ? ferry_layer_error(layer, FERRY_ENOMEM, "no memory") : ferry_last_error_code();
    }
    for (r = 0; r < rows; r++) {
        int64_t base = r / step * along * step + r % step, out = r / step * s->k * step + r % step;

        for (i = 0; i < along; i++)
            all[i] = (struct one){ x[base + i * step], i };
        qsort(all, (size_t)along, sizeof *all,
              s->first ? smaller_index_first : larger_index_first);
        for (i = 0; i < s->k; i++) {
            if (s->has_axis)
                y[out + i * step] = s->values ? all[i].value : (float)all[i].index;
            else
                y[r * s->k * (s->values ? 2 : 1) + i] = (float)all[i].index;
            if (!s->has_axis && s->values)
                y[(2 * r + 1) * s->k + i] = all[i].value;
        }
    }
    free(all);
    return 0;
}

static const char *const messages[] = { "argmax_param", NULL };

const ferry_layer_type ferry__arg_max_layer = {
    .struct_size = sizeof ferry__arg_max_layer,
    .name = "ArgMax",
    .state_size = sizeof(struct arg_max),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
