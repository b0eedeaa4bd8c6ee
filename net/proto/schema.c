/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema.h"

#include <string.h>

#define MAX_EDITS 2
#define LONGEST   63 /* no known name is longer */

static const struct ferry__proto_message *const messages[] = {
#define LIST(name) &ferry__proto_##name,
    FERRY__PROTO_MESSAGES(LIST)
#undef LIST
};

#define MESSAGE_COUNT (sizeof(messages) / sizeof(messages[0]))

const struct ferry__proto_message *ferry__proto_message_of(const char *name)
{
    for (size_t i = 0; i < MESSAGE_COUNT; i++)
        if (strcmp(messages[i]->name, name) == 0)
            return messages[i];
    return NULL;
}

const struct ferry__proto_message *ferry__proto_message_at(size_t index)
{
    return index < MESSAGE_COUNT ? messages[index] : NULL;
}

static bool is_name(const char *known, const char *name, size_t size)
{
    return strncmp(known, name, size) == 0 && known[size] == '\0';
}

const struct ferry__proto_field *ferry__proto_field_of(const struct ferry__proto_message *type,
                                                       const char *name, size_t size)
{
    for (size_t i = 0; type && i < type->count; i++)
        if (is_name(type->fields[i].name, name, size))
            return &type->fields[i];
    return NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static const char *alias_of(uint32_t number, const char *layer_type)
{
    for (const struct ferry__proto_alias *a = ferry__proto_aliases; a->number; a++)
        if (a->number == number && strcmp(a->layer_type, layer_type) == 0)
            return a->field;
    return NULL;
}

/*
 * Whether a layer of that type has the field. Only Intel Caffe's convolutions and inner products
 * have ranges; other forks use their number for messages of their own layer types.
 */
static bool is_for_layer(const struct ferry__proto_field *field, const char *layer_type)
{
    return field->message != &ferry__proto_LayerQuantizationParameter ||
           strcmp(layer_type, "Convolution") == 0 || strcmp(layer_type, "InnerProduct") == 0;
}

const struct ferry__proto_field *
ferry__proto_field_numbered(const struct ferry__proto_message *type, uint32_t number,
                            const char *layer_type)
{
    if (type == &ferry__proto_LayerParameter) {
        const char *alias = alias_of(number, layer_type);

        if (alias)
            return ferry__proto_field_of(type, alias, strlen(alias));
    }
    for (size_t i = 0; number != 0 && i < type->count; i++)
        if (type->fields[i].number == number && is_for_layer(&type->fields[i], layer_type))
            return &type->fields[i];
    return NULL;
}

/* ---- names at an edit distance of two ------------------------------------------------------- */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t d = a < b ? a : b;

    return d < c ? d : c;
}

/* The edit distance of two names. */
static size_t edits(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[LONGEST + 1];

    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, change);
        }
    }
    return row[nb];
}

/*
 * The most similar known name. A short name all of whose letters would change is not treated as a
 * misspelling.
 */
const char *ferry__proto_nearest(const struct ferry__proto_message *type, const char *name,
                                 size_t size)
{
    const char *nearest = NULL;
    size_t fewest = MAX_EDITS + 1;

    for (size_t i = 0; type && i < type->count; i++) {
        const char *known = type->fields[i].name;
        size_t length = strlen(known), n;

        if (length > LONGEST || size + MAX_EDITS < length || length + MAX_EDITS < size)
            continue;
        n = edits(name, size, known, length);
        if (n < fewest && n < size && n < length) {
            fewest = n;
            nearest = known;
        }
    }
    return nearest;
}

/* ---- enums ---------------------------------------------------------------------------------- */

const struct ferry__proto_name *ferry__proto_enum_numbered(const struct ferry__proto_enum *choices,
                                                           int64_t number)
{
    for (size_t i = 0; i < choices->count; i++)
        if (choices->values[i].number == number)
            return &choices->values[i];
    return NULL;
}

const struct ferry__proto_name *ferry__proto_enum_named(const struct ferry__proto_enum *choices,
                                                        const char *name, size_t size)
{
    for (size_t i = 0; i < choices->count; i++)
        if (is_name(choices->values[i].name, name, size))
            return &choices->values[i];
    return NULL;
}
