/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NumPy's header is a Python dictionary of three entries, as text:
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 256, 256), }
 *
 * Python 2 wrote (3L, 256L). The order of the keys is arbitrary.
 */
#include "npy.h"

#include <ferry/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"

struct text {
    const struct ferry__npy_source *source;
    const unsigned char *at, *end;
};

static int fail(const struct ferry__npy_source *source, const char *field, uint64_t at, int code,
                const char *fmt, ...) FERRY_PRINTF(5, 6);

static int fail(const struct ferry__npy_source *source, const char *field, uint64_t at, int code,
                const char *fmt, ...)
{
    char message[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    return ferry_error_set(code, "%s: %.100s%s%s at byte %llu: %s", source->path, source->member,
                           *source->member ? ": " : "", field,
                           (unsigned long long)(source->offset + at), message);
}

static int fail_at(const struct text *text, const char *field, const char *what)
{
    return fail(text->source, field, (uint64_t)(text->at - text->source->bytes), FERRY_EFORMAT,
                "%s", what);
}

/* ---- Python's literals ---------------------------------------------------------------------- */

static void skip_space(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' ||
                                    *text->at == '\r' || *text->at == '\f'))
        text->at++;
}

static bool take_char(struct text *text, char wanted)
{
    skip_space(text);
    if (text->at == text->end || *text->at != (unsigned char)wanted)
        return false;
    text->at++;
    return true;
}

/* Reads a string without escapes, as NumPy writes them, into `out`. */
static bool take_string(struct text *text, char *out, size_t size)
{
    unsigned char quote;
    size_t n = 0;

    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return false;
    quote = *text->at++;
    while (text->at < text->end && *text->at != quote) {
        if (*text->at == '\\' || *text->at < ' ' || n + 1 == size)
            return false;
        out[n++] = (char)*text->at++;
    }
    out[n] = '\0';
    return text->at < text->end && *text->at++ == quote;
}

static bool take_word(struct text *text, const char *word)
{
    size_t length = strlen(word);

    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* Reads a number: 1, 0 if there is none, FERRY_EOVERFLOW. */
static int take_number(struct text *text, int64_t *out)
{
    int64_t value = 0;
    const unsigned char *start;

    skip_space(text);
    start = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        int digit = *text->at - '0';

        if (value > (INT64_MAX - digit) / 10)
            return FERRY_EOVERFLOW;
        value = value * 10 + digit;
    }
    if (text->at == start)
        return 0;
    if (text->at < text->end && *text->at == 'L')
        text->at++;
    *out = value;
    return 1;
}

/* ---- the three entries ---------------------------------------------------------------------- */

const char *ferry__npy_unreadable(const struct ferry__npy *npy)
{
    return strcmp(npy->descr, "|O") == 0 ? "Python objects, in a pickle, which can execute any code"
                                         : "ferry has no such dtype";
}

/* The size of an element of an unsupported type such as "<c16" and "<U3"; 0 if unknown. */
static uint64_t size_of(const char *descr)
{
    uint64_t size = 0;

    if (descr[1] == 'O' || strspn(descr + 2, "0123456789") > 9)
        return 0;
    for (const char *at = descr + 2; *at >= '0' && *at <= '9'; at++)
        size = size * 10 + (uint64_t)(*at - '0');
    return descr[1] == 'U' ? size * 4 : size;
}

static void set_type(const char *descr, struct ferry__npy *out)
{
    static const struct {
        const char *kind;
        ferry_dtype dtype;
        enum ferry__storage storage;
    } known[] = {
        { "f4", FERRY_F32, FERRY__STORED_AS_DTYPE }, { "f8", FERRY_F64, FERRY__STORED_AS_DTYPE },
        { "f2", FERRY_F16, FERRY__STORED_AS_DTYPE }, { "i1", FERRY_I8, FERRY__STORED_AS_DTYPE },
        { "u1", FERRY_U8, FERRY__STORED_AS_DTYPE },  { "i4", FERRY_I32, FERRY__STORED_AS_DTYPE },
        { "i8", FERRY_I64, FERRY__STORED_AS_DTYPE }, { "u4", FERRY_U32, FERRY__STORED_AS_DTYPE },
        { "u2", FERRY_U32, FERRY__STORED_U16 },      { "u8", FERRY_I64, FERRY__STORED_U64 },
        { "i2", FERRY_I32, FERRY__STORED_I16 },      { "b1", FERRY_U8, FERRY__STORED_BOOL },
    };

    out->dtype = FERRY_U8;
    out->storage = FERRY__STORED_OTHERWISE;
    out->element = size_of(descr);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].kind, descr + 1) == 0) {
            out->dtype = known[i].dtype;
            out->storage = known[i].storage;
            out->element = ferry__storage_size(out->storage, out->dtype);
        }
}

/* Skips a structured type, a list of strings, numbers and brackets. */
static int skip_list(struct text *text, struct ferry__npy *out)
{
    const unsigned char *start = text->at;
    unsigned char quote = 0;
    int depth = 0;

    for (; text->at < text->end; text->at++) {
        unsigned char c = *text->at;

        if (quote && c == '\\' && text->at + 1 < text->end)
            text->at++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '[' || c == '(' || c == '{')
            depth++;
        else if ((c == ']' || c == ')' || c == '}') && --depth == 0)
            break;
    }
    if (text->at == text->end)
        return fail_at(text, "descr", "the list is not closed");
    text->at++;
    snprintf(out->descr, sizeof(out->descr), "%.*s", (int)(text->at - start), (const char *)start);
    out->dtype = FERRY_U8;
    out->storage = FERRY__STORED_OTHERWISE;
    return FERRY_OK;
}

static int take_descr(struct text *text, struct ferry__npy *out)
{
    uint64_t at = (uint64_t)(text->at - text->source->bytes);
    char descr[64];

    skip_space(text);
    if (text->at < text->end && *text->at == '[')
        return skip_list(text, out);
    if (!take_string(text, descr, sizeof(descr)))
        return fail_at(text, "descr", "not a string");
    if (!descr[0] || !strchr("<>=|", descr[0]) || !descr[1])
        return fail(text->source, "descr", at, FERRY_EFORMAT, "'%s' is not a NumPy type", descr);
    snprintf(out->descr, sizeof(out->descr), "%s", descr);
    set_type(descr, out);
    if (descr[0] == '|' && out->element > 1 && out->storage != FERRY__STORED_OTHERWISE)
        return fail(text->source, "descr", at, FERRY_EFORMAT, "'%s' has no byte order", descr);
    out->swap = out->element > 1 && descr[0] != '=' && (descr[0] == '>') != ferry__big_endian();
    return FERRY_OK;
}

static int take_shape(struct text *text, struct ferry__npy *out)
{
    int got;
    bool comma = true;

    if (!take_char(text, '('))
        return fail_at(text, "shape", "not a tuple");
    out->rank = 0;
    while (!take_char(text, ')')) {
        int64_t dim;

        if (!comma)
            return fail_at(text, "shape", "a comma is missing in the shape");
        got = take_number(text, &dim);
        if (got < 0)
            return fail(text->source, "shape", (uint64_t)(text->at - text->source->bytes),
                        FERRY_EOVERFLOW, "dim %d does not fit 63 bits", out->rank);
        if (!got)
            return fail_at(text, "shape", "a dim is not a number from 0 on");
        if (out->rank == FERRY_MAX_AXES)
            return fail(text->source, "shape", (uint64_t)(text->at - text->source->bytes),
                        FERRY_EUNSUPPORTED, "more than %d axes", FERRY_MAX_AXES);
        out->shape[out->rank++] = dim;
        comma = take_char(text, ',');
    }
    if (out->rank == 1 && !comma)
        return fail_at(text, "shape", "a number in brackets is not a tuple");
    return FERRY_OK;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static int take_entry(struct text *text, unsigned *has, struct ferry__npy *out)
{
    char key[32];
    unsigned bit;
    int err = FERRY_OK;

    if (!take_string(text, key, sizeof(key)))
        return fail_at(text, "header", "not a key");
    bit = strcmp(key, "descr") == 0           ? HAS_DESCR
          : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
          : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                              : 0;
    if (!bit || *has & bit)
        return fail_at(text, "header", bit ? "the same key twice" : "an unknown key");
    if (!take_char(text, ':'))
        return fail_at(text, "header", "a colon is missing after a key");
    *has |= bit;
    if (bit == HAS_DESCR)
        err = take_descr(text, out);
    else if (bit == HAS_SHAPE)
        err = take_shape(text, out);
    else if (take_word(text, "True"))
        out->fortran = true;
    else if (!take_word(text, "False"))
        err = fail_at(text, "fortran_order", "neither True nor False");
    return err;
}

static int take_dictionary(struct text *text, struct ferry__npy *out)
{
    unsigned has = 0;
    bool comma = true;
    int err;

    if (!take_char(text, '{'))
        return fail_at(text, "header", "not a dictionary");
    while (!take_char(text, '}')) {
        if (!comma)
            return fail_at(text, "header", "a comma is missing between entries");
        err = take_entry(text, &has, out);
        if (err)
            return err;
        comma = take_char(text, ',');
    }
    if (has != HAS_ALL)
        return fail_at(text, "header",
                       !(has & HAS_DESCR)   ? "descr is missing"
                       : !(has & HAS_ORDER) ? "fortran_order is missing"
                                            : "shape is missing");
    skip_space(text);
    return text->at == text->end ? FERRY_OK
                                 : fail_at(text, "header", "text follows the dictionary");
}

/* ---- the header ----------------------------------------------------------------------------- */

bool ferry__npy_magic(const unsigned char *bytes, uint64_t size)
{
    return size >= 6 && memcmp(bytes, MAGIC, 6) == 0;
}

int ferry__npy_header_size(const struct ferry__npy_source *source, uint64_t *out)
{
    const unsigned char *b = source->bytes;

    if (!ferry__npy_magic(b, source->size))
        return fail(source, "magic", 0, FERRY_EFORMAT, "is not a .npy array");
    if (source->size < 10)
        return fail(source, "version", 6, FERRY_EFORMAT, "the header is truncated");
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return fail(source, "version", 6, FERRY_EUNSUPPORTED, "%u.%u is not 1.0, 2.0 or 3.0", b[6],
                    b[7]);
    if (b[6] == 1) {
        *out = 10u + b[8] + ((uint64_t)b[9] << 8);
        return FERRY_OK;
    }
    if (source->size < 12)
        return fail(source, "header length", 8, FERRY_EFORMAT, "the header is truncated");
    *out = 12u + b[8] + ((uint64_t)b[9] << 8) + ((uint64_t)b[10] << 16) + ((uint64_t)b[11] << 24);
    return FERRY_OK;
}

int ferry__npy_parse(const struct ferry__npy_source *source, struct ferry__npy *out)
{
    struct ferry__npy npy = { 0 };
    struct text text = { source, NULL, NULL };
    int err = ferry__npy_header_size(source, &npy.header_size);

    if (err)
        return err;
    if (npy.header_size > source->size)
        return fail(source, "header length", 8, FERRY_EFORMAT,
                    "%llu bytes run past the end, byte %llu", (unsigned long long)npy.header_size,
                    (unsigned long long)(source->offset + source->size));
    text.at = source->bytes + (source->bytes[6] == 1 ? 10 : 12);
    text.end = source->bytes + npy.header_size;
    err = take_dictionary(&text, &npy);
    if (err)
        return err;
    npy.count = ferry__io_count(npy.rank, npy.shape, npy.element ? (size_t)npy.element : 1);
    if (npy.count < 0)
        return fail(source, "shape", 8, FERRY_EOVERFLOW,
                    "the dims multiply to more than 2^63 bytes");
    *out = npy;
    return FERRY_OK;
}

bool ferry__npy_fits(const struct ferry__npy *npy, uint64_t size)
{
    if (npy->storage == FERRY__STORED_OTHERWISE && npy->element == 0)
        return true; /* the size is unknown, for example of pickled objects */
    return size == (uint64_t)npy->count * npy->element;
}
