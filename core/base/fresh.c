/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/fresh.h"

#include <stdlib.h>
#include <string.h>

/* This function is not inlined, because compilers would combine malloc and memset into calloc. */
static __attribute__((noinline)) void *cleared(void *p, size_t size)
{
    return memset(p, 0, size);
}

void *ferry__fresh(size_t size)
{
    void *p = malloc(size);

    return p ? cleared(p, size) : NULL;
}
