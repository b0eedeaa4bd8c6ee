/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares halves of blobs for MPI. The host's copy is accessed like in any access, so that
 * coherence decides whether to copy; the copy is queued when the operation begins, after the work
 * of the caller's queue, and is complete before MPI gets the bytes.
 */
#include "mpi/state.h"

#include <ferry/status.h>

#include <string.h>

/* Whether MPI gets the device's copy. */
static bool wants_device(const ferry_mpi *m, const struct ferry__mpi_end *end)
{
    ferry_device *home = ferry_blob_home(end->blob);

    return m->takes_device && !strcmp(ferry_device_get_properties(home)->plugin, "cuda") &&
           (!(end->access & FERRY_READ) || !ferry_memory_is_valid_at(end->memory, NULL));
}

/*
 * An access on the device is ordered by its queue; MPI does not know queues and has to wait for it.
 */
static int begin_device(struct ferry__mpi_end *end, ferry_queue *q)
{
    ferry_device *home = ferry_blob_home(end->blob);
    ferry_ref place;
    int err = ferry_blob_access(end->blob, end->which, home, end->access, q, &place);

    if (err)
        return err;
    end->at = ferry_device_pointer(home, place);
    if (!end->at)
        return ferry_last_error_code();
    return ferry_event_record(q ? q : ferry_device_queue(home), &end->behind);
}

int ferry__mpi_end_begin(const ferry_mpi *m, struct ferry__mpi_end *end, ferry_queue *q)
{
    if (!end->blob)
        return 0;
    end->memory = end->which == FERRY_DIFF ? ferry_blob_diff_memory(end->blob)
                                           : ferry_blob_data_memory(end->blob);
    if (!end->memory)
        return ferry_last_error_code();
    ferry_memory_retain(end->memory);
    end->device = wants_device(m, end);
    if (end->device)
        return begin_device(end, q);
    return end->access & FERRY_READ ? ferry_memory_prefetch(end->memory, NULL, q) : 0;
}

static int device_ready(struct ferry__mpi_end *end, bool waits)
{
    int done = end->behind && !waits ? ferry_event_query(end->behind) : 1;

    if (done < 0)
        return done;
    if (!done)
        return FERRY_EBUSY;
    return end->behind && waits ? ferry_event_synchronize(end->behind) : 0;
}

int ferry__mpi_end_ready(struct ferry__mpi_end *end, bool waits)
{
    ferry_ref place;
    int err;

    if (!end->blob)
        return 0;
    if (end->device)
        return device_ready(end, waits);
    err = ferry_blob_access(end->blob, end->which, NULL, end->access | (waits ? 0 : FERRY_NOWAIT),
                            NULL, &place);
    if (!err)
        end->at = (char *)place.handle + place.offset;
    return err;
}

void ferry__mpi_end_drop(struct ferry__mpi_end *end, bool lost)
{
    if (lost && end->access & FERRY_WRITE)
        ferry_memory_mark_lost(end->memory);
    ferry_event_destroy(end->behind);
    ferry_memory_release(end->memory);
    memset(end, 0, sizeof *end);
}
