/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of fields, as tokens say them. Each takes the tokens of one value and stands on the next.
 */
#ifndef FERRY_NET_PROTO_VALUE_H
#define FERRY_NET_PROTO_VALUE_H

#include "net/proto/quote.h"
#include "net/proto/tree.h"

/*
 * A value of a field's kind, which is no message; `name` is the field's, for messages. FERRY_EFORMAT
 * with the place, FERRY_ENOMEM.
 */
int ferry__value_read(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                      struct ferry__proto_scratch *scratch, const struct ferry__proto_field *field,
                      struct ferry__proto_value *out);

/* A value of which nothing is known but what it looks like. */
int ferry__value_read_any(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                          struct ferry__proto_scratch *scratch, struct ferry__proto_value *out);

/* The nearest float, as a double. */
double ferry__value_to_float(double value);

/* What a word means: 0 or 1, −1 if neither; a real number, or false. */
int ferry__word_to_boolean(const char *word, size_t size);
bool ferry__word_to_real(const char *word, size_t size, double *out);

#endif
