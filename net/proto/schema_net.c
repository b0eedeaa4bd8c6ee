/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name variance_norm_names[] = {
    { "FAN_IN", 0 },
    { "FAN_OUT", 1 },
    { "AVERAGE", 2 },
};
ENUM(variance_norm, "VarianceNorm");

static const struct ferry__proto_name phase_names[] = {
    { "TRAIN", 0 },
    { "TEST", 1 },
};
ENUM(phase, "Phase");

static const struct ferry__proto_name dim_check_mode_names[] = {
    { "STRICT", 0 },
    { "PERMISSIVE", 1 },
};
ENUM(dim_check_mode, "DimCheckMode");

static const struct ferry__proto_field blob_shape_fields[] = {
    PACKED(1, INT64, "dim"),
};
DEFINE(BlobShape, blob_shape_fields);

static const struct ferry__proto_field blob_proto_fields[] = {
    MESSAGE(7, BlobShape, "shape"),   PACKED(5, FLOAT, "data"),         PACKED(6, FLOAT, "diff"),
    PACKED(8, DOUBLE, "double_data"), PACKED(9, DOUBLE, "double_diff"), ONE(1, INT32, "num"),
    ONE(2, INT32, "channels"),        ONE(3, INT32, "height"),          ONE(4, INT32, "width"),
};
DEFINE(BlobProto, blob_proto_fields);

static const struct ferry__proto_field blob_proto_vector_fields[] = {
    MESSAGES(1, BlobProto, "blobs"),
};
DEFINE(BlobProtoVector, blob_proto_vector_fields);

static const struct ferry__proto_field datum_fields[] = {
    ONE(1, INT32, "channels"), ONE(2, INT32, "height"), ONE(3, INT32, "width"),
    ONE(4, BYTES, "data"),     ONE(5, INT32, "label"),  MANY(6, FLOAT, "float_data"),
    ONE(7, BOOL, "encoded"),
};
DEFINE(Datum, datum_fields);

static const struct ferry__proto_field filler_fields[] = {
    TEXT(1, "type", "constant"),  ONE(2, FLOAT, "value"),
    ONE(3, FLOAT, "min"),         WITH(4, FLOAT, "max", 1),
    ONE(5, FLOAT, "mean"),        WITH(6, FLOAT, "std", 1),
    WITH(7, INT32, "sparse", -1), CHOICE(8, variance_norm, "variance_norm", 0),
};
DEFINE(FillerParameter, filler_fields);

static const struct ferry__proto_field net_fields[] = {
    ONE(1, STRING, "name"),
    MANY(3, STRING, "input"),
    MESSAGES(8, BlobShape, "input_shape"),
    MANY(4, INT32, "input_dim"),
    ONE(5, BOOL, "force_backward"),
    MESSAGE(6, NetState, "state"),
    ONE(7, BOOL, "debug_info"),
    MESSAGES(100, LayerParameter, "layer"),
    MESSAGES(2, V1LayerParameter, "layers"),
    FORK_MESSAGE(7000, QuantizationParameter, "quantization", "ferry"),
};
DEFINE(NetParameter, net_fields);

static const struct ferry__proto_field net_state_fields[] = {
    CHOICE(1, phase, "phase", 1),
    ONE(2, INT32, "level"),
    MANY(3, STRING, "stage"),
};
DEFINE(NetState, net_state_fields);

static const struct ferry__proto_field net_state_rule_fields[] = {
    CHOICE(1, phase, "phase", 0), ONE(2, INT32, "min_level"),   ONE(3, INT32, "max_level"),
    MANY(4, STRING, "stage"),     MANY(5, STRING, "not_stage"),
};
DEFINE(NetStateRule, net_state_rule_fields);

static const struct ferry__proto_field param_spec_fields[] = {
    ONE(1, STRING, "name"),
    CHOICE(2, dim_check_mode, "share_mode", 0),
    WITH(3, FLOAT, "lr_mult", 1),
    WITH(4, FLOAT, "decay_mult", 1),
};
DEFINE(ParamSpec, param_spec_fields);

static const struct ferry__proto_field layer_fields[] = {
    ONE(1, STRING, "name"),
    ONE(2, STRING, "type"),
    MANY(3, STRING, "bottom"),
    MANY(4, STRING, "top"),
    CHOICE(10, phase, "phase", 0),
    MANY(5, FLOAT, "loss_weight"),
    MESSAGES(6, ParamSpec, "param"),
    MESSAGES(7, BlobProto, "blobs"),
    MANY(11, BOOL, "propagate_down"),
    MESSAGES(8, NetStateRule, "include"),
    MESSAGES(9, NetStateRule, "exclude"),
    MESSAGE(100, TransformationParameter, "transform_param"),
    MESSAGE(101, LossParameter, "loss_param"),
    MESSAGE(102, AccuracyParameter, "accuracy_param"),
    MESSAGE(103, ArgMaxParameter, "argmax_param"),
    MESSAGE(139, BatchNormParameter, "batch_norm_param"),
    MESSAGE(141, BiasParameter, "bias_param"),
    MESSAGE(148, ClipParameter, "clip_param"),
    MESSAGE(104, ConcatParameter, "concat_param"),
    MESSAGE(105, ContrastiveLossParameter, "contrastive_loss_param"),
    MESSAGE(106, ConvolutionParameter, "convolution_param"),
    MESSAGE(144, CropParameter, "crop_param"),
    MESSAGE(107, DataParameter, "data_param"),
    MESSAGE(108, DropoutParameter, "dropout_param"),
    MESSAGE(109, DummyDataParameter, "dummy_data_param"),
    MESSAGE(110, EltwiseParameter, "eltwise_param"),
    MESSAGE(140, ELUParameter, "elu_param"),
    MESSAGE(137, EmbedParameter, "embed_param"),
    MESSAGE(111, ExpParameter, "exp_param"),
    MESSAGE(135, FlattenParameter, "flatten_param"),
    MESSAGE(112, HDF5DataParameter, "hdf5_data_param"),
    MESSAGE(113, HDF5OutputParameter, "hdf5_output_param"),
    MESSAGE(114, HingeLossParameter, "hinge_loss_param"),
    MESSAGE(115, ImageDataParameter, "image_data_param"),
    MESSAGE(116, InfogainLossParameter, "infogain_loss_param"),
    MESSAGE(117, InnerProductParameter, "inner_product_param"),
    MESSAGE(143, InputParameter, "input_param"),
    MESSAGE(134, LogParameter, "log_param"),
    MESSAGE(118, LRNParameter, "lrn_param"),
    MESSAGE(119, MemoryDataParameter, "memory_data_param"),
    MESSAGE(120, MVNParameter, "mvn_param"),
    MESSAGE(145, ParameterParameter, "parameter_param"),
    MESSAGE(121, PoolingParameter, "pooling_param"),
    MESSAGE(122, PowerParameter, "power_param"),
    MESSAGE(131, PReLUParameter, "prelu_param"),
    MESSAGE(130, PythonParameter, "python_param"),
    MESSAGE(146, RecurrentParameter, "recurrent_param"),
    MESSAGE(136, ReductionParameter, "reduction_param"),
    MESSAGE(123, ReLUParameter, "relu_param"),
    MESSAGE(133, ReshapeParameter, "reshape_param"),
    MESSAGE(142, ScaleParameter, "scale_param"),
    MESSAGE(124, SigmoidParameter, "sigmoid_param"),
    MESSAGE(125, SoftmaxParameter, "softmax_param"),
    MESSAGE(132, SPPParameter, "spp_param"),
    MESSAGE(126, SliceParameter, "slice_param"),
    MESSAGE(147, SwishParameter, "swish_param"),
    MESSAGE(127, TanHParameter, "tanh_param"),
    MESSAGE(128, ThresholdParameter, "threshold_param"),
    MESSAGE(138, TileParameter, "tile_param"),
    MESSAGE(129, WindowDataParameter, "window_data_param"),
    FORK_MESSAGE(0, BNParameter, "bn_param", "SegNet"),
    FORK_MESSAGE(147, DetectionOutputParameter, "detection_output_param", "SSD"),
    FORK_MESSAGE(0, InterpParameter, "interp_param", "DeepLab"),
    FORK_MESSAGE(149, NormalizeBBoxParameter, "norm_param", "SSD"),
    FORK_MESSAGE(148, PermuteParameter, "permute_param", "SSD"),
    FORK_MESSAGE(150, PriorBoxParameter, "prior_box_param", "SSD"),
    FORK_MESSAGE(158, LayerQuantizationParameter, "quantization_param", "Intel Caffe"),
    FORK_MESSAGE(201, ProposalParameter, "proposal_param", "Faster R-CNN"),
    FORK_MESSAGE(10002, PSROIPoolingParameter, "psroi_pooling_param", "R-FCN"),
    FORK_MESSAGE(8266711, ROIPoolingParameter, "roi_pooling_param", "Fast R-CNN"),
    FORK_MESSAGE(0, ShuffleChannelParameter, "shuffle_channel_param", "ShuffleNet"),
    FORK_MESSAGE(0, UpsampleParameter, "upsample_param", "SegNet"),
    FORK_MESSAGE(26001, BinaryParameter, "binary_param", "ferry"),
    FORK_MESSAGE(26002, LayerNormParameter, "layer_norm_param", "ferry"),
    FORK_MESSAGE(26003, PadParameter, "pad_param", "ferry"),
    FORK_MESSAGE(26004, ReduceParameter, "reduce_param", "ferry"),
    FORK_MESSAGE(26005, ResizeParameter, "resize_param", "ferry"),
    FORK_MESSAGE(26006, StridedSliceParameter, "strided_slice_param", "ferry"),
};
DEFINE(LayerParameter, layer_fields);
