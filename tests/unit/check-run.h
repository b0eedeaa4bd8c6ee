/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_CHECK_RUN_H
#define FERRY_TEST_CHECK_RUN_H

#include "ferry-test.h"

#include <stdbool.h>

/* What the tests of `ferry check` share: it is run as a user runs it. */

/* What the last run has printed. */
extern char out[262144];

/* `ferry check` with these arguments. Returns its exit status. */
int check(const char *arguments);

/* The same of one of the plugins that tests/plugins/build-bad.sh has made. */
int check_bad(const char *name, const char *more);

/* A sanitizer's run that has no time for what it cannot see: other options, a wait. */
bool is_in_a_hurry(void);

/* The group fails, and says something that has these words in it. In a hurry, one of four is run. */
void caught(const char *name, const char *group, const char *words);

/* Whether the environment says where the programs are; if not, tells so. */
bool check_can_run(void);

#endif
