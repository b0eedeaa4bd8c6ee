/* SPDX-License-Identifier: BSD-2-Clause */
#include "long-text.h"

#include "ferry-test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void long_text_add(struct long_text *t, const char *fmt, ...)
{
    va_list args;

    if (t->used + 4096 > t->room) {
        t->room = 2 * t->room + 8192;
        t->at = realloc(t->at, t->room);
        CU_ASSERT_PTR_NOT_NULL_FATAL(t->at);
    }
    va_start(args, fmt);
    t->used += (size_t)vsnprintf(t->at + t->used, t->room - t->used, fmt, args);
    va_end(args);
}
