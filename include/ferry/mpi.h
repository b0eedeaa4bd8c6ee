/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file mpi.h
 * Collective operations of MPI on blobs, non-blocking, and the ranks of data-parallel training.
 * libferrympi is built if ferry is configured with an MPI (--with-mpi). This header does not
 * include mpi.h.
 *
 * A ferry_mpi is one rank's handle of a communicator that ferry duplicates from the program's, so
 * ferry's messages never match the program's. All ranks start the same operations in the same
 * order, with the same counts and dtypes. The homes of their blobs may be different devices.
 *
 * Memory: an operation reads the host's copy of a blob. If that copy is not valid, ferry first
 * copies the bytes to the host, asynchronously after the queue's work, into pinned memory where the
 * device has it. An operation writes its result to the host's copy; devices copy it at their next
 * access. If the MPI supports CUDA memory (MPIX_Query_cuda_support) and only the device's copy is
 * valid, ferry passes that copy to MPI (ferry_mpi_options.device). If MPI then runs on the
 * program's threads (below), the blob's device must be their current device (cudaSetDevice).
 *
 * Threads, by the level that MPI grants (MPI_Query_thread):
 * - MPI_THREAD_MULTIPLE: a progress thread of ferry advances operations while the program computes.
 *   All functions may be called from any thread.
 * - MPI_THREAD_SERIALIZED: no progress thread. Operations advance during calls of the functions
 *   below, mainly ferry_mpi_event_wait. The program ensures that only one thread at a time calls
 *   these functions or MPI.
 * - MPI_THREAD_FUNNELED, MPI_THREAD_SINGLE: likewise, and a call from a thread other than MPI's
 *   main thread returns FERRY_EPERM.
 *
 * Errors: unless a function names other codes, FERRY_EINVAL for NULL, FERRY_ENOMEM, and the errors
 * of the access to a blob. A failure of MPI is FERRY_EIO; the message names the rank, the MPI
 * function, the blob and MPI's error. A program that initialises MPI itself must set
 * MPI_ERRORS_RETURN on MPI_COMM_WORLD, since Open MPI reports some errors there and otherwise ends
 * the process; if ferry initialises MPI, ferry sets it.
 *
 * A call that fails has started nothing. If an operation fails after its start, the half that it
 * writes is lost (FERRY_ELOST until it is written again), since MPI does not report its progress; a
 * half that it only reads is unchanged. After such a failure, and after ferry_mpi_fail on any rank,
 * the ferry_mpi cannot be used further: all pending and later operations fail with the same
 * message.
 */
#ifndef FERRY_MPI_H
#define FERRY_MPI_H

#include <ferry/comm.h>

FERRY_BEGIN_DECLS

/** A rank's handle of a communicator. Opaque. */
typedef struct ferry_mpi ferry_mpi;

/** A started operation. Opaque; owned by the caller. */
typedef struct ferry_mpi_event ferry_mpi_event;

/** How operations advance (ferry_mpi_options.progress). */
typedef enum ferry_mpi_progress {
    FERRY_MPI_PROGRESS_AUTO = 0,   /* a progress thread if the MPI allows one */
    FERRY_MPI_PROGRESS_THREAD = 1, /* a progress thread, or FERRY_EUNSUPPORTED */
    FERRY_MPI_PROGRESS_CALLS = 2   /* only during the program's calls */
} ferry_mpi_progress;

/** Whether ferry passes device memory to MPI (ferry_mpi_options.device). */
typedef enum ferry_mpi_device {
    FERRY_MPI_DEVICE_AUTO = 0, /* if the MPI reports support for it */
    FERRY_MPI_DEVICE_NEVER = 1,
    FERRY_MPI_DEVICE_ALWAYS = 2 /* CUDA memory, without asking the MPI */
} ferry_mpi_device;

/** Reductions of ferry_mpi_allreduce. */
typedef enum ferry_mpi_op { FERRY_MPI_SUM = 0, FERRY_MPI_MAX = 1, FERRY_MPI_MIN = 2 } ferry_mpi_op;

/** Options of ferry_mpi_open. Zero the structure, then set struct_size. */
typedef struct ferry_mpi_options {
    size_t struct_size; /* sizeof(ferry_mpi_options) of the caller */
    const void *comm;   /* pointer to an MPI_Comm, which is duplicated; NULL: MPI_COMM_WORLD */
    size_t comm_size;   /* sizeof(MPI_Comm) of the caller, if comm is set */
    ferry_mpi_progress progress;
    ferry_mpi_device device;
    int64_t piece; /* maximum elements per MPI call; 0: 2^30 */
} ferry_mpi_options;

/**
 * Opens a communicator. Collective: all its ranks call this. `options` may be NULL. If MPI is not
 * initialised, ferry initialises it with MPI_THREAD_MULTIPLE, and the last ferry_mpi_close
 * finalises it.
 *
 * FERRY_EINVAL after MPI_Finalize, for MPI_COMM_NULL, and for an MPI_Comm whose size differs from
 * that of libferrympi's MPI; FERRY_EUNSUPPORTED for FERRY_MPI_PROGRESS_THREAD below
 * MPI_THREAD_MULTIPLE; FERRY_EPERM as above; FERRY_EIO. *out is then unchanged.
 */
FERRY_API int ferry_mpi_open(const ferry_mpi_options *options, ferry_mpi **out);

/**
 * Waits for the started operations, unless one has failed, and closes the communicator. Collective.
 * Destroy its events before. NULL is accepted. After a failure of any rank MPI is not finalised,
 * since that could wait for ranks that no longer exist: such a process ends by ferry_mpi_abort.
 */
FERRY_API void ferry_mpi_close(ferry_mpi *m);

/** The rank of this process; 0 for NULL. */
FERRY_API int ferry_mpi_rank(const ferry_mpi *m);
/** The number of ranks; 0 for NULL. */
FERRY_API int ferry_mpi_rank_count(const ferry_mpi *m);

/**
 * A description in one line: the MPI and its version, its thread level, how operations advance, and
 * whether MPI gets device memory. Borrowed until the close; "" for NULL.
 */
FERRY_API const char *ferry_mpi_description(const ferry_mpi *m);

/**
 * Starts an all-reduce: on all ranks, replaces one half of `b` (`which`: FERRY_DATA or FERRY_DIFF)
 * by the elementwise reduction `op` over the ranks, after the work submitted so far to `q` (a queue
 * of the blob's home; NULL: its default queue). *out is an event that completes with the operation;
 * a NULL `out` waits for it. (MPI_Iallreduce.)
 *
 * Until the event completes no thread may access that half, or reshape or destroy the blob. A half
 * that was never written counts as zeros. FERRY_EUNSUPPORTED for F16 and BF16, which MPI cannot
 * add. MPI chooses the order of additions: with two ranks the result is exactly a + b, with more it
 * is equal within rounding.
 */
FERRY_API int ferry_mpi_allreduce(ferry_mpi *m, ferry_blob *b, unsigned which, ferry_mpi_op op,
                                  ferry_queue *q, ferry_mpi_event **out);

/**
 * Starts a broadcast of one half of rank `root` to all ranks; any dtype. As ferry_mpi_allreduce,
 * but the root's half may be read meanwhile, and on the other ranks the old contents are neither
 * read nor copied. (MPI_Ibcast.)
 */
FERRY_API int ferry_mpi_broadcast(ferry_mpi *m, ferry_blob *b, unsigned which, int root,
                                  ferry_queue *q, ferry_mpi_event **out);

/**
 * Starts an all-gather: concatenates the halves of `from` of all ranks, in the order of ranks, into
 * that half of `into` on all ranks. Any dtype, equal for both. `from` may be read meanwhile.
 * FERRY_ESHAPE unless the count of `into` is that of `from` times the number of ranks; FERRY_EINVAL
 * if both are one blob. Otherwise as ferry_mpi_allreduce. (MPI_Iallgather.)
 */
FERRY_API int ferry_mpi_allgather(ferry_mpi *m, ferry_blob *from, ferry_blob *into, unsigned which,
                                  ferry_queue *q, ferry_mpi_event **out);

/** 1 if the operation is done, 0 if not, or the code of its failure. Does not block. */
FERRY_API int ferry_mpi_event_query(ferry_mpi_event *e);

/** Blocks until the operation is done; 0, or the code of its failure. */
FERRY_API int ferry_mpi_event_wait(ferry_mpi_event *e);

/** Destroys an event, done or not; the operation continues. NULL is accepted. */
FERRY_API void ferry_mpi_event_destroy(ferry_mpi_event *e);

/**
 * Fills in *out, as far as its struct_size says, for ferry_solver_options.team, and sets
 * struct_size to the bytes filled in; it is valid as long as `m`. With a progress thread, sums
 * advance while the solver computes; otherwise when they are started and waited for. FERRY_EINVAL
 * if struct_size is not set.
 */
FERRY_API int ferry_mpi_get_comm(ferry_mpi *m, ferry_comm *out);

/**
 * Informs all other ranks that this rank ends, with the reason `line`: their pending or next
 * operations fail with FERRY_EIO and "rank N: " before that line. Waits until they are informed, at
 * most one second. Sends nothing if another rank's failure already reached this rank. Afterwards no
 * operation of this rank is pending, and the process ends by ferry_mpi_abort.
 */
FERRY_API void ferry_mpi_fail(ferry_mpi *m, const char *line);

/**
 * Ends this process and, through the MPI's launcher, all others of the communicator, with the exit
 * status `status` (MPI_Abort). Does not return. NULL: MPI_COMM_WORLD.
 */
FERRY_API void ferry_mpi_abort(ferry_mpi *m, int status);

FERRY_END_DECLS

#endif
