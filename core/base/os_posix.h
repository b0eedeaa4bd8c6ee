/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the operating system says of this process. What loading asks of it is in core/load.
 */
#ifndef FERRY_CORE_OS_POSIX_H
#define FERRY_CORE_OS_POSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the program has more rights than whoever started it (set-user-ID and the like). */
bool ferry__os_is_secure(void);

/* Who owns the file of the library, or program, that this function is in. */
uid_t ferry__os_library_owner(void);

/*
 * The home of whose rights the program has, where that is not who started it, by the system's list of
 * users; else "/": whoever started it could have put something into theirs.
 */
void ferry__os_home(char *out, size_t size);

/* Makes this process the parent of whatever its children leave behind, where the system can. */
void ferry__os_adopt_orphans(void);

/* SIGKILL to all children of this process, those that it adopted among them. */
void ferry__os_kill_children(void);

/* FERRY_CPU_… bits that only the OS knows of. */
uint32_t ferry__os_isa_features(void);

#endif
