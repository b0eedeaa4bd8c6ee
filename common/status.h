/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the status codes that plugins and layer types return. */
#ifndef FERRY_COMMON_STATUS_H
#define FERRY_COMMON_STATUS_H

#include <ferry/status.h>
#include <stdbool.h>

/* Whether `result` is one of status.h's codes of failure. */
static inline bool ferry__is_failure_code(int result)
{
    switch (result) {
#define STATUS_CASE(name, value, text) case FERRY_##name:
        FERRY_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
        return result < 0;
    default:
        return false;
    }
}

#endif
