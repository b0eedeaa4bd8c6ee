/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows protobuf's tokenizer: it refuses the same texts, at the same positions. */
#include "net/proto/lexer.h"

#include "net/proto/comments.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES   0x7fffffffu
#define MAX_COLUMN  0xffffffu
#define SHOWN       40 /* the number of bytes of a token that a message shows */
#define MESSAGE_MAX 700

/* ---- errors --------------------------------------------------------------------------------- */

int ferry__token_error(const struct ferry__lexer *lexer, const struct ferry__token *token, int code,
                       const char *fmt, ...)
{
    char message[MESSAGE_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    return ferry_error_set(code, "%.300s:%u:%u: %s", lexer->file, token->line, token->column,
                           message);
}

int ferry__lexer_unexpected(const struct ferry__lexer *lexer, const char *wanted)
{
    const struct ferry__token *token = &lexer->token;

    if (token->kind == FERRY__TOKEN_END)
        return ferry__token_error(lexer, token, FERRY_EFORMAT, "%s, not the end of the text",
                                  wanted);
    return ferry__token_error(lexer, token, FERRY_EFORMAT, "%s, not %.*s", wanted,
                              token->size < SHOWN ? (int)token->size : SHOWN, token->text);
}

/* ---- characters ----------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The column of the current character; columns count UTF-8 characters, not bytes. */
static unsigned column_here(struct ferry__lexer *lexer)
{
    for (; lexer->counted < lexer->at; lexer->counted++)
        if (((unsigned char)*lexer->counted & 0xc0u) != 0x80 && lexer->column < MAX_COLUMN)
            lexer->column++;
    return lexer->column;
}

static int error_here(struct ferry__lexer *lexer, const char *what)
{
    struct ferry__token here = { .line = lexer->line, .column = column_here(lexer) };

    return ferry__token_error(lexer, &here, FERRY_EFORMAT, "%s", what);
}

/* Skips a comment to its last character. */
static void skip_comment(struct ferry__lexer *lexer)
{
    const char *start = lexer->at;
    bool alone = !lexer->token.text || lexer->token.line != lexer->line;

    while (lexer->at + 1 < lexer->end && lexer->at[1] != '\n')
        lexer->at++;
    if (lexer->comments)
        ferry__comments_add(lexer->comments, start, (size_t)(lexer->at + 1 - start), alone);
}

static void skip_space(struct ferry__lexer *lexer)
{
    for (; lexer->at < lexer->end; lexer->at++) {
        if (*lexer->at == '#')
            skip_comment(lexer);
        else if (*lexer->at == '\n') {
            lexer->line += lexer->line < MAX_LINES;
            lexer->column = 1;
            lexer->counted = lexer->at + 1;
        } else if (!is_space(*lexer->at))
            return;
    }
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Whether `count` hexadecimal digits after \u or \U are a Unicode code point. */
static bool is_unicode(const char *at, int count)
{
    unsigned long value = 0;

    for (int i = 0; i < count; i++) {
        if (!is_hex(at[i]))
            return false;
        value =
            value << 4 | (unsigned long)(is_digit(at[i]) ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    }
    return value <= 0x10ffff;
}

static int skip_escape(struct ferry__lexer *lexer)
{
    char c = *++lexer->at;

    if (c != '\0' && strchr("abfnrtv\\?'\"", c)) {
        lexer->at++;
        return FERRY_OK;
    }
    if (is_octal(c) || ((c == 'x' || c == 'X') && is_hex(lexer->at[1]))) {
        lexer->at += is_octal(c) ? 1 : 2;
        return FERRY_OK; /* further digits are skipped in the same way as letters */
    }
    if ((c == 'u' && is_unicode(lexer->at + 1, 4)) || (c == 'U' && is_unicode(lexer->at + 1, 8))) {
        lexer->at += c == 'u' ? 5 : 9;
        return FERRY_OK;
    }
    lexer->at--;
    return error_here(lexer, c == 'u' ? "\\u must be followed by four hexadecimal digits"
                             : c == 'U'
                                 ? "\\U must be followed by eight hexadecimal digits up to 0010ffff"
                                 : "there is no such escape sequence");
}

static int lex_string(struct ferry__lexer *lexer)
{
    char quote = *lexer->at++;
    int err = FERRY_OK;

    while (!err) {
        if (lexer->at == lexer->end)
            return error_here(lexer, "the string is not terminated");
        if (*lexer->at == '\0')
            return error_here(lexer, "a NUL byte in a string");
        if (*lexer->at == '\n')
            return error_here(lexer, "a string cannot continue in the next line");
        if (*lexer->at == quote)
            break;
        if (*lexer->at == '\\')
            err = skip_escape(lexer);
        else
            lexer->at++;
    }
    if (!err)
        lexer->at++;
    return err;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void skip_digits(struct ferry__lexer *lexer)
{
    while (is_digit(*lexer->at))
        lexer->at++;
}

/* Lexes a fraction and an exponent after the first digits; *real is set if there is either. */
static int lex_fraction(struct ferry__lexer *lexer, bool *real)
{
    if (*lexer->at == '.' && !*real) {
        *real = true;
        lexer->at++;
        skip_digits(lexer);
    }
    if (*lexer->at == 'e' || *lexer->at == 'E') {
        *real = true;
        lexer->at++;
        if (*lexer->at == '-' || *lexer->at == '+')
            lexer->at++;
        if (!is_digit(*lexer->at))
            return error_here(lexer, "e must be followed by an exponent");
        skip_digits(lexer);
    }
    if (*lexer->at == 'f' || *lexer->at == 'F') {
        *real = true;
        lexer->at++;
    }
    return FERRY_OK;
}

static int lex_prefixed(struct ferry__lexer *lexer)
{
    bool hex = lexer->at[1] == 'x' || lexer->at[1] == 'X';

    lexer->at += hex ? 2 : 1;
    if (hex && !is_hex(*lexer->at))
        return error_here(lexer, "0x must be followed by hexadecimal digits");
    while (hex ? is_hex(*lexer->at) : is_octal(*lexer->at))
        lexer->at++;
    if (!hex && is_digit(*lexer->at))
        return error_here(lexer, "a number that starts with 0 is octal");
    if (*lexer->at == '.')
        return error_here(lexer, "hexadecimal and octal numbers are integers");
    return FERRY_OK;
}

static int lex_number(struct ferry__lexer *lexer)
{
    const char *start = lexer->at;
    bool real = false;
    int err = FERRY_OK;

    if (*start == '0' && (start[1] == 'x' || start[1] == 'X' || is_digit(start[1]))) {
        err = lex_prefixed(lexer);
    } else {
        real = *start == '.';
        lexer->at += real;
        skip_digits(lexer);
        err = lex_fraction(lexer, &real);
    }
    if (err)
        return err;
    if (is_letter(*lexer->at))
        return error_here(lexer, "a space is required between a number and a name");
    if (*lexer->at == '.')
        return error_here(lexer, "a second decimal point in a number");
    lexer->token.kind = real ? FERRY__TOKEN_REAL : FERRY__TOKEN_INTEGER;
    return FERRY_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static int lex_token(struct ferry__lexer *lexer)
{
    unsigned char c = (unsigned char)*lexer->at;

    if (is_letter((char)c)) {
        lexer->token.kind = FERRY__TOKEN_NAME;
        while (is_letter(*lexer->at) || is_digit(*lexer->at))
            lexer->at++;
        return FERRY_OK;
    }
    if (is_digit((char)c) || (c == '.' && is_digit(lexer->at[1])))
        return lex_number(lexer);
    if (c == '"' || c == '\'') {
        lexer->token.kind = FERRY__TOKEN_STRING;
        return lex_string(lexer);
    }
    if (c == '\0')
        return error_here(lexer, "a NUL byte");
    if (c < ' ' || c == 0x7f)
        return error_here(lexer, "a control character");
    if (c >= 0x80)
        return error_here(lexer, "a character that is not ASCII, outside of a string or comment");
    lexer->token.kind = FERRY__TOKEN_SYMBOL;
    lexer->at++;
    return FERRY_OK;
}

int ferry__lexer_next(struct ferry__lexer *lexer)
{
    struct ferry__token *token = &lexer->token;
    int err = FERRY_OK;

    skip_space(lexer);
    token->text = lexer->at;
    token->line = lexer->line;
    token->column = column_here(lexer);
    token->kind = FERRY__TOKEN_END;
    if (lexer->at < lexer->end)
        err = lex_token(lexer);
    token->size = (size_t)(lexer->at - token->text);
    return err;
}

int ferry__lexer_start(struct ferry__lexer *lexer, const char *file, const char *text, size_t size,
                       struct ferry__comments *comments)
{
    *lexer = (struct ferry__lexer){ .file = file,
                                    .at = text,
                                    .end = text + size,
                                    .line = 1,
                                    .column = 1,
                                    .counted = text,
                                    .comments = comments };
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        lexer->at += 3;
        lexer->counted += 3;
    }
    return ferry__lexer_next(lexer);
}
