/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE

#include "fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* FERRY_TRACE, as whoever opens the file sees it. The traced program is a child of this one. */

#define ELEMENTS 1000

static char path[] = "/tmp/ferry-test-trace-XXXXXX";

/*
 * Moves a blob to the device, back, and to the device again; every transfer is in the statistics of
 * stdout's pipe.
 */
static int traced_program(int out)
{
    const int64_t dims[] = { ELEMENTS };
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_blob *b;
    ferry_stats s;
    double sum;

    setenv("FERRY_TRACE", path, 1);
    if (ferry_runtime_open(&options, &rt) || ferry_runtime_device(rt, NULL, &dev) ||
        ferry_blob_create(dev, FERRY_F32, 1, dims, &b) || ferry_blob_set_name(b, "conv\"1\"\n"))
        return 1;
    if (!ferry_blob_mutable_host_data(b) || !ferry_blob_device_data(b).handle ||
        !ferry_blob_mutable_device_data(b).handle || !ferry_blob_mutable_host_data(b) ||
        ferry_memory_prefetch(ferry_blob_data_memory(b), dev, NULL) ||
        ferry_blob_asum_data(b, &sum) || ferry_device_synchronize(dev) ||
        ferry_device_stats(dev, &s, sizeof s))
        return 2;
    if (write(out, &s, sizeof s) != (ssize_t)sizeof s)
        return 3;
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return 0;
}

static ferry_stats run_traced(void)
{
    ferry_stats s = { 0 };
    int ends[2], status = -1, fd = mkstemp(path);
    pid_t child;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0)
        exit(traced_program(ends[1]));
    close(ends[1]);
    CU_ASSERT_EQUAL(read(ends[0], &s, sizeof s), (ssize_t)sizeof s);
    close(ends[0]);
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    return s;
}

/* Events of that name, and their bytes. */
static unsigned count(json_t *events, const char *name, const char *reason, uint64_t *bytes)
{
    unsigned n = 0;
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        json_t *args = json_object_get(event, "args");
        const char *why = json_string_value(json_object_get(args, "reason"));

        if (strcmp(json_string_value(json_object_get(event, "name")), name) != 0)
            continue;
        if (reason && (!why || strcmp(why, reason) != 0))
            continue;
        n++;
        *bytes += (uint64_t)json_integer_value(json_object_get(args, "bytes"));
    }
    return n;
}

static void every_transfer_is_an_event_with_its_reason(void)
{
    ferry_stats s = run_traced();
    uint64_t h2d = 0, d2h = 0, ignored = 0;
    json_error_t wrong;
    json_t *root = json_load_file(path, 0, &wrong), *events = json_object_get(root, "traceEvents");

    CU_ASSERT_PTR_NOT_NULL_FATAL(events);
    CU_ASSERT_EQUAL(count(events, "h2d", NULL, &h2d), s.copies_h2d);
    CU_ASSERT_EQUAL(count(events, "d2h", NULL, &d2h), s.copies_d2h);
    CU_ASSERT_EQUAL(h2d, s.bytes_h2d);
    CU_ASSERT_EQUAL(d2h, s.bytes_d2h);
    CU_ASSERT_EQUAL(s.copies_h2d, 2);
    CU_ASSERT_EQUAL(s.copies_d2h, 1);
    CU_ASSERT_EQUAL(count(events, "h2d", "read-miss", &ignored), 1);
    CU_ASSERT_EQUAL(count(events, "h2d", "prefetch", &ignored), 1);
    CU_ASSERT_EQUAL(count(events, "d2h", "write-miss", &ignored), 1);
    CU_ASSERT(count(events, "alloc", NULL, &ignored) >= 2);
    CU_ASSERT_EQUAL(count(events, "process_name", NULL, &ignored), 1);
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

static void names_are_escaped(void)
{
    json_error_t wrong;
    json_t *root, *event;
    size_t i;
    unsigned named = 0;

    run_traced();
    root = json_load_file(path, 0, &wrong);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *blob =
            json_string_value(json_object_get(json_object_get(event, "args"), "blob"));

        named += blob && strcmp(blob, "conv\"1\"\n") == 0;
    }
    CU_ASSERT_EQUAL(named, 3);
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(every_transfer_is_an_event_with_its_reason),
        FERRY_TEST(names_are_escaped),
    };

    return ferry_test_main(argc, argv, "trace", cases, FERRY_TEST_COUNT(cases));
}
