/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file's bytes: mapped for its headers, read with pread for its values.
 */
#ifndef FERRY_IO_FILE_MAP_H
#define FERRY_IO_FILE_MAP_H

#include <ferry/status.h>

struct ferry__io_file {
    char *real; /* the path */
    char *path; /* the same as messages show it */
    char *stem; /* its last component without the suffix */
    const unsigned char *bytes;
    uint64_t size;
    int fd; /* -1: the bytes are the caller's */
};

/* Maps a regular file. On failure *out is untouched. */
int ferry__io_file_open(const char *path, struct ferry__io_file *out);

/* The same over the caller's bytes; `name` stands for the path. */
int ferry__io_file_borrow(const void *bytes, size_t size, const char *name,
                          struct ferry__io_file *out);

void ferry__io_file_close(struct ferry__io_file *file);

/*
 * Copies bytes at `offset`, which lie inside the file. Large pieces are read rather than copied
 * from the mapping: a read fills fresh pages without faulting the file's in one by one.
 */
int ferry__io_file_copy(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                        void *out);

/*
 * Maps `size` bytes at `offset` once more, private and writable, for a blob to own. *out_bytes are
 * those bytes; ferry__io_unmap(*out_mapping) lets go of them. FERRY_EUNSUPPORTED, without a
 * message, where the bytes are the caller's or the system refuses: the caller then copies.
 */
int ferry__io_file_map_private(const struct ferry__io_file *file, uint64_t offset, uint64_t size,
                               void **out_bytes, void **out_mapping);

/* A ferry_memory_deleter. */
void ferry__io_unmap(void *mapping);

#endif
