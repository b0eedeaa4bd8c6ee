/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation: device memory, immediately or in a stream's order, and pinned host memory.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- immediate ---- */

cudaError_t cudaMalloc(void **out, size_t size)
{
    struct block *block;

    BEGIN(cudaMalloc);
    if (!size)
        return leave(misuse("cudaMalloc: 0 bytes"));
    error = capture_minds();
    if (error != cudaSuccess)
        return leave(error);
    block = block_new(context->device, size);
    if (!block)
        return leave(cudaErrorMemoryAllocation);
    *out = block->address;
    return leave(cudaSuccess);
}

/*
 * The documentation says that it "may" wait for a block's work. Here it does not wait for a pool's
 * block, so that a caller that relies on it has a race.
 */
cudaError_t cudaFree(void *address)
{
    struct block *block;

    BEGIN(cudaFree);
    block = block_find(address);
    if (!block)
        return leave(misuse("cudaFree: %p was freed, or never allocated", address));
    if (block->device != context->device)
        return leave(misuse("cudaFree: a block of device %d, while device %d is current",
                            block->device->ordinal, context->device->ordinal));
    if (block->users)
        return leave(misuse("cudaFree: %p is freed while %u commands still use it", address,
                            block->users));
    error = capture_minds();
    if (error != cudaSuccess)
        return leave(error);
    block_delete(block);
    return leave(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    BEGIN(cudaMemGetInfo);
    *available = context->device->memory - context->device->used;
    *total = context->device->memory;
    return leave(cudaSuccess);
}

/* ---- pools ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
    struct pool *pool;
    cudaError_t error;

    lock();
    error = enter("cudaMemPoolCreate");
    if (error == cudaSuccess && !settings.pools)
        error = cudaErrorNotSupported;
    if (error != cudaSuccess)
        return leave(error);
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= settings.devices)
        return leave(misuse("cudaMemPoolCreate: unsupported properties of a pool"));
    pool = calloc(1, sizeof(*pool));
    if (!pool)
        return leave(cudaErrorMemoryAllocation);
    pool->device = device_at(props->location.id);
    live_pools++;
    *out = (cudaMemPool_t)(void *)pool;
    return leave(cudaSuccess);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle)
{
    struct pool *pool = (struct pool *)(void *)handle;

    lock();
    drain_context(&pool->device->primary); /* freed blocks are released when their stream reaches
                                            * the free */
    if (pool->live && pool->device->primary.sticky == cudaSuccess)
        (void)misuse("cudaMemPoolDestroy: %u blocks are left", pool->live);
    forget_pool(pool);
    free(pool);
    live_pools--;
    return leave(cudaSuccess);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr which, void *value)
{
    struct pool *pool = (struct pool *)(void *)handle;
    cudaError_t error;

    lock();
    error = enter("cudaMemPoolSetAttribute");
    if (error == cudaSuccess && which != cudaMemPoolAttrReleaseThreshold)
        error = misuse("cudaMemPoolSetAttribute: attribute %d is not supported here", (int)which);
    if (error == cudaSuccess)
        memcpy(&pool->device->threshold, value, sizeof(uint64_t));
    return leave(error);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep)
{
    cudaError_t error;

    (void)handle, (void)keep;
    lock();
    error = enter("cudaMemPoolTrimTo");
    return leave(error);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const struct cudaMemAccessDesc *list,
                                 size_t count)
{
    struct pool *pool = (struct pool *)(void *)handle;
    cudaError_t error;

    lock();
    error = enter("cudaMemPoolSetAccess");
    if (error == cudaSuccess && !settings.peers)
        error = cudaErrorPeerAccessUnsupported;
    for (size_t i = 0; i < count && error == cudaSuccess; i++)
        pool->access |= 1u << list[i].location.id;
    return leave(error);
}

cudaError_t cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t handle,
                                    cudaStream_t stream_handle)
{
    struct pool *pool = (struct pool *)(void *)handle;
    struct stream *stream;
    struct command *command;
    struct block *block;

    BEGIN(cudaMallocFromPoolAsync);
    error = stream_of("cudaMallocFromPoolAsync", context, stream_handle, &stream);
    if (error == cudaSuccess && pool->device != context->device)
        error = misuse("cudaMallocFromPoolAsync: a pool of another device");
    if (error != cudaSuccess)
        return leave(error);
    block = block_new(context->device, size);
    if (!block) { /* blocks that are being freed may be enough */
        drain_context(context);
        block = block_new(context->device, size);
    }
    command = block ? command_new("cudaMallocFromPoolAsync", 0) : NULL;
    if (!command) {
        if (block)
            block_delete(block);
        return leave(cudaErrorMemoryAllocation);
    }
    block->pool = pool;
    pool->live++;
    block->ready = false;
    command->prepare = block;
    block->users++;
    submit(stream, command);
    *out = block->address;
    return leave(cudaSuccess);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t handle)
{
    struct stream *stream;
    struct command *command;
    struct block *block;

    BEGIN(cudaFreeAsync);
    error = stream_of("cudaFreeAsync", context, handle, &stream);
    if (error != cudaSuccess)
        return leave(error);
    block = block_find(address);
    if (!block || !block->pool)
        return leave(misuse("cudaFreeAsync: %p is not a live block of a pool", address));
    command = command_new("cudaFreeAsync", 0);
    if (!command)
        return leave(cudaErrorMemoryAllocation);
    block->freed = true;
    command->release = block;
    submit(stream, command);
    return leave(cudaSuccess);
}

/* ---- host memory ---- */

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    struct block *block;
    void *address;

    BEGIN(cudaHostAlloc);
    if (!(flags & cudaHostAllocPortable))
        return leave(misuse("cudaHostAlloc: pinned for one context only"));
    error = capture_minds();
    if (error != cudaSuccess)
        return leave(error);
    address = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    block = address == MAP_FAILED ? NULL : host_add(address, size, true);
    if (!block) {
        if (address != MAP_FAILED)
            munmap(address, whole);
        return leave(cudaErrorMemoryAllocation);
    }
    memset(address, 0xcd, size < 65536 ? size : 65536);
    *out = address;
    return leave(cudaSuccess);
}

static cudaError_t unpin(const char *call, void *address, bool allocated)
{
    struct block *block = host_find(address, 1);

    if (!block || block->address != address || block->allocated != allocated) {
        (void)misuse("%s: %p does not come from %s", call, address,
                     allocated ? "cudaHostAlloc" : "cudaHostRegister");
        return allocated ? cudaErrorInvalidValue : cudaErrorHostMemoryNotRegistered;
    }
    if (block->users)
        return misuse("%s: %p is in use by %u commands", call, address, block->users);
    if (allocated) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);

        munmap(address, (block->size + page - 1) / page * page);
    }
    block_delete(block);
    return cudaSuccess;
}

/* Succeeds in a context that has ended too. */
cudaError_t cudaFreeHost(void *address)
{
    struct context *context = NULL;
    cudaError_t error, unpinned;

    lock();
    error = enter("cudaFreeHost");
    if (error == cudaSuccess)
        error = current("cudaFreeHost", &context);
    if (error == cudaSuccess)
        error = capture_minds();
    if (!context || error == cudaErrorStreamCaptureUnsupported)
        return leave(error);
    unpinned = unpin("cudaFreeHost", address, true);
    return leave(error == cudaSuccess ? unpinned : error);
}

cudaError_t cudaHostRegister(void *address, size_t size, unsigned flags)
{
    BEGIN(cudaHostRegister);
    if (!(flags & cudaHostRegisterMapped))
        return leave(misuse("cudaHostRegister: not mapped"));
    if (is_device_address(address))
        return leave(misuse("cudaHostRegister: %p is a device pointer", address));
    if (block_within(address, size))
        return leave(cudaErrorHostMemoryAlreadyRegistered);
    return leave(host_add(address, size, false) ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostUnregister(void *address)
{
    BEGIN(cudaHostUnregister);
    return leave(unpin("cudaHostUnregister", address, false));
}

cudaError_t cudaHostGetDevicePointer(void **out, void *address, unsigned flags)
{
    BEGIN(cudaHostGetDevicePointer);
    (void)flags;
    if (!host_find(address, 1))
        return leave(cudaErrorInvalidValue);
    *out = address;
    return leave(cudaSuccess);
}
