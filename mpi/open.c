/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing the communication of a rank, and queries on it. */
#include "mpi/state.h"

#include <ferry/status.h>

#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The default limit of the bytes in one MPI call. */
#define PIECE (INT64_C(1) << 30)

/* The number of open ferry_mpi, if ferry has initialised MPI and has to finalise it. */
static pthread_mutex_t ours_lock = PTHREAD_MUTEX_INITIALIZER;
static int ours; /* −1: the program has initialised MPI */
static bool
    broken; /* a communication has failed: MPI is not finalised, since that could wait for ranks
             * that have ended */

/* ---- MPI itself ------------------------------------------------------------------------------ */

/*
 * Initialises MPI unless it is initialised. Open MPI reports some errors to MPI_COMM_WORLD, so its
 * error handler is set too.
 */
static int enter(void)
{
    int begun = 0, ended = 0, level, err = MPI_Finalized(&ended);

    if (!err && ended)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_open: MPI is already finalised");
    pthread_mutex_lock(&ours_lock);
    err = MPI_Initialized(&begun);
    if (!err && !begun)
        err = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (!err && !begun)
        err = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!err && begun && !ours)
        ours = -1;
    if (!err && ours >= 0)
        ours++;
    pthread_mutex_unlock(&ours_lock);
    return err ? ferry_error_set(FERRY_EIO, "ferry_mpi_open: MPI_Init_thread fails with %d", err)
               : 0;
}

static void leave(bool failed)
{
    pthread_mutex_lock(&ours_lock);
    broken = broken || failed;
    if (ours > 0 && --ours == 0) {
        if (broken)
            ours = 1; /* later calls find MPI initialised */
        else
            MPI_Finalize();
    }
    pthread_mutex_unlock(&ours_lock);
}

static bool takes_cuda(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
    int takes = 0;

    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) == MPI_SUCCESS && takes;
#else
    return false;
#endif
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *level_name(int level)
{
    return level >= MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
           : level >= MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
           : level >= MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                            : "MPI_THREAD_SINGLE";
}

static void describe(ferry_mpi *m)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;

    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n\t")] = 0;
    snprintf(m->description, sizeof m->description, "%.80s, %s, progress %s, device memory %s",
             library, level_name(m->level), m->threaded ? "by a thread" : "in calls",
             m->takes_device ? "is passed to a CUDA-aware MPI" : "is copied through the host");
}

/* Duplicates both communicators and makes them return errors. */
static int duplicate(ferry_mpi *m, MPI_Comm from)
{
    int err = MPI_Comm_dup(from, &m->comm);

    if (!err)
        err = MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    if (!err)
        err = MPI_Comm_dup(m->comm, &m->notes);
    if (!err)
        err = MPI_Comm_rank(m->comm, &m->rank);
    if (!err)
        err = MPI_Comm_size(m->comm, &m->ranks);
    return err ? ferry__mpi_error(m, err, "MPI_Comm_dup", "") : 0;
}

static int apply_options(ferry_mpi *m, const ferry_mpi_options *o)
{
    int err = ferry__mpi_may_call(m);

    if (!err && o->progress == FERRY_MPI_PROGRESS_THREAD && m->level < MPI_THREAD_MULTIPLE)
        err = ferry_error_set(FERRY_EUNSUPPORTED,
                              "ferry_mpi_open: MPI was initialised with %s; the progress thread "
                              "requires MPI_THREAD_MULTIPLE",
                              level_name(m->level));
    if (err)
        return err;
    m->threaded = m->level >= MPI_THREAD_MULTIPLE && o->progress != FERRY_MPI_PROGRESS_CALLS;
    m->takes_device = o->device == FERRY_MPI_DEVICE_ALWAYS ||
                      (o->device == FERRY_MPI_DEVICE_AUTO && takes_cuda());
    m->piece = o->piece > 0 && o->piece < PIECE ? o->piece : PIECE;
    return duplicate(m, o->comm ? *(const MPI_Comm *)o->comm : MPI_COMM_WORLD);
}

/* Frees the communicators; a collective call. */
static void discard(ferry_mpi *m)
{
    ferry__mpi_stop_listening(m);
    if (m->notes != MPI_COMM_NULL)
        MPI_Comm_free(&m->notes);
    if (m->comm != MPI_COMM_NULL)
        MPI_Comm_free(&m->comm);
}

static void free_end(ferry_mpi *m)
{
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->ended);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int open_end(const ferry_mpi_options *o, ferry_mpi **out)
{
    ferry_mpi *m = calloc(1, sizeof *m);
    int err;

    if (!m)
        return ferry_error_set(FERRY_ENOMEM, "ferry_mpi_open: no memory");
    m->comm = m->notes = MPI_COMM_NULL;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->work, NULL);
    pthread_cond_init(&m->ended, NULL);
    MPI_Query_thread(&m->level);
    err = apply_options(m, o);
    if (!err)
        err = ferry__mpi_listen(m);
    if (!err)
        err = ferry__mpi_progress_begin(m);
    if (err) {
        discard(m);
        free_end(m);
        return err;
    }
    describe(m);
    *out = m;
    return 0;
}

int ferry_mpi_open(const ferry_mpi_options *options, ferry_mpi **out)
{
    ferry_mpi_options o = { 0 };
    int err;

    if (options) /* the caller's structure may be from an older or a newer version */
        memcpy(&o, options, options->struct_size < sizeof o ? options->struct_size : sizeof o);
    if (!out)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_open: out is NULL");
    if (options && options->struct_size < sizeof o.struct_size)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_mpi_open: the options' struct_size is %zu, less than %zu",
                               (size_t)options->struct_size, sizeof o.struct_size);
    if (o.comm && o.comm_size != sizeof(MPI_Comm))
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_mpi_open: an MPI_Comm of %d bytes; in the MPI that this "
                               "library was built with it has %d",
                               (int)o.comm_size, (int)sizeof(MPI_Comm));
    if (o.comm && *(const MPI_Comm *)o.comm == MPI_COMM_NULL)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_open: MPI_COMM_NULL");
    if (o.progress > FERRY_MPI_PROGRESS_CALLS || o.device > FERRY_MPI_DEVICE_ALWAYS || o.piece < 0)
        return ferry_error_set(FERRY_EINVAL, "ferry_mpi_open: an option has an unknown value");
    err = enter();
    if (err)
        return err;
    err = open_end(&o, out);
    if (err)
        leave(false);
    return err;
}

void ferry_mpi_close(ferry_mpi *m)
{
    bool failed;

    if (!m)
        return;
    ferry__mpi_progress_end(m);
    failed = m->failed != 0;
    if (!failed)
        discard(m);
    leave(failed);
    if (!failed) /* after a failure MPI may still write a note into the buffer */
        free_end(m);
}

/*
 * ---- queries
 * --------------------------------------------------------------------------------------
 */

int ferry_mpi_rank(const ferry_mpi *m)
{
    return m ? m->rank : 0;
}

int ferry_mpi_rank_count(const ferry_mpi *m)
{
    return m ? m->ranks : 0;
}

const char *ferry_mpi_description(const ferry_mpi *m)
{
    return m ? m->description : "";
}
