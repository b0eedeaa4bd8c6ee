/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Just enough JSON for a safetensors header: a walk over the text, token by token, with the place
 * of each error. Nothing is built but the strings that the caller keeps.
 */
#ifndef FERRY_IO_JSON_H
#define FERRY_IO_JSON_H

#include "common/arena.h"

#include <stdbool.h>

struct ferry__json {
    const unsigned char *start, *at, *end;
    const char *wrong; /* what the failed call found wrong at `at` */
};

/* White space, then that character: true, and behind it; or false, and where it was. */
bool ferry__json_char(struct ferry__json *json, char wanted);

/* What each of these returns is false where the text is wrong; json->wrong then says how. */

/* A string, decoded to UTF-8 with a NUL behind it. Strings with a NUL inside are refused. */
bool ferry__json_string(struct ferry__json *json, struct ferry__mem_arena *arena, char **out);

/* A number without sign, fraction or exponent. */
bool ferry__json_uint64(struct ferry__json *json, uint64_t *out);

/* Any value, passed over. */
bool ferry__json_skip(struct ferry__json *json);

/*
 * For what stands in brackets: true as long as there is another element. *first starts as true;
 * at the end, or where there is neither comma nor `close`, false (and json->wrong is set then).
 */
bool ferry__json_more(struct ferry__json *json, char close, bool *first);

#endif
