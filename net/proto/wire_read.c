/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads protobuf's binary form of a tree. */
#include "net/proto/parse.h"
#include "net/proto/wire.h"

#include "common/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message being read. */
struct wire {
    ferry_proto *p;
    const unsigned char *begin; /* the beginning of the file */
    const unsigned char *at, *end;
    int depth;
};

static int wire_error(const struct wire *w, const struct ferry__field *piece,
                      const struct ferry__proto_field *field, const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%.300s: %s.%s (field %u) at byte %llu: %s",
                           w->p->document->file, w->p->type->name, field ? field->name : "?",
                           piece->number, (unsigned long long)(piece->tag - w->begin), what);
}

/* ---- values --------------------------------------------------------------------------------- */

static unsigned wire_type_of(unsigned kind)
{
    switch (kind) {
    case FERRY__PROTO_FLOAT:
        return FERRY__WIRE_32;
    case FERRY__PROTO_DOUBLE:
        return FERRY__WIRE_64;
    case FERRY__PROTO_STRING:
    case FERRY__PROTO_BYTES:
    case FERRY__PROTO_MESSAGE:
        return FERRY__WIRE_BYTES;
    default:
        return FERRY__WIRE_VARINT;
    }
}

static double real_of(const unsigned char *bytes, bool is_float)
{
    uint64_t bits = 0;
    double real;
    float single;
    uint32_t word;

    for (unsigned i = 0; i < (is_float ? 4u : 8u); i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    word = (uint32_t)bits;
    memcpy(&single, &word, sizeof(single));
    memcpy(&real, &bits, sizeof(real));
    return is_float ? (double)single : real;
}

static int64_t integer_of(unsigned kind, uint64_t value)
{
    switch (kind) {
    case FERRY__PROTO_INT64:
        return (int64_t)value;
    case FERRY__PROTO_UINT32:
        return (int64_t)(uint32_t)value;
    case FERRY__PROTO_BOOL:
        return value != 0;
    default:
        return (int64_t)(int32_t)(uint32_t)value;
    }
}

static int say_once(struct ferry__proto_document *document, const char *line)
{
    for (const struct ferry__proto_note *note = document->notes; note; note = note->next)
        if (strcmp(note->line, line) == 0)
            return FERRY_OK;
    return ferry__proto_add_note(document, FERRY_LOG_WARN, "%s", line);
}

static int note_unknown(struct wire *w, const struct ferry__field *piece,
                        const struct ferry__proto_field *field)
{
    char line[512];

    if (field)
        snprintf(line, sizeof(line),
                 "ferry: %.300s: %s.%s has an unknown value %lld; it is ignored",
                 w->p->document->file, w->p->type->name, field->name,
                 (long long)(int32_t)(uint32_t)piece->value);
    else
        snprintf(line, sizeof(line), "ferry: %.300s: %s has no field %u; it is ignored",
                 w->p->document->file, w->p->type->name, piece->number);
    return say_once(w->p->document, line);
}

/*
 * The value to fill. In a binary file the last of several values of a field that is not repeated is
 * valid.
 */
static struct ferry__proto_value *value_for(struct wire *w, const struct ferry__proto_field *field)
{
    struct ferry__proto_slot *slot = ferry__proto_slot_of(w->p, field->name);

    if (slot && slot->count > 0 && !ferry__proto_repeats(field))
        return &slot->values[0];
    return ferry__proto_append(w->p, field, field->name, (enum ferry__proto_kind)field->kind);
}

static int add_integer(struct wire *w, const struct ferry__field *piece,
                       const struct ferry__proto_field *field, uint64_t bits)
{
    int64_t integer = integer_of(field->kind, bits);
    struct ferry__proto_value *value;

    if (field->kind == FERRY__PROTO_ENUM && !ferry__proto_enum_numbered(field->choices, integer)) {
        struct ferry__field unknown = *piece;

        unknown.value = bits;
        return note_unknown(w, &unknown, field);
    }
    value = value_for(w, field);
    if (!value)
        return ferry__proto_no_memory(w->p->document);
    value->as.integer = integer;
    return FERRY_OK;
}

static int add_real(struct wire *w, const struct ferry__proto_field *field,
                    const unsigned char *bytes)
{
    struct ferry__proto_value *value = value_for(w, field);

    if (!value)
        return ferry__proto_no_memory(w->p->document);
    value->as.real = real_of(bytes, field->kind == FERRY__PROTO_FLOAT);
    return FERRY_OK;
}

/*
 * Takes the bytes of a string: copied into the document's memory unless the document borrows them.
 */
static const struct ferry__proto_bytes *keep_bytes(struct ferry__proto_document *document,
                                                   const struct ferry__proto_field *field,
                                                   const struct ferry__field *piece)
{
    struct ferry__proto_bytes *out;

    if (!document->borrows || field->kind != FERRY__PROTO_BYTES)
        return ferry__proto_keep(document, piece->bytes, (size_t)piece->size);
    out = ferry__mem_alloc(&document->arena, sizeof(*out));
    if (out) {
        out->size = (size_t)piece->size;
        out->bytes = (const char *)piece->bytes;
    }
    return out;
}

static int add_string(struct wire *w, const struct ferry__field *piece,
                      const struct ferry__proto_field *field)
{
    const struct ferry__proto_bytes *bytes;
    struct ferry__proto_value *value;

    if (field->kind == FERRY__PROTO_STRING && piece->size > 0 &&
        memchr(piece->bytes, '\0', (size_t)piece->size))
        return wire_error(w, piece, field, "the string contains a NUL byte");
    bytes = keep_bytes(w->p->document, field, piece);
    value = bytes ? value_for(w, field) : NULL;
    if (!value)
        return ferry__proto_no_memory(w->p->document);
    value->as.bytes = bytes;
    return FERRY_OK;
}

static int add_packed(struct wire *w, const struct ferry__field *piece,
                      const struct ferry__proto_field *field)
{
    const unsigned char *at = piece->bytes, *end = piece->bytes + piece->size;
    unsigned type = wire_type_of(field->kind), size = type == FERRY__WIRE_32 ? 4 : 8;
    uint64_t value;
    int err = FERRY_OK;

    if (type != FERRY__WIRE_VARINT && piece->size % size != 0)
        return wire_error(w, piece, field, "the packed values end inside a value");
    while (at < end && !err) {
        if (type != FERRY__WIRE_VARINT) {
            err = add_real(w, field, at);
            at += size;
        } else if (!ferry__take_varint(&at, end, &value)) {
            err = add_integer(w, piece, field, value);
        } else {
            err = wire_error(w, piece, field, "a packed value is malformed");
        }
    }
    return err;
}

/* ---- messages ------------------------------------------------------------------------------- */

static int read_message(struct wire *w);

static int add_message(struct wire *w, const struct ferry__field *piece,
                       const struct ferry__proto_field *field)
{
    struct wire inner = { NULL, w->begin, piece->bytes, piece->bytes + piece->size, w->depth + 1 };
    int err;

    if (field->message == &ferry__proto_BlobProto)
        return ferry__proto_put_left(w->p, field->name, piece->size,
                                     (uint64_t)(piece->bytes - w->begin));
    if (w->depth == FERRY__PROTO_DEPTH)
        return wire_error(w, piece, field, "messages nest too deep");
    err = ferry__proto_put_message(w->p, field->name, &inner.p);
    return err ? err : read_message(&inner);
}

static int add_piece(struct wire *w, const struct ferry__field *piece,
                     const struct ferry__proto_field *field)
{
    unsigned type = wire_type_of(field->kind);

    if (piece->type == FERRY__WIRE_BYTES && type != FERRY__WIRE_BYTES &&
        ferry__proto_repeats(field))
        return add_packed(w, piece, field);
    if (piece->type != type)
        return wire_error(w, piece, field, "its wire type is not the field's");
    if (field->kind == FERRY__PROTO_MESSAGE)
        return add_message(w, piece, field);
    if (type == FERRY__WIRE_BYTES)
        return add_string(w, piece, field);
    if (type == FERRY__WIRE_VARINT)
        return add_integer(w, piece, field, piece->value);
    return add_real(w, field, piece->bytes);
}

/*
 * Finds a layer's type before its fields are read: it determines the meaning of some field numbers.
 */
static void find_layer_type(const struct wire *w, char *out, size_t size)
{
    const unsigned char *at = w->at;
    struct ferry__field piece;

    *out = '\0';
    if (w->p->type != &ferry__proto_LayerParameter)
        return;
    while (at < w->end && !ferry__take_field(&at, w->end, &piece))
        if (piece.number == 2 && piece.type == FERRY__WIRE_BYTES && piece.size < size) {
            memcpy(out, piece.bytes, (size_t)piece.size);
            out[piece.size] = '\0';
        }
}

static int read_message(struct wire *w)
{
    char layer_type[64];
    int err = FERRY_OK;

    find_layer_type(w, layer_type, sizeof(layer_type));
    while (w->at < w->end && !err) {
        const struct ferry__proto_field *field;
        struct ferry__field piece;
        const char *fault = ferry__take_field(&w->at, w->end, &piece);

        field = ferry__proto_field_numbered(w->p->type, piece.number, layer_type);
        if (fault)
            return wire_error(w, &piece, field, fault);
        if (field && piece.type != FERRY__WIRE_GROUP)
            err = add_piece(w, &piece, field);
        else
            err = note_unknown(w, &piece, NULL);
    }
    return err ? err : ferry__proto_check_required(w->p);
}

int ferry__proto_from_wire(ferry_proto *root, const void *bytes, size_t size)
{
    const unsigned char *begin = bytes;
    struct wire w = { root, begin, begin, begin + size, 0 };

    return read_message(&w);
}

bool ferry__proto_is_wire(const struct ferry__proto_message *type, const void *bytes, size_t size,
                          bool *out_whole)
{
    const unsigned char *at = bytes, *end = at + size;
    const struct ferry__proto_field *field;
    struct ferry__field piece;

    if (size == 0)
        return false;
    *out_whole = !ferry__take_field(&at, end, &piece);
    field = piece.number ? ferry__proto_field_numbered(type, piece.number, "") : NULL;
    return field && (piece.type == wire_type_of(field->kind) ||
                     (piece.type == FERRY__WIRE_BYTES && ferry__proto_repeats(field)));
}
