/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name normalization_mode_names[] = {
    { "FULL", 0 },
    { "VALID", 1 },
    { "BATCH_SIZE", 2 },
    { "NONE", 3 },
};
ENUM(normalization_mode, "NormalizationMode");

static const struct ferry__proto_name engine_names[] = {
    { "DEFAULT", 0 },
    { "CAFFE", 1 },
    { "CUDNN", 2 },
};
ENUM(engine, "Engine");

static const struct ferry__proto_name eltwise_op_names[] = {
    { "PROD", 0 },
    { "SUM", 1 },
    { "MAX", 2 },
};
ENUM(eltwise_op, "EltwiseOp");

static const struct ferry__proto_name norm_names[] = {
    { "L1", 1 },
    { "L2", 2 },
};
ENUM(norm, "Norm");

static const struct ferry__proto_name norm_region_names[] = {
    { "ACROSS_CHANNELS", 0 },
    { "WITHIN_CHANNEL", 1 },
};
ENUM(norm_region, "NormRegion");

static const struct ferry__proto_name pool_method_names[] = {
    { "MAX", 0 },
    { "AVE", 1 },
    { "STOCHASTIC", 2 },
};
ENUM(pool_method, "PoolMethod");

/*
 * AVE_EXC_PAD is from Synopsys's Caffe and occurs in texts: an average over the window without its
 * padding.
 */
static const struct ferry__proto_name pooling_method_names[] = {
    { "MAX", 0 },
    { "AVE", 1 },
    { "STOCHASTIC", 2 },
    { "AVE_EXC_PAD", 3 },
};
ENUM(pooling_method, "PoolMethod");

static const struct ferry__proto_name round_mode_names[] = {
    { "CEIL", 0 },
    { "FLOOR", 1 },
};
ENUM(round_mode, "RoundMode");

static const struct ferry__proto_name reduction_op_names[] = {
    { "SUM", 1 },
    { "ASUM", 2 },
    { "SUMSQ", 3 },
    { "MEAN", 4 },
};
ENUM(reduction_op, "ReductionOp");

static const struct ferry__proto_field loss_fields[] = {
    ONE(1, INT32, "ignore_label"),
    CHOICE(3, normalization_mode, "normalization", 1),
    ONE(2, BOOL, "normalize"),
};
DEFINE(LossParameter, loss_fields);

static const struct ferry__proto_field accuracy_fields[] = {
    WITH(1, UINT32, "top_k", 1),
    WITH(2, INT32, "axis", 1),
    ONE(3, INT32, "ignore_label"),
};
DEFINE(AccuracyParameter, accuracy_fields);

static const struct ferry__proto_field arg_max_fields[] = {
    ONE(1, BOOL, "out_max_val"),
    WITH(2, UINT32, "top_k", 1),
    ONE(3, INT32, "axis"),
    FORK(26001, BOOL, "first", 0, "ferry"),
};
DEFINE(ArgMaxParameter, arg_max_fields);

static const struct ferry__proto_field clip_fields[] = {
    REQUIRED(1, FLOAT, "min"),
    REQUIRED(2, FLOAT, "max"),
};
DEFINE(ClipParameter, clip_fields);

static const struct ferry__proto_field concat_fields[] = {
    WITH(2, INT32, "axis", 1),
    WITH(1, UINT32, "concat_dim", 1),
};
DEFINE(ConcatParameter, concat_fields);

static const struct ferry__proto_field batch_norm_fields[] = {
    ONE(1, BOOL, "use_global_stats"),
    WITH(2, FLOAT, "moving_average_fraction", 0.999f),
    WITH(3, FLOAT, "eps", 1e-05f),
    FORK(7, BOOL, "scale_bias", 0, "NVCaffe"),
};
DEFINE(BatchNormParameter, batch_norm_fields);

static const struct ferry__proto_field bias_fields[] = {
    WITH(1, INT32, "axis", 1),
    WITH(2, INT32, "num_axes", 1),
    MESSAGE(3, FillerParameter, "filler"),
};
DEFINE(BiasParameter, bias_fields);

static const struct ferry__proto_field contrastive_loss_fields[] = {
    WITH(1, FLOAT, "margin", 1),
    ONE(2, BOOL, "legacy_version"),
};
DEFINE(ContrastiveLossParameter, contrastive_loss_fields);

static const struct ferry__proto_field convolution_fields[] = {
    ONE(1, UINT32, "num_output"),
    WITH(2, BOOL, "bias_term", 1),
    MANY(3, UINT32, "pad"),
    MANY(4, UINT32, "kernel_size"),
    MANY(6, UINT32, "stride"),
    MANY(18, UINT32, "dilation"),
    ONE(9, UINT32, "pad_h"),
    ONE(10, UINT32, "pad_w"),
    ONE(11, UINT32, "kernel_h"),
    ONE(12, UINT32, "kernel_w"),
    ONE(13, UINT32, "stride_h"),
    ONE(14, UINT32, "stride_w"),
    WITH(5, UINT32, "group", 1),
    MESSAGE(7, FillerParameter, "weight_filler"),
    MESSAGE(8, FillerParameter, "bias_filler"),
    CHOICE(15, engine, "engine", 0),
    WITH(16, INT32, "axis", 1),
    ONE(17, BOOL, "force_nd_im2col"),
};
DEFINE(ConvolutionParameter, convolution_fields);

static const struct ferry__proto_field crop_fields[] = {
    WITH(1, INT32, "axis", 2),
    MANY(2, UINT32, "offset"),
};
DEFINE(CropParameter, crop_fields);

static const struct ferry__proto_field dropout_fields[] = {
    WITH(1, FLOAT, "dropout_ratio", 0.5f),
    FORK(2, BOOL, "scale_train", 1, "Faster R-CNN"),
};
DEFINE(DropoutParameter, dropout_fields);

static const struct ferry__proto_field eltwise_fields[] = {
    CHOICE(1, eltwise_op, "operation", 1),
    MANY(2, FLOAT, "coeff"),
    WITH(3, BOOL, "stable_prod_grad", 1),
};
DEFINE(EltwiseParameter, eltwise_fields);

static const struct ferry__proto_field elu_fields[] = {
    WITH(1, FLOAT, "alpha", 1),
};
DEFINE(ELUParameter, elu_fields);

static const struct ferry__proto_field embed_fields[] = {
    ONE(1, UINT32, "num_output"),
    ONE(2, UINT32, "input_dim"),
    WITH(3, BOOL, "bias_term", 1),
    MESSAGE(4, FillerParameter, "weight_filler"),
    MESSAGE(5, FillerParameter, "bias_filler"),
};
DEFINE(EmbedParameter, embed_fields);

static const struct ferry__proto_field exp_fields[] = {
    WITH(1, FLOAT, "base", -1),
    WITH(2, FLOAT, "scale", 1),
    ONE(3, FLOAT, "shift"),
};
DEFINE(ExpParameter, exp_fields);

static const struct ferry__proto_field flatten_fields[] = {
    WITH(1, INT32, "axis", 1),
    WITH(2, INT32, "end_axis", -1),
};
DEFINE(FlattenParameter, flatten_fields);

static const struct ferry__proto_field hinge_loss_fields[] = {
    CHOICE(1, norm, "norm", 1),
};
DEFINE(HingeLossParameter, hinge_loss_fields);

static const struct ferry__proto_field infogain_loss_fields[] = {
    ONE(1, STRING, "source"),
    WITH(2, INT32, "axis", 1),
};
DEFINE(InfogainLossParameter, infogain_loss_fields);

static const struct ferry__proto_field inner_product_fields[] = {
    ONE(1, UINT32, "num_output"),
    WITH(2, BOOL, "bias_term", 1),
    MESSAGE(3, FillerParameter, "weight_filler"),
    MESSAGE(4, FillerParameter, "bias_filler"),
    WITH(5, INT32, "axis", 1),
    ONE(6, BOOL, "transpose"),
};
DEFINE(InnerProductParameter, inner_product_fields);

static const struct ferry__proto_field log_fields[] = {
    WITH(1, FLOAT, "base", -1),
    WITH(2, FLOAT, "scale", 1),
    ONE(3, FLOAT, "shift"),
};
DEFINE(LogParameter, log_fields);

static const struct ferry__proto_field lrn_fields[] = {
    WITH(1, UINT32, "local_size", 5), WITH(2, FLOAT, "alpha", 1),
    WITH(3, FLOAT, "beta", 0.75f),    CHOICE(4, norm_region, "norm_region", 0),
    WITH(5, FLOAT, "k", 1),           CHOICE(6, engine, "engine", 0),
};
DEFINE(LRNParameter, lrn_fields);

static const struct ferry__proto_field mvn_fields[] = {
    WITH(1, BOOL, "normalize_variance", 1),
    ONE(2, BOOL, "across_channels"),
    WITH(3, FLOAT, "eps", 1e-09f),
};
DEFINE(MVNParameter, mvn_fields);

static const struct ferry__proto_field pooling_fields[] = {
    CHOICE(1, pooling_method, "pool", 0),
    ONE(4, UINT32, "pad"),
    ONE(9, UINT32, "pad_h"),
    ONE(10, UINT32, "pad_w"),
    ONE(2, UINT32, "kernel_size"),
    ONE(5, UINT32, "kernel_h"),
    ONE(6, UINT32, "kernel_w"),
    WITH(3, UINT32, "stride", 1),
    ONE(7, UINT32, "stride_h"),
    ONE(8, UINT32, "stride_w"),
    CHOICE(11, engine, "engine", 0),
    ONE(12, BOOL, "global_pooling"),
    CHOICE(13, round_mode, "round_mode", 0),
    FORK(0, BOOL, "ceil_mode", 1, "OpenCV"), /* OpenCV gives it the number 13 too */
};
DEFINE(PoolingParameter, pooling_fields);

static const struct ferry__proto_field power_fields[] = {
    WITH(1, FLOAT, "power", 1),
    WITH(2, FLOAT, "scale", 1),
    ONE(3, FLOAT, "shift"),
};
DEFINE(PowerParameter, power_fields);

static const struct ferry__proto_field recurrent_fields[] = {
    ONE(1, UINT32, "num_output"),
    MESSAGE(2, FillerParameter, "weight_filler"),
    MESSAGE(3, FillerParameter, "bias_filler"),
    ONE(4, BOOL, "debug_info"),
    ONE(5, BOOL, "expose_hidden"),
};
DEFINE(RecurrentParameter, recurrent_fields);

static const struct ferry__proto_field reduction_fields[] = {
    CHOICE(1, reduction_op, "operation", 1),
    ONE(2, INT32, "axis"),
    WITH(3, FLOAT, "coeff", 1),
};
DEFINE(ReductionParameter, reduction_fields);

static const struct ferry__proto_field re_lu_fields[] = {
    ONE(1, FLOAT, "negative_slope"),
    CHOICE(2, engine, "engine", 0),
};
DEFINE(ReLUParameter, re_lu_fields);

static const struct ferry__proto_field reshape_fields[] = {
    MESSAGE(1, BlobShape, "shape"),
    ONE(2, INT32, "axis"),
    WITH(3, INT32, "num_axes", -1),
};
DEFINE(ReshapeParameter, reshape_fields);

static const struct ferry__proto_field scale_fields[] = {
    WITH(1, INT32, "axis", 1),
    WITH(2, INT32, "num_axes", 1),
    MESSAGE(3, FillerParameter, "filler"),
    ONE(4, BOOL, "bias_term"),
    MESSAGE(5, FillerParameter, "bias_filler"),
};
DEFINE(ScaleParameter, scale_fields);

static const struct ferry__proto_field sigmoid_fields[] = {
    CHOICE(1, engine, "engine", 0),
};
DEFINE(SigmoidParameter, sigmoid_fields);

static const struct ferry__proto_field slice_fields[] = {
    WITH(3, INT32, "axis", 1),
    MANY(2, UINT32, "slice_point"),
    WITH(1, UINT32, "slice_dim", 1),
};
DEFINE(SliceParameter, slice_fields);

static const struct ferry__proto_field softmax_fields[] = {
    CHOICE(1, engine, "engine", 0),
    WITH(2, INT32, "axis", 1),
};
DEFINE(SoftmaxParameter, softmax_fields);

static const struct ferry__proto_field swish_fields[] = {
    WITH(1, FLOAT, "beta", 1),
};
DEFINE(SwishParameter, swish_fields);

static const struct ferry__proto_field tan_h_fields[] = {
    CHOICE(1, engine, "engine", 0),
};
DEFINE(TanHParameter, tan_h_fields);

static const struct ferry__proto_field tile_fields[] = {
    WITH(1, INT32, "axis", 1),
    ONE(2, INT32, "tiles"),
};
DEFINE(TileParameter, tile_fields);

static const struct ferry__proto_field threshold_fields[] = {
    ONE(1, FLOAT, "threshold"),
};
DEFINE(ThresholdParameter, threshold_fields);

static const struct ferry__proto_field spp_fields[] = {
    ONE(1, UINT32, "pyramid_height"),
    CHOICE(2, pool_method, "pool", 0),
    CHOICE(6, engine, "engine", 0),
};
DEFINE(SPPParameter, spp_fields);

static const struct ferry__proto_field pre_lu_fields[] = {
    MESSAGE(1, FillerParameter, "filler"),
    ONE(2, BOOL, "channel_shared"),
};
DEFINE(PReLUParameter, pre_lu_fields);
