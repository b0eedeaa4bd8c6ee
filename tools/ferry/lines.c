/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "lines.h"

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int open_text(const char *path, FILE **out)
{
    FILE *file = fopen(path, "r");
    struct stat about;

    if (!file)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    /* a character device may never end */
    if (fstat(fileno(file), &about) == 0 && S_ISCHR(about.st_mode)) {
        fclose(file);
        return tool_error(TOOL_FAILURE, "%s: is a device, not a file", path);
    }
    *out = file;
    return TOOL_OK;
}

int lines_read(const char *path, lines_fn each, void *arg)
{
    FILE *file = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = open_text(path, &file);

    while (status == TOOL_OK && (length = getline(&line, &room, file)) >= 0) {
        if (strlen(line) != (size_t)length) {
            status = tool_error(TOOL_FAILURE, "%s: is not a text file: it has a byte of 0", path);
        } else {
            line[strcspn(line, "\r\n")] = '\0';
            status = each(arg, line);
        }
    }
    if (status == TOOL_OK && !feof(file))
        status = tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    free(line);
    if (file)
        fclose(file);
    return status;
}
