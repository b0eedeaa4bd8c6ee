/* SPDX-License-Identifier: BSD-2-Clause */
/* The layer types that can be expressed in ONNX. */
#include "net/layers/layers.h"
#include "net/onnx/layers.h"

#include <string.h>

/* clang-format off: one type per line */
static const struct ferry__onnx_layer table[] = {
    { "AbsVal", ferry__onnx_abs_val, NULL },
    { "ArgMax", ferry__onnx_arg_max, NULL },
    { "Axpy", ferry__onnx_axpy, NULL },
    { "BN", ferry__onnx_bn, NULL },
    { "BNLL", ferry__onnx_bnll, NULL },
    { "BatchNorm", ferry__onnx_batch_norm, NULL },
    { "BatchReindex", ferry__onnx_batch_reindex, NULL },
    { "Bias", ferry__onnx_bias, NULL },
    { "Clip", ferry__onnx_clip, NULL },
    { "Concat", ferry__onnx_concat, NULL },
    { "ContrastiveLoss", ferry__onnx_contrastive_loss, ferry__onnx_one_batch },
    { "Convolution", ferry__onnx_convolution, NULL },
    { "ConvolutionDepthwise", ferry__onnx_convolution, NULL },
    { "Crop", ferry__onnx_crop, NULL },
    { "Deconvolution", ferry__onnx_convolution, NULL },
    { "DepthwiseConvolution", ferry__onnx_convolution, NULL },
    { "DetectionOutput", ferry__onnx_detection_output, ferry__onnx_detection_output_refuse },
    { "Dropout", ferry__onnx_dropout, ferry__onnx_dropout_refuse },
    { "DummyData", ferry__onnx_dummy_data, ferry__onnx_dummy_data_refuse },
    { "ELU", ferry__onnx_elu, NULL },
    { "Eltwise", ferry__onnx_eltwise, NULL },
    { "Embed", ferry__onnx_embed, NULL },
    { "EuclideanLoss", ferry__onnx_euclidean_loss, ferry__onnx_one_batch },
    { "Exp", ferry__onnx_exp, NULL },
    { "Filter", ferry__onnx_filter, NULL },
    { "Flatten", ferry__onnx_reshape, NULL },
    { "HingeLoss", ferry__onnx_hinge_loss, ferry__onnx_one_batch },
    { "Im2col", ferry__onnx_im2col, NULL },
    { "InnerProduct", ferry__onnx_inner_product, NULL },
    { "Input", ferry__onnx_input, NULL },
    { "Interp", ferry__onnx_interp, NULL },
    { "LRN", ferry__onnx_lrn, NULL },
    { "LSTM", ferry__onnx_lstm, ferry__onnx_one_batch },
    { "LSTMUnit", ferry__onnx_lstm_unit, ferry__onnx_one_batch },
    { "Log", ferry__onnx_log, NULL },
    { "MVN", ferry__onnx_mvn, NULL },
    { "MemoryData", ferry__onnx_input, NULL },
    { "MultinomialLogisticLoss", ferry__onnx_multinomial_logistic_loss, ferry__onnx_one_batch },
    { "Normalize", ferry__onnx_normalize, NULL },
    { "PReLU", ferry__onnx_prelu, NULL },
    { "Parameter", ferry__onnx_parameter, NULL },
    { "Permute", ferry__onnx_permute, NULL },
    { "Pooling", ferry__onnx_pooling, ferry__onnx_pooling_refuse },
    { "Power", ferry__onnx_power, NULL },
    { "PriorBox", ferry__onnx_prior_box, NULL },
    { "Proposal", ferry__onnx_proposal, ferry__onnx_one_batch },
    { "PSROIPooling", ferry__onnx_psroi_pooling, ferry__onnx_psroi_pooling_refuse },
    { "RNN", ferry__onnx_rnn, ferry__onnx_one_batch },
    { "ROIPooling", ferry__onnx_roi_pooling, ferry__onnx_one_batch },
    { "ReLU", ferry__onnx_relu, NULL },
    { "ReLU6", ferry__onnx_relu6, NULL },
    { "Reduction", ferry__onnx_reduction, NULL },
    { "Reshape", ferry__onnx_reshape, NULL },
    { "SPP", ferry__onnx_spp, ferry__onnx_spp_refuse },
    { "Scale", ferry__onnx_scale, NULL },
    { "ShuffleChannel", ferry__onnx_shuffle_channel, NULL },
    { "Sigmoid", ferry__onnx_sigmoid, NULL },
    { "SigmoidCrossEntropyLoss", ferry__onnx_sigmoid_cross_entropy_loss, ferry__onnx_one_batch },
    { "Silence", ferry__onnx_silence, NULL },
    { "Slice", ferry__onnx_slice, NULL },
    { "Softmax", ferry__onnx_softmax, NULL },
    { "SoftmaxWithLoss", ferry__onnx_softmax_with_loss, ferry__onnx_one_batch },
    { "Split", ferry__onnx_split, NULL },
    { "Swish", ferry__onnx_swish, NULL },
    { "TanH", ferry__onnx_tanh, NULL },
    { "Threshold", ferry__onnx_threshold, NULL },
    { "Tile", ferry__onnx_tile, NULL },
    { "Upsample", ferry__onnx_upsample, ferry__onnx_upsample_refuse },
};
/* clang-format on */

/* Whether the type is ferry's own: a type registered by the program may have the same name. */
static bool is_own(const ferry_layer_type *type)
{
    for (int i = 0; ferry__layer_at(i); i++)
        if (ferry__layer_at(i) == type)
            return true;
    return type == &ferry__split_layer;
}

const struct ferry__onnx_layer *ferry__onnx_layer_of(const ferry_layer *layer)
{
    for (size_t i = 0; is_own(layer->type) && i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].type, layer->type->name))
            return &table[i];
    return NULL;
}
