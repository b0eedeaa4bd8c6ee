/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's own calls, which the runtime looks up, because a machine without a driver has no
 * libcuda to link. They make contexts current without cudaSetDevice.
 */
#include "cuda.h"

/*
 * Looks entries up by version if the runtime supports it: otherwise the newest variant of a name is
 * returned, and cuStreamGetCtx has one more argument since 12.5. The reference is weak, because a
 * plugin built with an older 12 may run with a newer runtime.
 */
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 12050
extern cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **out,
                                                    unsigned version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *found)
    __attribute__((weak));
#endif

static cudaError_t entry_point(const char *name, void **out)
{
    cudaError_t error;
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#endif

#if CUDART_VERSION >= 12050
    error = cudaGetDriverEntryPointByVersion(name, out, 11030, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
    if (cudaGetDriverEntryPointByVersion)
        error = cudaGetDriverEntryPointByVersion(name, out, 11030, cudaEnableDefault, &found);
    else
        error = cudaGetDriverEntryPoint(name, out, cudaEnableDefault, &found);
#else
    error = cudaGetDriverEntryPoint(name, out, cudaEnableDefault);
#endif
    if (error == cudaSuccess && !*out)
        error = cudaErrorSymbolNotFound;
    return error;
}

static int load(void)
{
    struct cuda_driver table = { 0 };
    cudaError_t error;

#define LOAD(member, function)                                      \
    error = entry_point(#function, (void **)(void *)&table.member); \
    if (error != cudaSuccess)                                       \
        return cuda_fail("cudaGetDriverEntryPoint of " #function, error);
    CUDA_DRIVER_ENTRIES(LOAD)
#undef LOAD
    cuda_driver = table;
    return 0;
}

int cuda_driver_load(void)
{
    static struct cuda_once once = CUDA_ONCE;

    return cuda_load_once(&once, load);
}

/* Reports why there is no device; causes that a user can fix have messages of their own. */
int cuda_fail_count(cudaError_t error)
{
    const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
    int driver = 0;

    cuda_forget(error);
    if (error == cudaErrorNoDevice)
        return cuda_host->error(FERRY_ENODEV,
                                "cudaGetDeviceCount: %s (%s): the driver works but finds no GPU; "
                                "CUDA_VISIBLE_DEVICES may hide it",
                                name, text);
    if (error != cudaErrorInsufficientDriver)
        return cuda_fail(CALL(cudaGetDeviceCount), error);
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return cuda_host->error(FERRY_ENODEV,
                                "cudaGetDeviceCount: %s: no NVIDIA driver (libcuda.so.1); install "
                                "it, and check that nvidia-smi runs",
                                name);
    return cuda_host->error(FERRY_ENODEV,
                            "cudaGetDeviceCount: %s: the driver is too old: it supports CUDA "
                            "%d.%d, and this plugin was built with %d.%d; install a newer driver",
                            name, driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                            CUDART_VERSION % 1000 / 10);
}
