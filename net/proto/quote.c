/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/quote.h"

#include <stdlib.h>
#include <string.h>

/* The letters of the escapes \a, \b …; and the escapes that are used in printing. */
static const char letters[] = "abfnrtv\\?'\"", meanings[] = "\a\b\f\n\r\t\v\\?'\"";

static unsigned digit_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

static bool is_digit_of(char c, unsigned base)
{
    bool any = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');

    return any && digit_of(c) < base;
}

/* Reads up to `most` digits and moves past them. */
static unsigned long read_digits(const char **at, unsigned base, int most)
{
    unsigned long value = 0;

    for (int i = 0; i < most && is_digit_of(**at, base); i++)
        value = value * base + digit_of(*(*at)++);
    return value;
}

static void put(struct ferry__proto_scratch *scratch, unsigned long byte)
{
    scratch->bytes[scratch->size++] = (char)(unsigned char)byte;
}

static void put_unicode(struct ferry__proto_scratch *scratch, unsigned long c)
{
    if (c < 0x80) {
        put(scratch, c);
    } else if (c < 0x800) {
        put(scratch, 0xc0 | c >> 6);
        put(scratch, 0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(scratch, 0xe0 | c >> 12);
        put(scratch, 0x80 | (c >> 6 & 0x3f));
        put(scratch, 0x80 | (c & 0x3f));
    } else {
        put(scratch, 0xf0 | c >> 18);
        put(scratch, 0x80 | (c >> 12 & 0x3f));
        put(scratch, 0x80 | (c >> 6 & 0x3f));
        put(scratch, 0x80 | (c & 0x3f));
    }
}

/* Decodes a \u escape; two escapes that are a surrogate pair become one character. */
static bool append_unicode(const char **at, struct ferry__proto_scratch *scratch)
{
    int count = **at == 'u' ? 4 : 8;
    unsigned long c, low;

    ++*at;
    c = read_digits(at, 16, count);
    if (c >= 0xd800 && c < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        *at += 2;
        low = read_digits(at, 16, 4);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    if (c >= 0xd800 && c < 0xe000)
        return false;
    put_unicode(scratch, c);
    return true;
}

/* Reads an escape from after the backslash; the lexer has checked that it is valid. */
static bool append_escape(const char **at, struct ferry__proto_scratch *scratch)
{
    const char *letter;

    if (**at == 'u' || **at == 'U')
        return append_unicode(at, scratch);
    if (is_digit_of(**at, 8)) {
        put(scratch, read_digits(at, 8, 3) & 0xff);
        return true;
    }
    if (**at == 'x' || **at == 'X') {
        ++*at;
        put(scratch, read_digits(at, 16, 2));
        return true;
    }
    letter = strchr(letters, *(*at)++);
    put(scratch, (unsigned char)meanings[letter - letters]);
    return true;
}

static bool make_room(struct ferry__proto_scratch *scratch, size_t size)
{
    size_t capacity = 2 * (scratch->size + size) + 64;
    char *bytes;

    if (scratch->size + size <= scratch->capacity)
        return true;
    bytes = realloc(scratch->bytes, capacity);
    if (!bytes)
        return false;
    scratch->bytes = bytes;
    scratch->capacity = capacity;
    return true;
}

/*
 * Appends a string. A decoded escape is never longer than the escape, so the token's length
 * suffices.
 */
int ferry__quote_append(const struct ferry__lexer *lexer, struct ferry__proto_scratch *scratch)
{
    const struct ferry__token *token = &lexer->token;
    const char *at = token->text + 1, *end = token->text + token->size - 1;

    if (!make_room(scratch, token->size))
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", lexer->file);
    while (at < end) {
        if (*at != '\\') {
            put(scratch, (unsigned char)*at++);
            continue;
        }
        at++;
        if (!append_escape(&at, scratch))
            return ferry__token_error(lexer, token, FERRY_EFORMAT,
                                      "half of a surrogate pair in a string");
    }
    return FERRY_OK;
}

size_t ferry__quote_escape(unsigned char c, char out[4])
{
    static const char printed[] = "nrt\\'\"";

    out[0] = '\\';
    for (size_t i = 0; printed[i]; i++)
        if ((unsigned char)meanings[strchr(letters, printed[i]) - letters] == c) {
            out[1] = printed[i];
            return 2;
        }
    if (c >= ' ' && c < 0x7f) {
        out[0] = (char)c;
        return 1;
    }
    out[1] = (char)('0' + (c >> 6));
    out[2] = (char)('0' + (c >> 3 & 7));
    out[3] = (char)('0' + (c & 7));
    return 4;
}
