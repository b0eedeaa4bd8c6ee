/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What parse.c and stranger.c share.
 */
#ifndef FERRY_NET_PROTO_PARSER_H
#define FERRY_NET_PROTO_PARSER_H

#include "net/proto/parse.h"
#include "net/proto/value.h"

/* A field that was noted: once is enough. */
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
    bool claimed; /* inside a message that some layer claims */
    struct ferry__parser_noted *noted;
};

/*
 * Decides about a field that is not Caffe's own: of no table, or a fork's (`field`). The current
 * token is its name. FERRY_EFORMAT where it looks like a misspelling.
 */
int ferry__parser_stranger(struct ferry__parser *parser, ferry_proto *p,
                           const struct ferry__proto_field *field, const char *name);

#endif
