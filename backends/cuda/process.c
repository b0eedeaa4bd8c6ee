/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the process: the host's services, which ferry_plugin_open sets, and the functions of
 * the driver and of cuBLAS, which driver.c and blas.c look up; and the search for NVIDIA's
 * libraries.
 */
#ifdef CUDA_RELOCATABLE
#define _GNU_SOURCE /* for dladdr */
#endif
#include "cuda.h"

#include <dlfcn.h>
#ifdef CUDA_RELOCATABLE
#include <limits.h>
#include <stdio.h>
#include <string.h>
#endif

const ferry_host *cuda_host;
struct cuda_driver cuda_driver;
struct cuda_blas_table cuda_blas;

#ifdef CUDA_RELOCATABLE
/*
 * Opens a library in nvidia/FOLDER/lib of NVIDIA's packages, beside the package that contains this
 * plugin.
 */
static void *open_beside(const char *name, const char *folder)
{
    static const char anchor[] = "cuda";
    char path[PATH_MAX];
    const char *end;
    Dl_info info;

    if (!dladdr(anchor, &info) || !info.dli_fname || info.dli_fname[0] != '/')
        return NULL;
    end = strrchr(info.dli_fname, '/');
    if (snprintf(path, sizeof(path), "%.*s/../nvidia/%s/lib/%s", (int)(end - info.dli_fname),
                 info.dli_fname, folder, name) >= (int)sizeof(path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
#endif

int cuda_load_once(struct cuda_once *once, int (*load)(void))
{
    int err;

    pthread_mutex_lock(&once->lock);
    err = once->done ? 0 : load();
    once->done = !err;
    pthread_mutex_unlock(&once->lock);
    return err;
}

void *cuda_library_open(const char *name, const char *folder)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

#ifdef CUDA_RELOCATABLE
    if (!library)
        library = open_beside(name, folder);
#else
    (void)folder;
#endif
    return library;
}
