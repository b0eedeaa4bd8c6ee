/* SPDX-License-Identifier: BSD-2-Clause */
#include "check-run.h"

/* `ferry check`: faults that only a certain queue, a certain size or many calls bring out. */

static void a_default_queue_that_makes_the_caller_wait_is_caught(void)
{
    caught("bad_wait_default", "events", "queue_wait of the default queue behind ");
}

static void a_default_queue_that_waits_for_nothing_is_caught(void)
{
    caught("bad_wait_none", "queues", "it did not wait for the event");
}

static void a_query_that_waits_now_and_then_is_caught(void)
{
    caught("bad_query_third", "events", "event_query behind ");
}

static void pairs_of_dtypes_that_there_are_not_are_caught(void)
{
    caught("bad_convert", "descriptor", "supports_convert: F32 to dtype 41: 1; ");
}

static void a_memset_of_24_bits_is_caught(void)
{
    caught("bad_memset24", "memset", "of 2^24 + 1027 bytes: byte 1027 is ");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_default_queue_that_makes_the_caller_wait_is_caught),
    FERRY_TEST(a_default_queue_that_waits_for_nothing_is_caught),
    FERRY_TEST(a_query_that_waits_now_and_then_is_caught),
    FERRY_TEST(pairs_of_dtypes_that_there_are_not_are_caught),
    FERRY_TEST(a_memset_of_24_bits_is_caught),
};

int main(int argc, char **argv)
{
    if (!check_can_run())
        return 77;
    return ferry_test_main(argc, argv, "check-faults", cases, FERRY_TEST_COUNT(cases));
}
