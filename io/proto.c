/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto.h"

#include "rows.h"

#include <string.h>

const struct ferry__wire_names ferry__blob_proto_names = {
    "BlobProto",
    { { 1, "num" },
      { 2, "channels" },
      { 3, "height" },
      { 4, "width" },
      { 5, "data" },
      { 6, "diff" },
      { 7, "shape" },
      { 8, "double_data" },
      { 9, "double_diff" },
      { 10, "raw_data_type" },
      { 11, "raw_diff_type" },
      { 12, "raw_data" },
      { 13, "raw_diff" },
      { FERRY__ROWS_FIELD, "int8_rows" },
      { 0, NULL } },
};

static const struct ferry__wire_names shape_names = { "BlobShape", { { 1, "dim" }, { 0, NULL } } };

/* A repeated numeric field: the number of its values, and their address if they are contiguous. */
struct run {
    bool there; /* the message has the field, which may be empty */
    uint64_t values;
    unsigned pieces;
    const unsigned char *bytes;
    struct ferry__field field; /* the last occurrence */
};

/*
 * The fields found by a walk over the message. Raw fields are kept until the extension that they
 * belong to is known.
 */
struct parts {
    struct ferry__blob_proto *proto;
    bool legacy;
    int64_t legacy_dims[4];
    struct ferry__field first; /* the first field, for errors about the whole message */
    struct run data, diff, double_data, double_diff;
    bool nvidia, opencl;             /* the extension in use */
    struct ferry__field bytes_of[4]; /* fields 10 to 13 with bytes */
    uint64_t type_of[4];             /* fields 10 to 13 as varints */
    struct ferry__field rows;        /* ferry's int8_rows */
};

static int add_dim(const struct ferry__wire *wire, const struct ferry__field *field, uint64_t value,
                   struct ferry__blob_proto *proto)
{
    if (value > INT64_MAX)
        return ferry__wire_error(wire, field, FERRY_EFORMAT, "dim %d is negative", proto->rank);
    if (proto->rank == FERRY_MAX_AXES)
        return ferry__wire_error(wire, field, FERRY_EUNSUPPORTED, "more than %d axes",
                                 FERRY_MAX_AXES);
    proto->shape[proto->rank++] = (int64_t)value;
    return FERRY_OK;
}

static int take_dims(const struct ferry__wire *wire, const struct ferry__field *field,
                     struct ferry__blob_proto *proto)
{
    struct ferry__wire shape;
    uint64_t value;
    int got;

    if (field->type == FERRY__WIRE_VARINT)
        return add_dim(wire, field, field->value, proto);
    got = ferry__wire_enter(wire, field, &shape_names, &shape);
    while (!got && (got = ferry__wire_varint(&shape, field, &value)) > 0)
        got = add_dim(wire, field, value, proto);
    return got;
}

static int take_shape(const struct ferry__wire *wire, const struct ferry__field *field,
                      struct ferry__blob_proto *proto)
{
    struct ferry__wire shape;
    struct ferry__field dim;
    int got = ferry__wire_enter(wire, field, &shape_names, &shape);

    while (!got && (got = ferry__wire_next(&shape, &dim)) > 0)
        got = dim.number == 1 ? take_dims(&shape, &dim, proto) : FERRY_OK;
    return got;
}

static int take_legacy(const struct ferry__wire *wire, const struct ferry__field *field,
                       struct parts *parts)
{
    int err = ferry__wire_expect(wire, field, FERRY__WIRE_VARINT);

    if (err)
        return err;
    if (field->value > INT64_MAX)
        return ferry__wire_error(wire, field, FERRY_EFORMAT, "is negative");
    if (field->value > INT32_MAX)
        return ferry__wire_error(wire, field, FERRY_EFORMAT, "%llu is not an int32",
                                 (unsigned long long)field->value);
    parts->legacy = true;
    parts->legacy_dims[field->number - 1] = (int64_t)field->value;
    return FERRY_OK;
}

static int take_run(const struct ferry__wire *wire, const struct ferry__field *field, uint64_t size,
                    struct run *run)
{
    unsigned single = size == 4 ? FERRY__WIRE_32 : FERRY__WIRE_64;

    if (field->type != FERRY__WIRE_BYTES && field->type != single)
        return ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);
    if (field->size % size)
        return ferry__wire_error(wire, field, FERRY_EFORMAT,
                                 "%llu bytes are not a multiple of %llu-byte values",
                                 (unsigned long long)field->size, (unsigned long long)size);
    run->there = true;
    if (field->size == 0)
        return FERRY_OK;
    run->values += field->size / size;
    run->bytes = field->bytes;
    run->field = *field;
    run->pieces++;
    return FERRY_OK;
}

/*
 * Takes the fields of an extension. NVCaffe: 10 and 11 are types, 12 and 13 bytes. The OpenCL
 * branch of Caffe: 10, 11 and 12 are bytes, 13 is the type.
 */
static int take_extension(const struct ferry__wire *wire, const struct ferry__field *field,
                          struct parts *parts)
{
    unsigned i = field->number - 10;

    if (field->type == FERRY__WIRE_VARINT) {
        parts->type_of[i] = field->value;
    } else {
        int err = ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);

        if (err)
            return err;
        parts->bytes_of[i] = *field;
    }
    if (field->number == 12)
        return ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);
    if ((field->number == 13) == (field->type == FERRY__WIRE_VARINT))
        parts->opencl = true;
    else
        parts->nvidia = true;
    if (parts->opencl && parts->nvidia)
        return ferry__wire_error(wire, field, FERRY_EFORMAT,
                                 "mixes the fields of NVCaffe and of the OpenCL branch");
    return FERRY_OK;
}

static int take_field(const struct ferry__wire *wire, const struct ferry__field *field,
                      struct parts *parts)
{
    switch (field->number) {
    case 1:
    case 2:
    case 3:
    case 4:
        return take_legacy(wire, field, parts);
    case 5:
        return take_run(wire, field, 4, &parts->data);
    case 6:
        return take_run(wire, field, 4, &parts->diff);
    case 7:
        return take_shape(wire, field, parts->proto);
    case 8:
        return take_run(wire, field, 8, &parts->double_data);
    case 9:
        return take_run(wire, field, 8, &parts->double_diff);
    case 10:
    case 11:
    case 12:
    case 13:
        return take_extension(wire, field, parts);
    case FERRY__ROWS_FIELD:
        parts->rows = *field;
        return ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);
    default:
        return FERRY_OK;
    }
}

static int walk(const struct ferry__wire *message, struct parts *parts)
{
    struct ferry__wire wire = *message;
    struct ferry__field field;
    int got = 0;

    parts->first.number = 7;
    parts->first.tag = message->at;
    while (!got && (got = ferry__wire_next(&wire, &field)) > 0)
        got = take_field(&wire, &field, parts);
    return got;
}

static int finish_shape(const struct ferry__wire *wire, struct parts *parts)
{
    struct ferry__blob_proto *proto = parts->proto;

    if (parts->legacy) {
        proto->legacy = true;
        proto->rank = 4;
        memcpy(proto->shape, parts->legacy_dims, sizeof(parts->legacy_dims));
    }
    proto->count = ferry__io_count(proto->rank, proto->shape, sizeof(double));
    if (proto->count < 0)
        return ferry__wire_error(wire, &parts->first, FERRY_EOVERFLOW,
                                 "the dims multiply to more than 2^63 bytes");
    return FERRY_OK;
}

/* ---- values --------------------------------------------------------------------------------- */

static int locate_run(const struct ferry__wire *wire, const struct run *run, ferry_dtype dtype,
                      int64_t count, struct ferry__values *out)
{
    if (run->values != (uint64_t)count)
        return ferry__wire_error(wire, &run->field, FERRY_ESHAPE,
                                 "%llu values where the shape has %lld",
                                 (unsigned long long)run->values, (long long)count);
    out->dtype = dtype;
    out->swap = ferry__big_endian();
    if (run->pieces == 1) {
        out->encoding = FERRY__VALUES_PLAIN;
        out->bytes = run->bytes;
        out->size = (uint64_t)count * ferry_dtype_size(dtype);
    } else {
        out->encoding = FERRY__VALUES_WIRE;
        out->field = run->field.number;
        out->bytes = wire->at;
        out->size = (uint64_t)(wire->end - wire->at);
    }
    return FERRY_OK;
}

/* The dtype of an extension's type number; FERRY_F32 without an extension. */
static int raw_dtype(const struct ferry__wire *wire, const struct parts *parts,
                     const struct ferry__field *raw, uint64_t type, ferry_dtype *out)
{
    static const ferry_dtype nvidia[] = { FERRY_F64, FERRY_F32, FERRY_F16 };
    static const ferry_dtype opencl[] = { FERRY_F32, FERRY_F16, FERRY_F64 };

    if (type > 2)
        return ferry__wire_error(wire, raw->number ? raw : &parts->first, FERRY_EUNSUPPORTED,
                                 "there is no type %llu", (unsigned long long)type);
    *out = parts->opencl ? opencl[type] : nvidia[type];
    return FERRY_OK;
}

static int locate_raw(const struct ferry__wire *wire, const struct parts *parts,
                      const struct ferry__field *raw, ferry_dtype dtype, struct ferry__values *out)
{
    struct run run = { .pieces = 1, .bytes = raw->bytes, .field = *raw };
    size_t size = ferry_dtype_size(dtype);

    if (raw->size % size)
        return ferry__wire_error(wire, raw, FERRY_EFORMAT,
                                 "%llu bytes are not a multiple of the size of %s",
                                 (unsigned long long)raw->size, ferry_dtype_name(dtype));
    run.values = raw->size / size;
    return locate_run(wire, &run, dtype, parts->proto->count, out);
}

/*
 * Locates the values of a half. Without values, an empty field or a type still determines the
 * dtype.
 */
static int locate_half(const struct ferry__wire *wire, const struct parts *parts,
                       const struct ferry__field *raw, uint64_t type, const struct run *doubles,
                       const struct run *floats, struct ferry__values *out)
{
    bool extended = parts->nvidia || parts->opencl || raw->size > 0;
    ferry_dtype dtype = doubles->there && !floats->values ? FERRY_F64 : FERRY_F32;
    int err = extended ? raw_dtype(wire, parts, raw, type, &dtype) : FERRY_OK;

    if (err)
        return err;
    if (raw->size > 0)
        return locate_raw(wire, parts, raw, dtype, out);
    if (doubles->values > 0)
        return locate_run(wire, doubles, FERRY_F64, parts->proto->count, out);
    if (floats->values > 0)
        return locate_run(wire, floats, FERRY_F32, parts->proto->count, out);
    out->dtype = dtype;
    return FERRY_OK;
}

/* Locates ferry's rows of integers, which replace all other forms of the data. */
static int locate_rows(const struct ferry__wire *wire, const struct parts *parts)
{
    struct ferry__blob_proto *proto = parts->proto;
    const struct ferry__field *rows = &parts->rows;

    if (proto->data.encoding != FERRY__VALUES_NONE)
        return ferry__wire_error(wire, rows, FERRY_EFORMAT, "is beside other values");
    if (proto->rank == 0 || proto->count == 0)
        return ferry__wire_error(wire, rows, FERRY_ESHAPE, "needs rows of elements");
    if (rows->size != ferry__rows_size(proto->shape, proto->count))
        return ferry__wire_error(wire, rows, FERRY_ESHAPE, "%llu bytes where the shape has %llu",
                                 (unsigned long long)rows->size,
                                 (unsigned long long)ferry__rows_size(proto->shape, proto->count));
    proto->data.dtype = FERRY_F32;
    proto->data.encoding = FERRY__VALUES_ROWS;
    proto->data.bytes = rows->bytes;
    proto->data.size = rows->size;
    return FERRY_OK;
}

static int locate_values(const struct ferry__wire *wire, struct parts *parts)
{
    struct ferry__blob_proto *proto = parts->proto;
    const struct ferry__field *data = &parts->bytes_of[parts->opencl ? 1 : 2];
    const struct ferry__field *diff = &parts->bytes_of[parts->opencl ? 2 : 3];
    uint64_t data_type = parts->type_of[parts->opencl ? 3 : 0];
    uint64_t diff_type = parts->type_of[parts->opencl ? 3 : 1];
    int err =
        locate_half(wire, parts, data, data_type, &parts->double_data, &parts->data, &proto->data);

    if (!err)
        err = locate_half(wire, parts, diff, diff_type, &parts->double_diff, &parts->diff,
                          &proto->diff);
    if (!err && parts->rows.number)
        err = locate_rows(wire, parts);
    parts->first.number = 5;
    if (!err && proto->count > 0 && proto->data.encoding == FERRY__VALUES_NONE)
        err = ferry__wire_error(wire, &parts->first, FERRY_ESHAPE,
                                "no values where the shape has %lld", (long long)proto->count);
    return err;
}

static int parse(const struct ferry__wire *wire, bool values, struct ferry__blob_proto *out)
{
    struct ferry__blob_proto proto = { 0 };
    struct parts parts = { .proto = &proto };
    int err = walk(wire, &parts);

    if (!err)
        err = finish_shape(wire, &parts);
    if (!err && values)
        err = locate_values(wire, &parts);
    if (!err)
        *out = proto;
    return err;
}

int ferry__blob_proto_shape(const struct ferry__wire *wire, struct ferry__blob_proto *out)
{
    return parse(wire, false, out);
}

int ferry__blob_proto_parse(const struct ferry__wire *wire, struct ferry__blob_proto *out)
{
    return parse(wire, true, out);
}
