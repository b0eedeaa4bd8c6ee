/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 31 /* the descriptor's name[32] */
#define NEAR_MAX_BYTES 63 /* longer words are not compared */

bool ferry__text_is_name(const char *text, size_t length)
{
    if (length == 0 || length > NAME_MAX_BYTES || text[0] < 'a' || text[0] > 'z')
        return false;
    for (size_t i = 1; i < length; i++) {
        char c = text[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-')
            return false;
    }
    return true;
}

bool ferry__text_bool(const char *text, bool *out)
{
    static const char *const yes[] = { "yes", "true", "on", "1" };
    static const char *const no[] = { "no", "false", "off", "0" };

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        bool is_yes = strcasecmp(text, yes[i]) == 0;

        if (is_yes || strcasecmp(text, no[i]) == 0) {
            *out = is_yes;
            return true;
        }
    }
    return false;
}

int ferry__text_word(const char *text, const char *words)
{
    size_t length = strlen(text);

    for (int i = 0; words && *words; i++) {
        size_t word = strcspn(words, "|");

        if (word == length && strncmp(words, text, word) == 0)
            return i;
        words += word + (words[word] == '|');
    }
    return -1;
}

bool ferry__text_number(const char *text, size_t length, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > max)
        return false;
    *out = value;
    return true;
}

static bool size_unit(const char *text, unsigned *out_shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {
        { "", 0 }, { "B", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 }
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcasecmp(text, units[i].name) == 0) {
            *out_shift = units[i].shift;
            return true;
        }
    return false;
}

/* The digits after a point, as bytes of that unit: at most six count. */
static uint64_t size_fraction(const char *digits, size_t length, unsigned shift)
{
    uint64_t value = 0, scale = 1;

    for (size_t i = 0; i < length && i < 6; i++) {
        value = value * 10 + (uint64_t)(digits[i] - '0');
        scale *= 10;
    }
    return (uint64_t)((double)value / (double)scale * (double)(UINT64_C(1) << shift));
}

bool ferry__text_size(const char *text, uint64_t *out)
{
    size_t whole = strspn(text, "0123456789");
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    const char *rest = text + whole + (fraction ? fraction + 1 : 0);
    uint64_t value, more;
    unsigned shift;

    rest += strspn(rest, " \t");
    if (!ferry__text_number(text, whole, UINT64_MAX, &value) || !size_unit(rest, &shift))
        return false;
    if (fraction && shift == 0)
        return false;
    more = fraction ? size_fraction(text + whole + 1, fraction, shift) : 0;
    if (value > (UINT64_MAX - more) >> shift)
        return false;
    *out = (value << shift) + more;
    return true;
}

/* Sets this thread's locale to C, whose decimal separator is a point. */
static locale_t enter_c(locale_t *out_before)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* allocates nothing in glibc */

    *out_before = c ? uselocale(c) : (locale_t)0;
    return c;
}

static void leave_c(locale_t c, locale_t before)
{
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

bool ferry__text_real(const char *text, double *out)
{
    locale_t before, c = enter_c(&before);
    char *end;
    double value = strtod(text, &end);

    leave_c(c, before);
    if (end == text || *end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

void ferry__text_put_real(double value, char *out, size_t size)
{
    locale_t before, c = enter_c(&before);

    snprintf(out, size, "%g", value);
    leave_c(c, before);
}

/* Edits that turn a into b (Levenshtein), with a swap of neighbours as one edit. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][NEAR_MAX_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = above[j - 1] + (same ? 0 : 1);

            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[nb];
}

const char *ferry__text_nearest(const char *text, const char *const *names, size_t count)
{
    size_t length = strlen(text);
    const char *nearest = NULL;
    size_t least = length / 3 + 2; /* a name further away was not meant */

    for (size_t i = 0; i < count && length <= NEAR_MAX_BYTES; i++) {
        size_t other = strlen(names[i]);
        size_t edits = other > NEAR_MAX_BYTES ? least : distance(text, length, names[i], other);

        if (edits < least && edits < length) {
            least = edits;
            nearest = names[i];
        }
    }
    return nearest;
}

char *ferry__text_trimmed(const char *text, size_t length)
{
    char *copy;

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *ferry__text_format(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

size_t ferry__text_control(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    if ((*c && *c < ' ') || *c == 0x7f)
        return 1;
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
        return 2;
    if (c[0] == 0xe2 && c[1] == 0x80 &&
        ((c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xaa && c[2] <= 0xae)))
        return 3; /* the characters U+200B … U+200F and U+202A … U+202E */
    if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)
        return 3; /* the characters U+2066 … U+2069 */
    return 0;
}
