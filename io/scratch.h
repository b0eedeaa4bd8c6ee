/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes that are wanted in another order than they come in: in a file without a name, in TMPDIR, so
 * that memory does not depend on how many they are.
 */
#ifndef FERRY_IO_SCRATCH_H
#define FERRY_IO_SCRATCH_H

#include <ferry/status.h>

#include <stddef.h>
#include <stdint.h>

struct ferry__scratch {
    const char *shown; /* the path, as messages show it; the caller's */
    int fd;
    const unsigned char *bytes; /* once mapped */
    uint64_t size;
};

/* Starts an empty one. */
int ferry__scratch_begin(struct ferry__scratch *self, const char *shown);

/* Appends. */
int ferry__scratch_write(struct ferry__scratch *self, const void *bytes, size_t size);

/*
 * The same at a place, of a file that only these know. What was never written there reads as zeros.
 */
int ferry__scratch_write_at(int fd, const char *shown, uint64_t at, const void *bytes, size_t size);
int ferry__scratch_read_at(int fd, const char *shown, uint64_t at, void *bytes, size_t size);

/* From now on they are at self->bytes; nothing is appended any more. */
int ferry__scratch_map(struct ferry__scratch *self);

/* Of one that was begun, or is all zeros but for an fd of −1. */
void ferry__scratch_end(struct ferry__scratch *self);

#endif
