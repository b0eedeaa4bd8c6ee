/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU plugin's threads. The plugin exports none of their functions, so their source file is
 * compiled in.
 */
#include "backends/cpu/workers.c"

#include "ferry-test.h"

#include <time.h>

#define TASKS   64
#define CALLERS 2

/* Counts the threads that are in tasks at the same time. */
struct meeting {
    _Atomic unsigned inside, most, done, wrong;
    unsigned wanted, slots; /* a task waits until `wanted` threads are inside, for at most 20 s */
};

static bool is_late(const struct timespec *begin)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begin->tv_sec > 20;
}

static void meet(void *arg, int64_t task, unsigned slot)
{
    struct meeting *m = arg;
    unsigned inside = atomic_fetch_add(&m->inside, 1) + 1, most = atomic_load(&m->most);
    struct timespec begin;

    (void)task;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (most < inside && !atomic_compare_exchange_weak(&m->most, &most, inside))
        ;
    if (slot >= m->slots)
        atomic_fetch_add(&m->wrong, 1);
    while (atomic_load(&m->most) < m->wanted && !is_late(&begin))
        sched_yield();
    atomic_fetch_sub(&m->inside, 1);
    atomic_fetch_add(&m->done, 1);
}

struct caller {
    struct workers *workers;
    struct meeting *meeting;
    unsigned limit;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *c = arg;

    workers_limit(c->limit);
    workers_tasks(c->workers, TASKS, meet, c->meeting);
    return NULL;
}

/*
 * Callers with that limit on a device of `threads`; the result is the maximum number of threads at
 * once.
 */
static unsigned most_at_once(unsigned threads, unsigned limit, unsigned callers, unsigned wanted)
{
    struct workers *w = workers_create(threads);
    struct meeting m = { .wanted = wanted, .slots = limit ? limit : threads };
    struct caller c[CALLERS];

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    for (unsigned i = 0; i < callers; i++) {
        c[i] = (struct caller){ .workers = w, .meeting = &m, .limit = limit };
        CU_ASSERT_EQUAL_FATAL(pthread_create(&c[i].thread, NULL, call, &c[i]), 0);
    }
    for (unsigned i = 0; i < callers; i++)
        pthread_join(c[i].thread, NULL);
    workers_destroy(w);
    CU_ASSERT_EQUAL(atomic_load(&m.done), callers * TASKS);
    CU_ASSERT_EQUAL(atomic_load(&m.wrong), 0);
    return atomic_load(&m.most);
}

static void a_loop_uses_all_threads(void)
{
    CU_ASSERT_EQUAL(most_at_once(3, 0, 1, 3), 3);
}

static void a_limited_loop_uses_at_most_its_limit_of_threads(void)
{
    CU_ASSERT_EQUAL(most_at_once(4, 1, 1, 1), 1);
    CU_ASSERT_EQUAL(most_at_once(4, 2, 1, 2), 2);
    CU_ASSERT_EQUAL(most_at_once(4, 9, 1, 4), 4);
}

static void limited_loops_run_on_separate_threads_at_once(void)
{
    CU_ASSERT_EQUAL(most_at_once(4, 2, 2, 4), 4);
}

/* Three threads divided by two are one pair; the second caller computes alone. */
static void concurrent_loops_use_at_most_the_threads_of_the_device(void)
{
    CU_ASSERT_EQUAL(most_at_once(3, 2, 2, 3), 3);
}

static void a_limit_applies_to_the_calling_thread(void)
{
    workers_limit(1);
    CU_ASSERT_EQUAL(most_at_once(2, 0, 1, 2), 2);
    workers_limit(0);
}

/* ---- counting ------------------------------------------------------------------------------- */

static pthread_t counting;
static unsigned ran[TASKS];

/* The first task has most of the work. */
static void run_one(void *arg, int64_t task, unsigned slot)
{
    volatile double *sum = arg;

    CU_ASSERT(pthread_equal(pthread_self(), counting));
    CU_ASSERT_EQUAL(slot, 0);
    ran[task]++;
    for (int i = 0; i < (task ? 1000 : 2000000); i++)
        *sum += i;
}

static void run_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        run_one(arg, i, 0);
}

static void a_counted_loop_runs_on_the_calling_thread(void)
{
    struct workers *w = workers_create(8);
    uint64_t counts[WORKERS_COUNTS] = { 0 };
    volatile double sum = 0;
    struct meeting m = { .wanted = 2, .slots = 8 };

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    counting = pthread_self();
    workers_count(counts);
    workers_tasks(w, 10, run_one, (void *)&sum);
    CU_ASSERT_EQUAL(counts[WORKERS_THREADS], 8);
    CU_ASSERT_EQUAL(counts[WORKERS_LOOPS], 1);
    CU_ASSERT_EQUAL(counts[WORKERS_TASKS], 10);
    CU_ASSERT(counts[WORKERS_NS] > 0);
    CU_ASSERT(counts[WORKERS_SLOWEST] <= counts[WORKERS_NS]);
    CU_ASSERT(counts[WORKERS_SLOWEST] > counts[WORKERS_NS] / 2);
    workers_run(w, 10, 4, run_piece, (void *)&sum);
    CU_ASSERT_EQUAL(counts[WORKERS_LOOPS], 2);
    CU_ASSERT_EQUAL(counts[WORKERS_TASKS], 13);
    workers_tasks(w, 1, run_one, (void *)&sum);
    workers_run(w, 10, 10, run_piece, (void *)&sum);
    CU_ASSERT_EQUAL(counts[WORKERS_LOOPS], 2);
    for (int i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(ran[i], i ? 3 : 4);
    workers_count(NULL);
    workers_tasks(w, TASKS, meet, &m);
    CU_ASSERT(atomic_load(&m.most) >= 2);
    CU_ASSERT_EQUAL(counts[WORKERS_LOOPS], 2);
    workers_destroy(w);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_loop_uses_all_threads),
    FERRY_TEST(a_limited_loop_uses_at_most_its_limit_of_threads),
    FERRY_TEST(limited_loops_run_on_separate_threads_at_once),
    FERRY_TEST(concurrent_loops_use_at_most_the_threads_of_the_device),
    FERRY_TEST(a_limit_applies_to_the_calling_thread),
    FERRY_TEST(a_counted_loop_runs_on_the_calling_thread),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "workers", cases, FERRY_TEST_COUNT(cases));
}
