/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/onnx/schema.h"

#include "net/proto/schema_tables.h"

static const struct ferry__proto_field string_string_entry_fields[] = {
    ONE(1, STRING, "key"),
    ONE(2, STRING, "value"),
};
DEFINE(StringStringEntryProto, string_string_entry_fields);

static const struct ferry__proto_field operator_set_id_fields[] = {
    ONE(1, STRING, "domain"),
    ONE(2, INT64, "version"),
};
DEFINE(OperatorSetIdProto, operator_set_id_fields);

/*
 * Fields of numbers. A packed field is one run of bytes, which net/import decodes when its tensor
 * is used.
 */
static const struct ferry__proto_field tensor_fields[] = {
    MANY(1, INT64, "dims"),
    ONE(2, INT32, "data_type"),
    MANY(4, BYTES, "float_data"),
    MANY(5, BYTES, "int32_data"),
    MANY(7, BYTES, "int64_data"),
    ONE(8, STRING, "name"),
    ONE(9, BYTES, "raw_data"),
    MANY(10, BYTES, "double_data"),
    ONE(12, STRING, "doc_string"),
    MESSAGES(13, StringStringEntryProto, "external_data"),
    ONE(14, INT32, "data_location"), /* 1: the data is external */
};
DEFINE(TensorProto, tensor_fields);

static const struct ferry__proto_field sparse_tensor_fields[] = {
    MESSAGE(1, TensorProto, "values"),
    MESSAGE(2, TensorProto, "indices"),
    MANY(3, INT64, "dims"),
};
DEFINE(SparseTensorProto, sparse_tensor_fields);

static const struct ferry__proto_field dimension_fields[] = {
    ONE(1, INT64, "dim_value"),
    ONE(2, STRING, "dim_param"),
};
DEFINE(TensorShapeProtoDimension, dimension_fields);

static const struct ferry__proto_field tensor_shape_fields[] = {
    MESSAGES(1, TensorShapeProtoDimension, "dim"),
};
DEFINE(TensorShapeProto, tensor_shape_fields);

static const struct ferry__proto_field type_tensor_fields[] = {
    ONE(1, INT32, "elem_type"),
    MESSAGE(2, TensorShapeProto, "shape"),
};
DEFINE(TypeProtoTensor, type_tensor_fields);

static const struct ferry__proto_field type_fields[] = {
    MESSAGE(1, TypeProtoTensor, "tensor_type"),
};
DEFINE(TypeProto, type_fields);

static const struct ferry__proto_field value_info_fields[] = {
    ONE(1, STRING, "name"),
    MESSAGE(2, TypeProto, "type"),
};
DEFINE(ValueInfoProto, value_info_fields);

static const struct ferry__proto_field attribute_fields[] = {
    ONE(1, STRING, "name"),
    ONE(2, FLOAT, "f"),
    ONE(3, INT64, "i"),
    ONE(4, STRING, "s"),
    MESSAGE(5, TensorProto, "t"),
    MESSAGE(6, GraphProto, "g"),
    MANY(7, FLOAT, "floats"),
    MANY(8, INT64, "ints"),
    MANY(9, STRING, "strings"),
    ONE(13, STRING, "doc_string"),
    ONE(20, INT32, "type"),
    MESSAGE(22, SparseTensorProto, "sparse_tensor"),
};
DEFINE(AttributeProto, attribute_fields);

static const struct ferry__proto_field node_fields[] = {
    MANY(1, STRING, "input"),
    MANY(2, STRING, "output"),
    ONE(3, STRING, "name"),
    ONE(4, STRING, "op_type"),
    MESSAGES(5, AttributeProto, "attribute"),
    ONE(6, STRING, "doc_string"),
    ONE(7, STRING, "domain"),
};
DEFINE(NodeProto, node_fields);

static const struct ferry__proto_field graph_fields[] = {
    MESSAGES(1, NodeProto, "node"),
    ONE(2, STRING, "name"),
    MESSAGES(5, TensorProto, "initializer"),
    ONE(10, STRING, "doc_string"),
    MESSAGES(11, ValueInfoProto, "input"),
    MESSAGES(12, ValueInfoProto, "output"),
    MESSAGES(13, ValueInfoProto, "value_info"),
    MESSAGES(15, SparseTensorProto, "sparse_initializer"),
};
DEFINE(GraphProto, graph_fields);

static const struct ferry__proto_field model_fields[] = {
    ONE(1, INT64, "ir_version"),
    ONE(2, STRING, "producer_name"),
    ONE(3, STRING, "producer_version"),
    ONE(6, STRING, "doc_string"),
    MESSAGE(7, GraphProto, "graph"),
    MESSAGES(8, OperatorSetIdProto, "opset_import"),
    MESSAGES(14, StringStringEntryProto, "metadata_props"),
};
DEFINE(ModelProto, model_fields);
