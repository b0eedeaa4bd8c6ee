/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In-order queues, and the record of their enqueued commands.
 *
 * The failure of a running command is only visible in its own event: the in-order queue continues,
 * and a marker after the command completes. So the event of each command is kept until an event of
 * the plugin, or a wait, has examined it.
 */
#include "opencl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- pending commands ---- */

/*
 * Removes commands that have ended. A failure found here is kept for the next event and for the
 * next wait. (locked)
 */
static void reap_pending(struct ocl_queue *queue)
{
    struct ocl_failure failure = { 0, NULL };

    ocl_list_reap(queue->dev, &queue->pending, &failure);
    if (!failure.error)
        return;
    if (!queue->for_event.error)
        queue->for_event = failure;
    queue->for_sync = failure;
}

/*
 * The number of commands after which the plugin flushes, so that the device starts: drivers batch
 * commands until a wait or a flush.
 */
#define BATCH 32u

int ocl_queue_note(struct ocl_queue *queue, const char *what, cl_event event)
{
    struct ocl_device *dev = queue->dev;
    bool kept, flush;
    int error = 0;

    ocl_lock(dev);
    ocl_section_note(queue, event);
    flush = ++queue->gathered >= BATCH;
    if (flush)
        queue->gathered = 0;
    if (queue->pending.count == queue->pending.room)
        reap_pending(queue);
    kept = ocl_list_grow(&queue->pending);
    if (kept) {
        queue->pending.at[queue->pending.count].event = event;
        queue->pending.at[queue->pending.count++].what = what;
    }
    ocl_unlock(dev);
    if (flush)
        (void)clFlush(queue->q); /* if the flush fails, the next wait reports the failure */
    if (kept)
        return 0;
    (void)clWaitForEvents(1, &event); /* there is no memory for the record */
    (void)ocl_command_ended(event, &error);
    clReleaseEvent(event);
    return error ? ocl_fail(what, error) : 0;
}

/* ---- creating ---- */

int ocl_queue_new(struct ocl_device *dev, bool profiling, cl_command_queue *out)
{
    int error;
    cl_command_queue q = clCreateCommandQueue(dev->context->context, dev->id,
                                              profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &error);

    if (error)
        return ocl_fail("clCreateCommandQueue", error);
    *out = q;
    return 0;
}

int ocl_queue_check(cl_command_queue q, cl_context context, cl_device_id id)
{
    cl_context its_context = NULL;
    cl_device_id its_id = NULL;
    cl_command_queue_properties properties = 0;
    int error = clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof(its_context), &its_context, NULL);

    if (!error)
        error = clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof(its_id), &its_id, NULL);
    if (!error)
        error =
            clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    if (error)
        return ocl_host->error(FERRY_EINVAL, "cl_command_queue: clGetCommandQueueInfo: %s",
                               ocl_error_name(error));
    if (its_context != context || its_id != id)
        return ocl_host->error(FERRY_EINVAL, "cl_command_queue: the queue belongs to another %s",
                               its_context != context ? "context" : "device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return ocl_host->error(FERRY_EINVAL, "cl_command_queue: the queue executes out of order");
    return 0;
}

int ocl_queue_init(struct ocl_queue *queue, struct ocl_device *dev, cl_command_queue q, bool own)
{
    int error = clRetainCommandQueue(q);

    if (error)
        return ocl_fail("clRetainCommandQueue", error);
    queue->dev = dev;
    queue->q = q;
    queue->own = own;
    return 0;
}

static void release_kernels(struct ocl_queue *queue)
{
    for (unsigned t = 0; t < OCL_FLOATS; t++)
        for (unsigned k = 0; k < OCL_KERNELS; k++)
            if (queue->kernels[t][k].kernel)
                clReleaseKernel(queue->kernels[t][k].kernel);
    for (unsigned x = 0; x < FERRY_DTYPE_COUNT; x++)
        for (unsigned y = 0; y < FERRY_DTYPE_COUNT; y++)
            if (queue->convert[x][y].kernel)
                clReleaseKernel(queue->convert[x][y].kernel);
    for (unsigned k = 0; k < OCL_KERNEL_COUNT; k++)
        if (queue->operations[k])
            clReleaseKernel(queue->operations[k]);
}

void ocl_queue_fini(struct ocl_queue *queue)
{
    struct ocl_device *dev = queue->dev;

    (void)clFinish(queue->q);
    ocl_lock(dev);
    ocl_events_forget(queue);
    reap_pending(queue);
    ocl_unlock(dev);
    free(queue->pending.at);
    release_kernels(queue);
    if (queue->partials)
        clReleaseMemObject(queue->partials);
    clReleaseCommandQueue(queue->q);
    if (queue->spare)
        clReleaseCommandQueue(queue->spare);
}

static int add_queue(struct ocl_device *dev, cl_command_queue q, bool own, void **out)
{
    struct ocl_queue *queue = calloc(1, sizeof(*queue));
    int err;

    if (!queue)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the queue");
    err = ocl_queue_init(queue, dev, q, own);
    if (err) {
        free(queue);
        return err;
    }
    ocl_lock(dev);
    queue->next = dev->queues;
    dev->queues = queue;
    dev->counters.live_queues++;
    ocl_unlock(dev);
    *out = queue;
    return 0;
}

int ocl_queue_create(void *device, uint32_t flags, void **out_queue)
{
    struct ocl_device *dev = device;
    cl_command_queue q = NULL;
    int err = ocl_queue_new(dev, dev->set.profiling, &q);

    (void)flags;
    if (err)
        return err;
    err = add_queue(dev, q, true, out_queue);
    clReleaseCommandQueue(q);
    return err;
}

int ocl_queue_wrap(void *device, void *native, void **out_queue)
{
    struct ocl_device *dev = device;
    int err = ocl_queue_check(native, dev->context->context, dev->id);

    return err ? err : add_queue(dev, native, false, out_queue);
}

int ocl_queue_destroy(void *device, void *handle)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = handle, **link = &dev->queues;

    ocl_lock(dev);
    while (*link && *link != queue)
        link = &(*link)->next;
    if (*link) {
        *link = queue->next;
        dev->counters.live_queues--;
        ocl_unlock(dev);
        ocl_queue_fini(queue);
        free(queue);
        return 0;
    }
    ocl_unlock(dev);
    return ocl_host->error(FERRY_EINVAL, "%p was not created by queue_create or queue_wrap",
                           handle);
}

/* ---- waiting ---- */

/* Takes the queue's failure that no other wait has reported. (locked) */
static struct ocl_failure take_failure(struct ocl_queue *queue)
{
    struct ocl_failure failure;

    ocl_events_settle(queue);
    reap_pending(queue);
    failure = queue->for_sync;
    queue->for_sync.error = 0;
    return failure;
}

/* A queue to wait for, and its latest event; both are retained meanwhile. */
struct waited {
    cl_command_queue q;
    cl_event marker; /* NULL if all events are done */
};

/* Describes the wait for a queue. (locked) */
static struct waited to_wait_for(struct ocl_queue *queue)
{
    struct waited w = { queue->q, queue->events ? queue->events->marker : NULL };

    clRetainCommandQueue(w.q);
    if (w.marker)
        clRetainEvent(w.marker);
    return w;
}

/*
 * Waits for a queue. Rusticl's clFinish can return before the events are complete, so they are
 * waited for too.
 */
static int finish(struct waited w)
{
    cl_int status = CL_COMPLETE;
    int error = clFinish(w.q);

    if (w.marker &&
        !clGetEventInfo(w.marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                        NULL) &&
        status > CL_COMPLETE)
        (void)clWaitForEvents(1, &w.marker);
    if (w.marker)
        clReleaseEvent(w.marker);
    clReleaseCommandQueue(w.q);
    return error;
}

static int verdict(int error, struct ocl_failure failure)
{
    if (failure.error)
        return ocl_fail(failure.what, failure.error);
    return error ? ocl_fail("clFinish", error) : 0;
}

int ocl_queue_synchronize(void *device, void *handle)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_failure failure;
    struct waited w;
    int error;

    ocl_lock(dev);
    w = to_wait_for(queue);
    ocl_unlock(dev);
    error = finish(w);
    ocl_lock(dev);
    failure = take_failure(queue);
    ocl_unlock(dev);
    return verdict(error, failure);
}

/* Waits for all queues; other threads may destroy them meanwhile. */
static int finish_all(struct ocl_device *dev)
{
    struct waited *all;
    size_t count = 1;
    int error = 0, one;

    ocl_lock(dev);
    for (struct ocl_queue *queue = dev->queues; queue; queue = queue->next)
        count++;
    all = calloc(count, sizeof(*all));
    count = 0;
    if (all)
        all[count++] = to_wait_for(&dev->main);
    for (struct ocl_queue *queue = dev->queues; queue && all; queue = queue->next)
        all[count++] = to_wait_for(queue);
    ocl_unlock(dev);
    for (size_t i = 0; i < count; i++) {
        one = finish(all[i]);
        error = error ? error : one;
    }
    if (!all)
        error = CL_OUT_OF_HOST_MEMORY;
    free(all);
    return error;
}

int ocl_synchronize(void *device)
{
    struct ocl_device *dev = device;
    struct ocl_failure failure, other;
    int error = finish_all(dev);

    ocl_lock(dev);
    failure = take_failure(&dev->main);
    for (struct ocl_queue *queue = dev->queues; queue; queue = queue->next) {
        other = take_failure(queue);
        failure = failure.error ? failure : other;
    }
    ocl_unlock(dev);
    return verdict(error, failure);
}

void ocl_queue_show(struct ocl_queue *queue, void *out)
{
    ocl_lock(queue->dev);
    queue->known = true;
    memcpy(out, &queue->q, sizeof(queue->q));
    ocl_unlock(queue->dev);
}

int ocl_queue_native(void *device, void *handle, const char *what, void *out, uint64_t size)
{
    struct ocl_queue *queue = ocl_queue_of(device, handle);

    if (!what || strcmp(what, "cl_command_queue") != 0)
        return ocl_host->error(FERRY_EUNSUPPORTED, "unknown object \"%.64s\"", what ? what : "");
    if (size != sizeof(queue->q))
        return ocl_host->error(FERRY_EINVAL, "%s is a pointer, not %" PRIu64 " bytes", what, size);
    ocl_queue_show(queue, out);
    return 0;
}
