/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues are streams, and events are created without timing. A stream of the plugin and the legacy
 * default stream do not synchronize with each other.
 */
#include "dnn.h"

#include <stdlib.h>
#include <string.h>

void cuda_queue_release(struct cuda_device *dev, struct cuda_queue *queue)
{
    (void)dev;
    if (queue->blas)
        (void)cuda_blas.destroy(queue->blas);
    cuda_dnn_release(queue->dnn);
    if (queue->sums)
        (void)cudaFree(queue->sums);
    if (queue->scratch)
        (void)cudaFree(queue->scratch);
    if (queue->room)
        (void)cudaFree(queue->room);
    if (queue->owned && queue->stream)
        (void)cudaStreamDestroy(queue->stream);
    queue->blas = NULL;
    queue->dnn = NULL;
    queue->sums = queue->scratch = queue->room = NULL;
}

static struct cuda_queue *add(struct cuda_device *dev, struct cuda_queue *queue)
{
    pthread_mutex_lock(&dev->lock);
    queue->next = dev->queues;
    dev->queues = queue;
    pthread_mutex_unlock(&dev->lock);
    dev->counters.live_queues++;
    return queue;
}

static bool remove_from(struct cuda_device *dev, const struct cuda_queue *queue)
{
    struct cuda_queue **link = &dev->queues;
    bool found;

    pthread_mutex_lock(&dev->lock);
    while (*link && *link != queue)
        link = &(*link)->next;
    found = *link != NULL;
    if (found)
        *link = queue->next;
    pthread_mutex_unlock(&dev->lock);
    return found;
}

int cuda_queue_create(void *device, uint32_t flags, void **out_queue)
{
    struct cuda_device *dev = device;
    struct cuda_queue *queue = calloc(1, sizeof(*queue));
    struct cuda_scope scope;
    int err;

    (void)flags;
    if (!queue)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for a queue");
    err = cuda_enter(dev, &scope);
    if (!err)
        err = cuda_end(&scope, CALL(cudaStreamCreateWithFlags),
                       cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking));
    if (err)
        goto err_free;
    queue->owned = true;
    *out_queue = add(dev, queue);
    return 0;

err_free:
    free(queue);
    return err;
}

int cuda_queue_destroy(void *device, void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_queue *queue = handle;
    struct cuda_scope scope;
    int err;

    if (!remove_from(dev, queue))
        return cuda_host->error(FERRY_EINVAL, "%p is not a queue of this device", handle);
    dev->counters.live_queues--;
    err = cuda_enter(dev, &scope);
    if (!err) {
        cuda_queue_release(dev, queue);
        cuda_leave(&scope);
    }
    free(queue);
    return err;
}

int cuda_stream_refuse(cudaStream_t stream)
{
    if (stream == cudaStreamPerThread)
        return cuda_host->error(
            FERRY_EINVAL,
            CUDA_PLUGIN "StreamPerThread is a different stream in each thread; a queue must "
                        "be a stream that the program created");
    return 0;
}

int cuda_stream_check(struct cuda_device *dev, cudaStream_t stream)
{
    CUcontext context;
    CUresult failed;

    if (cuda_stream_refuse(stream))
        return FERRY_EINVAL;
    failed = cuda_driver.stream_get_ctx((CUstream)stream, &context);
    if (failed)
        return cuda_fail_driver(CALL(cuStreamGetCtx), failed);
    if (context != dev->context)
        return cuda_host->error(FERRY_EINVAL, "the stream belongs to another device or context");
    return 0;
}

int cuda_queue_wrap(void *device, void *native, void **out_queue)
{
    struct cuda_device *dev = device;
    struct cuda_queue *queue;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (err)
        return err;
    err = cuda_stream_check(dev, native);
    if (!err)
        err = cuda_refuse_capture(native);
    cuda_leave(&scope);
    if (err)
        return err;
    queue = calloc(1, sizeof(*queue));
    if (!queue)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for a queue");
    queue->stream = native;
    *out_queue = add(dev, queue);
    return 0;
}

int cuda_queue_synchronize(void *device, void *handle)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, handle, &scope);

    return err ? err
               : cuda_end(&scope, CALL(cudaStreamSynchronize),
                          cudaStreamSynchronize(cuda_queue_of(dev, handle)->stream));
}

/*
 * Returns the cuBLAS handle, which is created at the first BLAS call; this request counts as one.
 */
static int native_blas(struct cuda_device *dev, struct cuda_queue *queue, void *out)
{
    cublasHandle_t handle;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (err)
        return err;
    err = cuda_blas_handle(queue, CUBLAS_POINTER_MODE_HOST, &handle);
    cuda_leave(&scope);
    atomic_store_explicit(&queue->known, true, memory_order_relaxed); /* cublasGetStream returns the
                                                                       * stream */
    if (!err)
        memcpy(out, &handle, sizeof(handle));
    return err;
}

int cuda_queue_native(void *device, void *handle, const char *what, void *out, uint64_t size)
{
    struct cuda_queue *queue = cuda_queue_of(device, handle);
    bool stream = !strcmp(what, CUDA_PLUGIN "_stream");

    if (!stream && strcmp(what, CUDA_BLAS_OBJECT) != 0)
        return cuda_host->error(FERRY_EUNSUPPORTED, "unknown object \"%s\"", what);
    if (size != sizeof(void *))
        return cuda_host->error(FERRY_EINVAL, "%s is a pointer", what);
    if (!stream)
        return native_blas(device, queue, out);
    atomic_store_explicit(&queue->known, true, memory_order_relaxed);
    memcpy(out, &queue->stream, sizeof(queue->stream));
    return 0;
}

/* ---- events: destroyed ones are kept and reused ---------------------- */

static cudaEvent_t take_spare(struct cuda_device *dev)
{
    cudaEvent_t event = NULL;

    pthread_mutex_lock(&dev->lock);
    if (dev->spares)
        event = dev->spare[--dev->spares];
    pthread_mutex_unlock(&dev->lock);
    return event;
}

static bool keep_spare(struct cuda_device *dev, cudaEvent_t event)
{
    bool kept;

    pthread_mutex_lock(&dev->lock);
    kept = dev->spares < CUDA_SPARE_EVENTS;
    if (kept)
        dev->spare[dev->spares++] = event;
    pthread_mutex_unlock(&dev->lock);
    return kept;
}

static int record_here(struct cuda_device *dev, const struct cuda_queue *queue, void **out)
{
    cudaEvent_t event = take_spare(dev);
    cudaError_t error = cudaSuccess;

    if (!event)
        error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaEventCreateWithFlags), error);
    error = cudaEventRecord(event, queue->stream);
    if (error != cudaSuccess) {
        int err = cuda_fail(CALL(cudaEventRecord), error);

        (void)cudaEventDestroy(event);
        return err;
    }
    dev->counters.live_events++;
    *out = event;
    return 0;
}

int cuda_event_record(void *device, void *queue, void **out_event)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, queue, &scope);

    if (err)
        return err;
    err = record_here(dev, cuda_queue_of(dev, queue), out_event);
    cuda_leave(&scope);
    return err;
}

/* ---- waiting for all ---- */

/* Records an event after all work on the queue; NULL if none can be created. (locked) */
static cudaEvent_t event_behind(struct cuda_device *dev, const struct cuda_queue *queue)
{
    cudaEvent_t event = dev->spares ? dev->spare[--dev->spares] : NULL;
    cudaError_t error = cudaSuccess;

    if (!event)
        error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaEventRecord(event, queue->stream);
    if (error == cudaSuccess)
        return event;
    cuda_forget(error);
    if (event)
        (void)cudaEventDestroy(event);
    return NULL;
}

static bool is_idle(const struct cuda_queue *queue)
{
    cudaError_t error = cudaStreamQuery(queue->stream);

    cuda_forget(error); /* removes the status NotReady, which some drivers keep */
    return error == cudaSuccess;
}

static int wait_here(const struct cuda_queue *queue)
{
    int err = cuda_refuse_queue(queue);
    cudaError_t error = err ? cudaSuccess : cudaStreamSynchronize(queue->stream);

    return error == cudaSuccess ? err : cuda_fail(CALL(cudaStreamSynchronize), error);
}

/*
 * Records an event on each busy queue except the default one; if no event can be created,
 * synchronizes the queue at once. Called under the lock, which a thread that destroys a queue takes
 * first.
 */
static int mark_others(struct cuda_device *dev, cudaEvent_t **out_events, size_t *out_count)
{
    size_t room = 0, count = 0;
    cudaEvent_t *events = NULL;
    int err = 0;

    pthread_mutex_lock(&dev->lock);
    for (const struct cuda_queue *queue = dev->queues; queue; queue = queue->next)
        room++;
    if (room)
        events = calloc(room, sizeof(*events));
    for (const struct cuda_queue *queue = dev->queues; queue; queue = queue->next) {
        int failed = cuda_refuse_queue(queue);
        bool pending = !failed && !is_idle(queue);
        cudaEvent_t event = pending && events ? event_behind(dev, queue) : NULL;

        if (event)
            events[count++] = event;
        else if (pending)
            failed = wait_here(queue);
        if (failed)
            err = failed;
    }
    pthread_mutex_unlock(&dev->lock);
    *out_events = events;
    *out_count = count;
    return err;
}

/*
 * Waits for the queues one by one: cudaDeviceSynchronize would also wait for the program's streams,
 * and invalidate captures on them. If a wait fails, the other queues are still waited for; the
 * latest failure is reported.
 */
static int wait_for_all(struct cuda_device *dev)
{
    cudaEvent_t *events;
    size_t count;
    int err = mark_others(dev, &events, &count), failed = wait_here(&dev->main);

    if (failed)
        err = failed;
    for (size_t i = 0; i < count; i++) {
        cudaError_t error = cudaEventSynchronize(events[i]);

        if (error != cudaSuccess)
            err = cuda_fail(CALL(cudaEventSynchronize), error);
        if (!keep_spare(dev, events[i]))
            (void)cudaEventDestroy(events[i]);
    }
    free(events);
    return err;
}

int cuda_synchronize(void *device)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    if (err)
        return err;
    err = wait_for_all(dev);
    cuda_leave(&scope);
    return err;
}

int cuda_event_query(void *device, void *event)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    cudaError_t error;
    int answer = cuda_enter(dev, &scope);

    if (answer)
        return answer;
    error = cudaEventQuery(event);
    if (error == cudaSuccess)
        answer = 1;
    else if (error == cudaErrorNotReady)
        cuda_forget(error);
    else
        answer = cuda_fail(CALL(cudaEventQuery), error);
    cuda_leave(&scope);
    return answer;
}

int cuda_event_synchronize(void *device, void *event)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter(dev, &scope);

    return err ? err : cuda_end(&scope, CALL(cudaEventSynchronize), cudaEventSynchronize(event));
}

int cuda_event_destroy(void *device, void *event)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err;

    dev->counters.live_events--;
    if (keep_spare(dev, event))
        return 0;
    err = cuda_enter(dev, &scope);
    return err ? err : cuda_end(&scope, CALL(cudaEventDestroy), cudaEventDestroy(event));
}

int cuda_queue_wait(void *device, void *queue, void *event)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err = cuda_enter_on(dev, queue, &scope);

    return err ? err
               : cuda_end(&scope, CALL(cudaStreamWaitEvent),
                          cudaStreamWaitEvent(cuda_queue_of(dev, queue)->stream, event, 0));
}
