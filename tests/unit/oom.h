/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_OOM_H
#define FERRY_TEST_OOM_H

#include <stdbool.h>

/*
 * An allocation that fails. A program that is linked with oom.c and OOM_WRAPS (tests/local.mk)
 * gets its own allocations, and those of what is linked into it, from here.
 */

/* Lets allocation number `n` of this thread fail, from 1. */
void oom_arm(unsigned n);

/* Ends that; whether one has failed. */
bool oom_disarm(void);

/* Whether one has failed, so far. */
bool oom_has_failed(void);

#endif
