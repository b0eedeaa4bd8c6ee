/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include "core/device/device.h"
#include "core/plugin/host.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Services of ferry for plugins: their options by type, a folder for caches; and which of their
 * functions ferry calls.
 */

static int open_typed(const char *options)
{
    const char *folder = fakes_folder();
    const char *conf = fakes_write(folder, "c.conf", options);
    ferry_runtime *rt;
    ferry_device *dev;
    int err;

    fakes_put(folder, "typed", NULL);
    rt = fakes_open(folder, "typed", conf);
    err = ferry_runtime_get_device(rt, NULL, &dev);
    ferry_runtime_close(rt);
    return err;
}

static void options_are_read_by_type_and_replace_the_default(void)
{
    const char *cache = fakes_folder();
    char wanted[4096];
    struct stat st;

    fakes_track();
    setenv("XDG_CACHE_HOME", cache, 1);
    CU_ASSERT_EQUAL(open_typed("[plugin typed]\n"), 0);
    snprintf(wanted, sizeof(wanted), "typed 1 0.5 0 7 0 %s/ferry/typed\n", cache);
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), wanted));
    CU_ASSERT_EQUAL_FATAL(stat(fakes_path(cache, "ferry/typed"), &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0700);
    CU_ASSERT_EQUAL_FATAL(chmod(fakes_path(cache, "ferry"), 0777), 0);
    CU_ASSERT_EQUAL(open_typed("[plugin typed]\noption.devices = 3\noption.rate = 0.25\n"
                               "option.flag = On\noption.bytes = 1.5KiB\noption.word = auto\n"),
                    0);
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "typed 3 0.25 1 1536 2 none\n"));
}

static void a_wrong_value_is_an_error_with_its_place(void)
{
    static const char *const table[][2] = {
        { "devices = 9", "c.conf:2: option.devices = 9: not a whole number from 1 to 8" },
        { "devices = 0", "c.conf:2: option.devices = 0: not a whole number from 1 to 8" },
        { "rate = nan", "c.conf:2: option.rate = nan: not a number from 0 to 1" },
        { "rate = 0.5x", "c.conf:2: option.rate = 0.5x: not a number from 0 to 1" },
        { "flag = maybe", "c.conf:2: option.flag = maybe: not yes or no" },
        { "bytes = 2MiB", "c.conf:2: option.bytes = 2MiB: not a size (as in 4096, 512MiB, 4GiB) "
                          "from 1 to 1048576 bytes" },
        { "word = of", "c.conf:2: option.word = of: not one of off|on|auto" },
        /* of its table, before any function is called */
        { "devices = two", "c.conf:2: option.devices = two: not a whole number" },
        { "scale = inf", "c.conf:2: option.scale = inf: not a number" },
        { "scale = nan", "c.conf:2: option.scale = nan: not a number" },
        { "mode = fats", "c.conf:2: option.mode = fats: not slow|fast" },
    };
    char text[256];

    for (size_t i = 0; i < FERRY_TEST_COUNT(table); i++) {
        fakes_track();
        snprintf(text, sizeof(text), "[plugin typed]\noption.%s\n", table[i][0]);
        CU_ASSERT_EQUAL(open_typed(text), FERRY_ECONF);
        if (!strstr(ferry_last_error(), table[i][1])) {
            printf("%s: %s\n", table[i][0], ferry_last_error());
            CU_FAIL("another error");
        }
        CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "none"));
    }
}

static void the_program_s_locale_changes_no_option(void)
{
    if (!ferry_test_comma())
        return;
    fakes_track();
    CU_ASSERT_EQUAL(open_typed("[plugin typed]\noption.rate = 0.25\noption.scale = 1.5\n"), 0);
    CU_ASSERT_EQUAL(open_typed("[plugin typed]\noption.rate = 0,25\n"), FERRY_ECONF);
    CU_ASSERT_EQUAL(open_typed("[plugin typed]\noption.scale = 1,5\n"), FERRY_ECONF);
    setlocale(LC_NUMERIC, "C");
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "typed 1 0,25 "));
}

static void conversions_that_a_plugin_lacks_run_on_the_host(void)
{
    const char *folder = fakes_folder();
    ferry_memory *x = NULL, *y = NULL;
    ferry_runtime *rt;
    ferry_device *dev = NULL;
    const int8_t *got;
    float *from;

    fakes_put(folder, "pairs", NULL);
    fakes_track();
    rt = fakes_open(folder, "pairs", NULL);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, NULL, &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &x), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(dev, 64, &y), 0);
    from = ferry_memory_overwrite_host_data(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(from);
    for (int i = 0; i < 8; i++)
        from[i] = (float)i;
    CU_ASSERT_EQUAL(ferry_math_convert(ferry_device_queue(dev), 8, FERRY_F32,
                                       ferry_memory_device_data(x), FERRY_I8,
                                       ferry_memory_overwrite_device_data(y)),
                    0);
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "to another"));
    got = ferry_memory_host_data(y);
    CU_ASSERT(got && got[7] == 7);
    CU_ASSERT_EQUAL(ferry_math_convert(ferry_device_queue(dev), 8, FERRY_F32,
                                       ferry_memory_device_data(x), FERRY_F64,
                                       ferry_memory_overwrite_device_data(y)),
                    0);
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "to F64"));
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_runtime_close(rt);
}

/* ---- failures of entries -------------------------------------------------------------------- */

static void a_result_that_is_no_status_code_is_the_plugins_fault(void)
{
    char said[64];

    CU_ASSERT_EQUAL(ferry__host_take_failure(-99, said, sizeof(said)), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(said, "it returned -99, which is not a status code");
    CU_ASSERT_EQUAL(ferry__host_take_failure(5, said, sizeof(said)), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(said, "it returned 5, which is not a status code");
    CU_ASSERT_EQUAL(ferry__host_take_failure(FERRY_ENOMEM, said, sizeof(said)), FERRY_ENOMEM);
    CU_ASSERT_STRING_EQUAL(said, ferry_strerror(FERRY_ENOMEM));
    ferry__host_blame("it returned 0 and no block");
    CU_ASSERT_EQUAL(ferry__host_take_failure(FERRY_EPLUGIN, said, sizeof(said)), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(said, "it returned 0 and no block");
}

static void the_message_of_a_fallback_is_not_that_of_a_later_failure(void)
{
    char said[64];

    ferry__host.error(FERRY_EUNSUPPORTED, "axpy of this dtype is not offered");
    CU_ASSERT_EQUAL(ferry__host_take_failure(FERRY_ENOMEM, said, sizeof(said)), FERRY_ENOMEM);
    CU_ASSERT_STRING_EQUAL(said, ferry_strerror(FERRY_ENOMEM));
    ferry__host.error(FERRY_ENOMEM, "out of %s", "blocks");
    CU_ASSERT_EQUAL(ferry__host_take_failure(FERRY_ENOMEM, said, sizeof(said)), FERRY_ENOMEM);
    CU_ASSERT_STRING_EQUAL(said, "out of blocks");
}

static int create_no_queue(void *dev, uint32_t flags, void **out_queue)
{
    (void)dev;
    (void)flags;
    (void)out_queue;
    return 0;
}

static int wrap_no_queue(void *dev, void *native, void **out_queue)
{
    (void)dev;
    (void)native;
    (void)out_queue;
    return 0;
}

static void a_queue_that_the_plugin_did_not_create_is_named(void)
{
    const char *folder = fakes_folder();
    const ferry_plugin_ops *before;
    ferry_device *dev = NULL;
    ferry_queue *q = NULL;
    ferry_plugin_ops ops;
    ferry_runtime *rt;

    fakes_put(folder, "alpha", NULL);
    rt = fakes_open(folder, "alpha", NULL);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha:0", &dev), 0);
    before = dev->ops;
    ops = *before;
    ops.queue_create = create_no_queue;
    dev->ops = &ops;
    CU_ASSERT_EQUAL(ferry_queue_create(dev, &q), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(),
                           "alpha:0: queue_create: it returned 0 and no queue");
    CU_ASSERT_PTR_NULL(q);
    ops.queue_wrap = wrap_no_queue;
    CU_ASSERT_EQUAL(ferry_queue_wrap(dev, &ops, &q), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "alpha:0: queue_wrap: it returned 0 and no queue");
    CU_ASSERT_PTR_NULL(q);
    dev->ops = before;
    ferry_runtime_close(rt);
}

static void an_unknown_extension_leaves_no_message(void)
{
    const char *folder = fakes_folder();
    ferry_device *dev = NULL;
    const void *table;
    ferry_runtime *rt;
    void *inside;

    fakes_put(folder, "pairs", NULL);
    rt = fakes_open(folder, "pairs", NULL);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, NULL, &dev), 0);
    ferry__host.error(FERRY_EUNSUPPORTED, "there is no such extension");
    CU_ASSERT_EQUAL(ferry_device_extension(dev, "acme.graphs/1", &table, &inside),
                    FERRY_EUNSUPPORTED);
    CU_ASSERT_FALSE(ferry__host_has_said());
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_result_that_is_no_status_code_is_the_plugins_fault),
    FERRY_TEST(the_message_of_a_fallback_is_not_that_of_a_later_failure),
    FERRY_TEST(a_queue_that_the_plugin_did_not_create_is_named),
    FERRY_TEST(an_unknown_extension_leaves_no_message),
    FERRY_TEST(options_are_read_by_type_and_replace_the_default),
    FERRY_TEST(a_wrong_value_is_an_error_with_its_place),
    FERRY_TEST(the_program_s_locale_changes_no_option),
    FERRY_TEST(conversions_that_a_plugin_lacks_run_on_the_host),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "plugin-host", cases, FERRY_TEST_COUNT(cases));
}
