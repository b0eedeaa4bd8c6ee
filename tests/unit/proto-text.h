/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_PROTO_TEXT_H
#define FERRY_TEST_PROTO_TEXT_H

#include "ferry-test.h"

#include <ferry/proto.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses and prints texts for the tests of prototxt. */

/* A text of that type as "t.prototxt"; NULL if it is refused. */
static inline ferry_proto *proto_of(const char *type, const char *text, size_t size)
{
    ferry_proto_options options = { .struct_size = sizeof(options),
                                    .text = text,
                                    .text_size = size };
    ferry_proto *p = NULL;
    int err = ferry_proto_open("t.prototxt", type, &options, &p);

    CU_ASSERT(err == FERRY_OK || p == NULL);
    return p;
}

static inline ferry_proto *net_of(const char *text)
{
    return proto_of("NetParameter", text, strlen(text));
}

/* As text; the caller frees it. */
static inline char *printed(const ferry_proto *p)
{
    size_t size = 0;
    char *text;

    CU_ASSERT_EQUAL_FATAL(ferry_proto_print(p, NULL, 0, &size), FERRY_OK);
    text = malloc(size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL_FATAL(ferry_proto_print(p, text, size + 1, &size), FERRY_OK);
    CU_ASSERT_EQUAL(strlen(text), size);
    return text;
}

/* The first difference of two texts: the rest of the lines, and some before it. */
static inline void show_difference(const char *want, const char *got)
{
    size_t same = 0, from;

    while (want[same] && want[same] == got[same])
        same++;
    from = same < 100 ? 0 : same - 100;
    printf("  wanted at %zu: … %.200s\n  got: … %.200s\n", same, want + from, got + from);
}

static inline void check_printed(const ferry_proto *p, const char *want)
{
    char *text = printed(p);

    if (strcmp(text, want) != 0) {
        CU_FAIL("another text");
        show_difference(want, text);
    }
    free(text);
}

/* Opens a text and compares its printed form. */
static inline void check_text(const char *type, const char *text, const char *want)
{
    ferry_proto *p = proto_of(type, text, strlen(text));

    if (!p) {
        CU_FAIL("refused");
        printf("  %s\n  %s\n", text, ferry_last_error());
        return;
    }
    check_printed(p, want);
    ferry_proto_close(p);
}

static inline void check_refused_bytes(const char *type, const char *text, size_t size, int code,
                                       const char *says)
{
    ferry_proto *p = proto_of(type, text, size);

    CU_ASSERT_PTR_NULL(p);
    if (p || ferry_last_error_code() != code || !strstr(ferry_last_error(), says)) {
        CU_FAIL("taken, or another code or message");
        printf("  %s\n  wanted %d \"%s\", got %d \"%s\"\n", text, code, says,
               ferry_last_error_code(), p ? "taken" : ferry_last_error());
    }
    ferry_proto_close(p);
}

static inline void check_refused(const char *type, const char *text, const char *says)
{
    check_refused_bytes(type, text, strlen(text), FERRY_EFORMAT, says);
}

#endif
