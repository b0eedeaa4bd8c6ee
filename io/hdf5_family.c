/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5_family.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The size of the file's beginning, which names the driver that wrote the file unless it was the
 * default.
 */
#define BEGINNING 512

static const char advice[] = "open them together with h5py's driver \"family\", or join them with "
                             "h5repart";

bool ferry__hdf5_family_begins(const unsigned char *bytes, uint64_t size)
{
    size_t n = size < BEGINNING ? (size_t)size : BEGINNING;

    return n >= 8 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0 &&
           memmem(bytes, n, "NCSAfami", 8) != NULL;
}

int ferry__hdf5_family_refuse_first(const struct ferry__io_file *file)
{
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%s: format at byte 0: is a member of an HDF5 family: %s", file->path,
                           advice);
}

static bool is_first(const char *path)
{
    unsigned char bytes[BEGINNING];
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        got = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    return got > 0 && ferry__hdf5_family_begins(bytes, (uint64_t)got);
}

/*
 * Makes the path of the first member from "x%05d.h5" or "x%d.h5": the number at `digits` becomes 0,
 * with the same length or with one digit.
 */
static bool find_first(const char *path, size_t digits, size_t length, char *out)
{
    memcpy(out, path, digits);
    memset(out + digits, '0', length);
    strcpy(out + digits + length, path + digits + length);
    if (is_first(out))
        return true;
    strcpy(out + digits + 1, path + digits + length);
    return length > 1 && is_first(out);
}

int ferry__hdf5_family_refuse(const struct ferry__io_file *file)
{
    const char *path = file->real, *slash = strrchr(path, '/');
    size_t base = slash ? (size_t)(slash - path) + 1 : 0, end = strlen(path);
    char *first = file->fd >= 0 ? malloc(end + 1) : NULL;
    int err = FERRY_OK;

    if (file->fd >= 0 && !first)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", file->path);
    while (first && !err && end > base) {
        size_t begin = end;

        while (begin > base && path[begin - 1] >= '0' && path[begin - 1] <= '9')
            begin--;
        if (begin < end && strspn(path + begin, "0") < end - begin &&
            find_first(path, begin, end - begin, first))
            err = ferry_error_set(
                FERRY_EUNSUPPORTED,
                "%s: format at byte 0: is a member of an HDF5 family that begins with %.200s: %s",
                file->path, first + base, advice);
        end = begin < end ? begin : end - 1;
    }
    free(first);
    return err;
}
