/* SPDX-License-Identifier: BSD-2-Clause */
/* Detection of other programs' files by their first bytes, and the message for them. */
#ifndef FERRY_IO_FOREIGN_MAGIC_H
#define FERRY_IO_FOREIGN_MAGIC_H

#include "file_map.h"

#include <stdbool.h>

/* Refuses a file with FERRY_EFORMAT: "path: format at byte 0: is NAMEADVICE". */
int ferry__foreign_is(const struct ferry__io_file *file, const char *name, const char *advice);

/* Whether the file has these bytes at that offset. */
bool ferry__foreign_has(const struct ferry__io_file *file, uint64_t at, const char *bytes,
                        unsigned size);

/*
 * FERRY_EFORMAT for a file that begins with the magic number of another program's format; 0
 * otherwise.
 */
int ferry__foreign_by_magic(const struct ferry__io_file *file);

#endif
