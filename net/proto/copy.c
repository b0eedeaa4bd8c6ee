/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies a field within a document, or a message into any document. */
#include "net/proto/tree.h"

#include <string.h>

int ferry__proto_put_all(ferry_proto *to, const char *name, const ferry_proto *from,
                         const char *from_name)
{
    const struct ferry__proto_slot *slot = ferry__proto_slot_of(from, from_name);
    const struct ferry__proto_field *field = ferry__proto_field_of(to->type, name, strlen(name));

    for (uint32_t i = 0; slot && i < slot->count; i++) {
        struct ferry__proto_value *value =
            ferry__proto_append(to, field, name, (enum ferry__proto_kind)slot->values[i].kind);

        if (!value)
            return ferry__proto_no_memory(to->document);
        *value = slot->values[i];
    }
    return FERRY_OK;
}

/* The depth of a tree is limited to that of a text. */
static int copy_value(struct ferry__proto_document *document,
                      const struct ferry__proto_value *value, struct ferry__proto_value *out)
{
    int err = FERRY_OK;

    switch (value->kind) {
    case FERRY__PROTO_STRING:
    case FERRY__PROTO_BYTES:
    case FERRY__PROTO_WORD:
        out->as.bytes = ferry__proto_keep(document, value->as.bytes->bytes, value->as.bytes->size);
        return out->as.bytes ? FERRY_OK : ferry__proto_no_memory(document);
    case FERRY__PROTO_MESSAGE:
        out->as.message = ferry__proto_new(document, value->as.message->type);
        if (!out->as.message)
            return ferry__proto_no_memory(document);
        err = ferry__proto_put_copy(out->as.message, value->as.message);
        return err;
    default:
        out->as = value->as;
        return FERRY_OK;
    }
}

static int copy_slot(ferry_proto *to, const struct ferry__proto_slot *slot)
{
    int err = FERRY_OK;

    for (uint32_t i = 0; i < slot->count && !err; i++) {
        const struct ferry__proto_value *value = &slot->values[i];
        struct ferry__proto_value copy = *value, *out;

        err = copy_value(to->document, value, &copy);
        out = err ? NULL
                  : ferry__proto_append(to, slot->field, slot->name,
                                        (enum ferry__proto_kind)value->kind);
        if (out)
            *out = copy;
        else if (!err)
            err = ferry__proto_no_memory(to->document);
    }
    return err;
}

int ferry__proto_put_copy(ferry_proto *to, const ferry_proto *from)
{
    int err = FERRY_OK;

    to->line = from->line;
    to->column = from->column;
    to->left = from->left;
    to->left_size = from->left_size;
    to->left_at = from->left_at;
    for (const struct ferry__proto_slot *slot = from->slots; slot && !err; slot = slot->next)
        err = copy_slot(to, slot);
    return err;
}
