/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi/state.h"

#include <ferry/status.h>

#include <stdio.h>

int ferry__mpi_error(const ferry_mpi *m, int code, const char *call, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "no description from MPI";
    int length;

    MPI_Error_string(code, text, &length);
    return ferry_error_set(FERRY_EIO, "rank %d of %d: %s%s%s: %.400s", m->rank, m->ranks, call,
                           *what ? " of " : "", what, text);
}

int ferry__mpi_may_call(const ferry_mpi *m)
{
    int is_main = 1;

    if (m->level >= MPI_THREAD_SERIALIZED)
        return 0;
    MPI_Is_thread_main(&is_main);
    return is_main ? 0
                   : ferry_error_set(FERRY_EPERM,
                                     "rank %d of %d: MPI was initialised for calls of its main "
                                     "thread only; other threads require MPI_THREAD_SERIALIZED",
                                     m->rank, m->ranks);
}

const char *ferry__mpi_name(const ferry_mpi_event *e, char *buf, size_t size)
{
    const struct ferry__mpi_end *end = e->into.blob ? &e->into : &e->from;

    if (end->blob)
        snprintf(buf, size, "%lld x %s, %s of \"%.100s\"", (long long)e->count,
                 ferry_dtype_name(e->dtype), end->which == FERRY_DIFF ? "diff" : "data",
                 ferry_blob_name(end->blob));
    else
        snprintf(buf, size, "%lld values", (long long)e->count);
    return buf;
}
