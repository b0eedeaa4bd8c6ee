/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies and sets. Copies of pinned memory are fully asynchronous: it is read or written when the
 * command runs. Unpinned memory is staged on the way to the device, and a copy to it waits.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct move {
    unsigned char *to;
    const unsigned char *from;
    size_t size;
    unsigned char *to_written; /* NULL: not tracked, and from_written too */
    const unsigned char *from_written;
};

static int run_move(void *argument)
{
    const struct move *move = argument;

    memmove(move->to, move->from, move->size);
    if (move->to_written && move->from_written)
        memmove(move->to_written, move->from_written, move->size);
    else if (move->to_written)
        memset(move->to_written, 1, move->size);
    return cudaSuccess;
}

/*
 * The host side; NULL if the pointer is not valid. *out_pinned: the device can access it directly.
 */
static unsigned char *host_side(struct command *command, const void *address, size_t size,
                                bool *out_pinned)
{
    struct block *block = host_find(address, size);

    if (is_device_address(address)) {
        (void)misuse("%s: %p is a device pointer, host memory is required", command->call,
                     (void *)(uintptr_t)address);
        return NULL;
    }
    *out_pinned = block != NULL;
    if (block)
        use(command, block);
    return (unsigned char *)(uintptr_t)address;
}

static cudaError_t copy_in(struct stream *stream, struct command *command, void *to,
                           const void *from, size_t size)
{
    struct move *move = command->argument;
    bool pinned = false;

    move->to = resolve(command->call, command, stream->context->device, to, size);
    move->to_written = written_at(to);
    move->from = host_side(command, from, size, &pinned);
    if (!move->to || !move->from)
        return cudaErrorInvalidValue;
    if (!pinned) { /* the command owns a copy of it */
        move = realloc(command->argument, sizeof(*move) + size);
        if (!move)
            return cudaErrorMemoryAllocation;
        command->argument = move;
        move->from = memcpy(move + 1, move->from, size);
        staged_bytes += size;
    }
    submit(stream, command);
    return cudaSuccess;
}

static cudaError_t copy_out(struct stream *stream, struct command *command, void *to,
                            const void *from, size_t size)
{
    struct move *move = command->argument;
    bool pinned = false;

    move->to = host_side(command, to, size, &pinned);
    move->from = resolve(command->call, command, stream->context->device, from, size);
    if (!move->to || !move->from)
        return cudaErrorInvalidValue;
    submit(stream, command);
    if (pinned)
        return cudaSuccess;
    staged_bytes += size;
    drain(stream);
    return stream->context->sticky;
}

static cudaError_t copy_within(struct stream *stream, struct command *command, void *to,
                               const void *from, size_t size)
{
    struct device *device = stream->context->device;
    struct move *move = command->argument;

    move->to = resolve(command->call, command, device, to, size);
    move->to_written = written_at(to);
    move->from_written = written_at(from);
    move->from = resolve(command->call, command, device, from, size);
    if (!move->to || !move->from)
        return cudaErrorInvalidValue;
    if (move->to < move->from + size && move->from < move->to + size)
        return misuse("%s: source and destination overlap", command->call);
    submit(stream, command);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t handle)
{
    struct command *command;
    struct stream *stream;
    uint64_t before;

    BEGIN(cudaMemcpyAsync);
    error = stream_of("cudaMemcpyAsync", context, handle, &stream);
    if (error != cudaSuccess)
        return leave(error);
    command = command_new("cudaMemcpyAsync", sizeof(struct move));
    if (!command)
        return leave(cudaErrorMemoryAllocation);
    command->run = run_move;
    ((struct move *)command->argument)->size = size;
    before = stream->submitted;
    if (kind == cudaMemcpyHostToDevice)
        error = copy_in(stream, command, to, from, size);
    else if (kind == cudaMemcpyDeviceToHost)
        error = copy_out(stream, command, to, from, size);
    else if (kind == cudaMemcpyDeviceToDevice)
        error = copy_within(stream, command, to, from, size);
    else
        error = misuse("cudaMemcpyAsync: kind %d", (int)kind);
    if (stream->submitted == before)
        command_delete(command);
    return leave(error);
}

/* ---- between devices ---- */

static bool is_direct(const struct block *to, const struct block *from)
{
    unsigned mask = 1u << to->device->ordinal;

    return from->pool ? (from->pool->access & mask) != 0
                      : (to->device->peers >> from->device->ordinal) & 1;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t handle)
{
    struct command *command;
    struct stream *stream;
    struct move *move;

    BEGIN(cudaMemcpyPeerAsync);
    error = stream_of("cudaMemcpyPeerAsync", context, handle, &stream);
    if (error == cudaSuccess &&
        (!device_at(to_device)->primary.references || !device_at(from_device)->primary.references))
        error = misuse("cudaMemcpyPeerAsync: a device without a context");
    command = error == cudaSuccess ? command_new("cudaMemcpyPeerAsync", sizeof(*move)) : NULL;
    if (!command)
        return leave(error == cudaSuccess ? cudaErrorMemoryAllocation : error);
    command->run = run_move;
    move = command->argument;
    move->size = size;
    move->to = resolve(command->call, command, device_at(to_device), to, size);
    move->to_written = written_at(to);
    move->from_written = written_at(from);
    move->from = resolve(command->call, command, device_at(from_device), from, size);
    if (!move->to || !move->from) {
        command_delete(command);
        return leave(cudaErrorInvalidValue);
    }
    *(is_direct(command->uses[0], command->uses[1]) ? &direct_bytes : &indirect_bytes) += size;
    submit(stream, command);
    return leave(cudaSuccess);
}

/* ---- sets ---- */

struct set {
    unsigned char *to, *written;
    size_t n;
    unsigned value, width;
};

static int run_set(void *argument)
{
    const struct set *set = argument;

    for (size_t i = 0; i < set->n; i++)
        memcpy(set->to + i * set->width, &set->value, set->width);
    if (set->written)
        memset(set->written, 1, set->n * set->width);
    return cudaSuccess;
}

/* Little-endian, as on every machine with CUDA. (locked; unlocks) */
static cudaError_t submit_set(const char *call, struct context *context, void *to, unsigned value,
                              unsigned width, size_t n, cudaStream_t handle)
{
    struct command *command;
    struct stream *stream;
    struct set *set;
    cudaError_t error = stream_of(call, context, handle, &stream);

    command = error == cudaSuccess ? command_new(call, sizeof(*set)) : NULL;
    if (!command)
        return leave(error == cudaSuccess ? cudaErrorMemoryAllocation : error);
    set = command->argument;
    command->run = run_set;
    if ((uintptr_t)to % width)
        error = misuse("%s: %p is not aligned", call, to);
    set->to = error == cudaSuccess ? resolve(call, command, context->device, to, n * width) : NULL;
    if (!set->to) {
        command_delete(command);
        return leave(cudaErrorInvalidValue);
    }
    set->written = written_at(to);
    set->value = value;
    set->width = width;
    set->n = n;
    submit(stream, command);
    return leave(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t handle)
{
    BEGIN(cudaMemsetAsync);
    return submit_set("cudaMemsetAsync", context, to, (unsigned)value & 0xff, 1, size, handle);
}

CUresult memset_d16(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
    struct context *context = NULL;
    cudaError_t error;

    lock();
    error = enter("cuMemsetD16Async");
    if (error == cudaSuccess)
        error = current("cuMemsetD16Async", &context);
    if (error != cudaSuccess)
        return (CUresult)leave(error);
    return (CUresult)submit_set("cuMemsetD16Async", context, (void *)(uintptr_t)dst, value, 2, n,
                                (cudaStream_t)stream);
}

CUresult memset_d32(CUdeviceptr dst, CUDA_WORD value, size_t n, CUstream stream)
{
    struct context *context = NULL;
    cudaError_t error;

    lock();
    error = enter("cuMemsetD32Async");
    if (error == cudaSuccess)
        error = current("cuMemsetD32Async", &context);
    if (error != cudaSuccess)
        return (CUresult)leave(error);
    return (CUresult)submit_set("cuMemsetD32Async", context, (void *)(uintptr_t)dst,
                                (unsigned)value, 4, n, (cudaStream_t)stream);
}

/* ---- for cuBLAS ---- */

int ferry_cuda_double_is_device(const void *address)
{
    int is;

    lock();
    is = is_device_address(address);
    unlock();
    return is;
}

int ferry_cuda_double_submit(const char *call, void *context_handle, cudaStream_t handle,
                             int (*run)(void *), const void *argument, size_t size,
                             const struct ferry_cuda_double_operand *operands, const size_t *places,
                             unsigned count)
{
    struct context *context = context_handle;
    struct command *command;
    struct stream *stream;
    cudaError_t error;

    lock();
    error = stream_of(call, context, handle, &stream);
    command = error == cudaSuccess ? command_new(call, size) : NULL;
    if (!command)
        return (int)leave_apart(error == cudaSuccess ? cudaErrorMemoryAllocation : error);
    command->run = run;
    memcpy(command->argument, argument, size);
    for (unsigned i = 0; i < count && error == cudaSuccess; i++) {
        unsigned char *bytes = operands[i].bytes; /* NULL: the storage of `address` */

        if (operands[i].size && !bytes)
            bytes = resolve(call, command, context->device, operands[i].address, operands[i].size);
        if (operands[i].size && !bytes)
            error = cudaErrorInvalidValue;
        else if (operands[i].size && written_at(operands[i].address))
            /* Inputs as well, because operands do not distinguish them. */
            memset(written_at(operands[i].address), 1, operands[i].size);
        memcpy((char *)command->argument + places[i], &bytes, sizeof(bytes));
    }
    if (error == cudaSuccess)
        submit(stream, command);
    else
        command_delete(command);
    return (int)leave_apart(error);
}

void ferry_cuda_double_wait(cudaStream_t handle, void *context)
{
    struct stream *stream;

    lock();
    if (stream_of("cublas", context, handle, &stream) == cudaSuccess)
        drain(stream);
    unlock();
}
