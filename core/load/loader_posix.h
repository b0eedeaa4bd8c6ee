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

/*
 * The names in a folder that look like ferry_….so, bytewise sorted; to be freed, each and the
 * array. 0, or an errno.
 */
int ferry__os_list(const char *folder, char ***out_names, size_t *out_count);

/* Whether a descriptor can be given to the dynamic linker by a name of its own. */
bool ferry__os_can_dlopen(int fd);

/*
 * Opens a shared object for good: the file that `fd` is, or, where that is negative, what the path
 * leads to. It goes by `path` afterwards, for debuggers and dladdr. NULL, with the reason in `why`.
 */
void *ferry__os_dlopen(int fd, const char *path, char *why, size_t size);

/*
 * Stores the address of a symbol in the pointer at `out`, to data or to a function. False if the
 * library does not have it.
 */
bool ferry__os_symbol(void *library, const char *name, void *out);

#endif
