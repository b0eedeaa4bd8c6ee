/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/wire.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

const struct ferry__proto_slot *ferry__proto_next_slot(const ferry_proto *p, uint32_t after)
{
    const struct ferry__proto_slot *next = NULL;

    for (const struct ferry__proto_slot *slot = p->slots; slot; slot = slot->next)
        if (slot->field && slot->field->number > after &&
            (!next || slot->field->number < next->field->number))
            next = slot;
    return next;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static uint64_t varint_size(uint64_t value)
{
    uint64_t size = 1;

    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static uint64_t tag_size(const struct ferry__proto_slot *slot)
{
    return varint_size((uint64_t)slot->field->number << 3);
}

/* The size of a value without its tag and length. */
static uint64_t value_size(const struct ferry__proto_value *value)
{
    switch (value->kind) {
    case FERRY__PROTO_FLOAT:
        return 4;
    case FERRY__PROTO_DOUBLE:
        return 8;
    case FERRY__PROTO_STRING:
    case FERRY__PROTO_BYTES:
        return value->as.bytes->size;
    case FERRY__PROTO_MESSAGE:
        return ferry__proto_wire_size(value->as.message);
    default:
        return varint_size((uint64_t)value->as.integer);
    }
}

static bool has_length(unsigned kind)
{
    return kind == FERRY__PROTO_STRING || kind == FERRY__PROTO_BYTES ||
           kind == FERRY__PROTO_MESSAGE;
}

static uint64_t packed_size(const struct ferry__proto_slot *slot)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < slot->count; i++)
        size += value_size(&slot->values[i]);
    return size;
}

static uint64_t slot_size(const struct ferry__proto_slot *slot)
{
    uint64_t size = packed_size(slot);

    if (slot->field->label == FERRY__PROTO_PACKED)
        return tag_size(slot) + varint_size(size) + size;
    for (uint32_t i = 0; i < slot->count; i++) {
        size += tag_size(slot);
        if (has_length(slot->values[i].kind))
            size += varint_size(value_size(&slot->values[i]));
    }
    return size;
}

uint64_t ferry__proto_wire_size(const ferry_proto *p)
{
    uint64_t size = 0;

    if (p->left)
        return p->left_size;
    for (const struct ferry__proto_slot *slot = p->slots; slot; slot = slot->next)
        if (slot->field && slot->field->number != 0 && slot->count > 0)
            size += slot_size(slot);
    return size;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static int put_varint(const struct ferry__proto_sink *sink, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (unsigned char)(value | 0x80);
    bytes[size++] = (unsigned char)value;
    return sink->write(sink->arg, bytes, size);
}

static int put_tag(const struct ferry__proto_sink *sink, uint32_t number, unsigned type)
{
    return put_varint(sink, (uint64_t)number << 3 | type);
}

static int put_real(const struct ferry__proto_sink *sink, double value, bool is_float)
{
    float single = (float)value;
    unsigned char bytes[8];
    uint32_t word;
    uint64_t bits;

    memcpy(&word, &single, sizeof(word));
    memcpy(&bits, &value, sizeof(bits));
    if (is_float)
        bits = word;
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    return sink->write(sink->arg, bytes, is_float ? 4 : 8);
}

static int put_value(const struct ferry__proto_sink *sink, const struct ferry__proto_value *value)
{
    int err = FERRY_OK;

    if (has_length(value->kind))
        err = put_varint(sink, value_size(value));
    if (err)
        return err;
    switch (value->kind) {
    case FERRY__PROTO_FLOAT:
    case FERRY__PROTO_DOUBLE:
        return put_real(sink, value->as.real, value->kind == FERRY__PROTO_FLOAT);
    case FERRY__PROTO_STRING:
    case FERRY__PROTO_BYTES:
        return sink->write(sink->arg, value->as.bytes->bytes, value->as.bytes->size);
    case FERRY__PROTO_MESSAGE:
        return ferry__proto_to_wire(value->as.message, sink);
    default:
        return put_varint(sink, (uint64_t)value->as.integer);
    }
}

static unsigned type_of(const struct ferry__proto_slot *slot)
{
    unsigned kind = slot->field->kind;

    if (has_length(kind) || slot->field->label == FERRY__PROTO_PACKED)
        return BYTES;
    return kind == FERRY__PROTO_FLOAT ? FIXED32 : kind == FERRY__PROTO_DOUBLE ? FIXED64 : VARINT;
}

static int put_slot(const struct ferry__proto_sink *sink, const struct ferry__proto_slot *slot)
{
    bool packed = slot->field->label == FERRY__PROTO_PACKED;
    int err = FERRY_OK;

    if (packed)
        err = put_tag(sink, slot->field->number, BYTES);
    if (packed && !err)
        err = put_varint(sink, packed_size(slot));
    for (uint32_t i = 0; i < slot->count && !err; i++) {
        if (!packed)
            err = put_tag(sink, slot->field->number, type_of(slot));
        if (!err)
            err = put_value(sink, &slot->values[i]);
    }
    return err;
}

static int put_left(const struct ferry__proto_sink *sink, const ferry_proto *p)
{
    if (sink->left)
        return sink->left(sink->arg, p);
    return ferry_proto_error(p, NULL, 0, FERRY_EUNSUPPORTED, "the values of a %s are still in the "
                                                             "file that it was read from",
                             ferry_proto_type(p));
}

int ferry__proto_to_wire(const ferry_proto *p, const struct ferry__proto_sink *sink)
{
    const struct ferry__proto_slot *slot = NULL;
    int err = FERRY_OK;

    if (p->left)
        return put_left(sink, p);
    for (slot = p->slots; slot && sink->skipped; slot = slot->next)
        if (!slot->field || slot->field->number == 0)
            sink->skipped(sink->arg, p, slot->name);
    slot = ferry__proto_next_slot(p, 0);
    while (slot && !err) {
        if (slot->count > 0)
            err = put_slot(sink, slot);
        slot = ferry__proto_next_slot(p, slot->field->number);
    }
    return err;
}
