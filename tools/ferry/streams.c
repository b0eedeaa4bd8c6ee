/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "streams.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The threads start together: each is ready after its first pass, and waits for `go`. */
struct start {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ready;
    int go; /* 1: run; −1: end without running */
    void (*limit)(unsigned threads); /* NULL: the device has no threads of the processor */
    unsigned threads;
    int64_t passes;
};

struct stream {
    ferry_net *net;
    struct start *start;
    pthread_t thread;
    double *ms; /* the time of each pass */
    double begin, end;
    int failed;
    char message[512];
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int64_t streams_items(const ferry_net *net)
{
    const ferry_blob *b = ferry_net_input_at(net, 0);

    return b && ferry_blob_rank(b) > 0 ? ferry_blob_dim(b, 0) : 1;
}

/* ---- the threads ----------------------------------------------------------------------------- */

static bool pass(struct stream *s)
{
    if (!s->failed &&
        (ferry_net_forward(s->net, NULL) || ferry_device_synchronize(ferry_net_device(s->net)))) {
        s->failed = 1;
        snprintf(s->message, sizeof s->message, "%s", ferry_last_error());
    }
    return !s->failed;
}

/* Waits until all streams are ready. Returns whether to run. */
static bool wait_for_go(struct start *start)
{
    int go;

    pthread_mutex_lock(&start->lock);
    start->ready++;
    pthread_cond_broadcast(&start->changed);
    while (!start->go)
        pthread_cond_wait(&start->changed, &start->lock);
    go = start->go;
    pthread_mutex_unlock(&start->lock);
    return go > 0;
}

static void *run_stream(void *arg)
{
    struct stream *s = arg;
    struct start *start = s->start;

    if (start->limit)
        start->limit(start->threads);
    pass(s);
    if (!wait_for_go(start))
        return NULL;
    s->begin = now_ms();
    for (int64_t i = 0; i < start->passes; i++) {
        double begin = now_ms();

        if (!pass(s))
            break;
        s->ms[i] = now_ms() - begin;
    }
    s->end = now_ms();
    return NULL;
}

/* Starts the threads, and lets them run if all have started. Returns an exit status. */
static int run_all(struct stream *s, int count, struct start *start)
{
    int started = 0, err = 0;

    while (started < count && !err) {
        err = pthread_create(&s[started].thread, NULL, run_stream, &s[started]);
        started += !err;
    }
    pthread_mutex_lock(&start->lock);
    while (start->ready < started)
        pthread_cond_wait(&start->changed, &start->lock);
    start->go = err ? -1 : 1;
    pthread_cond_broadcast(&start->changed);
    pthread_mutex_unlock(&start->lock);
    for (int i = 0; i < started; i++)
        pthread_join(s[i].thread, NULL);
    return err ? tool_error(TOOL_FAILURE, "thread %d of %d: %s", started + 1, count, strerror(err))
               : TOOL_OK;
}

/* ---- the nets -------------------------------------------------------------------------------- */

/* A sum that changes when a parameter from `first` on of a layer is written. */
static uint64_t versions_of(const ferry_net *net, int first)
{
    uint64_t sum = 0;

    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = first; k < ferry_net_param_count(net, i); k++) {
            const ferry_blob *b = ferry_net_param_at(net, i, k);

            sum += b ? ferry_memory_version(ferry_blob_data_memory(b)) : 0;
        }
    return sum;
}

/*
 * Nets that write parameters, such as the statistics of BatchNorm, cannot share them at once. A net
 * that reads its weights again, the first parameters of layers, would keep them if asked for them.
 */
static int check_reads_only(const struct net_request *r, ferry_net *net)
{
    int first = r->reread ? 1 : 0;
    uint64_t before = versions_of(net, first);

    if (ferry_net_forward(net, NULL))
        return tool_ferry_error();
    return versions_of(net, first) == before
               ? TOOL_OK
               : tool_error(TOOL_FAILURE,
                            "%s: --streams: a pass of this net writes parameters, which its "
                            "streams would share",
                            r->self->name);
}

/* Opens one more net with the weights and the inputs of the first. */
static int open_beside(const struct net_request *r, ferry_net *first, ferry_net **out)
{
    int status = net_open_on(r, ferry_net_device(first), out), err;

    if (status != TOOL_OK)
        return status;
    err = ferry_net_share(*out, first);
    for (int i = 0; !err && i < ferry_net_input_count(first); i++)
        err = ferry_blob_copy_from(ferry_net_input_at(*out, i), ferry_net_input_at(first, i),
                                   FERRY_COPY_RESHAPE);
    return err ? tool_ferry_error() : TOOL_OK;
}

/* The share of each stream of the processors that this process may run on. */
static unsigned share_of(int count)
{
    cpu_set_t set;
    long all = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                           : sysconf(_SC_NPROCESSORS_ONLN);

    return all > count ? (unsigned)(all / count) : 1;
}

static int set_limit(ferry_device *dev, int count, struct start *start)
{
    int err = ferry_device_native(dev, "cpu_limit_threads", &start->limit, sizeof start->limit);

    if (err && err != FERRY_EUNSUPPORTED)
        return tool_ferry_error();
    if (err)
        start->limit = NULL;
    start->threads = start->limit ? share_of(count) : 0;
    return TOOL_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int sum_up(struct stream *s, struct streams *out)
{
    double begin = s[0].begin, end = s[0].end, items;

    for (int i = 0; i < out->count; i++) {
        if (s[i].failed)
            return tool_error(TOOL_FAILURE, "stream %d: %s", i + 1, s[i].message);
        qsort(s[i].ms, (size_t)out->passes, sizeof *s[i].ms, compare);
        out->stream[i].median = s[i].ms[out->passes / 2];
        out->stream[i].worst = s[i].ms[out->passes - 1];
        begin = s[i].begin < begin ? s[i].begin : begin;
        end = s[i].end > end ? s[i].end : end;
    }
    items = (double)(streams_items(s[0].net) * out->count) * (double)out->passes;
    out->items_per_second = end > begin ? items / (end - begin) * 1e3 : 0;
    return TOOL_OK;
}

static int no_memory(void)
{
    return tool_error(TOOL_FAILURE, "out of memory");
}

static int open_all(const struct net_request *r, ferry_net *first, const struct streams *out,
                    struct start *start, struct stream *s)
{
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < out->count; i++) {
        s[i].start = start;
        s[i].ms = calloc((size_t)out->passes, sizeof *s[i].ms);
        status = s[i].ms ? TOOL_OK : no_memory();
        s[i].net = i ? NULL : first;
        if (status == TOOL_OK && i)
            status = open_beside(r, first, &s[i].net);
    }
    return status;
}

int streams_run(const struct net_request *r, ferry_net *first, struct streams *out)
{
    struct start start = { .lock = PTHREAD_MUTEX_INITIALIZER,
                           .changed = PTHREAD_COND_INITIALIZER,
                           .passes = out->passes };
    struct stream *s = calloc((size_t)out->count, sizeof *s);
    int status = check_reads_only(r, first);

    if (status == TOOL_OK)
        status = set_limit(ferry_net_device(first), out->count, &start);
    out->threads = start.threads;
    out->stream = calloc((size_t)out->count, sizeof *out->stream);
    if (status == TOOL_OK && (!s || !out->stream))
        status = no_memory();
    if (status == TOOL_OK)
        status = open_all(r, first, out, &start, s);
    if (status == TOOL_OK)
        status = run_all(s, out->count, &start);
    if (status == TOOL_OK)
        status = sum_up(s, out);
    for (int i = 0; s && i < out->count; i++) {
        if (i)
            ferry_net_close(s[i].net);
        free(s[i].ms);
    }
    free(s);
    return status;
}
