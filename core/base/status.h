/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording this thread's latest error. Whoever decides an error calls ferry__error once; callers
 * pass the code on.
 */
#ifndef FERRY_CORE_STATUS_H
#define FERRY_CORE_STATUS_H

#include <ferry/status.h>

/*
 * Records "message" for `code` on this thread and returns `code` (negative). Takes no lock,
 * allocates nothing.
 */
int ferry__error(int code, const char *fmt, ...) FERRY_PRINTF(2, 3);

/*
 * For an operation handed a NULL ref: the code that produced it, or FERRY_EINVAL with a message if
 * there is none.
 */
int ferry__error_null_ref(const char *what);

#endif
