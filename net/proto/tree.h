/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of messages, and building them. All of a tree is in its document's memory; removed values
 * are freed with the document.
 */
#ifndef FERRY_NET_PROTO_TREE_H
#define FERRY_NET_PROTO_TREE_H

#include "common/arena.h"
#include "net/proto/edit.h"
#include "net/proto/schema.h"

#include <ferry/proto.h>

/* The limit of notes that are kept. */
#define FERRY__PROTO_NOTES 100

struct ferry__proto_note {
    struct ferry__proto_note *next;
    int level;
    char line[];
};

struct ferry__comment;

struct ferry__proto_document {
    struct ferry__mem_arena arena;
    const char *file; /* the path as it was given; may be "" */
    ferry_proto_form form;
    size_t mapped_size; /* size of a binary file that contains the left messages; otherwise 0 */
    ferry_proto *root;
    struct ferry__proto_note *notes, **end;
    unsigned note_count;
    const struct ferry__comment *comments; /* sorted by value and place (comments.h) */
    size_t comment_count;
    bool borrows; /* values of `bytes` fields stay in the source, which outlives the tree */
};

struct ferry__proto_bytes {
    size_t size;
    const char *bytes; /* a NUL follows the bytes */
};

struct ferry__proto_value {
    union {
        int64_t integer; /* for integers, booleans, enums */
        double real;
        const struct ferry__proto_bytes *bytes;
        ferry_proto *message;
    } as;
    uint32_t line;
    uint32_t column : 24, kind : 8;
};

/* A present field with its values. */
struct ferry__proto_slot {
    struct ferry__proto_slot *next;
    const struct ferry__proto_field *field; /* NULL: the field is in no table */
    const char *name;
    uint32_t count, capacity;
    struct ferry__proto_value *values;
};

struct ferry_proto {
    struct ferry__proto_document *document;
    const struct ferry__proto_message *type; /* NULL: the type is unknown */
    struct ferry__proto_slot *slots;         /* in the order in which their first values occurred */
    uint32_t line, column;
    /* Set for a message whose `left_size` bytes stay in the file. The code that left it there
     * identifies it by a number, for example its offset in the file. Such a message has no
     * slots. */
    bool left;
    uint64_t left_size, left_at;
};

/* ---- documents ------------------------------------------------------------------------------ */

/* Creates a document with an empty root of that type. FERRY_ENOMEM. */
int ferry__proto_create(const struct ferry__proto_message *type, const char *file,
                        ferry_proto **out);

/*
 * Adds a note for ferry_proto_note_at; at the limit the last note reports that further ones are
 * omitted. FERRY_ENOMEM.
 */
int ferry__proto_add_note(struct ferry__proto_document *document, int level, const char *fmt, ...)
    FERRY_PRINTF(3, 4);

/* Records FERRY_ENOMEM with a message. */
int ferry__proto_no_memory(const struct ferry__proto_document *document);

/* ---- reading -------------------------------------------------------------------------------- */

struct ferry__proto_slot *ferry__proto_slot_of(const ferry_proto *p, const char *name);

/* Whether a field is present. */
static inline bool ferry__proto_has(const ferry_proto *p, const char *name)
{
    return ferry_proto_value_count(p, name) > 0;
}

/* ---- building ------------------------------------------------------------------------------- */

/*
 * Appends a new value to a field, for the caller to fill in; its kind is the field's, or `kind` for
 * a field that is in no table. NULL without memory; no error is set.
 */
struct ferry__proto_value *ferry__proto_append(ferry_proto *p,
                                               const struct ferry__proto_field *field,
                                               const char *name, enum ferry__proto_kind kind);

/* Creates an empty message in the same document; NULL without memory. */
ferry_proto *ferry__proto_new(struct ferry__proto_document *document,
                              const struct ferry__proto_message *type);

/* Copies bytes into the document's memory; NULL without memory. */
const struct ferry__proto_bytes *ferry__proto_keep(struct ferry__proto_document *document,
                                                   const void *bytes, size_t size);

/* Appends a message that is left in its file: see struct ferry_proto. */
int ferry__proto_put_left(ferry_proto *p, const char *name, uint64_t size, uint64_t at);

/*
 * Copies all values of one message's field to another message's field; a message of the same
 * document is shared instead. Fields of different names must have the same kind.
 */
int ferry__proto_put_all(ferry_proto *to, const char *name, const ferry_proto *from,
                         const char *from_name);

/* Copies the fields of `from`, values and messages, into `to`, which may be in another document. */
int ferry__proto_put_copy(ferry_proto *to, const ferry_proto *from);

/* Removes a field, or one value of it. */
void ferry__proto_clear(ferry_proto *p, const char *name);
void ferry__proto_remove(ferry_proto *p, const char *name, int64_t index);

/* Moves the last value of a field to its front. */
void ferry__proto_last_to_front(ferry_proto *p, const char *name);

#endif
