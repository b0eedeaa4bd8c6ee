/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a file is not taken.
 */
#ifndef FERRY_CORE_REFUSAL_H
#define FERRY_CORE_REFUSAL_H

/* Both strings may be cut off at their ends. */
struct ferry__refusal {
    int code; /* FERRY_E… */
    char reason[1024];
    char hint[1024];
};

/* Fills in a refusal and returns its code; the hint may be "". */
int ferry__refuse(struct ferry__refusal *refusal, int code, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
