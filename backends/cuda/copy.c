/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies to and from the host, within a device and between two, and memsets.
 */
#include "cuda.h"

#include <inttypes.h>
#include <string.h>

static bool overlap(const void *a, const void *b, uint64_t bytes)
{
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;

    return first < second ? second - first < bytes : first - second < bytes;
}

/*
 * Copies bytes: asynchronously for pinned memory; for other memory the runtime stages the copy
 * itself.
 */
int cuda_memcpy(void *device, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    static const enum cudaMemcpyKind kinds[] = { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                 cudaMemcpyDeviceToDevice };
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err;

    if (kind < FERRY_MEMCPY_H2D || kind > FERRY_MEMCPY_D2D)
        return cuda_host->error(FERRY_EINVAL, "%" PRIu32 " is not a kind of copy", kind);
    if (kind == FERRY_MEMCPY_D2D && overlap(cuda_at(dst), cuda_at_const(src), bytes))
        return cuda_host->error(FERRY_EINVAL, "source and destination overlap");
    err = cuda_enter_on(dev, queue, &scope);
    if (!err)
        err = cuda_end(&scope, CALL(cudaMemcpyAsync),
                       cudaMemcpyAsync(cuda_at(dst), cuda_at_const(src), (size_t)bytes,
                                       kinds[kind - 1], cuda_queue_of(dev, queue)->stream));
    if (err)
        return err;
    dev->counters.copies[kind - 1]++;
    dev->counters.bytes[kind - 1] += bytes;
    return 0;
}

int cuda_memset(void *device, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, queue, &scope);

    if (!err)
        err = cuda_end(&scope, CALL(cudaMemsetAsync),
                       cudaMemsetAsync(cuda_at(dst), (int)(byte & 0xff), (size_t)bytes,
                                       cuda_queue_of(dev, queue)->stream));
    if (!err)
        dev->counters.memsets++;
    return err;
}

int cuda_copy(void *device, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    struct cuda_device *dev = device;
    uint64_t bytes = (uint64_t)n * cuda_element_size(dtype);
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, queue, &scope);

    if (!err)
        err =
            cuda_end(&scope, CALL(cudaMemcpyAsync),
                     cudaMemcpyAsync(cuda_at(y), cuda_at_const(x), (size_t)bytes,
                                     cudaMemcpyDeviceToDevice, cuda_queue_of(dev, queue)->stream));
    if (!err)
        dev->counters.ops++;
    return err;
}

/* ---- peers ---- */

/* Allows `dev` to access the memory of `peer`. Called with the context of `dev` current. */
static cudaError_t open_way(struct cuda_device *dev, struct cuda_device *peer)
{
    struct cudaMemAccessDesc access = { .location = { .type = cudaMemLocationTypeDevice,
                                                      .id = dev->ordinal },
                                        .flags = cudaMemAccessFlagsProtReadWrite };
    int can = 0;
    cudaError_t error = cudaDeviceCanAccessPeer(&can, dev->ordinal, peer->ordinal);

    if (error == cudaSuccess && !can)
        error = cudaErrorPeerAccessUnsupported;
    if (error == cudaSuccess)
        error = cudaDeviceEnablePeerAccess(peer->ordinal, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cuda_forget(error);
        error = cudaSuccess;
    }
    if (error == cudaSuccess && peer->pool) /* peer access does not include the pool of the peer */
        error = cudaMemPoolSetAccess(peer->pool, &access, 1);
    cuda_forget(error);
    return error;
}

static bool connect(struct cuda_device *dev, struct cuda_device *peer)
{
    struct cuda_scope scope;
    cudaError_t error;

    if (cuda_enter(dev, &scope))
        return false;
    error = open_way(dev, peer);
    cuda_leave(&scope);
    if (error != cudaSuccess && error != cudaErrorPeerAccessUnsupported)
        cuda_host->log(FERRY_LOG_WARN, CUDA_PLUGIN ":%u cannot reach " CUDA_PLUGIN ":%u: %s",
                       dev->index, peer->index, cudaGetErrorName(error));
    return error == cudaSuccess;
}

/*
 * Whether two of ferry's devices are the same GPU, as when one was adopted with the program's
 * stream.
 */
static bool are_one(const struct cuda_device *a, const struct cuda_device *b)
{
    return a->context == b->context;
}

/*
 * Whether a peer copy is possible; asked once per pair. cudaMemcpyPeerAsync identifies devices by
 * their primary contexts: a device that was adopted with another context is copied through the
 * host.
 */
int cuda_peer_access(void *dst_dev, void *src_dev)
{
    struct cuda_device *dst = dst_dev, *src = src_dev;
    struct cuda_way way;

    if (are_one(dst, src))
        return 1;
    if (!dst->primary || !src->primary || dst->ordinal == src->ordinal ||
        (unsigned)src->ordinal >= CUDA_MAX_DEVICES)
        return 0;
    pthread_mutex_lock(&dst->lock);
    way = dst->peers[src->ordinal];
    pthread_mutex_unlock(&dst->lock);
    if (way.serial != src->serial) {
        way.open = connect(dst, src) && connect(src, dst);
        way.serial = src->serial;
        pthread_mutex_lock(&dst->lock);
        dst->peers[src->ordinal] = way;
        pthread_mutex_unlock(&dst->lock);
    }
    return way.open;
}

int cuda_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                   uint64_t bytes)
{
    struct cuda_device *to = dst_dev, *from = src_dev;
    struct cuda_scope scope;
    cudaStream_t stream = cuda_queue_of(to, queue)->stream;
    int err = cuda_enter_on(to, queue, &scope);

    if (!err && are_one(to, from))
        err = cuda_end(&scope, CALL(cudaMemcpyAsync),
                       cudaMemcpyAsync(cuda_at(dst), cuda_at_const(src), (size_t)bytes,
                                       cudaMemcpyDeviceToDevice, stream));
    else if (!err)
        err = cuda_end(&scope, CALL(cudaMemcpyPeerAsync),
                       cudaMemcpyPeerAsync(cuda_at(dst), to->ordinal, cuda_at_const(src),
                                           from->ordinal, (size_t)bytes, stream));
    if (err)
        return err;
    to->counters.copies[FERRY_MEMCPY_D2D - 1]++;
    to->counters.bytes[FERRY_MEMCPY_D2D - 1] += bytes;
    return 0;
}
