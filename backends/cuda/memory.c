/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: of the device, pinned, and the host's own where a device can use it.
 */
#include "cuda.h"

#include <inttypes.h>

/* ---- of the device ---- */

static int remember(struct cuda_device *dev, struct cuda_blocks *blocks, struct cuda_block block)
{
    bool done;

    pthread_mutex_lock(&dev->lock);
    done = cuda_blocks_add(blocks, block);
    pthread_mutex_unlock(&dev->lock);
    return done ? 0 : cuda_host->error(FERRY_ENOMEM, "no host memory to note a block");
}

static bool forget(struct cuda_device *dev, struct cuda_blocks *blocks, const void *handle,
                   struct cuda_block *out)
{
    bool found;

    pthread_mutex_lock(&dev->lock);
    found = cuda_blocks_take(blocks, handle, out);
    pthread_mutex_unlock(&dev->lock);
    return found;
}

/* Says how much there was, since the vendor does not. */
static int fail_alloc(const struct cuda_device *dev, const char *call, cudaError_t error)
{
    size_t available = 0, total = 0;

    if (error != cudaErrorMemoryAllocation)
        return cuda_fail(call, error);
    (void)cudaGetLastError();
    if (cudaMemGetInfo(&available, &total) != cudaSuccess)
        return cuda_fail(call, error);
    return cuda_host->error(FERRY_ENOMEM,
                            "%s: %s (%s): %zu of %" PRIu64 " bytes are free; nvidia-smi shows who "
                            "holds the others",
                            call, cudaGetErrorName(error), cudaGetErrorString(error), available,
                            dev->memory_total);
}

static cudaError_t release_block(const struct cuda_device *dev, const struct cuda_queue *queue,
                                 void *block)
{
    return dev->pool ? cudaFreeAsync(block, queue->stream) : cudaFree(block);
}

static int alloc_here(struct cuda_device *dev, struct cuda_queue *queue, uint64_t bytes, void **out)
{
    cudaError_t error;
    void *block = NULL;
    int err;

    if (dev->pool)
        error = cudaMallocFromPoolAsync(&block, (size_t)bytes, dev->pool, queue->stream);
    else
        error = cudaMalloc(&block, (size_t)bytes);
    if (error != cudaSuccess)
        return fail_alloc(dev, dev->pool ? "cudaMallocFromPoolAsync" : "cudaMalloc", error);
    err = remember(dev, &dev->blocks, (struct cuda_block){ block, bytes, NULL });
    if (err)
        (void)release_block(dev, queue, block);
    else
        *out = block;
    return err;
}

int cuda_alloc(void *device, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
               uint32_t *out_flags)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err;

    (void)flags;
    if (bytes > dev->memory_total)
        return cuda_host->error(FERRY_ENOMEM, "%" PRIu64 " bytes of a device that has %" PRIu64,
                                bytes, dev->memory_total);
    err = cuda_enter_on(dev, queue, &scope);
    if (err)
        return err;
    err = alloc_here(dev, cuda_queue_of(dev, queue), bytes, out_handle);
    cuda_leave(&scope);
    if (err)
        return err;
    dev->counters.live_bytes += bytes;
    *out_flags = 0;
    return 0;
}

int cuda_free(void *device, void *queue, void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_block block;
    struct cuda_scope scope;
    int err;

    if (!forget(dev, &dev->blocks, handle, &block))
        return cuda_host->error(FERRY_EINVAL, "%p is no block of this device", handle);
    dev->counters.live_bytes -= block.bytes;
    err = cuda_enter(dev, &scope);
    return err ? err
               : cuda_end(&scope, dev->pool ? "cudaFreeAsync" : "cudaFree",
                          release_block(dev, cuda_queue_of(dev, queue), handle));
}

/* Addresses are of one space, so the runtime can tell, of the program's own allocations too. */
int cuda_owns(void *device, const void *handle)
{
    struct cuda_device *dev = device;
    struct cudaPointerAttributes what = { .type = cudaMemoryTypeUnregistered };
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (!err)
        err = cuda_end(&scope, "cudaPointerGetAttributes", cudaPointerGetAttributes(&what, handle));
    if (err)
        return err;
    return (what.type == cudaMemoryTypeDevice || what.type == cudaMemoryTypeManaged) &&
           what.device == dev->ordinal;
}

int cuda_memory_info(void *device, uint64_t *out_free, uint64_t *out_total)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    size_t available = 0, total = 0;
    int err = cuda_enter(dev, &scope);

    if (!err)
        err = cuda_end(&scope, "cudaMemGetInfo", cudaMemGetInfo(&available, &total));
    if (err)
        return err;
    *out_free = available;
    *out_total = total;
    return 0;
}

int cuda_trim(void *device)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    cudaError_t error;
    int err;

    if (!dev->pool)
        return 0;
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    error = cudaDeviceSynchronize(); /* what was freed in order is free only now */
    if (error == cudaSuccess)
        error = cudaMemPoolTrimTo(dev->pool, 0);
    return cuda_end(&scope, "cudaMemPoolTrimTo", error);
}

/* ---- pinned ---- */

static int fail_pinned(uint64_t bytes, cudaError_t error)
{
    if (error != cudaErrorMemoryAllocation)
        return cuda_fail("cudaHostAlloc", error);
    (void)cudaGetLastError();
    return cuda_host->error(FERRY_ENOMEM,
                            "cudaHostAlloc of %" PRIu64 " bytes: %s (%s); pinned memory cannot be "
                            "swapped, and the machine or its container has too little",
                            bytes, cudaGetErrorName(error), cudaGetErrorString(error));
}

int cuda_host_alloc(void *device, uint64_t bytes, uint32_t flags, void **out_ptr,
                    uint32_t *out_flags)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    unsigned kind = cudaHostAllocPortable | (dev->unified ? cudaHostAllocMapped : 0u);
    void *block = NULL;
    cudaError_t error;
    int err = cuda_enter(dev, &scope);

    (void)flags;
    if (err)
        return err;
    error = cudaHostAlloc(&block, (size_t)bytes, kind);
    if (error != cudaSuccess)
        err = fail_pinned(bytes, error);
    cuda_leave(&scope);
    if (err)
        return err;
    dev->counters.live_host_blocks++;
    *out_ptr = block;
    *out_flags = 0;
    return 0;
}

int cuda_host_free(void *device, void *ptr)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (!err)
        err = cuda_end(&scope, "cudaFreeHost", cudaFreeHost(ptr));
    if (!err)
        dev->counters.live_host_blocks--;
    return err;
}

/* ---- the host's, used by the device ---- */

/* With the context current: the device's address of host memory, registering it where need be. */
static int import_here(const struct cuda_device *dev, void *ptr, uint64_t bytes,
                       struct cuda_block *out)
{
    struct cudaPointerAttributes what;
    cudaError_t error = cudaPointerGetAttributes(&what, ptr);

    if (error == cudaSuccess && what.type == cudaMemoryTypeHost && what.devicePointer) {
        out->handle = what.devicePointer;
        return 0;
    }
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    if (dev->host_page_tables) {
        out->handle = ptr;
        return 0;
    }
    error = cudaHostRegister(ptr, (size_t)bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
        (void)cuda_fail("cudaHostRegister", error);
        return FERRY_EUNSUPPORTED;
    }
    error = cudaHostGetDevicePointer(&out->handle, ptr, 0);
    if (error != cudaSuccess) {
        (void)cudaHostUnregister(ptr);
        return cuda_fail("cudaHostGetDevicePointer", error);
    }
    out->registered = ptr;
    return 0;
}

int cuda_import_host(void *device, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    struct cuda_device *dev = device;
    struct cuda_block block = { NULL, bytes, NULL };
    struct cuda_scope scope;
    int err;

    (void)flags;
    if (!dev->unified)
        return cuda_host->error(FERRY_EUNSUPPORTED, "the device has memory of its own");
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    err = import_here(dev, ptr, bytes, &block);
    if (!err)
        err = remember(dev, &dev->imports, block);
    if (err && block.registered)
        (void)cudaHostUnregister(ptr);
    cuda_leave(&scope);
    if (!err)
        *out_handle = block.handle;
    return err;
}

int cuda_unimport_host(void *device, void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_block block;
    struct cuda_scope scope;
    cudaError_t error;
    int err;

    if (!forget(dev, &dev->imports, handle, &block))
        return cuda_host->error(FERRY_EINVAL, "%p is no import of this device", handle);
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    error = block.registered ? cudaHostUnregister(block.registered) : cudaSuccess;
    if (error != cudaSuccess)
        err = cuda_fail("cudaHostUnregister", error);
    cuda_leave(&scope);
    return err;
}

int cuda_map(void *device, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    struct cuda_device *dev = device;
    int err = cuda_queue_synchronize(dev, queue);

    (void)handle, (void)bytes, (void)access;
    if (err)
        return err;
    dev->counters.maps++;
    dev->counters.live_maps++;
    return 0;
}

int cuda_unmap(void *device, void *queue, void *handle)
{
    struct cuda_device *dev = device;

    (void)queue, (void)handle;
    dev->counters.unmaps++;
    dev->counters.live_maps--;
    return 0;
}
