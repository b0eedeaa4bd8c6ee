/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PATHS_H
#define FERRY_TOOL_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Lists of pictures: the files of a folder, or the lines of a text file. */

struct paths {
    char **at;
    size_t count, room;
};

bool paths_is_folder(const char *path);

/*
 * Reads the pictures of a folder, sorted by name, or those that a list names; the labels of an
 * ImageData list are ignored. `out` is empty before; the caller ends it, also after a failure.
 * Returns an exit status, after reporting an error. It is an error if there are no pictures.
 */
int paths_read(struct paths *out, const char *path);
void paths_end(struct paths *paths);

#endif
