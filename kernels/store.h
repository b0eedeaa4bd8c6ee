/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled programs on disk, one file each. A file that is damaged, belongs to another user or has
 * another key is ignored, and no failure here is an error. Any thread, any process.
 */
#ifndef FERRY_KERNELS_STORE_H
#define FERRY_KERNELS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a buffer for a path, with its NUL. */
#define STORE_PATH 4096

/* The content of a file; the caller frees `file`, also after a failure. */
struct stored {
    unsigned char *file;
    const unsigned char *binary; /* a part of `file` */
    size_t bytes;
};

/*
 * Reads the stored binary of `key`. Returns NULL, or the reason why there is none; "" if there is
 * no file.
 */
const char *store_read(const char *path, const char *key, struct stored *out);

/* Writes a complete file under a temporary name and renames it. errno is set on failure. */
bool store_write(const char *path, const char *key, const void *binary, size_t bytes);

#endif
