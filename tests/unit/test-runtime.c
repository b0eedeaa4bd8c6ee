/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/device/device.h"
#include "fakes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- enumerating ---------------------------------------------------------------------------- */

static void enumerating_opens_the_allowed_plugins_and_no_device(void)
{
    ferry_device *dev = NULL;
    ferry_runtime *rt;
    int count = -1;

    fakes_track();
    rt = fakes_open(fakes_five(), "gamma,alpha,no_devices,open_fails", NULL);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 0, &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL(count, 4);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 0, &dev), 0);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(dev), "gamma:0");
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 3, &dev), 0);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(dev), "alpha:1");
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 4, &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, -1, &dev), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "beta"));
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), " device "));
    ferry_runtime_close(rt);
}

static void enumerating_one_device_of_a_plugin_lists_only_that_device(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), "beta:1,beta,beta:1", NULL);
    ferry_device *dev;
    int count;

    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 0, &dev), 0);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(dev), "beta:1");
    ferry_runtime_close(rt);
}

static void all_runtimes_share_one_object_for_an_open_device(void)
{
    const char *folder = fakes_five();
    ferry_runtime *one = fakes_open(folder, "alpha", NULL),
                  *two = fakes_open(folder, "alpha", NULL);
    ferry_device *a, *b, *c;

    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(one, NULL, &a), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(two, "alpha:0", &b), 0);
    CU_ASSERT_PTR_EQUAL(a, b);
    ferry__device_retain(a);
    ferry_runtime_close(one);
    ferry_runtime_close(two);
    one = fakes_open(folder, "alpha", NULL);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_get_device(one, NULL, &c), 0);
    CU_ASSERT_PTR_EQUAL(a, c);
    ferry__device_release(a);
    CU_ASSERT_STRING_EQUAL(ferry_device_name(c), "alpha:0");
    ferry_runtime_close(one);
}

static void a_plugin_is_opened_once_in_a_process_and_a_device_as_often_as_needed(void)
{
    const char *folder = fakes_five();

    fakes_track();
    for (int i = 0; i < 2; i++) {
        ferry_runtime *rt = fakes_open(folder, "alpha", NULL);

        CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha:0");
        ferry_runtime_close(rt);
    }
    CU_ASSERT_STRING_EQUAL(fakes_tracked(), "alpha loaded\nalpha opened\n"
                                            "alpha device 0\nalpha closed\n"
                                            "alpha device 0\nalpha closed\n");
}

/* ---- options -------------------------------------------------------------------------------- */

static void options_of_the_api_precede_those_of_the_file(void)
{
    const char *folder = fakes_five();
    const char *conf = fakes_write(folder, "c.conf",
                                   "[plugin alpha]\noption.devices = 5\n"
                                   "[plugin beta]\noption.devices = 3\n");
    ferry_runtime *rt = fakes_open(folder, "alpha,beta", conf);
    int count;

    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "9"), 0);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "1"), 0);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL(count, 4);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "2"), FERRY_EBUSY);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "alpha: option devices: the plugin is open already");
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "gamma", "devices", "2"), 0);
    ferry_runtime_close(rt);
    rt = fakes_open(folder, NULL, NULL); /* open in the process, not by this runtime */
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "2"), FERRY_EBUSY);
    ferry_runtime_close(rt);
}

static void invalid_options_are_refused(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), NULL, NULL);

    CU_ASSERT_EQUAL(ferry_runtime_set_option(NULL, "alpha", "x", "1"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, NULL, "x", "1"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "", "x", "1"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "", "1"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "x", NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "pool_limit", "much"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "pool_limit", "1MiB"), 0);
    ferry_runtime_close(rt);
}

static void unknown_options_of_a_plugin_are_warnings_and_invalid_ones_errors(void)
{
    const char *folder = fakes_five();
    const char *conf = fakes_write(folder, "c.conf",
                                   "[plugin alpha]\noption.devcies = 1\noption.mode = fats\n"
                                   "option.devices = two\n");
    ferry_runtime *rt = fakes_open(folder, "alpha", conf);
    char wanted[4096];

    fakes_log();
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "1"), 0);
    snprintf(wanted, sizeof(wanted), "alpha: %s:3: option.mode = fats: not slow|fast", conf);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), wanted);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "mode", "fast"), 0);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha:0");
    snprintf(wanted, sizeof(wanted),
             "warn: %s:2: plugin alpha has no option \"devcies\"; did you mean \"devices\"?\n",
             conf);
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_logged(), wanted));
    CU_ASSERT_PTR_NULL(strstr(fakes_logged(), "two"));
    ferry_runtime_close(rt);
}

static void a_failed_plugin_is_retried_with_other_options(void)
{
    const char *folder = fakes_five();
    const char *conf = fakes_write(folder, "c.conf", "[plugin alpha]\noption.devices = 0\n");
    ferry_runtime *rt = fakes_open(folder, "alpha", conf);

    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha: it found no device");
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "alpha"), "alpha: it found no device");
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "1"), 0);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL), "alpha:0");
    ferry_runtime_close(rt);
}

static void every_option_reports_its_value_and_source(void)
{
    const char *folder = fakes_five();
    const char *conf = fakes_write(folder, "c.conf",
                                   "[plugin alpha]\nbudget = 1GiB\n"
                                   "option.mode = fast\n");
    ferry_runtime *rt = fakes_open(folder, "alpha", conf);
    ferry_runtime_option_info info = { .struct_size = sizeof info };
    char wanted[4096];

    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "1"), 0);
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 0, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.name, "pool_limit");
    CU_ASSERT_STRING_EQUAL(info.value, "");
    CU_ASSERT_STRING_EQUAL(info.origin, "");
    CU_ASSERT(info.core);
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 1, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.value, "1GiB");
    snprintf(wanted, sizeof(wanted), "%s:2", conf);
    CU_ASSERT_STRING_EQUAL(info.origin, wanted);
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 2, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.name, "devices");
    CU_ASSERT_STRING_EQUAL(info.type, "integer");
    CU_ASSERT_STRING_EQUAL(info.default_value, "2");
    CU_ASSERT_STRING_EQUAL(info.value, "1");
    CU_ASSERT_STRING_EQUAL(info.origin, "API");
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 4, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.values, "slow|fast");
    CU_ASSERT_STRING_EQUAL(info.value, "fast");
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 6, &info), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", -1, &info), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "nosuch", 0, &info), FERRY_ENODEV);
    ferry_runtime_close(rt);
}

/* ---- in a process of its own ---------------------------------------------------------------- */

static void a_plugin_that_crashes_or_hangs_is_a_line_of_the_load_report(void)
{
    const char *folder = fakes_five();
    const char *crashes = fakes_put(folder, "crashes", NULL);
    const char *hangs = fakes_put(folder, "hangs", NULL);
    ferry_runtime *rt = fakes_open(folder, "crashes,hangs,alpha", NULL);
    int count = -1;

    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "crashes", 0, &count), FERRY_EPLUGIN);
    FAKES_ASSERT_LINE(rt, crashes, "open",
                      "crashed when opened in a process of its own: signal 6 (Aborted)",
                      "its driver crashes: repair it first");
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "hangs", 300, &count), FERRY_EPLUGIN);
    FAKES_ASSERT_LINE(rt, hangs, "open",
                      "no answer within 300 ms when opened in a process of its own",
                      "its driver hangs: repair it first");
    CU_ASSERT_EQUAL(count, -1);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, NULL),
                           "alpha:0"); /* neither of them was loaded here */
    ferry_runtime_close(rt);
}

static void a_probed_plugin_is_not_loaded_in_the_parent(void)
{
    const char *folder = fakes_five();
    ferry_runtime *rt = fakes_open(folder, NULL, NULL);
    int count = -1;

    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "3"), 0);
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "alpha", 0, &count), 0);
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "devices", "1"), 0); /* not open yet */
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "alpha"), "alpha:0");
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "alpha", 0, &count), 0);
    CU_ASSERT_EQUAL(count, 1); /* of the one that is open */
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "open_fails", 0, NULL), FERRY_EPLUGIN);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(),
                           "open_fails: libvendor.so.7: no driver on this machine");
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "no_devices", 0, NULL), FERRY_ENODEV);
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "nosuch", 0, NULL), FERRY_ENODEV);
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, "alpha", -1, NULL), FERRY_EINVAL);
    ferry_runtime_close(rt);
}

static void all_plugins_are_probed_except_excluded_ones(void)
{
    const char *folder = fakes_five();
    const char *crashes = fakes_put(folder, "crashes", NULL);
    ferry_runtime *rt = fakes_open(folder, "^beta", NULL);
    const char *noted;
    int count = -1;

    fakes_track();
    CU_ASSERT_EQUAL(ferry_runtime_probe(rt, NULL, 0, &count), 0);
    FAKES_ASSERT_LINE(rt, crashes, "open", "crashed when opened in a process of its own*", "*");
    CU_ASSERT(count > 0);
    noted = fakes_tracked();
    CU_ASSERT_PTR_NOT_NULL(strstr(noted, "alpha opened"));
    CU_ASSERT_PTR_NULL(strstr(noted, "beta"));
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0); /* continues, and does not open it here
                                                              */
    CU_ASSERT(count > 0);
    ferry_runtime_close(rt);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void null_is_refused_and_close_accepts_it(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), NULL, NULL);
    ferry_runtime_options options = { 0 };
    ferry_runtime *other = NULL;
    const ferry_runtime_candidate_info *line;
    ferry_device *dev = NULL;
    int count;

    ferry_runtime_close(NULL);
    CU_ASSERT_EQUAL(ferry_runtime_open(NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &other), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(other);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(NULL, NULL, &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "", &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "alpha:", &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "/etc/passwd", &dev), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(NULL, &count), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_candidate_at(rt, -1, &line), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_candidate_at(rt, 0, NULL), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(dev);
    ferry_runtime_close(rt);
}

static void every_list_has_a_count_and_an_at_function(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), NULL, NULL);
    const ferry_runtime_candidate_info *line = NULL;
    ferry_runtime_option_info info = { .struct_size = sizeof info };
    ferry_device *dev;
    int count = -1, lines = 0;

    while (ferry_runtime_candidate_at(rt, lines, &line) == 0)
        lines++;
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL(line->struct_size, sizeof *line);
    CU_ASSERT(lines >= 5); /* and one more where there is no plugin folder */
    CU_ASSERT_EQUAL(ferry_runtime_candidate_count(rt), lines);
    CU_ASSERT_EQUAL(ferry_runtime_candidate_at(rt, 4, &line), 0);
    CU_ASSERT_STRING_EQUAL(line->name, "open_fails");
    CU_ASSERT_EQUAL(ferry_runtime_candidate_at(rt, lines, &line), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "ferry_runtime_candidate_at: index "));
    CU_ASSERT_EQUAL(ferry_runtime_candidate_at(rt, -1, &line), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_runtime_option_count(rt, "alpha", &count), 0);
    CU_ASSERT_EQUAL(count, 6); /* two keys of ferry's own, four options */
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 4, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.name, "mode");
    CU_ASSERT_EQUAL(ferry_runtime_option_at(rt, "alpha", 6, &info), FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_runtime_option_at: alpha has no option 6");
    count = -1;
    CU_ASSERT_EQUAL(ferry_runtime_option_count(rt, "open_fails", &count), FERRY_EPLUGIN);
    CU_ASSERT_EQUAL(count, -1);
    CU_ASSERT_EQUAL(ferry_runtime_device_count(rt), 0);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL(ferry_runtime_device_count(rt), count);
    CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, count - 1, &dev), 0);
    CU_ASSERT_EQUAL(ferry_runtime_candidate_count(NULL) + ferry_runtime_device_count(NULL), 0);
    ferry_runtime_close(rt);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS 8

struct job {
    pthread_t thread;
    ferry_runtime *rt;
    ferry_device *dev;
    int err;
};

static void *get_device(void *arg)
{
    struct job *job = arg;

    job->err = ferry_runtime_get_device(job->rt, NULL, &job->dev);
    return NULL;
}

static void concurrent_requests_of_threads_return_the_same_device(void)
{
    ferry_runtime *rt;
    struct job jobs[THREADS];

    fakes_track();
    rt = fakes_open(fakes_five(), "open_fails,alpha", NULL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "delay", "100"), 0);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){ .rt = rt };
        CU_ASSERT_EQUAL_FATAL(pthread_create(&jobs[i].thread, NULL, get_device, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        CU_ASSERT_EQUAL(jobs[i].err, 0);
        CU_ASSERT_PTR_EQUAL(jobs[i].dev, jobs[0].dev);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "alpha opened"));
    CU_ASSERT_PTR_NULL(strstr(strstr(fakes_tracked(), "alpha opened") + 1, "alpha opened"));
    ferry_runtime_close(rt);
}

#define UNOPENED 24

/* Reads the properties of all devices until all are open. */
static void *read_properties(void *arg)
{
    ferry_runtime *rt = arg;
    const ferry_device_properties *p;
    ferry_device *dev;
    uint64_t open, odd = 0;

    do {
        open = 0;
        for (int i = 0; i < UNOPENED; i++) {
            ferry_runtime_device_at(rt, i, &dev);
            p = ferry_device_get_properties(dev);
            odd += p->struct_size != sizeof *p;
            open += p->memory_total == UINT64_C(1) << 31;
            odd += strcmp(p->description, p->memory_total >> 31 ? "as it is" : "as it seems") != 0;
            odd += p->unified == p->discrete;
        }
    } while (open < UNOPENED);
    return odd ? arg : NULL;
}

static void properties_stay_while_another_thread_opens_the_device(void)
{
    const char *folder = fakes_folder();
    pthread_t threads[THREADS];
    ferry_device *dev[UNOPENED];
    const ferry_device_properties *seen[UNOPENED];
    ferry_runtime *rt;
    void *odd;
    int count;

    fakes_put(folder, "unified_deaf", NULL);
    rt = fakes_open(folder, "unified_deaf", NULL);
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "unified_deaf", "devices", "24"), 0);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_EQUAL_FATAL(count, UNOPENED);
    for (int i = 0; i < UNOPENED; i++) {
        CU_ASSERT_EQUAL(ferry_runtime_device_at(rt, i, &dev[i]), 0);
        seen[i] = ferry_device_get_properties(dev[i]);
    }
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_properties, rt), 0);
    for (int i = 0; i < UNOPENED; i++)
        CU_ASSERT_PTR_NOT_NULL(ferry_device_queue(dev[i]));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &odd);
        CU_ASSERT_PTR_NULL(odd);
    }
    for (int i = 0; i < UNOPENED; i++) {
        CU_ASSERT_EQUAL(seen[i]->memory_total, UINT64_C(1)
                                                   << 30); /* a borrowed pointer still has its old
                                                            * value */
        CU_ASSERT_EQUAL(seen[i]->unified, 1);
        CU_ASSERT_STRING_EQUAL(seen[i]->description, "as it seems");
        CU_ASSERT_EQUAL(ferry_device_get_properties(dev[i])->unified, 0); /* the probe failed */
        CU_ASSERT_STRING_EQUAL(ferry_device_get_properties(dev[i])->name, seen[i]->name);
    }
    ferry_runtime_close(rt);
}

static int err_in_log;

static void ask_for_a_device(void *arg, int level, const char *line)
{
    ferry_device *dev;

    (void)level;
    (void)line;
    err_in_log = ferry_runtime_get_device(arg, "beta", &dev);
}

static void a_log_callback_may_request_a_device(void)
{
    ferry_runtime *rt = fakes_open(fakes_five(), NULL, NULL);

    err_in_log = 1;
    CU_ASSERT_EQUAL(ferry_runtime_set_option(rt, "alpha", "nonsense", "1"), 0);
    ferry_log_set_handler(ask_for_a_device, rt);
    CU_ASSERT_STRING_EQUAL(fakes_name_of(rt, "alpha"), "alpha:0");
    ferry_log_set_handler(NULL, NULL);
    CU_ASSERT_EQUAL(err_in_log, 0);
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(enumerating_opens_the_allowed_plugins_and_no_device),
    FERRY_TEST(enumerating_one_device_of_a_plugin_lists_only_that_device),
    FERRY_TEST(all_runtimes_share_one_object_for_an_open_device),
    FERRY_TEST(a_plugin_is_opened_once_in_a_process_and_a_device_as_often_as_needed),
    FERRY_TEST(options_of_the_api_precede_those_of_the_file),
    FERRY_TEST(invalid_options_are_refused),
    FERRY_TEST(unknown_options_of_a_plugin_are_warnings_and_invalid_ones_errors),
    FERRY_TEST(a_failed_plugin_is_retried_with_other_options),
    FERRY_TEST(every_option_reports_its_value_and_source),
    FERRY_TEST(a_plugin_that_crashes_or_hangs_is_a_line_of_the_load_report),
    FERRY_TEST(a_probed_plugin_is_not_loaded_in_the_parent),
    FERRY_TEST(all_plugins_are_probed_except_excluded_ones),
    FERRY_TEST(null_is_refused_and_close_accepts_it),
    FERRY_TEST(every_list_has_a_count_and_an_at_function),
    FERRY_TEST(concurrent_requests_of_threads_return_the_same_device),
    FERRY_TEST(properties_stay_while_another_thread_opens_the_device),
    FERRY_TEST(a_log_callback_may_request_a_device),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "runtime", cases, FERRY_TEST_COUNT(cases));
}
