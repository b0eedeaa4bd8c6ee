/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion of tokens to values of fields. Each function consumes the tokens of one value. */
#ifndef FERRY_NET_PROTO_VALUE_H
#define FERRY_NET_PROTO_VALUE_H

#include "net/proto/quote.h"
#include "net/proto/tree.h"

/*
 * Reads a value of a field's kind, except messages; `name` is the field's name in messages.
 * FERRY_EFORMAT with the position, FERRY_ENOMEM.
 */
int ferry__value_read(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                      struct ferry__proto_scratch *scratch, const struct ferry__proto_field *field,
                      struct ferry__proto_value *out);

/* Reads a value of unknown kind, which the token's form determines. */
int ferry__value_read_any(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                          struct ferry__proto_scratch *scratch, struct ferry__proto_value *out);

/* Rounds to the nearest float, returned as a double. */
double ferry__value_to_float(double value);

/*
 * The value of a word: as a boolean, 0 or 1, or −1 if it is not a boolean; as a real number, or
 * false.
 */
int ferry__word_to_boolean(const char *word, size_t size);
bool ferry__word_to_real(const char *word, size_t size, double *out);

#endif
