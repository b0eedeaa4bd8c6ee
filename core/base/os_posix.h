/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the operating system says of this process. What loading asks of it is in core/load.
 */
#ifndef FERRY_CORE_OS_POSIX_H
#define FERRY_CORE_OS_POSIX_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the program has more rights than whoever started it (set-user-ID and the like). */
bool ferry__os_is_secure(void);

/* FERRY_CPU_… bits that only the OS knows of. */
uint32_t ferry__os_isa_features(void);

#endif
