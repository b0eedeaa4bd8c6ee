/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings of the text format: their escapes, read and written.
 */
#ifndef FERRY_NET_PROTO_QUOTE_H
#define FERRY_NET_PROTO_QUOTE_H

#include "net/proto/lexer.h"

/* Bytes in the making, kept from string to string. */
struct ferry__proto_scratch {
    char *bytes;
    size_t size, capacity;
};

/* Appends what the current token, a string, stands for. FERRY_EFORMAT, FERRY_ENOMEM. */
int ferry__quote_append(const struct ferry__lexer *lexer, struct ferry__proto_scratch *scratch);

/*
 * The character's bytes between quotes, as protobuf prints it: itself, or an escape of at most four
 * characters; returns how many.
 */
size_t ferry__quote_escape(unsigned char c, char out[4]);

#endif
