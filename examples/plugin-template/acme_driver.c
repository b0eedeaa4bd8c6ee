/* SPDX-License-Identifier: BSD-2-Clause */
#include "acme_driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A simulated driver, not an example: see acme.c. One lock, and a thread for each stream. */

#define MEMORY ((size_t)256 << 20)
#define HEADER 64 /* bytes before a block, which contain its size */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t used;
static size_t pending; /* on all streams */

const char *acme_error_name(int code)
{
    return code == ACME_OUT_OF_MEMORY    ? "ACME_OUT_OF_MEMORY"
           : code == ACME_OUT_OF_THREADS ? "ACME_OUT_OF_THREADS"
                                         : "ACME_OK";
}

/* ---- memory --------------------------------------------------------------------------------- */

int acme_malloc(void **out, size_t bytes)
{
    size_t rounded = (bytes + 63) / 64 * 64 + HEADER;
    char *block;

    if (bytes > MEMORY)
        return ACME_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    block = bytes <= MEMORY - used ? aligned_alloc(64, rounded) : NULL;
    if (block)
        used += bytes;
    pthread_mutex_unlock(&lock);
    if (!block)
        return ACME_OUT_OF_MEMORY;
    memcpy(block, &bytes, sizeof(bytes));
    *out = block + HEADER;
    return ACME_OK;
}

size_t acme_size(const void *ptr)
{
    size_t bytes;

    memcpy(&bytes, (const char *)ptr - HEADER, sizeof(bytes));
    return bytes;
}

int acme_free(void *ptr)
{
    pthread_mutex_lock(&lock);
    used -= acme_size(ptr);
    pthread_mutex_unlock(&lock);
    free((char *)ptr - HEADER);
    return ACME_OK;
}

void acme_memory_info(size_t *out_free, size_t *out_total)
{
    pthread_mutex_lock(&lock);
    *out_free = MEMORY - used;
    *out_total = MEMORY;
    pthread_mutex_unlock(&lock);
}

/* ---- work ----------------------------------------------------------------------------------- */

int acme_memcpy(void *dst, const void *src, size_t bytes)
{
    memmove(dst, src, bytes);
    return ACME_OK;
}

int acme_memset(void *dst, int byte, size_t bytes)
{
    memset(dst, byte, bytes);
    return ACME_OK;
}

int acme_saxpy(long n, float alpha, const float *x, float *y)
{
    for (long i = 0; i < n; i++)
        y[i] += alpha * x[i];
    return ACME_OK;
}

int acme_srelu(long n, float slope, const float *x, float *y)
{
    for (long i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : slope * x[i];
    return ACME_OK;
}

/* ---- streams -------------------------------------------------------------------------------- */

enum kind { COPY, SET, AXPY, MARK, WAIT };

struct acme_event {
    int refs, done; /* of the handle, of the mark, and of each wait */
};

struct work {
    struct work *next;
    enum kind kind;
    void *dst;
    const void *src;
    size_t bytes;
    int byte;
    long n;
    float alpha;
    acme_event *event;
};

struct acme_stream {
    pthread_t thread;
    struct work *first, **last;
    int busy, stop;
};

/* The lock is held. */
static void release(acme_event *event)
{
    if (--event->refs == 0)
        free(event);
}

static void run(const struct work *w)
{
    if (w->kind == COPY)
        acme_memcpy(w->dst, w->src, w->bytes);
    else if (w->kind == SET)
        acme_memset(w->dst, w->byte, w->bytes);
    else if (w->kind == AXPY)
        acme_saxpy(w->n, w->alpha, w->src, w->dst);
}

static void *serve(void *arg)
{
    acme_stream *s = arg;

    pthread_mutex_lock(&lock);
    while (s->first || !s->stop) {
        struct work *w = s->first;

        if (!w || (w->kind == WAIT && !w->event->done)) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        s->first = w->next;
        if (!s->first)
            s->last = &s->first;
        s->busy = 1;
        pthread_mutex_unlock(&lock);
        run(w);
        pthread_mutex_lock(&lock);
        s->busy = 0;
        pending--;
        if (w->kind == MARK)
            w->event->done = 1;
        if (w->event)
            release(w->event);
        free(w);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int acme_stream_create(acme_stream **out)
{
    acme_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return ACME_OUT_OF_MEMORY;
    s->last = &s->first;
    if (pthread_create(&s->thread, NULL, serve, s) != 0) {
        free(s);
        return ACME_OUT_OF_THREADS;
    }
    *out = s;
    return ACME_OK;
}

int acme_stream_destroy(acme_stream *s)
{
    pthread_mutex_lock(&lock);
    s->stop = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(s->thread, NULL);
    free(s);
    return ACME_OK;
}

int acme_stream_synchronize(acme_stream *s)
{
    pthread_mutex_lock(&lock);
    while (s->first || s->busy)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ACME_OK;
}

int acme_device_synchronize(void)
{
    pthread_mutex_lock(&lock);
    while (pending)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ACME_OK;
}

static int submit(acme_stream *s, struct work what)
{
    struct work *w = malloc(sizeof(*w));

    if (!w)
        return ACME_OUT_OF_MEMORY;
    *w = what;
    pthread_mutex_lock(&lock);
    if (w->event)
        w->event->refs++;
    *s->last = w;
    s->last = &w->next;
    pending++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return ACME_OK;
}

int acme_memcpy_async(acme_stream *s, void *dst, const void *src, size_t bytes)
{
    return submit(s, (struct work){ .kind = COPY, .dst = dst, .src = src, .bytes = bytes });
}

int acme_memset_async(acme_stream *s, void *dst, int byte, size_t bytes)
{
    return submit(s, (struct work){ .kind = SET, .dst = dst, .byte = byte, .bytes = bytes });
}

int acme_saxpy_async(acme_stream *s, long n, float alpha, const float *x, float *y)
{
    return submit(s, (struct work){ .kind = AXPY, .dst = y, .src = x, .n = n, .alpha = alpha });
}

/* ---- events --------------------------------------------------------------------------------- */

int acme_event_record(acme_stream *s, acme_event **out)
{
    acme_event *event = calloc(1, sizeof(*event));
    int err;

    if (!event)
        return ACME_OUT_OF_MEMORY;
    event->refs = 1;
    err = submit(s, (struct work){ .kind = MARK, .event = event });
    if (err)
        free(event);
    else
        *out = event;
    return err;
}

int acme_event_is_done(acme_event *event)
{
    int done;

    pthread_mutex_lock(&lock);
    done = event->done;
    pthread_mutex_unlock(&lock);
    return done;
}

int acme_event_synchronize(acme_event *event)
{
    pthread_mutex_lock(&lock);
    while (!event->done)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ACME_OK;
}

int acme_event_destroy(acme_event *event)
{
    pthread_mutex_lock(&lock);
    release(event);
    pthread_mutex_unlock(&lock);
    return ACME_OK;
}

int acme_stream_wait(acme_stream *s, acme_event *event)
{
    return submit(s, (struct work){ .kind = WAIT, .event = event });
}
