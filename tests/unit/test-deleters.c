/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <pthread.h>
#include <setjmp.h>

/* Deleters of adopted memory that do not return: by longjmp, and by ending their thread. */

/* A runtime of one plugin with two devices. */
static ferry_runtime *open_alpha(void)
{
    const char *folder = fakes_folder();

    fakes_put(folder, "alpha", NULL);
    return fakes_open(folder, "alpha", NULL);
}

static jmp_buf away;

static void leave(void *arg)
{
    ++*(int *)arg;
    longjmp(away, 1);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

/* Two adopted copies and one reference: releasing it runs both deleters, or tries to. */
static ferry_memory *adopted_twice(ferry_device *dev, ferry_device *other, int *first, int *second)
{
    static _Alignas(64) char bytes[2][64];
    ferry_memory *m = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &m), 0);
    CU_ASSERT_EQUAL(ferry_memory_adopt(m, dev, (ferry_ref){ bytes[0], 0 }, 64, 0, leave, first), 0);
    CU_ASSERT_EQUAL(
        ferry_memory_adopt(m, other, (ferry_ref){ bytes[1], 0 }, 64, 0, count_call, second), 0);
    return m;
}

static void ferry_stays_consistent_if_a_deleter_calls_longjmp(void)
{
    static int left, called; /* of the function that is left by longjmp */
    static ferry_runtime *rt;
    ferry_device *dev = NULL, *other = NULL;
    ferry_memory *m;

    rt = open_alpha();
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:0", &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:1", &other), 0);
    m = adopted_twice(dev, other, &left, &called);
    if (!setjmp(away))
        ferry_memory_release(m);
    CU_ASSERT_EQUAL(left, 1);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(other, 64, &m), 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m)); /* no lock is held; the other deleter has
                                                        * run */
    CU_ASSERT_EQUAL(called, 1);
    ferry_memory_release(m);
    ferry_runtime_close(rt);
}

/* ---- a thread that is cancelled ------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
void __asan_handle_no_return(void);
#else
#define __asan_handle_no_return() ((void)0)
#endif

/* AddressSanitizer marks the frames of functions that return, and must be informed of others. */
static void be_cancelled(void *arg)
{
    ++*(int *)arg;
    pthread_cancel(pthread_self());
    __asan_handle_no_return();
    pthread_testcancel();
}

static void *release(void *memory)
{
    ferry_memory_release(memory);
    return NULL;
}

static void ferry_stays_consistent_if_a_thread_is_cancelled_in_a_deleter(void)
{
    static _Alignas(64) char bytes[64];
    ferry_runtime *rt = open_alpha();
    ferry_device *dev = NULL;
    ferry_memory *m = NULL;
    pthread_t thread;
    void *end = NULL;
    int calls = 0;

    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:0", &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &m), 0);
    CU_ASSERT_EQUAL(
        ferry_memory_adopt(m, NULL, (ferry_ref){ bytes, 0 }, 64, 0, be_cancelled, &calls), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, release, m), 0);
    CU_ASSERT_EQUAL(pthread_join(thread, &end), 0);
    CU_ASSERT_PTR_EQUAL(end, PTHREAD_CANCELED);
    CU_ASSERT_EQUAL(calls, 1);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &m), 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m)); /* no lock was left held */
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    CU_ASSERT_EQUAL(ferry_device_trim(dev), 0);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 1);
    ferry_runtime_close(rt);
}

/* ---- deleters that release memory ----------------------------------------------------------- */

enum { CHAIN = 100000 };

static ferry_memory *chain[CHAIN + 1]; /* the last is NULL */
static int released;

static void release_next(void *arg)
{
    ferry_memory **next = arg;

    released++;
    ferry_memory_release(*next);
}

static void deleters_that_release_the_next_memory_need_a_bounded_stack(void)
{
    static _Alignas(64) char bytes[64];
    ferry_runtime *rt = open_alpha();
    ferry_device *dev = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:0", &dev), 0);
    for (int i = 0; i < CHAIN; i++) {
        CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &chain[i]), 0);
        CU_ASSERT_EQUAL(ferry_memory_adopt(chain[i], NULL, (ferry_ref){ bytes, 0 }, 64, 0,
                                           release_next, &chain[i + 1]),
                        0);
    }
    ferry_memory_release(chain[0]);
    CU_ASSERT_EQUAL(released, CHAIN);
    ferry_runtime_close(rt);
}

static int at_once; /* whether the memory's deleter has run when its release returns */

static void release_within(void *arg)
{
    int calls = released;

    ferry_memory_release(arg);
    at_once = released == calls + 1;
}

static void count_release(void *arg)
{
    (void)arg;
    released++;
}

static jmp_buf many;

static void leave_again(void *arg)
{
    ferry_memory_release(arg);
    longjmp(many, 1);
}

/* Releases a memory whose deleter releases another. */
static void release_nested(ferry_device *dev, ferry_memory_deleter deleter)
{
    static _Alignas(64) char bytes[64];
    ferry_memory *outer = NULL, *inner = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &inner), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &outer), 0);
    CU_ASSERT_EQUAL(
        ferry_memory_adopt(inner, NULL, (ferry_ref){ bytes, 0 }, 64, 0, count_release, NULL), 0);
    CU_ASSERT_EQUAL(
        ferry_memory_adopt(outer, NULL, (ferry_ref){ bytes, 0 }, 64, 0, deleter, inner), 0);
    ferry_memory_release(outer);
}

static void many_deleters_that_call_longjmp_defer_no_later_ones(void)
{
    ferry_runtime *rt = open_alpha();
    ferry_device *dev = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:0", &dev), 0);
    released = 0;
    for (volatile int i = 0; i < 100; i++)
        if (!setjmp(many))
            release_nested(dev, leave_again);
    CU_ASSERT_EQUAL(released, 100);
    release_nested(dev, release_within);
    CU_ASSERT(at_once);
    CU_ASSERT_EQUAL(released, 101);
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(ferry_stays_consistent_if_a_deleter_calls_longjmp),
    FERRY_TEST(ferry_stays_consistent_if_a_thread_is_cancelled_in_a_deleter),
    FERRY_TEST(deleters_that_release_the_next_memory_need_a_bounded_stack),
    FERRY_TEST(many_deleters_that_call_longjmp_defer_no_later_ones),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "deleters", cases, FERRY_TEST_COUNT(cases));
}
