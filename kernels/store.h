/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled programs on disk, a file each. What is damaged, of somebody else or of another key is as if
 * it were not there, and nothing that goes wrong here is an error. Any thread, any process.
 */
#ifndef FERRY_KERNELS_STORE_H
#define FERRY_KERNELS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FNV-1a, from STORE_HASH on: names of files, and what stands for a text in a key. */
#define STORE_HASH UINT64_C(14695981039346656037)
uint64_t store_hash(uint64_t h, const void *bytes, size_t n);

/* What was read; `file` is the caller's to free, also after a failure. */
struct stored {
    unsigned char *file;
    const unsigned char *binary; /* within it */
    size_t bytes;
};

/* Reads what is kept of `key` there. NULL, or why there is nothing; "" where there is no file. */
const char *store_read(const char *path, const char *key, struct stored *out);

/* Writes a whole file under a name of its own, which then takes the right one. errno says why not. */
bool store_write(const char *path, const char *key, const void *binary, size_t bytes);

#endif
