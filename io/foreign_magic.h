/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other programs' files begin with, and how it is said.
 */
#ifndef FERRY_IO_FOREIGN_MAGIC_H
#define FERRY_IO_FOREIGN_MAGIC_H

#include "file_map.h"

#include <stdbool.h>

/* FERRY_EFORMAT: "path: format at byte 0: is NAMEADVICE". */
int ferry__foreign_is(const struct ferry__io_file *file, const char *name, const char *advice);

/* Whether the file has these bytes there. */
bool ferry__foreign_has(const struct ferry__io_file *file, uint64_t at, const char *bytes,
                        unsigned size);

/* FERRY_EFORMAT for a file that begins as a format of others does; 0 if it does not. */
int ferry__foreign_by_magic(const struct ferry__io_file *file);

#endif
