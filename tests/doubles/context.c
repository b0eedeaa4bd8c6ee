/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices, their contexts, and the current context of each thread. */
#define _GNU_SOURCE
#include "double.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN ((size_t)1 << 33) /* size of a device's address range */

static struct device devices[MOST_DEVICES];
static pid_t owner; /* the process that initialised CUDA, which does not survive fork */

_Thread_local struct context *bound;
static _Thread_local int chosen; /* by cudaSetDevice, or the first */

struct device *device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < MOST_DEVICES ? &devices[ordinal] : NULL;
}

bool forked(void)
{
    if (!owner)
        owner = getpid();
    return owner != getpid();
}

/* ---- contexts; the lock is held ---- */

static void create(struct device *device)
{
    void *base;

    if (!device->base) {
        base = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return;
        device->base = device->cursor = base;
    }
    device->ordinal = (int)(device - devices);
    device->memory = settings.memory;
    device->primary.device = device;
    device->primary.sticky = cudaSuccess;
    device->primary.main = stream_new(&device->primary);
}

unsigned count_blocks(const struct device *device);
unsigned count_modules(const struct context *context);
void drop_blocks(const struct device *device);

/*
 * Called after the last release: frees all objects of the context, which their owners should have
 * freed.
 */
void context_destroy(struct context *context)
{
    struct device *device = context->device;
    unsigned left = 0;

    drain_context(context);
    for (struct stream *stream = streams; stream; stream = stream->next)
        left += stream->context == context && stream != context->main;
    if (context->sticky == cudaSuccess && (left || count_blocks(device) || count_modules(context)))
        (void)misuse("the context of device %d ends with %u streams, %u blocks and %u modules",
                     device->ordinal, left, count_blocks(device), count_modules(context));
    if (context->handles)
        (void)misuse("the context of device %d ends before %d handles of cuBLAS or cuDNN",
                     device->ordinal, context->handles);
    context->handles = 0;
    stream_delete(context->main);
    context->main = NULL;
    drop_blocks(device);
    device->used = 0;
    device->peers = 0;
    if (bound == context)
        bound = NULL;
}

void context_retain(struct device *device)
{
    if (device->primary.references++ == 0)
        create(device);
}

/* Makes a device's primary context current, which is created unless it exists. */
static void bind(int ordinal)
{
    if (!devices[ordinal].primary.references)
        context_retain(&devices[ordinal]);
    bound = &devices[ordinal].primary;
}

/* A context of HIP's exists without a call, and that of the first device is current. */
static cudaError_t bind_chosen(const char *call)
{
    cudaError_t error = cudaSuccess;

    if (!DOUBLE_IS_HIP)
        error = misuse("%s: no context is current, and the call would create one on device %d",
                       call, chosen);
    bind(chosen);
    return error;
}

cudaError_t current(const char *call, struct context **out)
{
    cudaError_t error;

    if (forked())
        return cudaErrorInitializationError;
    if (bound && !bound->references)
        return misuse("%s: the current context has been destroyed", call);
    error = bound ? cudaSuccess : bind_chosen(call);
    if (error != cudaSuccess)
        return error;
    *out = bound;
    return bound->sticky;
}

/* ---- the runtime's calls ---- */

cudaError_t cudaSetDevice(int ordinal)
{
    lock();
    if (!settings.memory) /* the devices have not been counted yet */
        settings_read();
    if (ordinal < 0 || ordinal >= settings.devices)
        return leave(cudaErrorInvalidDevice);
    chosen = ordinal;
    bind(ordinal);
    return leave(cudaSuccess);
}

cudaError_t cudaGetDevice(int *out)
{
    *out = bound ? bound->device->ordinal : chosen;
    return cudaSuccess;
}

int ferry_cuda_double_enter(const char *call, void **context)
{
    struct context *now = NULL;
    cudaError_t error;

    lock();
    error = enter(call);
    if (error == cudaSuccess)
        error = current(call, &now);
    if (error == cudaSuccess && *context && *context != now)
        error = misuse("%s: the handle belongs to another context", call);
    if (error == cudaSuccess)
        *context = now;
    return (int)leave_apart(error);
}
