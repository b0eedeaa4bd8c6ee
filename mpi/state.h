/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of a rank's communication and of its operations. Only progress.c makes MPI's calls
 * for operations, so that with a progress thread all of them come from that thread.
 */
#ifndef FERRY_MPI_STATE_H
#define FERRY_MPI_STATE_H

#include <ferry/mpi.h>

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

/* The longest error message; also the size of a note to other ranks. */
#define FERRY__MPI_LINE 768

enum ferry__mpi_kind { FERRY__MPI_ALLREDUCE, FERRY__MPI_BROADCAST, FERRY__MPI_ALLGATHER };

/* A half of a blob, and the address at which MPI reads or writes it. */
struct ferry__mpi_end {
    ferry_blob *blob; /* NULL: the structure is unused, or the bytes are ferry's own, at `at` */
    unsigned which, access;
    ferry_memory *memory; /* retained */
    bool device;          /* MPI gets the device's copy, which was accessed when the operation began
                           * and is ready after `behind` */
    ferry_event *behind;  /* NULL: nothing to wait for */
    void *at;             /* valid once the half is ready */
};

struct ferry_mpi_event {
    ferry_mpi *mpi;
    ferry_mpi_event *next;
    enum ferry__mpi_kind kind;
    ferry_mpi_op op;
    int root;
    ferry_dtype dtype;
    MPI_Datatype type;
    size_t size;                      /* the size of an element */
    int64_t count;                    /* the number of elements of one rank's part */
    struct ferry__mpi_end from, into; /* in place: only `into` is used */
    MPI_Request *requests;            /* n_requests of them, one for each piece, once the operation
                                       * is started */
    int n_requests;
    bool done, dropped; /* dropped: the owner has destroyed the operation before it was complete */
    int err;
    char why[FERRY__MPI_LINE];
};

/* Operations in the order in which they were begun. */
struct ferry__mpi_list {
    ferry_mpi_event *first, **end;
};

struct ferry_mpi {
    MPI_Comm comm, notes; /* duplicates of the program's communicator; the second carries notes */
    int rank, ranks, level;
    int64_t piece;
    bool threaded, takes_device, listens; /* listens: a receive for a note is posted */
    char description[256];
    pthread_t thread;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t work, ended;
    struct ferry__mpi_list waiting, running; /* operations that were begun, and operations that were
                                              * started */
    int under_way;                           /* operations that were begun and are not complete */
    bool closes, heard;                      /* heard: all ranks know of the failure of one rank */
    int failed;                              /* 0, or the error of every operation */
    char why[FERRY__MPI_LINE];
    MPI_Request note; /* used only by the thread that makes progress */
    char line[FERRY__MPI_LINE];
};

/* ---- errors.c ---- */

/* Sets this thread's error for a failed MPI call: `code` of `call` for `what`. FERRY_EIO. */
int ferry__mpi_error(const ferry_mpi *m, int code, const char *call, const char *what);
/* FERRY_EPERM on a thread that may not call MPI; otherwise 0. */
int ferry__mpi_may_call(const ferry_mpi *m);
/* The half's name for messages, "diff of "conv1"". */
const char *ferry__mpi_name(const ferry_mpi_event *e, char *buf, size_t size);

/* ---- ends.c ---- */

/* Starts making the half available to MPI, after the work of `q`. */
int ferry__mpi_end_begin(const ferry_mpi *m, struct ferry__mpi_end *end, ferry_queue *q);
/* Completes ferry__mpi_end_begin; without `waits`, FERRY_EBUSY instead of waiting. */
int ferry__mpi_end_ready(struct ferry__mpi_end *end, bool waits);
/* Releases the half; `lost`: also marks its contents as lost if it was written. */
void ferry__mpi_end_drop(struct ferry__mpi_end *end, bool lost);

/* ---- cuda.c ---- */

/* Makes a device of the CUDA plugin current on the calling thread. FERRY_EDEVICE. */
int ferry__mpi_use_device(ferry_device *dev);

/* ---- start.c ---- */

/* Starts all pieces of an operation whose halves are ready. */
int ferry__mpi_start(ferry_mpi_event *e);
/*
 * Whether all of `n` requests are complete; complete ones become MPI_REQUEST_NULL. Returns MPI's
 * code.
 */
int ferry__mpi_test(int n, MPI_Request *requests, int *out);

/* ---- progress.c ---- */

int ferry__mpi_progress_begin(ferry_mpi *m);
/* Waits for the pending operations, and ends the thread. */
void ferry__mpi_progress_end(ferry_mpi *m);
/* Enqueues an operation, which its owner has to destroy. */
void ferry__mpi_submit(ferry_mpi_event *e);
/* Waits until no operation is pending; returns the error of a failed one. */
int ferry__mpi_wait_all(ferry_mpi *m);
/*
 * Returns the error that every operation fails with, recorded for this thread; 0: no rank has
 * failed.
 */
int ferry__mpi_is_failed(ferry_mpi *m);

/* ---- notes.c ---- */

/* Posts a receive for the note of a rank that fails. */
int ferry__mpi_listen(ferry_mpi *m);
/* Whether a note has arrived; it is then in m->line, with its rank. Returns MPI's code. */
int ferry__mpi_heard(ferry_mpi *m, bool *out);
void ferry__mpi_stop_listening(ferry_mpi *m);

/* ---- begin.c ---- */

/*
 * Replaces `n` values by their sums over all ranks, after all operations that were begun before.
 * Blocks.
 */
int ferry__mpi_sum_values(ferry_mpi *m, double *values, int n);

#endif
