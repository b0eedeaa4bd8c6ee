/* SPDX-License-Identifier: BSD-2-Clause */
/* An event: a marker, and the commands before it, whose failures the event reports. */
#include "opencl.h"

#include <stdlib.h>

/* Adds an event to its queue's list. (locked) */
static void link_event(struct ocl_queue *queue, struct ocl_event *event)
{
    event->queue = queue;
    event->next = queue->events;
    event->link = &queue->events;
    if (event->next)
        event->next->link = &event->next;
    queue->events = event;
}

/* Removes an event from its queue's list. (locked) */
static void unlink_event(struct ocl_event *event)
{
    *event->link = event->next;
    if (event->next)
        event->next->link = event->link;
    event->queue = NULL;
}

static int status_of(cl_event marker)
{
    cl_int status = CL_QUEUED;
    int error =
        clGetEventInfo(marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);

    return error ? error : status;
}

/*
 * Whether the event is done. A done event releases its commands and leaves its queue's list; the
 * queue keeps a failure for its next wait. (locked)
 */
static bool settle(struct ocl_event *event)
{
    struct ocl_queue *queue = event->queue;
    int status;

    if (!queue)
        return true;
    if (!event->marker) /* the event is being recorded */
        return false;
    status = status_of(event->marker);
    if (status > CL_COMPLETE)
        return false;
    ocl_list_reap(queue->dev, &event->before, &event->failure);
    if (event->before.count)
        return false;
    if (status < 0 && !event->failure.error) {
        event->failure.error = status;
        event->failure.what = "marker";
    }
    if (event->failure.error)
        queue->for_sync = event->failure;
    unlink_event(event);
    return true;
}

void ocl_events_settle(struct ocl_queue *queue)
{
    struct ocl_event *next;

    for (struct ocl_event *event = queue->events; event; event = next) {
        next = event->next;
        (void)settle(event);
    }
}

void ocl_events_forget(struct ocl_queue *queue)
{
    ocl_events_settle(queue);
    while (queue->events)
        unlink_event(queue->events);
}

static int mark(struct ocl_queue *queue, cl_event *out)
{
    int error = clEnqueueMarkerWithWaitList(queue->q, 0, NULL, out);

    if (error)
        return ocl_fail("clEnqueueMarkerWithWaitList", error);
    error = clFlush(queue->q); /* flushed, because the event must complete without a further call */
    if (!error)
        return 0;
    clReleaseEvent(*out);
    return ocl_fail("clFlush", error);
}

/*
 * Returns the commands of an event that is destroyed before it is done to the event's queue.
 * (locked)
 */
static void return_commands(struct ocl_event *event)
{
    struct ocl_queue *queue = event->queue;

    for (size_t i = 0; i < event->before.count; i++)
        if (ocl_list_grow(&queue->pending))
            queue->pending.at[queue->pending.count++] = event->before.at[i];
        else
            clReleaseEvent(event->before.at[i].event);
    unlink_event(event);
}

int ocl_event_record(void *device, void *handle, void **out_event)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_event *event = calloc(1, sizeof(*event));
    cl_event marker = NULL;
    int err;

    if (!event)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the event");
    /*
     * the commands are taken before the marker is enqueued, so that the event does not include one
     * that another thread adds after the marker
     */
    ocl_lock(dev);
    event->before = queue->pending;
    queue->pending = (struct ocl_list){ NULL, 0, 0 };
    event->failure = queue->for_event;
    queue->for_event.error = 0;
    queue->gathered = 0;
    link_event(queue, event);
    ocl_unlock(dev);
    err = mark(queue, &marker);
    ocl_lock(dev);
    event->marker = marker;
    if (err)
        return_commands(event);
    else
        dev->counters.live_events++;
    ocl_unlock(dev);
    if (err) {
        free(event->before.at);
        free(event);
        return err;
    }
    *out_event = event;
    return 0;
}

int ocl_event_query(void *device, void *handle)
{
    struct ocl_device *dev = device;
    struct ocl_event *event = handle;
    struct ocl_failure failure;
    bool done;

    ocl_lock(dev);
    done = settle(event);
    failure = event->failure;
    ocl_unlock(dev);
    if (!done)
        return 0;
    return failure.error ? ocl_fail(failure.what, failure.error) : 1;
}

/* A command of the event that has not ended, retained; NULL if there is none. */
static cl_event one_pending(struct ocl_device *dev, struct ocl_event *event)
{
    cl_event command = NULL;

    ocl_lock(dev);
    if (event->queue && event->before.count) {
        command = event->before.at[0].event;
        clRetainEvent(command);
    }
    ocl_unlock(dev);
    return command;
}

int ocl_event_synchronize(void *device, void *handle)
{
    struct ocl_event *event = handle;
    cl_event command;
    int answer;

    (void)clWaitForEvents(1, &event->marker); /* the event's status tells whether it failed */
    while ((answer = ocl_event_query(device, event)) == 0 &&
           (command = one_pending(device, event))) {
        (void)clWaitForEvents(1, &command);
        clReleaseEvent(command);
    }
    return answer < 0 ? answer : 0;
}

int ocl_event_destroy(void *device, void *handle)
{
    struct ocl_device *dev = device;
    struct ocl_event *event = handle;

    ocl_lock(dev);
    if (!settle(event))
        return_commands(event);
    dev->counters.live_events--;
    ocl_unlock(dev);
    clReleaseEvent(event->marker);
    free(event->before.at);
    free(event);
    return 0;
}

int ocl_queue_wait(void *device, void *handle, void *other)
{
    struct ocl_queue *queue = ocl_queue_of(device, handle);
    const struct ocl_event *event = other;
    int error = clEnqueueBarrierWithWaitList(queue->q, 1, &event->marker, NULL);

    return error ? ocl_fail("clEnqueueBarrierWithWaitList", error) : 0;
}
