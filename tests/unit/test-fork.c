/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A child of fork has the parent's blobs and none of its devices: contents settled on the host stay
 * usable, device calls return an error, and everything can be destroyed.
 */

#define OLD 0x5a
#define NEW 0x77

/* The child has no CUnit: it prints where it failed and ends. */
#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "in the child: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                     \
        }                                                                                 \
    } while (0)

#define EXPECT_FORKED(call) EXPECT((call) == FERRY_EFORKED)

/* Runs `body` in a child, which may take a minute. */
static void in_child(void (*body)(void *), void *arg)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(60);
        body(arg);
        _exit(0);
    }
    CU_ASSERT_FATAL(child > 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

struct things {
    ferry_memory *host, *both, *there;
    ferry_queue *queue;
    ferry_event *event;
};

static bool holds(const unsigned char *p, unsigned char value)
{
    for (size_t i = 0; p && i < WX_BYTES; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

static void begin_things(struct things *t)
{
    wx_begin();
    t->host = wx_memory_at_host(OLD);
    t->both = wx_memory_at(0, OLD);
    CU_ASSERT(wx_host_reads(t->both, OLD));
    t->there = wx_memory_at(1, OLD);
    t->queue = wx_queue_create(0);
    t->event = NULL;
    FX_OK(ferry_event_record(t->queue, &t->event));
}

static void end_things(struct things *t)
{
    ferry_event_destroy(t->event);
    ferry_queue_destroy(t->queue);
    ferry_memory_release(t->host);
    ferry_memory_release(t->both);
    ferry_memory_release(t->there);
}

/* ---- the host's side ------------------------------------------------------------------------ */

static void use_the_host(void *arg)
{
    struct things *t = arg;
    void *p;

    EXPECT(holds(ferry_memory_host_data(t->host), OLD));
    EXPECT(holds(ferry_memory_host_data(t->both), OLD));
    p = ferry_memory_mutable_host_data(t->host);
    EXPECT(holds(p, OLD));
    memset(p, NEW, WX_BYTES);
    EXPECT(holds(ferry_memory_host_data(t->host), NEW));
    p = ferry_memory_overwrite_host_data(t->host);
    EXPECT(p != NULL);
    EXPECT(ferry_memory_head(t->there) == FERRY_HEAD_AT_DEVICE);
    EXPECT(ferry_memory_is_valid_at(t->both, NULL));
}

static void settled_host_access_works_in_the_child(void)
{
    struct things t;

    begin_things(&t);
    in_child(use_the_host, &t);
    CU_ASSERT(wx_host_reads(t.host, OLD));
    end_things(&t);
    wx_end();
}

static void write_what_is_shared(void *arg)
{
    struct things *t = arg;

    EXPECT(ferry_memory_mutable_host_data(t->both) == NULL);
    EXPECT_FORKED(ferry_last_error_code());
    EXPECT(ferry_memory_overwrite_host_data(t->both) == NULL);
    EXPECT_FORKED(ferry_last_error_code());
    EXPECT(holds(ferry_memory_host_data(t->both), OLD));
}

/* The host may read them; to write, it would need the device's permission. */
static void shared_bytes_are_not_mapped_in_the_child(void)
{
    struct things t;
    uint64_t calls;

    begin_things(&t);
    calls = wx_calls(0, SIM_CALL_MAP) + wx_calls(0, SIM_CALL_UNMAP);
    in_child(write_what_is_shared, &t);
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_MAP) + wx_calls(0, SIM_CALL_UNMAP), calls);
    end_things(&t);
    wx_end();
}

/* ---- the devices' ---------------------------------------------------------------------------- */

static void use_the_devices(void *arg)
{
    struct things *t = arg;
    ferry_ref ref = { &ref, 1 };
    ferry_queue *q = NULL;
    ferry_event *e = NULL;
    uint64_t bytes = 0;
    double sum = 0;

    EXPECT(!ferry_memory_host_data(t->there));
    EXPECT(ferry_last_error_code() == FERRY_EFORKED);
    EXPECT_FORKED(ferry_memory_access(t->host, wx_dev(0), FERRY_READ, NULL, &ref));
    EXPECT_FORKED(ferry_memory_access(t->both, wx_dev(0), FERRY_READ, NULL, &ref));
    EXPECT_FORKED(ferry_memory_access(t->there, wx_dev(1), FERRY_WRITE, NULL, &ref));
    EXPECT_FORKED(ferry_memory_access(t->there, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    EXPECT_FORKED(ferry_memory_prefetch(t->host, wx_dev(1), NULL));
    EXPECT_FORKED(ferry_memory_prefetch(t->there, NULL, NULL));
    EXPECT_FORKED(ferry_memory_record(t->both, wx_queue(0), FERRY_READ));
    EXPECT_FORKED(ferry_memory_adopt(t->both, wx_dev(0), ref, WX_BYTES, 0, NULL, NULL));
    EXPECT_FORKED(ferry_queue_create(wx_dev(0), &q));
    EXPECT_FORKED(ferry_queue_synchronize(t->queue));
    EXPECT_FORKED(ferry_event_record(t->queue, &e));
    EXPECT_FORKED(ferry_queue_wait_event(t->queue, t->event));
    EXPECT_FORKED(ferry_device_synchronize(wx_dev(1)));
    EXPECT_FORKED(ferry_device_memory_available(wx_dev(0), &bytes));
    EXPECT_FORKED(ferry_device_memory_available(wx_dev(0), &bytes));
    EXPECT_FORKED(ferry_device_trim(wx_dev(0)));
    EXPECT_FORKED(ferry_device_set_budget(wx_dev(0), 1));
    EXPECT_FORKED(ferry_math_fill(t->queue, FERRY_U8, 1, 0, ref));
    EXPECT_FORKED(ferry_math_asum(t->queue, FERRY_F32, 1, ferry_ref_const(ref), &sum));
    EXPECT(ref.handle == &ref && ref.offset == 1 && !q && !e);
    EXPECT(ferry_memory_head(t->there) == FERRY_HEAD_AT_DEVICE);
    EXPECT(strstr(ferry_last_error(), "fork") != NULL);
}

static void device_calls_in_a_forked_child_report_the_fork(void)
{
    struct things t;

    begin_things(&t);
    in_child(use_the_devices, &t);
    CU_ASSERT(wx_host_reads(t.there, OLD));
    end_things(&t);
    wx_end();
}

static void let_go(void *arg)
{
    end_things(arg);
    wx_close();
}

static void everything_can_be_destroyed_in_the_child(void)
{
    struct things t;

    begin_things(&t);
    in_child(let_go, &t);
    CU_ASSERT(wx_reads_on(wx_queue(0), t.host, OLD));
    CU_ASSERT(wx_reads_on(wx_queue(1), t.there, OLD));
    end_things(&t);
    wx_end();
}

static void use_a_blob(void *arg)
{
    ferry_blob *b = arg;
    double value = 0;

    EXPECT(ferry_blob_element_count(b) == 8);
    EXPECT(ferry_blob_data_at(b, (int64_t[]){ 3 }, 1, &value) == 0 && value == 2);
    EXPECT_FORKED(ferry_blob_move_to(b, wx_dev(1)));
    EXPECT(ferry_blob_home(b) == wx_dev(0));
    ferry_blob_destroy(b);
}

static void a_blob_on_the_host_can_be_read_in_the_child(void)
{
    ferry_blob *b = NULL;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 8 }, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 2));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    in_child(use_a_blob, b);
    ferry_blob_destroy(b);
    wx_end();
}

static void scale_a_blob(void *arg)
{
    ferry_blob *b = arg;
    double sum = 0;

    wx_close(); /* the devices except the blob's own are closed: searches find none of them */
    EXPECT(ferry_blob_scale_data(b, 2) == 0);
    EXPECT(ferry_blob_asum_data(b, &sum) == 0 && sum == 32);
    ferry_blob_destroy(b);
}

static void arithmetic_in_the_child_does_not_access_the_device(void)
{
    ferry_blob *b = NULL;
    float *values;

    wx_begin();
    FX_OK(ferry_queue_synchronize(wx_queue(0))); /* open */
    FX_OK_FATAL(ferry_blob_create(wx_dev(1), FERRY_F32, (int64_t[]){ 8 }, 1, &b));
    FX_OK(ferry_blob_fill_data(b, 2));
    values = ferry_blob_mutable_host_data(b);
    CU_ASSERT_FATAL(values && values[7] == 2);
    in_child(scale_a_blob, b);
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- pending work at the fork ---------------------------------------------------------------- */

static void release_pending(void *arg)
{
    struct things *t = arg;

    EXPECT(holds(ferry_memory_host_data(t->host), OLD));
    ferry_memory_release(t->host);
    ferry_memory_release(t->there);
}

static void a_child_does_not_wait_for_the_parents_work(void)
{
    struct things t;

    begin_things(&t);
    FX_OK(ferry_memory_prefetch(t.host, wx_dev(0), NULL));
    FX_OK(ferry_memory_prefetch(t.there, wx_dev(0), NULL));
    in_child(release_pending, &t);
    CU_ASSERT(wx_reads_on(wx_queue(0), t.there, OLD));
    end_things(&t);
    wx_end();
}

/* A copy that the parent waits for is neither valid nor lost. */
static void use_what_is_on_its_way(void *arg)
{
    struct things *t = arg;
    ferry_ref ref;

    for (int i = 0; i < 2; i++) {
        EXPECT(!ferry_memory_host_data(t->there));
        EXPECT(ferry_last_error_code() == FERRY_EFORKED);
        EXPECT_FORKED(ferry_memory_access(t->there, NULL, FERRY_READ, NULL, &ref));
        EXPECT_FORKED(ferry_memory_access(t->there, wx_dev(0), FERRY_READ, NULL, &ref));
        EXPECT(ferry_memory_is_valid_at(t->there, NULL));
    }
    EXPECT(holds(ferry_memory_host_data(t->both), OLD));
}

static void a_pending_copy_of_the_parent_does_not_affect_the_child(void)
{
    struct things t;

    begin_things(&t);
    FX_OK(ferry_memory_prefetch(t.there, NULL, NULL));
    in_child(use_what_is_on_its_way, &t);
    CU_ASSERT(wx_host_reads(t.there, OLD));
    end_things(&t);
    wx_end();
}

static void *read_it(void *m)
{
    return (void *)ferry_memory_host_data(m);
}

/* Contents that the thread was about to change are undefined; all of it can be released. */
static void use_what_was_being_used(void *arg)
{
    ferry_blob *b = arg, *other = NULL;
    ferry_memory *m = ferry_blob_data_memory(b);

    EXPECT(!ferry_memory_host_data(m));
    EXPECT(ferry_last_error_code() == FERRY_EFORKED);
    EXPECT_FORKED(ferry_memory_allow_eviction(m));
    EXPECT_FORKED(ferry_memory_discard(m));
    EXPECT_FORKED(
        ferry_memory_access(m, NULL, FERRY_WRITE | FERRY_NOWAIT, NULL, &(ferry_ref){ 0 }));
    EXPECT_FORKED(ferry_blob_slice(b, 0, 1, &other));
    EXPECT_FORKED(ferry_blob_set_name(b, "b"));
    ferry_blob_destroy(b);
}

static void work_of_another_thread_at_the_fork_does_not_affect_the_child(void)
{
    ferry_blob *b = NULL;
    ferry_memory *m;
    pthread_t reader;
    uint64_t copies;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_U8, (int64_t[]){ WX_BYTES }, 1, &b));
    FX_OK(ferry_blob_fill_data(b, OLD));
    m = ferry_memory_retain(ferry_blob_data_memory(b));
    FX_OK(ferry_device_synchronize(wx_dev(0)));
    copies = wx_calls(0, SIM_CALL_MEMCPY);
    wx_hold(0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_it, m), 0);
    while (wx_calls(0, SIM_CALL_MEMCPY) == copies)
        usleep(1000);
    in_child(use_what_was_being_used, b);
    wx_let_go(0);
    pthread_join(reader, NULL);
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    ferry_blob_destroy(b);
    wx_end();
}

static void promise(void *arg)
{
    struct things *t = arg;

    ferry_memory_release(t->both);
    EXPECT(ferry_memory_allow_eviction(t->host) == 0);
    EXPECT(holds(ferry_memory_host_data(t->host), OLD));
    EXPECT(ferry_memory_allow_eviction(t->there) == 0);
    ferry_memory_release(t->there);
    ferry_memory_release(t->host);
}

/* The parent allows eviction of memories between those that the child releases. */
static void the_child_does_not_inherit_permissions_to_evict(void)
{
    struct things t;

    begin_things(&t);
    FX_OK(ferry_memory_allow_eviction(t.host));
    FX_OK(ferry_memory_allow_eviction(t.both));
    FX_OK(ferry_memory_allow_eviction(t.there));
    in_child(promise, &t);
    FX_OK(ferry_device_set_budget(wx_dev(0), 1));
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
    CU_ASSERT(wx_host_reads(t.both, OLD));
    CU_ASSERT_EQUAL(wx_valid(t.both), WX_HOST);
    end_things(&t);
    wx_end();
}

static atomic_bool stop;

static void *keep_busy(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        ferry_memory *m = NULL;
        ferry_ref ref;

        if (ferry_memory_create(wx_dev(0), WX_BYTES, &m))
            break;
        ferry_memory_host_data(m);
        ferry_memory_access(m, wx_dev(0), FERRY_READ | FERRY_WRITE, NULL, &ref);
        ferry_memory_access(m, wx_dev(1), FERRY_READ, NULL, &ref);
        ferry_memory_release(m);
    }
    return NULL;
}

/* Reserves a queue: no other thread gets its lock. */
static void *keep_a_queue(void *arg)
{
    pthread_barrier_t *turn = arg;
    ferry_event *e = NULL;

    if (ferry_queue_begin(wx_queue(0)))
        return NULL;
    pthread_barrier_wait(turn);
    pthread_barrier_wait(turn);
    ferry_queue_end(wx_queue(0), &e);
    ferry_event_destroy(e);
    return turn;
}

static void do_it_all(void *arg)
{
    struct things *t = arg;
    ferry_event *e = NULL;
    ferry_ref ref;

    EXPECT(holds(ferry_memory_host_data(t->both), OLD));
    (void)ferry_memory_mutable_host_data(t->both); /* a device's copy loses its bit */
    EXPECT_FORKED(ferry_memory_access(t->there, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    EXPECT(ferry_memory_overwrite_host_data(t->host) != NULL);
    EXPECT_FORKED(ferry_memory_access(t->host, wx_dev(0), FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    EXPECT_FORKED(ferry_queue_synchronize(wx_queue(0)));
    EXPECT_FORKED(ferry_event_record(wx_queue(0), &e));
    EXPECT_FORKED(ferry_queue_begin(wx_queue(0)));
    ferry_memory_allow_eviction(t->both);
    ferry_memory_discard(t->both);
    end_things(t);
}

static void a_queue_reserved_by_another_thread_is_not_waited_for(void)
{
    struct things t;
    pthread_barrier_t turn;
    pthread_t thread;
    void *kept = NULL;

    begin_things(&t);
    CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&turn, NULL, 2), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, keep_a_queue, &turn), 0);
    pthread_barrier_wait(&turn);
    in_child(do_it_all, &t);
    pthread_barrier_wait(&turn);
    CU_ASSERT_EQUAL(pthread_join(thread, &kept), 0);
    CU_ASSERT_PTR_NOT_NULL(kept);
    pthread_barrier_destroy(&turn);
    end_things(&t);
    wx_end();
}

static void a_child_does_not_inherit_the_locks_of_other_threads(void)
{
    pthread_t busy[2];
    struct things t;

    begin_things(&t);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&busy[i], NULL, keep_busy, NULL), 0);
    for (int i = 0; i < (ferry_test_is_slow() ? 10 : 300); i++) {
        in_child(use_the_host, &t);
        in_child(use_the_devices, &t);
        in_child(let_go, &t);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(busy[i], NULL);
    end_things(&t);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(settled_host_access_works_in_the_child),
    FERRY_TEST(device_calls_in_a_forked_child_report_the_fork),
    FERRY_TEST(everything_can_be_destroyed_in_the_child),
    FERRY_TEST(a_blob_on_the_host_can_be_read_in_the_child),
    FERRY_TEST(arithmetic_in_the_child_does_not_access_the_device),
    FERRY_TEST(the_child_does_not_inherit_permissions_to_evict),
    FERRY_TEST(a_queue_reserved_by_another_thread_is_not_waited_for),
};

static const ferry_test_case held_cases[] = {
    FERRY_TEST(work_of_another_thread_at_the_fork_does_not_affect_the_child),
};

static const ferry_test_case manual_cases[] = {
    FERRY_TEST(settled_host_access_works_in_the_child),
    FERRY_TEST(everything_can_be_destroyed_in_the_child),
    FERRY_TEST(a_child_does_not_wait_for_the_parents_work),
    FERRY_TEST(a_pending_copy_of_the_parent_does_not_affect_the_child),
};

static const ferry_test_case threads[] = {
    FERRY_TEST(a_child_does_not_inherit_the_locks_of_other_threads),
};

static const ferry_test_case shared_cases[] = {
    FERRY_TEST(shared_bytes_are_not_mapped_in_the_child),
    FERRY_TEST(everything_can_be_destroyed_in_the_child),
    FERRY_TEST(a_child_does_not_wait_for_the_parents_work),
    FERRY_TEST(a_queue_reserved_by_another_thread_is_not_waited_for),
};

int main(int argc, char **argv)
{
    static const char *const real[] = { "latency", "100", NULL };
    static const char *const manual[] = { "clock", "manual", NULL };
    static const char *const sync[] = { "clock", "sync", NULL };
    static const char *const shared[] = { "unified", "on", NULL };
    static const char *const unmapped[] = { "unified", "on", "map", "off", NULL };
    static const struct wx_world worlds[] = {
        { "real clock", real, cases, FERRY_TEST_COUNT(cases) },
        { "a device with held work", NULL, held_cases, FERRY_TEST_COUNT(held_cases) },
        { "manual clock", manual, manual_cases, FERRY_TEST_COUNT(manual_cases) },
        { "shared memory", shared, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "without maps", unmapped, shared_cases, FERRY_TEST_COUNT(shared_cases) },
        { "threads", sync, threads, FERRY_TEST_COUNT(threads) },
    };

    return wx_main(argc, argv, "fork", worlds, FERRY_TEST_COUNT(worlds));
}
