/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties of this process that the operating system reports. The calls that loading needs are in
 * core/load.
 */
#ifndef FERRY_CORE_OS_POSIX_H
#define FERRY_CORE_OS_POSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the program has more rights than the user who started it (set-user-ID and the like). */
bool ferry__os_is_secure(void);

/*
 * The absolute path of the library, or program, that contains this function; false if it is not
 * known.
 */
bool ferry__os_library_path(char *out, size_t size);

/* The owner of that file. */
uid_t ferry__os_library_owner(void);

/*
 * The effective user's home folder from the system's list of users, if the effective user differs
 * from the user who started the program; else "/".
 */
void ferry__os_home(char *out, size_t size);

/* Makes this process the parent of orphaned descendants of its children, where the system can. */
void ferry__os_adopt_orphans(void);

/* Sends SIGKILL to all children of this process, including adopted ones. */
void ferry__os_kill_children(void);

/* The FERRY_CPU_… bits that only the operating system can report. */
uint32_t ferry__os_isa_features(void);

#endif
