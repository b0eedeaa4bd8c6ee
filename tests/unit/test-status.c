/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/base/status.h"
#include "ferry-test.h"

#include <ferry/version.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "");
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_OK);
    ferry__error(FERRY_EIO, "of another thread");
    return NULL;
}

static void a_thread_that_never_failed_has_no_error_and_others_do_not_share_it(void)
{
    pthread_t thread;

    ferry__error(FERRY_ENOMEM, "mine");
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "mine");
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ENOMEM);
}

static void an_error_returns_its_code_and_keeps_its_line(void)
{
    CU_ASSERT_EQUAL(ferry__error(FERRY_EDEVICE, "cuda:%d: %s", 1, "why"), FERRY_EDEVICE);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "cuda:1: why");
}

static void an_error_may_quote_the_previous_error(void)
{
    ferry__error(FERRY_EDEVICE, "inner");
    ferry__error(FERRY_ENODEV, "outer: %s", ferry_last_error());
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "outer: inner");
}

static void control_characters_of_a_vendors_message_are_replaced(void)
{
    ferry__error(FERRY_EDEVICE, "a\nb\tc\r\n\x1b[1m");
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "a b c   [1m");
    /*
     * CSI as one character, a control that changes the writing direction, a character without
     * width, and ordinary characters
     */
    ferry__error(FERRY_EDEVICE,
                 "\xc2\x9b"
                 "31m \xe2\x80\xae \xe2\x81\xa6 \xe2\x80\x8b \xe2\x80\xa6 \xc3\xa9 \xe2\x80");
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "??31m ??? ??? ??? \xe2\x80\xa6 \xc3\xa9 \xe2\x80");
}

static void a_long_message_is_cut_between_characters(void)
{
    char text[2000] = "";

    for (int i = 0; i < 900; i++)
        strcat(text, "\xc3\xa9");
    ferry__error(FERRY_EDEVICE, "%s", text);
    CU_ASSERT_EQUAL(strlen(ferry_last_error()), 1022); /* 1023 would end within one */
    CU_ASSERT_EQUAL((unsigned char)ferry_last_error()[1021], 0xa9);
}

static void every_code_has_a_distinct_sentence(void)
{
    CU_ASSERT_STRING_EQUAL(ferry_strerror(FERRY_OK), "success");
    CU_ASSERT_STRING_EQUAL(ferry_strerror(FERRY_ENOMEM), "out of memory");
    CU_ASSERT_STRING_EQUAL(ferry_strerror(1), "unknown error");
    CU_ASSERT_STRING_EQUAL(ferry_strerror(-1000), "unknown error");
    for (int code = FERRY_EFORKED; code <= 0; code++)
        for (int other = FERRY_EFORKED; other < code; other++)
            CU_ASSERT_STRING_NOT_EQUAL(ferry_strerror(code), ferry_strerror(other));
}

static void a_null_reference_passes_its_code_on(void)
{
    ferry__error(FERRY_ELOST, "gone");
    CU_ASSERT_EQUAL(ferry__error_null_ref("axpy"), FERRY_ELOST);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "gone");
}

static void the_version_equals_the_package_version(void)
{
    char headers[32];

    snprintf(headers, sizeof(headers), "%d.%d.%d", FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR,
             FERRY_VERSION_PATCH);
    CU_ASSERT_EQUAL(strncmp(ferry_version(), headers, strlen(headers)), 0);
    CU_ASSERT(strchr("~", ferry_version()[strlen(headers)]) != NULL); /* a candidate: 1.0.0~rc1 */
    CU_ASSERT_EQUAL(ferry_version_number(), FERRY_VERSION);
    CU_ASSERT(FERRY_VERSION >= FERRY_VERSION_OF(0, 2, 0) && FERRY_VERSION_OF(1, 0, 0) > 9999);
    CU_ASSERT(FERRY_VERSION_OF(0, 2, 10) > FERRY_VERSION_OF(0, 2, 9));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_thread_that_never_failed_has_no_error_and_others_do_not_share_it),
    FERRY_TEST(an_error_returns_its_code_and_keeps_its_line),
    FERRY_TEST(an_error_may_quote_the_previous_error),
    FERRY_TEST(control_characters_of_a_vendors_message_are_replaced),
    FERRY_TEST(a_long_message_is_cut_between_characters),
    FERRY_TEST(every_code_has_a_distinct_sentence),
    FERRY_TEST(a_null_reference_passes_its_code_on),
    FERRY_TEST(the_version_equals_the_package_version),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "status", cases, FERRY_TEST_COUNT(cases));
}
