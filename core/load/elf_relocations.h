/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a file's relocations can be what a linker wrote: where they write, and what.
 */
#ifndef FERRY_CORE_ELF_RELOCATIONS_H
#define FERRY_CORE_ELF_RELOCATIONS_H

#include "core/load/elf_check.h"

/*
 * What is wrong with them, or NULL. `layout` is the file's, with which nothing was wrong; `symbols` how
 * many it has, 0 where that is not known.
 */
const char *ferry__relocations_fault(const struct ferry__bytes *file,
                                     const struct ferry__layout *layout, uint32_t symbols);

#endif
