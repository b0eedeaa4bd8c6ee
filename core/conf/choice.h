/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requested backends, in the syntax of FERRY_BACKEND and `backend =`: "cuda", "opencl:1",
 * "cuda, opencl, cpu", "^cuda".
 */
#ifndef FERRY_CORE_CHOICE_H
#define FERRY_CORE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY__CHOICE_MAX 32
#define FERRY__ANY_INDEX  UINT32_MAX

struct ferry__choice_item {
    char name[32];
    uint32_t index; /* FERRY__ANY_INDEX if no index was given */
};

struct ferry__choice {
    bool all_but; /* "^…": all backends except the items */
    size_t count;
    struct ferry__choice_item items[FERRY__CHOICE_MAX];
};

/*
 * Parses `text`. Returns NULL, or the reason of the failure, a string in `why`; *out is then
 * undefined.
 */
const char *ferry__choice_parse(const char *text, struct ferry__choice *out, char why[128]);

/*
 * Parses one item of `length` bytes, "cuda" or "cuda:1", with the results of ferry__choice_parse.
 */
const char *ferry__choice_parse_item(const char *text, size_t length,
                                     struct ferry__choice_item *out, char why[128]);

/* Whether the choice allows a plugin of that name. */
bool ferry__choice_allows(const struct ferry__choice *choice, const char *name);

#endif
