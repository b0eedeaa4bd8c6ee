/* SPDX-License-Identifier: BSD-2-Clause */
/* Incremental decompression of deflated bytes, by zlib if configure found it. */
#ifndef FERRY_IO_INFLATE_H
#define FERRY_IO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct ferry__inflate;

/* Whether this library was built with zlib. */
int ferry__inflate_available(void);

/* `wrapped`: the bytes have zlib's header and checksum. NULL without memory or without zlib. */
struct ferry__inflate *ferry__inflate_open(const unsigned char *bytes, uint64_t size, int wrapped);

/* Decompresses the next `size` bytes: 0; −1 if the stream is damaged or ends early. */
int ferry__inflate_read(struct ferry__inflate *self, void *out, size_t size);

/* Frees the stream. NULL is accepted. */
void ferry__inflate_close(struct ferry__inflate *self);

#endif
