/* SPDX-License-Identifier: BSD-2-Clause */
/* The operating system's services for loading, including every call of dlopen. */
#ifndef FERRY_CORE_LOADER_POSIX_H
#define FERRY_CORE_LOADER_POSIX_H

#include "core/load/note.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The properties of this process, except cpu_features, which is 0 because it is slow to determine.
 */
void ferry__os_self(struct ferry__self *out);

/*
 * Lists the names in a folder that match ferry_….so, in bytewise order. The caller frees each name
 * and the array. 0, or an errno.
 */
int ferry__os_list(const char *folder, char ***out_names, size_t *out_count);

/* Whether a descriptor can be given to the dynamic linker by a name of its own. */
bool ferry__os_can_dlopen(int fd);

/*
 * Opens a shared object permanently: the file of `fd`, or, if that is negative, the file that
 * `path` leads to. Its recorded name is `path` afterwards, for debuggers and dladdr. NULL, with the
 * reason in `why`.
 */
void *ferry__os_dlopen(int fd, const char *path, char *why, size_t size);

/*
 * Stores the address of a symbol, of data or a function, in the pointer at `out`. False if the
 * library lacks the symbol.
 */
bool ferry__os_symbol(void *library, const char *name, void *out);

#endif
