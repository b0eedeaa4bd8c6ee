/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file comm.h
 * Communication between the ranks of data-parallel training: the operations that a solver needs.
 * libferrympi implements them with MPI (ferry_mpi_get_comm); a program may implement its own,
 * between threads or machines. (Caffe: NCCL.)
 *
 * All ranks call the same functions in the same order, on blobs with equal counts. A solver calls
 * them on the thread that steps.
 */
#ifndef FERRY_COMM_H
#define FERRY_COMM_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/**
 * One rank and its operations. Zero the structure, then set every member. The functions return 0,
 * or record a message (ferry_error_set) and return a negative FERRY_E… code. After a failure every
 * later call fails.
 */
typedef struct ferry_comm {
    size_t struct_size; /* sizeof(ferry_comm) of the caller */
    int rank, ranks;    /* 0 … ranks − 1; ranks ≥ 1 */
    void *arg;          /* the first argument of the functions */
    /**
     * Starts an all-reduce and returns without waiting: replaces one half of `b` (`which`:
     * FERRY_DATA or FERRY_DIFF; F32) by its sum over all ranks. The sum is ordered after the work
     * submitted so far to the default queue of the blob's home. Until `finish` returns, no thread
     * may access that half, or reshape or destroy the blob.
     */
    int (*begin_sum)(void *arg, ferry_blob *b, unsigned which);
    /**
     * Waits for all sums started so far, and replaces each of the `n` values by its sum over all
     * ranks; with n 0 it only waits. After a failure the halves being summed are lost
     * (ferry_memory_mark_lost).
     */
    int (*finish)(void *arg, double *values, int n);
    /**
     * Copies the half of rank 0 to all ranks, and waits. After a failure the half is lost on the
     * other ranks.
     */
    int (*broadcast)(void *arg, ferry_blob *b, unsigned which);
} ferry_comm;

FERRY_END_DECLS

#endif
