/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pickle, read and not run: numbers, strings, lists, dictionaries, and what PyTorch makes of them. A
 * name that it would import stays a name; a call stays what was called, with its arguments.
 */
#ifndef FERRY_IO_PICKLE_H
#define FERRY_IO_PICKLE_H

#include "reader.h"

enum ferry__pickle_kind {
    FERRY__PICKLE_NONE = 0,
    FERRY__PICKLE_BOOL,
    FERRY__PICKLE_INT,
    FERRY__PICKLE_FLOAT,
    FERRY__PICKLE_STRING,
    FERRY__PICKLE_LIST,   /* tuples, too */
    FERRY__PICKLE_DICT,   /* keys and values, one behind the other */
    FERRY__PICKLE_GLOBAL, /* "module name" */
    FERRY__PICKLE_CALL, /* of `callee` with the arguments `first`; `state` is what it was then given */
    FERRY__PICKLE_STORAGE, /* of a persistent id, whose parts are its members */
    FERRY__PICKLE_MARK     /* never outside the stack */
};

struct ferry__pickle {
    enum ferry__pickle_kind kind;
    int64_t number; /* of BOOL, INT; how many members of LIST, DICT, CALL, STORAGE */
    double real;
    const char *text; /* of STRING, GLOBAL */
    struct ferry__pickle_link *first, *last;
    struct ferry__pickle *callee, *state;
    struct ferry__pickle *items; /* what was put into what a CALL gave: a LIST or a DICT; or NULL */
};

struct ferry__pickle_link {
    struct ferry__pickle *value;
    struct ferry__pickle_link *next;
};

/*
 * Reads `size` bytes at `bytes`, which lie in io's file; all of *out is the arena's. FERRY_EFORMAT for
 * what is malformed, FERRY_EUNSUPPORTED for what only Python could make sense of.
 */
int ferry__pickle_read(struct ferry_io *io, const unsigned char *bytes, uint64_t size,
                       struct ferry__pickle **out);

/* Member `i` of a LIST, CALL or STORAGE; NULL outside. */
const struct ferry__pickle *ferry__pickle_member(const struct ferry__pickle *p, int64_t i);

#endif
