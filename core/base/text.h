/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsers of short texts that users write: names, sizes, yes and no, and the nearest known name. */
#ifndef FERRY_CORE_TEXT_H
#define FERRY_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the first `length` bytes are a plugin's name: [a-z][a-z0-9_-]*, at most 31 bytes. */
bool ferry__text_is_name(const char *text, size_t length);

/* Parses yes, no, true, false, on, off, 1 or 0. False for any other text. */
bool ferry__text_bool(const char *text, bool *out);

/*
 * Parses a size: "4096", "64KiB", "1.5 GiB"; the units are B, KiB, MiB, GiB and TiB. False for any
 * other text, or if the size is too large.
 */
bool ferry__text_size(const char *text, uint64_t *out);

/*
 * Parses a finite number as strtod does in the C locale, whatever the program's locale. False for
 * any other text.
 */
bool ferry__text_real(const char *text, double *out);

/* Writes a number as printf's %g does in the C locale, whatever the program's locale. */
void ferry__text_put_real(double value, char *out, size_t size);

/*
 * The index, from 0, of the word in "on|off|auto" that the text equals; negative if it equals no
 * word.
 */
int ferry__text_word(const char *text, const char *words);

/* Parses a text of decimal digits only, at most `max`. False for any other text. */
bool ferry__text_number(const char *text, size_t length, uint64_t max, uint64_t *out);

/*
 * The one of `names` that is most similar to `text`; NULL if none is similar enough. A difference
 * in case counts less than a different letter.
 */
const char *ferry__text_nearest(const char *text, const char *const *names, size_t count);

/* A copy of the bytes between the blanks at both ends of text[0 … length); NULL without memory. */
char *ferry__text_trimmed(const char *text, size_t length);

/* As asprintf, but returns the string; NULL without memory. */
char *ferry__text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The number of bytes at `text` of a character that a terminal interprets or does not show: a
 * control character, including U+0080 to U+009F, or a character of Unicode without width or that
 * changes the direction of text. 0: another character.
 */
size_t ferry__text_control(const char *text);

#endif
