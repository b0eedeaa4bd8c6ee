/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the operating system says of this process. What loading asks of it is in core/load.
 */
#ifndef FERRY_CORE_OS_POSIX_H
#define FERRY_CORE_OS_POSIX_H

#include <stdbool.h>

/* Whether the program has more rights than whoever started it (set-user-ID and the like). */
bool ferry__os_is_secure(void);

#endif
