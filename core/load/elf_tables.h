/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what is in a file's tables leads anywhere: symbols, their hashes and versions, relocations.
 * It is read before a file is loaded, and not while one is only looked for: this takes longer.
 */
#ifndef FERRY_CORE_ELF_TABLES_H
#define FERRY_CORE_ELF_TABLES_H

#include "core/load/elf_check.h"

/* What is wrong with them, or NULL. `layout` is the file's, with which nothing was wrong. */
const char *ferry__tables_fault(const struct ferry__bytes *file,
                                const struct ferry__layout *layout);

#endif
