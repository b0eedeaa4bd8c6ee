/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/value.h"

#include "net/proto/quote.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_word(const char *word, size_t size, const char *is)
{
    return strlen(is) == size && memcmp(word, is, size) == 0;
}

int ferry__word_to_boolean(const char *word, size_t size)
{
    static const char *const words[] = { "false", "False", "f", "true", "True", "t" };

    for (int i = 0; i < 6; i++)
        if (is_word(word, size, words[i]))
            return i >= 3;
    return -1;
}

/* Parses the words for infinity and NaN in upper or lower case. */
bool ferry__word_to_real(const char *word, size_t size, double *out)
{
    char lower[16] = "";

    for (size_t i = 0; i < size && i < sizeof(lower) - 1; i++)
        lower[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    if (is_word(lower, size, "inf") || is_word(lower, size, "infinity"))
        *out = HUGE_VAL;
    else if (is_word(lower, size, "nan"))
        *out = (double)NAN;
    else
        return false;
    return true;
}

/* ---- integers ------------------------------------------------------------------------------- */

/* Parses a decimal, hexadecimal (0x…) or octal (0…) number; false above `most`. */
static bool digits_to_integer(const char *text, size_t size, uint64_t most, uint64_t *out)
{
    unsigned base = 10;
    uint64_t value = 0;
    size_t i = 0;

    if (size > 1 && text[0] == '0') {
        base = (text[1] | 32) == 'x' ? 16 : 8;
        i = base == 16 ? 2 : 1;
    }
    for (; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned digit = c <= '9' ? c - (unsigned)'0' : (c | 32u) - (unsigned)'a' + 10;

        if (digit > most || value > (most - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return true;
}

static bool take_minus(struct ferry__lexer *lexer, int *err)
{
    if (*err || !ferry__lexer_is(lexer, '-'))
        return false;
    *err = ferry__lexer_next(lexer);
    return true;
}

static int read_integer(struct ferry__lexer *lexer, bool sign, uint64_t most, int64_t *out)
{
    struct ferry__token first = lexer->token;
    int err = FERRY_OK;
    bool minus = sign && take_minus(lexer, &err);
    uint64_t value;

    if (err)
        return err;
    if (lexer->token.kind != FERRY__TOKEN_INTEGER)
        return ferry__lexer_unexpected(lexer, "an integer was expected");
    if (!digits_to_integer(lexer->token.text, lexer->token.size, most + minus, &value))
        return ferry__token_error(lexer, &first, FERRY_EFORMAT, "the number is too large");
    *out = (int64_t)(minus ? ~value + 1 : value);
    return ferry__lexer_next(lexer);
}

/* ---- real numbers --------------------------------------------------------------------------- */

double ferry__value_to_float(double value)
{
    /* the largest float plus half a unit in its last place, where rounding gives infinity */
    static const double limit = (double)FLT_MAX + (double)FLT_MAX * (double)FLT_EPSILON / 4;

    if (value >= limit || value <= -limit)
        return value > 0 ? HUGE_VAL : -HUGE_VAL;
    return (double)(float)value;
}

/* Converts digits. strtod may require another decimal point in the current locale. */
static int digits_to_real(const struct ferry__lexer *lexer, double *out)
{
    const struct ferry__token *token = &lexer->token;
    const char *point = localeconv()->decimal_point, *dot = memchr(token->text, '.', token->size);
    size_t size = token->size + strlen(point), before;
    char *copy = malloc(size + 1);

    if (!copy)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", lexer->file);
    before = dot ? (size_t)(dot - token->text) : token->size;
    memcpy(copy, token->text, before);
    size = before;
    if (dot) {
        memcpy(copy + size, point, strlen(point));
        size += strlen(point);
        memcpy(copy + size, dot + 1, token->size - before - 1);
        size += token->size - before - 1;
    }
    copy[size] = '\0';
    *out = strtod(copy, NULL); /* strtod stops at an f at the end */
    free(copy);
    return FERRY_OK;
}

static int read_real(struct ferry__lexer *lexer, bool is_float, double *out)
{
    const struct ferry__token *token = &lexer->token;
    int err = FERRY_OK;
    bool minus = take_minus(lexer, &err);
    double value = 0;

    if (err)
        return err;
    if (token->kind == FERRY__TOKEN_INTEGER && token->size > 1 && token->text[0] == '0')
        return ferry__lexer_unexpected(lexer, "a decimal number was expected");
    if (token->kind == FERRY__TOKEN_INTEGER || token->kind == FERRY__TOKEN_REAL)
        err = digits_to_real(lexer, &value);
    else if (token->kind != FERRY__TOKEN_NAME ||
             !ferry__word_to_real(token->text, token->size, &value))
        err = ferry__lexer_unexpected(lexer, "a number was expected");
    if (!err)
        err = ferry__lexer_next(lexer);
    value = minus ? -value : value;
    if (!err)
        *out = is_float ? ferry__value_to_float(value) : value;
    return err;
}

/* ---- booleans and enums --------------------------------------------------------------------- */

static int read_boolean(struct ferry__lexer *lexer, int64_t *out)
{
    const struct ferry__token *token = &lexer->token;

    if (token->kind == FERRY__TOKEN_INTEGER)
        return read_integer(lexer, false, 1, out);
    *out = token->kind == FERRY__TOKEN_NAME ? ferry__word_to_boolean(token->text, token->size) : -1;
    if (*out < 0)
        return ferry__lexer_unexpected(lexer, "true or false was expected");
    return ferry__lexer_next(lexer);
}

/* Reports an unknown name, with the list of the enum's names. */
static int refuse_choice(const struct ferry__lexer *lexer, const struct ferry__proto_field *field)
{
    char names[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < field->choices->count; i++) {
        const char *name = field->choices->values[i].name;
        size_t size = strlen(name);

        if (used + size + 3 > sizeof(names))
            break;
        memcpy(names + used, used ? ", " : "", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(names + used, name, size + 1);
        used += size;
    }
    return ferry__token_error(lexer, &lexer->token, FERRY_EFORMAT, "%.*s is not a value of %s: %s",
                              lexer->token.size < 40 ? (int)lexer->token.size : 40,
                              lexer->token.text, field->name, names);
}

static int read_choice(struct ferry__lexer *lexer, const struct ferry__proto_field *field,
                       int64_t *out)
{
    const struct ferry__token *token = &lexer->token;
    const struct ferry__proto_name *name;
    struct ferry__lexer before = *lexer;
    int err;

    if (token->kind == FERRY__TOKEN_NAME) {
        name = ferry__proto_enum_named(field->choices, token->text, token->size);
        if (!name)
            return refuse_choice(lexer, field);
        *out = name->number;
        return ferry__lexer_next(lexer);
    }
    err = read_integer(lexer, true, INT32_MAX, out);
    if (!err && !ferry__proto_enum_numbered(field->choices, *out))
        return refuse_choice(&before, field);
    return err;
}

/* ---- strings -------------------------------------------------------------------------------- */

static int read_string(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                       struct ferry__proto_scratch *scratch, bool text,
                       const struct ferry__proto_bytes **out)
{
    struct ferry__token first = lexer->token;
    int err = FERRY_OK;

    if (first.kind != FERRY__TOKEN_STRING)
        return ferry__lexer_unexpected(lexer, "a string was expected");
    scratch->size = 0;
    while (!err && lexer->token.kind == FERRY__TOKEN_STRING) {
        err = ferry__quote_append(lexer, scratch);
        if (!err)
            err = ferry__lexer_next(lexer);
    }
    if (err)
        return err;
    if (text && memchr(scratch->bytes, '\0', scratch->size))
        return ferry__token_error(lexer, &first, FERRY_EFORMAT, "the string contains a NUL byte");
    *out = ferry__proto_keep(document, scratch->bytes, scratch->size);
    return *out ? FERRY_OK : ferry__proto_no_memory(document);
}

/* ---- values --------------------------------------------------------------------------------- */

int ferry__value_read(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                      struct ferry__proto_scratch *scratch, const struct ferry__proto_field *field,
                      struct ferry__proto_value *out)
{
    switch (field->kind) {
    case FERRY__PROTO_INT32:
        return read_integer(lexer, true, INT32_MAX, &out->as.integer);
    case FERRY__PROTO_INT64:
        return read_integer(lexer, true, INT64_MAX, &out->as.integer);
    case FERRY__PROTO_UINT32:
        return read_integer(lexer, false, UINT32_MAX, &out->as.integer);
    case FERRY__PROTO_FLOAT:
    case FERRY__PROTO_DOUBLE:
        return read_real(lexer, field->kind == FERRY__PROTO_FLOAT, &out->as.real);
    case FERRY__PROTO_BOOL:
        return read_boolean(lexer, &out->as.integer);
    case FERRY__PROTO_ENUM:
        return read_choice(lexer, field, &out->as.integer);
    default:
        return read_string(lexer, document, scratch, field->kind == FERRY__PROTO_STRING,
                           &out->as.bytes);
    }
}

static int read_word(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                     struct ferry__proto_value *out)
{
    out->kind = FERRY__PROTO_WORD;
    out->as.bytes = ferry__proto_keep(document, lexer->token.text, lexer->token.size);
    return out->as.bytes ? ferry__lexer_next(lexer) : ferry__proto_no_memory(document);
}

/*
 * Reads a number: an integer if it fits into 63 bits, otherwise a real number; −0 is a real number
 * too.
 */
static int read_number(struct ferry__lexer *lexer, struct ferry__proto_value *out)
{
    struct ferry__lexer before = *lexer;
    int err = FERRY_OK;
    bool minus = take_minus(lexer, &err);
    uint64_t value;

    if (!err && lexer->token.kind == FERRY__TOKEN_INTEGER &&
        digits_to_integer(lexer->token.text, lexer->token.size, INT64_MAX, &value) &&
        !(minus && value == 0)) {
        out->kind = FERRY__PROTO_NUMBER;
        out->as.integer = minus ? -(int64_t)value : (int64_t)value;
        return ferry__lexer_next(lexer);
    }
    if (err)
        return err;
    *lexer = before;
    out->kind = FERRY__PROTO_DOUBLE;
    return read_real(lexer, false, &out->as.real);
}

int ferry__value_read_any(struct ferry__lexer *lexer, struct ferry__proto_document *document,
                          struct ferry__proto_scratch *scratch, struct ferry__proto_value *out)
{
    if (lexer->token.kind == FERRY__TOKEN_STRING) {
        out->kind = FERRY__PROTO_BYTES;
        return read_string(lexer, document, scratch, false, &out->as.bytes);
    }
    if (lexer->token.kind == FERRY__TOKEN_NAME)
        return read_word(lexer, document, out);
    return read_number(lexer, out);
}
