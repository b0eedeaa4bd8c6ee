/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recording this thread's latest error. The first function that detects an error calls ferry__error
 * once; its callers only return the code.
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
 * For an operation that was passed a NULL reference: the code that produced it, or FERRY_EINVAL
 * with a message if there was no error.
 */
int ferry__error_null_ref(const char *what);

/* ---- why a file is refused ---- */

/* A failure's reason and hint; both strings may be truncated. */
struct ferry__refusal {
    int code; /* FERRY_E… */
    char reason[1024];
    char hint[1024];
};

/* Fills in a refusal and returns its code; the hint may be "". */
int ferry__refuse(struct ferry__refusal *refusal, int code, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
