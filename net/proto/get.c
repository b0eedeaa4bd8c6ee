/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of a message, and defaults of its absent fields. */
#include "net/proto/tree.h"
#include "net/proto/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const ferry_proto empty_messages[] = {
#define EMPTY(name) { .type = &ferry__proto_##name },
    FERRY__PROTO_MESSAGES(EMPTY)
#undef EMPTY
};

static const ferry_proto *empty_message(const struct ferry__proto_message *type)
{
    for (size_t i = 0; i < sizeof(empty_messages) / sizeof(empty_messages[0]); i++)
        if (empty_messages[i].type == type)
            return &empty_messages[i];
    return NULL;
}

static const struct ferry__proto_field *field_of(const ferry_proto *p, const char *name)
{
    return p && name ? ferry__proto_field_of(p->type, name, strlen(name)) : NULL;
}

/* NULL if the field is absent. */
static const struct ferry__proto_value *value_of(const ferry_proto *p, const char *name,
                                                 int64_t index)
{
    const struct ferry__proto_slot *slot = name ? ferry__proto_slot_of(p, name) : NULL;

    return slot && index >= 0 && index < slot->count ? &slot->values[index] : NULL;
}

/* The field of that name if it is not repeated: a repeated field has no default. */
static const struct ferry__proto_field *default_of(const ferry_proto *p, const char *name)
{
    const struct ferry__proto_field *field = field_of(p, name);

    return field && !ferry__proto_repeats(field) ? field : NULL;
}

/* ---- contents ------------------------------------------------------------------------------- */

const char *ferry_proto_type(const ferry_proto *p)
{
    return p && p->type ? p->type->name : "";
}

int64_t ferry_proto_value_count(const ferry_proto *p, const char *field)
{
    const struct ferry__proto_slot *slot = field ? ferry__proto_slot_of(p, field) : NULL;

    return slot ? slot->count : 0;
}

int64_t ferry_proto_field_count(const ferry_proto *p)
{
    int64_t count = 0;

    for (const struct ferry__proto_slot *slot = p ? p->slots : NULL; slot; slot = slot->next)
        count++;
    return count;
}

int ferry_proto_field_at(const ferry_proto *p, int64_t index, const char **out_name)
{
    const struct ferry__proto_slot *slot = p ? p->slots : NULL;

    if (!out_name || index < 0 || index >= ferry_proto_field_count(p))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_field_at: there is no field %lld",
                               (long long)index);
    for (; index > 0; index--)
        slot = slot->next;
    *out_name = slot->name;
    return FERRY_OK;
}

bool ferry_proto_has_number(const ferry_proto *p, const char *field)
{
    const struct ferry__proto_field *known = field_of(p, field);

    return known && known->number != 0;
}

ferry_proto_location ferry_proto_get_location(const ferry_proto *p, const char *field,
                                              int64_t index)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    ferry_proto_location place = { "", 0, 0 };

    if (p && p->document) {
        place.file = p->document->file;
        place.line = (int)(value ? value->line : p->line);
        place.column = (int)(value ? value->column : p->column);
    }
    return place;
}

int ferry_proto_error(const ferry_proto *p, const char *field, int64_t index, int code,
                      const char *fmt, ...)
{
    ferry_proto_location place = ferry_proto_get_location(p, field, index);
    char message[700];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (place.line > 0)
        return ferry_error_set(code, "%.300s:%d:%d: %s", place.file, place.line, place.column,
                               message);
    return ferry_error_set(code, "%.300s%s%s", place.file, *place.file ? ": " : "", message);
}

/* ---- values that cannot fail ---------------------------------------------------------------- */

int64_t ferry_proto_integer(const ferry_proto *p, const char *field, int64_t index)
{
    int64_t out = 0;

    return ferry_proto_get_integer(p, field, index, &out) ? 0 : out;
}

double ferry_proto_real(const ferry_proto *p, const char *field, int64_t index)
{
    double out = 0;

    return ferry_proto_get_real(p, field, index, &out) ? 0 : out;
}

int ferry_proto_boolean(const ferry_proto *p, const char *field, int64_t index)
{
    int out = 0;

    return ferry_proto_get_boolean(p, field, index, &out) ? 0 : out;
}

const char *ferry_proto_enum(const ferry_proto *p, const char *field, int64_t index)
{
    const struct ferry__proto_field *known = field_of(p, field);

    return known && known->kind == FERRY__PROTO_ENUM ? ferry_proto_string(p, field, index, NULL)
                                                     : "";
}

/* The text of a value: a name belongs to the schema's tables, a string to the tree. */
static const char *text_of(const ferry_proto *p, const char *field, int64_t index, size_t *size)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    const struct ferry__proto_field *known = default_of(p, field);
    const struct ferry__proto_name *name = NULL;
    const char *text = NULL;

    if (value && (value->kind == FERRY__PROTO_STRING || value->kind == FERRY__PROTO_BYTES ||
                  value->kind == FERRY__PROTO_WORD)) {
        *size = value->as.bytes->size;
        return value->as.bytes->bytes;
    }
    if (value && value->kind == FERRY__PROTO_ENUM)
        name = ferry__proto_enum_numbered(field_of(p, field)->choices, value->as.integer);
    else if (!value && known && known->kind == FERRY__PROTO_ENUM)
        name = ferry__proto_enum_numbered(known->choices, (int64_t)known->number_default);
    else if (!value && known &&
             (known->kind == FERRY__PROTO_STRING || known->kind == FERRY__PROTO_BYTES))
        text = known->text_default ? known->text_default : "";
    text = name ? name->name : text;
    *size = text ? strlen(text) : 0;
    return text;
}

const char *ferry_proto_string(const ferry_proto *p, const char *field, int64_t index,
                               size_t *out_size)
{
    size_t size = 0;
    const char *text = text_of(p, field, index, &size);

    if (out_size)
        *out_size = size;
    return text ? text : "";
}

const ferry_proto *ferry_proto_message(const ferry_proto *p, const char *field, int64_t index)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    const struct ferry__proto_field *known = field_of(p, field);

    if (value)
        return value->kind == FERRY__PROTO_MESSAGE ? value->as.message : NULL;
    return known && known->message ? empty_message(known->message) : NULL;
}

/* ---- checked values ------------------------------------------------------------------------- */

static int wrong_kind(const ferry_proto *p, const char *field, int64_t index, const char *wanted)
{
    return ferry_proto_error(p, field, index, FERRY_EFORMAT, "%s is not %s", field ? field : "NULL",
                             wanted);
}

static bool is_integer(unsigned kind)
{
    return kind <= FERRY__PROTO_BOOL || kind == FERRY__PROTO_ENUM || kind == FERRY__PROTO_NUMBER;
}

static bool is_real(unsigned kind)
{
    return kind == FERRY__PROTO_FLOAT || kind == FERRY__PROTO_DOUBLE;
}

/* Checks the arguments of a getter. A message of NULL has no fields. */
static int check_getter(const char *function, const char *field, const void *out)
{
    if (field && out)
        return FERRY_OK;
    return ferry_error_set(FERRY_EINVAL, "%s: %s is NULL", function, field ? "out" : "field");
}

int ferry_proto_get_integer(const ferry_proto *p, const char *field, int64_t index, int64_t *out)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    const struct ferry__proto_field *known = default_of(p, field);

    if (check_getter("ferry_proto_get_integer", field, out))
        return FERRY_EINVAL;
    if (value ? !is_integer(value->kind) : known && !is_integer(known->kind))
        return wrong_kind(p, field, index, "an integer");
    if (value)
        *out = value->as.integer;
    else if (known)
        *out = (int64_t)known->number_default;
    return FERRY_OK;
}

int ferry_proto_get_real(const ferry_proto *p, const char *field, int64_t index, double *out)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    const struct ferry__proto_field *known = default_of(p, field);

    if (check_getter("ferry_proto_get_real", field, out))
        return FERRY_EINVAL;
    if (value && is_real(value->kind))
        *out = value->as.real;
    else if (value && is_integer(value->kind))
        *out = (double)value->as.integer;
    else if (!value && known && (is_real(known->kind) || is_integer(known->kind)))
        *out = known->number_default;
    else if (!(value && value->kind == FERRY__PROTO_WORD &&
               ferry__word_to_real(value->as.bytes->bytes, value->as.bytes->size, out)) &&
             (value || known))
        return wrong_kind(p, field, index, "a number");
    return FERRY_OK;
}

int ferry_proto_get_boolean(const ferry_proto *p, const char *field, int64_t index, int *out)
{
    const struct ferry__proto_value *value = value_of(p, field, index);
    int64_t integer;
    int word = -1;

    if (check_getter("ferry_proto_get_boolean", field, out))
        return FERRY_EINVAL;
    integer = *out;
    if (value && value->kind == FERRY__PROTO_WORD) {
        word = ferry__word_to_boolean(value->as.bytes->bytes, value->as.bytes->size);
        if (word < 0)
            return wrong_kind(p, field, index, "true or false");
        *out = word;
        return FERRY_OK;
    }
    if (ferry_proto_get_integer(p, field, index, &integer) ||
        ((value || default_of(p, field)) && (integer < 0 || integer > 1)))
        return wrong_kind(p, field, index, "true or false");
    *out = (int)integer;
    return FERRY_OK;
}

int ferry_proto_get_string(const ferry_proto *p, const char *field, int64_t index, const char **out)
{
    size_t size;
    const char *text = text_of(p, field, index, &size);

    if (check_getter("ferry_proto_get_string", field, out))
        return FERRY_EINVAL;
    if (!text && (value_of(p, field, index) || default_of(p, field)))
        return wrong_kind(p, field, index, "a string");
    if (text)
        *out = text;
    return FERRY_OK;
}
