/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of weights, and what is mistaken for them, that are no format of ferry's: named for what they
 * are, so that nobody takes them for one that fits by luck.
 */
#ifndef FERRY_IO_FOREIGN_H
#define FERRY_IO_FOREIGN_H

#include "file_map.h"

/*
 * FERRY_EFORMAT, with the format's name and what can be done, if the file surely is of another
 * program's; 0 if it is not known.
 */
int ferry__foreign_refuse(const struct ferry__io_file *file);

/* Of a path that could not be opened: the message says what it is the folder of, where that is known. */
void ferry__foreign_folder(const char *path);

#endif
