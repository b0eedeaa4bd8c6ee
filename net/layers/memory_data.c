/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MemoryData (memory_data_param): batch_size × channels × height × width values and batch_size
 * labels that the program fills before a forward pass, like the tops of an Input: both tops are
 * inputs of the net. ferry_image_transform converts a picture into item i of the first. To change
 * the number of items, reshape both. The program has to apply the transform_param itself; a warning
 * reports one. (Caffe: MemoryDataLayer with Reset and AddMatVector.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    static const char *const sides[] = { "batch_size", "channels", "height", "width" };
    const ferry_proto *message = ferry_layer_message(layer);
    const ferry_proto *p = ferry_proto_message(message, "memory_data_param", 0);
    int64_t shape[4];
    int i, err;

    for (i = 0; i < 4; i++) {
        shape[i] = ferry_proto_integer(p, sides[i], 0);
        if (shape[i] < 1)
            return ferry_proto_error(p, sides[i], 0, FERRY_EFORMAT,
                                     "layer \"%s\": batch_size, channels, height and width must be "
                                     "positive",
                                     ferry_layer_name(layer));
    }
    if (ferry_proto_value_count(message, "transform_param"))
        ferry_log_write(FERRY_LOG_WARN,
                        "ferry: layer \"%s\": values that the program writes are not transformed; "
                        "ferry_image_transform transforms a picture",
                        ferry_layer_name(layer));
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
    return err ? err : ferry_blob_reshape(ferry_layer_top_at(layer, 1), shape, 1, NULL);
}

/* Keeps the shapes that the program has set. */
static int reshape(ferry_layer *layer)
{
    (void)layer;
    return 0;
}

static const char *const messages[] = { "memory_data_param", NULL };

const ferry_layer_type ferry__memory_data_layer = {
    .struct_size = sizeof ferry__memory_data_layer,
    .name = "MemoryData",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .flags = FERRY_LAYER_INPUT,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
