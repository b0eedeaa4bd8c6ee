/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fail_for(const char *shown, const char *what)
{
    return ferry_error_set(FERRY_EIO, "%s: %s a scratch file in TMPDIR: %s", shown, what,
                           strerror(errno));
}

static int fail(const struct ferry__scratch *self, const char *what)
{
    return fail_for(self->shown, what);
}

int ferry__scratch_begin(struct ferry__scratch *self, const char *shown)
{
    const char *folder = secure_getenv("TMPDIR");
    char name[4096];

    *self = (struct ferry__scratch){ .shown = shown, .fd = -1 };
    snprintf(name, sizeof(name), "%.4000s/ferry-XXXXXX", folder && *folder ? folder : "/tmp");
    self->fd = mkostemp(name, O_CLOEXEC);
    if (self->fd < 0)
        return fail(self, "creating");
    unlink(name);
    return FERRY_OK;
}

int ferry__scratch_write(struct ferry__scratch *self, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t got = write(self->fd, at, size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(self, "writing");
        at += got;
        size -= (size_t)got;
        self->size += (uint64_t)got;
    }
    return FERRY_OK;
}

int ferry__scratch_write_at(int fd, const char *shown, uint64_t at, const void *bytes, size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t got = pwrite(fd, from, size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_for(shown, "writing");
        from += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return FERRY_OK;
}

int ferry__scratch_read_at(int fd, const char *shown, uint64_t at, void *bytes, size_t size)
{
    char *to = bytes;

    while (size > 0) {
        ssize_t got = pread(fd, to, size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_for(shown, "reading");
        if (got == 0) {
            memset(to, 0, size);
            return FERRY_OK;
        }
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return FERRY_OK;
}

int ferry__scratch_map(struct ferry__scratch *self)
{
    void *bytes = mmap(NULL, (size_t)self->size, PROT_READ, MAP_SHARED, self->fd, 0);

    if (bytes == MAP_FAILED)
        return fail(self, "mapping");
    self->bytes = bytes;
    return FERRY_OK;
}

void ferry__scratch_end(struct ferry__scratch *self)
{
    if (self->bytes)
        munmap((void *)(uintptr_t)self->bytes, (size_t)self->size);
    if (self->fd >= 0)
        close(self->fd);
    *self = (struct ferry__scratch){ .fd = -1 };
}
