/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_OOM_H
#define FERRY_TEST_OOM_H

#include <stdbool.h>

/*
 * Makes an allocation fail. A program that is linked with oom.c and OOM_WRAPS (tests/local.mk)
 * allocates, like everything linked into it, through these functions.
 */

/* Makes allocation number `n` of this thread fail, from 1. */
void oom_arm(unsigned n);

/* Cancels oom_arm; returns whether an allocation has failed. */
bool oom_disarm(void);

/* Whether an allocation has failed so far. */
bool oom_has_failed(void);

#endif
