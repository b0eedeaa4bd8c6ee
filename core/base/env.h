/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment, read in one place: nothing of it counts in a program that runs with more rights
 * than its caller.
 */
#ifndef FERRY_CORE_ENV_H
#define FERRY_CORE_ENV_H

#include <stdbool.h>

/*
 * A variable's value; NULL where it is unset or empty, or must not be believed, which is logged
 * once in a process.
 */
const char *ferry__env_get(const char *name);

/* Whether "NAME=value" of the environment is a FERRY_… variable that ferry does not know. */
bool ferry__env_is_unknown(const char *entry);

/* Logs a warning for each of those, with the name that was probably meant. */
void ferry__env_check(void);

#endif
