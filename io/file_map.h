/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a file: mapped for headers, read with pread for values. */
#ifndef FERRY_IO_FILE_MAP_H
#define FERRY_IO_FILE_MAP_H

#include <ferry/status.h>

#include <stdbool.h>

struct ferry__io_file {
    char *real; /* the path that the caller gave */
    char *path; /* the path as messages show it */
    char *stem; /* the file name without its suffix */
    const unsigned char *bytes;
    uint64_t size;
    int fd;              /* −1: the caller owns the bytes */
    int64_t seconds;     /* the time of the last change of the contents when it was opened */
    int64_t nanoseconds; /* the fraction of a second */
};

/* Maps a regular file. On failure *out is untouched. */
int ferry__io_file_open(const char *path, struct ferry__io_file *out);

/* Opens bytes of the caller like a file; messages show `name` as the path. */
int ferry__io_file_borrow(const void *bytes, size_t size, const char *name,
                          struct ferry__io_file *out);

void ferry__io_file_close(struct ferry__io_file *file);

/* Whether the file has the size and the time of its last change that it had when it was opened. */
bool ferry__io_file_is_unchanged(const struct ferry__io_file *file);

/*
 * Copies `size` bytes at `offset`, a range inside the file. Large ranges are read instead of copied
 * from the mapping: a read fills fresh pages without a page fault for each page of the file. The
 * mapping's pages of such a range are then not resident.
 */
int ferry__io_file_copy(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                        void *out);

/*
 * Maps `size` bytes at `offset` once more, private and writable, for a blob to own. *out_bytes
 * points to those bytes; ferry__io_unmap(*out_mapping) unmaps them. FERRY_EUNSUPPORTED, without a
 * message, if the bytes belong to the caller or the system refuses: the caller then copies.
 */
int ferry__io_file_map_private(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                               void **out_bytes, void **out_mapping);

/* Unmaps a mapping; has the type ferry_memory_deleter. */
void ferry__io_unmap(void *mapping);

#endif
