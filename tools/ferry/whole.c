/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "whole.h"

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, const char *why)
{
    return tool_error(TOOL_FAILURE, "%s: %s", path, why);
}

/*
 * The mode of the new file. mkstemp creates files that only their owner can read; the new file gets
 * the mode that open would set.
 */
static mode_t mode_of(const char *path)
{
    struct stat about;
    mode_t mask;

    if (stat(path, &about) == 0)
        return about.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int check(const char *path)
{
    struct stat about;

    if (stat(path, &about) != 0 || S_ISREG(about.st_mode))
        return TOOL_OK;
    return fail(path, S_ISDIR(about.st_mode) ? "is a directory" : "is not a regular file");
}

int whole_open(struct whole *w, const char *path)
{
    int fd = -1, status = check(path);

    *w = (struct whole){ .path = path };
    if (status != TOOL_OK)
        return status;
    if (asprintf(&w->temp, "%s.XXXXXX", path) < 0) {
        w->temp = NULL;
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    fd = mkstemp(w->temp);
    if (fd >= 0 && fchmod(fd, mode_of(path)) == 0)
        w->file = fdopen(fd, "wb");
    if (w->file)
        return TOOL_OK;
    status = fail(path, strerror(errno));
    if (fd >= 0) {
        unlink(w->temp);
        close(fd);
    }
    free(w->temp);
    w->temp = NULL;
    return status;
}

int whole_write(void *arg, const void *bytes, size_t size)
{
    struct whole *w = arg;

    if (fwrite(bytes, 1, size, w->file) == size)
        return FERRY_OK;
    return ferry_error_set(FERRY_EIO, "%.400s: %s", w->path, strerror(errno));
}

int whole_close(struct whole *w, int status)
{
    if (!w->file)
        return status;
    if (status == TOOL_OK && (fflush(w->file) != 0 || fsync(fileno(w->file)) != 0))
        status = fail(w->path, strerror(errno));
    if (fclose(w->file) != 0 && status == TOOL_OK)
        status = fail(w->path, strerror(errno));
    if (status == TOOL_OK && rename(w->temp, w->path) != 0)
        status = fail(w->path, strerror(errno));
    if (status != TOOL_OK)
        unlink(w->temp);
    free(w->temp);
    *w = (struct whole){ .path = w->path };
    return status;
}
