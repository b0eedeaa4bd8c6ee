/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of ferry's own. Those of layer types, which ONNX models need beside Caffe's, have
 * numbers from 26001 in LayerParameter; the ranges of a net's blobs have 7000 in NetParameter.
 */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name binary_op_names[] = {
    { "ADD", 0 },
    { "SUBTRACT", 1 },
    { "MULTIPLY", 2 },
    { "DIVIDE", 3 },
};
ENUM(binary_op, "BinaryOp");

static const struct ferry__proto_name pad_mode_names[] = {
    { "CONSTANT", 0 },
    { "EDGE", 1 },
    { "REFLECT", 2 },
};
ENUM(pad_mode, "PadMode");

static const struct ferry__proto_name reduce_op_names[] = {
    { "SUM", 0 }, { "MEAN", 1 }, { "ASUM", 2 }, { "SUMSQ", 3 }, { "MAX", 4 },
};
ENUM(reduce_op, "ReduceOp");

static const struct ferry__proto_name resize_method_names[] = {
    { "NEAREST", 0 },
    { "LINEAR", 1 },
    { "CUBIC", 2 },
};
ENUM(resize_method, "ResizeMethod");

static const struct ferry__proto_name resize_sampling_names[] = {
    { "HALF_PIXEL", 0 },
    { "ALIGN_CORNERS", 1 },
    { "ASYMMETRIC", 2 },
    { "PYTORCH_HALF_PIXEL", 3 },
};
ENUM(resize_sampling, "ResizeSampling");

static const struct ferry__proto_name resize_rounding_names[] = {
    { "ROUND_PREFER_FLOOR", 0 },
    { "ROUND_PREFER_CEIL", 1 },
    { "FLOOR", 2 },
    { "CEIL", 3 },
};
ENUM(resize_rounding, "ResizeRounding");

static const struct ferry__proto_field binary_fields[] = {
    CHOICE(1, binary_op, "operation", 0),
};
DEFINE(BinaryParameter, binary_fields);

static const struct ferry__proto_field layer_norm_fields[] = {
    WITH(1, INT32, "axis", 1),
    WITH(2, FLOAT, "eps", 1e-5f),
};
DEFINE(LayerNormParameter, layer_norm_fields);

static const struct ferry__proto_field pad_fields[] = {
    MANY(1, INT64, "begin"),
    MANY(2, INT64, "end"),
    CHOICE(3, pad_mode, "mode", 0),
    ONE(4, FLOAT, "value"),
};
DEFINE(PadParameter, pad_fields);

static const struct ferry__proto_field reduce_fields[] = {
    CHOICE(1, reduce_op, "operation", 0),
    MANY(2, INT32, "axis"),
    WITH(3, BOOL, "keep_axes", 1),
};
DEFINE(ReduceParameter, reduce_fields);

static const struct ferry__proto_field resize_fields[] = {
    MANY(1, INT32, "axis"),
    MANY(2, INT64, "size"),
    MANY(3, FLOAT, "scale"),
    CHOICE(4, resize_method, "method", 0),
    CHOICE(5, resize_sampling, "sampling", 0),
    CHOICE(6, resize_rounding, "rounding", 0),
    WITH(7, FLOAT, "cubic_coeff", -0.75f),
    ONE(8, BOOL, "exclude_outside"),
};
DEFINE(ResizeParameter, resize_fields);

static const struct ferry__proto_field strided_slice_fields[] = {
    MANY(1, INT32, "axis"),
    MANY(2, INT64, "begin"),
    MANY(3, INT64, "end"),
    MANY(4, INT64, "step"),
};
DEFINE(StridedSliceParameter, strided_slice_fields);

static const struct ferry__proto_field blob_range_fields[] = {
    ONE(1, STRING, "blob"),
    ONE(2, FLOAT, "min"),
    ONE(3, FLOAT, "max"),
};
DEFINE(BlobRange, blob_range_fields);

static const struct ferry__proto_field quantization_fields[] = {
    MESSAGES(1, BlobRange, "range"),
    MANY(2, STRING, "float_layer"),
};
DEFINE(QuantizationParameter, quantization_fields);
