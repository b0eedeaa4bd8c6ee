/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of ferry_comm in terms of operations on blobs. */
#include "mpi/state.h"

#include <ferry/status.h>
#include <string.h>

/* Begins a sum without waiting; `finish` waits for all sums. */
static int begin_sum(void *arg, ferry_blob *b, unsigned which)
{
    ferry_mpi_event *e;
    int err = ferry_mpi_allreduce(arg, b, which, FERRY_MPI_SUM, NULL, &e);

    if (!err)
        ferry_mpi_event_destroy(e);
    return err;
}

static int finish(void *arg, double *values, int n)
{
    int err = ferry__mpi_may_call(arg);

    if (!err)
        err = ferry__mpi_wait_all(arg);
    return err || !n ? err : ferry__mpi_sum_values(arg, values, n);
}

static int broadcast(void *arg, ferry_blob *b, unsigned which)
{
    return ferry_mpi_broadcast(arg, b, which, 0, NULL, NULL);
}

int ferry_mpi_get_comm(ferry_mpi *m, ferry_comm *out)
{
    ferry_comm made = { .rank = m ? m->rank : 0,
                        .ranks = m ? m->ranks : 0,
                        .arg = m,
                        .begin_sum = begin_sum,
                        .finish = finish,
                        .broadcast = broadcast };

    if (!m || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_get_comm: NULL %s",
                               m ? "out" : "m");
    if (out->struct_size < sizeof out->struct_size)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_mpi_get_comm: struct_size is %zu, less than %zu",
                               out->struct_size, sizeof out->struct_size);
    made.struct_size = out->struct_size < sizeof made ? out->struct_size : sizeof made;
    memcpy(out, &made, made.struct_size);
    return 0;
}
