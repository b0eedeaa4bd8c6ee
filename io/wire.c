/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire.h"

#include "common/varint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The nesting limit of protobuf's own readers. */
#define MAX_GROUPS 100

uint64_t ferry__wire_offset(const struct ferry__wire *wire, const unsigned char *at)
{
    return (uint64_t)(at - wire->file->bytes);
}

static const char *field_name(const struct ferry__wire_names *names, uint32_t number)
{
    for (int i = 0; names->fields[i].number; i++)
        if (names->fields[i].number == number)
            return names->fields[i].name;
    return "unknown";
}

int ferry__wire_error(const struct ferry__wire *wire, const struct ferry__field *field, int code,
                      const char *fmt, ...)
{
    char text[400];
    va_list args;

    if (wire->quiet)
        return code;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return ferry_error_set(code, "%s: %s.%s (field %u) at byte %llu: %s", wire->file->path,
                           wire->names->message, field_name(wire->names, field->number),
                           field->number, (unsigned long long)ferry__wire_offset(wire, field->tag),
                           text);
}

/* Reports an error at a position without a known field. */
static int fail_at(const struct ferry__wire *wire, const unsigned char *at, const char *what)
{
    if (wire->quiet)
        return FERRY_EFORMAT;
    return ferry_error_set(FERRY_EFORMAT, "%s: %s at byte %llu: %s", wire->file->path,
                           wire->names->message, (unsigned long long)ferry__wire_offset(wire, at),
                           what);
}

static int take_tag(struct ferry__wire *wire, struct ferry__field *field)
{
    const unsigned char *start = wire->at;
    uint64_t tag;
    const char *wrong = ferry__take_varint(&wire->at, wire->end, &tag);

    if (wrong)
        return fail_at(wire, start, wrong);
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return fail_at(wire, start, "the field number is invalid");
    field->number = (uint32_t)(tag >> 3);
    field->type = (unsigned)(tag & 7);
    field->tag = start;
    return FERRY_OK;
}

static int take_fixed(struct ferry__wire *wire, struct ferry__field *field, uint64_t size)
{
    uint64_t left = (uint64_t)(wire->end - wire->at);

    if (size > left)
        return ferry__wire_error(wire, field, FERRY_EFORMAT,
                                 "%llu bytes run past the end, byte %llu", (unsigned long long)size,
                                 (unsigned long long)ferry__wire_offset(wire, wire->end));
    field->bytes = wire->at;
    field->size = size;
    wire->at += size;
    return FERRY_OK;
}

static int take_payload(struct ferry__wire *wire, struct ferry__field *field)
{
    uint64_t size = 0;
    const char *wrong = NULL;

    switch (field->type) {
    case FERRY__WIRE_VARINT:
        wrong = ferry__take_varint(&wire->at, wire->end, &field->value);
        break;
    case FERRY__WIRE_64:
        return take_fixed(wire, field, 8);
    case FERRY__WIRE_32:
        return take_fixed(wire, field, 4);
    case FERRY__WIRE_BYTES:
        wrong = ferry__take_varint(&wire->at, wire->end, &size);
        if (!wrong)
            return take_fixed(wire, field, size);
        break;
    default:
        return ferry__wire_error(wire, field, FERRY_EFORMAT, "there is no wire type %u",
                                 field->type);
    }
    return wrong ? ferry__wire_error(wire, field, FERRY_EFORMAT, "%s", wrong) : FERRY_OK;
}

/* Groups are deprecated and unused by Caffe, but legal; they nest and have no length. */
static int skip_group(struct ferry__wire *wire, struct ferry__field *group)
{
    uint32_t open[MAX_GROUPS];
    int depth = 1;

    open[0] = group->number;
    group->bytes = wire->at;
    while (depth > 0) {
        struct ferry__field field;
        int err;

        if (wire->at == wire->end)
            return ferry__wire_error(wire, group, FERRY_EFORMAT, "the group is not closed");
        err = take_tag(wire, &field);
        if (err)
            return err;
        if (field.type == 4) {
            if (field.number != open[--depth])
                return ferry__wire_error(wire, &field, FERRY_EFORMAT,
                                         "closes a group that is not open");
        } else if (field.type == FERRY__WIRE_GROUP) {
            if (depth == MAX_GROUPS)
                return ferry__wire_error(wire, &field, FERRY_EFORMAT, "groups nest deeper than %d",
                                         MAX_GROUPS);
            open[depth++] = field.number;
        } else {
            err = take_payload(wire, &field);
            if (err)
                return err;
        }
    }
    group->size = (uint64_t)(wire->at - group->bytes);
    return FERRY_OK;
}

int ferry__wire_next(struct ferry__wire *wire, struct ferry__field *out)
{
    int err;

    if (wire->at == wire->end)
        return 0;
    memset(out, 0, sizeof(*out));
    err = take_tag(wire, out);
    if (!err)
        err = out->type == FERRY__WIRE_GROUP ? skip_group(wire, out) : take_payload(wire, out);
    return err ? err : 1;
}

int ferry__wire_expect(const struct ferry__wire *wire, const struct ferry__field *field,
                       unsigned type)
{
    if (field->type == type)
        return FERRY_OK;
    return ferry__wire_error(wire, field, FERRY_EFORMAT, "has wire type %u, not %u", field->type,
                             type);
}

int ferry__wire_enter(const struct ferry__wire *wire, const struct ferry__field *field,
                      const struct ferry__wire_names *names, struct ferry__wire *out)
{
    int err = ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);

    if (err)
        return err;
    out->quiet = wire->quiet;
    out->file = wire->file;
    out->names = names;
    out->at = field->bytes;
    out->end = field->bytes + field->size;
    return FERRY_OK;
}

int ferry__wire_varint(struct ferry__wire *wire, const struct ferry__field *field, uint64_t *out)
{
    const char *wrong;

    if (wire->at == wire->end)
        return 0;
    wrong = ferry__take_varint(&wire->at, wire->end, out);
    return wrong ? ferry__wire_error(wire, field, FERRY_EFORMAT, "%s", wrong) : 1;
}
