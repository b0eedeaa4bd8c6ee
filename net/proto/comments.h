/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comments of a text, each with the value that it describes, so that a changed net is printed
 * with those of the values that remain. A value is identified by its position.
 */
#ifndef FERRY_NET_PROTO_COMMENTS_H
#define FERRY_NET_PROTO_COMMENTS_H

#include "net/proto/tree.h"

/* The limit of comments that are kept. */
#define FERRY__COMMENTS 1000000u

/* The place of a comment beside a value. */
enum ferry__comment_place {
    FERRY__COMMENT_BEFORE, /* in lines of its own */
    FERRY__COMMENT_OPEN,   /* in the line of a message's opening bracket */
    FERRY__COMMENT_LAST,   /* in a message, after its last value */
    FERRY__COMMENT_AFTER   /* at the end of the value's line */
};

struct ferry__comment {
    uint32_t line, column; /* the position of the value; 0: the root */
    enum ferry__comment_place place;
    uint32_t number; /* the comment's index in the text */
    bool alone;      /* no token precedes it in its line */
    const struct ferry__proto_bytes *text;
};

/* The comments while a text is parsed. Those from `placed` on have no value yet. */
struct ferry__comments {
    struct ferry__proto_document *document;
    struct ferry__comment *at;
    size_t count, capacity, placed;
    bool no_memory, too_many;
};

/* Adds a comment, "#" included; a failure is reported by ferry__comments_finish. */
void ferry__comments_add(struct ferry__comments *c, const char *text, size_t size, bool alone);

/*
 * Assigns the comments that have no value to the one at that position: all, or only those in a line
 * with a token before them. NULL is accepted.
 */
void ferry__comments_place(struct ferry__comments *c, bool all, uint32_t line, uint32_t column,
                           enum ferry__comment_place place);

/*
 * Moves the comments into the document. FERRY_ENOMEM, FERRY_EUNSUPPORTED for too many. Frees the
 * list's memory in any case.
 */
int ferry__comments_finish(struct ferry__comments *c);

/* Returns the first of the *out_count comments of a value at that place, or NULL with 0. */
const struct ferry__comment *ferry__comments_of(const struct ferry__proto_document *document,
                                                uint32_t line, uint32_t column,
                                                enum ferry__comment_place place, size_t *out_count);

#endif
