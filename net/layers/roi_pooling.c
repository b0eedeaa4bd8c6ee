/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROIPooling (roi_pooling_param): for each region in bottom 1 (image, x1, y1, x2, y2, times
 * spatial_scale and rounded) the maxima of pooled_h × pooled_w bins. (Fast R-CNN: ROIPoolingLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "roi_pooling_param", 0);
    int64_t h = ferry_proto_integer(p, "pooled_h", 0), w = ferry_proto_integer(p, "pooled_w", 0);

    if (h < 1 || w < 1)
        return ferry_proto_error(p, h < 1 ? "pooled_h" : "pooled_w", 0, FERRY_EFORMAT,
                                 "layer \"%s\": bins of %lld × %lld", ferry_layer_name(layer),
                                 (long long)h, (long long)w);
    return ferry__regions(layer, ferry_blob_legacy_dim(ferry_layer_bottom_at(layer, 0), 1), h, w, 0,
                          ferry_proto_real(p, "spatial_scale", 0));
}

static int backward(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "roi_pooling_param", 0);

    return ferry_layer_propagates(layer, 0)
               ? ferry__regions_backward(layer, 0, ferry_proto_real(p, "spatial_scale", 0))
               : 0;
}

static const char *const messages[] = { "roi_pooling_param", NULL };

const ferry_layer_type ferry__roi_pooling_layer = {
    .struct_size = sizeof ferry__roi_pooling_layer,
    .name = "ROIPooling",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
    .backward = backward,
    .refuses = ferry__regions_refuse,
};
