/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of ferry's own layer types. */
#include "net/layers/layers.h"

/* clang-format off: a name a line */
extern const ferry_layer_type ferry__abs_val_layer, ferry__batch_norm_layer, ferry__bias_layer,
    ferry__bnll_layer, ferry__clip_layer, ferry__concat_layer, ferry__convolution_layer,
    ferry__convolution_depthwise_layer, ferry__deconvolution_layer,
    ferry__depthwise_convolution_layer, ferry__dropout_layer, ferry__eltwise_layer,
    ferry__elu_layer, ferry__exp_layer, ferry__flatten_layer, ferry__inner_product_layer,
    ferry__input_layer, ferry__log_layer, ferry__lrn_layer, ferry__permute_layer,
    ferry__pooling_layer, ferry__power_layer, ferry__prelu_layer, ferry__relu_layer,
    ferry__relu6_layer, ferry__reshape_layer, ferry__scale_layer, ferry__sigmoid_layer,
    ferry__silence_layer, ferry__slice_layer, ferry__softmax_layer, ferry__split_layer,
    ferry__swish_layer, ferry__tanh_layer, ferry__threshold_layer;

const ferry_layer_type *const ferry__layers[] = {
    &ferry__abs_val_layer,       &ferry__batch_norm_layer,
    &ferry__bias_layer,          &ferry__bnll_layer,
    &ferry__clip_layer,          &ferry__concat_layer,
    &ferry__convolution_layer,   &ferry__convolution_depthwise_layer,
    &ferry__deconvolution_layer, &ferry__depthwise_convolution_layer,
    &ferry__dropout_layer,       &ferry__eltwise_layer,
    &ferry__elu_layer,           &ferry__exp_layer,
    &ferry__flatten_layer,       &ferry__inner_product_layer,
    &ferry__input_layer,         &ferry__log_layer,
    &ferry__lrn_layer,           &ferry__permute_layer,
    &ferry__pooling_layer,       &ferry__power_layer,
    &ferry__prelu_layer,         &ferry__relu_layer,
    &ferry__relu6_layer,         &ferry__reshape_layer,
    &ferry__scale_layer,         &ferry__sigmoid_layer,
    &ferry__silence_layer,       &ferry__slice_layer,
    &ferry__softmax_layer,       &ferry__split_layer,
    &ferry__swish_layer,         &ferry__tanh_layer,
    &ferry__threshold_layer,     NULL,
};
