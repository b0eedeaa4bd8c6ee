/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto_write.h"

#include "proto.h"
#include "rows.h"
#include "wire.h"

#include <string.h>

size_t ferry__proto_varint_size(uint64_t value)
{
    size_t size = 1;

    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

void ferry__proto_put_varint(struct ferry__proto_piece *piece, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        piece->bytes[piece->size++] = (unsigned char)(value | 0x80);
    piece->bytes[piece->size++] = (unsigned char)value;
}

void ferry__proto_put_tag(struct ferry__proto_piece *piece, uint32_t number, unsigned type)
{
    ferry__proto_put_varint(piece, (uint64_t)number << 3 | type);
}

bool ferry__proto_can_hold(ferry_dtype dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_F64 || dtype == FERRY_F16;
}

static void put_length(struct ferry__proto_piece *piece, uint32_t number, uint64_t length)
{
    ferry__proto_put_tag(piece, number, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(piece, length);
}

static void put_shape(struct ferry__proto_piece *piece, const struct ferry__proto_shape *shape)
{
    uint64_t dims = 0;

    if (shape->rank == 0)
        return; /* a scalar has no dims */
    for (int i = 0; i < shape->rank; i++)
        dims += ferry__proto_varint_size((uint64_t)shape->shape[i]);
    put_length(piece, 7, 1 + ferry__proto_varint_size(dims) + dims);
    put_length(piece, 1, dims);
    for (int i = 0; i < shape->rank; i++)
        ferry__proto_put_varint(piece, (uint64_t)shape->shape[i]);
}

/* Writes NVCaffe's type fields, both before the values that they describe. */
static void put_f16_types(struct ferry__proto_piece *piece, bool diff)
{
    const uint64_t float16 = 2;

    ferry__proto_put_tag(piece, 10, FERRY__WIRE_VARINT);
    ferry__proto_put_varint(piece, float16);
    if (diff) {
        ferry__proto_put_tag(piece, 11, FERRY__WIRE_VARINT);
        ferry__proto_put_varint(piece, float16);
    }
}

/* The bytes of the data, or of the diff. */
static uint64_t values_size(const struct ferry__proto_shape *shape)
{
    return shape->rows ? ferry__rows_size(shape->shape, shape->count)
                       : (uint64_t)shape->count * ferry_dtype_size(shape->dtype);
}

/* The field of the data; that of a diff follows it. */
static uint32_t data_field(const struct ferry__proto_shape *shape)
{
    return shape->rows                 ? FERRY__ROWS_FIELD
           : shape->dtype == FERRY_F32 ? 5
           : shape->dtype == FERRY_F64 ? 8
                                       : 12;
}

void ferry__proto_layout(const struct ferry__proto_shape *shape, struct ferry__proto_parts *out)
{
    uint64_t size = values_size(shape);
    uint32_t data = data_field(shape);
    bool shape_first = data > 7; /* its field comes after 5 and 6 and before the others */

    memset(out, 0, sizeof(*out));
    if (shape_first)
        put_shape(&out->before_data, shape);
    if (shape->dtype == FERRY_F16)
        put_f16_types(&out->before_data, shape->diff);
    /* An empty double_data records the dtype of an empty array. */
    if (size > 0 || (data == 8 && shape->typed))
        put_length(&out->before_data, data, size);
    if (size > 0 && shape->diff)
        put_length(&out->before_diff, data + 1, size);
    if (!shape_first)
        put_shape(&out->after, shape);
    out->total = out->before_data.size + size + out->after.size;
    if (shape->diff)
        out->total += out->before_diff.size + size;
}
