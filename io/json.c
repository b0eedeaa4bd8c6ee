/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <string.h>

/* The nesting limit of a value that is skipped. */
#define MAX_DEPTH 64

static bool fail(struct ferry__json *json, const char *wrong)
{
    json->wrong = wrong;
    return false;
}

static void skip_space(struct ferry__json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
}

bool ferry__json_char(struct ferry__json *json, char wanted)
{
    skip_space(json);
    if (json->at == json->end || *json->at != (unsigned char)wanted)
        return false;
    json->at++;
    return true;
}

bool ferry__json_more(struct ferry__json *json, char close, bool *first)
{
    bool was_first = *first;

    *first = false;
    if (ferry__json_char(json, close))
        return false;
    if (was_first || ferry__json_char(json, ','))
        return true;
    return fail(json, "neither a comma nor the closing bracket");
}

bool ferry__json_uint64(struct ferry__json *json, uint64_t *out)
{
    const unsigned char *start;
    uint64_t value = 0;

    skip_space(json);
    start = json->at;
    for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++) {
        uint64_t digit = (uint64_t)(*json->at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return fail(json, "a number beyond 64 bits");
        value = value * 10 + digit;
    }
    if (json->at == start || (*start == '0' && json->at - start > 1) ||
        (json->at < json->end && strchr(".eE", *json->at) && *json->at))
        return fail(json, "not a whole number from 0 on");
    *out = value;
    return true;
}

/* ---- strings -------------------------------------------------------------------------------- */

static bool take_hex(struct ferry__json *json, uint32_t *out)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++, json->at++) {
        unsigned c = json->at < json->end ? *json->at : 0;
        unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 16;

        if (digit == 16)
            return fail(json, "\\u needs four hexadecimal digits");
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

/* Decodes the digits after \u; a surrogate pair is one character. */
static bool take_unicode(struct ferry__json *json, uint32_t *out)
{
    uint32_t high, low;

    if (!take_hex(json, &high))
        return false;
    if (high == 0)
        return fail(json, "a NUL in a string");
    if (high < 0xd800 || high > 0xdfff) {
        *out = high;
        return true;
    }
    if (high > 0xdbff || json->end - json->at < 2 || memcmp(json->at, "\\u", 2) != 0)
        return fail(json, "half of a surrogate pair");
    json->at += 2;
    if (!take_hex(json, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return fail(json, "half of a surrogate pair");
    *out = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

static bool take_escape(struct ferry__json *json, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t c;

    if (json->at == json->end)
        return fail(json, "an unterminated string");
    if (*json->at == 'u') {
        json->at++;
        if (!take_unicode(json, &c))
            return false;
        *out = put_utf8(*out, c);
        return true;
    }
    found = *json->at ? strchr(names, *json->at) : NULL;
    if (!found)
        return fail(json, "an unknown escape");
    *(*out)++ = values[found - names];
    json->at++;
    return true;
}

/*
 * Decodes one character of UTF-8; overlong forms, surrogates and numbers out of range are invalid.
 */
static bool take_utf8(struct ferry__json *json, char **out)
{
    const unsigned char *p = json->at;
    unsigned lead = *p;
    int more = lead >= 0xc2 && lead <= 0xdf ? 1 : (lead & 0xf0) == 0xe0 ? 2 : 3;
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;

    if (lead < 0xc2 || lead > 0xf4 || json->end - p <= more || p[1] < low || p[1] > high)
        return fail(json, "invalid UTF-8");
    for (int i = 2; i <= more; i++)
        if ((p[i] & 0xc0) != 0x80)
            return fail(json, "invalid UTF-8");
    memcpy(*out, p, (size_t)more + 1);
    *out += more + 1;
    json->at += more + 1;
    return true;
}

static bool take_character(struct ferry__json *json, char **out)
{
    if (*json->at == '\\') {
        json->at++;
        return take_escape(json, out);
    }
    if (*json->at < ' ')
        return fail(json, "a control character in a string");
    if (*json->at >= 0x80)
        return take_utf8(json, out);
    *(*out)++ = (char)*json->at++;
    return true;
}

/*
 * An upper bound of the decoded length: an escape is at least as long as its result. 0 for an
 * unterminated string.
 */
static size_t longest(const struct ferry__json *json)
{
    for (const unsigned char *p = json->at; p < json->end; p++) {
        if (*p == '"')
            return (size_t)(p - json->at) + 1;
        if (*p == '\\')
            p++;
    }
    return 0;
}

bool ferry__json_string(struct ferry__json *json, struct ferry__mem_arena *arena, char **out)
{
    char *text, *at;
    size_t size;

    if (!ferry__json_char(json, '"'))
        return fail(json, "not a string");
    size = longest(json);
    if (!size)
        return fail(json, "an unterminated string");
    text = at = ferry__mem_alloc(arena, size);
    if (!text)
        return fail(json, "strings need more memory than is plausible for a file of this size");
    while (*json->at != '"')
        if (!take_character(json, &at))
            return false;
    json->at++;
    *out = text;
    return true;
}

/* ---- skipping values ------------------------------------------------------------------------ */

static bool skip_string(struct ferry__json *json)
{
    size_t size = longest(json);

    if (!size)
        return fail(json, "an unterminated string");
    json->at += size;
    return true;
}

/* Skips a number, true, false or null without checking it, since the value is unused. */
static bool skip_word(struct ferry__json *json)
{
    const unsigned char *start = json->at;

    while (json->at<json->end && * json->at> ' ' && !strchr(",]}:\"[{", *json->at))
        json->at++;
    return json->at > start || fail(json, "not a value");
}

static bool skip_at(struct ferry__json *json, int depth)
{
    char close = 0;
    bool first = true;

    if (depth > MAX_DEPTH)
        return fail(json, "values nest too deep");
    if (ferry__json_char(json, '"'))
        return skip_string(json);
    if (ferry__json_char(json, '{'))
        close = '}';
    else if (ferry__json_char(json, '['))
        close = ']';
    else
        return skip_word(json);
    while (ferry__json_more(json, close, &first)) {
        if (close == '}' &&
            (!ferry__json_char(json, '"') || !skip_string(json) || !ferry__json_char(json, ':')))
            return fail(json, "not a key");
        if (!skip_at(json, depth + 1))
            return false;
    }
    return !json->wrong;
}

bool ferry__json_skip(struct ferry__json *json)
{
    return skip_at(json, 0);
}
