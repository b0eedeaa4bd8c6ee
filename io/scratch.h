/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scratch files: values that are needed in another order than they arrive go to an unnamed file in
 * TMPDIR, so that the memory in use does not depend on their number.
 */
#ifndef FERRY_IO_SCRATCH_H
#define FERRY_IO_SCRATCH_H

#include <ferry/status.h>

#include <stddef.h>
#include <stdint.h>

struct ferry__scratch {
    const char *shown; /* the path as messages show it; owned by the caller */
    int fd;
    const unsigned char *bytes; /* set by ferry__scratch_map */
    uint64_t size;
};

/* Starts an empty file. */
int ferry__scratch_begin(struct ferry__scratch *self, const char *shown);

/* Appends bytes. */
int ferry__scratch_write(struct ferry__scratch *self, const void *bytes, size_t size);

/* Writes at an offset of an unnamed file. Ranges that were never written read as zeros. */
int ferry__scratch_write_at(int fd, const char *shown, uint64_t at, const void *bytes, size_t size);
int ferry__scratch_read_at(int fd, const char *shown, uint64_t at, void *bytes, size_t size);

/* Maps the bytes at self->bytes; nothing may be appended afterwards. */
int ferry__scratch_map(struct ferry__scratch *self);

/* Frees a scratch file that was begun, or a zeroed structure with an fd of −1. */
void ferry__scratch_end(struct ferry__scratch *self);

#endif
