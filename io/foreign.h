/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detection of file formats of other programs, so that the error names the format and no such file
 * is read by accident as one of ferry's.
 */
#ifndef FERRY_IO_FOREIGN_H
#define FERRY_IO_FOREIGN_H

#include "file_map.h"

/*
 * FERRY_EFORMAT, with the format's name and advice, if the file certainly belongs to another
 * program; 0 if the format is unknown.
 */
int ferry__foreign_refuse(const struct ferry__io_file *file);

/*
 * Sets the error of a path that could not be opened. If it is a known kind of folder, the message
 * names that kind.
 */
void ferry__foreign_folder(const char *path);

#endif
