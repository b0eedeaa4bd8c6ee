/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the device, pinned memory, and host memory that the device can access. */
#include "cuda.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- of the device ---- */

static int remember(struct cuda_device *dev, struct cuda_blocks *blocks, struct cuda_block block)
{
    bool done;

    pthread_mutex_lock(&dev->lock);
    done = cuda_blocks_add(blocks, block);
    pthread_mutex_unlock(&dev->lock);
    return done ? 0
                : cuda_host->error(FERRY_ENOMEM, "out of host memory for the record of a block");
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

/* Reports the amount of free memory, which the vendor's message lacks. */
static int fail_alloc(const struct cuda_device *dev, const char *call, cudaError_t error)
{
    size_t available = 0, total = 0;

    if (error != cudaErrorMemoryAllocation)
        return cuda_fail(call, error);
    cuda_forget(error);
    if (!cuda_memory_left(&available, &total))
        return cuda_fail(call, error);
    return cuda_host->error(FERRY_ENOMEM,
                            "%s: %s (%s): %zu of %" PRIu64 " bytes are free; " CUDA_TOOL
                            " shows which processes use the others",
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
        return fail_alloc(dev, dev->pool ? CALL(cudaMallocFromPoolAsync) : CALL(cudaMalloc), error);
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
        return cuda_host->error(FERRY_ENOMEM, "%" PRIu64 " bytes exceed the device's %" PRIu64,
                                bytes, dev->memory_total);
    err = cuda_enter_on(dev, queue, &scope);
    if (err)
        return err;
    cuda_free_late(dev);
    err = alloc_here(dev, cuda_queue_of(dev, queue), bytes, out_handle);
    cuda_leave(&scope);
    if (err)
        return err;
    dev->counters.live_bytes += bytes;
    *out_flags = 0;
    return 0;
}

/* ---- deferred frees during a capture ---- */

static bool is_captured(const struct cuda_queue *queue)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

    if (queue->owned && !atomic_load_explicit(&queue->known, memory_order_relaxed))
        return false;
    return cudaStreamIsCapturing(queue->stream, &capture) == cudaSuccess &&
           capture != cudaStreamCaptureStatusNone;
}

static bool put_off(struct cuda_device *dev, void *handle)
{
    struct cuda_late *late = malloc(sizeof(*late));

    if (!late)
        return false;
    late->handle = handle;
    late->next = atomic_load(&dev->late);
    while (!atomic_compare_exchange_weak(&dev->late, &late->next, late))
        ;
    return true;
}

/*
 * Frees the deferred blocks after all work that the default queue had when they were returned, as
 * the ABI requires.
 */
void cuda_free_late(struct cuda_device *dev)
{
    struct cuda_late *next;

    if (!atomic_load(&dev->late) || is_captured(&dev->main))
        return;
    for (struct cuda_late *late = atomic_exchange(&dev->late, NULL); late; late = next) {
        next = late->next;
        (void)release_block(dev, &dev->main, late->handle);
        free(late);
    }
}

/* Frees what can be freed; the remaining blocks are freed with the context. */
void cuda_late_clear(struct cuda_device *dev)
{
    struct cuda_late *next;

    for (struct cuda_late *late = atomic_exchange(&dev->late, NULL); late; late = next) {
        next = late->next;
        free(late);
    }
}

/*
 * Frees a block. Called with the context current. ferry frees in the order of the default queue,
 * which can be deferred; frees on other queues cannot.
 */
static int free_here(struct cuda_device *dev, struct cuda_queue *queue, void *handle)
{
    cudaError_t error;
    int err = 0;

    if (dev->pool && is_captured(queue))
        err = queue == &dev->main && put_off(dev, handle) ? 1 : cuda_refuse_queue(queue);
    if (err)
        return err < 0 ? err : 0;
    error = release_block(dev, queue, handle);
    return error == cudaSuccess
               ? 0
               : cuda_fail(dev->pool ? CALL(cudaFreeAsync) : CALL(cudaFree), error);
}

int cuda_free(void *device, void *queue, void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_block block;
    struct cuda_scope scope;
    int err;

    if (!forget(dev, &dev->blocks, handle, &block))
        return cuda_host->error(FERRY_EINVAL, "%p is not a block of this device", handle);
    dev->counters.live_bytes -= block.bytes;
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    cuda_free_late(dev);
    err = free_here(dev, cuda_queue_of(dev, queue), handle);
    cuda_leave(&scope);
    return err;
}

/*
 * Whether a pointer belongs to the device's memory. The address space is unified, so the runtime
 * also identifies the program's own allocations.
 */
int cuda_owns(void *device, const void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_place place;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (!err)
        err = cuda_end(&scope, CALL(cudaPointerGetAttributes), cuda_place_of(handle, &place));
    if (err)
        return err;
    return place.on_device && place.ordinal == dev->ordinal;
}

int cuda_memory_info(void *device, uint64_t *out_free, uint64_t *out_total)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    size_t available = 0, total = 0;
    int err = cuda_enter(dev, &scope);

    if (!err)
        err = cuda_end(&scope, CALL(cudaMemGetInfo), cudaMemGetInfo(&available, &total));
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
    cudaError_t error = cudaSuccess;
    int err;

    if (!dev->pool)
        return 0;
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    cuda_free_late(dev);
    if (!is_captured(&dev->main)) /* memory that ferry frees becomes available when this queue
                                   * reaches the free */
        error = cudaStreamSynchronize(dev->main.stream);
    if (error != cudaSuccess)
        return cuda_end(&scope, CALL(cudaStreamSynchronize), error);
    return cuda_end(&scope, CALL(cudaMemPoolTrimTo), cudaMemPoolTrimTo(dev->pool, 0));
}

/* ---- pinned ---- */

static int fail_pinned(uint64_t bytes, cudaError_t error)
{
    if (error != cudaErrorMemoryAllocation)
        return cuda_fail(CALL(cudaHostAlloc), error);
    cuda_forget(error);
    return cuda_host->error(FERRY_ENOMEM,
                            "%s of %" PRIu64 " bytes: %s (%s); pinned memory cannot be "
                            "swapped, and the machine or its container has too little",
                            CALL(cudaHostAlloc), bytes, cudaGetErrorName(error),
                            cudaGetErrorString(error));
}

static int pin(const struct cuda_device *dev, uint64_t bytes, void **out)
{
    unsigned kind = cudaHostAllocPortable | (dev->unified ? cudaHostAllocMapped : 0u);
    cudaError_t error = cudaHostAlloc(out, (size_t)bytes, kind);

    return error == cudaSuccess ? 0 : fail_pinned(bytes, error);
}

#define LINE ((size_t)64)

static int take_plain(uint64_t bytes, void **out)
{
    *out = bytes <= SIZE_MAX - LINE ? aligned_alloc(LINE, ((size_t)bytes + LINE - 1) / LINE * LINE)
                                    : NULL;
    return *out ? 0
                : cuda_host->error(FERRY_ENOMEM, "out of host memory for %" PRIu64 " bytes", bytes);
}

int cuda_host_alloc(void *device, uint64_t bytes, uint32_t flags, void **out_ptr,
                    uint32_t *out_flags)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    void *block = NULL;
    int err = cuda_enter(dev, &scope);

    (void)flags;
    if (err)
        return err;
    err = dev->plain ? take_plain(bytes, &block) : pin(dev, bytes, &block);
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
    int err = 0;

    if (dev->plain)
        free(ptr);
    else
        err = cuda_enter(dev, &scope);
    if (!err && !dev->plain)
        err = cuda_end(&scope, CALL(cudaFreeHost), cudaFreeHost(ptr));
    if (!err)
        dev->counters.live_host_blocks--;
    return err;
}

/* ---- host memory that the device accesses ---- */

/*
 * The device's address of host memory, which is registered if necessary. Called with the context
 * current.
 */
static int import_here(const struct cuda_device *dev, void *ptr, uint64_t bytes,
                       struct cuda_block *out)
{
    struct cuda_place place;
    cudaError_t error = cuda_place_of(ptr, &place);

    if (error == cudaSuccess && place.on_host && place.device_pointer) {
        out->handle = place.device_pointer;
        return 0;
    }
    cuda_forget(error);
    if (dev->host_page_tables) {
        out->handle = ptr;
        return 0;
    }
    error = cudaHostRegister(ptr, (size_t)bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
        (void)cuda_fail(CALL(cudaHostRegister), error);
        return FERRY_EUNSUPPORTED;
    }
    error = cudaHostGetDevicePointer(&out->handle, ptr, 0);
    if (error != cudaSuccess) {
        (void)cudaHostUnregister(ptr);
        return cuda_fail(CALL(cudaHostGetDevicePointer), error);
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
        return cuda_host->error(FERRY_EINVAL, "%p is not an import of this device", handle);
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    error = block.registered ? cudaHostUnregister(block.registered) : cudaSuccess;
    if (error != cudaSuccess)
        err = cuda_fail(CALL(cudaHostUnregister), error);
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
