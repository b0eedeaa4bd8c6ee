/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment, read in one place. A program that runs with more rights than its caller ignores
 * it.
 */
#ifndef FERRY_CORE_ENV_H
#define FERRY_CORE_ENV_H

#include <stdbool.h>

/*
 * A variable's value; NULL where it is unset or empty, or must not be believed (which
 * core/runtime/runtime.h tells the user).
 */
const char *ferry__env_get(const char *name);

/*
 * In a program with more rights than its caller: takes all variables out of the environment, once,
 * but those that choose a language, a terminal or a time zone; vendors' libraries, which are about
 * to be loaded, would follow theirs. HOME and PATH become those of whose rights the program has,
 * and of the system. Elsewhere it does nothing.
 */
void ferry__env_clean(void);

/* Whether "NAME=value" of the environment is a FERRY_… variable that ferry does not know. */
bool ferry__env_is_unknown(const char *entry);

/* The variable of ferry's that `name` was probably meant to be, or NULL if none is near. */
const char *ferry__env_nearest(const char *name);

#endif
