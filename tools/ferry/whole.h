/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_WHOLE_H
#define FERRY_TOOL_WHOLE_H

#include <stdio.h>

/*
 * A file that appears under its name only when it is complete: until then it is a file of another
 * name in the same folder. It replaces a file of its name, and takes over that file's permissions.
 */
struct whole {
    const char *path;
    char *temp;
    FILE *file;
};

/* Creates the file beside `path`, which must live until the end. Reports; TOOL_OK or TOOL_FAILURE. */
int whole_open(struct whole *w, const char *path);

/* Appends bytes, for ferry_proto_write: `arg` is a struct whole. A ferry error. */
int whole_write(void *arg, const void *bytes, size_t size);

/*
 * With `status` TOOL_OK syncs the file and renames it to its path; otherwise, or if that fails,
 * removes it. Frees all. Returns `status`, or TOOL_FAILURE after a report of its own.
 */
int whole_close(struct whole *w, int status);

#endif
