/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer_samples.h"

#include <stdio.h>
#include <string.h>

/*
 * The types that the default example does not fit: the bottoms' shapes, separated by blanks, and
 * parameters.
 */
static const struct {
    const char *type;
    const char *bottoms[4]; /* NULL: the default bottom; the last shape of a short list is
                             * repeated */
    const char *parameters;
} samples[] = {
    { "Accuracy", { "8 10", "8" }, "" },
    { "BatchReindex", { "8 4", "3" }, "" },
    { "Convolution", { NULL }, "convolution_param { num_output: 4 kernel_size: 3 }" },
    { "ConvolutionDepthwise", { NULL }, "convolution_param { num_output: 4 kernel_size: 3 }" },
    { "ContrastiveLoss", { "8 4", "8 4", "8" }, "" },
    { "Crop", { "1 4 8 8", "1 4 6 6" }, "" },
    { "Deconvolution", { NULL }, "convolution_param { num_output: 4 kernel_size: 3 }" },
    { "DepthwiseConvolution", { NULL }, "convolution_param { num_output: 4 kernel_size: 3 }" },
    { "DetectionOutput",
      { "1 16", "1 8", "1 2 16" },
      "detection_output_param { num_classes: 2 nms_param { nms_threshold: 0.5 } keep_top_k: 4 }" },
    { "DummyData", { NULL }, "dummy_data_param { shape { dim: 4 } }" },
    { "Embed", { "8" }, "embed_param { num_output: 4 input_dim: 10 }" },
    { "EuclideanLoss", { "8 4", "8 4" }, "" },
    { "Filter", { "8 4", "8" }, "" },
    { "HingeLoss", { "8 4", "8" }, "" },
    { "Im2col", { NULL }, "convolution_param { kernel_size: 3 }" },
    { "InfogainLoss", { "8 4", "8", "1 1 4 4" }, "" },
    { "InnerProduct", { NULL }, "inner_product_param { num_output: 4 }" },
    { "Input", { NULL }, "input_param { shape { dim: 4 } }" },
    { "Interp", { NULL }, "interp_param { zoom_factor: 2 }" },
    { "LSTM", { "2 3 4", "2 3" }, "recurrent_param { num_output: 4 }" },
    { "LSTMUnit", { "1 3 4", "1 3 16", "1 3" }, "" },
    { "MemoryData",
      { NULL },
      "memory_data_param { batch_size: 1 channels: 4 height: 8 width: 8 }" },
    { "MultinomialLogisticLoss", { "8 4", "8" }, "" },
    { "PSROIPooling",
      { "1 8 8 8", "2 5" },
      "psroi_pooling_param { spatial_scale: 1 output_dim: 2 group_size: 2 }" },
    { "Pad",
      { NULL },
      "pad_param { begin: 0 begin: 0 begin: 1 begin: 1 end: 0 end: 0 end: 1 end: 1 }" },
    { "Parameter", { NULL }, "parameter_param { shape { dim: 4 } }" },
    { "Permute", { NULL }, "permute_param { order: 0 order: 2 order: 3 order: 1 }" },
    { "Pooling", { NULL }, "pooling_param { kernel_size: 2 stride: 2 }" },
    { "PriorBox", { "1 4 8 8", "1 3 64 64" }, "prior_box_param { min_size: 16 }" },
    { "Proposal", { "1 18 8 8", "1 36 8 8", "1 3" }, "" },
    { "RNN", { "2 3 4", "2 3" }, "recurrent_param { num_output: 4 }" },
    { "ROIPooling",
      { "1 4 8 8", "2 5" },
      "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 }" },
    { "Reduce", { NULL }, "reduce_param { axis: 2 axis: 3 }" },
    { "Resize", { NULL }, "resize_param { axis: 2 axis: 3 scale: 2 scale: 2 }" },
    { "Reshape", { NULL }, "reshape_param { shape { dim: 0 dim: -1 } }" },
    { "SPP", { NULL }, "spp_param { pyramid_height: 2 }" },
    { "ShuffleChannel", { NULL }, "shuffle_channel_param { group: 2 }" },
    { "SigmoidCrossEntropyLoss", { "8 4", "8 4" }, "" },
    { "Slice", { NULL }, "slice_param { axis: 1 }" },
    { "SoftmaxWithLoss", { "8 4", "8" }, "" },
    { "StridedSlice", { NULL }, "strided_slice_param { axis: 2 begin: 1 end: 7 step: 2 }" },
    { "Tile", { NULL }, "tile_param { tiles: 2 }" },
    { "Upsample", { "1 4 4 4", "1 4 4 4" }, "upsample_param { scale: 2 }" },
    { "Axpy", { "1 4", "1 4 8 8", "1 4 8 8" }, "" },
};

#define USUAL "1 4 8 8"

struct text {
    char *at;
    size_t size, used;
};

static void put(struct text *t, const char *words)
{
    int n = snprintf(t->at + t->used, t->size - t->used, "%s", words);

    t->used = n < 0 || (size_t)n >= t->size - t->used ? t->size - 1 : t->used + (size_t)n;
}

static void put_number(struct text *t, int number)
{
    char digits[16];

    snprintf(digits, sizeof(digits), "%d", number);
    put(t, digits);
}

/* Writes an input "xN" of a shape whose dims are separated by blanks. */
static void put_input(struct text *t, const char *shape, int index)
{
    put(t, "layer { name: 'in");
    put_number(t, index);
    put(t, "' type: 'Input' top: 'x");
    put_number(t, index);
    put(t, "' input_param { shape { dim: ");
    for (; *shape; shape++) {
        char one[2] = { *shape, '\0' };

        put(t, *shape == ' ' ? " dim: " : one);
    }
    put(t, " } } }\n");
}

static void put_list(struct text *t, const char *field, const char *letter, int n)
{
    for (int i = 0; i < n; i++) {
        put(t, field);
        put(t, letter);
        put_number(t, i);
        put(t, "'");
    }
}

size_t layer_sample(const ferry_layer_type *type, char *out, size_t size)
{
    const size_t none = sizeof(samples) / sizeof(samples[0]);
    struct text t = { out, size, 0 };
    const char *shape = USUAL;
    size_t s = 0;
    int n = type->min_bottoms > 0 ? type->min_bottoms : 0;

    while (s < none && strcmp(samples[s].type, type->name) != 0)
        s++;
    while (s < none && n < 4 && samples[s].bottoms[n] &&
           (type->max_bottoms < 0 || n < type->max_bottoms))
        n++;
    for (int i = 0; i < n; i++) {
        if (s < none && i < 4 && samples[s].bottoms[i])
            shape = samples[s].bottoms[i];
        put_input(&t, shape, i);
    }
    put(&t, "layer { name: 'sample' type: '");
    put(&t, type->name);
    put(&t, "'");
    put_list(&t, " bottom: '", "x", n);
    put_list(&t, " top: '", "y", type->min_tops > 0 ? type->min_tops : type->max_tops != 0);
    put(&t, " ");
    put(&t, s < none ? samples[s].parameters : "");
    put(&t, " }\n");
    return t.used + 1 < size ? t.used : 0;
}
