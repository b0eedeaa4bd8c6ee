/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "workers.h"

#if !defined(__x86_64__)
#include <fenv.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The word that controls a loop: its number, whether it accepts helper threads, and how many are in
 * it. A helper enters only while it is open, so that the owner waits for helpers that entered,
 * never for one that the system has not woken yet.
 */
#define LOOP_OPEN         (UINT64_C(1) << 31)
#define LOOP_INSIDE       (LOOP_OPEN - 1)
#define LOOP_NUMBER(word) ((word) >> 32)

/*
 * How long a thread looks for work before it sleeps: SPINS times, tens of microseconds; then for
 * LOOK_NS, or for PATIENT_NS if its latest sleep ended within that time, with sched_yield after
 * every LOOKS looks. Waking a thread takes tens of microseconds; the next loop may come sooner.
 */
#define SPINS      2000
#define LOOKS      20
#define LOOK_NS    (100 * 1000)
#define PATIENT_NS (450 * 1000)

/*
 * The number of bytes below which a second thread costs more than it helps, and the bytes of a
 * piece of a larger loop.
 */
#define SMALL_BYTES (512 * 1024)
/*
 * Pieces are multiples of this number of elements: whole cache lines for any type, and whole pages
 * for most types.
 */
#define PIECE_MULTIPLE 1024

#if defined(__x86_64__)
typedef unsigned mode; /* the rounding mode of the floating-point unit, and its handling of
                        * denormals */

static void get_mode(mode *m)
{
    *m = __builtin_ia32_stmxcsr();
}

static void set_mode(const mode *m)
{
    __builtin_ia32_ldmxcsr(*m);
}
#else
typedef fenv_t mode;

static void get_mode(mode *m)
{
    fegetenv(m);
}

static void set_mode(const mode *m)
{
    fesetenv(m);
}
#endif

/*
 * The distance of variables that different threads write: two cache lines, since processors fetch
 * them in pairs.
 */
#define APART 128

struct loop {
    mode mode; /* the mode of the thread that owns the loop */
    int64_t n, piece, pieces;
    workers_body body;
    workers_task task; /* if not NULL, called instead of the body: a piece is a task */
    void *arg;
    /* The number of pieces taken from the beginning; plus FROM_END times the number taken from the
     * end. Threads write it for each piece, and only read what is above. */
    _Alignas(APART) _Atomic uint64_t taken;
    _Atomic unsigned slots; /* the number of threads that have entered */
};

/* The threads that work on one loop at a time. */
struct pool {
    struct pool *next; /* set before the pool is in the list */
    unsigned threads;  /* the number of requested threads, including the caller's */
    unsigned first;    /* the first of these threads among the device's */
    unsigned started;
    pid_t owner; /* the process that has the threads; 0 before they start */
    const struct processors *processors;
    pthread_t *thread;
    atomic_flag busy;
    _Alignas(APART) _Atomic uint64_t word; /* waiting threads read it all the time */
    _Atomic bool ending;
    _Alignas(APART) _Atomic unsigned sleepers;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Alignas(APART) struct loop loop; /* written by the thread that holds `busy` while the word is
                                       * not open */
};

struct workers {
    struct processors processors;
    unsigned threads;
    _Atomic(struct pool *) pools; /* new pools are added at its head */
};

/* The calling thread's limit; 0: none. */
static _Thread_local unsigned most_threads;

/* The counts of the calling thread; NULL: it does not count. */
static _Thread_local uint64_t *thread_counts;
/* Whether the calling thread runs a counted task, whose own loops run on this thread alone. */
static _Thread_local bool in_counted_task;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int64_t workers_piece(int64_t n, int64_t bytes)
{
    int64_t least, piece;

    if (n * bytes <= SMALL_BYTES)
        return n;
    least = (n + WORKERS_MAX_PIECES - 1) / WORKERS_MAX_PIECES;
    piece = WORKERS_PIECE_BYTES / bytes;
    if (piece < least)
        piece = least;
    return (piece + PIECE_MULTIPLE - 1) / PIECE_MULTIPLE * PIECE_MULTIPLE;
}

/*
 * Where a thread takes pieces. The caller takes them from the beginning, in order, and the helpers
 * from the end: so a thread mostly gets the same pieces in each loop, which are still in its cache.
 * Data that another thread has written must come from that thread's cache.
 */
#define FROM_BEGINNING UINT64_C(1)
#define FROM_END       (UINT64_C(1) << 32)

/*
 * Takes a piece that no thread has taken; negative: all are taken. `from` is the end from which it
 * is taken.
 */
static int64_t next_piece(struct loop *loop, uint64_t from)
{
    uint64_t taken = atomic_fetch_add_explicit(&loop->taken, from, memory_order_relaxed);
    int64_t first = (int64_t)(taken % FROM_END), last = (int64_t)(taken / FROM_END);

    if (first + last >= loop->pieces)
        return -1;
    return from == FROM_END ? loop->pieces - 1 - last : first;
}

/* Takes pieces until none is left. */
static void work(struct loop *loop, uint64_t from)
{
    unsigned slot = atomic_fetch_add_explicit(&loop->slots, 1, memory_order_relaxed);
    int64_t piece;

    while ((piece = next_piece(loop, from)) >= 0) {
        int64_t first = piece * loop->piece;
        int64_t left = loop->n - first;

        if (loop->task)
            loop->task(loop->arg, piece, slot);
        else
            loop->body(loop->arg, first, left < loop->piece ? left : loop->piece, piece);
    }
}

/* ---- the helpers ---------------------------------------------------------------------------- */

static bool is_news(struct pool *p, uint64_t seen)
{
    uint64_t word = atomic_load(&p->word);

    return ((word & LOOP_OPEN) && LOOP_NUMBER(word) != seen) || atomic_load(&p->ending);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Looks for news a number of times; whether there is any. */
static bool look(struct pool *p, uint64_t seen, int times)
{
    for (int i = 0; i < times; i++) {
        if (is_news(p, seen))
            return true;
        relax();
    }
    return false;
}

/* Waits for news. *is_patient is set after each sleep, and says how long the next wait may look. */
static void wait_for_news(struct pool *p, uint64_t seen, bool *is_patient)
{
    const uint64_t most = *is_patient ? PATIENT_NS : LOOK_NS;
    uint64_t begin;

    if (look(p, seen, SPINS))
        return;
    begin = now_ns(CLOCK_MONOTONIC);
    do {
        if (look(p, seen, LOOKS))
            return;
        sched_yield();
    } while (now_ns(CLOCK_MONOTONIC) - begin < most);
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (!is_news(p, seen))
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    *is_patient = now_ns(CLOCK_MONOTONIC) - begin < PATIENT_NS;
}

static void *help(void *arg)
{
    struct pool *p = arg;
    uint64_t seen = 0;
    bool is_patient = false;

    for (;;) {
        uint64_t word;

        wait_for_news(p, seen, &is_patient);
        if (atomic_load(&p->ending))
            return NULL;
        word = atomic_load(&p->word);
        while ((word & LOOP_OPEN) && !atomic_compare_exchange_weak(&p->word, &word, word + 1))
            ;
        seen = LOOP_NUMBER(word);
        if (!(word & LOOP_OPEN))
            continue;
        set_mode(&p->loop.mode);
        work(&p->loop, FROM_END);
        atomic_fetch_sub(&p->word, 1);
    }
}

/* Starts helper i of the pool, bound to its processor; not bound if that is no longer there. */
static int start_helper(struct pool *p, unsigned i)
{
    const struct processors *processors = p->processors;
    pthread_attr_t bound;
    cpu_set_t set;
    int err;

    if (!processors->count || pthread_attr_init(&bound) != 0)
        return pthread_create(&p->thread[i], NULL, help, p);
    CPU_ZERO(&set);
    CPU_SET(processors->number[(p->first + 1 + i) % processors->count], &set);
    err = pthread_attr_setaffinity_np(&bound, sizeof(set), &set);
    if (!err)
        err = pthread_create(&p->thread[i], &bound, help, p);
    pthread_attr_destroy(&bound);
    return err == EINVAL ? pthread_create(&p->thread[i], NULL, help, p) : err;
}

/*
 * Starts as many threads as the system allows; the loop works with these. They block signals,
 * because the program's own threads handle them.
 */
static void start(struct pool *p)
{
    sigset_t all, before;

    p->owner = getpid();
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    while (p->started < p->threads - 1 && start_helper(p, p->started) == 0)
        p->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- interface ------------------------------------------------------------------------------ */

unsigned workers_allowed(void)
{
    cpu_set_t set;
    long online;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    online = sysconf(_SC_NPROCESSORS_ONLN); /* the machine has more processors than the set has room
                                             * for */
    if (online < 1)
        return 1;
    return online < WORKERS_MOST_THREADS ? (unsigned)online : WORKERS_MOST_THREADS;
}

struct workers *workers_create(unsigned threads, const struct processors *processors)
{
    struct workers *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->threads = threads;
    w->processors = *processors;
    atomic_init(&w->pools, NULL);
    return w;
}

unsigned workers_threads(const struct workers *w)
{
    return w->threads;
}

void workers_limit(unsigned threads)
{
    most_threads = threads;
}

unsigned workers_get_limit(void)
{
    return most_threads;
}

/* Frees a pool without threads. After a fork its lock may be in use for ever, and stays. */
static void free_pool(struct pool *p)
{
    if (p->owner == getpid() || !p->owner) {
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
    }
    free(p->thread);
    free(p);
}

static void end_pool(struct pool *p)
{
    if (p->owner == getpid()) {
        pthread_mutex_lock(&p->lock);
        atomic_store(&p->ending, true);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
        for (unsigned i = 0; i < p->started; i++)
            pthread_join(p->thread[i], NULL);
    }
    free_pool(p);
}

void workers_destroy(struct workers *w)
{
    struct pool *p = w ? atomic_load(&w->pools) : NULL;

    while (p) {
        struct pool *next = p->next;

        end_pool(p);
        p = next;
    }
    free(w);
}

static void publish(struct pool *p)
{
    uint64_t number = LOOP_NUMBER(atomic_load(&p->word)) + 1;

    atomic_store(&p->word, number << 32 | LOOP_OPEN);
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

/*
 * Waits for the threads inside the loop, which are processing their last pieces; no piece is left.
 */
static void wait_for_helpers(struct pool *p)
{
    atomic_fetch_and(&p->word, ~LOOP_OPEN);
    for (int i = 0; atomic_load(&p->word) & LOOP_INSIDE; i++) {
        relax();
        if (i >= SPINS)
            sched_yield();
    }
}

/* Creates a pool that only the caller uses; its threads start later. NULL: out of memory. */
static struct pool *new_pool(unsigned threads)
{
    struct pool *p = aligned_alloc(APART, sizeof(*p));

    if (!p)
        return NULL;
    memset(p, 0, sizeof(*p));
    p->thread = calloc(threads, sizeof(*p->thread));
    if (!p->thread) {
        free(p);
        return NULL;
    }
    p->threads = threads;
    atomic_flag_clear(&p->busy);
    (void)atomic_flag_test_and_set(&p->busy);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    return p;
}

/* Takes an idle pool of the list; otherwise *count is the number of pools of that size. */
static struct pool *take_idle(struct pool *list, unsigned threads, unsigned *count)
{
    *count = 0;
    for (struct pool *p = list; p; p = p->next) {
        if (p->threads != threads)
            continue;
        if (!atomic_flag_test_and_set(&p->busy))
            return p;
        ++*count;
    }
    return NULL;
}

/*
 * Takes an idle pool, or adds one, unless the pools of its size would have more threads than the
 * device. NULL: neither. Callers at the same time do not wait for each other: a pool joins the list
 * for which its place was counted, or the caller looks again.
 */
static struct pool *take_or_add(struct workers *w, unsigned threads)
{
    struct pool *list = atomic_load(&w->pools), *p, *added = NULL;
    unsigned count;

    for (;;) {
        p = take_idle(list, threads, &count);
        if (p || count >= w->threads / threads)
            break;
        if (!added && !(added = new_pool(threads)))
            return NULL;
        added->processors = &w->processors;
        added->first = count * threads;
        added->next = list;
        if (atomic_compare_exchange_weak(&w->pools, &list, added))
            return added;
    }
    if (added)
        free_pool(added);
    return p;
}

/* Takes a pool for the caller; NULL: the caller runs its loop alone. */
static struct pool *take(struct workers *w)
{
    unsigned threads = most_threads && most_threads < w->threads ? most_threads : w->threads;
    struct pool *p;

    if (threads < 2)
        return NULL;
    p = take_or_add(w, threads);
    if (!p)
        return NULL;
    if (!p->owner)
        start(p);
    if (p->started && p->owner == getpid())
        return p;
    atomic_flag_clear(&p->busy);
    return NULL;
}

/* ---- counting ------------------------------------------------------------------------------- */

void workers_count(uint64_t *counts)
{
    thread_counts = counts;
}

/* Gives a task to the thread that is free first. */
static void assign(uint64_t *busy, unsigned threads, uint64_t ns)
{
    unsigned first = 0;

    for (unsigned i = 1; i < threads; i++)
        if (busy[i] < busy[first])
            first = i;
    busy[first] += ns;
}

/* Runs a loop on this thread, and counts it as one of `threads` threads. */
static void run_counted(const struct loop *loop, unsigned threads)
{
    uint64_t busy[WORKERS_MOST_THREADS] = { 0 }, slowest = 0, *counts = thread_counts;

    thread_counts = NULL;
    in_counted_task = true;
    for (int64_t piece = 0; piece < loop->pieces; piece++) {
        int64_t first = piece * loop->piece, left = loop->n - first;
        uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), ns;

        if (loop->task)
            loop->task(loop->arg, piece, 0);
        else
            loop->body(loop->arg, first, left < loop->piece ? left : loop->piece, piece);
        ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
        counts[WORKERS_NS] += ns;
        assign(busy, threads, ns);
    }
    for (unsigned i = 0; i < threads; i++)
        slowest = busy[i] > slowest ? busy[i] : slowest;
    counts[WORKERS_THREADS] = threads;
    counts[WORKERS_LOOPS]++;
    counts[WORKERS_TASKS] += (uint64_t)loop->pieces;
    counts[WORKERS_SLOWEST] += slowest;
    in_counted_task = false;
    thread_counts = counts;
}

/* Runs the loop of a pool that the caller holds. */
static void run_together(struct pool *p)
{
    atomic_store(&p->loop.taken, 0);
    atomic_store(&p->loop.slots, 0);
    get_mode(&p->loop.mode);
    publish(p);
    work(&p->loop, FROM_BEGINNING);
    wait_for_helpers(p);
    atomic_flag_clear(&p->busy);
}

static void fill_in(struct loop *loop, int64_t n, int64_t piece, void *arg)
{
    loop->n = n;
    loop->piece = piece;
    loop->pieces = (n + piece - 1) / piece;
    loop->body = NULL;
    loop->task = NULL;
    loop->arg = arg;
}

void workers_run(struct workers *w, int64_t n, int64_t piece, workers_body body, void *arg)
{
    struct loop alone;
    struct pool *p;

    if (n <= piece) {
        body(arg, 0, n, 0);
        return;
    }
    p = thread_counts || in_counted_task ? NULL : take(w);
    if (p) {
        fill_in(&p->loop, n, piece, arg);
        p->loop.body = body;
        run_together(p);
        return;
    }
    fill_in(&alone, n, piece, arg);
    alone.body = body;
    if (thread_counts) {
        run_counted(&alone, w->threads);
        return;
    }
    alone.taken = 0;
    alone.slots = 0;
    work(&alone, FROM_BEGINNING);
}

void workers_tasks(struct workers *w, int64_t n, workers_task task, void *arg)
{
    struct pool *p = n > 1 && !thread_counts && !in_counted_task ? take(w) : NULL;
    struct loop alone;

    if (n > 1 && thread_counts) {
        fill_in(&alone, n, 1, arg);
        alone.task = task;
        run_counted(&alone, w->threads);
        return;
    }
    if (p) {
        fill_in(&p->loop, n, 1, arg);
        p->loop.task = task;
        run_together(p);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        task(arg, i, 0);
}
