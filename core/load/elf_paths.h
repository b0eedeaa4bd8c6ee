/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The folders and files that the dynamic linker uses for a file's needed libraries, and the users
 * who may write them.
 */
#ifndef FERRY_CORE_ELF_PATHS_H
#define FERRY_CORE_ELF_PATHS_H

#include "core/base/permit.h"
#include "core/load/elf_dynamic.h"

/*
 * Refuses a RUNPATH (or RPATH) with an entry that is empty, relative, or a folder that others may
 * write to, and a needed library whose path is relative or which others may write. `real` is the
 * real path of the file, for $ORIGIN; *out_origin is true if the file uses $ORIGIN. 0, with what a
 * group may write in out_loose as in permit.h; or refusal->code.
 */
int ferry__paths_check(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                       const char *real, const struct ferry__trust *trust, bool *out_origin,
                       char out_loose[PATH_MAX], struct ferry__refusal *refusal);

#endif
