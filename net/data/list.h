/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text files that list what a data layer reads.
 */
#ifndef FERRY_NET_DATA_LIST_H
#define FERRY_NET_DATA_LIST_H

#include <stddef.h>

/*
 * All of the text, to be freed. FERRY_EIO where it cannot be read or is a device, which may never end;
 * FERRY_EFORMAT for a byte of 0, behind which nothing would be seen; FERRY_ENOMEM.
 */
int ferry__list_read(const char *path, char **out);

/* All bytes of a regular file, and a 0 behind them; to be freed. FERRY_EIO, FERRY_ENOMEM. */
int ferry__file_read(const char *path, char **out, size_t *out_size);

#endif
