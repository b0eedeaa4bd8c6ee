/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GRADIENT_ROWS_H
#define GRADIENT_ROWS_H

#include <ferry/op.h>
#include <stdbool.h>
#include <stdint.h>

/* Layers of every type with a backward pass, with their bottoms. */

#define MOST 5 /* bottoms, tops */

/*
 * The values of an input. A grid's values are distinct and not near 0, so that no finite difference
 * crosses a kink.
 */
enum kind { GRID, LABELS, CONTINUES, CHOSEN, INDICES, REGIONS, MASK, LIKELY };

struct input {
    enum kind kind;
    int64_t shape[4];
};

struct gradient {
    const char *type, *parameters;
    struct input inputs[MOST];
    int tops;      /* 0: in place; −1: none */
    bool constant; /* the solver does not own its parameters */
};

#define IMAGE      \
    {              \
        2, 3, 4, 4 \
    }

static const struct gradient gradients[] = {
    { "Convolution",
      "convolution_param { num_output: 4 kernel_size: 3 pad: 1 stride: 2 "
      "weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Convolution",
      "convolution_param { num_output: 6 group: 3 kernel_size: 2 dilation: 2 "
      "weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "DepthwiseConvolution",
      "convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: "
      "'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ConvolutionDepthwise",
      "convolution_param { num_output: 3 kernel_size: 2 stride: 2 weight_filler { type: "
      "'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Deconvolution",
      "convolution_param { num_output: 2 kernel_size: 3 stride: 2 weight_filler { type: "
      "'xavier' } }",
      { { GRID, { 1, 3, 3, 3 } } },
      1,
      false },
    { "InnerProduct",
      "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "InnerProduct",
      "inner_product_param { num_output: 5 transpose: true axis: -1 weight_filler { "
      "type: 'xavier' } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Pooling",
      "pooling_param { kernel_size: 3 stride: 2 pad: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Pooling", "pooling_param { kernel_size: 1 }", { { GRID, IMAGE } }, 2, false },
    { "Pooling",
      "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ReLU", "relu_param { negative_slope: 0.1 }", { { GRID, IMAGE } }, 1, false },
    { "ReLU", "", { { GRID, IMAGE } }, 0, false },
    { "ReLU6", "", { { GRID, IMAGE } }, 1, false },
    { "PReLU", "", { { GRID, IMAGE } }, 1, false },
    { "PReLU", "", { { GRID, IMAGE } }, 0, false },
    { "ELU", "elu_param { alpha: 0.7 }", { { GRID, IMAGE } }, 1, false },
    { "ELU", "elu_param { alpha: -0.7 }", { { GRID, IMAGE } }, 1, false },
    { "ELU", "elu_param { alpha: -0.7 }", { { GRID, IMAGE } }, 0, false },
    { "Sigmoid", "", { { GRID, IMAGE } }, 0, false },
    { "TanH", "", { { GRID, IMAGE } }, 1, false },
    { "AbsVal", "", { { GRID, IMAGE } }, 1, false },
    { "Power", "power_param { power: 1.7 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 1, false },
    { "Power", "power_param { power: 3 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 0, false },
    { "Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }", { { GRID, IMAGE } }, 1, false },
    { "Log", "log_param { base: 3 scale: 0.5 shift: 2 }", { { GRID, IMAGE } }, 1, false },
    { "BNLL", "", { { GRID, IMAGE } }, 1, false },
    { "Clip", "clip_param { min: -0.5 max: 0.5 }", { { GRID, IMAGE } }, 1, false },
    { "Swish", "swish_param { beta: 1.5 }", { { GRID, IMAGE } }, 0, false },
    { "GELU", "", { { GRID, IMAGE } }, 1, false },
    { "HardSigmoid", "", { { GRID, IMAGE } }, 0, false },
    { "HardSwish", "", { { GRID, IMAGE } }, 1, false },
    { "HSigmoid", "", { { GRID, IMAGE } }, 1, false },
    { "HSwish", "", { { GRID, IMAGE } }, 0, false },
    { "Mish", "", { { GRID, IMAGE } }, 1, false },
    { "Softplus", "", { { GRID, IMAGE } }, 0, false },
    { "Softsign", "", { { GRID, IMAGE } }, 1, false },
    { "Dropout", "", { { GRID, IMAGE } }, 1, false },
    { "Dropout", "dropout_param { dropout_ratio: 0.2 }", { { GRID, IMAGE } }, 0, false },
    { "LRN",
      "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 k: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "LRN",
      "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 norm_region: WITHIN_CHANNEL }",
      { { GRID, IMAGE } },
      1,
      false },
    { "BatchNorm", "", { { GRID, IMAGE } }, 1, true },
    { "BatchNorm", "", { { GRID, IMAGE } }, 0, true },
    { "BatchNorm", "batch_norm_param { use_global_stats: true }", { { GRID, IMAGE } }, 1, true },
    { "BN",
      "bn_param { scale_filler { value: 1.5 } shift_filler { value: 0.5 } }",
      { { GRID, IMAGE } },
      1,
      false },
    { "BN",
      "bn_param { bn_mode: INFERENCE scale_filler { value: 1.5 } }",
      { { GRID, IMAGE } },
      0,
      false },
    { "Scale", "scale_param { bias_term: true }", { { GRID, IMAGE } }, 1, false },
    { "Scale",
      "scale_param { bias_term: true axis: 2 num_axes: 2 }",
      { { GRID, IMAGE } },
      0,
      false },
    { "Scale", "", { { GRID, IMAGE }, { GRID, { 3, 4 } } }, 1, false },
    { "Bias", "", { { GRID, IMAGE } }, 1, false },
    { "Bias", "", { { GRID, IMAGE }, { GRID, { 3, 4 } } }, 0, false },
    { "Eltwise",
      "eltwise_param { coeff: 2 coeff: -1 coeff: 0.5 }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: PROD }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: PROD stable_prod_grad: false }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Eltwise",
      "eltwise_param { operation: MAX }",
      { { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } }, { GRID, { 3, 5 } } },
      1,
      false },
    { "Concat", "", { { GRID, { 2, 3 } }, { GRID, { 2, 5 } } }, 1, false },
    { "Slice", "slice_param { slice_point: 1 }", { { GRID, { 2, 3 } } }, 2, false },
    { "Split", "", { { GRID, { 2, 3 } } }, 3, false },
    { "Silence", "", { { GRID, { 2, 3 } }, { GRID, { 2 } } }, -1, false },
    { "Flatten", "", { { GRID, IMAGE } }, 1, false },
    { "Reshape", "reshape_param { shape { dim: 0 dim: -1 } }", { { GRID, IMAGE } }, 1, false },
    { "Permute",
      "permute_param { order: 0 order: 2 order: 3 order: 1 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "ShuffleChannel",
      "shuffle_channel_param { group: 2 }",
      { { GRID, { 2, 4, 2, 2 } } },
      1,
      false },
    { "Crop", "crop_param { offset: 1 }", { { GRID, IMAGE }, { GRID, { 2, 3, 2, 3 } } }, 1, false },
    { "Tile", "tile_param { tiles: 3 }", { { GRID, { 2, 3, 4 } } }, 1, false },
    { "Reduction", "reduction_param { axis: 1 coeff: 2 }", { { GRID, { 2, 12 } } }, 1, false },
    { "Reduction",
      "reduction_param { axis: 1 operation: ASUM }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Reduction",
      "reduction_param { operation: SUMSQ coeff: 0.5 }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Reduction",
      "reduction_param { axis: 1 operation: MEAN }",
      { { GRID, { 2, 12 } } },
      1,
      false },
    { "Softmax", "", { { GRID, IMAGE } }, 1, false },
    { "LogSoftmax", "", { { GRID, IMAGE } }, 1, false },
    { "LogSoftmax", "softmax_param { axis: -1 }", { { GRID, IMAGE } }, 0, false },
    { "Binary", "", { { GRID, { 2, 3, 1, 4 } }, { GRID, { 3, 4, 1 } } }, 1, false },
    { "Binary",
      "binary_param { operation: SUBTRACT }",
      { { GRID, { 2, 3, 1, 4 } }, { GRID, { 2, 1, 3, 4 } } },
      1,
      false },
    { "Binary",
      "binary_param { operation: MULTIPLY }",
      { { GRID, { 3, 1, 4 } }, { GRID, { 2, 3, 2, 1 } } },
      1,
      false },
    { "Binary",
      "binary_param { operation: DIVIDE }",
      { { GRID, { 2, 3, 4, 1 } }, { GRID, { 3, 1, 4 } } },
      1,
      false },
    { "LayerNorm", "", { { GRID, IMAGE } }, 1, false },
    { "LayerNorm", "layer_norm_param { axis: -1 eps: 0.1 }", { { GRID, IMAGE } }, 1, false },
    { "Pad",
      "pad_param { begin: 0 begin: 1 begin: -1 begin: 2 end: 1 end: 0 end: -1 end: 1 value: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Reduce", "reduce_param { axis: 1 axis: -1 }", { { GRID, IMAGE } }, 1, false },
    { "Reduce",
      "reduce_param { operation: MEAN axis: 0 axis: 2 keep_axes: false }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Reduce", "reduce_param { operation: ASUM axis: 2 }", { { GRID, IMAGE } }, 1, false },
    { "Reduce", "reduce_param { operation: SUMSQ axis: 3 }", { { GRID, IMAGE } }, 1, false },
    { "Resize", "resize_param { axis: 2 axis: 3 size: 6 size: 3 }", { { GRID, IMAGE } }, 1, false },
    { "Resize",
      "resize_param { axis: 2 axis: 3 scale: 1.7 scale: 2 method: LINEAR }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Resize",
      "resize_param { axis: 1 axis: 3 size: 5 size: 7 method: CUBIC sampling: ALIGN_CORNERS }",
      { { GRID, IMAGE } },
      1,
      false },
    { "StridedSlice",
      "strided_slice_param { axis: 1 axis: 3 begin: 1 begin: -3 end: 9 end: 4 step: 1 step: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Softmax", "softmax_param { axis: -1 }", { { GRID, IMAGE } }, 0, false },
    { "MVN", "", { { GRID, IMAGE } }, 1, false },
    { "MVN",
      "mvn_param { across_channels: true normalize_variance: false }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Normalize",
      "norm_param { across_spatial: false channel_shared: false }",
      { { GRID, IMAGE } },
      1,
      false },
    { "Normalize", "norm_param { scale_filler { value: 3 } }", { { GRID, IMAGE } }, 1, false },
    { "Axpy", "", { { GRID, { 2, 3, 1, 1 } }, { GRID, IMAGE }, { GRID, IMAGE } }, 1, false },
    { "Embed",
      "embed_param { input_dim: 4 num_output: 3 weight_filler { type: 'xavier' } }",
      { { INDICES, { 5 } } },
      1,
      false },
    { "Im2col",
      "convolution_param { kernel_size: 3 pad: 1 stride: 2 }",
      { { GRID, IMAGE } },
      1,
      false },
    { "SPP", "spp_param { pyramid_height: 2 }", { { GRID, IMAGE } }, 1, false },
    { "SPP", "spp_param { pyramid_height: 2 pool: AVE }", { { GRID, IMAGE } }, 1, false },
    { "Interp", "interp_param { height: 6 width: 5 }", { { GRID, IMAGE } }, 1, false },
    { "Interp", "interp_param { height: 5 width: 3 pad_beg: -1 }", { { GRID, IMAGE } }, 1, false },
    { "Upsample", "upsample_param { scale: 2 }", { { GRID, { 1, 2, 3, 3 } } }, 1, false },
    { "Upsample",
      "upsample_param { scale: 2 }",
      { { GRID, { 1, 2, 2, 2 } }, { MASK, { 1, 2, 2, 2 } } },
      1,
      false },
    { "ROIPooling",
      "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }",
      { { GRID, IMAGE }, { REGIONS, { 2, 5 } } },
      1,
      false },
    { "PSROIPooling",
      "psroi_pooling_param { group_size: 2 output_dim: 1 spatial_scale: 0.5 }",
      { { GRID, { 2, 4, 4, 4 } }, { REGIONS, { 2, 5 } } },
      1,
      false },
    { "Filter", "", { { GRID, { 4, 3 } }, { GRID, { 4, 2 } }, { CHOSEN, { 4 } } }, 2, false },
    { "BatchReindex", "", { { GRID, { 4, 3 } }, { INDICES, { 6 } } }, 1, false },
    { "Parameter", "parameter_param { shape { dim: 2 dim: 3 } }", { { GRID, { 0 } } }, 1, false },
    { "LSTMUnit",
      "",
      { { GRID, { 1, 2, 3 } }, { GRID, { 1, 2, 12 } }, { CONTINUES, { 1, 2 } } },
      2,
      false },
    { "LSTM",
      "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }",
      { { GRID, { 4, 2, 3 } }, { CONTINUES, { 4, 2 } }, { GRID, { 2, 2 } } },
      1,
      false },
    { "RNN",
      "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }",
      { { GRID, { 4, 2, 3 } }, { CONTINUES, { 4, 2 } } },
      1,
      false },
    { "EuclideanLoss", "loss_weight: 2", { { GRID, { 3, 4 } }, { GRID, { 3, 4 } } }, 1, false },
    { "SoftmaxWithLoss",
      "loss_param { ignore_label: 2 }",
      { { GRID, { 2, 3, 2, 2 } }, { LABELS, { 2, 2, 2 } } },
      1,
      false },
    { "SigmoidCrossEntropyLoss",
      "loss_weight: 0.5",
      { { GRID, { 3, 4 } }, { CONTINUES, { 3, 4 } } },
      1,
      false },
    { "HingeLoss", "", { { GRID, { 4, 3 } }, { LABELS, { 4 } } }, 1, false },
    { "HingeLoss",
      "hinge_loss_param { norm: L2 }",
      { { GRID, { 4, 3 } }, { LABELS, { 4 } } },
      1,
      false },
    { "MultinomialLogisticLoss", "", { { LIKELY, { 4, 3 } }, { LABELS, { 4 } } }, 1, false },
    { "InfogainLoss",
      "",
      { { GRID, { 4, 3 } }, { LABELS, { 4 } }, { LIKELY, { 3, 3 } } },
      1,
      false },
    { "ContrastiveLoss",
      "contrastive_loss_param { margin: 3 }",
      { { GRID, { 4, 3 } }, { GRID, { 4, 3 } }, { CHOSEN, { 4 } } },
      1,
      false },
    { "ContrastiveLoss",
      "contrastive_loss_param { margin: 3 legacy_version: true }",
      { { GRID, { 4, 3 } }, { GRID, { 4, 3 } }, { CHOSEN, { 4 } } },
      1,
      false },
};

/* Element i of the n of input `seed`. */
static float value_of(const struct input *in, int64_t i, int64_t n, int seed)
{
    static const float regions[] = { 0, 1, 1, 6, 5, 1, 0, 2, 4, 7 };
    static const float mask[] = { 0, 3, 9, 14, 1, 6, 8, 15 };

    switch (in->kind) {
    case GRID: /* 37 and 41 are coprime to the numbers of elements used */
        i = 2 * ((i + seed) * (seed % 2 ? 37 : 41) % n) + 1 - n;
        return ((float)i + (n % 2 ? 0.5f : 0) + 0.25f * (float)seed) / (float)n;
    case LABELS:
    case INDICES:
        return (float)(i * 2 % 3);
    case CONTINUES:
        return i >= in->shape[1] && i % 5 != 4;
    case CHOSEN:
        return i % 3 != 1;
    case REGIONS:
        return regions[i % 10];
    case MASK:
        return mask[i % 8];
    case LIKELY:
        return 0.2f + 0.6f * (float)((i * 5) % n) / (float)n;
    }
    return 0;
}

static int axes_of(const struct input *in)
{
    int n = 0;

    while (n < 4 && in->shape[n])
        n++;
    return n;
}

#endif
