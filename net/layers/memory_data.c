/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MemoryData (memory_data_param): batch_size × channels × height × width values and batch_size labels that
 * the program fills before a forward, as it fills what an Input makes: both tops are inputs of the net. Of
 * a picture ferry_image_transform makes item i of the first. Another number of items is another shape of both.
 * A transform_param is the program's to apply, and warned of. (Caffe: MemoryDataLayer, whose Reset and
 * AddMatVector are that.)
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
                                     "layer \"%s\": batch_size, channels, height and width are to "
                                     "be positive",
                                     ferry_layer_name(layer));
    }
    if (ferry_proto_value_count(message, "transform_param"))
        ferry_log_write(FERRY_LOG_WARN,
                        "ferry: layer \"%s\": what the program writes is not transformed; "
                        "ferry_image_transform does that",
                        ferry_layer_name(layer));
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
    return err ? err : ferry_blob_reshape(ferry_layer_top_at(layer, 1), shape, 1, NULL);
}

/* The program's shapes stay as they are. */
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
