/* SPDX-License-Identifier: BSD-2-Clause */
/* Text files that list the inputs of a data layer. */
#ifndef FERRY_NET_DATA_LIST_H
#define FERRY_NET_DATA_LIST_H

#include <stddef.h>

/*
 * Reads the whole text, which the caller frees. FERRY_EIO if it cannot be read or is a device,
 * which may be endless; FERRY_EFORMAT for a byte of 0, which would hide the rest; FERRY_ENOMEM.
 */
int ferry__list_read(const char *path, char **out);

/*
 * Reads all bytes of a regular file, followed by a 0; the caller frees them. FERRY_EIO,
 * FERRY_ENOMEM.
 */
int ferry__file_read(const char *path, char **out, size_t *out_size);

#endif
