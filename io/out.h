/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that appears under its name only when it is complete. */
#ifndef FERRY_IO_OUT_H
#define FERRY_IO_OUT_H

#include <ferry/blob.h>

struct ferry__io_out {
    char *path;  /* the final path, with symbolic links resolved */
    char *temp;  /* the temporary name; NULL: the file has no name */
    char *shown; /* the path as messages show it */
    int fd;
    uint64_t position; /* the position of the next byte */
    uint64_t flushed;  /* the number of bytes that the system was asked to write to the disk */
    unsigned char *buffer;
    uint64_t used;
};

/*
 * Starts a file beside `path`. With `named` it gets a hidden name at once, for a library that opens
 * it by name; otherwise, if the system supports it, the file has no name and a crash leaves nothing
 * behind. FERRY_EINVAL if `path` exists and is not a regular file.
 */
int ferry__io_out_open(const char *path, int named, struct ferry__io_out *out);

/* Writes bytes at the position, and moves it. */
int ferry__io_out_write(struct ferry__io_out *out, const void *bytes, uint64_t size);

/*
 * Writes values of a dtype at the position, little-endian, as most formats store them. `checksum`,
 * which may be NULL, is continued over the written bytes.
 */
int ferry__io_out_values(struct ferry__io_out *out, const void *values, size_t size,
                         ferry_dtype dtype, uint32_t *checksum);

/* Writes zeros at the position. */
int ferry__io_out_pad(struct ferry__io_out *out, uint64_t size);

/* Moves the position. */
int ferry__io_out_seek(struct ferry__io_out *out, uint64_t position);

/* Syncs and renames; frees everything, even on failure. */
int ferry__io_out_commit(struct ferry__io_out *out);

/* Removes the temporary file and frees everything. */
void ferry__io_out_discard(struct ferry__io_out *out);

#endif
