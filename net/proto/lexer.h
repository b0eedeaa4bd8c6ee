/* SPDX-License-Identifier: BSD-2-Clause */
/* The tokens of protobuf's text format with their positions. */
#ifndef FERRY_NET_PROTO_LEXER_H
#define FERRY_NET_PROTO_LEXER_H

#include <ferry/status.h>
#include <stdbool.h>
#include <stddef.h>

enum ferry__token_kind {
    FERRY__TOKEN_END,
    FERRY__TOKEN_NAME,    /* an identifier */
    FERRY__TOKEN_INTEGER, /* decimal, hexadecimal (0x…) or octal (0…) */
    FERRY__TOKEN_REAL,    /* with a decimal point, an exponent or an f */
    FERRY__TOKEN_STRING,  /* including its quotes */
    FERRY__TOKEN_SYMBOL   /* one character */
};

struct ferry__token {
    enum ferry__token_kind kind;
    const char *text;
    size_t size;
    unsigned line, column; /* starting at 1 */
};

struct ferry__comments;

struct ferry__lexer {
    const char *file;
    const char *at, *end; /* the byte at `end` is a NUL */
    unsigned line, column;
    const char *counted;              /* the position that `column` refers to */
    struct ferry__comments *comments; /* where comments are recorded; NULL: nowhere */
    struct ferry__token token;        /* the current token */
};

/*
 * Starts at the first token. `text` has a NUL at `size`; `comments` may be NULL. FERRY_EFORMAT.
 */
int ferry__lexer_start(struct ferry__lexer *lexer, const char *file, const char *text, size_t size,
                       struct ferry__comments *comments);

/* Moves to the next token; after the last one it is always FERRY__TOKEN_END. FERRY_EFORMAT. */
int ferry__lexer_next(struct ferry__lexer *lexer);

/* Whether the token is that symbol. */
static inline bool ferry__lexer_is(const struct ferry__lexer *lexer, char symbol)
{
    return lexer->token.kind == FERRY__TOKEN_SYMBOL && lexer->token.text[0] == symbol;
}

/* Sets the message "file:line:column: message" for a token; returns `code`. */
int ferry__token_error(const struct ferry__lexer *lexer, const struct ferry__token *token, int code,
                       const char *fmt, ...) FERRY_PRINTF(4, 5);

/* Reports "file:line:column: WANTED, not TOKEN" for the current token. */
int ferry__lexer_unexpected(const struct ferry__lexer *lexer, const char *wanted);

#endif
