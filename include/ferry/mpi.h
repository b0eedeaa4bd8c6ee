/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file mpi.h
 * Blobs over many processes: collective operations of MPI that do not block, and the team that a solver
 * trains with. libferrympi, which is there where ferry was configured with an MPI (--with-mpi); this
 * header needs none.
 *
 * A ferry_mpi is one rank's end of a communicator of ferry's own, duplicated from the program's, so that
 * nothing of the program's is mixed up with it. All ranks begin the same operations in the same order,
 * with the same counts and types; the homes of their blobs may be different devices.
 *
 * Where the bytes are taken from: the host's copy, which coherence brings there first if it is not the newest
 * (a copy that was begun behind the queue's work, in page-locked memory where the device has some); where it
 * is the newest nothing is copied. What comes is written to the host's copy, and the next access elsewhere
 * fetches it. An MPI that says it takes addresses of CUDA's memory (MPIX_Query_cuda_support) is handed the
 * device's copy instead, where that is the newest one (ferry_mpi_options.device); where it is called on the
 * program's threads (below), the blob's device has to be the current one there (cudaSetDevice).
 *
 * Threads, by what the MPI grants (MPI_Query_thread):
 *   - MPI_THREAD_MULTIPLE: a thread of ferry's takes operations forward while the program computes. All
 *     functions from any thread.
 *   - MPI_THREAD_SERIALIZED: there is no such thread; an operation goes forward in the functions below, above
 *     all in ferry_mpi_event_wait. The program sees to it that one thread at a time is in them or in MPI.
 *   - MPI_THREAD_FUNNELED, MPI_THREAD_SINGLE: likewise, and FERRY_EPERM on any thread but MPI's main one.
 *
 * Errors: with no other code named, FERRY_EINVAL for NULL, FERRY_ENOMEM, and what the access to a blob fails with.
 * What MPI fails with is FERRY_EIO, and the message names the rank, MPI's call, the blob and MPI's own words. Where
 * the program initialised MPI it sets MPI_ERRORS_RETURN on MPI_COMM_WORLD, as ferry does where it did: Open MPI tells
 * some errors there, and ends the process otherwise. A call that fails by itself has begun nothing. An operation that
 * fails once it was begun leaves the half that it was to write lost (FERRY_ELOST until it is written again), since
 * MPI does not say how far it came; what it only read is as it was. After that, and after a ferry_mpi_fail of any
 * rank, the ferry_mpi is of no use any more: everything under way and everything begun later fails with that same
 * line.
 */
#ifndef FERRY_MPI_H
#define FERRY_MPI_H

#include <ferry/comm.h>

FERRY_BEGIN_DECLS

/** A rank's end of a communicator. Opaque. */
typedef struct ferry_mpi ferry_mpi;

/** An operation that was begun. Opaque; the caller's. */
typedef struct ferry_mpi_event ferry_mpi_event;

/** Who takes operations forward (ferry_mpi_options.progress). */
typedef enum ferry_mpi_progress {
    FERRY_MPI_PROGRESS_AUTO = 0,   /* a thread where the MPI allows one */
    FERRY_MPI_PROGRESS_THREAD = 1, /* a thread, or FERRY_EUNSUPPORTED */
    FERRY_MPI_PROGRESS_CALLS = 2   /* the program's calls */
} ferry_mpi_progress;

/** Whether device memory is handed to the MPI (ferry_mpi_options.device). */
typedef enum ferry_mpi_device {
    FERRY_MPI_DEVICE_AUTO = 0, /* where the MPI says that it takes it */
    FERRY_MPI_DEVICE_NEVER = 1,
    FERRY_MPI_DEVICE_ALWAYS = 2 /* CUDA's is, whatever the MPI says */
} ferry_mpi_device;

/** What an all-reduce makes of the ranks' elements. */
typedef enum ferry_mpi_op { FERRY_MPI_SUM = 0, FERRY_MPI_MAX = 1, FERRY_MPI_MIN = 2 } ferry_mpi_op;

/** How a communicator is opened. Zero the structure, then set struct_size. */
typedef struct ferry_mpi_options {
    size_t struct_size; /* sizeof(ferry_mpi_options) of the caller */
    const void *comm;   /* points to an MPI_Comm, which is duplicated; NULL: MPI_COMM_WORLD */
    size_t comm_size;   /* sizeof(MPI_Comm) of the caller; with comm only */
    ferry_mpi_progress progress;
    ferry_mpi_device device;
    int64_t piece; /* elements at most that one call of MPI's is given; 0: 2^30 */
} ferry_mpi_options;

/**
 * Opens a rank's end; all ranks of the communicator call it. `options` may be NULL. Where MPI was not
 * initialised, it is, with MPI_THREAD_MULTIPLE asked for, and finalised by the last ferry_mpi_close.
 *
 * FERRY_EINVAL behind MPI_Finalize, for MPI_COMM_NULL, and for an MPI_Comm of another size than this library's MPI has;
 * FERRY_EUNSUPPORTED for FERRY_MPI_PROGRESS_THREAD below MPI_THREAD_MULTIPLE; FERRY_EPERM, as above;
 * FERRY_EIO. *out is then untouched.
 */
FERRY_API int ferry_mpi_open(const ferry_mpi_options *options, ferry_mpi **out);

/**
 * Waits for what was begun, unless it has failed, and closes; all ranks call it. NULL is accepted. Its events
 * are to be destroyed before. After a failure of any MPI is not finalised, since MPI could wait for ranks that are
 * gone: such a process ends by ferry_mpi_abort.
 */
FERRY_API void ferry_mpi_close(ferry_mpi *m);

/** This process' rank; 0 for NULL. */
FERRY_API int ferry_mpi_rank(const ferry_mpi *m);
/** How many ranks there are; 0 for NULL. */
FERRY_API int ferry_mpi_rank_count(const ferry_mpi *m);

/**
 * One line about it: the MPI and its version, its level of threads, who takes operations forward, what becomes of device
 * memory. Borrowed until it is closed; "" for NULL.
 */
FERRY_API const char *ferry_mpi_description(const ferry_mpi *m);

/**
 * Begins to replace data or diff (`which`: FERRY_DATA, FERRY_DIFF) of `b` on all ranks by what `op` makes of
 * theirs, element by element, behind the work that `q` (a queue of the blob's home; NULL: its default one)
 * was given so far. *out is an event that is done when the result is there; a NULL `out` waits for that.
 *
 * Until then nobody else touches that half, and the blob stays. A half that was never written counts as zeros.
 * FERRY_EUNSUPPORTED for F16 and BF16, which MPI cannot add. The order of additions is the MPI's: over two ranks
 * the result is to the bit a + b, over more it is within rounding.
 */
FERRY_API int ferry_mpi_allreduce(ferry_mpi *m, ferry_blob *b, unsigned which, ferry_mpi_op op,
                                  ferry_queue *q, ferry_mpi_event **out);

/**
 * Begins to give all ranks the half that rank `root` has; any dtype. Otherwise as ferry_mpi_allreduce, but that
 * the root's half may be read meanwhile. Elsewhere nothing is read, and nothing copied before.
 */
FERRY_API int ferry_mpi_broadcast(ferry_mpi *m, ferry_blob *b, unsigned which, int root,
                                  ferry_queue *q, ferry_mpi_event **out);

/**
 * Begins to put the halves that all ranks have one behind the other, by rank, into that half of `into` on all of
 * them; any dtype, that of `from`. `from` may be read meanwhile. FERRY_ESHAPE unless `into` has as many elements
 * as `from`, times the ranks; FERRY_EINVAL for a blob that is both. Otherwise as ferry_mpi_allreduce.
 */
FERRY_API int ferry_mpi_allgather(ferry_mpi *m, ferry_blob *from, ferry_blob *into, unsigned which,
                                  ferry_queue *q, ferry_mpi_event **out);

/** 1 if the operation is done, 0 if not, or the code that it failed with. Does not wait. */
FERRY_API int ferry_mpi_event_query(ferry_mpi_event *e);

/** Waits until the operation is done; 0, or the code that it failed with. */
FERRY_API int ferry_mpi_event_wait(ferry_mpi_event *e);

/** Gives an event back, done or not; the operation goes on. NULL is accepted. */
FERRY_API void ferry_mpi_event_destroy(ferry_mpi_event *e);

/**
 * A team of its ranks, for ferry_solver_options, in *out, which has its struct_size set. It lasts as long as `m`.
 * Sums go forward while the solver computes where there is a thread of ferry's, and elsewhere as they are begun
 * and waited for.
 */
FERRY_API int ferry_mpi_get_comm(ferry_mpi *m, ferry_comm *out);

/**
 * Tells all other ranks that this one ends, and why, in a line: what they have under way, or begin next, then
 * fails with FERRY_EIO, "rank N: " and that line. Waits until they know, a second at most;
 * they are told nothing if this end has failed by another rank's word. Behind it nothing of this end is under way.
 * The calling process then ends by ferry_mpi_abort.
 */
FERRY_API void ferry_mpi_fail(ferry_mpi *m, const char *line);

/**
 * Ends this process and, by the MPI's launcher, all others of the communicator (MPI_Abort), with that exit status.
 * Does not return. NULL: MPI_COMM_WORLD.
 */
FERRY_API void ferry_mpi_abort(ferry_mpi *m, int status);

FERRY_END_DECLS

#endif
