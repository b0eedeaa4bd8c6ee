/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment, read in one place. A program that runs with more rights than its caller ignores
 * it.
 */
#ifndef FERRY_CORE_ENV_H
#define FERRY_CORE_ENV_H

#include <stdbool.h>

/*
 * A variable's value; NULL if it is unset or empty, or if the environment is ignored
 * (core/runtime/runtime.h warns about that).
 */
const char *ferry__env_get(const char *name);

/*
 * In a program with more rights than its caller: removes all variables except language, terminal
 * and time zone from the environment, once, because the vendors' libraries to be loaded would use
 * theirs. HOME becomes the home folder of the effective user, PATH the system's default. In other
 * programs it does nothing.
 */
void ferry__env_clean(void);

/* Whether "NAME=value" of the environment is a FERRY_… variable that ferry does not know. */
bool ferry__env_is_unknown(const char *entry);

/* The name of ferry's variable that is most similar to `name`; NULL if none is similar enough. */
const char *ferry__env_nearest(const char *name);

#endif
