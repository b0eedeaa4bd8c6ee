/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* `ferry devices`, `plugins` and `bench`. */

/* ---- devices and plugins -------------------------------------------------------------------- */

static void devices_names_the_selected_one(void)
{
    char name[64];
    json_t *document, *device;

    snprintf(name, sizeof(name), "%s:0", ferry_test_backend());
    CU_ASSERT_EQUAL(ferry("devices --json"), 0);
    document = parse_output();
    CU_ASSERT_STRING_EQUAL(text_of(document, "selected"), name);
    device = json_array_get(json_object_get(document, "devices"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(device, "name"), name);
    CU_ASSERT_STRING_EQUAL(text_of(device, "plugin"), ferry_test_backend());
    CU_ASSERT(json_is_string(json_object_get(device, "description")));
    CU_ASSERT(json_is_integer(json_object_get(device, "memory_total")));
    CU_ASSERT(json_is_integer(json_object_get(device, "memory_free")) ||
              json_is_null(json_object_get(device, "memory_free")));
    CU_ASSERT(json_is_boolean(json_object_get(device, "unified")));
    json_decref(document);
    CU_ASSERT_EQUAL(ferry("devices"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, name));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\n* "));
}

/*
 * The alignment of kernels' ranges in a block, and their length: 0 if the device has no such limit.
 */
static void limits_of_a_device_are_in_json(void)
{
    static const char command[] = "printf '[plugin sim]\noption.offset_alignment = 256\n"
                                  "option.max_binding = 1MiB\n' > '%s' && FERRY_CONF='%s' "
                                  "FERRY_BACKEND=sim \"$FERRY_TEST_COMMAND\" devices --json";
    const char *conf = in_folder("limits.conf");
    json_t *document, *device;
    char text[1024];

    CU_ASSERT_EQUAL(ferry("devices --json"), 0);
    document = parse_output();
    device = json_array_get(json_object_get(document, "devices"), 0);
    CU_ASSERT(json_is_integer(json_object_get(device, "offset_alignment")));
    CU_ASSERT(json_is_integer(json_object_get(device, "max_binding")));
    json_decref(document);
    if (strcmp(ferry_test_backend(), "sim") != 0)
        return;
    snprintf(text, sizeof(text), command, conf, conf);
    CU_ASSERT_EQUAL(shell(text), 0);
    document = parse_output();
    device = json_array_get(json_object_get(document, "devices"), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(device, "offset_alignment")), 256);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(device, "max_binding")), 1 << 20);
    json_decref(document);
}

static void a_missing_backend_prints_one_error_line_and_exits_with_1(void)
{
    setenv("FERRY_BACKEND", "nonesuch", 1);
    CU_ASSERT_EQUAL(ferry("devices"), 1);
    CU_ASSERT(one_line_of_error("nonesuch"));
    CU_ASSERT_EQUAL(ferry("devices --json"), 1);
    CU_ASSERT(one_line_of_error("nonesuch"));
    setenv("FERRY_BACKEND", ferry_test_backend(), 1);
}

/* A fake that aborts and one that sleeps, before one that works. */
static void devices_reports_probes_that_crash_or_hang(void)
{
    static const char fakes[] = "FERRY_PLUGIN_PATH=\"$FERRY_TEST_BUILDDIR\"/tests/plugins/fakes "
                                "FERRY_BACKEND=crashes,hangs,alpha \"$FERRY_TEST_COMMAND\" devices";
    char command[1024];
    json_t *document;

    snprintf(command, sizeof(command), "%s --probe --timeout 1", fakes);
    CU_ASSERT_EQUAL(shell(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "*  alpha:0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "crashes has no device: crashed when opened"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "hangs has no device: no answer within 1000 ms"));
    snprintf(command, sizeof(command), "%s --probe --timeout 1 --json", fakes);
    CU_ASSERT_EQUAL(shell(command), 0);
    document = parse_output();
    CU_ASSERT_STRING_EQUAL(text_of(document, "selected"), "alpha:0");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "missing")), 2);
    json_decref(document);
    CU_ASSERT_EQUAL(ferry("devices --probe --timeout 0"), 2);
    CU_ASSERT(one_line_of_error("--timeout 0"));
}

/* Whether a process can adopt its descendants, as a probe does; qemu-user cannot. */
static bool adopts_orphans(void)
{
#ifdef __linux__
    int on;

    return prctl(PR_GET_CHILD_SUBREAPER, &on, 0, 0, 0) == 0;
#else
    return false;
#endif
}

/* Fakes whose second device hangs, or ends the process; and one that leaves a daemon running. */
static void devices_opens_probed_devices(void)
{
    static const char command[] =
        "FERRY_TEST_TRACK=%s FERRY_PLUGIN_PATH=\"$FERRY_TEST_BUILDDIR\"/tests/plugins/fakes "
        "FERRY_BACKEND=device_hangs,device_exits,spawns,many_devices,device_fails,alpha "
        "\"$FERRY_TEST_COMMAND\" devices --probe --timeout 2; cp %s %s.then; sleep 0.3; cmp %s "
        "%s.then";
    const char *track = in_folder("track");
    char text[2048];

    snprintf(text, sizeof(text), command, track, track, track, track, track);
    CU_ASSERT(shell(text) == 0 || !adopts_orphans()); /* the daemon has stopped writing */
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "*  alpha:0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "device_hangs has no device: no answer within 2000 ms when "
                                       "its device 1 was opened in a process of its own"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out,
                                  "device_exits has no device: ended the process of its own, when "
                                  "its device 1 was opened in it, with status 3"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(out, "spawns has no device: crashed when its device 1 was opened"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "many_devices has no device: "
                                       "device_count returned 4097 devices, "
                                       "and at most 4096 are supported"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "device_fails has no device: its device 0 does not open: "
                                       "vendorContext: VENDOR_BUSY on 0"));
}

static void output_of_a_driver_does_not_corrupt_json(void)
{
    static const char command[] =
        "FERRY_PLUGIN_PATH=\"$FERRY_TEST_BUILDDIR\"/tests/plugins/fakes FERRY_BACKEND=chatters "
        "\"$FERRY_TEST_COMMAND\" devices --json --probe";
    json_t *document;

    CU_ASSERT_EQUAL(shell(command), 0);
    CU_ASSERT_PTR_NULL(strstr(out, "driver"));
    document = parse_output();
    CU_ASSERT_STRING_EQUAL(text_of(document, "selected"), "chatters:0");
    json_decref(document);
}

static void plugins_reports_every_candidate(void)
{
    static const char *const keys[] = { "name", "path", "origin", "stage", "reason", "hint" };
    json_t *document, *candidate;
    size_t i;
    int usable = 0;

    CU_ASSERT_EQUAL(ferry("plugins --json"), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "candidates"), i, candidate)
    {
        for (size_t k = 0; k < FERRY_TEST_COUNT(keys); k++)
            CU_ASSERT(json_is_string(json_object_get(candidate, keys[k])));
        CU_ASSERT(json_is_boolean(json_object_get(candidate, "ok")));
        if (strcmp(text_of(candidate, "name"), ferry_test_backend()) == 0 &&
            json_is_true(json_object_get(candidate, "ok"))) { /* not a device that it hides */
            usable++;
            CU_ASSERT_STRING_EQUAL(text_of(candidate, "stage"), "devices");
        }
    }
    CU_ASSERT_EQUAL(usable, 1);
    json_decref(document);
    CU_ASSERT_EQUAL(ferry("plugins"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, ferry_test_backend()));
    CU_ASSERT_EQUAL(ferry("plugins -v"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "origin  FERRY_PLUGIN_PATH"));
}

/* Every option with its value and origin: from a file, with its line, or the default. */
static void plugins_documents_every_option(void)
{
    char command[1024];
    FILE *conf = fopen(in_folder("options.conf"), "w");
    json_t *document, *candidate, *option;
    size_t i, k;
    int found = 0;

    if (strcmp(ferry_test_backend(), "sim") != 0) {
        if (conf)
            fclose(conf);
        ferry_test_skip("the test has options for sim only");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    fputs("[plugin sim]\noption.devices = 2\n", conf);
    fclose(conf);
    snprintf(command, sizeof(command), "FERRY_CONF=%s \"$FERRY_TEST_COMMAND\" plugins -v",
             in_folder("options.conf"));
    CU_ASSERT_EQUAL(shell(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "option  devices = 2  (integer, from "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "options.conf:2; default 1)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "option  clock = real  (real|manual|sync, default)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "key     pool_limit = unset"));
    CU_ASSERT_EQUAL(ferry("plugins --json"), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "candidates"), i, candidate)
        json_array_foreach(json_object_get(candidate, "options"), k, option) found +=
        strcmp(text_of(option, "name"), "bandwidth") == 0;
    CU_ASSERT_EQUAL(found, 1);
    json_decref(document);
}

static void choosing_one_backend_opens_no_other(void)
{
    json_t *document, *candidate;
    size_t i;

    CU_ASSERT_EQUAL(ferry("plugins --json"), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "candidates"), i,
                       candidate) if (text_of(candidate, "name")[0] &&
                                      strcmp(text_of(candidate, "name"), ferry_test_backend()) != 0)
        CU_ASSERT_STRING_NOT_EQUAL(text_of(candidate, "stage"), "devices");
    json_decref(document);
}

/* ---- bench ---------------------------------------------------------------------------------- */

/* A number, or null in a row with the reason why there is none. */
static bool is_figure(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_number(value) || (json_is_null(value) && json_object_get(row, "reason"));
}

static void bench_has_a_row_for_each_figure(void)
{
    char name[64];
    json_t *document, *rows, *row;
    size_t i;
    int measured = 0;

    CU_ASSERT_EQUAL(ferry("bench --quick --json"), 0);
    CU_ASSERT_STRING_EQUAL(err, "");
    document = parse_output();
    snprintf(name, sizeof(name), "%s:0", ferry_test_backend());
    CU_ASSERT_STRING_EQUAL(text_of(document, "device"), name);
    rows = json_object_get(document, "rows");
    json_array_foreach(rows, i, row)
    {
        const json_t *met = json_object_get(row, "met");

        CU_ASSERT(text_of(row, "figure")[0] != '\0');
        CU_ASSERT(is_figure(row, "value") && is_figure(row, "reference") &&
                  is_figure(row, "ratio"));
        CU_ASSERT_EQUAL(json_is_number(json_object_get(row, "goal")), json_is_boolean(met));
        CU_ASSERT(json_is_boolean(met) || json_is_null(met));
        measured += json_is_number(json_object_get(row, "ratio"));
    }
    CU_ASSERT_EQUAL(json_array_size(rows), 12);
    CU_ASSERT(measured >= 10); /* there may be no copies */
    json_decref(document);
}

static void bench_prints_a_table_and_checks_its_options(void)
{
    CU_ASSERT_EQUAL(ferry("bench --quick"), 0);
    CU_ASSERT_EQUAL(strncmp(out, "figure ", 7), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\nsettled device_data"));
    CU_ASSERT_EQUAL(ferry("bench --quack"), 2);
    CU_ASSERT(one_line_of_error("did you mean --quick?"));
    CU_ASSERT_EQUAL(shell("FERRY_BACKEND=nonesuch \"$FERRY_TEST_COMMAND\" bench --quick"), 1);
    CU_ASSERT(one_line_of_error("nonesuch"));
}

static void check_refuses_options_of_an_omitted_group(void)
{
    CU_ASSERT_EQUAL(ferry("check sim --minutes 1 --only memory"), 2);
    CU_ASSERT(one_line_of_error("--minutes applies to ops-random, which --only memory leaves out"));
    CU_ASSERT_EQUAL(ferry("check sim --minutes 1 --quick"), 2);
    CU_ASSERT(one_line_of_error("--minutes applies to ops-random, which --quick leaves out"));
    CU_ASSERT_EQUAL(ferry("check sim --seed 7 --quick"), 2);
    CU_ASSERT(one_line_of_error("--seed applies to ops-random, which --quick leaves out"));
}

static void help_of_check_lists_the_groups(void)
{
    CU_ASSERT_EQUAL(ferry("check --help"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\n    ops-random * random operations, from a seed\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\n    profile      times on the device's clock\n"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(devices_names_the_selected_one),
    FERRY_TEST(limits_of_a_device_are_in_json),
    FERRY_TEST(a_missing_backend_prints_one_error_line_and_exits_with_1),
    FERRY_TEST(devices_reports_probes_that_crash_or_hang),
    FERRY_TEST(devices_opens_probed_devices),
    FERRY_TEST(output_of_a_driver_does_not_corrupt_json),
    FERRY_TEST(plugins_reports_every_candidate),
    FERRY_TEST(plugins_documents_every_option),
    FERRY_TEST(choosing_one_backend_opens_no_other),
    FERRY_TEST(bench_has_a_row_for_each_figure),
    FERRY_TEST(bench_prints_a_table_and_checks_its_options),
    FERRY_TEST(check_refuses_options_of_an_omitted_group),
    FERRY_TEST(help_of_check_lists_the_groups),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command-devices", cases, FERRY_TEST_COUNT(cases));
}
