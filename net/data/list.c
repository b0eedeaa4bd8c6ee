/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/data/list.h"

#include <ferry/runtime.h>
#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int failed(const char *path, const char *why)
{
    return ferry_error_set(FERRY_EIO, "\"%.500s\": %s", path, why);
}

/* What a pipe sends is a text as well; a device may send for ever. */
static int open_text(const char *path, FILE **out)
{
    FILE *f = fopen(path, "re");
    struct stat info;

    if (!f)
        return failed(path, strerror(errno));
    if (!fstat(fileno(f), &info) && !S_ISCHR(info.st_mode)) {
        *out = f;
        return 0;
    }
    fclose(f);
    return failed(path, "it is a device, and no file");
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

int ferry__list_read(const char *path, char **out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = NULL;
    int err = open_text(path, &f);

    if (err)
        return err;
    err = read_text(path, f, &text, &size);
    fclose(f);
    if (!err && strlen(text) != size)
        err = ferry_error_set(FERRY_EFORMAT, "\"%.500s\": it is no text: its byte %zu is 0", path,
                              strlen(text) + 1);
    if (err)
        free(text);
    else
        *out = text;
    return err;
}
