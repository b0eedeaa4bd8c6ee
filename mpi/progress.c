/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * Progress of operations: each is started as soon as its bytes are ready, in the order in which
 * operations were begun, which is the same on all ranks, and tested until it is complete. A
 * progress thread does this, and sleeps while no operation is pending; without such a thread, the
 * calls that wait do it. MPI's own waiting functions would occupy a processor that the program
 * computes with, so there is a short sleep between two tests without progress.
 */
#include "mpi/state.h"

#include <ferry/status.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The number of tests without progress after which the thread sleeps between tests, and the length
 * of the sleep.
 */
#define TRIES 64
#define NAP   50000 /* in nanoseconds */

static void append(struct ferry__mpi_list *list, ferry_mpi_event *e)
{
    e->next = NULL;
    *list->end = e;
    list->end = &e->next;
}

static void take(struct ferry__mpi_list *list, ferry_mpi_event **at)
{
    ferry_mpi_event *e = *at;

    *at = e->next;
    if (list->end == &e->next)
        list->end = at;
}

/*
 * ---- completion
 * -----------------------------------------------------------------------------------
 */

static void free_event(ferry_mpi_event *e)
{
    free(e->requests);
    free(e);
}

/* Completes an operation: success, or this thread's error. */
static void end(ferry_mpi_event *e, int err)
{
    ferry_mpi *m = e->mpi;
    bool dropped;

    if (err)
        snprintf(e->why, sizeof e->why, "%.700s", ferry_last_error());
    if (err && e->n_requests) { /* MPI may still write to these memories, so they are leaked */
        ferry_memory_retain(e->from.memory);
        ferry_memory_retain(e->into.memory);
    }
    ferry__mpi_end_drop(&e->from, err != 0);
    ferry__mpi_end_drop(&e->into, err != 0);
    pthread_mutex_lock(&m->lock);
    if (err && !m->failed) {
        m->failed = err;
        memcpy(m->why, e->why, sizeof m->why);
    }
    e->err = err;
    e->done = true;
    m->under_way--;
    dropped = e->dropped;
    pthread_cond_broadcast(&m->ended);
    pthread_mutex_unlock(&m->lock);
    if (dropped)
        free_event(e);
}

int ferry__mpi_is_failed(ferry_mpi *m)
{
    char why[FERRY__MPI_LINE];
    int err;

    pthread_mutex_lock(&m->lock);
    err = m->failed;
    memcpy(why, m->why, sizeof why);
    pthread_mutex_unlock(&m->lock);
    return err ? ferry_error_set(err, "%s", why) : 0;
}

/* ---- one round ------------------------------------------------------------------------------- */

/* Handles the note of a rank that has failed. */
static void hear(ferry_mpi *m)
{
    bool heard;
    int err = ferry__mpi_heard(m, &heard);

    if (!err && !heard)
        return;
    if (err)
        ferry__mpi_error(m, err, "MPI_Test", "");
    pthread_mutex_lock(&m->lock);
    m->heard = m->heard || heard;
    if (!m->failed) {
        m->failed = FERRY_EIO;
        snprintf(m->why, sizeof m->why, "%.760s", err ? ferry_last_error() : m->line);
    }
    pthread_mutex_unlock(&m->lock);
}

/* Removes the first operation of a list; NULL: the list is empty. */
static ferry_mpi_event *pop(ferry_mpi *m, struct ferry__mpi_list *list)
{
    ferry_mpi_event *e;

    pthread_mutex_lock(&m->lock);
    e = list->first;
    if (e)
        take(list, &list->first);
    pthread_mutex_unlock(&m->lock);
    return e;
}

static void end_all(ferry_mpi *m)
{
    ferry_mpi_event *e;

    while ((e = pop(m, &m->running)) || (e = pop(m, &m->waiting)))
        end(e, ferry__mpi_is_failed(m));
}

/*
 * Makes the device current on ferry's own thread, which has no current device. A program's thread
 * keeps its own.
 */
static int make_current(const ferry_mpi *m, const struct ferry__mpi_end *end)
{
    return m->threaded && end->device ? ferry__mpi_use_device(ferry_blob_home(end->blob)) : 0;
}

/*
 * Starts the first waiting operation if its bytes are ready. If no operation is running, a caller
 * that has to wait anyway waits for the bytes.
 */
static bool start_next(ferry_mpi *m, bool patient)
{
    bool waits = patient && !m->running.first;
    ferry_mpi_event *e;
    int err;

    pthread_mutex_lock(&m->lock);
    e = m->waiting.first;
    pthread_mutex_unlock(&m->lock);
    if (!e)
        return false;
    err = ferry__mpi_end_ready(&e->from, waits);
    if (!err)
        err = ferry__mpi_end_ready(&e->into, waits);
    if (err == FERRY_EBUSY)
        return false;
    if (!err)
        err = make_current(m, &e->from);
    if (!err)
        err = make_current(m, &e->into);
    if (!err)
        err = ferry__mpi_start(e);
    pthread_mutex_lock(&m->lock);
    take(&m->waiting, &m->waiting.first);
    if (!err)
        append(&m->running, e);
    pthread_mutex_unlock(&m->lock);
    if (err)
        end(e, err);
    return true;
}

/* Tests the running operations. Only the thread that makes progress changes their list. */
static bool test_running(ferry_mpi *m)
{
    ferry_mpi_event **at = &m->running.first, *e;
    bool moved = false;

    while ((e = *at)) {
        int done = 0, err = ferry__mpi_test(e->n_requests, e->requests, &done);
        char what[160];

        if (!err && !done) {
            at = &e->next;
            continue;
        }
        if (!err)
            e->n_requests = 0;
        pthread_mutex_lock(&m->lock);
        take(&m->running, at);
        pthread_mutex_unlock(&m->lock);
        end(e,
            err ? ferry__mpi_error(m, err, "MPI_Test", ferry__mpi_name(e, what, sizeof what)) : 0);
        moved = true;
    }
    return moved;
}

/*
 * Makes one round of progress; returns whether there was any. `patient`: the round may wait for a
 * device.
 */
static bool go_round(ferry_mpi *m, bool patient)
{
    bool moved = false;

    hear(m);
    if (ferry__mpi_is_failed(m)) {
        end_all(m);
        return false;
    }
    while (start_next(m, patient))
        moved = true;
    return test_running(m) || moved;
}

/* Sleeps after `idle` rounds without progress. */
static void rest(int idle)
{
    const struct timespec t = { 0, NAP };

    if (idle < TRIES)
        sched_yield();
    else
        nanosleep(&t, NULL);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Sleeps until there is work; false: the thread has to end. */
static bool sleep_idle(ferry_mpi *m)
{
    bool busy;

    pthread_mutex_lock(&m->lock);
    while (!m->waiting.first && !m->running.first && !m->closes)
        pthread_cond_wait(&m->work, &m->lock);
    busy = m->waiting.first || m->running.first;
    pthread_mutex_unlock(&m->lock);
    return busy;
}

static void *work(void *arg)
{
    ferry_mpi *m = arg;
    int idle = 0;

    while (sleep_idle(m)) {
        idle = go_round(m, true) ? 0 : idle + 1;
        if (idle)
            rest(idle);
    }
    return NULL;
}

int ferry__mpi_progress_begin(ferry_mpi *m)
{
    int code;

    m->waiting.end = &m->waiting.first;
    m->running.end = &m->running.first;
    if (!m->threaded)
        return 0;
    code = pthread_create(&m->thread, NULL, work, m);
    if (!code)
        return 0;
    m->threaded = false;
    return ferry_error_set(FERRY_ENOMEM, "rank %d of %d: cannot start a thread: %s", m->rank,
                           m->ranks, strerror(code));
}

int ferry__mpi_wait_all(ferry_mpi *m)
{
    int idle = 0;

    pthread_mutex_lock(&m->lock);
    while (m->threaded && m->under_way)
        pthread_cond_wait(&m->ended, &m->lock);
    pthread_mutex_unlock(&m->lock);
    while (!m->threaded && m->under_way) {
        idle = go_round(m, true) ? 0 : idle + 1;
        if (idle)
            rest(idle);
    }
    return ferry__mpi_is_failed(m);
}

void ferry__mpi_progress_end(ferry_mpi *m)
{
    ferry__mpi_wait_all(m);
    if (!m->threaded)
        return;
    pthread_mutex_lock(&m->lock);
    m->closes = true;
    pthread_cond_signal(&m->work);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
}

void ferry__mpi_submit(ferry_mpi_event *e)
{
    ferry_mpi *m = e->mpi;

    pthread_mutex_lock(&m->lock);
    append(&m->waiting, e);
    m->under_way++;
    pthread_cond_signal(&m->work);
    pthread_mutex_unlock(&m->lock);
    if (!m->threaded)
        go_round(m, false);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The state of an operation: 1, 0, or its error. */
static int look(ferry_mpi_event *e)
{
    int done;

    pthread_mutex_lock(&e->mpi->lock);
    done = e->done;
    pthread_mutex_unlock(&e->mpi->lock);
    return !done ? 0 : e->err ? ferry_error_set(e->err, "%s", e->why) : 1;
}

int ferry_mpi_event_query(ferry_mpi_event *e)
{
    int err = e ? 0 : ferry_error_set(FERRY_EINVAL, "ferry_mpi_event_query: NULL event");

    if (!err && !e->mpi->threaded) {
        err = ferry__mpi_may_call(e->mpi);
        if (!err)
            go_round(e->mpi, false);
    }
    return err ? err : look(e);
}

/* Makes progress until this operation is complete. */
static void run_until(ferry_mpi_event *e)
{
    int idle = 0;

    while (!e->done) {
        idle = go_round(e->mpi, true) ? 0 : idle + 1;
        if (idle)
            rest(idle);
    }
}

int ferry_mpi_event_wait(ferry_mpi_event *e)
{
    int done, err = e ? 0 : ferry_error_set(FERRY_EINVAL, "ferry_mpi_event_wait: NULL event");

    if (!err && !e->mpi->threaded)
        err = ferry__mpi_may_call(e->mpi);
    if (err)
        return err;
    if (e->mpi->threaded) {
        pthread_mutex_lock(&e->mpi->lock);
        while (!e->done)
            pthread_cond_wait(&e->mpi->ended, &e->mpi->lock);
        pthread_mutex_unlock(&e->mpi->lock);
    } else {
        run_until(e);
    }
    done = look(e);
    return done < 0 ? done : 0;
}

void ferry_mpi_event_destroy(ferry_mpi_event *e)
{
    bool done;

    if (!e)
        return;
    pthread_mutex_lock(&e->mpi->lock);
    done = e->done;
    e->dropped = true;
    pthread_mutex_unlock(&e->mpi->lock);
    if (done)
        free_event(e);
}
