/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of messages, and how they are built. All of a tree lies in its document's memory; what is
 * taken out of a tree is freed with it.
 */
#ifndef FERRY_NET_PROTO_TREE_H
#define FERRY_NET_PROTO_TREE_H

#include "common/arena.h"
#include "net/proto/edit.h"
#include "net/proto/schema.h"

#include <ferry/proto.h>

/* More notes than this are not kept. */
#define FERRY__PROTO_NOTES 100

struct ferry__proto_note {
    struct ferry__proto_note *next;
    int level;
    char line[];
};

struct ferry__proto_document {
    struct ferry__mem_arena arena;
    const char *file; /* as it was given; "" */
    ferry_proto_form form;
    size_t mapped_size; /* bytes of a binary file on disk, which holds the left messages; else 0 */
    ferry_proto *root;
    struct ferry__proto_note *notes, **end;
    unsigned note_count;
    bool borrows; /* values of `bytes` fields stay in the source, which outlives the tree */
};

struct ferry__proto_bytes {
    size_t size;
    const char *bytes; /* with a NUL behind them */
};

struct ferry__proto_value {
    union {
        int64_t integer; /* integers, booleans, enums */
        double real;
        const struct ferry__proto_bytes *bytes;
        ferry_proto *message;
    } as;
    uint32_t line;
    uint32_t column : 24, kind : 8;
};

/* A field that is given, and its values. */
struct ferry__proto_slot {
    struct ferry__proto_slot *next;
    const struct ferry__proto_field *field; /* NULL: no table has it */
    const char *name;
    uint32_t count, capacity;
    struct ferry__proto_value *values;
};

struct ferry_proto {
    struct ferry__proto_document *document;
    const struct ferry__proto_message *type; /* NULL: ferry does not know it */
    struct ferry__proto_slot *slots;         /* in the order of their first values */
    uint32_t line, column;
    /* What was left where it is: a message of `left_size` bytes, known to whoever left it there by a
     * number, such as its place in the file. It has no slots. */
    bool left;
    uint64_t left_size, left_at;
};

/* ---- documents ------------------------------------------------------------------------------ */

/* A document with an empty root of that type. FERRY_ENOMEM. */
int ferry__proto_create(const struct ferry__proto_message *type, const char *file,
                        ferry_proto **out);

/* A note, for ferry_proto_note_at; behind the last that is kept, one says so. FERRY_ENOMEM. */
int ferry__proto_say(struct ferry__proto_document *document, int level, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/* FERRY_ENOMEM, with a message. */
int ferry__proto_no_memory(const struct ferry__proto_document *document);

/* ---- reading -------------------------------------------------------------------------------- */

struct ferry__proto_slot *ferry__proto_slot_of(const ferry_proto *p, const char *name);

/* Whether a field is given. */
static inline bool ferry__proto_has(const ferry_proto *p, const char *name)
{
    return ferry_proto_value_count(p, name) > 0;
}

/* ---- building ------------------------------------------------------------------------------- */

/*
 * A new value at the end of a field, for the caller to fill in; of the field's kind, or of `kind`
 * where no table has it. NULL without memory, and no error is set.
 */
struct ferry__proto_value *ferry__proto_append(ferry_proto *p,
                                               const struct ferry__proto_field *field,
                                               const char *name, enum ferry__proto_kind kind);

/* An empty message in the same document; NULL likewise. */
ferry_proto *ferry__proto_new(struct ferry__proto_document *document,
                              const struct ferry__proto_message *type);

/* Bytes in the document's memory; NULL likewise. */
const struct ferry__proto_bytes *ferry__proto_keep(struct ferry__proto_document *document,
                                                   const void *bytes, size_t size);

/* A message that is left where it is: see struct ferry_proto. */
int ferry__proto_put_left(ferry_proto *p, const char *name, uint64_t size, uint64_t at);

/*
 * Copies all values of one message's field to another's, a message within the same document being
 * shared, not copied. Fields of different names must be of one kind.
 */
int ferry__proto_put_all(ferry_proto *to, const char *name, const ferry_proto *from,
                         const char *from_name);

/* Copies the fields of `from` into `to`, which may be of another document: values and messages. */
int ferry__proto_put_copy(ferry_proto *to, const ferry_proto *from);

/* Takes a field out, or one value of it. */
void ferry__proto_clear(ferry_proto *p, const char *name);
void ferry__proto_remove(ferry_proto *p, const char *name, int64_t index);

/* Moves the last value of a field to its front. */
void ferry__proto_last_to_front(ferry_proto *p, const char *name);

#endif
