/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: jansson runs out of memory when entry number FERRY_TEST_SHORT, from 1, is added
 * to an array.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

struct json_t;
int json_array_append_new(struct json_t *array, struct json_t *value);

__attribute__((visibility("default"))) int json_array_append_new(struct json_t *array,
                                                                 struct json_t *value)
{
    static long entry;
    const char *wanted = getenv("FERRY_TEST_SHORT");
    int (*real)(struct json_t *, struct json_t *);

    if (wanted && ++entry == strtol(wanted, NULL, 10))
        return -1;
    *(void **)&real = dlsym(RTLD_NEXT, "json_array_append_new");
    return real(array, value);
}
