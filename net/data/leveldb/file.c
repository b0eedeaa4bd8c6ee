/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/data/leveldb/file.h"

#include <ferry/status.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct ferry__leveldb_file *file, const char *why)
{
    return ferry_error_set(FERRY_EIO, "%.400s: LevelDB: %s: %s", file->folder, file->name, why);
}

int ferry__leveldb_damaged(const struct ferry__leveldb_file *file, uint64_t at, const char *why)
{
    return ferry_error_set(FERRY_EFORMAT, "%.400s: LevelDB: %s: byte %llu: %s", file->folder,
                           file->name, (unsigned long long)at, why);
}

int ferry__leveldb_no_memory(const char *folder)
{
    return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for a database", folder);
}

int ferry__leveldb_room(const char *folder, unsigned char **bytes, size_t *room, size_t size)
{
    unsigned char *fresh;

    if (size <= *room)
        return FERRY_OK;
    fresh = malloc(size);
    if (!fresh)
        return ferry__leveldb_no_memory(folder);
    free(*bytes);
    *bytes = fresh;
    *room = size;
    return FERRY_OK;
}

static bool join(const char *folder, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s", folder, name);

    return length >= 0 && (size_t)length < size;
}

bool ferry__leveldb_file_exists(const char *folder, const char *name)
{
    char path[4096];

    return join(folder, name, path, sizeof path) && access(path, F_OK) == 0;
}

int ferry__leveldb_file_open(const char *folder, const char *name, struct ferry__leveldb_file *file)
{
    struct stat about;
    char path[4096];

    *file = (struct ferry__leveldb_file){ -1, folder, "", 0 };
    snprintf(file->name, sizeof file->name, "%.31s", name);
    if (!join(folder, name, path, sizeof path))
        return failed(file, strerror(ENAMETOOLONG));
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return failed(file, strerror(errno));
    if (fstat(file->fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        ferry__leveldb_file_close(file);
        return failed(file, "it is not a regular file");
    }
    file->size = (uint64_t)about.st_size;
    return FERRY_OK;
}

void ferry__leveldb_file_close(struct ferry__leveldb_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

int ferry__leveldb_file_read(const struct ferry__leveldb_file *file, uint64_t at, void *to,
                             size_t size)
{
    size_t all = 0;

    while (all < size) {
        ssize_t got = pread(file->fd, (char *)to + all, size - all, (off_t)(at + all));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failed(file, strerror(errno));
        if (got == 0)
            return ferry__leveldb_damaged(file, at + all, "it is truncated");
        all += (size_t)got;
    }
    return FERRY_OK;
}
