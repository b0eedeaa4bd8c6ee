/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/device/device.h"
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The selection of a program's device by the API, the environment and the file. */

static void one_name_opens_only_that_plugin(void)
{
    ferry_runtime *rt;

    fakes_track();
    rt = fakes_open(fakes_five(), "beta", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "beta:0");
    CU_ASSERT_STRING_EQUAL(fakes_tracked(), "beta loaded\nbeta opened\nbeta device 0\n");
    ferry_runtime_close(rt);
}

static void one_name_that_fails_is_an_error_and_opens_no_other_plugin(void)
{
    ferry_runtime *rt;

    fakes_track();
    rt = fakes_open(fakes_five(), "open_fails", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL),
                           "open_fails: libvendor.so.7: no driver on this machine");
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(fakes_tracked(), "open_fails loaded\nopen_fails opened\n");
    ferry_runtime_close(rt);
}

static void a_name_with_a_number_selects_that_device(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), "beta:1", NULL);

    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "beta:1");
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "beta"), "beta:0");
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "beta:7"), "beta:7: no such device: beta has 2");
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ENODEV);
    ferry_runtime_close(rt);
}

static void the_first_working_name_of_a_list_is_selected(void)
{
    ferry_runtime *rt;

    fakes_track();
    rt = fakes_open(fakes_five(), "open_fails,nosuch,gamma:5,alpha,beta", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha:0");
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "beta"));
    ferry_runtime_close(rt);
}

static void a_list_that_fails_reports_the_reason_of_each_name(void)
{
    const char *folder = fakes_five();
    ferry_runtime *rt = fakes_open(folder, "open_fails,no_devices,alpah", NULL);
    const char *error = fakes_name_of(rt, NULL);
    char wanted[1024];

    snprintf(wanted, sizeof(wanted),
             "no device works (see `ferry plugins`): open_fails: libvendor.so.7: no driver on this "
             "machine; no_devices: it found no device; alpah: no such plugin in %s, *",
             folder);
    CU_ASSERT(fakes_matches(error, wanted));
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "; did you mean alpha?"));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ENODEV);
    ferry_runtime_close(rt);
}

static void after_an_exclusion_the_others_are_tried_in_bytewise_order(void)
{
    ferry_runtime *rt;

    fakes_track();
    rt = fakes_open(fakes_five(), "^alpha,cuda,opencl,cpu", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "beta:0");
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "alpha"));
    ferry_runtime_close(rt);
}

static void the_default_order_precedes_others_and_sim_is_selected_only_by_name(void)
{
    const char *folder = fakes_folder();
    ferry_runtime *rt;
    ferry_device *dev;
    int count;

    fakes_put(folder, "sim", NULL);
    rt = fakes_open(folder, "^cuda,opencl,cpu", NULL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, NULL, &dev), FERRY_ENODEV);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(ferry_last_error(), "sim is there, but is used only if asked for by name"));
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "sim:1"), "sim:1");
    ferry_runtime_close(rt);

    fakes_put(folder, "cpu", NULL);
    fakes_put(folder, "alpha", NULL);
    rt = fakes_open(folder, "^cuda,opencl", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "cpu:0");
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL(count, 6);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 2, &dev), 0);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(dev), "alpha:0");
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 5, &dev), 0);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(dev), "sim:1");
    ferry_runtime_close(rt);
}

static void a_device_on_the_host_s_processors_is_the_last_choice(void)
{
    const char *folder = fakes_folder();
    ferry_device *dev = NULL;
    ferry_runtime *rt;

    fakes_put(folder, "on_the_cpu", "ferry_opencl.so");
    rt = fakes_open(folder, "^cuda", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "opencl:0"); /* a device on the CPU is better
                                                                  * than no device */
    ferry_runtime_close(rt);

    fakes_put(folder, "cpu", NULL);
    rt = fakes_open(folder, "^cuda", NULL);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "cpu:0");
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "opencl", &dev), 0);
    CU_ASSERT_EQUAL(ferry_device_get_properties(dev)->host_processors, 1);
    ferry_runtime_close(rt);

    rt = fakes_open(folder, "opencl,cpu", NULL); /* it is selected by name */
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "opencl:0");
    ferry_runtime_close(rt);
}

static void the_api_precedes_the_environment_and_the_environment_the_file(void)
{
    const char *folder = fakes_five();
    const char *conf = fakes_write(folder, "c.conf", "[ferry]\nbackend = gamma\n");
    ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "alpha" };
    ferry_runtime *rt = fakes_open(folder, NULL, conf);

    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "gamma:0");
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "beta"), "beta:0");
    ferry_runtime_close(rt);
    rt = fakes_open(folder, "beta", conf);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "beta:0");
    ferry_runtime_close(rt);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&options, &rt), 0);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha:0");
    ferry_runtime_close(rt);
}

static void an_invalid_choice_is_an_error_that_names_its_source(void)
{
    ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "a b" };
    ferry_runtime *rt = NULL;

    setenv("FERRY_CONF", "/dev/null", 1);
    setenv("FERRY_BACKEND", "cuda,", 1);
    CU_ASSERT_EQUAL(ferry_runtime_open(NULL, &rt), FERRY_ECONF);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "FERRY_BACKEND: backend = cuda,: a name is missing");
    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &rt), FERRY_EINVAL);
    unsetenv("FERRY_BACKEND");
    setenv("FERRY_STRICT", "maybe", 1);
    CU_ASSERT_EQUAL(ferry_runtime_open(NULL, &rt), FERRY_ECONF);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "FERRY_STRICT=maybe: neither 1 nor 0");
    unsetenv("FERRY_STRICT");
    CU_ASSERT_PTR_NULL(rt);
}

/* Whether arithmetic that the plugin lacks is an error in such a runtime. */
static bool is_strict(const char *conf, const char *variable, int said)
{
    ferry_runtime_options options = { .struct_size = sizeof(options), .conf = conf };
    ferry_device *dev;
    ferry_runtime *rt;
    bool strict;

    options.strict = said;
    if (variable)
        setenv("FERRY_STRICT", variable, 1);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&options, &rt), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(rt, "alpha", &dev), 0);
    strict = dev->strict;
    ferry_runtime_close(rt);
    unsetenv("FERRY_STRICT");
    return strict;
}

static void strict_is_set_by_the_api_then_the_environment_then_the_file(void)
{
    const char *folder = fakes_five();
    const char *none = "/dev/null";
    const char *yes = fakes_write(folder, "yes.conf", "[ferry]\nstrict = yes\n");
    const char *no = fakes_write(folder, "no.conf", "[ferry]\nstrict = no\n");
    const char *odd = fakes_write(folder, "odd.conf", "[ferry]\nstrict = maybe\n");
    ferry_runtime_options options = { .struct_size = sizeof(options), .conf = odd };
    ferry_runtime *rt = fakes_open(folder, NULL, NULL); /* sets FERRY_PLUGIN_PATH */

    ferry_runtime_close(rt);
    CU_ASSERT_FALSE(is_strict(none, NULL, 0));
    CU_ASSERT_TRUE(is_strict(yes, NULL, 0));
    CU_ASSERT_FALSE(is_strict(no, NULL, 0));
    CU_ASSERT_FALSE(is_strict(yes, "0", 0));
    CU_ASSERT_TRUE(is_strict(no, "1", 0));
    CU_ASSERT_TRUE(is_strict(no, "0", FERRY_STRICT_ON));
    CU_ASSERT_FALSE(is_strict(yes, "1", FERRY_STRICT_OFF));
    CU_ASSERT_FALSE(is_strict(yes, NULL, FERRY_STRICT_OFF));
    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &rt), FERRY_ECONF);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "odd.conf:2: strict = maybe"));
    options = (ferry_runtime_options){ .struct_size = sizeof(options), .strict = 2 };
    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &rt), FERRY_EINVAL);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(one_name_opens_only_that_plugin),
    FERRY_TEST(one_name_that_fails_is_an_error_and_opens_no_other_plugin),
    FERRY_TEST(a_name_with_a_number_selects_that_device),
    FERRY_TEST(the_first_working_name_of_a_list_is_selected),
    FERRY_TEST(a_list_that_fails_reports_the_reason_of_each_name),
    FERRY_TEST(after_an_exclusion_the_others_are_tried_in_bytewise_order),
    FERRY_TEST(the_default_order_precedes_others_and_sim_is_selected_only_by_name),
    FERRY_TEST(a_device_on_the_host_s_processors_is_the_last_choice),
    FERRY_TEST(the_api_precedes_the_environment_and_the_environment_the_file),
    FERRY_TEST(an_invalid_choice_is_an_error_that_names_its_source),
    FERRY_TEST(strict_is_set_by_the_api_then_the_environment_then_the_file),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "choosing", cases, FERRY_TEST_COUNT(cases));
}
