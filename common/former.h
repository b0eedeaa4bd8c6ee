/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread's latest failure before a call of a function that may record its own: set aside, so
 * that a failure of the call can be distinguished, and restored after a success.
 */
#ifndef FERRY_COMMON_FORMER_H
#define FERRY_COMMON_FORMER_H

#include <ferry/status.h>
#include <stdio.h>

struct ferry__former {
    int code;
    char line[1024];
};

static inline void ferry__former_set_aside(struct ferry__former *f)
{
    f->code = ferry_last_error_code();
    if (f->code == FERRY_OK)
        return;
    snprintf(f->line, sizeof f->line, "%s", ferry_last_error());
    ferry_error_set(FERRY_OK, "%s", "");
}

/* Records the failure again, unless the call recorded another one. */
static inline void ferry__former_restore(const struct ferry__former *f)
{
    if (f->code != FERRY_OK && ferry_last_error_code() == FERRY_OK)
        ferry_error_set(f->code, "%s", f->line);
}

#endif
