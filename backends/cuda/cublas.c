/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads cuBLAS, which has hundreds of megabytes, when a device is opened.
 */
#include "cuda.h"

#include <dlfcn.h>

#define SONAME "libcublas.so." CUDA_TEXT(CUBLAS_VER_MAJOR)

static int load(void)
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
    return 0;
}

int cuda_blas_load(void)
{
    static struct cuda_once once = CUDA_ONCE;

    return cuda_load_once(&once, load);
}
