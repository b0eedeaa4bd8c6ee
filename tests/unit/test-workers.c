/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU plugin's threads. The plugin exports none of their functions, so their source file is
 * compiled in.
 */
#include "backends/cpu/processors.c"
#include "backends/cpu/workers.c"

#include "ferry-test.h"

#include <stddef.h>
#include <time.h>

#define TASKS   64
#define CALLERS 2

static const struct processors anywhere;

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
    struct workers *w = workers_create(threads, &anywhere);
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

/* ---- callers that begin at once ------------------------------------------------------------- */

struct beginner {
    struct workers *workers;
    _Atomic unsigned *ready;  /* the number of callers that are about to begin */
    _Atomic unsigned *inside; /* the number of callers that are in a loop, or were */
    pthread_t thread;
};

/* Keeps the caller's threads busy until all callers have taken theirs. */
static void wait_for_all(void *arg, int64_t task, unsigned slot)
{
    _Atomic unsigned *inside = arg;
    struct timespec begin;

    (void)slot;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (task == 0)
        atomic_fetch_add(inside, 1);
    while (atomic_load(inside) < CALLERS && !is_late(&begin))
        sched_yield();
}

static void *begin_and_call(void *arg)
{
    struct beginner *b = arg;

    workers_limit(2);
    atomic_fetch_add(b->ready, 1);
    while (atomic_load(b->ready) < CALLERS)
        ; /* a thread that slept would begin later than the others */
    workers_tasks(b->workers, CALLERS, wait_for_all, b->inside);
    return NULL;
}

static unsigned pools_of(const struct workers *w)
{
    unsigned count = 0;

    for (struct pool *p = atomic_load(&w->pools); p; p = p->next)
        count++;
    return count;
}

static void callers_that_begin_at_once_all_get_threads(void)
{
    for (int round = 0; round < 300; round++) {
        struct workers *w = workers_create(2 * CALLERS, &anywhere);
        struct beginner b[CALLERS];
        _Atomic unsigned ready = 0, inside = 0;
        unsigned pools;

        CU_ASSERT_PTR_NOT_NULL_FATAL(w);
        for (unsigned i = 0; i < CALLERS; i++) {
            b[i] = (struct beginner){ .workers = w, .ready = &ready, .inside = &inside };
            CU_ASSERT_EQUAL_FATAL(pthread_create(&b[i].thread, NULL, begin_and_call, &b[i]), 0);
        }
        for (unsigned i = 0; i < CALLERS; i++)
            pthread_join(b[i].thread, NULL);
        pools = pools_of(w);
        workers_destroy(w);
        CU_ASSERT_EQUAL_FATAL(pools, CALLERS);
    }
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
    struct workers *w = workers_create(8, &anywhere);
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

struct nested {
    struct workers *w;
    volatile double sum;
};

/* A task with loops of its own. */
static void run_loops(void *arg, int64_t task, unsigned slot)
{
    struct nested *n = arg;

    (void)task;
    (void)slot;
    workers_tasks(n->w, 10, run_one, (void *)&n->sum);
    workers_run(n->w, 10, 4, run_piece, (void *)&n->sum);
}

static void a_loop_in_a_counted_task_runs_on_the_calling_thread(void)
{
    struct nested n = { .w = workers_create(8, &anywhere) };
    uint64_t counts[WORKERS_COUNTS] = { 0 };
    struct meeting m = { .wanted = 2, .slots = 8 };

    CU_ASSERT_PTR_NOT_NULL_FATAL(n.w);
    counting = pthread_self();
    workers_count(counts);
    workers_tasks(n.w, 2, run_loops, &n);
    CU_ASSERT_EQUAL(counts[WORKERS_LOOPS], 1);
    CU_ASSERT_EQUAL(counts[WORKERS_TASKS], 2);
    workers_count(NULL);
    workers_tasks(n.w, TASKS, meet, &m);
    CU_ASSERT(atomic_load(&m.most) >= 2);
    workers_destroy(n.w);
}

/* ---- processors ----------------------------------------------------------------------------- */

static void lists_of_processors_are_read(void)
{
    static const char *const wrong[] = { ",",     "1,",  ",1",          "1,,2",    "-",    "1-",
                                         "-1",    "3-1", "a",           "1 2",     "1024", "0-1024",
                                         "1-2-3", "0x1", "99999999999", "0-1023,0" };
    static const unsigned short numbers[] = { 5, 0, 1, 2, 5 };
    struct processors p;

    CU_ASSERT_EQUAL(processors_parse("", &p), 0);
    CU_ASSERT_EQUAL(p.count, 0);
    CU_ASSERT_EQUAL(processors_parse("5,0-2,5", &p), 0);
    CU_ASSERT_EQUAL_FATAL(p.count, 5);
    for (unsigned i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(p.number[i], numbers[i]);
    CU_ASSERT_EQUAL(processors_parse("0-1023", &p), 0);
    CU_ASSERT_EQUAL(p.count, PROCESSORS_MOST);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CU_ASSERT_EQUAL(processors_parse(wrong[i], &p), -1);
}

/* The processors of the threads that were in tasks; WHOLE: the thread is not bound. */
#define WHOLE PROCESSORS_MOST

struct seen {
    struct meeting meeting;
    cpu_set_t allowed;
    _Atomic unsigned
        threads[PROCESSORS_MOST + 1]; /* 1 if a thread was there, plus 2 if elsewhere too */
};

static void see(void *arg, int64_t task, unsigned slot)
{
    struct seen *s = arg;
    cpu_set_t set;
    unsigned at = 0;

    CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof(set), &set), 0);
    while (at < PROCESSORS_MOST && !CPU_ISSET(at, &set))
        at++;
    at = CPU_EQUAL(&set, &s->allowed) ? WHOLE : at;
    atomic_fetch_or(&s->threads[at], CPU_COUNT(&set) == 1 || at == WHOLE ? 1 : 2);
    meet(&s->meeting, task, slot);
}

/* Two processors: the first and the last processor that the process may run on. */
static bool two_processors(cpu_set_t *allowed, struct processors *p)
{
    p->count = 2;
    p->number[0] = p->number[1] = PROCESSORS_MOST;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(*allowed), allowed), 0);
    for (unsigned i = 0; i < PROCESSORS_MOST; i++)
        if (CPU_ISSET(i, allowed)) {
            p->number[0] = p->number[0] == PROCESSORS_MOST ? (unsigned short)i : p->number[0];
            p->number[1] = (unsigned short)i;
        }
    if (p->number[0] != p->number[1])
        return true;
    ferry_test_skip("this process may run on one processor only");
    return false;
}

static void helpers_are_bound_in_order_and_the_caller_is_not(void)
{
    struct seen s = { .meeting = { .wanted = 2, .slots = 2 } };
    struct processors p = { 0 };
    struct workers *w;

    if (!two_processors(&s.allowed, &p))
        return;
    w = workers_create(2, &p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    workers_tasks(w, TASKS, see, &s);
    workers_destroy(w);
    CU_ASSERT_EQUAL(s.meeting.most, 2);
    CU_ASSERT_EQUAL(s.threads[p.number[0]], 0);
    CU_ASSERT_EQUAL(s.threads[p.number[1]], 1);
    CU_ASSERT_EQUAL(s.threads[WHOLE], 1);
}

static void more_threads_than_processors_start_again_with_the_first(void)
{
    struct seen s = { .meeting = { .wanted = 3, .slots = 3 } };
    struct processors p = { 0 };
    struct workers *w;

    if (!two_processors(&s.allowed, &p))
        return;
    w = workers_create(3, &p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    workers_tasks(w, TASKS, see, &s);
    workers_destroy(w);
    CU_ASSERT_EQUAL(s.threads[p.number[0]], 1);
    CU_ASSERT_EQUAL(s.threads[p.number[1]], 1);
}

struct seer {
    struct workers *workers;
    struct seen *seen;
};

static void *call_and_see(void *arg)
{
    struct seer *c = arg;

    workers_limit(2);
    workers_tasks(c->workers, TASKS, see, c->seen);
    return NULL;
}

/* Two callers with two threads each: the helpers are the threads 1 and 3. */
static void limited_loops_have_processors_of_their_own(void)
{
    struct seen s = { .meeting = { .wanted = 4, .slots = 2 } };
    struct processors two = { 0 }, p = { .count = 4 };
    pthread_t other;
    struct seer c;

    if (!two_processors(&s.allowed, &two))
        return;
    for (unsigned i = 0; i < 4; i++)
        p.number[i] = two.number[i / 2];
    c = (struct seer){ workers_create(4, &p), &s };
    CU_ASSERT_PTR_NOT_NULL_FATAL(c.workers);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, call_and_see, &c), 0);
    call_and_see(&c);
    pthread_join(other, NULL);
    workers_limit(0);
    workers_destroy(c.workers);
    CU_ASSERT_EQUAL(s.meeting.most, 4);
    CU_ASSERT_EQUAL(s.threads[two.number[0]], 1);
    CU_ASSERT_EQUAL(s.threads[two.number[1]], 1);
}

static void a_forbidden_processor_is_found(void)
{
    struct processors p = { 0 };
    cpu_set_t allowed;
    long most = sysconf(_SC_NPROCESSORS_CONF);

    if (!two_processors(&allowed, &p))
        return;
    CU_ASSERT_EQUAL(processors_forbidden(&p), -1);
    if (most >= PROCESSORS_MOST)
        return;
    p.number[1] = PROCESSORS_MOST - 1; /* which this machine does not have */
    CU_ASSERT_EQUAL(processors_forbidden(&p), PROCESSORS_MOST - 1);
}

/* Of what the threads of a loop write and read, no two are in one pair of cache lines. */
static void what_threads_write_is_apart_from_what_they_read(void)
{
    size_t word = offsetof(struct pool, word) / APART;
    size_t sleepers = offsetof(struct pool, sleepers) / APART;
    size_t loop = offsetof(struct pool, loop) / APART;
    size_t taken = (offsetof(struct pool, loop) + offsetof(struct loop, taken)) / APART;

    CU_ASSERT(word < sleepers && sleepers < loop && loop < taken);
    CU_ASSERT(offsetof(struct pool, busy) / APART < word);
    CU_ASSERT_EQUAL((offsetof(struct pool, loop) + offsetof(struct loop, arg)) / APART, loop);
}

/* Waits for news of a pool, which another thread publishes after a time. */
struct news {
    struct pool *pool;
    long microseconds;
};

static void *publish_later(void *arg)
{
    const struct news *n = arg;

    usleep((useconds_t)n->microseconds);
    publish(n->pool);
    return NULL;
}

/* Whether a thread is patient after it has waited that long. */
static bool is_patient_after(struct pool *p, long microseconds)
{
    struct news n = { p, microseconds };
    uint64_t seen = LOOP_NUMBER(atomic_load(&p->word));
    bool is_patient = microseconds > 1000; /* the opposite of what is expected */
    pthread_t other;

    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, publish_later, &n), 0);
    wait_for_news(p, seen, &is_patient);
    pthread_join(other, NULL);
    CU_ASSERT_EQUAL(LOOP_NUMBER(atomic_load(&p->word)), seen + 1);
    return is_patient;
}

/* Whether it is as expected at least once: a busy machine delays threads. */
static bool becomes(struct pool *p, long microseconds, bool is_patient)
{
    for (int i = 0; i < 1000; i++)
        if (is_patient_after(p, microseconds) == is_patient)
            return true;
    return false;
}

static void a_short_wait_makes_a_thread_patient_and_a_long_one_does_not(void)
{
    struct pool *p = new_pool(2);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT(becomes(p, 250, true));
    CU_ASSERT(becomes(p, 20000, false));
    free_pool(p);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_loop_uses_all_threads),
    FERRY_TEST(a_limited_loop_uses_at_most_its_limit_of_threads),
    FERRY_TEST(limited_loops_run_on_separate_threads_at_once),
    FERRY_TEST(callers_that_begin_at_once_all_get_threads),
    FERRY_TEST(concurrent_loops_use_at_most_the_threads_of_the_device),
    FERRY_TEST(a_limit_applies_to_the_calling_thread),
    FERRY_TEST(a_counted_loop_runs_on_the_calling_thread),
    FERRY_TEST(a_loop_in_a_counted_task_runs_on_the_calling_thread),
    FERRY_TEST(lists_of_processors_are_read),
    FERRY_TEST(helpers_are_bound_in_order_and_the_caller_is_not),
    FERRY_TEST(more_threads_than_processors_start_again_with_the_first),
    FERRY_TEST(limited_loops_have_processors_of_their_own),
    FERRY_TEST(a_forbidden_processor_is_found),
    FERRY_TEST(what_threads_write_is_apart_from_what_they_read),
    FERRY_TEST(a_short_wait_makes_a_thread_patient_and_a_long_one_does_not),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "workers", cases, FERRY_TEST_COUNT(cases));
}
