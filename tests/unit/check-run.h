/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_CHECK_RUN_H
#define FERRY_TEST_CHECK_RUN_H

#include "ferry-test.h"

#include <stdbool.h>

/* Functions that the tests of `ferry check` share, which run it like a user. */

/* The output of the last run. */
extern char out[262144];

/* Runs `ferry check` with these arguments. Returns its exit status. */
int check(const char *arguments);

/* As check, for one of the plugins of tests/plugins/build-bad.sh. */
int check_bad(const char *name, const char *more);

/*
 * Whether a run with a sanitizer skips a case: such a run is slow, and cannot judge other options
 * and waits.
 */
bool is_in_a_hurry(void);

/*
 * Checks that the group fails with a message that contains these words. A quick run tests only one
 * of four.
 */
void caught(const char *name, const char *group, const char *words);

/* Whether the environment names the programs; if not, reports it. */
bool check_can_run(void);

#endif
