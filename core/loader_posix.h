/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What differs between operating systems: all of it is here.
 */
#ifndef FERRY_CORE_LOADER_POSIX_H
#define FERRY_CORE_LOADER_POSIX_H

#include <stdbool.h>

/* Whether the program has more rights than whoever started it (set-user-ID and the like). */
bool ferry__os_is_secure(void);

#endif
