/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by parse.c and unknown.c. */
#ifndef FERRY_NET_PROTO_PARSER_H
#define FERRY_NET_PROTO_PARSER_H

#include "net/proto/parse.h"
#include "net/proto/value.h"

/* A field that was already noted: each is noted once. */
struct ferry__parser_noted {
    struct ferry__parser_noted *next;
    const struct ferry__proto_message *type;
    const char *name;
};

struct ferry__parser {
    struct ferry__lexer lexer;
    struct ferry__proto_scratch scratch;
    const ferry_proto_options *options; /* may be NULL */
    int depth;
    bool claimed; /* inside a message that a layer type has claimed */
    struct ferry__parser_noted *noted;
};

/*
 * Decides about a field that is not one of Caffe's: an unknown field, or one of a fork (`field`).
 * The current token is its name. FERRY_EFORMAT if it looks like a misspelling.
 */
int ferry__parser_unknown(struct ferry__parser *parser, ferry_proto *p,
                           const struct ferry__proto_field *field, const char *name);

#endif
