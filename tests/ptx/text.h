/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PTX as tokens: words (names, opcodes, directives and numbers), strings, and single characters.
 */
#ifndef FERRY_TEST_PTX_TEXT_H
#define FERRY_TEST_PTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token {
    const char *at;
    size_t length; /* 0: the end of the text */
    uint32_t line;
};

struct text {
    const char *at;
    uint32_t line;
    struct token token; /* the current one */
};

/* Begins at the first token. */
void text_begin(struct text *text, const char *from);
void text_next(struct text *text);

bool token_is(const struct token *token, const char *word);
bool token_starts(const struct token *token, const char *start);
/*
 * An integer in decimal, hexadecimal, octal or binary, with the suffix U; 0f and 0d with the
 * bits of a float.
 */
bool token_number(const struct token *token, uint64_t *out);

#endif
