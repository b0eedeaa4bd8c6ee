/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LZF, the compression that h5py brings: literal runs and copies from up to 8 KiB before.
 */
#ifndef FERRY_IO_LZF_H
#define FERRY_IO_LZF_H

#include <stddef.h>

/* The bytes that `size` bytes of LZF make, no more than `room`; 0 where they are damaged. */
size_t ferry__lzf_decode(const unsigned char *bytes, size_t size, unsigned char *out, size_t room);

#endif
