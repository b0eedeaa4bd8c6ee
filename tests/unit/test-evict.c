/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/*
 * Evictions concurrent with other threads: unrelated threads do not wait for them, and related ones
 * lose no contents.
 */

#define OLD 0x5a
#define NEW 0x77

/* ---- an eviction that takes long ------------------------------------------------------------- */

static void *evict_all(void *dev)
{
    FX_OK(ferry_device_set_budget(dev, 1));
    return NULL;
}

/* A thread that is writing back contents that only dev0 has: until dev0 is released. */
static pthread_t begin_eviction(void)
{
    uint64_t copies = wx_calls(0, SIM_CALL_MEMCPY);
    pthread_t thread;

    wx_hold(0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, evict_all, wx_dev(0)), 0);
    while (wx_calls(0, SIM_CALL_MEMCPY) == copies)
        usleep(1000);
    return thread;
}

static void end_eviction(pthread_t thread)
{
    wx_let_go(0);
    pthread_join(thread, NULL);
    FX_OK(ferry_device_set_budget(wx_dev(0), 0));
}

static ferry_memory *idle_at_host(void)
{
    ferry_memory *m = wx_memory_at_host(OLD);

    FX_OK(ferry_memory_allow_eviction(m));
    return m;
}

static ferry_memory *idle_at_device(void)
{
    ferry_memory *m = wx_memory_at(0, NEW);

    FX_OK(ferry_memory_allow_eviction(m));
    return m;
}

static void no_thread_waits_for_an_eviction_of_another_memory(void)
{
    ferry_memory *m, *promised, *gone, *read;
    ferry_ref ref = { NULL, 0 };
    pthread_t thread;

    wx_begin();
    m = idle_at_device();
    promised = wx_memory_at_host(OLD);
    gone = idle_at_host();
    read = idle_at_host();
    thread = begin_eviction();
    FX_OK(ferry_memory_allow_eviction(promised));
    FX_OK(ferry_memory_access(read, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    ferry_memory_release(gone);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0)); /* it continues */
    end_eviction(thread);
    CU_ASSERT_EQUAL(wx_valid(m), WX_HOST);
    CU_ASSERT(wx_host_reads(m, NEW));
    ferry_memory_release(m);
    ferry_memory_release(promised);
    ferry_memory_release(read);
    wx_end();
}

/* A thread trims the device while a block in its cache is still in use. */
static void no_thread_waits_for_a_trim(void)
{
    ferry_memory *m, *cached;
    pthread_t thread;

    wx_begin();
    m = wx_memory_at(0, NEW);
    cached = wx_memory(0);
    wx_hold(0);
    wx_write_on(wx_queue(0), cached, OLD);
    ferry_memory_release(cached);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, evict_all, wx_dev(0)), 0);
    usleep(100000); /* time to reach the wait */
    ferry_memory_release(m);
    CU_ASSERT(wx_pending(0) > 0); /* it continues */
    end_eviction(thread);
    wx_end();
}

static void *let_go_in_a_while(void *arg)
{
    usleep(50000);
    wx_let_go(0);
    return arg;
}

static void a_memory_ends_after_its_eviction(void)
{
    ferry_memory *m;
    pthread_t thread, other;

    wx_begin();
    m = idle_at_device();
    wx_mark();
    thread = begin_eviction();
    CU_ASSERT_EQUAL(wx_since(0).evictions, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, let_go_in_a_while, NULL), 0);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(wx_since(0).evictions, 1);
    pthread_join(other, NULL);
    end_eviction(thread);
    wx_end();
}

/* ---- many of them ---------------------------------------------------------------------------- */

#define THREADS  3
#define MEMORIES 4

struct worker {
    ferry_device *dev;
    unsigned seed;
    unsigned long rounds, wrong;
};

static atomic_bool stop;

static unsigned dice(struct worker *w, unsigned sides)
{
    w->seed = w->seed * 1103515245u + 12345u;
    return (w->seed >> 16) % sides;
}

static bool all(const unsigned char *p, unsigned char value)
{
    for (size_t i = 0; p && i < WX_BYTES; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

/*
 * Creates, writes or reads a memory, and then allows its eviction. Returns whether the contents
 * were right.
 */
static bool play(struct worker *w, ferry_memory **m, unsigned char *value)
{
    ferry_ref ref = { NULL, 0 };
    unsigned what = dice(w, 6);
    int err = 0;

    if (what == 0 || !*m) {
        ferry_memory_release(*m);
        *m = NULL;
        if (ferry_memory_create(w->dev, WX_BYTES, m))
            return false;
    }
    if (what <= 2) {
        *value = (unsigned char)dice(w, 256);
        ref = ferry_memory_overwrite_device_data(*m);
        err = ref.handle
                  ? ferry_math_fill(ferry_device_queue(w->dev), FERRY_U8, WX_BYTES, *value, ref)
                  : FERRY_ENOMEM;
        if (!ref.handle) /* if the device has no memory, the host writes */
            memset(ferry_memory_overwrite_host_data(*m), *value, WX_BYTES);
        err = 0;
    } else if (what == 3) {
        err = ferry_memory_access(*m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref);
        return err == FERRY_EBUSY || (!err && all(ref.handle, *value));
    } else if (what == 4) {
        return all(ferry_memory_host_data(*m), *value);
    }
    return !err && !ferry_memory_allow_eviction(*m);
}

static void *work(void *arg)
{
    ferry_memory *m[MEMORIES] = { NULL };
    unsigned char value[MEMORIES] = { 0 };
    struct worker *w = arg;

    for (; !atomic_load(&stop); w->rounds++) {
        unsigned i = dice(w, MEMORIES);

        if (!play(w, &m[i], &value[i]))
            w->wrong++;
    }
    for (unsigned i = 0; i < MEMORIES; i++)
        ferry_memory_release(m[i]);
    return NULL;
}

/* Changes the budget repeatedly. */
static void *squeeze(void *arg)
{
    struct worker *w = arg;

    for (; !atomic_load(&stop); w->rounds++) {
        FX_OK(ferry_device_set_budget(w->dev, w->rounds % 2 ? 2 * WX_BYTES : 1));
        FX_OK(ferry_device_set_budget(w->dev, 0));
    }
    return NULL;
}

static ferry_device *device_at(unsigned i)
{
    ferry_device *dev = NULL;
    char name[] = "sim:0";

    name[4] = (char)('0' + i);
    FX_OK_FATAL(ferry_runtime_get_device(wx_runtime(), name, &dev));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_device_queue(dev));
    return dev;
}

static void concurrent_evictions_lose_no_contents(void)
{
    struct worker worker[2 * THREADS];
    pthread_t thread[2 * THREADS];

    wx_begin();
    atomic_store(&stop, false);
    for (unsigned i = 0; i < 2 * THREADS; i++) {
        worker[i] = (struct worker){ device_at(i % THREADS), i + 1, 0, 0 };
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&thread[i], NULL, i < THREADS ? work : squeeze, &worker[i]), 0);
    }
    usleep(ferry_test_is_slow() ? 3000000 : 1000000);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2 * THREADS; i++) {
        pthread_join(thread[i], NULL);
        CU_ASSERT(worker[i].rounds > 0);
        CU_ASSERT_EQUAL(worker[i].wrong, 0);
    }
    wx_end();
}

/* ---- arithmetic that finds no memory --------------------------------------------------------- */

#define COUNT (WX_BYTES / 4)

static ferry_blob *ones_at_device(void)
{
    const int64_t shape[] = { COUNT };
    ferry_blob *b = NULL;

    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, shape, 1, &b));
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, COUNT, 1, ferry_blob_overwrite_device_data(b)));
    FX_OK(ferry_math_fill(wx_queue(0), FERRY_F32, COUNT, 1, ferry_blob_overwrite_device_diff(b)));
    return b;
}

/* Each call is one entry of the plugin; its result is checked. */
static int axpy_once(ferry_blob *b)
{
    return ferry_math_axpy(wx_queue(0), FERRY_F32, COUNT, -1,
                           ferry_ref_const(ferry_blob_mutable_device_diff(b)),
                           ferry_blob_mutable_device_data(b));
}

static int scal_once(ferry_blob *b)
{
    return ferry_math_scal(wx_queue(0), FERRY_F32, COUNT, 0, ferry_blob_mutable_device_data(b));
}

static int gemm_once(ferry_blob *b)
{
    ferry_cref x = ferry_ref_const(ferry_blob_mutable_device_diff(b));

    return ferry_math_gemm(wx_queue(0), FERRY_F32, FERRY_NO_TRANS, FERRY_NO_TRANS, 32, 32, 32, 0, x,
                           32, x, 32, 0, ferry_blob_overwrite_device_data(b), 32);
}

static int gemv_once(ferry_blob *b)
{
    ferry_cref x = ferry_ref_const(ferry_blob_mutable_device_diff(b));

    return ferry_math_gemv(wx_queue(0), FERRY_F32, FERRY_NO_TRANS, 32, 32, 0, x, 32, x, 1, 0,
                           ferry_blob_overwrite_device_data(b), 1);
}

static int sum_once(ferry_blob *b)
{
    double sum = 0;
    int err = ferry_math_dot(wx_queue(0), FERRY_F32, COUNT, ferry_blob_device_data(b),
                             ferry_blob_device_diff(b), &sum);

    CU_ASSERT_EQUAL(sum, err ? 0 : COUNT);
    return err ? err
               : ferry_math_scal(wx_queue(0), FERRY_F32, COUNT, 0,
                                 ferry_blob_mutable_device_data(b));
}

static int blob_asum(ferry_blob *b)
{
    double sum = 0;
    int err = ferry_blob_asum_data(b, &sum);

    CU_ASSERT_EQUAL(sum, err ? 0 : COUNT);
    return err ? err : ferry_blob_scale_data(b, 0);
}

static int blob_scale(ferry_blob *b)
{
    return ferry_blob_scale_data(b, 0);
}

static int (*const once[])(ferry_blob *) = {
    axpy_once, scal_once, gemm_once, gemv_once, sum_once, ferry_blob_update, blob_scale, blob_asum,
};

/* The device has no memory for the first arithmetic of its kind. Checks the result. */
static void without_memory(int (*compute)(ferry_blob *))
{
    ferry_memory *idle;
    ferry_blob *b;

    wx_begin();
    b = ones_at_device();
    idle = idle_at_device();
    FX_OK(ferry_queue_synchronize(wx_queue(0)));
    wx_mark();
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_ENOMEM);
    FX_OK(compute(b));
    CU_ASSERT_EQUAL(wx_since(0).evictions, 1);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[0], 0);
    CU_ASSERT(wx_host_reads(idle, NEW));
    ferry_memory_release(idle);
    ferry_blob_destroy(b);
    wx_end();
}

static void arithmetic_without_memory_evicts_and_is_retried(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(once); i++) {
        unsigned failures = CU_get_number_of_failures();

        without_memory(once[i]);
        if (CU_get_number_of_failures() != failures)
            printf("     in case %zu\n", i);
    }
}

/* While the program reserves the queue no memory may be accessed: only cached blocks are freed. */
static void a_section_without_memory_frees_cached_blocks_and_is_retried(void)
{
    ferry_event *e = NULL;
    ferry_memory *idle;
    ferry_blob *b;
    ferry_ref data;

    wx_begin();
    b = ones_at_device();
    idle = idle_at_device();
    data = ferry_blob_mutable_device_data(b);
    wx_mark();
    FX_OK(ferry_queue_begin(wx_queue(0)));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_ENOMEM);
    FX_OK(ferry_math_scal(wx_queue(0), FERRY_F32, COUNT, 0, data));
    FX_OK(ferry_queue_end(wx_queue(0), &e));
    ferry_event_destroy(e);
    CU_ASSERT_EQUAL(wx_since(0).evictions, 0);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[0], 0);
    ferry_memory_release(idle);
    ferry_blob_destroy(b);
    wx_end();
}

/* A failure that occurs later, after a retry, still belongs to the blob. */
static void a_retried_operation_may_fail_asynchronously(void)
{
    ferry_blob *b;

    wx_begin();
    b = ones_at_device();
    FX_OK(ferry_queue_synchronize(wx_queue(0)));
    wx_fail_next(0, SIM_CALL_OP, 1, FERRY_ENOMEM);
    wx_fail_later(0, SIM_CALL_OP, 2, FERRY_EDEVICE);
    FX_OK(ferry_blob_update(b));
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(b));
    ferry_blob_destroy(b);
    wx_end();
}

/*
 * On a CUDA device a queue's first arithmetic creates a handle of cuBLAS, with memory of its own.
 */
static void a_cublas_handle_without_memory_evicts_and_is_retried(void)
{
    without_memory(ferry_blob_update);
}

static const ferry_test_case held_cases[] = {
    FERRY_TEST(no_thread_waits_for_an_eviction_of_another_memory),
    FERRY_TEST(a_memory_ends_after_its_eviction),
    FERRY_TEST(no_thread_waits_for_a_trim),
};

static const ferry_test_case many_cases[] = {
    FERRY_TEST(concurrent_evictions_lose_no_contents),
};

static const ferry_test_case short_cases[] = {
    FERRY_TEST(arithmetic_without_memory_evicts_and_is_retried),
    FERRY_TEST(a_section_without_memory_frees_cached_blocks_and_is_retried),
};

static const ferry_test_case sim_cases[] = {
    FERRY_TEST(arithmetic_without_memory_evicts_and_is_retried),
    FERRY_TEST(a_section_without_memory_frees_cached_blocks_and_is_retried),
    FERRY_TEST(a_retried_operation_may_fail_asynchronously),
};

static const ferry_test_case cuda_cases[] = {
    FERRY_TEST(a_cublas_handle_without_memory_evicts_and_is_retried),
};

int main(int argc, char **argv)
{
    static const char *const sync[] = { "clock", "sync", NULL };
    static const char *const cuda[] = { "plugin", "cuda", NULL };
    static const char *const three[] = { "devices", "3", NULL };
    static const char *const shared[] = { "devices", "3", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "devices that stand still", NULL, held_cases, FERRY_TEST_COUNT(held_cases) },
        { "short of memory", NULL, sim_cases, FERRY_TEST_COUNT(sim_cases) },
        { "short of memory, at once", sync, short_cases, FERRY_TEST_COUNT(short_cases) },
        { "short of memory, doubles", cuda, cuda_cases, FERRY_TEST_COUNT(cuda_cases) },
        { "three devices", three, many_cases, FERRY_TEST_COUNT(many_cases) },
        { "three that share", shared, many_cases, FERRY_TEST_COUNT(many_cases) },
    };

    return wx_main(argc, argv, "evict", worlds, FERRY_TEST_COUNT(worlds));
}
