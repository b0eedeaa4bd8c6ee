/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Input (input_param): tops that the program fills; one shape for each, or one for all. Without a
 * shape a top has no elements until it is reshaped. (Caffe: InputLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

/* The shape that the prototxt gives a top. */
static int shape_top(ferry_layer *layer, const ferry_proto *p, int top)
{
    int64_t shapes = ferry_proto_value_count(p, "shape"), dims[32], n, i;
    const ferry_proto *shape = ferry_proto_message(p, "shape", shapes > 1 ? top : 0);

    n = ferry_proto_value_count(shape, "dim");
    if (n > 32)
        return ferry_proto_error(shape, "dim", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes, the limit is 32",
                                 ferry_layer_name(layer), (long long)n);
    for (i = 0; i < n; i++)
        dims[i] = ferry_proto_integer(shape, "dim", i);
    return ferry_blob_reshape(ferry_layer_top_at(layer, top), dims, (int)n, NULL);
}

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "input_param", 0);
    int64_t shapes = ferry_proto_value_count(p, "shape");
    int i, err = 0;

    if (shapes > 1 && shapes != ferry_layer_top_count(layer))
        return ferry_proto_error(
            p, "shape", 0, FERRY_EFORMAT,
            "layer \"%s\": %lld shapes for %d tops; give one for all or one for each",
            ferry_layer_name(layer), (long long)shapes, ferry_layer_top_count(layer));
    for (i = 0; !err && shapes && i < ferry_layer_top_count(layer); i++)
        err = shape_top(layer, p, i);
    return err;
}

/* Keeps the shapes that the program has set. */
static int reshape(ferry_layer *layer)
{
    (void)layer;
    return 0;
}

static const char *const messages[] = { "input_param", NULL };

const ferry_layer_type ferry__input_layer = {
    .struct_size = sizeof ferry__input_layer,
    .name = "Input",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .flags = FERRY_LAYER_INPUT,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
