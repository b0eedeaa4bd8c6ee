/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE

#include "fixture.h"
#include "backends/sim/control.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * FERRY_TRACE, as seen by a reader of the file. The traced program is a child process of this one.
 */

#define ELEMENTS 1000

static char path[] = "/tmp/ferry-test-trace-XXXXXX";

/*
 * Copies a blob to the device, back, and to the device again; the statistics of every transfer go
 * to the pipe on stdout.
 */
static int traced_program(int out)
{
    const int64_t shape[] = { ELEMENTS };
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_blob *b;
    ferry_device_stats s = { .struct_size = sizeof s };
    double sum;

    setenv("FERRY_TRACE", path, 1);
    if (ferry_runtime_open(&options, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_blob_create(dev, FERRY_F32, shape, 1, &b) || ferry_blob_set_name(b, "conv\"1\"\n"))
        return 1;
    if (!ferry_blob_mutable_host_data(b) || !ferry_blob_device_data(b).handle ||
        !ferry_blob_mutable_device_data(b).handle || !ferry_blob_mutable_host_data(b) ||
        ferry_memory_prefetch(ferry_blob_data_memory(b), dev, NULL) ||
        ferry_blob_asum_data(b, &sum) || ferry_device_synchronize(dev) ||
        ferry_device_get_stats(dev, &s))
        return 2;
    if (write(out, &s, sizeof s) != (ssize_t)sizeof s)
        return 3;
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return 0;
}

#define BYTES (ELEMENTS * sizeof(float))

/* Makes calls of which some fail half-way and some have no effect. */
static int use_badly(ferry_device *dev, const struct sim_control *control, void *sim)
{
    ferry_memory *x = NULL, *y = NULL, *none = NULL;
    ferry_queue *q = ferry_device_queue(dev);
    ferry_cref in;
    double sum;

    if (ferry_memory_create(dev, BYTES, &x) || ferry_memory_create(dev, BYTES, &y) ||
        ferry_memory_create(dev, 0, &none) || !ferry_memory_mutable_host_data(x) ||
        !ferry_memory_mutable_host_data(none) || !ferry_memory_device_data(none).handle)
        return 4;
    control->fail_next(sim, SIM_CALL_EVENT, 1, FERRY_EDEVICE);
    if (!ferry_memory_prefetch(x, dev, NULL)) /* a copy that cannot be recorded */
        return 5;
    in = ferry_memory_device_data(x);
    if (ferry_math_copy(q, FERRY_F32, ELEMENTS, in, ferry_memory_overwrite_device_data(y)))
        return 6;
    control->fail_next(sim, SIM_CALL_MEMCPY, 2, FERRY_EDEVICE);
    if (!ferry_math_dot(q, FERRY_F32, ELEMENTS, in, in, &sum) || /* no fallback: the call failed */
        ferry_math_asum(q, FERRY_F32, ELEMENTS, in, &sum))
        return 7;
    if (!ferry_memory_mutable_host_data(x) || ferry_memory_allow_eviction(x) ||
        ferry_memory_allow_eviction(y) ||
        ferry_device_set_budget(dev, 1)) /* x is stale there, y is not */
        return 8;
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_memory_release(none);
    return 0;
}

static int traced_failures(int out)
{
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    const struct sim_control *control;
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_device_stats s = { .struct_size = sizeof s };
    void *sim;
    int err;

    setenv("FERRY_TRACE", path, 1);
    if (ferry_runtime_open(&options, &rt) ||
        ferry_runtime_set_option(rt, "sim", "ops", "minimal") ||
        ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_device_native(dev, "sim_control", (void *)&control, sizeof control) ||
        ferry_device_native(dev, "sim_device", &sim, sizeof sim))
        return 1;
    err = use_badly(dev, control, sim);
    if (err || ferry_device_get_stats(dev, &s))
        return err ? err : 2;
    if (write(out, &s, sizeof s) != (ssize_t)sizeof s)
        return 3;
    ferry_runtime_close(rt);
    return 0;
}

/* One block is ferry's own, the other the program's. */
static int traced_adoption(int out)
{
    static float own[ELEMENTS];
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_memory *x, *y;
    ferry_device_stats s = { .struct_size = sizeof s };

    setenv("FERRY_TRACE", path, 1);
    if (ferry_runtime_open(&options, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_memory_create(dev, BYTES, &x) || ferry_memory_create(dev, BYTES, &y) ||
        ferry_memory_adopt(y, NULL, (ferry_ref){ own, 0 }, BYTES, 0, NULL, NULL))
        return 1;
    if (!ferry_memory_overwrite_host_data(x) || !ferry_memory_device_data(x).handle ||
        !ferry_memory_device_data(y).handle || ferry_device_synchronize(dev) ||
        ferry_device_get_stats(dev, &s))
        return 2;
    if (write(out, &s, sizeof s) != (ssize_t)sizeof s)
        return 3;
    ferry_memory_release(x);
    ferry_memory_release(y);
    ferry_runtime_close(rt);
    return 0;
}

static ferry_device_stats run_traced(int (*program)(int out))
{
    ferry_device_stats s = { 0 };
    int ends[2], status = -1, fd = mkstemp(path);
    pid_t child;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0)
        exit(program(ends[1]));
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
    ferry_device_stats s = run_traced(traced_program);
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

static void only_counted_operations_are_traced(void)
{
    ferry_device_stats s = run_traced(traced_failures);
    uint64_t h2d = 0, d2h = 0, d2d = 0, ignored = 0;
    json_error_t wrong;
    json_t *root = json_load_file(path, 0, &wrong), *events = json_object_get(root, "traceEvents");

    CU_ASSERT_PTR_NOT_NULL_FATAL(events);
    CU_ASSERT_EQUAL(count(events, "h2d", NULL, &h2d), s.copies_h2d);
    CU_ASSERT_EQUAL(count(events, "d2h", NULL, &d2h), s.copies_d2h);
    CU_ASSERT_EQUAL(count(events, "d2d", NULL, &d2d), s.copies_d2d);
    CU_ASSERT(s.copies_h2d == 2 && h2d == s.bytes_h2d);
    CU_ASSERT(s.copies_d2h == 3 && d2h == s.bytes_d2h);
    CU_ASSERT(s.copies_d2d == 1 && d2d == s.bytes_d2d);
    CU_ASSERT_EQUAL(count(events, "fallback", NULL, &ignored), s.fallbacks);
    CU_ASSERT_EQUAL(s.fallbacks, 1);
    CU_ASSERT_EQUAL(count(events, "evict", NULL, &ignored), s.evictions);
    CU_ASSERT_EQUAL(s.evictions, 1);
    CU_ASSERT_EQUAL(count(events, "alloc", NULL, &ignored) +
                        count(events, "pool hit", NULL, &ignored),
                    s.allocs);
    CU_ASSERT_EQUAL(count(events, "free", NULL, &ignored), s.frees);
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

static void a_copy_of_unpinned_memory_is_marked_in_the_trace(void)
{
    ferry_device_stats s = run_traced(traced_adoption);
    json_error_t wrong;
    json_t *root = json_load_file(path, 0, &wrong), *event;
    unsigned copies = 0, unpinned = 0;
    size_t i;

    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "name")), "h2d") != 0)
            continue;
        copies++;
        unpinned += json_is_true(json_object_get(json_object_get(event, "args"), "unpinned"));
    }
    CU_ASSERT_EQUAL(s.copies_h2d, 2);
    CU_ASSERT_EQUAL(copies, 2);
    CU_ASSERT_EQUAL(unpinned, 1);
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

    run_traced(traced_program);
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

/* ---- files that cannot take it ---- */

#define ROUNDS 1500 /* more than a size-limited file can hold */
#define LIMIT  (100u << 10)

static char said[4096]; /* on standard error */

/* Copies to the device and back, of a blob whose name is not valid UTF-8. */
static int many_copies(void)
{
    const int64_t shape[] = { 1 };
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_blob *b;

    if (ferry_runtime_open(&options, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_blob_create(dev, FERRY_F32, shape, 1, &b) ||
        ferry_blob_set_name(b, "\xc3\xa9\xff \xe2\x82 \xed\xa0\x80 \xc0\x80 \xf0\x9f\x9a\xa2"))
        return 1;
    for (int i = 0; i < ROUNDS; i++)
        if (!ferry_blob_mutable_host_data(b) || !ferry_blob_mutable_device_data(b).handle)
            return 2;
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return 0;
}

static void run_child(const char *trace, rlim_t limit)
{
    const struct rlimit most = { limit, limit };

    setenv("FERRY_TRACE", trace, 1);
    signal(SIGXFSZ, SIG_IGN);
    alarm(60); /* ends a child that hangs */
    if (limit && setrlimit(RLIMIT_FSIZE, &most))
        exit(3);
    exit(many_copies());
}

/* Traces them into `trace`, a file that must not exceed `limit`, unless that is 0. */
static void run_limited(const char *trace, rlim_t limit)
{
    int ends[2], status = -1;
    size_t length = 0;
    ssize_t n;
    pid_t child;

    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run_child(trace, limit);
    }
    close(ends[1]);
    while ((n = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)n;
    said[length] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

static void a_fifo_is_refused(void)
{
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    run_limited(path, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "not a regular file"));
    fd = open(path, O_RDONLY | O_NONBLOCK); /* with a reader it can be opened */
    run_limited(path, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "not a regular file"));
    close(fd);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

static void a_full_disk_is_logged_once_and_leaves_a_readable_trace(void)
{
    int fd = mkstemp(path);
    unsigned long events = 0;
    const char *line;
    json_error_t wrong;
    json_t *root;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    run_limited(path, LIMIT);
    line = strstr(said, "the trace ends after ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_PTR_NULL(strstr(line + 1, "the trace ends after "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "FERRY_TRACE: /tmp/ferry-test-trace-"));
    CU_ASSERT_EQUAL(sscanf(line, "the trace ends after %lu events", &events), 1);
    root = json_load_file(path, 0, &wrong);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT(events > 100);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "traceEvents")), events);
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
    run_limited("/dev/full", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "FERRY_TRACE: /dev/full: No space left on device\n"));
}

static void a_name_that_is_not_utf8_gives_valid_json(void)
{
    int fd = mkstemp(path);
    unsigned named = 0;
    json_error_t wrong;
    json_t *root, *event;
    size_t i;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    run_limited(path, 0);
    CU_ASSERT_STRING_EQUAL(said, "");
    root = json_load_file(path, 0, &wrong);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *blob =
            json_string_value(json_object_get(json_object_get(event, "args"), "blob"));

        named += blob && strcmp(blob, "\u00e9\ufffd \ufffd\ufffd \ufffd\ufffd\ufffd "
                                      "\ufffd\ufffd \U0001f6a2") == 0;
    }
    CU_ASSERT(named >= 2 * ROUNDS - 1);
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

/* ---- slices of the program in device time ---- */

/* Two copies to one memory, and slices within a slice that reads it. */
static int traced_slices(int out)
{
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_device_stats s = { .struct_size = sizeof s };
    ferry_memory *m;
    ferry_queue *q;

    setenv("FERRY_TRACE", path, 1);
    if (ferry_runtime_open(&options, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_memory_create(dev, BYTES, &m))
        return 1;
    q = ferry_device_queue(dev);
    for (int i = 0; i < 2; i++)
        if (!ferry_memory_mutable_host_data(m) || ferry_memory_prefetch(m, dev, NULL) ||
            ferry_queue_synchronize(q))
            return 2;
    ferry_trace_push(q, "program", "outer");
    for (int i = 0; i < 2; i++) {
        ferry_trace_push(q, "program", i ? "second" : "first");
        ferry_trace_reads(m);
        if (ferry_math_scal(q, FERRY_F32, ELEMENTS, 2, ferry_memory_mutable_device_data(m)))
            return 3;
        ferry_trace_pop();
    }
    ferry_trace_pop();
    if (ferry_device_get_stats(dev, &s) || write(out, &s, sizeof s) != (ssize_t)sizeof s)
        return 4;
    ferry_memory_release(m);
    ferry_runtime_close(rt);
    return 0;
}

/* A slice that waits for its times when the program forks: the child opens devices of its own. */
static int traced_fork(int out)
{
    ferry_runtime_options options = { .struct_size = sizeof options, .backend = "sim" };
    ferry_device_stats s = { .struct_size = sizeof s };
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_memory *m;
    int status = -1;
    pid_t child;

    setenv("FERRY_TRACE", path, 1);
    mallopt(M_PERTURB, 0xa5); /* freed memory has other contents */
    if (ferry_runtime_open(&options, &rt) ||
        ferry_runtime_set_option(rt, "sim", "latency", "500000") ||
        ferry_runtime_get_device(rt, NULL, &dev) || ferry_memory_create(dev, BYTES, &m))
        return 1;
    ferry_trace_push(ferry_device_queue(dev), "program", "waits");
    if (!ferry_memory_overwrite_host_data(m) || ferry_memory_prefetch(m, dev, NULL))
        return 2;
    ferry_trace_pop();
    fflush(NULL);
    child = fork();
    if (child == 0) {
        ferry_memory_release(m);
        ferry_runtime_close(rt);
        if (ferry_runtime_open(&options, &rt) || ferry_runtime_get_device(rt, NULL, &dev))
            _exit(3);
        ferry_runtime_close(rt);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        return 4;
    ferry_memory_release(m);
    ferry_runtime_close(rt);
    return write(out, &s, sizeof s) != (ssize_t)sizeof s;
}

static void a_child_uses_no_slice_of_its_parent(void)
{
    (void)run_traced(traced_fork);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* The n-th slice of that name on the timeline of the device. */
static const json_t *on_device(const json_t *events, const char *name, int n)
{
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        const char *is = json_string_value(json_object_get(event, "name"));

        if (number_of(event, "tid") >= 1000 && json_object_get(event, "dur") && is &&
            !strcmp(is, name) && n-- == 0)
            return event;
    }
    return NULL;
}

/* Whether an arrow begins or ends, by its phase, in the slice. */
static bool has_arrow(const json_t *events, const json_t *slice, const char *phase)
{
    double begin = number_of(slice, "ts"), end = begin + number_of(slice, "dur");
    size_t i, ends = 0;
    json_t *event;

    json_array_foreach(events, i, event) ends +=
        !strcmp(json_string_value(json_object_get(event, "ph")), phase) &&
        number_of(event, "tid") == number_of(slice, "tid") &&
        number_of(event, "ts") >= begin - 0.002 && number_of(event, "ts") <= end + 0.002;
    return ends == 1;
}

static bool is_within(const json_t *inner, const json_t *outer)
{
    double begin = number_of(inner, "ts"), end = begin + number_of(inner, "dur");

    return begin >= number_of(outer, "ts") - 0.002 &&
           end <= number_of(outer, "ts") + number_of(outer, "dur") + 0.002;
}

static void slices_nest_and_an_arrow_starts_at_the_latest_copy(void)
{
    const json_t *outer, *first, *second, *copy;
    json_t *root, *events;
    json_error_t wrong;

    (void)run_traced(traced_slices);
    root = json_load_file(path, 0, &wrong);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    events = json_object_get(root, "traceEvents");
    outer = on_device(events, "outer", 0);
    first = on_device(events, "first", 0);
    second = on_device(events, "second", 0);
    copy = on_device(events, "h2d on the device", 1);
    CU_ASSERT_FATAL(outer && first && second && copy);
    CU_ASSERT(is_within(first, outer) && is_within(second, outer));
    CU_ASSERT(number_of(first, "ts") + number_of(first, "dur") <= number_of(second, "ts") + 0.002);
    CU_ASSERT(has_arrow(events, first, "f"));
    CU_ASSERT(!has_arrow(events, second, "f")); /* the older copy has no reader */
    CU_ASSERT(has_arrow(events, copy, "s"));
    json_decref(root);
    unlink(path);
    memcpy(path, "/tmp/ferry-test-trace-XXXXXX", sizeof path);
}

int main(int argc, char **argv)
{
    static const ferry_test_case cases[] = {
        FERRY_TEST(every_transfer_is_an_event_with_its_reason),
        FERRY_TEST(only_counted_operations_are_traced),
        FERRY_TEST(a_copy_of_unpinned_memory_is_marked_in_the_trace),
        FERRY_TEST(names_are_escaped),
        FERRY_TEST(a_fifo_is_refused),
        FERRY_TEST(a_full_disk_is_logged_once_and_leaves_a_readable_trace),
        FERRY_TEST(a_name_that_is_not_utf8_gives_valid_json),
        FERRY_TEST(slices_nest_and_an_arrow_starts_at_the_latest_copy),
        FERRY_TEST(a_child_uses_no_slice_of_its_parent),
    };

    return ferry_test_main(argc, argv, "trace", cases, FERRY_TEST_COUNT(cases));
}
