/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations that an MPI with fewer threads allows; device memory; and ranks that end with an
 * error.
 */
#include "ranks.h"

#include "backends/sim/control.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- MPI_THREAD_FUNNELED --------------------------------------------------------------------- */

static void a_thread_is_refused_below_multiple(void)
{
    const ferry_mpi_options o = { .struct_size = sizeof o, .progress = FERRY_MPI_PROGRESS_THREAD };

    CHECK(ferry_mpi_open(&o, &mpi) == FERRY_EUNSUPPORTED);
    CHECK(strstr(ferry_last_error(), "MPI_THREAD_FUNNELED"));
    CHECK(strstr(ferry_last_error(), "MPI_THREAD_MULTIPLE"));
}

static void operations_go_forward_in_calls(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 100), *c = ranks_blob(FERRY_F32, 3);
    ferry_mpi_event *e = NULL, *f = NULL;

    ranks_open(NULL);
    CHECK(strstr(ferry_mpi_description(mpi), "in calls"));
    CHECK(!ferry_blob_fill_data(b, rank) && !ferry_blob_fill_data(c, 1));
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DATA, FERRY_MPI_MAX, NULL, &e));
    CHECK(!ferry_mpi_allreduce(mpi, c, FERRY_DATA, FERRY_MPI_SUM, NULL, &f));
    CHECK(!ferry_mpi_event_wait(f));
    while (!ferry_mpi_event_query(e))
        ;
    CHECK(ferry_mpi_event_query(e) == 1);
    CHECK(((const float *)ferry_blob_host_data(b))[99] == (float)(ranks - 1));
    CHECK(((const float *)ferry_blob_host_data(c))[1] == (float)ranks);
    ferry_mpi_event_destroy(e);
    ferry_mpi_event_destroy(f);
    ferry_blob_destroy(b);
    ferry_blob_destroy(c);
}

static void *elsewhere(void *arg)
{
    ferry_blob *b = arg;

    CHECK(ferry_mpi_allreduce(mpi, b, FERRY_DATA, FERRY_MPI_SUM, NULL, NULL) == FERRY_EPERM);
    CHECK(strstr(ferry_last_error(), "MPI_THREAD_SERIALIZED"));
    return NULL;
}

static void another_thread_is_refused(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 4);
    pthread_t t;

    CHECK(!pthread_create(&t, NULL, elsewhere, b));
    pthread_join(t, NULL);
    ferry_blob_destroy(b);
}

/* The device is held until both calls have returned. */
static void neither_a_begin_nor_a_query_waits_for_the_device(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 100);
    const struct sim_control *control = NULL;
    ferry_mpi_event *e = NULL;
    void *sim = NULL;

    ranks_open(NULL);
    CHECK(!ferry_device_native(dev, "sim_control", (void *)&control, sizeof control) &&
          !ferry_device_native(dev, "sim_device", &sim, sizeof sim));
    if (!sim)
        return;
    control->hold(sim, 1);
    CHECK(!ferry_blob_fill_data(b, 2));
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DATA, FERRY_MPI_SUM, NULL, &e));
    CHECK(ferry_mpi_event_query(e) == 0);
    control->hold(sim, 0);
    CHECK(!ferry_mpi_event_wait(e));
    CHECK(((const float *)ferry_blob_host_data(b))[1] == 2 * (float)ranks);
    ferry_mpi_event_destroy(e);
    ferry_blob_destroy(b);
}

static void a_communicator_that_is_none_is_refused(void)
{
    const MPI_Comm none = MPI_COMM_NULL;
    const ferry_mpi_options o = { .struct_size = sizeof o,
                                  .comm = &none,
                                  .comm_size = sizeof none };

    CHECK(ferry_mpi_open(&o, &mpi) == FERRY_EINVAL);
    CHECK(strstr(ferry_last_error(), "MPI_COMM_NULL"));
}

const struct ranks_case level_cases[] = {
#define CASE(name)  \
    {               \
#name, name \
    }
    CASE(a_communicator_that_is_none_is_refused),
    CASE(a_thread_is_refused_below_multiple),
    CASE(operations_go_forward_in_calls),
    CASE(another_thread_is_refused),
    { NULL, NULL },
};

const struct ranks_case held_cases[] = {
    CASE(neither_a_begin_nor_a_query_waits_for_the_device),
    { NULL, NULL },
};

/* ---- device memory --------------------------------------------------------------------------- */

static void an_mpi_that_takes_device_memory_is_handed_it(void)
{
    const ferry_mpi_options o = { .struct_size = sizeof o, .device = FERRY_MPI_DEVICE_ALWAYS };
    ferry_blob *b = ranks_blob(FERRY_F32, 1000);
    uint64_t before;

    ranks_open(&o);
    interposed.takes_cuda = true;
    CHECK(!ferry_blob_fill_diff(b, rank + 1));
    CHECK(ferry_blob_mutable_device_diff(b).handle);
    before = ranks_copies();
    CHECK(!ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL));
    CHECK(ranks_copies() == before);
    CHECK(ferry_memory_head(ferry_blob_diff_memory(b)) == FERRY_HEAD_AT_DEVICE);
    CHECK(((const float *)ferry_blob_host_diff(b))[999] == (float)(ranks * (ranks + 1) / 2));
    ferry_blob_destroy(b);
}

const struct ranks_case device_cases[] = {
    CASE(an_mpi_that_takes_device_memory_is_handed_it),
    { NULL, NULL },
};

/* ---- failures -------------------------------------------------------------------------------- */

/* MPI fails on rank 1, which reports the state of its blobs, and informs the other ranks. */
int ranks_broken(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 8), *c = ranks_blob(FERRY_F32, 8);
    int err;

    ranks_open(NULL);
    ferry_blob_fill_diff(b, 1);
    ferry_blob_fill_diff(c, 1);
    interposed.fails = rank == 1;
    err = ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL);
    printf("%d: %d %s\n", rank, err, ferry_last_error());
    if (rank == 1) {
        printf("%d: lost %d\n", rank,
               !ferry_blob_host_diff(b) && ferry_last_error_code() == FERRY_ELOST);
        printf("%d: later %d\n", rank,
               ferry_mpi_allreduce(mpi, c, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL));
        printf("%d: untouched %d\n", rank, ferry_blob_host_diff(c) != NULL);
        ferry_mpi_fail(mpi, "a plug was pulled");
    }
    ferry_mpi_abort(mpi, 3);
    return 0;
}

/* On all ranks except rank 0, finds that rank 0 has ended, and prints its message. */
int ranks_told(void)
{
    ferry_blob *b = ranks_blob(FERRY_F32, 8);
    int err = 0;

    ranks_open(NULL);
    if (!rank)
        ferry_mpi_fail(mpi, "the data are not there");
    else
        err = ferry_mpi_allreduce(mpi, b, FERRY_DIFF, FERRY_MPI_SUM, NULL, NULL);
    printf("%d: %d %s\n", rank, err, err ? ferry_last_error() : "");
    ferry_mpi_abort(mpi, 3);
    return 0;
}

/*
 * An error on MPI_COMM_WORLD, where ferry has initialised MPI: the root sends more than the
 * receiver expects.
 */
int ranks_apart(void)
{
    ferry_blob *b;
    int err;

    ranks_open(NULL);
    rank = ferry_mpi_rank(mpi);
    b = ranks_blob(FERRY_F32, rank ? 700 : 900);
    err = ferry_mpi_broadcast(mpi, b, FERRY_DATA, 0, NULL, NULL);
    printf("%d: %d %s\n", rank, err, err ? ferry_last_error() : "");
    fflush(stdout);
    ferry_mpi_abort(mpi, 3);
    return 0;
}

/* One of two communicators fails; the other one is then closed without an error. */
int ranks_twice(void)
{
    ferry_mpi *other;
    int finalized = -1;

    ranks_open(NULL);
    rank = ferry_mpi_rank(mpi);
    other = mpi;
    ranks_open(NULL);
    ferry_mpi_fail(other, "no more");
    ferry_mpi_close(other);
    ferry_mpi_close(mpi);
    MPI_Finalized(&finalized);
    printf("%d: finalized %d\n", rank, finalized);
    fflush(stdout);
    ferry_mpi_abort(NULL, 3);
    return 0;
}
