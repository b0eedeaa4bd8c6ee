/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table "ferry.profile/1", by events with timing. CUDA measures the time between two events as
 * a float of milliseconds, which loses the resolution of half a microsecond after a few seconds. So
 * a section's times are measured from a base, an event that is at most RENEW old when the section
 * begins, and each base's time from that of the base before it. Ticks are nanoseconds.
 */
#define _POSIX_C_SOURCE 200809L
#include "cuda.h"

#include <stdlib.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)
#define RENEW       (2 * NANOSECONDS)
#define FIRST_TICK  NANOSECONDS /* the first base has this time, so that a time shortly before it is
                                 * not negative */
#define RESOLUTION  500u        /* the resolution of cudaEventElapsedTime, in ticks */

/*
 * A base. Under the device's lock its references are counted: the device's, its sections', and the
 * next base's.
 */
struct cuda_base {
    struct cuda_base *before; /* NULL once `ticks` is known */
    cudaEvent_t event;
    uint64_t ticks, made; /* `made` is in host time */
    unsigned refs;
    bool known;
};

struct cuda_section {
    struct cuda_section *next; /* the next one of the sections that were left to the device */
    struct cuda_base *base;
    cudaEvent_t begin, end;
    int failed; /* the result of end */
};

static uint64_t host_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

/* Records an event with timing. Called with the context current. */
static int record(cudaStream_t stream, cudaEvent_t *out)
{
    cudaEvent_t event = NULL;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDefault);

    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaEventCreateWithFlags), error);
    error = cudaEventRecord(event, stream);
    if (error != cudaSuccess) {
        int err = cuda_fail(CALL(cudaEventRecord), error);

        (void)cudaEventDestroy(event);
        return err;
    }
    *out = event;
    return 0;
}

/* ---- bases ---- */

/* `alive`: the context is current; otherwise it is lost, and its events with it. (locked) */
static void release_base(struct cuda_base *base, bool alive)
{
    while (base && --base->refs == 0) {
        struct cuda_base *before = base->before;

        if (alive)
            (void)cudaEventDestroy(base->event);
        free(base);
        base = before;
    }
}

/*
 * Records an event on a stream of its own, so that the base does not wait for the work of a queue.
 */
static int record_alone(cudaEvent_t *out)
{
    cudaStream_t stream;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    int err;

    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaStreamCreateWithFlags), error);
    err = record(stream, out);
    (void)cudaStreamDestroy(stream);
    return err;
}

static int new_base(struct cuda_base **out)
{
    struct cuda_base *base = calloc(1, sizeof(*base));
    int err;

    if (!base)
        return cuda_host->error(FERRY_ENOMEM, "out of host memory for a section");
    err = record_alone(&base->event);
    if (err) {
        free(base);
        return err;
    }
    base->refs = 1;
    base->made = host_now();
    *out = base;
    return 0;
}

/* Returns the device's base, which is renewed if it is old, with one more reference. */
static int take_base(struct cuda_device *dev, struct cuda_base **out)
{
    struct cuda_base *fresh = NULL;
    int err = 0;

    pthread_mutex_lock(&dev->lock);
    if (!dev->base || host_now() - dev->base->made > RENEW) {
        err = new_base(&fresh);
        if (!err) {
            fresh->before = dev->base; /* takes over the device's reference */
            fresh->known = !dev->base;
            fresh->ticks = FIRST_TICK;
            dev->base = fresh;
        }
    }
    if (!err) {
        dev->base->refs++;
        *out = dev->base;
    }
    pthread_mutex_unlock(&dev->lock);
    return err;
}

/*
 * Adds the time from `from` to `to`, which may be negative. The time is rounded to whole steps, so
 * that the float's error does not change the order of two times.
 */
static cudaError_t advance(uint64_t *ticks, cudaEvent_t from, cudaEvent_t to)
{
    float ms = 0;
    cudaError_t error = cudaEventElapsedTime(&ms, from, to);
    const double steps = (double)ms * 1e6 / RESOLUTION;

    if (error == cudaSuccess)
        *ticks += (uint64_t)((int64_t)(steps + (steps < 0 ? -0.5 : 0.5)) * (int64_t)RESOLUTION);
    return error;
}

/* Finds the ticks of a base, from the oldest whose time is not known. (locked) */
static cudaError_t learn_base(struct cuda_base *base)
{
    while (!base->known) {
        struct cuda_base *oldest = base;
        cudaError_t error;
        uint64_t ticks;

        while (!oldest->before->known)
            oldest = oldest->before;
        ticks = oldest->before->ticks;
        error = advance(&ticks, oldest->before->event, oldest->event);
        if (error != cudaSuccess)
            return error;
        oldest->ticks = ticks;
        oldest->known = true;
        release_base(oldest->before, true);
        oldest->before = NULL;
    }
    return cudaSuccess;
}

/* The ticks of an event that was recorded after the base. */
static cudaError_t ticks_of(struct cuda_device *dev, struct cuda_base *base, cudaEvent_t event,
                            uint64_t *out)
{
    cudaError_t error;

    pthread_mutex_lock(&dev->lock);
    error = learn_base(base);
    *out = base->ticks;
    pthread_mutex_unlock(&dev->lock);
    return error == cudaSuccess ? advance(out, base->event, event) : error;
}

/* ---- the clock ---- */

/*
 * Measures a moment of both clocks: an event on an idle stream completes between its recording and
 * the end of the wait for it.
 */
static int take_moment(struct cuda_device *dev, cudaStream_t stream, ferry_profile_clock *out)
{
    struct cuda_base *base;
    cudaEvent_t event = NULL;
    cudaError_t error;
    uint64_t before, after;
    int err = take_base(dev, &base);

    if (err)
        return err;
    error = cudaStreamSynchronize(stream);
    before = host_now();
    err = error == cudaSuccess ? record(stream, &event)
                               : cuda_fail(CALL(cudaStreamSynchronize), error);
    if (!err) {
        error = cudaEventSynchronize(event);
        after = host_now();
        if (error == cudaSuccess)
            error = ticks_of(dev, base, event, &out->ticks);
        err = error == cudaSuccess ? 0 : cuda_fail(CALL(cudaEventElapsedTime), error);
        out->host_ns = before + (after - before) / 2;
        out->uncertainty = (after - before + 1) / 2 + RESOLUTION;
        (void)cudaEventDestroy(event);
    }
    pthread_mutex_lock(&dev->lock);
    release_base(base, true);
    pthread_mutex_unlock(&dev->lock);
    return err;
}

static int describe_clock(void *device, ferry_profile_clock *out)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    cudaStream_t stream;
    cudaError_t error;
    int err = cuda_enter(dev, &scope);

    if (err)
        return err;
    error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        err = take_moment(dev, stream, out);
        (void)cudaStreamDestroy(stream);
    } else {
        err = cuda_fail(CALL(cudaStreamCreateWithFlags), error);
    }
    cuda_leave(&scope);
    if (err)
        return err;
    out->frequency = NANOSECONDS;
    out->resolution = RESOLUTION;
    return 0;
}

/* ---- sections ---- */

/* Begins profiling; a stream needs no preparation. */
static int start(void *dev, void *queue)
{
    (void)dev;
    (void)queue;
    return 0;
}

/* Frees a section; `alive` as in release_base. */
static void delete_section(struct cuda_device *dev, struct cuda_section *s, bool alive)
{
    if (alive && s->begin)
        (void)cudaEventDestroy(s->begin);
    if (alive && s->end)
        (void)cudaEventDestroy(s->end);
    pthread_mutex_lock(&dev->lock);
    release_base(s->base, alive);
    pthread_mutex_unlock(&dev->lock);
    free(s);
}

void cuda_profile_end(struct cuda_device *dev, bool alive)
{
    struct cuda_section *s;

    while ((s = dev->left)) {
        dev->left = s->next;
        delete_section(dev, s, alive);
    }
    release_base(dev->base, alive);
    dev->base = NULL;
}

static int begin(void *device, void *queue, void **out_section)
{
    struct cuda_device *dev = device;
    struct cuda_section *s = calloc(1, sizeof(*s));
    struct cuda_scope scope;
    cudaStream_t stream = cuda_queue_of(dev, queue)->stream;
    int err = s ? cuda_enter_on(dev, queue, &scope)
                : cuda_host->error(FERRY_ENOMEM, "out of host memory for a section");

    if (err) {
        free(s);
        return err;
    }
    err = take_base(dev, &s->base);
    if (!err)
        err = record(stream, &s->begin);
    if (err)
        delete_section(dev, s, true);
    cuda_leave(&scope);
    if (!err)
        *out_section = s;
    return err;
}

static int end(void *device, void *queue, void *section)
{
    struct cuda_device *dev = device;
    struct cuda_section *s = section;
    struct cuda_scope scope;

    s->failed = cuda_enter_on(dev, queue, &scope);
    if (s->failed)
        return s->failed;
    s->failed = record(cuda_queue_of(dev, queue)->stream, &s->end);
    cuda_leave(&scope);
    return s->failed;
}

/* Implements read. Called with the context current. */
static int read_here(struct cuda_device *dev, const struct cuda_section *s,
                     ferry_profile_times *out)
{
    uint64_t first = 0, last = 0;
    cudaError_t error = cudaEventQuery(s->end);

    if (error == cudaSuccess)
        error = ticks_of(dev, s->base, s->begin, &first);
    last = first;
    if (error == cudaSuccess)
        error = advance(&last, s->begin, s->end);
    if (error == cudaErrorNotReady) {
        cuda_forget(error);
        return 0;
    }
    if (error != cudaSuccess)
        return cuda_fail(CALL(cudaEventElapsedTime), error);
    out->begin = first;
    out->end = last < first ? first : last;
    return 1;
}

static int read_times(void *device, void *section, ferry_profile_times *out)
{
    const struct cuda_section *s = section;
    struct cuda_scope scope;
    int answer = s->failed ? cuda_host->error(s->failed, "the section has no end")
                           : cuda_enter(device, &scope);

    if (answer)
        return answer;
    answer = read_here(device, s, out);
    cuda_leave(&scope);
    return answer;
}

/*
 * Destroys a section. Without the context no event can be destroyed, so the device keeps the
 * section until it closes.
 */
static void destroy(void *device, void *section)
{
    struct cuda_device *dev = device;
    struct cuda_section *s = section;
    struct cuda_scope scope;

    if (cuda_enter(dev, &scope)) {
        pthread_mutex_lock(&dev->lock);
        s->next = dev->left;
        dev->left = s;
        pthread_mutex_unlock(&dev->lock);
        return;
    }
    delete_section(dev, s, true);
    cuda_leave(&scope);
}

const ferry_profile_table cuda_profile = {
    .struct_size = sizeof(ferry_profile_table),
    .clock = describe_clock,
    .start = start,
    .stop = start,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
