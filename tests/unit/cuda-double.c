/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-double.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct search {
    char part[64], path[4096];
};

static int is_it(struct dl_phdr_info *info, size_t size, void *out)
{
    struct search *s = out;

    (void)size;
    if (!strstr(info->dlpi_name, s->part))
        return 0;
    snprintf(s->path, sizeof(s->path), "%s", info->dlpi_name);
    return 1;
}

void *cuda_library(const char *name)
{
    struct search s = { { 0 }, { 0 } };

    snprintf(s.part, sizeof(s.part), "/%s.so.", name);
    return dl_iterate_phdr(is_it, &s) ? dlopen(s.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

const struct cuda_double_control *cuda_double_find(void)
{
    void *runtime = cuda_library("libcudart");

    return runtime ? dlsym(runtime, CUDA_DOUBLE_CONTROL) : NULL;
}
