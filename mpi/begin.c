/* SPDX-License-Identifier: BSD-2-Clause */
/* Begins operations: invalid arguments are refused here, before another rank could wait. */
#include "mpi/state.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/*
 * Finds MPI's type of an element. For a type that MPI cannot add, `adds` selects an error instead
 * of a type of as many bytes.
 */
static int find_type(ferry_mpi_event *e, bool adds)
{
    switch (e->dtype) {
    case FERRY_F32:
        e->type = MPI_FLOAT;
        break;
    case FERRY_F64:
        e->type = MPI_DOUBLE;
        break;
    case FERRY_I8:
        e->type = MPI_INT8_T;
        break;
    case FERRY_U8:
        e->type = MPI_UINT8_T;
        break;
    case FERRY_I32:
        e->type = MPI_INT32_T;
        break;
    case FERRY_U32:
        e->type = MPI_UINT32_T;
        break;
    case FERRY_I64:
        e->type = MPI_INT64_T;
        break;
    case FERRY_F16:
    case FERRY_BF16:
        e->type = MPI_UINT16_T;
        if (adds)
            return ferry_error_set(FERRY_EUNSUPPORTED,
                                   "ferry_mpi_allreduce: MPI has no type for %s",
                                   ferry_dtype_name(e->dtype));
        break;
    }
    return 0;
}

static int check(ferry_mpi *m, const ferry_blob *b, unsigned which, const ferry_queue *q,
                 const char *call)
{
    if (!m || !b || which > FERRY_DIFF)
        return ferry_error_set(FERRY_EINVAL, "%s: %s", call,
                               !m || !b ? "NULL argument" : "which is neither data nor diff");
    if (q && ferry_queue_device(q) != ferry_blob_home(b))
        return ferry_error_set(FERRY_EINVAL,
                               "%s: the queue belongs to another device than the blob", call);
    return m->threaded ? 0 : ferry__mpi_may_call(m);
}

static int make_event(ferry_mpi *m, enum ferry__mpi_kind kind, const ferry_blob *b,
                      ferry_mpi_event **out)
{
    ferry_mpi_event *e = calloc(1, sizeof *e);
    int err;

    if (!e)
        return ferry_error_set(FERRY_ENOMEM, "rank %d of %d: no memory for an operation", m->rank,
                               m->ranks);
    e->mpi = m;
    e->kind = kind;
    e->dtype = b ? ferry_blob_dtype(b) : FERRY_F64;
    e->size = ferry_dtype_size(e->dtype);
    e->count = b ? ferry_blob_element_count(b) : 0;
    err = find_type(e, kind == FERRY__MPI_ALLREDUCE);
    if (err)
        free(e);
    else
        *out = e;
    return err;
}

/* Submits the operation; if `out` is NULL, waits for it. */
static int submit(ferry_mpi_event *e, ferry_mpi_event **out)
{
    int err;

    ferry__mpi_submit(e);
    if (out) {
        *out = e;
        return 0;
    }
    err = ferry_mpi_event_wait(e);
    ferry_mpi_event_destroy(e);
    return err;
}

static int begin(ferry_mpi_event *e, ferry_queue *q, ferry_mpi_event **out)
{
    int err = ferry__mpi_is_failed(e->mpi);

    if (!err)
        err = ferry__mpi_end_begin(e->mpi, &e->from, q);
    if (!err)
        err = ferry__mpi_end_begin(e->mpi, &e->into, e->from.blob ? NULL : q);
    if (!err)
        return submit(e, out);
    ferry__mpi_end_drop(&e->from, false);
    ferry__mpi_end_drop(&e->into, false);
    free(e);
    return err;
}

int ferry_mpi_allreduce(ferry_mpi *m, ferry_blob *b, unsigned which, ferry_mpi_op op,
                        ferry_queue *q, ferry_mpi_event **out)
{
    ferry_mpi_event *e;
    int err = check(m, b, which, q, "ferry_mpi_allreduce");

    if (!err && (unsigned)op > FERRY_MPI_MIN)
        err = ferry_error_set(FERRY_EINVAL, "ferry_mpi_allreduce: %d is not an operation", (int)op);
    if (!err)
        err = make_event(m, FERRY__MPI_ALLREDUCE, b, &e);
    if (err)
        return err;
    e->op = op;
    e->into = (struct ferry__mpi_end){ .blob = b, .which = which };
    e->into.access = FERRY_READ | FERRY_WRITE;
    return begin(e, q, out);
}

int ferry_mpi_broadcast(ferry_mpi *m, ferry_blob *b, unsigned which, int root, ferry_queue *q,
                        ferry_mpi_event **out)
{
    ferry_mpi_event *e;
    int err = check(m, b, which, q, "ferry_mpi_broadcast");

    if (!err && (root < 0 || root >= m->ranks))
        err = ferry_error_set(FERRY_EINVAL, "ferry_mpi_broadcast: %d is not one of the %d ranks",
                              root, m->ranks);
    if (!err)
        err = make_event(m, FERRY__MPI_BROADCAST, b, &e);
    if (err)
        return err;
    e->root = root;
    e->into = (struct ferry__mpi_end){ .blob = b, .which = which };
    e->into.access = m->rank == root ? FERRY_READ : FERRY_WRITE;
    return begin(e, q, out);
}

static int check_gather(const ferry_mpi *m, const ferry_blob *from, const ferry_blob *into)
{
    if (from == into)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_allgather: source and destination are the "
                                             "same blob");
    if (ferry_blob_dtype(from) != ferry_blob_dtype(into))
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_allgather: from %s into %s",
                               ferry_dtype_name(ferry_blob_dtype(from)),
                               ferry_dtype_name(ferry_blob_dtype(into)));
    if (ferry_blob_element_count(into) / m->ranks != ferry_blob_element_count(from) ||
        ferry_blob_element_count(into) % m->ranks)
        return ferry_error_set(FERRY_ESHAPE,
                               "ferry_mpi_allgather: %lld elements from each of %d ranks do not "
                               "fill %lld",
                               (long long)ferry_blob_element_count(from), m->ranks,
                               (long long)ferry_blob_element_count(into));
    return 0;
}

int ferry_mpi_allgather(ferry_mpi *m, ferry_blob *from, ferry_blob *into, unsigned which,
                        ferry_queue *q, ferry_mpi_event **out)
{
    ferry_mpi_event *e;
    int err = check(m, from, which, q, "ferry_mpi_allgather");

    if (!err && !into)
        err = ferry_error_set(FERRY_EINVAL, "ferry_mpi_allgather: NULL argument");
    if (!err)
        err = check_gather(m, from, into);
    if (!err)
        err = make_event(m, FERRY__MPI_ALLGATHER, from, &e);
    if (err)
        return err;
    e->from = (struct ferry__mpi_end){ .blob = from, .which = which, .access = FERRY_READ };
    e->into = (struct ferry__mpi_end){ .blob = into, .which = which, .access = FERRY_WRITE };
    return begin(e, q, out);
}

int ferry__mpi_sum_values(ferry_mpi *m, double *values, int n)
{
    const size_t size = (size_t)n * sizeof(double);
    double *own = malloc(size + 1);
    ferry_mpi_event *e;
    int err = m->threaded ? 0 : ferry__mpi_may_call(m);

    if (!err && !own)
        err =
            ferry_error_set(FERRY_ENOMEM, "rank %d of %d: no memory for a sum", m->rank, m->ranks);
    if (!err)
        err = make_event(m, FERRY__MPI_ALLREDUCE, NULL, &e);
    if (err) {
        free(own);
        return err;
    }
    memcpy(own, values, size);
    e->count = n;
    e->into.at = own;
    err = begin(e, NULL, NULL);
    if (err) /* MPI may still write to these bytes, so they are leaked */
        return err;
    memcpy(values, own, size);
    free(own);
    return 0;
}
