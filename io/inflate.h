/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deflated bytes, from the first to the last. zlib does it where configure found it.
 */
#ifndef FERRY_IO_INFLATE_H
#define FERRY_IO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct ferry__inflate;

/* Whether this library was built with zlib. */
int ferry__inflate_available(void);

/* `wrapped`: zlib's header and checksum stand around them. NULL without memory, or without zlib. */
struct ferry__inflate *ferry__inflate_open(const unsigned char *bytes, uint64_t size, int wrapped);

/* The next `size` bytes: 0; −1 where the stream is damaged or ends before. */
int ferry__inflate_read(struct ferry__inflate *self, void *out, size_t size);

/* NULL is accepted. */
void ferry__inflate_close(struct ferry__inflate *self);

#endif
