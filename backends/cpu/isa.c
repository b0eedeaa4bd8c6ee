/* SPDX-License-Identifier: BSD-2-Clause */
#include "isa.h"

#include <stddef.h>
#include <string.h>

static const struct cpu_isa portable = { .name = "portable" };

const struct cpu_isa *cpu_isa_find(const char *name)
{
    if (strcmp(name, "auto") == 0 || strcmp(name, "portable") == 0)
        return &portable;
    return NULL;
}
