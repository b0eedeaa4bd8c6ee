/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What loading asks of the operating system: all of it is here, and so is every dlopen.
 */
#ifndef FERRY_CORE_LOADER_POSIX_H
#define FERRY_CORE_LOADER_POSIX_H

#include "core/load/note.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What this process is, but for cpu_features, which takes long to find out: 0. */
void ferry__os_self(struct ferry__self *out);

/* Who owns the file of the library, or program, that this function is in. */
uid_t ferry__os_library_owner(void);

/*
 * The names in a folder that look like ferry_….so, bytewise sorted; to be freed, each and the
 * array. 0, or an errno.
 */
int ferry__os_list(const char *folder, char ***out_names, size_t *out_count);

/* Opens a shared object for good; NULL, with the reason in `why`. */
void *ferry__os_dlopen(const char *path, char *why, size_t size);

/* Stores the address of a symbol in the pointer at `out`, of whatever type; false if there is none. */
bool ferry__os_symbol(void *library, const char *name, void *out);

#endif
