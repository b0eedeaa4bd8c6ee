/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for small structures that are allocated with every blob, access or event. */
#ifndef FERRY_CORE_FRESH_H
#define FERRY_CORE_FRESH_H

#include <stddef.h>

/*
 * As calloc(1, size), whose glibc version passes by the thread's cache and so takes twice as long.
 * NULL, and no error recorded, when memory is short.
 */
void *ferry__fresh(size_t size);

#endif
