/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LZF, the compression that h5py brings: literal runs and copies from up to 8 KiB before.
 */
#ifndef FERRY_IO_LZF_H
#define FERRY_IO_LZF_H

#include <stddef.h>

/* The bytes that `size` bytes of LZF make, no more than `room`; 0 where they are damaged. */
size_t ferry__lzf_decode(const unsigned char *bytes, size_t size, unsigned char *out, size_t room);

/* Takes what was made; 0, or an error, which is negative. */
typedef int (*ferry__lzf_sink)(void *arg, const unsigned char *bytes, size_t size);

/* The same, handed on in pieces: 0, 1 where they are damaged, or the sink's error. */
int ferry__lzf_stream(const unsigned char *bytes, size_t size, ferry__lzf_sink sink, void *arg);

#endif
