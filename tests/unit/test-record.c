/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/*
 * One event for work on many memories, a queue that belongs to one thread for a while, and the
 * write count of a memory.
 */

#define OLD 0x5a
#define NEW 0x77

/*
 * The work of a submission: `out` gets the value of `in`, unless the requested failure is one of
 * these.
 */
static void copy_on(ferry_queue *q, ferry_ref in, ferry_ref out)
{
    FX_OK(ferry_math_copy(q, FERRY_U8, WX_BYTES, ferry_ref_const(in), out));
}

static int read_host(ferry_memory *m)
{
    ferry_ref ref;

    return ferry_memory_access(m, NULL, FERRY_READ, NULL, &ref);
}

/* in → mid → out, as one submission on that queue. */
static int run_submission(ferry_queue *q, ferry_memory *in, ferry_memory *mid, ferry_memory *out)
{
    const ferry_memory_use uses[] = {
        { out, FERRY_WRITE },
        { in, FERRY_READ },
        { mid, FERRY_READ | FERRY_WRITE },
    };
    ferry_ref a = wx_access(in, q, FERRY_READ), b = wx_access(mid, q, FERRY_WRITE);
    ferry_ref c = wx_access(out, q, FERRY_WRITE);
    ferry_event *e = NULL;
    int err;

    FX_OK_FATAL(ferry_queue_begin(q));
    copy_on(q, a, b);
    copy_on(q, b, c);
    FX_OK_FATAL(ferry_queue_end(q, &e));
    err = ferry_memory_record_all(uses, 3, q, e);
    ferry_event_destroy(e);
    return err;
}

struct submission {
    ferry_memory *in, *mid, *out, *bystander;
};

static void make_submission(struct submission *s)
{
    s->in = wx_memory_at(0, OLD);
    s->mid = wx_memory(0);
    s->out = wx_memory(0);
    s->bystander = wx_memory_at(0, NEW);
}

static void release_submission(struct submission *s)
{
    ferry_memory_release(s->in);
    ferry_memory_release(s->mid);
    ferry_memory_release(s->out);
    ferry_memory_release(s->bystander);
}

static void a_failed_submission_invalidates_exactly_its_outputs(void)
{
    struct submission s;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    for (int foreign = 0; foreign < 2; foreign++)
        for (uint64_t nth = 1; nth <= 2; nth++) {
            ferry_queue *on = foreign ? q : wx_queue(0);

            make_submission(&s);
            wx_fail_later(0, SIM_CALL_OP, nth, FERRY_EDEVICE);
            FX_OK(run_submission(on, s.in, s.mid, s.out));
            wx_write_on(wx_queue(0), s.bystander, OLD);
            FX_FAILS(FERRY_ELOST, read_host(s.out));
            FX_FAILS(FERRY_ELOST, read_host(s.mid));
            CU_ASSERT(wx_host_reads(s.in, OLD));
            CU_ASSERT(wx_host_reads(s.bystander, OLD));
            release_submission(&s);
        }
    ferry_queue_destroy(q);
    wx_end();
}

static void a_successful_submission_is_waited_for_and_its_results_read(void)
{
    struct submission s;
    ferry_queue *q;

    wx_begin();
    q = wx_queue_create(0);
    make_submission(&s);
    FX_OK(run_submission(q, s.in, s.mid, s.out));
    CU_ASSERT_EQUAL(wx_valid(s.out), WX_DEV(0));
    CU_ASSERT(wx_reads_on(wx_queue(1), s.out, OLD));
    wx_write_host(s.in, NEW); /* waits until the submission has read it */
    CU_ASSERT(wx_host_reads(s.mid, OLD));
    CU_ASSERT(wx_host_reads(s.out, OLD));
    release_submission(&s);
    ferry_queue_destroy(q);
    wx_end();
}

/* The input is the target of a pending copy, or the output of a pending submission. */
static void a_submission_that_reads_failed_contents_fails(void)
{
    struct submission s;
    ferry_memory *next;

    wx_begin();
    make_submission(&s);
    next = wx_memory(0);
    wx_write_host(s.in, OLD);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(run_submission(wx_queue(0), s.in, s.mid, s.out));
    FX_OK(run_submission(wx_queue(0), s.out, s.bystander, next));
    wx_run_all();
    FX_FAILS(FERRY_ELOST, read_host(next));
    FX_FAILS(FERRY_ELOST, read_host(s.bystander));
    FX_FAILS(FERRY_ELOST, read_host(s.out));
    CU_ASSERT(wx_host_reads(s.in, OLD));
    ferry_memory_release(next);
    release_submission(&s);
    wx_end();
}

/* The failure is known before the work is recorded; the work itself succeeds. */
static void work_on_failed_contents_fails(void)
{
    ferry_memory *in, *out;
    ferry_event *e = NULL;
    ferry_ref a, b;

    wx_begin();
    in = wx_memory_at_host(OLD);
    out = wx_memory_at_host(NEW);
    wx_fail_later(0, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    a = wx_access(in, wx_queue(0), FERRY_READ);
    b = wx_access(out, wx_queue(0), FERRY_WRITE);
    FX_OK_FATAL(ferry_queue_begin(wx_queue(0)));
    copy_on(wx_queue(0), a, b);
    FX_OK_FATAL(ferry_queue_end(wx_queue(0), &e));
    wx_run_all();
    FX_OK(ferry_event_synchronize(e));
    FX_FAILS(FERRY_EDEVICE,
             ferry_memory_record_all(
                 (const ferry_memory_use[]){ { in, FERRY_READ }, { out, FERRY_WRITE } }, 2,
                 wx_queue(0), e));
    FX_FAILS(FERRY_ELOST, read_host(out));
    CU_ASSERT(wx_host_reads(in, OLD));
    ferry_event_destroy(e);
    ferry_memory_release(in);
    ferry_memory_release(out);
    wx_end();
}

static void failures_of_consecutive_submissions_are_distinguished(void)
{
    ferry_memory *m[40];

    wx_begin();
    for (int i = 0; i < 40; i++)
        m[i] = i % 2 ? wx_memory(0) : wx_memory_at(0, (unsigned char)i);
    wx_fail_later(0, SIM_CALL_OP, 7, FERRY_EDEVICE);
    for (int i = 0; i < 40; i += 2) {
        const ferry_memory_use uses[] = { { m[i], FERRY_READ }, { m[i + 1], FERRY_WRITE } };
        ferry_ref in = wx_access(m[i], wx_queue(0), FERRY_READ);
        ferry_ref out = wx_access(m[i + 1], wx_queue(0), FERRY_WRITE);
        ferry_event *e = NULL;

        FX_OK_FATAL(ferry_queue_begin(wx_queue(0)));
        copy_on(wx_queue(0), in, out);
        FX_OK_FATAL(ferry_queue_end(wx_queue(0), &e));
        FX_OK(ferry_memory_record_all(uses, 2, wx_queue(0), e));
        ferry_event_destroy(e);
    }
    for (int i = 39; i > 0; i -= 2)
        if (i != 13)
            CU_ASSERT(wx_host_reads(m[i], (unsigned char)(i - 1)));
    FX_FAILS(FERRY_ELOST, read_host(m[13]));
    for (int i = 0; i < 40; i++)
        ferry_memory_release(m[i]);
    wx_end();
}

static void calls_that_a_reserved_queue_forbids_are_refused(void)
{
    ferry_event *e = NULL;
    ferry_memory *m;
    ferry_queue *q;
    ferry_ref at, ref = { &ref, 0 };
    double sum;

    wx_begin();
    q = wx_queue(0);
    m = wx_memory_at(0, OLD);
    at = wx_access(m, q, FERRY_READ);
    FX_FAILS(FERRY_EINVAL, ferry_queue_begin(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_queue_end(q, &e));
    FX_OK_FATAL(ferry_queue_begin(q));
    FX_FAILS(FERRY_EINVAL, ferry_queue_begin(q));
    FX_FAILS(FERRY_EINVAL, ferry_queue_begin(wx_queue(1)));
    FX_FAILS(FERRY_EINVAL, ferry_queue_end(wx_queue(1), &e));
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, wx_dev(1), FERRY_READ, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_memory_allow_eviction(m));
    FX_FAILS(FERRY_EINVAL, ferry_math_asum(q, FERRY_F32, 4, ferry_ref_const(at), &sum));
    CU_ASSERT(!e && ref.handle == &ref);
    FX_OK(ferry_queue_end(q, &e));
    FX_OK(ferry_event_synchronize(e));
    FX_FAILS(FERRY_EINVAL, ferry_queue_end(q, &e));
    ferry_event_destroy(e);
    CU_ASSERT(wx_host_reads(m, OLD));
    ferry_memory_release(m);
    wx_end();
}

static void an_invalid_record_changes_nothing(void)
{
    ferry_memory *m, *none;
    ferry_event *e = NULL;

    wx_begin();
    m = wx_memory_at(0, OLD);
    none = wx_memory(0);
    FX_OK_FATAL(ferry_event_record(wx_queue(1), &e));
    const ferry_memory_use good = { m, FERRY_READ }, empty = { none, FERRY_WRITE };
    const ferry_memory_use bad[] = { { m, FERRY_WRITE }, { m, 0 }, { NULL, FERRY_READ } };

    FX_FAILS(FERRY_EINVAL, ferry_memory_record_all(&good, 1, NULL, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_memory_record_all(NULL, 1, wx_queue(0), NULL));
    FX_FAILS(FERRY_EINVAL, ferry_memory_record_all(&good, 1, wx_queue(0), e));
    FX_FAILS(FERRY_EINVAL, ferry_memory_record_all(bad, 3, wx_queue(0), NULL));
    FX_FAILS(FERRY_EUNINIT, ferry_memory_record_all(&empty, 1, wx_queue(0), NULL));
    FX_OK(ferry_memory_record_all(NULL, 0, wx_queue(0), NULL));
    FX_OK(ferry_memory_record_all(&good, 1, wx_queue(0), NULL));
    CU_ASSERT_EQUAL(wx_valid(m), WX_DEV(0));
    ferry_event_destroy(e);
    ferry_memory_release(m);
    ferry_memory_release(none);
    wx_end();
}

/* ---- versions -------------------------------------------------------------------------------- */

static unsigned char own[WX_BYTES];

static void write_host(ferry_memory *m)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_host_data(m));
}

static void overwrite_host(ferry_memory *m)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_host_data(m));
}

static void write_device(ferry_memory *m)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
}

static void write_elsewhere(ferry_memory *m)
{
    wx_access(m, wx_queue(1), FERRY_WRITE);
}

static void adopt(ferry_memory *m)
{
    FX_OK(ferry_memory_adopt(m, NULL, (ferry_ref){ own, 0 }, WX_BYTES, 0, NULL, NULL));
}

static void invalidate(ferry_memory *m)
{
    FX_OK(ferry_memory_discard(m));
}

static void record_write(ferry_memory *m)
{
    FX_OK(ferry_memory_record(m, wx_queue(0), FERRY_WRITE));
}

static void record_all_write(ferry_memory *m)
{
    const ferry_memory_use use = { m, FERRY_WRITE };

    FX_OK(ferry_memory_record_all(&use, 1, wx_queue(0), NULL));
}

static void read_host_data(ferry_memory *m)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
}

static void read_device(ferry_memory *m)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
}

static void prefetch(ferry_memory *m)
{
    FX_OK(ferry_memory_prefetch(m, wx_dev(1), NULL));
}

static void promise(ferry_memory *m)
{
    FX_OK(ferry_memory_allow_eviction(m));
}

static void record_read(ferry_memory *m)
{
    FX_OK(ferry_memory_record(m, wx_queue(0), FERRY_READ));
}

static void only_writes_increase_the_version(void)
{
    static void (*const writes[])(
        ferry_memory *) = { write_host, overwrite_host, write_device, write_elsewhere,
                            adopt,      invalidate,     record_write, record_all_write };
    static void (*const reads[])(ferry_memory *) = { read_host_data, read_device, prefetch, promise,
                                                     record_read };

    wx_begin();
    for (size_t i = 0; i < FERRY_TEST_COUNT(writes); i++) {
        ferry_memory *m = wx_memory_at(0, OLD);

        for (int again = 0; again < 2; again++) { /* with pending work, and without */
            uint64_t before = ferry_memory_version(m);

            if (writes[i] == record_write || writes[i] == record_all_write)
                FX_OK(ferry_device_synchronize(wx_dev(0)));
            writes[i](m);
            CU_ASSERT(ferry_memory_version(m) > before);
        }
        ferry_memory_release(m);
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(reads); i++) {
        ferry_memory *m = wx_memory_at(0, OLD);
        uint64_t before = ferry_memory_version(m);

        for (int again = 0; again < 2; again++)
            reads[i](m);
        CU_ASSERT_EQUAL(ferry_memory_version(m), before);
        ferry_memory_release(m);
    }
    CU_ASSERT_EQUAL(ferry_memory_version(NULL), 0);
    wx_end();
}

static void arithmetic_increases_the_version(void)
{
    ferry_blob *b = NULL;
    ferry_memory *m;
    uint64_t before;
    double sum;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 8 }, 1, &b));
    m = ferry_blob_data_memory(b);
    FX_OK(ferry_blob_fill_diff(b, 1));
    before = ferry_memory_version(m);
    FX_OK(ferry_blob_fill_data(b, 1));
    CU_ASSERT(ferry_memory_version(m) > before);
    before = ferry_memory_version(m);
    FX_OK(ferry_blob_scale_data(b, 2));
    CU_ASSERT(ferry_memory_version(m) > before);
    before = ferry_memory_version(m);
    FX_OK(ferry_blob_update(b));
    CU_ASSERT(ferry_memory_version(m) > before);
    before = ferry_memory_version(m);
    FX_OK(ferry_blob_asum_data(b, &sum));
    CU_ASSERT_EQUAL(ferry_memory_version(m), before);
    ferry_blob_destroy(b);
    wx_end();
}

/* As above, for a blob's accessors: with pending work, without, and alternating. */
static void accessors_of_a_blob_increase_the_version(void)
{
    ferry_blob *b = NULL;
    ferry_memory *m;

    wx_begin();
    FX_OK_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, (int64_t[]){ 8 }, 1, &b));
    m = ferry_blob_data_memory(b);
    for (int i = 0; i < 12; i++) {
        uint64_t before = ferry_memory_version(m);
        ferry_ref ref;

        if (i < 3)
            ferry_blob_mutable_host_data(b);
        else if (i < 6)
            ferry_blob_mutable_device_data(b);
        else
            FX_OK(ferry_blob_access(b, FERRY_DATA, i < 9 ? NULL : wx_dev(0), FERRY_WRITE, NULL,
                                    &ref));
        CU_ASSERT_EQUAL(ferry_memory_version(m), before + 1);
        if (i % 3 != 2)
            continue;
        before = ferry_memory_version(m);
        ferry_blob_host_data(b);
        ferry_blob_device_data(b);
        CU_ASSERT_EQUAL(ferry_memory_version(m), before);
    }
    ferry_blob_destroy(b);
    wx_end();
}

/* ---- threads on one queue -------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  200

static atomic_int wrong, told;

static bool all_are(const unsigned char *p, unsigned char value)
{
    for (int i = 0; p && i < WX_BYTES; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

/*
 * One operation of a submission belongs to another thread; each read must give the values of that
 * thread, or an error.
 */
static void *submissions(void *arg)
{
    ferry_queue *q = wx_queue(0);
    ferry_memory *m = NULL;

    for (int i = 0; i < ROUNDS; i++) {
        unsigned char value = (unsigned char)((size_t)arg * 50 + (size_t)i % 50);
        ferry_memory_use use = { NULL, FERRY_WRITE };
        ferry_event *e = NULL;
        ferry_ref ref;
        bool ok = !ferry_memory_create(wx_dev(0), WX_BYTES, &m);

        use.memory = m;
        ok =
            ok && !ferry_memory_access(m, wx_dev(0), FERRY_WRITE, q, &ref) && !ferry_queue_begin(q);
        if (!ok) {
            atomic_fetch_add(&wrong, 1);
            break;
        }
        ferry_math_fill(q, FERRY_U8, WX_BYTES, value, ref);
        ferry_queue_end(q, &e);
        ok = !ferry_memory_record_all(&use, 1, q, e);
        ferry_event_destroy(e);
        if (!ok || !ferry_memory_host_data(m))
            atomic_fetch_add(&told, 1);
        else if (!all_are(ferry_memory_host_data(m), value))
            atomic_fetch_add(&wrong, 1);
        ferry_memory_release(m);
    }
    return NULL;
}

static void submissions_of_threads_stay_separate(void)
{
    int rounds = ferry_test_is_shortest() ? 6 : 20;
    pthread_t threads[THREADS];

    wx_begin();
    for (int round = 0; round < rounds; round++) {
        atomic_store(&told, 0);
        wx_fail_later(0, SIM_CALL_OP, 1 + (uint64_t)round * 7, FERRY_EDEVICE);
        for (size_t i = 0; i < THREADS; i++)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, submissions, (void *)i), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(atomic_load(&told), 1);
    }
    CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_failed_submission_invalidates_exactly_its_outputs),
    FERRY_TEST(a_successful_submission_is_waited_for_and_its_results_read),
    FERRY_TEST(a_submission_that_reads_failed_contents_fails),
    FERRY_TEST(work_on_failed_contents_fails),
    FERRY_TEST(failures_of_consecutive_submissions_are_distinguished),
    FERRY_TEST(calls_that_a_reserved_queue_forbids_are_refused),
    FERRY_TEST(an_invalid_record_changes_nothing),
    FERRY_TEST(only_writes_increase_the_version),
    FERRY_TEST(arithmetic_increases_the_version),
    FERRY_TEST(accessors_of_a_blob_increase_the_version),
};

static const ferry_test_case thread_cases[] = {
    FERRY_TEST(submissions_of_threads_stay_separate),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static const char *const real[] = { "clock", "real", NULL };
    static const struct wx_world worlds[] = {
        { "manual clock", manual, cases, FERRY_TEST_COUNT(cases) },
        { "threads", real, thread_cases, FERRY_TEST_COUNT(thread_cases) },
    };

    return wx_main(argc, argv, "record", worlds, FERRY_TEST_COUNT(worlds));
}
