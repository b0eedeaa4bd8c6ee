/* SPDX-License-Identifier: BSD-2-Clause */
/* LZF, h5py's own compression: literal runs and copies from up to 8 KiB before. */
#ifndef FERRY_IO_LZF_H
#define FERRY_IO_LZF_H

#include <stddef.h>

/*
 * Decodes `size` bytes into at most `room`; returns the decoded size, 0 if the bytes are damaged.
 */
size_t ferry__lzf_decode(const unsigned char *bytes, size_t size, unsigned char *out, size_t room);

/* Receives decoded bytes; returns 0 or a negative error. */
typedef int (*ferry__lzf_sink)(void *arg, const unsigned char *bytes, size_t size);

/* Decodes into `sink` in pieces: returns 0, 1 if the bytes are damaged, or the sink's error. */
int ferry__lzf_stream(const unsigned char *bytes, size_t size, ferry__lzf_sink sink, void *arg);

#endif
