/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_IO_NPY_WRITE_H
#define FERRY_IO_NPY_WRITE_H

#include "storage.h"

#include <ferry/io.h>

/* The size of the longest header: 32 dims of 19 digits, padded. */
#define FERRY__NPY_HEADER_MAX 1024

/* Writes a 1.0 header, padded so that the values are aligned to 64 bytes; returns its size. */
size_t ferry__npy_make_header(const ferry_io_entry *entry, char out[FERRY__NPY_HEADER_MAX]);

/* Whether NumPy has a type for the storage. */
bool ferry__npy_can_store(enum ferry__storage storage);

/* NULL, or the reason why NumPy cannot hold the array. */
const char *ferry__npy_can_hold(const ferry_io_entry *entry);

#endif
