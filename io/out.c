/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "out.h"

#include "crc32.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE (256u * 1024)

/* After this many bytes the written pages are sent to the disk, so that the final sync is short. */
#define FLUSH_STEP (32u * 1024 * 1024)

static int fail(const struct ferry__io_out *out, const char *what)
{
    return ferry_error_set(FERRY_EIO, "%s: %s at byte %llu: %s", out->shown, what,
                           (unsigned long long)out->position, strerror(errno));
}

/* ---- open ----------------------------------------------------------------------------------- */

/* The path that is replaced: for a symbolic link its target, so that the link stays. */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : strdup(path);
}

static char *shown_path(const char *path)
{
    const size_t most = 400;
    size_t length = strlen(path);
    char *shown;

    if (length <= most)
        return strdup(path);
    shown = malloc(most + 4);
    if (shown)
        snprintf(shown, most + 4, "...%s", path + length - most);
    return shown;
}

/* The folder of a path with a trailing slash, "" for the working directory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

static int check_target(const struct ferry__io_out *out, mode_t *mode)
{
    struct stat info;

    *mode = 0;
    if (stat(out->path, &info) != 0)
        return FERRY_OK;
    if (!S_ISREG(info.st_mode))
        return ferry_error_set(FERRY_EINVAL, "%s: %s", out->shown,
                               S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file");
    *mode = info.st_mode & 07777;
    return FERRY_OK;
}

static int open_unnamed(const char *folder)
{
#ifdef O_TMPFILE
    /* without /proc an unnamed file could not be named later */
    if (access("/proc/self/fd", X_OK) == 0)
        return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    (void)folder;
    return -1;
}

/* Makes a unique name from the process id and a counter. */
static char *temporary_name(const char *path, const char *folder)
{
    static unsigned count;
    const char *base = strrchr(path, '/');
    size_t size = strlen(path) + 64;
    char *name = malloc(size);

    base = base ? base + 1 : path;
    if (name)
        snprintf(name, size, "%s.%.200s.%ld-%u.tmp", folder, base, (long)getpid(),
                 __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
    return name;
}

static int open_named(struct ferry__io_out *out, const char *folder)
{
    for (int i = 0; i < 1000; i++) {
        int fd;

        free(out->temp);
        out->temp = temporary_name(out->path, folder);
        if (!out->temp) {
            errno = ENOMEM;
            return -1;
        }
        fd = open(out->temp, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static void free_all(struct ferry__io_out *out)
{
    free(out->path);
    free(out->temp);
    free(out->shown);
    free(out->buffer);
}

static int open_file(struct ferry__io_out *out, int named, mode_t mode)
{
    char *folder = folder_of(out->path);
    int err = FERRY_OK;

    if (!folder)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", out->shown);
    out->fd = named ? -1 : open_unnamed(folder);
    if (out->fd < 0)
        out->fd = open_named(out, folder);
    if (out->fd < 0)
        err = ferry_error_set(errno == ENOMEM ? FERRY_ENOMEM : FERRY_EIO,
                              "%s: creating a file beside it: %s", out->shown, strerror(errno));
    else if (mode && fchmod(out->fd, mode) != 0)
        err = fail(out, "copying its permissions");
    free(folder);
    return err;
}

int ferry__io_out_open(const char *path, int named, struct ferry__io_out *out)
{
    struct ferry__io_out file = { .fd = -1 };
    mode_t mode = 0;
    int err;

    file.path = real_path(path);
    file.shown = shown_path(path);
    file.buffer = malloc(BUFFER_SIZE);
    if (!file.path || !file.shown || !file.buffer)
        err = ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", path);
    else
        err = check_target(&file, &mode);
    if (!err)
        err = open_file(&file, named, mode);
    if (err) {
        ferry__io_out_discard(&file);
        return err;
    }
    *out = file;
    return FERRY_OK;
}

/* ---- write ---------------------------------------------------------------------------------- */

static int write_all(struct ferry__io_out *out, const unsigned char *bytes, uint64_t size,
                     uint64_t position)
{
    while (size > 0) {
        size_t piece = size < 1u << 30 ? (size_t)size : 1u << 30;
        ssize_t put = pwrite(out->fd, bytes, piece, (off_t)position);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail(out, "writing");
        bytes += put;
        position += (uint64_t)put;
        size -= (uint64_t)put;
    }
#ifdef SYNC_FILE_RANGE_WRITE
    if (position > out->flushed + FLUSH_STEP) {
        (void)sync_file_range(out->fd, (off_t)out->flushed, (off_t)(position - out->flushed),
                              SYNC_FILE_RANGE_WRITE);
        out->flushed = position;
    }
#endif
    return FERRY_OK;
}

/* Writes the buffer. Its last byte is the one before the position. */
static int empty_buffer(struct ferry__io_out *out)
{
    uint64_t used = out->used;

    out->used = 0;
    return write_all(out, out->buffer, used, out->position - used);
}

int ferry__io_out_write(struct ferry__io_out *out, const void *bytes, uint64_t size)
{
    int err = FERRY_OK;

    if (size > BUFFER_SIZE - out->used)
        err = empty_buffer(out);
    if (err)
        return err;
    if (size >= BUFFER_SIZE) {
        err = write_all(out, bytes, size, out->position);
    } else if (size > 0) {
        memcpy(out->buffer + out->used, bytes, (size_t)size);
        out->used += size;
    }
    if (!err)
        out->position += size;
    return err;
}

static int write_summed(struct ferry__io_out *out, const void *bytes, size_t size,
                        uint32_t *checksum)
{
    if (checksum)
        *checksum = ferry__crc32(*checksum, bytes, size);
    return ferry__io_out_write(out, bytes, size);
}

int ferry__io_out_values(struct ferry__io_out *out, const void *values, size_t size,
                         ferry_dtype dtype, uint32_t *checksum)
{
    size_t element = ferry_dtype_size(dtype);
    unsigned char swapped[4096];
    const unsigned char *at = values;
    int err = FERRY_OK;

    if (!ferry__big_endian() || element == 1)
        return write_summed(out, values, size, checksum);
    while (size > 0 && !err) {
        size_t piece = size < sizeof(swapped) ? size : sizeof(swapped);

        memcpy(swapped, at, piece);
        ferry__swap_bytes(swapped, (int64_t)(piece / element), element);
        err = write_summed(out, swapped, piece, checksum);
        at += piece;
        size -= piece;
    }
    return err;
}

int ferry__io_out_pad(struct ferry__io_out *out, uint64_t size)
{
    static const unsigned char zeros[4096];
    int err = FERRY_OK;

    while (size > 0 && !err) {
        uint64_t piece = size < sizeof(zeros) ? size : sizeof(zeros);

        err = ferry__io_out_write(out, zeros, piece);
        size -= piece;
    }
    return err;
}

int ferry__io_out_seek(struct ferry__io_out *out, uint64_t position)
{
    int err = position == out->position ? FERRY_OK : empty_buffer(out);

    if (!err)
        out->position = position;
    return err;
}

/* ---- commit --------------------------------------------------------------------------------- */

/* Gives an unnamed file a name; rename then replaces the file at the path atomically. */
static int give_name(struct ferry__io_out *out, const char *folder)
{
    char self[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
    for (int i = 0; i < 1000; i++) {
        free(out->temp);
        out->temp = temporary_name(out->path, folder);
        if (!out->temp)
            return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", out->shown);
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temp, AT_SYMLINK_FOLLOW) == 0)
            return FERRY_OK;
        if (errno != EEXIST)
            break;
    }
    free(out->temp);
    out->temp = NULL;
    return fail(out, "naming the file");
}

/*
 * Syncs the folder, since a rename is on the disk only after that. Some file systems cannot sync a
 * folder.
 */
static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static int publish(struct ferry__io_out *out)
{
    char *folder = folder_of(out->path);
    int err = FERRY_OK;

    if (!folder)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", out->shown);
    if (!out->temp)
        err = give_name(out, folder);
    if (!err && rename(out->temp, out->path) != 0)
        err = fail(out, "renaming the complete file");
    if (!err) {
        free(out->temp);
        out->temp = NULL;
        sync_folder(folder);
    }
    free(folder);
    return err;
}

int ferry__io_out_commit(struct ferry__io_out *out)
{
    int err = empty_buffer(out);

    if (!err && fsync(out->fd) != 0)
        err = fail(out, "syncing");
    if (!err)
        err = publish(out);
    ferry__io_out_discard(out); /* after the rename the temporary name does not exist */
    return err;
}

void ferry__io_out_discard(struct ferry__io_out *out)
{
    if (out->fd >= 0)
        close(out->fd);
    if (out->temp)
        unlink(out->temp);
    free_all(out);
}
