/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_LINES_H
#define FERRY_TOOL_LINES_H

/*
 * The lines of a text file: labels, lists of files.
 */

/* What is done with a line, which has lost its end and may be changed. An exit status. */
typedef int (*lines_fn)(void *arg, char *line);

/*
 * Gives each line of a file to `each` until that fails. An exit status, which has been said: a file that
 * cannot be read, that is a device, or that holds a byte of 0, which no text does.
 */
int lines_read(const char *path, lines_fn each, void *arg);

#endif
