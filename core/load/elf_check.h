/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the tables that dlopen follows lead anywhere. It believes them, and a file with a few
 * wrong bytes there takes the program along.
 */
#ifndef FERRY_CORE_ELF_CHECK_H
#define FERRY_CORE_ELF_CHECK_H

#include "core/load/elf_file.h"

/* What is wrong with a file's segments or its dynamic section, or NULL. */
const char *ferry__layout_fault(const struct ferry__bytes *file,
                                const struct ferry__segments *segments);

#endif
