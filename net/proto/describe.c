/* SPDX-License-Identifier: BSD-2-Clause */
/* Reflection: the messages, fields and choices of the schema. */
#include "net/proto/schema.h"

#include <ferry/proto.h>
#include <stddef.h>
#include <string.h>

static const char *kind_of(const struct ferry__proto_field *field)
{
    static const char *const names[] = {
        [FERRY__PROTO_INT32] = "int32",   [FERRY__PROTO_INT64] = "int64",
        [FERRY__PROTO_UINT32] = "uint32", [FERRY__PROTO_BOOL] = "bool",
        [FERRY__PROTO_FLOAT] = "float",   [FERRY__PROTO_DOUBLE] = "double",
        [FERRY__PROTO_STRING] = "string", [FERRY__PROTO_BYTES] = "bytes",
    };

    if (field->message)
        return field->message->name;
    if (field->choices)
        return field->choices->name;
    return field->kind < sizeof(names) / sizeof(names[0]) ? names[field->kind] : "";
}

int ferry_proto_schema_field_at(const char *type, int64_t index, ferry_proto_field *out)
{
    const struct ferry__proto_message *message = type ? ferry__proto_message_of(type) : NULL;
    const struct ferry__proto_field *field;
    const struct ferry__proto_name *choice = NULL;
    ferry_proto_field told = { 0 };

    if (!message || !out || out->struct_size < offsetof(ferry_proto_field, kind) || index < 0 ||
        (uint64_t)index >= message->count)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_schema_field_at: field %lld of %.100s",
                               (long long)index, type ? type : "NULL");
    field = &message->fields[index];
    if (field->choices)
        choice = ferry__proto_enum_numbered(field->choices, (int64_t)field->number_default);
    told.struct_size = out->struct_size;
    told.name = field->name;
    told.kind = kind_of(field);
    told.repeats = ferry__proto_repeats(field);
    told.number = field->number;
    told.number_default = field->number_default;
    told.text_default = choice ? choice->name : field->text_default ? field->text_default : "";
    told.fork = field->fork ? field->fork : "";
    told.required = field->label == FERRY__PROTO_REQUIRED;
    told.packed = field->label == FERRY__PROTO_PACKED;
    told.choice_count = field->choices ? (int64_t)field->choices->count : 0;
    memcpy(out, &told, told.struct_size < sizeof(told) ? told.struct_size : sizeof(told));
    return FERRY_OK;
}

int ferry_proto_schema_choice_at(const char *type, int64_t index, int64_t choice,
                                 const char **out_name, int *out_number)
{
    const struct ferry__proto_message *message = type ? ferry__proto_message_of(type) : NULL;
    const struct ferry__proto_enum *choices = NULL;

    if (message && index >= 0 && (uint64_t)index < message->count)
        choices = message->fields[index].choices;
    if (!choices || choice < 0 || (uint64_t)choice >= choices->count || !out_name || !out_number)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_proto_schema_choice_at: value %lld of field %lld of %.100s",
                               (long long)choice, (long long)index, type ? type : "NULL");
    *out_name = choices->values[choice].name;
    *out_number = choices->values[choice].number;
    return FERRY_OK;
}

int64_t ferry_proto_schema_field_count(const char *type)
{
    const struct ferry__proto_message *message = type ? ferry__proto_message_of(type) : NULL;

    return message ? (int64_t)message->count : 0;
}
