/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints a tree as text like protobuf: fields in the order of their numbers, then those without
 * numbers; and writes both forms of a tree into a caller's buffer.
 */
#include "net/proto/comments.h"
#include "net/proto/quote.h"
#include "net/proto/wire.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Output into a buffer of limited size: bytes that fit are stored, all are counted. */
struct buffer {
    char *at;
    size_t capacity, size;
};

static int buffer_write(void *arg, const void *bytes, size_t size)
{
    struct buffer *buffer = arg;

    if (buffer->at && buffer->size < buffer->capacity) {
        size_t room = buffer->capacity - buffer->size;

        memcpy(buffer->at + buffer->size, bytes, size < room ? size : room);
    }
    buffer->size += size;
    return FERRY_OK;
}

static void put(struct buffer *buffer, const char *text)
{
    buffer_write(buffer, text, strlen(text));
}

static void put_indent(struct buffer *buffer, int depth)
{
    for (int i = 0; i < depth; i++)
        put(buffer, "  ");
}

/* ---- values --------------------------------------------------------------------------------- */

/* Replaces the locale's decimal point by '.'. */
static void put_point_back(char *digits)
{
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") == 0 ? NULL : strstr(digits, point);

    if (!at)
        return;
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

/* Prints like protobuf: with few digits if they are exact, otherwise with more. */
static void put_real(struct buffer *buffer, double value, bool is_float)
{
    char digits[64];

    if (isnan(value) || isinf(value)) {
        put(buffer, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    snprintf(digits, sizeof(digits), "%.*g", is_float ? FLT_DIG : DBL_DIG, value);
    if (is_float ? strtof(digits, NULL) != (float)value : strtod(digits, NULL) != value)
        snprintf(digits, sizeof(digits), "%.*g", is_float ? FLT_DIG + 3 : DBL_DIG + 2, value);
    put_point_back(digits);
    put(buffer, digits);
}

static void put_quoted(struct buffer *buffer, const struct ferry__proto_bytes *bytes)
{
    char escape[4];

    put(buffer, "\"");
    for (size_t i = 0; i < bytes->size; i++)
        buffer_write(buffer, escape, ferry__quote_escape((unsigned char)bytes->bytes[i], escape));
    put(buffer, "\"");
}

static void put_integer(struct buffer *buffer, const struct ferry__proto_slot *slot,
                        const struct ferry__proto_value *value)
{
    const struct ferry__proto_name *name = NULL;
    char digits[24];

    if (value->kind == FERRY__PROTO_ENUM)
        name = ferry__proto_enum_numbered(slot->field->choices, value->as.integer);
    snprintf(digits, sizeof(digits), "%" PRId64, value->as.integer);
    if (value->kind == FERRY__PROTO_BOOL)
        put(buffer, value->as.integer ? "true" : "false");
    else
        put(buffer, name ? name->name : digits);
}

static void put_scalar(struct buffer *buffer, const struct ferry__proto_slot *slot,
                       const struct ferry__proto_value *value)
{
    switch (value->kind) {
    case FERRY__PROTO_FLOAT:
    case FERRY__PROTO_DOUBLE:
        put_real(buffer, value->as.real, value->kind == FERRY__PROTO_FLOAT);
        break;
    case FERRY__PROTO_STRING:
    case FERRY__PROTO_BYTES:
        put_quoted(buffer, value->as.bytes);
        break;
    case FERRY__PROTO_WORD:
        buffer_write(buffer, value->as.bytes->bytes, value->as.bytes->size);
        break;
    default:
        put_integer(buffer, slot, value);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static void put_message(struct buffer *buffer, const ferry_proto *p, int depth);

/* Prints comments, each on a line of its own. */
static void put_comments(struct buffer *buffer, const struct ferry__proto_document *document,
                         uint32_t line, uint32_t column, enum ferry__comment_place place, int depth)
{
    size_t n;
    const struct ferry__comment *c = ferry__comments_of(document, line, column, place, &n);

    for (size_t i = 0; i < n; i++) {
        put_indent(buffer, depth);
        buffer_write(buffer, c[i].text->bytes, c[i].text->size);
        put(buffer, "\n");
    }
}

/* Ends a value's line with its first comment; prints further comments on the next lines. */
static void end_line(struct buffer *buffer, const struct ferry__proto_document *document,
                     const struct ferry__proto_value *value, enum ferry__comment_place place,
                     int depth)
{
    size_t n = 0;
    const struct ferry__comment *c =
        value->line ? ferry__comments_of(document, value->line, value->column, place, &n) : NULL;

    for (size_t i = 0; i < n; i++) {
        put(buffer, i ? "\n" : " ");
        if (i)
            put_indent(buffer, depth);
        buffer_write(buffer, c[i].text->bytes, c[i].text->size);
    }
    put(buffer, "\n");
}

/* Prints a message from its opening to its closing bracket. */
static void put_block(struct buffer *buffer, const struct ferry__proto_document *document,
                      const struct ferry__proto_value *value, int depth)
{
    put(buffer, " {");
    end_line(buffer, document, value, FERRY__COMMENT_OPEN, depth + 1);
    put_message(buffer, value->as.message, depth + 1);
    if (value->line)
        put_comments(buffer, document, value->line, value->column, FERRY__COMMENT_LAST, depth + 1);
    put_indent(buffer, depth);
    put(buffer, "}");
}

static void put_slot(struct buffer *buffer, const struct ferry__proto_document *document,
                     const struct ferry__proto_slot *slot, int depth)
{
    for (uint32_t i = 0; i < slot->count; i++) {
        const struct ferry__proto_value *value = &slot->values[i];
        bool message = value->kind == FERRY__PROTO_MESSAGE;

        if (message && value->as.message->left)
            continue;
        if (value->line)
            put_comments(buffer, document, value->line, value->column, FERRY__COMMENT_BEFORE,
                         depth);
        put_indent(buffer, depth);
        put(buffer, slot->name);
        if (message) {
            put_block(buffer, document, value, depth);
        } else {
            put(buffer, ": ");
            put_scalar(buffer, slot, value);
        }
        end_line(buffer, document, value, FERRY__COMMENT_AFTER, depth);
    }
}

static void put_message(struct buffer *buffer, const ferry_proto *p, int depth)
{
    const struct ferry__proto_slot *slot;
    uint32_t number = 0;

    while ((slot = ferry__proto_next_slot(p, number))) {
        put_slot(buffer, p->document, slot, depth);
        number = slot->field->number;
    }
    for (slot = p->slots; slot; slot = slot->next)
        if (!slot->field || slot->field->number == 0)
            put_slot(buffer, p->document, slot, depth);
}

/* ---- output into a caller's buffer ---------------------------------------------------------- */

/* Checks that the `size` bytes have fit. */
static int check_room(const struct buffer *buffer, const char *what)
{
    if (!buffer->at || buffer->size <= buffer->capacity)
        return FERRY_OK;
    return ferry_error_set(FERRY_EOVERFLOW, "%s: %zu bytes do not fit into a buffer of %zu", what,
                           buffer->size, buffer->capacity);
}

int ferry_proto_print(const ferry_proto *p, char *buf, size_t capacity, size_t *out_size)
{
    struct buffer buffer = { .at = buf, .capacity = capacity };
    int err;

    if (!p || !out_size)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_print: %s is NULL", p ? "out_size" : "p");
    put_message(&buffer, p, 0);
    if (p->document && p->document->root == p)
        put_comments(&buffer, p->document, 0, 0, FERRY__COMMENT_LAST, 0);
    buffer_write(&buffer, "", 1);
    err = check_room(&buffer, "ferry_proto_print");
    if (!err)
        *out_size = buffer.size - 1;
    return err;
}

int ferry_proto_serialize(const ferry_proto *p, void *buf, size_t capacity, size_t *out_size)
{
    struct buffer buffer = { .at = buf, .capacity = capacity };
    struct ferry__proto_sink sink = { .write = buffer_write, .arg = &buffer };
    int err;

    if (!p || !out_size)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_serialize: %s is NULL",
                               p ? "out_size" : "p");
    err = ferry__proto_to_wire(p, &sink);
    if (!err)
        err = check_room(&buffer, "ferry_proto_serialize");
    if (!err)
        *out_size = buffer.size;
    return err;
}
