/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 1024

/* ---- documents ------------------------------------------------------------------------------ */

int ferry__proto_no_memory(const struct ferry__proto_document *document)
{
    return ferry_error_set(FERRY_ENOMEM, "%s: out of memory",
                           *document->file ? document->file : "a message");
}

int ferry__proto_create(const struct ferry__proto_message *type, const char *file,
                        ferry_proto **out)
{
    struct ferry__proto_document *document = calloc(1, sizeof(*document));

    if (!document)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", file);
    document->end = &document->notes;
    document->file = ferry__mem_copy(&document->arena, file, strlen(file));
    document->root = document->file ? ferry__proto_new(document, type) : NULL;
    if (!document->root) {
        ferry__mem_free(&document->arena);
        free(document);
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", file);
    }
    *out = document->root;
    return FERRY_OK;
}

void ferry_proto_close(ferry_proto *root)
{
    struct ferry__proto_document *document = root ? root->document : NULL;

    if (!document || document->root != root)
        return;
    ferry__mem_free(&document->arena);
    free(document);
}

static int add_note(struct ferry__proto_document *document, int level, const char *line)
{
    size_t size = strlen(line) + 1;
    struct ferry__proto_note *note = ferry__mem_alloc(&document->arena, sizeof(*note) + size);

    if (!note)
        return ferry__proto_no_memory(document);
    note->level = level;
    memcpy(note->line, line, size);
    *document->end = note;
    document->end = &note->next;
    document->note_count++;
    return FERRY_OK;
}

int ferry__proto_add_note(struct ferry__proto_document *document, int level, const char *fmt, ...)
{
    char line[LINE_SIZE];
    va_list args;

    if (document->note_count > FERRY__PROTO_NOTES)
        return FERRY_OK;
    if (document->note_count == FERRY__PROTO_NOTES)
        return add_note(document, FERRY_LOG_WARN, "further notes are omitted");
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    return add_note(document, level, line);
}

int ferry_proto_note_count(const ferry_proto *root)
{
    return root && root->document ? (int)root->document->note_count : 0;
}

int ferry_proto_note_at(const ferry_proto *root, int index, int *out_level, const char **out_line)
{
    const struct ferry__proto_note *note;

    if (!out_line || index < 0 || index >= ferry_proto_note_count(root))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_note_at: there is no note %d", index);
    note = root->document->notes;
    for (int i = 0; i < index; i++)
        note = note->next;
    if (out_level)
        *out_level = note->level;
    *out_line = note->line;
    return FERRY_OK;
}

/* ---- slots ---------------------------------------------------------------------------------- */

ferry_proto *ferry__proto_new(struct ferry__proto_document *document,
                              const struct ferry__proto_message *type)
{
    ferry_proto *p = ferry__mem_alloc(&document->arena, sizeof(*p));

    if (p) {
        p->document = document;
        p->type = type;
    }
    return p;
}

const struct ferry__proto_bytes *ferry__proto_keep(struct ferry__proto_document *document,
                                                   const void *bytes, size_t size)
{
    struct ferry__proto_bytes *out = ferry__mem_alloc(&document->arena, sizeof(*out));

    if (!out)
        return NULL;
    out->size = size;
    out->bytes = ferry__mem_copy(&document->arena, bytes, size);
    return out->bytes ? out : NULL;
}

struct ferry__proto_slot *ferry__proto_slot_of(const ferry_proto *p, const char *name)
{
    for (struct ferry__proto_slot *slot = p ? p->slots : NULL; slot; slot = slot->next)
        if (strcmp(slot->name, name) == 0)
            return slot;
    return NULL;
}

static struct ferry__proto_slot *add_slot(ferry_proto *p, const struct ferry__proto_field *field,
                                          const char *name)
{
    struct ferry__mem_arena *arena = &p->document->arena;
    struct ferry__proto_slot *slot = ferry__mem_alloc(arena, sizeof(*slot)), **end = &p->slots;

    if (!slot)
        return NULL;
    slot->field = field;
    slot->name = field ? field->name : ferry__mem_copy(arena, name, strlen(name));
    if (!slot->name)
        return NULL;
    while (*end)
        end = &(*end)->next;
    *end = slot;
    return slot;
}

static bool grow(struct ferry__mem_arena *arena, struct ferry__proto_slot *slot)
{
    uint32_t capacity = slot->capacity ? 2 * slot->capacity : 1;
    struct ferry__proto_value *values;

    if (slot->count < slot->capacity)
        return true;
    if (slot->capacity > UINT32_MAX / 2)
        return false;
    values = ferry__mem_alloc(arena, (size_t)capacity * sizeof(*values));
    if (!values)
        return false;
    if (slot->count)
        memcpy(values, slot->values, slot->count * sizeof(*values));
    slot->values = values;
    slot->capacity = capacity;
    return true;
}

struct ferry__proto_value *ferry__proto_append(ferry_proto *p,
                                               const struct ferry__proto_field *field,
                                               const char *name, enum ferry__proto_kind kind)
{
    struct ferry__proto_slot *slot = ferry__proto_slot_of(p, field ? field->name : name);
    struct ferry__proto_value *value;

    if (!slot)
        slot = add_slot(p, field, name);
    if (!slot || !grow(&p->document->arena, slot))
        return NULL;
    value = &slot->values[slot->count++];
    memset(value, 0, sizeof(*value));
    value->kind = (uint8_t)(field ? field->kind : kind);
    return value;
}

/* ---- changes -------------------------------------------------------------------------------- */

ferry_proto *ferry__proto_mutable(ferry_proto *p, const char *name, int64_t index)
{
    const struct ferry__proto_slot *slot = ferry__proto_slot_of(p, name);

    if (!slot || index < 0 || index >= slot->count ||
        slot->values[index].kind != FERRY__PROTO_MESSAGE)
        return NULL;
    return slot->values[index].as.message;
}

/* The value to set: the field's value, or a new one. The fields set here are always known. */
static struct ferry__proto_value *value_to_put(ferry_proto *p, const char *name)
{
    const struct ferry__proto_field *field = ferry__proto_field_of(p->type, name, strlen(name));
    struct ferry__proto_slot *slot = ferry__proto_slot_of(p, name);

    if (!field)
        return NULL;
    if (slot && slot->count > 0 && !ferry__proto_repeats(field))
        return &slot->values[0];
    return ferry__proto_append(p, field, field->name, (enum ferry__proto_kind)field->kind);
}

int ferry__proto_put_integer(ferry_proto *p, const char *name, int64_t number)
{
    struct ferry__proto_value *value = value_to_put(p, name);

    if (!value)
        return ferry__proto_no_memory(p->document);
    value->as.integer = number;
    return FERRY_OK;
}

int ferry__proto_put_real(ferry_proto *p, const char *name, double number)
{
    struct ferry__proto_value *value = value_to_put(p, name);

    if (!value)
        return ferry__proto_no_memory(p->document);
    value->as.real = number;
    return FERRY_OK;
}

int ferry__proto_put_string(ferry_proto *p, const char *name, const char *text)
{
    const struct ferry__proto_bytes *bytes = ferry__proto_keep(p->document, text, strlen(text));
    struct ferry__proto_value *value = bytes ? value_to_put(p, name) : NULL;

    if (!value)
        return ferry__proto_no_memory(p->document);
    value->as.bytes = bytes;
    return FERRY_OK;
}

int ferry__proto_put_message(ferry_proto *p, const char *name, ferry_proto **out)
{
    const struct ferry__proto_field *field = ferry__proto_field_of(p->type, name, strlen(name));
    struct ferry__proto_slot *slot = ferry__proto_slot_of(p, name);
    ferry_proto *message;
    struct ferry__proto_value *value;

    if (slot && slot->count > 0 && slot->field && !ferry__proto_repeats(slot->field)) {
        *out = slot->values[0].as.message;
        return FERRY_OK;
    }
    message = field ? ferry__proto_new(p->document, field->message) : NULL;
    value = message ? ferry__proto_append(p, field, name, FERRY__PROTO_MESSAGE) : NULL;
    if (!value)
        return ferry__proto_no_memory(p->document);
    value->as.message = message;
    *out = message;
    return FERRY_OK;
}

int ferry__proto_put_left(ferry_proto *p, const char *name, uint64_t size, uint64_t at)
{
    ferry_proto *message;
    int err = ferry__proto_put_message(p, name, &message);

    if (err)
        return err;
    message->left = true;
    message->left_size = size;
    message->left_at = at;
    return FERRY_OK;
}

void ferry__proto_clear(ferry_proto *p, const char *name)
{
    for (struct ferry__proto_slot **slot = &p->slots; *slot; slot = &(*slot)->next)
        if (strcmp((*slot)->name, name) == 0) {
            *slot = (*slot)->next;
            return;
        }
}

void ferry__proto_remove(ferry_proto *p, const char *name, int64_t index)
{
    struct ferry__proto_slot *slot = ferry__proto_slot_of(p, name);

    if (!slot || index < 0 || index >= slot->count)
        return;
    memmove(&slot->values[index], &slot->values[index + 1],
            (size_t)(slot->count - 1 - index) * sizeof(*slot->values));
    if (--slot->count == 0)
        ferry__proto_clear(p, name);
}

void ferry__proto_last_to_front(ferry_proto *p, const char *name)
{
    struct ferry__proto_slot *slot = ferry__proto_slot_of(p, name);
    struct ferry__proto_value last;

    if (!slot || slot->count < 2)
        return;
    last = slot->values[slot->count - 1];
    memmove(&slot->values[1], &slot->values[0], (slot->count - 1) * sizeof(last));
    slot->values[0] = last;
}
