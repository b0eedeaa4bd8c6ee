/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment, read in one place: nothing of it counts in a program that runs with more rights
 * than its caller.
 */
#ifndef FERRY_CORE_ENV_H
#define FERRY_CORE_ENV_H

#include <stdbool.h>

/* A variable's value; NULL where it is not set, or must not be believed. */
const char *ferry__env_get(const char *name);

#endif
