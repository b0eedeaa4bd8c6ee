/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of enqueued commands that are not known to have ended, and of the sections that they belong
 * to.
 */
#include "opencl.h"

#include <inttypes.h>
#include <stdlib.h>

static void log_times(const struct ocl_device *dev, const struct ocl_pending *p)
{
    cl_ulong queued = 0, start = 0, end = 0;

    if (clGetEventProfilingInfo(p->event, CL_PROFILING_COMMAND_QUEUED, sizeof(queued), &queued,
                                NULL) ||
        clGetEventProfilingInfo(p->event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
                                NULL) ||
        clGetEventProfilingInfo(p->event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL))
        return;
    ocl_host->log(FERRY_LOG_DEBUG, "device %" PRIu32 ": %s: %.1f us, after waiting %.1f us",
                  dev->index, p->what, (double)(end - start) / 1e3, (double)(start - queued) / 1e3);
}

bool ocl_command_ended(cl_event event, int *error)
{
    cl_int status = CL_QUEUED;
    int err =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);

    *error = err ? err : status < 0 ? status : 0;
    return err || status <= CL_COMPLETE;
}

void ocl_list_reap(struct ocl_device *dev, struct ocl_list *list, struct ocl_failure *failure)
{
    size_t kept = 0;
    int error;

    for (size_t i = 0; i < list->count; i++) {
        struct ocl_pending *p = &list->at[i];

        if (!ocl_command_ended(p->event, &error)) {
            list->at[kept++] = *p;
            continue;
        }
        if (error && !failure->error) {
            failure->error = error;
            failure->what = p->what;
        }
        if (dev->set.profiling && !error)
            log_times(dev, p);
        clReleaseEvent(p->event);
    }
    list->count = kept;
}

bool ocl_list_grow(struct ocl_list *list)
{
    size_t room = list->room ? 2 * list->room : 16;
    struct ocl_pending *grown;

    if (list->count < list->room)
        return true;
    grown = realloc(list->at, room * sizeof(*grown));
    if (!grown)
        return false;
    list->at = grown;
    list->room = room;
    return true;
}

void ocl_section_note(struct ocl_queue *queue, cl_event event)
{
    for (struct ocl_section *s = queue->sections; s; s = s->next) {
        cl_event *at = s->first ? &s->last : &s->first;

        if (*at)
            clReleaseEvent(*at);
        *at = event;
        clRetainEvent(event);
    }
}
