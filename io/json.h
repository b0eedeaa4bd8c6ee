/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A minimal JSON reader for the header of a safetensors file: it walks over the text token by token
 * and reports the position of each error. It stores nothing but the strings that the caller keeps.
 */
#ifndef FERRY_IO_JSON_H
#define FERRY_IO_JSON_H

#include "common/arena.h"

#include <stdbool.h>

struct ferry__json {
    const unsigned char *start, *at, *end;
    const char *wrong; /* the error of the failed call, at position `at` */
};

/*
 * Skips white space and then that character and returns true; if another character follows, returns
 * false and keeps the position.
 */
bool ferry__json_char(struct ferry__json *json, char wanted);

/* These return false if the text is invalid; json->wrong is then the error. */

/*
 * Reads a string, decoded to UTF-8 with a terminating NUL. Strings that contain a NUL are refused.
 */
bool ferry__json_string(struct ferry__json *json, struct ferry__mem_arena *arena, char **out);

/* Reads a number without sign, fraction or exponent. */
bool ferry__json_uint64(struct ferry__json *json, uint64_t *out);

/* Skips any value. */
bool ferry__json_skip(struct ferry__json *json);

/*
 * Iterates over the elements in brackets: true while there is another element. *first starts as
 * true. False at the end, or if neither a comma nor `close` follows (json->wrong is set then).
 */
bool ferry__json_more(struct ferry__json *json, char close, bool *first);

#endif
