/* SPDX-License-Identifier: BSD-2-Clause */
#include "caffe_proof.h"

#include "proto.h"

#include <string.h>

/* ---- fields --------------------------------------------------------------------------------- */

/* The set of wire types that a field may have: one bit for each. */
#define AS(type) (1u << FERRY__WIRE_##type)
#define NUMBERS  (AS(VARINT) | AS(BYTES))
#define FLOATS   (AS(32) | AS(BYTES))
#define DOUBLES  (AS(64) | AS(BYTES))

/* The wire types of fields 0, 1, …; a 0 marks an unused number and ends the array. */
static const unsigned char blob_fields[] = {
    1,       AS(VARINT), AS(VARINT), AS(VARINT), AS(VARINT), FLOATS,  FLOATS, AS(BYTES),
    DOUBLES, DOUBLES,    NUMBERS,    NUMBERS,    AS(BYTES),  NUMBERS, 0,
};
static const unsigned char layer_fields[] = {
    1,         AS(BYTES), AS(BYTES), AS(BYTES),  AS(BYTES), FLOATS, AS(BYTES),
    AS(BYTES), AS(BYTES), AS(BYTES), AS(VARINT), NUMBERS,   0,
};
static const unsigned char v1_fields[] = {
    1, AS(BYTES), AS(BYTES), AS(BYTES), AS(BYTES), AS(VARINT), AS(BYTES), FLOATS, FLOATS, 0,
};
static const unsigned char state_fields[] = {
    1, AS(VARINT), AS(BYTES), AS(BYTES), AS(VARINT), 0,
};

/*
 * 1: the field is allowed; 0: its number is unused; −1: its number is used with another wire type.
 */
static int fits(const unsigned char *fields, const struct ferry__field *field)
{
    for (uint32_t i = 1; fields[i]; i++)
        if (i == field->number)
            return fields[i] >> field->type & 1u ? 1 : -1;
    return 0;
}

/* Whether a BlobProto may have the field; ferry's own is not in the array. */
static bool is_of_blob(const struct ferry__field *field)
{
    return field->number == FERRY__ROWS_FIELD ? field->type == FERRY__WIRE_BYTES
                                              : fits(blob_fields, field) == 1;
}

/* Whether the field is valid UTF-8, not empty, and without control characters. */
static bool is_text(const struct ferry__field *field)
{
    uint64_t rest = 0;

    for (uint64_t i = 0; i < field->size; i++) {
        unsigned char c = field->bytes[i];

        if (rest > 0 ? (c & 0xc0) != 0x80
                     : c < ' ' || c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4)
            return false;
        rest = rest > 0 ? rest - 1 : c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    }
    return field->type == FERRY__WIRE_BYTES && field->size > 0 && rest == 0;
}

static struct ferry__wire inside(const struct ferry__wire *wire, const struct ferry__field *field)
{
    struct ferry__wire inner = *wire;

    inner.at = field->bytes;
    inner.end = field->bytes + field->size;
    return inner;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

/* A BlobShape: its only field is dim, packed or not. */
static bool is_shape(const struct ferry__wire *wire, const struct ferry__field *field)
{
    struct ferry__wire shape = inside(wire, field);
    struct ferry__field dim;
    int got;

    while ((got = ferry__wire_next(&shape, &dim)) > 0)
        if (dim.number != 1 || !(NUMBERS >> dim.type & 1u))
            return false;
    return got == 0;
}

/*
 * Whether the message is a blob: it has a shape of either form with values, or a complete shape, or
 * one value. A later check compares the shape with the values.
 */
static bool is_blob(struct ferry__wire wire)
{
    unsigned legacy = 0;
    bool shape = false, values = false, single = false;
    struct ferry__field field;
    int got;

    while ((got = ferry__wire_next(&wire, &field)) != 0) {
        if (field.number == 0 || !is_of_blob(&field))
            return false;
        if (field.number <= 4)
            legacy |= 1u << field.number;
        else if (got < 0 && field.number == 7)
            return shape && values;
        else if (field.number == 7 && !is_shape(&wire, &field))
            return false;
        shape |= field.number == 7;
        values |= field.number != 7 && field.number > 4;
        single |= field.type == FERRY__WIRE_BYTES && field.size > 0 && field.size <= 8;
        if (got < 0)
            break;
    }
    return shape || legacy == 0x1e || (legacy && values) || (values && single && got == 0);
}

static bool is_blob_field(const struct ferry__wire *wire, const struct ferry__field *field)
{
    return field->type == FERRY__WIRE_BYTES && field->bytes && is_blob(inside(wire, field));
}

/* ---- layers --------------------------------------------------------------------------------- */

/*
 * Whether the layer has the first format, V0, whose fields are inside field 1 of today's
 * V1LayerParameter.
 */
static bool is_v0(const struct ferry__wire *wire, const struct ferry__field *field)
{
    struct ferry__wire inner = inside(wire, field);
    bool name = false, type = false;
    struct ferry__field own;

    while (ferry__wire_next(&inner, &own) > 0) {
        if (own.number <= 2 && !is_text(&own))
            return false;
        name |= own.number == 1;
        type |= own.number == 2 || (own.number == 50 && is_blob_field(&inner, &own));
    }
    return name && type;
}

/*
 * Whether the message is a layer: it has a name and a type, or blobs, and no field of a wrong wire
 * type.
 */
static bool is_layer(struct ferry__wire wire, bool v1)
{
    const unsigned char *fields = v1 ? v1_fields : layer_fields;
    const uint32_t name = v1 ? 4 : 1, type = v1 ? 5 : 2, blobs = v1 ? 6 : 7;
    bool proof = false, named = false, typed = false;
    struct ferry__field field;

    while (ferry__wire_next(&wire, &field) > 0) {
        bool text = field.number == name || (v1 ? field.number == 2 || field.number == 3
                                                : field.number >= 2 && field.number <= 4);

        if (fits(fields, &field) < 0 || (text && field.size > 0 && !is_text(&field)))
            return false;
        named |= field.number == name;
        typed |= field.number == type;
        proof |= (field.number == blobs && is_blob_field(&wire, &field)) ||
                 (v1 && field.number == 1 && is_v0(&wire, &field));
    }
    return proof || (named && typed);
}

/*
 * Whether the message is a net: it has a valid layer; or it has a name, and layers in a field that
 * only Caffe's messages have, even if the layers are damaged.
 */
static bool is_net(struct ferry__wire wire)
{
    bool named = false;
    struct ferry__field field;
    int got;

    while ((got = ferry__wire_next(&wire, &field)) != 0) {
        if (named && field.number == 100 && field.type == FERRY__WIRE_BYTES)
            return true;
        if (got < 0)
            return false;
        named |= field.number == 1 && is_text(&field);
        if ((field.number == 2 || field.number == 100) && field.type == FERRY__WIRE_BYTES &&
            is_layer(inside(&wire, &field), field.number == 2))
            return true;
    }
    return false;
}

/* ---- the others ----------------------------------------------------------------------------- */

/*
 * Whether the message is a SolverState: it has only the four fields of one, with a blob in the
 * history.
 */
static bool is_state(struct ferry__wire wire)
{
    bool history = false;
    struct ferry__field field;

    while (ferry__wire_next(&wire, &field) > 0) {
        if (fits(state_fields, &field) != 1 ||
            (field.number == 2 && field.size > 0 && !is_text(&field)))
            return false;
        history |= field.number == 3 && is_blob_field(&wire, &field);
    }
    return history;
}

static bool is_vector(struct ferry__wire wire)
{
    struct ferry__field field;

    return ferry__wire_next(&wire, &field) > 0 && field.number == 1 && is_blob_field(&wire, &field);
}

bool ferry__caffe_is_sure(const struct ferry__wire *wire, ferry_io_format format)
{
    switch (format) {
    case FERRY_IO_CAFFEMODEL:
        return is_net(*wire);
    case FERRY_IO_SOLVERSTATE:
        return is_state(*wire);
    case FERRY_IO_BLOBVECTOR:
        return is_vector(*wire);
    case FERRY_IO_BLOBPROTO:
        return is_blob(*wire);
    default:
        return false;
    }
}
