/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/refusal.h"

#include <stdarg.h>
#include <stdio.h>

int ferry__refuse(struct ferry__refusal *refusal, int code, const char *hint, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(refusal->reason, sizeof(refusal->reason), fmt, args) < 0)
        refusal->reason[0] = '\0';
    va_end(args);
    snprintf(refusal->hint, sizeof(refusal->hint), "%s", hint);
    refusal->code = code;
    return code;
}
