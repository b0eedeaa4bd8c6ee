/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams, each a thread that runs its commands later, one after the other; and events.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct stream *streams;
unsigned live_events;

/* ---- commands; the lock is held ---- */

struct command *command_new(const char *call, size_t argument_size)
{
    struct command *command = calloc(1, sizeof(*command));

    if (!command)
        return NULL;
    command->call = call;
    command->argument_size = argument_size;
    command->fails = fails_later(call);
    command->argument = argument_size ? calloc(1, argument_size) : NULL;
    return command;
}

void command_delete(struct command *command)
{
    for (unsigned i = 0; i < command->used; i++)
        if (--command->uses[i]->users == 0 && command->uses[i]->orphan)
            block_delete(command->uses[i]);
    free(command->argument);
    free(command);
}

static void mark_release(struct mark *mark)
{
    if (mark && --mark->references == 0)
        free(mark);
}

/* Using a block before its stream has reached the allocation is a race. */
static void check_uses(const struct command *command)
{
    for (unsigned i = 0; i < command->used; i++)
        if (!command->uses[i]->ready)
            (void)misuse("%s: %p is used before its stream has reached the allocation",
                         command->call, (void *)command->uses[i]->address);
}

static void release_block(const struct command *command)
{
    if (command->release->users)
        (void)misuse("%s: %p is freed while %u commands of other streams still use it",
                     command->call, (void *)command->release->address, command->release->users);
    command->release->orphan = command->release->users != 0;
    if (!command->release->orphan)
        block_delete(command->release);
}

/*
 * If the block was freed on another stream before its own stream reached the allocation, the race
 * was reported already.
 */
static void prepare_block(const struct command *command)
{
    struct block *block = command->prepare;

    block->ready = true;
    if (--block->users == 0 && block->orphan)
        block_delete(block);
}

/* Changes the bytes as the command requires, without the lock. */
static cudaError_t run(const struct command *command)
{
    if (settings.late)
        usleep(settings.late);
    if (command->fails != cudaSuccess)
        return command->fails;
    return command->run ? (cudaError_t)command->run(command->argument) : cudaSuccess;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void step(struct stream *stream)
{
    struct command *command = stream->head;
    cudaError_t error = cudaSuccess;

    while (command->await && !command->await->done)
        wait_for_change();
    if (stream->context->sticky == cudaSuccess) {
        check_uses(command);
        unlock();
        error = run(command);
        lock();
        if (error != cudaSuccess)
            stream->context->sticky = error;
    }
    if (command->prepare)
        prepare_block(command);
    stream->head = command->next;
    if (!stream->head)
        stream->tail = &stream->head;
    if (command->mark) {
        command->mark->at = now();
        command->mark->done = true;
    }
    mark_release(command->mark);
    mark_release(command->await);
    if (command->release)
        release_block(command);
    command_delete(command);
    stream->done++;
    announce();
}

static void *worker(void *argument)
{
    struct stream *stream = argument;

    lock();
    for (;;) {
        while (!stream->quit && (!stream->head || stream->held || (held && !waiting)))
            wait_for_change();
        if (stream->head)
            step(stream);
        else
            break;
    }
    unlock();
    return NULL;
}

/* ---- streams; the lock is held ---- */

struct stream *stream_new(struct context *context)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    pthread_attr_t small;

    if (!stream)
        return NULL;
    stream->context = context;
    stream->tail = &stream->head;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 22); /* a kernel keeps a group on its stack */
    if (pthread_create(&stream->thread, &small, worker, stream) != 0) {
        free(stream);
        stream = NULL;
    } else {
        stream->next = streams;
        streams = stream;
    }
    pthread_attr_destroy(&small);
    return stream;
}

void stream_delete(struct stream *stream)
{
    struct stream **link = &streams;

    drain(stream);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream->quit = true;
    announce();
    unlock();
    pthread_join(stream->thread, NULL);
    lock();
    free(stream);
}

bool is_stream(const void *handle)
{
    for (const struct stream *stream = streams; stream; stream = stream->next)
        if (stream == handle)
            return true;
    return false;
}

cudaError_t stream_of(const char *call, struct context *context, cudaStream_t handle,
                      struct stream **out)
{
    struct stream *stream = (struct stream *)(void *)handle;

    if (!handle || handle == cudaStreamLegacy) {
        *out = context->main;
        return cudaSuccess;
    }
    if (!is_stream(handle)) {
        (void)misuse("%s: %p is not a stream", call, (void *)handle);
        return cudaErrorInvalidResourceHandle;
    }
    if (stream->context != context) {
        (void)misuse("%s: the stream belongs to device %d, while device %d is current", call,
                     stream->context->device->ordinal, context->device->ordinal);
        return cudaErrorInvalidResourceHandle;
    }
    if (stream->captured && !capture_takes(stream, call))
        (void)misuse(stream->capture.takes_work ? "%s: a graph of it is not known here"
                                                : "%s: the program is capturing the stream",
                     call);
    *out = stream;
    return cudaSuccess;
}

void submit(struct stream *stream, struct command *command)
{
    if (stream->captured && stream->capture.takes_work) {
        *stream->capture.tail = command;
        stream->capture.tail = &command->next;
        return;
    }
    *stream->tail = command;
    stream->tail = &command->next;
    stream->submitted++;
    announce();
}

void drain(struct stream *stream)
{
    uint64_t until = stream->submitted;

    waiting++;
    announce();
    while (stream->done < until)
        wait_for_change();
    waiting--;
}

void drain_context(struct context *context)
{
    for (struct stream *stream = streams; stream; stream = stream->next)
        if (stream->context == context)
            drain(stream);
}

/* The runtime's own functions; each works in the current context. */

/* BEGIN for functions that free: they succeed in a context that has ended too. */
#define BEGIN_BACK(call)                  \
    struct context *context = NULL;       \
    cudaError_t error;                    \
    lock();                               \
    error = enter(#call);                 \
    if (error == cudaSuccess)             \
        error = current(#call, &context); \
    if (!context)                         \
    return leave(error)

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    struct stream *stream;

    BEGIN(cudaStreamCreateWithFlags);
    if (flags != cudaStreamNonBlocking)
        return leave(misuse("cudaStreamCreateWithFlags: a stream that synchronizes with the "
                            "default one"));
    stream = stream_new(context);
    if (!stream)
        return leave(cudaErrorMemoryAllocation);
    *out = (cudaStream_t)(void *)stream;
    return leave(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    struct stream *stream;

    BEGIN_BACK(cudaStreamDestroy);
    if (stream_of("cudaStreamDestroy", context, handle, &stream) != cudaSuccess)
        return leave(cudaErrorInvalidResourceHandle);
    if (stream == context->main)
        return leave(misuse("cudaStreamDestroy: the default stream"));
    stream_delete(stream);
    return leave(error);
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    struct stream *stream;

    BEGIN(cudaStreamQuery);
    error = stream_of("cudaStreamQuery", context, handle, &stream);
    if (error == cudaSuccess)
        error = context->sticky;
    if (error == cudaSuccess && stream->done != stream->submitted)
        error = cudaErrorNotReady;
    return leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    struct stream *stream;

    BEGIN(cudaStreamSynchronize);
    error = stream_of("cudaStreamSynchronize", context, handle, &stream);
    if (error == cudaSuccess)
        drain(stream);
    return leave(error == cudaSuccess ? context->sticky : error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    BEGIN(cudaDeviceSynchronize);
    error = capture_ends(context);
    if (error != cudaSuccess)
        return leave(error);
    drain_context(context);
    return leave(context->sticky);
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    struct event *event;

    BEGIN(cudaEventCreateWithFlags);
    if (flags & ~(unsigned)cudaEventDisableTiming)
        return leave(misuse("cudaEventCreateWithFlags: flags %#x", flags));
    event = calloc(1, sizeof(*event));
    if (!event)
        return leave(cudaErrorMemoryAllocation);
    event->context = context;
    event->timing = !(flags & cudaEventDisableTiming);
    live_events++;
    *out = (cudaEvent_t)(void *)event;
    return leave(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    BEGIN_BACK(cudaEventDestroy);
    if (!handle)
        return leave(misuse("cudaEventDestroy: no event"));
    live_events--;
    mark_release(((struct event *)(void *)handle)->latest);
    free(handle);
    return leave(error);
}

/* A command that completes a recording, or waits for one. */
static cudaError_t submit_mark(const char *call, struct stream *stream, struct mark *mark,
                               bool completes)
{
    struct command *command = command_new(call, 0);

    if (!command)
        return cudaErrorMemoryAllocation;
    *(completes ? &command->mark : &command->await) = mark;
    mark->references++;
    submit(stream, command);
    return cudaSuccess;
}

static cudaError_t record(struct stream *stream, struct event *event)
{
    struct mark *mark = calloc(1, sizeof(*mark));
    cudaError_t error =
        mark ? submit_mark("cudaEventRecord", stream, mark, true) : cudaErrorMemoryAllocation;

    if (error != cudaSuccess) {
        free(mark);
        return error;
    }
    mark->references++;
    mark_release(event->latest);
    event->latest = mark;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    struct event *event = (struct event *)(void *)handle;
    struct stream *stream;

    BEGIN(cudaEventRecord);
    if (!event)
        return leave(misuse("cudaEventRecord: no event"));
    error = stream_of("cudaEventRecord", context, stream_handle, &stream);
    if (error == cudaSuccess && event->context != context)
        error = misuse("cudaEventRecord: an event of device %d on a stream of device %d",
                       event->context->device->ordinal, context->device->ordinal);
    if (error == cudaSuccess)
        error = record(stream, event);
    return leave(error);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags)
{
    struct event *event = (struct event *)(void *)event_handle;
    struct stream *stream;

    BEGIN(cudaStreamWaitEvent);
    (void)flags;
    if (!event)
        return leave(misuse("cudaStreamWaitEvent: no event"));
    error = stream_of("cudaStreamWaitEvent", context, handle, &stream);
    if (error == cudaSuccess && event->latest)
        error = submit_mark("cudaStreamWaitEvent", stream, event->latest, false);
    return leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    const struct event *event = (struct event *)(void *)handle;

    BEGIN(cudaEventQuery);
    if (!event)
        return leave(misuse("cudaEventQuery: no event"));
    error = capture_minds();
    if (error != cudaSuccess)
        return leave(error);
    if (event->context->sticky != cudaSuccess)
        return leave(event->context->sticky);
    return leave(event->latest && !event->latest->done ? cudaErrorNotReady : cudaSuccess);
}

/* The step of the real clock is half a microsecond, and the result is a float. */
#define TIMER_STEP 500

cudaError_t cudaEventElapsedTime(float *out, cudaEvent_t first, cudaEvent_t second)
{
    const struct event *from = (struct event *)(void *)first, *to = (struct event *)(void *)second;

    BEGIN(cudaEventElapsedTime);
    if (!from || !to || !from->latest || !to->latest)
        return leave(cudaErrorInvalidResourceHandle);
    if (from->context != context || to->context != context)
        return leave(misuse("cudaEventElapsedTime: an event of another device"));
    if (!from->timing || !to->timing)
        return leave(misuse("cudaEventElapsedTime: an event without timing"));
    if (context->sticky != cudaSuccess)
        return leave(context->sticky);
    if (!from->latest->done || !to->latest->done)
        return leave(cudaErrorNotReady);
    *out = (float)(to->latest->at / TIMER_STEP - from->latest->at / TIMER_STEP) *
           ((float)TIMER_STEP * 1e-6f);
    return leave(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    const struct event *event = (struct event *)(void *)handle;
    struct context *owner;
    struct mark *mark;

    BEGIN(cudaEventSynchronize);
    if (!event)
        return leave(misuse("cudaEventSynchronize: no event"));
    owner = event->context;
    mark = event->latest;
    if (!mark)
        return leave(owner->sticky);
    mark->references++;
    waiting++;
    announce();
    while (!mark->done)
        wait_for_change();
    waiting--;
    mark_release(mark);
    return leave(owner->sticky);
}
