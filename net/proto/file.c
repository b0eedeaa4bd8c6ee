/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net/proto/file.h"

#include <ferry/status.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_open_file(int fd, struct ferry__proto_file *file)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", file->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return ferry_error_set(FERRY_EIO, "%.400s: %s", file->path,
                               S_ISDIR(about.st_mode) ? "is a directory" : "is not a regular file");
    file->bytes = "";
    file->size = (size_t)about.st_size;
    if (file->size == 0)
        return FERRY_OK;
    file->mapping = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file->mapping == MAP_FAILED) {
        file->mapping = NULL;
        return ferry_error_set(FERRY_EIO, "%.400s: mapping it: %s", file->path, strerror(errno));
    }
    file->bytes = file->mapping;
    return FERRY_OK;
}

/* O_NONBLOCK: opening a pipe without a writer does not block. */
int ferry__proto_file_map(struct ferry__proto_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

    if (fd < 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", file->path, strerror(errno));
    err = map_open_file(fd, file);
    close(fd);
    return err;
}

void ferry__proto_file_unmap(struct ferry__proto_file *file)
{
    if (file->mapping)
        munmap(file->mapping, file->size);
    file->mapping = NULL;
}
