/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for small structures that are allocated with every blob, access or event. */
#ifndef FERRY_CORE_FRESH_H
#define FERRY_CORE_FRESH_H

#include <stddef.h>

/*
 * As calloc(1, size), but faster: glibc's calloc does not use the thread's cache. Returns NULL when
 * memory is short, and records no error.
 */
void *ferry__fresh(size_t size);

#endif
