/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LONG_TEXT_H
#define LONG_TEXT_H

#include <ferry/types.h>

#include <stddef.h>

/* A text that grows, as of a net of many layers. Zero the structure; the caller frees `at`. */
struct long_text {
    char *at; /* ends with NUL; NULL: nothing was added */
    size_t used, room;
};

/* Adds at most 4095 bytes. Asserts that there is memory. */
void long_text_add(struct long_text *t, const char *fmt, ...) FERRY_PRINTF(2, 3);

#endif
