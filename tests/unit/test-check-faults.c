/* SPDX-License-Identifier: BSD-2-Clause */
#include "check-run.h"

/* `ferry check`: faults that only a particular queue, size or number of calls reveals. */

static void a_default_queue_that_blocks_the_caller_is_caught(void)
{
    caught("bad_wait_default", "events", "queue_wait of the default queue after ");
}

static void a_default_queue_that_waits_for_nothing_is_caught(void)
{
    caught("bad_wait_none", "queues", "it did not wait for the event");
}

static void a_query_that_sometimes_waits_is_caught(void)
{
    caught("bad_query_third", "events", "event_query after ");
}

static void an_unknown_dtype_in_supports_convert_is_caught(void)
{
    caught("bad_convert", "descriptor", "supports_convert: F32 to dtype 41: 1; ");
}

static void a_memset_of_24_bits_is_caught(void)
{
    caught("bad_memset24", "memset", "of 2^24 + 1027 bytes: byte 1027 is ");
}

static void a_few_bytes_leaked_by_device_close_are_caught(void)
{
    caught("bad_drop_open", "leaks", "device_close: the process grew by ");
}

static void pages_leaked_by_device_close_are_caught(void)
{
    if (ferry_test_is_slow())
        ferry_test_skip("a sanitizer maps memory of its own");
    else
        caught("bad_drop_map", "leaks", "device_close: the process grew by 0 bytes of the ");
}

static void eight_bytes_leaked_by_queue_destroy_are_caught(void)
{
    caught("bad_drop_queue", "leaks", "queue_destroy: the process grew by ");
}

static void a_leak_of_a_refused_device_open_is_caught(void)
{
    caught("bad_drop_refused", "leaks", "a device that does not exist: the process grew by ");
}

static void a_leak_of_every_fourth_axpy_is_caught(void)
{
    caught("bad_drop_axpy", "leaks", "times axpy: the process grew by ");
}

static void a_context_for_each_count_is_caught(void)
{
    caught("bad_drop_count", "descriptor", "device_count and properties: the process grew");
}

static void a_leak_of_every_second_gemm_is_caught(void)
{
    caught("bad_drop_gemm", "leaks", "times gemm: the process grew by ");
}

static void a_leak_of_a_destroyed_operation_is_caught(void)
{
    caught("bad_drop_op", "leaks", "an operation: create, run, destroy: the process grew by ");
}

static void a_leak_of_map_and_unmap_is_caught(void)
{
    caught("bad_drop_unmap", "leaks", "map and unmap: the process grew by ");
}

static void a_thread_started_before_a_device_is_opened_is_caught(void)
{
    caught("bad_early_threads", "descriptor", "1 runs the plugin's own code");
}

static void a_context_created_before_a_device_is_opened_is_caught(void)
{
    caught("bad_early_memory", "descriptor", "the context is created before a device is opened");
}

static void a_library_s_pages_do_not_count_as_a_context(void)
{
    CU_ASSERT_EQUAL(check_bad("good_library", "--only descriptor"), 0);
}

/* State of the program that a plugin may change. */
static void changes_of_process_state_are_caught(void)
{
    caught("bad_process", "scal", "environment: it has got \"BAD_PROCESS=1\"");
    caught("bad_process", "fill", "the program's limit RLIMIT_NOFILE: it became 200");
    caught("bad_process", "copy-op", "standard input, which belongs to the program: it was closed");
    caught("bad_process", "axpy", "the program's children: there is one now");
    if (ferry_test_processors() > 1)
        caught("bad_process", "copy", "the processors that the calling thread may run on: 1 now");
    caught("bad_process", "memset",
           "the program's timers, of setitimer and alarm: one is running now");
}

static void counters_changed_without_a_lock_are_caught(void)
{
    if (ferry_test_is_slow() || ferry_test_processors() < 2) {
        ferry_test_skip("threads seldom run at the same time");
        return;
    }
    caught("bad_counts", "threads", "they are not counted safely");
    caught("bad_counts_events", "threads", "they are not counted safely");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_default_queue_that_blocks_the_caller_is_caught),
    FERRY_TEST(a_default_queue_that_waits_for_nothing_is_caught),
    FERRY_TEST(a_query_that_sometimes_waits_is_caught),
    FERRY_TEST(an_unknown_dtype_in_supports_convert_is_caught),
    FERRY_TEST(a_memset_of_24_bits_is_caught),
    FERRY_TEST(a_few_bytes_leaked_by_device_close_are_caught),
    FERRY_TEST(pages_leaked_by_device_close_are_caught),
    FERRY_TEST(eight_bytes_leaked_by_queue_destroy_are_caught),
    FERRY_TEST(a_leak_of_a_refused_device_open_is_caught),
    FERRY_TEST(a_leak_of_every_fourth_axpy_is_caught),
    FERRY_TEST(a_context_for_each_count_is_caught),
    FERRY_TEST(a_leak_of_every_second_gemm_is_caught),
    FERRY_TEST(a_leak_of_a_destroyed_operation_is_caught),
    FERRY_TEST(a_leak_of_map_and_unmap_is_caught),
    FERRY_TEST(a_thread_started_before_a_device_is_opened_is_caught),
    FERRY_TEST(a_context_created_before_a_device_is_opened_is_caught),
    FERRY_TEST(a_library_s_pages_do_not_count_as_a_context),
    FERRY_TEST(changes_of_process_state_are_caught),
    FERRY_TEST(counters_changed_without_a_lock_are_caught),
};

int main(int argc, char **argv)
{
    if (!check_can_run())
        return 77;
    return ferry_test_main(argc, argv, "check-faults", cases, FERRY_TEST_COUNT(cases));
}
