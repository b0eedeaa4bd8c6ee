/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest shown path: a message holds 1023 bytes, so only the end of a longer path is shown. */
#define SHOWN_PATH 400

/* For fewer bytes than this, a copy from the mapping costs less than a system call. */
#define READ_THRESHOLD (16u * 1024)

static int set_names(const char *path, struct ferry__io_file *file)
{
    size_t length = strlen(path);
    const char *base = strrchr(path, '/');
    const char *dot;

    base = base ? base + 1 : path;
    dot = strrchr(base, '.');
    file->stem = dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
    if (length <= SHOWN_PATH) {
        file->path = strdup(path);
    } else {
        file->path = malloc(SHOWN_PATH + 4);
        if (file->path)
            snprintf(file->path, SHOWN_PATH + 4, "...%s", path + length - SHOWN_PATH);
    }
    file->real = strdup(path);
    if (file->path && file->stem && file->real)
        return FERRY_OK;
    free(file->real);
    free(file->path);
    free(file->stem);
    return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", path);
}

static int check_kind(const struct ferry__io_file *file, const struct stat *info)
{
    if (S_ISDIR(info->st_mode))
        return ferry_error_set(FERRY_EIO, "%s: is a directory", file->path);
    if (!S_ISREG(info->st_mode))
        return ferry_error_set(FERRY_EIO, "%s: is not a regular file", file->path);
    if (info->st_size == 0)
        return ferry_error_set(FERRY_EFORMAT, "%s: is empty: 0 bytes at byte 0", file->path);
    if ((uintmax_t)info->st_size > SIZE_MAX / 2)
        return ferry_error_set(FERRY_EOVERFLOW, "%s: is larger than the address space", file->path);
    return FERRY_OK;
}

static int map_whole(struct ferry__io_file *file)
{
    struct stat info;
    void *bytes;
    int err;

    if (fstat(file->fd, &info) != 0)
        return ferry_error_set(FERRY_EIO, "%s: %s", file->path, strerror(errno));
    err = check_kind(file, &info);
    if (err)
        return err;
    file->size = (uint64_t)info.st_size;
    file->seconds = (int64_t)info.st_mtim.tv_sec;
    file->nanoseconds = (int64_t)info.st_mtim.tv_nsec;
    bytes = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (bytes == MAP_FAILED)
        return ferry_error_set(FERRY_EIO, "%s: mapping %llu bytes: %s", file->path,
                               (unsigned long long)file->size, strerror(errno));
    file->bytes = bytes;
    return FERRY_OK;
}

int ferry__io_file_open(const char *path, struct ferry__io_file *out)
{
    struct ferry__io_file file = { .fd = -1 };
    int err = set_names(path, &file);

    if (err)
        return err;
    /* non-blocking, so that opening a pipe returns at once; the check below refuses pipes */
    file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.fd < 0) {
        err = ferry_error_set(FERRY_EIO, "%s: %s", file.path, strerror(errno));
        goto err_free_names;
    }
    err = map_whole(&file);
    if (err)
        goto err_close;
    *out = file;
    return FERRY_OK;

err_close:
    close(file.fd);
err_free_names:
    free(file.real);
    free(file.path);
    free(file.stem);
    return err;
}

int ferry__io_file_borrow(const void *bytes, size_t size, const char *name,
                          struct ferry__io_file *out)
{
    struct ferry__io_file file = { .bytes = bytes, .size = size, .fd = -1 };
    int err = set_names(name, &file);

    if (err)
        return err;
    *out = file;
    return FERRY_OK;
}

void ferry__io_file_close(struct ferry__io_file *file)
{
    if (file->fd >= 0) {
        munmap((void *)(uintptr_t)file->bytes, (size_t)file->size);
        close(file->fd);
    }
    free(file->real);
    free(file->path);
    free(file->stem);
}

bool ferry__io_file_is_unchanged(const struct ferry__io_file *file)
{
    struct stat info;

    return file->fd < 0 || (fstat(file->fd, &info) == 0 && (uint64_t)info.st_size == file->size &&
                            (int64_t)info.st_mtim.tv_sec == file->seconds &&
                            (int64_t)info.st_mtim.tv_nsec == file->nanoseconds);
}

static int read_all(const struct ferry__io_file *file, uint64_t offset, uint64_t size, char *out)
{
    while (size > 0) {
        size_t piece = size < 1u << 30 ? (size_t)size : 1u << 30;
        ssize_t got = pread(file->fd, out, piece, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ferry_error_set(FERRY_EIO, "%s: reading at byte %llu: %s", file->path,
                                   (unsigned long long)offset, strerror(errno));
        if (got == 0)
            return ferry_error_set(FERRY_EIO, "%s: ends at byte %llu: was shortened while open",
                                   file->path, (unsigned long long)offset);
        out += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return FERRY_OK;
}

/*
 * Removes whole pages inside a range from the resident ones: reading a header maps many pages after
 * it, since the system maps neighbours of a page that it has in its cache.
 */
static void release_pages(const struct ferry__io_file *file, uint64_t offset, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = (offset + page - 1) / page * page, end = (offset + size) / page * page;

    if (first < end) /* a system that refuses keeps the pages */
        (void)madvise((void *)(uintptr_t)(file->bytes + first), (size_t)(end - first),
                      MADV_DONTNEED);
}

int ferry__io_file_copy(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                        void *out)
{
    int err;

    if (file->fd >= 0 && size >= READ_THRESHOLD) {
        err = read_all(file, offset, size, out);
        release_pages(file, offset, size);
        return err;
    }
    if (size > 0)
        memcpy(out, file->bytes + offset, (size_t)size);
    return FERRY_OK;
}

struct mapping {
    void *start;
    size_t length;
};

int ferry__io_file_map_private(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                               void **out_bytes, void **out_mapping)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t lead = offset % page;
    struct mapping *mapping;

    if (file->fd < 0)
        return FERRY_EUNSUPPORTED;
    mapping = malloc(sizeof(*mapping));
    if (!mapping)
        return FERRY_EUNSUPPORTED;
    mapping->length = (size_t)(size + lead);
    mapping->start = mmap(NULL, mapping->length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_NORESERVE, file->fd, (off_t)(offset - lead));
    if (mapping->start == MAP_FAILED) {
        free(mapping);
        return FERRY_EUNSUPPORTED;
    }
    *out_bytes = (char *)mapping->start + lead;
    *out_mapping = mapping;
    return FERRY_OK;
}

void ferry__io_unmap(void *arg)
{
    struct mapping *mapping = arg;

    munmap(mapping->start, mapping->length);
    free(mapping);
}
