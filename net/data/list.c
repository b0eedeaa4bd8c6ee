/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/data/list.h"

#include <ferry/runtime.h>
#include <ferry/status.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *path, const char *why)
{
    return ferry_error_set(FERRY_EIO, "\"%.500s\": %s", path, why);
}

/*
 * Opens a list. Its path comes from a net's text: a pipe could block for ever, and a device could
 * be endless, so O_NONBLOCK opens without waiting and other files than regular ones are refused.
 */
static int open_text(const char *path, FILE **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    FILE *f;

    if (fd < 0)
        return failed(path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return failed(path, "it is not a regular file");
    }
    f = fdopen(fd, "r");
    if (!f) {
        close(fd);
        return ferry_error_set(FERRY_ENOMEM, "\"%.500s\": no memory for it", path);
    }
    *out = f;
    return 0;
}

static int read_text(const char *path, FILE *f, char **text, size_t *size)
{
    size_t room = 0, got = 1;

    while (got) {
        if (room - *size < 2) {
            char *grown = realloc(*text, room = room ? 2 * room : 4096);

            if (!grown)
                return ferry_error_set(FERRY_ENOMEM, "\"%.500s\": no memory for it", path);
            *text = grown;
        }
        got = fread(*text + *size, 1, room - *size - 1, f);
        *size += got;
    }
    (*text)[*size] = 0;
    return ferror(f) ? failed(path, strerror(errno)) : 0;
}

int ferry__file_read(const char *path, char **out, size_t *out_size)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = NULL;
    int err = open_text(path, &f);

    if (err)
        return err;
    err = read_text(path, f, &text, &size);
    fclose(f);
    if (err) {
        free(text);
        return err;
    }
    *out = text;
    *out_size = size;
    return 0;
}

int ferry__list_read(const char *path, char **out)
{
    char *text;
    size_t size;
    int err = ferry__file_read(path, &text, &size);

    if (!err && strlen(text) != size) {
        err = ferry_error_set(FERRY_EFORMAT, "\"%.500s\": it is not a text: its byte %zu is 0",
                              path, strlen(text) + 1);
        free(text);
    }
    if (!err)
        *out = text;
    return err;
}
