/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ONNX's messages as tables, for the trees of net/proto. Names and numbers are those of onnx.proto;
 * fields that ferry does not use are omitted.
 */
#ifndef FERRY_NET_ONNX_SCHEMA_H
#define FERRY_NET_ONNX_SCHEMA_H

#include "net/proto/schema.h"

#define FERRY__ONNX_MESSAGES(X)  \
    X(AttributeProto)            \
    X(GraphProto)                \
    X(ModelProto)                \
    X(NodeProto)                 \
    X(OperatorSetIdProto)        \
    X(SparseTensorProto)         \
    X(StringStringEntryProto)    \
    X(TensorProto)               \
    X(TensorShapeProto)          \
    X(TensorShapeProtoDimension) \
    X(TypeProto)                 \
    X(TypeProtoTensor)           \
    X(ValueInfoProto)

#define FERRY__ONNX_DECLARE(name) extern const struct ferry__proto_message ferry__proto_##name;
FERRY__ONNX_MESSAGES(FERRY__ONNX_DECLARE)
#undef FERRY__ONNX_DECLARE

/* TensorProto.DataType. */
enum ferry__onnx_type {
    FERRY__ONNX_FLOAT = 1,
    FERRY__ONNX_UINT8 = 2,
    FERRY__ONNX_INT8 = 3,
    FERRY__ONNX_INT32 = 6,
    FERRY__ONNX_INT64 = 7,
    FERRY__ONNX_BOOL = 9,
    FERRY__ONNX_FLOAT16 = 10,
    FERRY__ONNX_DOUBLE = 11,
};

/* AttributeProto.AttributeType. */
enum ferry__onnx_attribute {
    FERRY__ONNX_ATTRIBUTE_FLOAT = 1,
    FERRY__ONNX_ATTRIBUTE_INT = 2,
    FERRY__ONNX_ATTRIBUTE_STRING = 3,
    FERRY__ONNX_ATTRIBUTE_GRAPH = 5,
    FERRY__ONNX_ATTRIBUTE_INTS = 7,
};

#endif
