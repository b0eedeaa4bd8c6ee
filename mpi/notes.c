/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * Notes: when a rank fails, its error message is sent to all others. MPI itself does not inform
 * them, and their operations would wait for that rank.
 */
#include "mpi/state.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int ferry__mpi_listen(ferry_mpi *m)
{
    int err =
        MPI_Irecv(m->line, (int)sizeof m->line, MPI_CHAR, MPI_ANY_SOURCE, 0, m->notes, &m->note);

    m->listens = !err;
    return err ? ferry__mpi_error(m, err, "MPI_Irecv", "") : 0;
}

int ferry__mpi_heard(ferry_mpi *m, bool *out)
{
    MPI_Status status;
    char line[FERRY__MPI_LINE - 32];
    int there = 0, err = m->listens ? MPI_Test(&m->note, &there, &status) : 0;

    *out = !err && there;
    if (!*out)
        return err;
    m->listens = false;
    memcpy(line, m->line, sizeof line - 1);
    line[sizeof line - 1] = 0;
    snprintf(m->line, sizeof m->line, "rank %d: %s", status.MPI_SOURCE, line);
    return 0;
}

void ferry__mpi_stop_listening(ferry_mpi *m)
{
    if (!m->listens)
        return;
    m->listens = false;
    if (MPI_Cancel(&m->note) == MPI_SUCCESS)
        MPI_Wait(&m->note, MPI_STATUS_IGNORE);
}

static void nap(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

/* From now on every operation fails with `line`. Returns whether to inform the other ranks. */
static bool fail_all(ferry_mpi *m, const char *line)
{
    bool tells;

    pthread_mutex_lock(&m->lock);
    tells = !m->heard;
    m->heard = true;
    if (!m->failed) {
        m->failed = FERRY_EIO;
        snprintf(m->why, sizeof m->why, "rank %d: %.700s", m->rank, line);
    }
    pthread_cond_signal(&m->work);
    pthread_mutex_unlock(&m->lock);
    return tells;
}

/* Sends `line` to all others, and waits at most one second for the sends. */
static void send_note(ferry_mpi *m, const char *line)
{
    MPI_Request *sent = calloc((size_t)m->ranks, sizeof(MPI_Request));
    char *text = calloc(1, FERRY__MPI_LINE);
    int i, n = 0, known = 0, tries;

    if (sent && text) {
        snprintf(text, FERRY__MPI_LINE, "%s", line);
        for (i = 0; i < m->ranks; i++)
            if (i != m->rank &&
                !MPI_Issend(text, FERRY__MPI_LINE, MPI_CHAR, i, 0, m->notes, &sent[n]))
                n++;
    }
    for (tries = 0; n && !known && tries < 100; tries++) {
        if (ferry__mpi_test(n, sent, &known))
            break;
        if (!known)
            nap(10);
    }
    if (n && !known)
        return; /* the requests are not freed, because MPI still uses them and the process is about
                 * to end */
    free(sent);
    free(text);
}

void ferry_mpi_fail(ferry_mpi *m, const char *line)
{
    if (!m || !line || (!m->threaded && ferry__mpi_may_call(m)))
        return;
    if (fail_all(m, line))
        send_note(m, line);
    ferry__mpi_wait_all(m);
}

void ferry_mpi_abort(ferry_mpi *m, int status)
{
    fflush(NULL);
    nap(250); /* gives the other ranks time to send their own messages */
    MPI_Abort(m ? m->comm : MPI_COMM_WORLD, status);
    exit(status);
}
