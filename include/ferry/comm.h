/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file comm.h
 * Ranks that train one net together: what a solver wants of whatever joins them. libferrympi fills it in
 * for MPI (ferry_mpi_get_comm); a program may join threads, or machines, in a way of its own.
 *
 * All ranks call the same functions in the same order, with blobs of the same counts. A solver calls
 * them on the thread that steps.
 */
#ifndef FERRY_COMM_H
#define FERRY_COMM_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * A rank of a team. Zero the structure, then set struct_size and all of it. Functions return 0 or a
 * negative FERRY_E… code with its message recorded (ferry_error_set); after a failure the team is of no
 * use any more, and every later call fails.
 */
typedef struct ferry_comm {
    size_t struct_size; /* sizeof(ferry_comm) of the caller */
    int rank, ranks;    /* 0 … ranks − 1; at least 1 rank */
    void *arg;          /* the first argument of the functions */
    /**
     * Begins to replace data or diff (`which`: FERRY_DATA, FERRY_DIFF) of `b`, F32, by the sum over all
     * ranks, and returns: the sum is there behind `finish`. What the default queue of the blob's home has
     * been given is done first. Until then nobody else touches that half, and the blob stays.
     */
    int (*begin_sum)(void *arg, ferry_blob *b, unsigned which);
    /**
     * Waits for all sums that were begun, and replaces each of `n` values by its sum over all ranks; 0
     * values: waits alone. After a failure what was being summed is lost (ferry_memory_mark_lost).
     */
    int (*finish)(void *arg, double *values, int n);
    /** Gives all ranks the half that rank 0 has. Waits for it. After a failure it is lost elsewhere. */
    int (*broadcast)(void *arg, ferry_blob *b, unsigned which);
} ferry_comm;

FERRY_END_DECLS

#endif
