/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that appears under its name only when it is complete.
 */
#ifndef FERRY_IO_OUT_H
#define FERRY_IO_OUT_H

#include <ferry/blob.h>

struct ferry__io_out {
    char *path;  /* where it will be; symbolic links followed */
    char *temp;  /* where it is now; NULL: it has no name yet */
    char *shown; /* the path, as messages show it */
    int fd;
    uint64_t position; /* of the next byte */
    uint64_t flushed;  /* bytes that the system has been asked to send to the disk */
    unsigned char *buffer;
    uint64_t used;
};

/*
 * Starts a file beside `path`. `named`: it gets a (hidden) name at once, for a library that wants
 * to open it itself; otherwise, where the system can, it has none, and a crash leaves nothing. What
 * is at `path` is a regular file or nothing: FERRY_EINVAL otherwise.
 */
int ferry__io_out_open(const char *path, int named, struct ferry__io_out *out);

/* Appends at the position. */
int ferry__io_out_write(struct ferry__io_out *out, const void *bytes, uint64_t size);

/* Appends values of a dtype as most formats have them: little-endian. */
int ferry__io_out_values(struct ferry__io_out *out, const void *values, size_t size,
                         ferry_dtype dtype);

/* Zeros at the position. */
int ferry__io_out_pad(struct ferry__io_out *out, uint64_t size);

/* Moves the position. */
int ferry__io_out_seek(struct ferry__io_out *out, uint64_t position);

/* Syncs and renames; frees everything, whatever the result. */
int ferry__io_out_commit(struct ferry__io_out *out);

/* Removes what was written and frees everything. */
void ferry__io_out_discard(struct ferry__io_out *out);

#endif
