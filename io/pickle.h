/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pickle, parsed without executing it: numbers, strings, lists, dictionaries, and the objects
 * that PyTorch builds from them. A global stays a name; a call stays a record of the callee and its
 * arguments.
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
    FERRY__PICKLE_LIST,    /* also for tuples */
    FERRY__PICKLE_DICT,    /* keys and values alternate */
    FERRY__PICKLE_GLOBAL,  /* "module name" */
    FERRY__PICKLE_CALL,    /* calls `callee` with arguments `first`; `state` is the argument of the
                            * later BUILD */
    FERRY__PICKLE_STORAGE, /* a persistent id, whose parts are the members */
    FERRY__PICKLE_MARK     /* exists only on the stack */
};

struct ferry__pickle {
    enum ferry__pickle_kind kind;
    int64_t number; /* the value of BOOL, INT; the number of members of LIST, DICT, CALL, STORAGE */
    double real;
    const char *text; /* for STRING and GLOBAL */
    struct ferry__pickle_link *first, *last;
    struct ferry__pickle *callee, *state;
    struct ferry__pickle *items; /* members added to the result of a CALL: a LIST or a DICT; or
                                  * NULL */
};

struct ferry__pickle_link {
    struct ferry__pickle *value;
    struct ferry__pickle_link *next;
};

/*
 * Reads the `size` bytes at `bytes`, a range of io's file; all of *out belongs to the arena.
 * FERRY_EFORMAT for a malformed pickle, FERRY_EUNSUPPORTED for an instruction that only Python can
 * execute.
 */
int ferry__pickle_read(struct ferry_io *io, const unsigned char *bytes, uint64_t size,
                       struct ferry__pickle **out);

/* Member `i` of a LIST, CALL or STORAGE; NULL if out of range. */
const struct ferry__pickle *ferry__pickle_member(const struct ferry__pickle *p, int64_t i);

#endif
