/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings of the text format: reading and writing of escapes. */
#ifndef FERRY_NET_PROTO_QUOTE_H
#define FERRY_NET_PROTO_QUOTE_H

#include "net/proto/lexer.h"

/* A buffer that is reused from string to string. */
struct ferry__proto_scratch {
    char *bytes;
    size_t size, capacity;
};

/* Appends the decoded contents of the current token, a string. FERRY_EFORMAT, FERRY_ENOMEM. */
int ferry__quote_append(const struct ferry__lexer *lexer, struct ferry__proto_scratch *scratch);

/*
 * Prints a character between quotes like protobuf: itself, or an escape of at most four characters;
 * returns the length.
 */
size_t ferry__quote_escape(unsigned char c, char out[4]);

#endif
