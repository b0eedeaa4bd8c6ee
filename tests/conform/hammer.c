/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/*
 * hammer: as many short calls as time permits, from several threads at once. A list or a counter
 * that is changed without a lock becomes wrong if another thread runs in between. A signal
 * therefore interrupts the threads at arbitrary instructions, so that this happens even with one
 * processor. A table defines which entries may run concurrently.
 */

enum { THREADS = 4, BYTES = 64, WRITES = 20, ENOUGH = 500 /* rounds */ };

#define SECONDS      0.15
#define MOST_SECONDS 0.5
#define PATIENCE     10 /* seconds for a few copies of 64 bytes */
#define SIGNAL       (SIGRTMAX - 2)

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

struct striker {
    pthread_t thread;
    unsigned number;
    void *queue, *block;
    bool alone;      /* no other thread uses the queue */
    uint64_t copies; /* in each direction */
    bool disturbed;  /* by the timer, which interrupts the thread */
    timer_t timer;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define MOMENT 20000 /* nanoseconds */

/*
 * The timer is started again at the end of each pause: a periodic timer would expire during the
 * pause, and on a busy machine the thread would do nothing but pause.
 */
static void start_timer(const struct striker *s)
{
    const struct itimerspec once = { { 0, 0 }, { 0, 3 * MOMENT } };

    timer_settime(s->timer, 0, &once, NULL);
}

/* A moment without the timer, which would keep a processor busy during a long wait. */
static void rest(const struct striker *s)
{
    const struct itimerspec never = { { 0, 0 }, { 0, 0 } };
    const struct timespec millisecond = { 0, 1000000 };

    if (s->disturbed)
        timer_settime(s->timer, 0, &never, NULL);
    nanosleep(&millisecond, NULL);
    if (s->disturbed)
        start_timer(s);
}

static void pause_here(int number, siginfo_t *info, void *context)
{
    const struct timespec moment = { 0, MOMENT };
    int saved = errno;

    (void)number, (void)context;
    nanosleep(&moment, NULL);
    start_timer(info->si_value.sival_ptr);
    errno = saved;
}

/* Interrupts the calling thread again and again, until the timer is deleted. */
static bool disturb(struct striker *s)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL };

    event.sigev_value.sival_ptr = s;
    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &s->timer) != 0)
        return false;
    start_timer(s);
    return true;
}

/* With a time limit, because an event after lost work is never done. */
static void wait_for(struct striker *s)
{
    double begin = now();
    void *event = NULL;
    int done;

    if (kit_synchronous())
        return;
    kit_ok(kit.ops.event_record(kit.dev, s->queue, &event), "event_record");
    while ((done = kit.ops.event_query(kit.dev, event)) == 0) {
        if (now() > begin + PATIENCE)
            kit_fail("thread %u: an event is not done after %d s: work was lost", s->number,
                     PATIENCE);
        if (now() > begin + SECONDS)
            rest(s);
        else
            sched_yield();
    }
    if (done < 0)
        kit_ok(done, "event_query");
    kit_ok(kit.ops.event_destroy(kit.dev, event), "event_destroy");
}

static void allocate_and_free(struct striker *s)
{
    uint32_t flags = 0;
    void *handle = NULL;

    kit_ok(kit.ops.alloc(kit.dev, s->queue, BYTES, 0, &handle, &flags), "alloc");
    kit_ok(kit.ops.free(kit.dev, s->queue, handle), "free");
}

/* Checks that the last of many writes is read back. */
static void strike(struct striker *s, unsigned round)
{
    unsigned char sent[BYTES], back[BYTES];

    memset(sent, (int)(s->number * 64 + round % 64), sizeof(sent));
    memset(back, 0xee, sizeof(back));
    if (!s->alone)
        pthread_mutex_lock(&one_at_a_time);
    for (int i = 0; i < WRITES; i++)
        kit_ok(kit.ops.memset(kit.dev, s->queue, (ferry_ref){ s->block, 0 }, 0xee, BYTES),
               "memset");
    kit_ok(kit.ops.memcpy(kit.dev, s->queue, FERRY_MEMCPY_H2D, (ferry_ref){ s->block, 0 },
                          (ferry_cref){ sent, 0 }, BYTES),
           "memcpy H2D");
    kit_ok(kit.ops.memcpy(kit.dev, s->queue, FERRY_MEMCPY_D2H, (ferry_ref){ back, 0 },
                          (ferry_cref){ s->block, 0 }, BYTES),
           "memcpy D2H");
    if (!s->alone)
        pthread_mutex_unlock(&one_at_a_time);
    s->copies++;
    wait_for(s);
    if (memcmp(sent, back, sizeof(back)) != 0)
        kit_fail("thread %u: read 64 bytes of 0x%02x…, wrote 0x%02x…: work submitted to several "
                 "queues at the same time interferes",
                 s->number, back[0], sent[0]);
}

static void *work(void *arg)
{
    struct striker *s = arg;
    double begin;

    pthread_barrier_wait(&together);
    s->disturbed = disturb(s);
    begin = now();
    for (unsigned round = 0; now() < begin + (round < ENOUGH ? MOST_SECONDS : SECONDS); round++) {
        strike(s, round);
        allocate_and_free(s);
    }
    if (s->disturbed)
        timer_delete(s->timer);
    return NULL;
}

static void run(struct striker *strikers)
{
    struct sigaction action = { .sa_sigaction = pause_here, .sa_flags = SA_RESTART | SA_SIGINFO };
    struct sigaction before;
    int slack = prctl(PR_GET_TIMERSLACK);

    prctl(PR_SET_TIMERSLACK, 1UL); /* short sleeps are precise */
    sigaction(SIGNAL, &action, &before);
    pthread_barrier_init(&together, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&strikers[i].thread, NULL, work, &strikers[i]) != 0)
            kit_fail("the check itself cannot start a thread");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(strikers[i].thread, NULL);
    pthread_barrier_destroy(&together);
    sigaction(SIGNAL, &before, NULL);
    prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

static void expect_counts(const ferry_plugin_counters *before, const struct striker *strikers)
{
    ferry_plugin_counters after;
    uint64_t copies = 0;

    if (!kit_counters(&after))
        return;
    for (int i = 0; i < THREADS; i++)
        copies += strikers[i].copies;
    kit_case("counters after %" PRIu64 " short copies each way from %d threads", copies, THREADS);
    if (after.live_blocks != before->live_blocks || after.live_events != before->live_events)
        kit_fail("%" PRIu64 " blocks and %" PRIu64 " events are live, were %" PRIu64 " and %" PRIu64
                 ": they are not counted safely",
                 after.live_blocks, after.live_events, before->live_blocks, before->live_events);
    if (after.copies_h2d - before->copies_h2d != copies ||
        after.copies_d2h - before->copies_d2h != copies ||
        after.bytes_h2d - before->bytes_h2d != copies * BYTES ||
        after.bytes_d2h - before->bytes_d2h != copies * BYTES)
        kit_fail("copies rose by H2D %" PRIu64 ", D2H %" PRIu64 ", bytes by %" PRIu64
                 " and %" PRIu64 ": they are not counted safely",
                 after.copies_h2d - before->copies_h2d, after.copies_d2h - before->copies_d2h,
                 after.bytes_h2d - before->bytes_h2d, after.bytes_d2h - before->bytes_d2h);
}

void kit_hammer(bool own_queues)
{
    struct striker strikers[THREADS];
    ferry_plugin_counters before;

    memset(strikers, 0, sizeof(strikers));
    for (unsigned i = 0; i < THREADS; i++) {
        strikers[i].number = i;
        strikers[i].alone = own_queues || kit_is(FERRY_DEVICE_CONCURRENT);
        strikers[i].block = kit_alloc(BYTES);
        if (own_queues)
            kit_ok(kit.ops.queue_create(kit.dev, 0, &strikers[i].queue), "queue_create");
    }
    kit_counters(&before);
    kit_case("%d threads, many short calls%s", THREADS,
             own_queues ? " on queues of their own" : " on the default queue");
    run(strikers);
    expect_counts(&before, strikers);
    for (unsigned i = 0; i < THREADS; i++) {
        if (strikers[i].queue)
            kit_ok(kit.ops.queue_destroy(kit.dev, strikers[i].queue), "queue_destroy");
        kit_free(strikers[i].block);
    }
}
