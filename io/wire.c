/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Reports the fault of a field that could not be read. */
static int fail(const struct ferry__wire *wire, const struct ferry__field *field,
                const char *fault)
{
    if (wire->quiet)
        return FERRY_EFORMAT;
    if (field->number == 0)
        return ferry_error_set(FERRY_EFORMAT, "%s: %s at byte %llu: %s", wire->file->path,
                               wire->names->message,
                               (unsigned long long)ferry__wire_offset(wire, field->tag), fault);
    if (field->value > (uint64_t)(wire->end - wire->at))
        return ferry__wire_error(wire, field, FERRY_EFORMAT,
                                 "%llu bytes run past the end, byte %llu",
                                 (unsigned long long)field->value,
                                 (unsigned long long)ferry__wire_offset(wire, wire->end));
    return ferry__wire_error(wire, field, FERRY_EFORMAT, "%s", fault);
}

int ferry__wire_next(struct ferry__wire *wire, struct ferry__field *out)
{
    const char *fault;

    if (wire->at == wire->end)
        return 0;
    fault = ferry__take_field(&wire->at, wire->end, out);
    return fault ? fail(wire, out, fault) : 1;
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
