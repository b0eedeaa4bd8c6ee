/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rank's end as its files share it, and the operations that were begun on it. Only progress.c makes
 * MPI's calls for operations, so that where there is a thread it is the one that makes them.
 */
#ifndef FERRY_MPI_STATE_H
#define FERRY_MPI_STATE_H

#include <ferry/mpi.h>

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

/* What a failure is told in; as much as a note to other ranks takes. */
#define FERRY__MPI_LINE 768

enum ferry__mpi_kind { FERRY__MPI_ALLREDUCE, FERRY__MPI_BROADCAST, FERRY__MPI_ALLGATHER };

/* A half of a blob, and where MPI reads or writes it. */
struct ferry__mpi_end {
    ferry_blob *blob; /* NULL: none, or bytes of ferry's own, at `at` */
    unsigned which, access;
    ferry_memory *memory; /* retained */
    bool device;          /* the device's copy: had when it was begun, ready behind `behind` */
    ferry_event *behind;  /* NULL: nothing is to be waited for */
    void *at;             /* once it is ready */
};

struct ferry_mpi_event {
    ferry_mpi *mpi;
    ferry_mpi_event *next;
    enum ferry__mpi_kind kind;
    ferry_mpi_op op;
    int root;
    ferry_dtype dtype;
    MPI_Datatype type;
    size_t size;                      /* of an element */
    int64_t count;                    /* elements of one rank's part */
    struct ferry__mpi_end from, into; /* in place: `into` alone */
    MPI_Request *requests;            /* n_requests of them, one a piece; once it was started */
    int n_requests;
    bool done, dropped; /* the latter: by its owner, before it was done */
    int err;
    char why[FERRY__MPI_LINE];
};

/* Operations in the order in which they were begun. */
struct ferry__mpi_list {
    ferry_mpi_event *first, **end;
};

struct ferry_mpi {
    MPI_Comm comm, notes; /* both duplicated: the latter for lines of ranks that end */
    int rank, ranks, level;
    int64_t piece;
    bool threaded, takes_device, listens; /* the last: a note is being received */
    char description[256];
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work, ended;
    struct ferry__mpi_list waiting, running; /* begun; started */
    int under_way;                           /* operations that were begun and are not done */
    bool closes, heard; /* the latter: all ranks know that one of them has failed */
    int failed;         /* 0, or the code that everything fails with */
    char why[FERRY__MPI_LINE];
    MPI_Request note; /* of progress */
    char line[FERRY__MPI_LINE];
};

/* ---- errors.c ---- */

/* This thread's error of a call of MPI's: `code` of `call` about `what`. FERRY_EIO. */
int ferry__mpi_error(const ferry_mpi *m, int code, const char *call, const char *what);
/* FERRY_EPERM on a thread that MPI does not take calls from; 0 elsewhere. */
int ferry__mpi_may_call(const ferry_mpi *m);
/* "diff of "conv1"", for messages. */
const char *ferry__mpi_name(const ferry_mpi_event *e, char *buf, size_t size);

/* ---- ends.c ---- */

/* Has the half on its way to where MPI takes it, behind the work of `q`. */
int ferry__mpi_end_begin(const ferry_mpi *m, struct ferry__mpi_end *end, ferry_queue *q);
/* Gets the half, waiting for it only where `waits`; FERRY_EBUSY. */
int ferry__mpi_end_ready(struct ferry__mpi_end *end, bool waits);
/* Lets go of it; `lost`: with its contents, if it was written. */
void ferry__mpi_end_drop(struct ferry__mpi_end *end, bool lost);

/* ---- cuda.c ---- */

/* Makes a device of the CUDA plugin the current one of the calling thread. FERRY_EDEVICE. */
int ferry__mpi_use_device(ferry_device *dev);

/* ---- start.c ---- */

/* Starts all pieces of an operation whose halves are ready. */
int ferry__mpi_start(ferry_mpi_event *e);
/* Whether all of `n` requests are done; those that are become MPI_REQUEST_NULL. A code of MPI's. */
int ferry__mpi_test(int n, MPI_Request *requests, int *out);

/* ---- progress.c ---- */

int ferry__mpi_progress_begin(ferry_mpi *m);
/* Waits for what was begun, and ends the thread. */
void ferry__mpi_progress_end(ferry_mpi *m);
/* Takes an operation over, which is its owner's until he destroys it. */
void ferry__mpi_submit(ferry_mpi_event *e);
/* Waits until nothing is under way any more; what has failed. */
int ferry__mpi_wait_all(ferry_mpi *m);
/* What everything fails with, as this thread's error; 0: nothing has failed. */
int ferry__mpi_is_failed(ferry_mpi *m);

/* ---- notes.c ---- */

/* Listens for the line of a rank that ends. */
int ferry__mpi_listen(ferry_mpi *m);
/* Whether one has come; it is then in m->line, with its rank. A code of MPI's. */
int ferry__mpi_heard(ferry_mpi *m, bool *out);
void ferry__mpi_deafen(ferry_mpi *m);

/* ---- begin.c ---- */

/* Replaces `n` values by their sums over all ranks, behind everything that was begun. Waits. */
int ferry__mpi_sum_values(ferry_mpi *m, double *values, int n);

#endif
