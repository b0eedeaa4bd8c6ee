/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table "ferry.profile/1". A cl_command_queue measures its commands only if it was created with
 * CL_QUEUE_PROFILING_ENABLE, which makes each command slower on most drivers. The plugin therefore
 * creates a second cl_command_queue for a profiled queue, and uses it while the queue is profiled.
 */
#define _POSIX_C_SOURCE 200809L
#include "opencl.h"

#include <stdlib.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)

/* ---- the clock ---- */

static uint64_t host_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

static uint64_t resolution_of(cl_device_id id)
{
    size_t ns = 0;

    if (clGetDeviceInfo(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof(ns), &ns, NULL) || !ns)
        return 1;
    return ns;
}

/*
 * Measures a moment: the device's time at which a marker was enqueued is between the host's times
 * before and after.
 */
static int take_moment(cl_command_queue q, ferry_profile_clock *out)
{
    uint64_t before = host_now(), after;
    cl_ulong queued = 0;
    cl_event marker;
    int error = clEnqueueMarkerWithWaitList(q, 0, NULL, &marker);

    after = host_now();
    if (error)
        return ocl_fail("clEnqueueMarkerWithWaitList", error);
    error = clWaitForEvents(1, &marker);
    if (!error)
        error = clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_QUEUED, sizeof(queued),
                                        &queued, NULL);
    clReleaseEvent(marker);
    if (error)
        return ocl_fail("clGetEventProfilingInfo", error);
    out->ticks = queued;
    out->host_ns = before + (after - before) / 2;
    out->uncertainty = (after - before + 1) / 2;
    return 0;
}

/* Describes the clock. A queue of its own is used, so that the moment does not wait for work. */
static int describe_clock(void *device, ferry_profile_clock *out)
{
    struct ocl_device *dev = device;
    cl_command_queue q;
    int err = ocl_queue_new(dev, true, &q);

    if (err)
        return err;
    err = take_moment(q, out);
    clReleaseCommandQueue(q);
    if (err)
        return err;
    out->frequency = NANOSECONDS;
    out->resolution = resolution_of(dev->id);
    return 0;
}

/* ---- profiled queues ---- */

/*
 * Exchanges the queue's cl_command_queue and the spare one, once its work is done. Neither is
 * released before the queue is, because an entry that takes no queue may be using it. Returns 1
 * after an exchange; 0 if the program has got the cl_command_queue, which is then kept.
 */
static int exchange(struct ocl_queue *queue)
{
    struct ocl_device *dev = queue->dev;
    int error = clFinish(queue->q);
    cl_command_queue before;
    bool known;

    if (error)
        return ocl_fail("clFinish", error);
    ocl_lock(dev);
    known = queue->known;
    if (!known) {
        before = queue->q;
        queue->q = queue->spare;
        queue->spare = before;
        queue->gathered = 0;
        queue->exchanged = !queue->exchanged;
    }
    ocl_unlock(dev);
    return !known;
}

static int start(void *device, void *handle)
{
    struct ocl_queue *queue = ocl_queue_of(device, handle);
    cl_command_queue_properties properties = 0;
    int error =
        clGetCommandQueueInfo(queue->q, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    int answer;

    if (error)
        return ocl_fail("clGetCommandQueueInfo", error);
    if (properties & CL_QUEUE_PROFILING_ENABLE)
        return 0;
    if (queue->own && !queue->spare) {
        answer = ocl_queue_new(queue->dev, true, &queue->spare);
        if (answer)
            return answer;
    }
    answer = queue->own ? exchange(queue) : 0;
    if (answer)
        return answer < 0 ? answer : 0;
    return ocl_host->error(FERRY_EUNSUPPORTED,
                           "the program has the cl_command_queue, which was created without "
                           "CL_QUEUE_PROFILING_ENABLE");
}

static int stop(void *device, void *handle)
{
    struct ocl_queue *queue = ocl_queue_of(device, handle);
    int answer = queue->exchanged ? exchange(queue) : 0;

    return answer < 0 ? answer : 0;
}

/* ---- sections ---- */

static int begin(void *device, void *handle, void **out_section)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    struct ocl_section *s = calloc(1, sizeof(*s));

    if (!s)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the section");
    ocl_lock(dev);
    s->next = queue->sections;
    queue->sections = s;
    ocl_unlock(dev);
    *out_section = s;
    return 0;
}

static int end(void *device, void *handle, void *section)
{
    struct ocl_device *dev = device;
    struct ocl_section **link = &ocl_queue_of(dev, handle)->sections;

    ocl_lock(dev);
    while (*link && *link != section)
        link = &(*link)->next;
    if (*link)
        *link = (*link)->next;
    ocl_unlock(dev);
    return 0;
}

static int stamp(cl_event event, cl_profiling_info what, uint64_t *out)
{
    cl_ulong at = 0;
    int error = clGetEventProfilingInfo(event, what, sizeof(at), &at, NULL);

    *out = at;
    return error;
}

static int read_times(void *device, void *section, ferry_profile_times *out)
{
    const struct ocl_section *s = section;
    cl_event last = s->last ? s->last : s->first;
    uint64_t begin_at = 0, end_at = 0;
    int error = 0;

    (void)device;
    if (!last) {
        out->flags = FERRY_PROFILE_EMPTY;
        return 1;
    }
    if (!ocl_command_ended(last, &error) || (!error && !ocl_command_ended(s->first, &error)))
        return 0;
    if (error)
        return ocl_fail("a command of the section", error);
    error = stamp(s->first, CL_PROFILING_COMMAND_START, &begin_at);
    if (!error)
        error = stamp(last, CL_PROFILING_COMMAND_END, &end_at);
    if (error)
        return ocl_fail("clGetEventProfilingInfo", error);
    out->begin = begin_at;
    out->end = end_at < begin_at ? begin_at : end_at;
    return 1;
}

static void destroy(void *device, void *section)
{
    struct ocl_section *s = section;

    (void)device;
    if (s->first)
        clReleaseEvent(s->first);
    if (s->last)
        clReleaseEvent(s->last);
    free(s);
}

const ferry_profile_table ocl_profile = {
    .struct_size = sizeof(ferry_profile_table),
    .clock = describe_clock,
    .start = start,
    .stop = stop,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
