/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MPI's calls. Their counts are ints: longer operations are split into pieces, which are started
 * one after the other before any other call, so that their order is the same on all ranks.
 */
#include "mpi/state.h"

#include <ferry/status.h>

#include <stdlib.h>

static MPI_Op op_of(ferry_mpi_op op)
{
    return op == FERRY_MPI_MAX ? MPI_MAX : op == FERRY_MPI_MIN ? MPI_MIN : MPI_SUM;
}

/*
 * Gathers parts of `n` elements from each rank into their places. The MPI type of a part has the
 * distance of two ranks' parts as its extent.
 */
static int gather_piece(ferry_mpi_event *e, int64_t at, int n, MPI_Request *out)
{
    const char *from = (const char *)e->from.at + (size_t)at * e->size;
    char *into = (char *)e->into.at + (size_t)at * e->size;
    MPI_Datatype run, part;
    int err = MPI_Type_contiguous(n, e->type, &run);

    if (err)
        return err;
    err = MPI_Type_create_resized(run, 0, (MPI_Aint)e->count * (MPI_Aint)e->size, &part);
    MPI_Type_free(&run);
    if (err)
        return err;
    err = MPI_Type_commit(&part);
    if (!err)
        err = MPI_Iallgather(from, n, e->type, into, 1, part, e->mpi->comm, out);
    MPI_Type_free(&part);
    return err;
}

static int start_piece(ferry_mpi_event *e, int64_t at, int n, MPI_Request *out)
{
    char *into = (char *)e->into.at + (size_t)at * e->size;

    switch (e->kind) {
    case FERRY__MPI_ALLREDUCE:
        return MPI_Iallreduce(MPI_IN_PLACE, into, n, e->type, op_of(e->op), e->mpi->comm, out);
    case FERRY__MPI_BROADCAST:
        return MPI_Ibcast(into, n, e->type, e->root, e->mpi->comm, out);
    case FERRY__MPI_ALLGATHER:
        return gather_piece(e, at, n, out);
    }
    return MPI_ERR_OP;
}

static const char *call_of(const ferry_mpi_event *e)
{
    static const char *const names[] = { "MPI_Iallreduce", "MPI_Ibcast", "MPI_Iallgather" };

    return names[e->kind];
}

int ferry__mpi_start(ferry_mpi_event *e)
{
    int64_t piece = e->mpi->piece, at;
    char what[160];
    int err = 0;

    e->requests = calloc((size_t)((e->count + piece - 1) / piece) + 1, sizeof *e->requests);
    if (!e->requests)
        return ferry_error_set(FERRY_ENOMEM, "rank %d of %d: no memory for %s", e->mpi->rank,
                               e->mpi->ranks, call_of(e));
    for (at = 0; !err && at < e->count; at += piece) {
        int n = (int)(e->count - at < piece ? e->count - at : piece);

        err = start_piece(e, at, n, &e->requests[e->n_requests]);
        e->n_requests += !err;
    }
    return err ? ferry__mpi_error(e->mpi, err, call_of(e), ferry__mpi_name(e, what, sizeof what))
               : 0;
}

int ferry__mpi_test(int n, MPI_Request *requests, int *out)
{
    int i, one = 1, err = 0;

    *out = 1;
    for (i = 0; !err && i < n; i++) {
        err = MPI_Test(&requests[i], &one, MPI_STATUS_IGNORE);
        *out = *out && one;
    }
    return err;
}
