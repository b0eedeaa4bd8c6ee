/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_WHOLE_H
#define FERRY_TOOL_WHOLE_H

#include <stdio.h>

/*
 * A file that appears under its name only when it is complete: until then it is a temporary file in
 * the same folder. It replaces an existing file of its name and keeps that file's permissions.
 */
struct whole {
    const char *path;
    char *temp;
    FILE *file;
};

/*
 * Creates the file beside `path`, which must live until whole_close. Reports errors; TOOL_OK or
 * TOOL_FAILURE.
 */
int whole_open(struct whole *w, const char *path);

/*
 * Appends bytes; the type is that of the function for ferry_proto_write, with a struct whole as
 * `arg`. Returns a ferry error.
 */
int whole_write(void *arg, const void *bytes, size_t size);

/*
 * With `status` TOOL_OK syncs the file and renames it to its path; otherwise, or if that fails,
 * removes it. Frees its resources. Returns `status`, or TOOL_FAILURE after reporting its own error.
 */
int whole_close(struct whole *w, int status);

#endif
