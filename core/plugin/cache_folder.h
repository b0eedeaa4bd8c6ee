/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a plugin may keep files from one run to the next.
 */
#ifndef FERRY_CORE_CACHE_FOLDER_H
#define FERRY_CORE_CACHE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The path of ferry/NAME in $XDG_CACHE_HOME or ~/.cache, which is made. FERRY_EUNSUPPORTED where there
 * is to be none, FERRY_EINVAL where `size` is too small, with the reason in `why`.
 */
int ferry__cache_folder(const char *name, char *out, uint64_t size, char *why, size_t why_size);

#endif
