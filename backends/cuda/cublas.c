/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads cuBLAS, which has hundreds of megabytes, when a device is opened.
 */
#include "cuda.h"

#include <dlfcn.h>

#define SONAME "libcublas.so." CUDA_TEXT(CUBLAS_VER_MAJOR)

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

static int load_locked(void)
{
    struct cuda_blas_table table = { 0 };
    void *library = cuda_library_open(SONAME, CUDA_PACKAGE);

    if (!library)
        return cuda_host->error(FERRY_ENODEV,
                                "%s; it is part of the CUDA toolkit: add its folder to "
                                "LD_LIBRARY_PATH or ldconfig",
                                dlerror());
        /* uses CUDA_TEXT because the headers define most of these names as macros */
#define LOAD(member, function)                                                         \
    *(void **)(void *)&table.member = dlsym(library, CUDA_TEXT(function));             \
    if (!table.member) {                                                               \
        dlclose(library);                                                              \
        return cuda_host->error(FERRY_EPLUGIN, SONAME " has no " CUDA_TEXT(function)); \
    }
    CUDA_BLAS_ENTRIES(LOAD)
#undef LOAD
    cuda_blas = table;
    loaded = true;
    return 0;
}

int cuda_blas_load(void)
{
    int err;

    pthread_mutex_lock(&load_lock);
    err = loaded ? 0 : load_locked();
    pthread_mutex_unlock(&load_lock);
    return err;
}
