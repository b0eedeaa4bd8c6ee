/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_LINES_H
#define FERRY_TOOL_LINES_H

/* Reads the lines of a text file: labels, lists of files. */

/* Processes a line, without its end; it may modify the line. Returns an exit status. */
typedef int (*lines_fn)(void *arg, char *line);

/*
 * Passes each line of a file to `each` until that fails. Returns an exit status, after reporting an
 * error: a file that cannot be read, that is a device, or that holds a byte of 0.
 */
int lines_read(const char *path, lines_fn each, void *arg);

#endif
