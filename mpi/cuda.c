/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
/*
 * A CUDA-aware MPI uses the device that is current on the calling thread. On ferry's own thread no
 * device is current. The CUDA runtime is the one that ferry's plugin has loaded; this file does not
 * load it.
 */
#include "mpi/state.h"

#include <ferry/status.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static int is_runtime(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    if (!strstr(info->dlpi_name, "/libcudart.so."))
        return 0;
    snprintf(out, 4096, "%s", info->dlpi_name);
    return 1;
}

static void *find_runtime(void)
{
    char path[4096];

    return dl_iterate_phdr(is_runtime, path) ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

int ferry__mpi_use_device(ferry_device *dev)
{
    void *runtime = find_runtime(), *symbol = runtime ? dlsym(runtime, "cudaSetDevice") : NULL;
    int (*set_device)(int), number,
        err = ferry_device_native(dev, "cuda_device", &number, sizeof number);

    if (!err && symbol) {
        memcpy(&set_device, &symbol, sizeof set_device);
        err = set_device(number);
    }
    if (runtime)
        dlclose(runtime);
    return err || !symbol
               ? ferry_error_set(FERRY_EDEVICE, "%s: cannot make the device current for MPI",
                                 ferry_device_name(dev))
               : 0;
}
