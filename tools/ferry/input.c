/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME  "standard input"
#define PIECE (256u * 1024)

static int fail(const char *what)
{
    return ferry_error_set(FERRY_EIO, NAME ": %s: %s", what, strerror(errno));
}

static int make_file(int *out)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];

    snprintf(path, sizeof(path), "%s/ferry-XXXXXX", folder && *folder ? folder : "/tmp");
    *out = mkstemp(path);
    if (*out < 0)
        return fail("creating a temporary file for it");
    unlink(path);
    return FERRY_OK;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail("writing a temporary file for it");
        bytes += n;
        size -= (size_t)n;
    }
    return FERRY_OK;
}

static int copy_all(int to)
{
    char *piece = malloc(PIECE);
    int err = piece ? FERRY_OK : ferry_error_set(FERRY_ENOMEM, NAME ": out of memory");

    while (!err) {
        ssize_t n = read(STDIN_FILENO, piece, PIECE);

        if (n == 0)
            break;
        if (n > 0)
            err = write_all(to, piece, (size_t)n);
        else if (errno != EINTR)
            err = fail("reading");
    }
    free(piece);
    return err;
}

/*
 * Finds the file of standard input. A redirected file is mapped directly, unless part of it has
 * already been read.
 */
static int find_file(int *out)
{
    struct stat info;
    int err;

    if (isatty(STDIN_FILENO) == 1)
        return ferry_error_set(FERRY_EINVAL, NAME ": is a terminal");
    if (fstat(STDIN_FILENO, &info) != 0)
        return fail("reading");
    if (S_ISREG(info.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
        *out = STDIN_FILENO;
        return FERRY_OK;
    }
    err = make_file(out);
    if (!err)
        err = copy_all(*out);
    return err;
}

int input_open(ferry_io **out)
{
    static void *bytes;
    static size_t size;
    struct stat info;
    int fd = -1, err;

    if (bytes)
        return ferry_io_open_bytes(bytes, size, NAME, out);
    err = find_file(&fd);
    if (!err && fstat(fd, &info) != 0)
        err = fail("reading its size");
    if (!err && info.st_size == 0)
        err = ferry_error_set(FERRY_EFORMAT, NAME ": is empty: 0 bytes at byte 0");
    if (!err) {
        size = (size_t)info.st_size;
        bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            bytes = NULL;
            err = fail("mapping it");
        }
    }
    if (fd > STDIN_FILENO)
        close(fd);
    return err ? err : ferry_io_open_bytes(bytes, size, NAME, out);
}
