/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Compares the library with the model: every sequence of operations up to FERRY_TEST_LENGTH (4),
 * every state that any sequence can reach, and every call that can fail in each of those states.
 * Prints the numbers of sequences and states.
 */

#define ENOUGH 10 /* maximum number of failures to print */

static bool peer;    /* of the current world */
static bool threads; /* its streams are threads: fewer steps per second */
static bool settle;
static unsigned bad;

static void begin(bool settled)
{
    settle = settled;
    bad = 0;
    peer = !strcmp(wx_running()->options[3], "on");
    threads = !strcmp(wx_running()->options[0], "plugin");
    CU_ASSERT_FATAL(rig_open(peer));
}

static void end(void)
{
    CU_ASSERT_EQUAL(bad, 0);
}

/* ---- sequences ------------------------------------------------------------------------------ */

static bool walk(const unsigned *ops, unsigned length)
{
    bool ok = rig_begin(settle);

    for (unsigned i = 0; ok && i < length; i++)
        ok = rig_step(ops[i]);
    return rig_end(ok && rig_check_contents());
}

/* The next sequence of the same length, as a number with MODEL_OPS digits. */
static bool advance(unsigned *ops, unsigned length)
{
    while (length && ++ops[length - 1] == MODEL_OPS)
        ops[--length] = 0;
    return length != 0;
}

static unsigned longest(void)
{
    const char *text = getenv("FERRY_TEST_LENGTH");
    bool quick = ferry_test_is_slow() || getenv("FERRY_TEST_QUICK") || threads;
    unsigned length = text ? (unsigned)strtoul(text, NULL, 10) : quick ? 3 : 4;

    if (!text && threads && getenv("FERRY_TEST_QUICK"))
        length = 2; /* each step waits for a thread of the driver's double */

    return length > 8 ? 8 : length;
}

static void walk_all(void)
{
    unsigned long long walked = 0;

    for (unsigned length = 0; length <= longest(); length++) {
        unsigned ops[8] = { 0 };

        do {
            if (!walk(ops, length) && ++bad == ENOUGH)
                break;
            walked++;
        } while (advance(ops, length));
    }
    printf("     %llu sequences of up to %u of %d operations\n", walked, longest(), MODEL_OPS);
}

static void every_sequence_agrees_with_the_model(void)
{
    begin(true);
    walk_all();
    end();
}

static void every_sequence_agrees_while_work_is_pending(void)
{
    begin(false);
    walk_all();
    end();
}

static void a_wrong_model_is_detected(void)
{
    begin(true);
    CU_ASSERT(rig_begin(settle));
    CU_ASSERT(rig_step(7)); /* overwrite(dev0) */
    rig_mislead();
    CU_ASSERT_FALSE(rig_step(2)); /* read(dev1) */
    rig_end(false);
    end();
}

/* ---- states --------------------------------------------------------------------------------- */

/* The sequence that leads to a state. */
struct path {
    bool known;
    unsigned length, ops[RIG_STEPS];
};

static struct path paths[MODEL_STATES];
static unsigned found[MODEL_STATES], nfound;

static void note_state(const struct path *to, unsigned op, const struct model *m)
{
    unsigned state = model_state(m);
    struct path *p = &paths[state];

    if (p->known)
        return;
    if (to)
        *p = *to;
    if (to)
        p->ops[p->length++] = op;
    p->known = true;
    found[nfound++] = state;
}

/* Breadth first, so that the paths are the shortest. */
static void find_states(void)
{
    struct model start;

    memset(paths, 0, sizeof(paths));
    nfound = 0;
    model_init(&start, peer);
    note_state(NULL, 0, &start);
    for (unsigned i = 0; i < nfound; i++)
        for (unsigned op = 0; op < MODEL_OPS; op++) {
            const struct path *to = &paths[found[i]];
            struct model m = start;

            for (unsigned k = 0; k < to->length; k++)
                model_step(&m, &model_ops[to->ops[k]], 0);
            model_step(&m, &model_ops[op], 0);
            note_state(to, op, &m);
        }
}

static bool go_to(const struct path *p)
{
    bool ok = rig_begin(settle);

    for (unsigned i = 0; ok && i < p->length; i++)
        ok = rig_step(p->ops[i]);
    return ok;
}

/* Calls `act` for each state and operation until enough failures were seen. */
static unsigned long long at_every_state(unsigned long long (*act)(const struct path *, unsigned))
{
    unsigned long long n = 0;
    unsigned stride = ferry_test_is_slow() || threads ? 17 : 1;

    find_states();
    for (unsigned i = 0; i < nfound && bad < ENOUGH; i += stride)
        for (unsigned op = 0; op < MODEL_OPS && bad < ENOUGH; op++)
            n += act(&paths[found[i]], op);
    return n;
}

static unsigned long long one_more_step(const struct path *p, unsigned op)
{
    bool ok = go_to(p) && rig_step(op);

    bad += !rig_end(ok && rig_check_contents());
    return 1;
}

static void walk_states(void)
{
    unsigned long long n = at_every_state(one_more_step);

    printf("     %u states, at most %u operations away, %llu transitions\n", nfound,
           paths[found[nfound - 1]].length, n);
}

static void every_reachable_state_agrees_with_the_model(void)
{
    begin(true);
    walk_states();
    end();
}

static void every_reachable_state_agrees_while_work_is_pending(void)
{
    begin(false);
    walk_states();
    end();
}

/* ---- failures ------------------------------------------------------------------------------- */

static unsigned long long fail_each_call(const struct path *p, unsigned op)
{
    unsigned long long n = 0;

    for (int dev = 0; dev < 2; dev++) {
        enum rig_outcome outcome = RIG_WITHSTOOD;

        for (unsigned nth = 1; outcome == RIG_WITHSTOOD; nth++) {
            outcome = go_to(p) ? rig_step_failing(op, dev, nth) : RIG_WRONG;
            if (!rig_end(outcome != RIG_WRONG && rig_check_contents())) {
                bad++;
                break;
            }
            n += outcome == RIG_WITHSTOOD;
        }
    }
    return n;
}

static unsigned long long fail_each_copy_later(const struct path *p, unsigned op)
{
    unsigned long long n = 0;

    for (unsigned first = 0; first < MODEL_SLOTS; first++)
        for (int dev = 0; dev < 2; dev++) {
            enum rig_outcome outcome =
                go_to(p) ? rig_step_failing_later(op, dev, 1, first) : RIG_WRONG;

            bad += !rig_end(outcome == RIG_UNREACHED ||
                            (outcome == RIG_WITHSTOOD && rig_check_contents()));
            n += outcome == RIG_WITHSTOOD;
        }
    return n;
}

static void fail(unsigned long long (*act)(const struct path *, unsigned))
{
    unsigned long long n = at_every_state(act);

    printf("     %u states, %llu calls failed\n", nfound, n);
    CU_ASSERT(n > 0);
}

static void a_call_that_fails_changes_nothing(void)
{
    begin(true);
    fail(fail_each_call);
    end();
}

static void a_call_that_fails_changes_nothing_while_work_is_pending(void)
{
    begin(false);
    fail(fail_each_call);
    end();
}

static void an_asynchronously_failed_copy_is_never_read_as_data(void)
{
    begin(true);
    fail(fail_each_copy_later);
    end();
}

static void a_failed_copy_among_pending_ones_is_never_read_as_data(void)
{
    begin(false);
    fail(fail_each_copy_later);
    end();
}

/* ---- worlds --------------------------------------------------------------------------------- */

static void nothing_is_left_at_the_end(void)
{
    begin(true);
    CU_ASSERT(rig_close());
}

/* Memory allocated in a queue's order: the doubles end a program that uses it too early. */
static void a_prefetch_behind_slow_work_is_read_on_another_queue(void)
{
    const int64_t n = INT64_C(1) << 22;
    ferry_memory *m, *busy = NULL;
    ferry_queue *q;
    ferry_ref at;

    begin(true);
    q = wx_queue_create(1);
    m = wx_memory_at(0, 7);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(1), (size_t)n * 4, &busy), FERRY_OK);
    at = wx_access(busy, q, FERRY_WRITE);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(ferry_math_fill(q, FERRY_F32, n, i, at), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_memory_prefetch(m, wx_dev(1), q), FERRY_OK);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, 7));
    ferry_memory_release(m);
    ferry_memory_release(busy);
    ferry_queue_destroy(q);
    end();
}

/*
 * Memory allocated in the order of a queue and freed in that of the default queue: the double
 * reports a block that is freed before its queue has reached the allocation.
 */
static void an_access_that_fails_behind_slow_work_frees_its_block_in_order(void)
{
    const int64_t n = INT64_C(1) << 20;
    ferry_memory *m, *busy = NULL;
    ferry_queue *q;
    ferry_ref at;
    unsigned nth = 0;
    int err;

    begin(true);
    q = wx_queue_create(1);
    m = wx_memory_at(0, 7);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(1), (size_t)n * 4, &busy), FERRY_OK);
    at = wx_access(busy, q, FERRY_WRITE);
    do {
        for (int i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(ferry_math_fill(q, FERRY_F32, n, i, at), FERRY_OK);
        wx_fail_next(0, SIM_CALL_ANY, ++nth, FERRY_EDEVICE);
        err = ferry_memory_access(m, wx_dev(1), FERRY_READ, q, &(ferry_ref){ NULL, 0 });
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        wx_run_all();
    } while (err && nth < 40);
    CU_ASSERT(nth > 3 && !err);
    CU_ASSERT(wx_reads_on(wx_queue(1), m, 7));
    ferry_memory_release(m);
    ferry_memory_release(busy);
    ferry_queue_destroy(q);
    end();
}

/* The cell of the result must not be reused before the queue is done with it. */
static void a_reduction_that_fails_leaves_nothing_behind(void)
{
    const int64_t n = INT64_C(1) << 20;
    ferry_memory *m = NULL;
    ferry_queue *q;
    ferry_ref at;
    double sum = 0;
    unsigned nth = 0;
    int err;

    begin(true);
    q = wx_queue_create(0);
    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx_dev(0), (size_t)n * 4, &m), FERRY_OK);
    at = wx_access(m, q, FERRY_WRITE);
    do {
        for (int i = 3; i > 0; i--)
            CU_ASSERT_EQUAL(ferry_math_fill(q, FERRY_F32, n, i, at), FERRY_OK);
        wx_fail_next(0, SIM_CALL_ANY, ++nth, FERRY_EDEVICE);
        err = ferry_math_asum(q, FERRY_F32, n, ferry_ref_const(at), &sum);
        wx_fail_next(0, SIM_CALL_ANY, 0, 0);
        wx_run_all();
    } while (err && nth < 20);
    CU_ASSERT(nth > 3 && !err);
    CU_ASSERT_EQUAL(sum, (double)n);
    ferry_memory_release(m);
    ferry_queue_destroy(q);
    end();
}

/* ---- the trace ------------------------------------------------------------------------------ */

static char trace_path[] = "/tmp/ferry-test-coherence-XXXXXX";

/* Adds the bytes of an event of that name. Each event is a line. */
static void add_event(const char *line, const char *name, uint64_t *copies, uint64_t *bytes)
{
    const char *at = strstr(line, "\"bytes\":");
    char start[32];

    snprintf(start, sizeof(start), "{\"name\":\"%s\",", name);
    if (strncmp(line, start, strlen(start)) != 0 || !at)
        return;
    ++*copies;
    *bytes += strtoull(at + strlen("\"bytes\":"), NULL, 10);
}

static void check_trace(const ferry_device_stats *moved)
{
    FILE *f = fopen(trace_path, "r");
    ferry_device_stats traced = { 0 };
    char line[1024];

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof(line), f)) {
        add_event(line, "h2d", &traced.copies_h2d, &traced.bytes_h2d);
        add_event(line, "d2h", &traced.copies_d2h, &traced.bytes_d2h);
        add_event(line, "d2d", &traced.copies_d2d, &traced.bytes_d2d);
    }
    fclose(f);
    CU_ASSERT(moved->bytes_h2d > 0 && moved->bytes_d2h > 0 && moved->bytes_d2d > 0);
    CU_ASSERT_EQUAL(traced.copies_h2d, moved->copies_h2d);
    CU_ASSERT_EQUAL(traced.copies_d2h, moved->copies_d2h);
    CU_ASSERT_EQUAL(traced.copies_d2d, moved->copies_d2d);
    CU_ASSERT_EQUAL(traced.bytes_h2d, moved->bytes_h2d);
    CU_ASSERT_EQUAL(traced.bytes_d2h, moved->bytes_d2h);
    CU_ASSERT_EQUAL(traced.bytes_d2d, moved->bytes_d2d);
}

/* The statistics of both devices since they were opened. */
static ferry_device_stats all_moved(void)
{
    ferry_device_stats sum = { 0 };

    for (int i = 0; i < WX_DEVICES; i++) {
        ferry_device_stats s = { .struct_size = sizeof s };

        FX_OK(ferry_device_get_stats(wx_dev(i), &s));
        sum.copies_h2d += s.copies_h2d;
        sum.copies_d2h += s.copies_d2h;
        sum.copies_d2d += s.copies_d2d;
        sum.bytes_h2d += s.bytes_h2d;
        sum.bytes_d2h += s.bytes_d2h;
        sum.bytes_d2d += s.bytes_d2d;
    }
    return sum;
}

/* Runs in a process of its own, because the trace is only complete when the process ends. */
static int traced_program(int out)
{
    ferry_device_stats moved;

    setenv("FERRY_TRACE", trace_path, 1);
    begin(false);
    walk_states();
    moved = all_moved();
    if (bad || !rig_close() || write(out, &moved, sizeof(moved)) != (ssize_t)sizeof(moved))
        return 1;
    return 0;
}

/* The steps themselves compare ferry's counters with those of sim and the model. */
static void the_trace_has_every_byte_that_was_counted(void)
{
    ferry_device_stats moved = { 0 };
    int ends[2], status = -1, fd = mkstemp(trace_path);
    pid_t child;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(traced_program(ends[1]));
    close(ends[1]);
    CU_ASSERT_EQUAL(read(ends[0], &moved, sizeof(moved)), (ssize_t)sizeof(moved));
    close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    check_trace(&moved);
    unlink(trace_path);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_wrong_model_is_detected),
    FERRY_TEST(every_reachable_state_agrees_with_the_model),
    FERRY_TEST(every_reachable_state_agrees_while_work_is_pending),
    FERRY_TEST(a_call_that_fails_changes_nothing),
    FERRY_TEST(a_call_that_fails_changes_nothing_while_work_is_pending),
    FERRY_TEST(an_asynchronously_failed_copy_is_never_read_as_data),
    FERRY_TEST(a_failed_copy_among_pending_ones_is_never_read_as_data),
    FERRY_TEST(every_sequence_agrees_with_the_model),
    FERRY_TEST(every_sequence_agrees_while_work_is_pending),
    FERRY_TEST(nothing_is_left_at_the_end),
};

static const ferry_test_case traced[] = {
    FERRY_TEST(the_trace_has_every_byte_that_was_counted),
};

/* Failures of queued work are left to the fault tests, because they end the whole context. */
static ferry_test_case doubles[] = {
    FERRY_TEST(a_wrong_model_is_detected),
    FERRY_TEST(every_reachable_state_agrees_with_the_model),
    FERRY_TEST(every_reachable_state_agrees_while_work_is_pending),
    FERRY_TEST(a_call_that_fails_changes_nothing),
    FERRY_TEST(a_call_that_fails_changes_nothing_while_work_is_pending),
    FERRY_TEST(every_sequence_agrees_with_the_model),
    FERRY_TEST(every_sequence_agrees_while_work_is_pending),
    FERRY_TEST(a_prefetch_behind_slow_work_is_read_on_another_queue),
    FERRY_TEST(an_access_that_fails_behind_slow_work_frees_its_block_in_order),
    FERRY_TEST(a_reduction_that_fails_leaves_nothing_behind),
    FERRY_TEST(nothing_is_left_at_the_end),
};

static void is_left_to_ci(void)
{
    ferry_test_skip("FERRY_TEST_QUICK=2: .ci/run and make check-long run it on this device");
}

int main(int argc, char **argv)
{
    static const char *const cuda_direct[] = { "plugin", "cuda", "peer", "on", NULL };
    static const char *const cuda_staged[] = { "plugin", "cuda", "peer", "off", NULL };
    static const char *const direct[] = { "clock", "manual", "peer", "on", NULL };
    static const char *const staged[] = { "clock", "manual", "peer", "off", NULL };
    static const struct wx_world worlds[] = {
        { "peer copies", direct, cases, FERRY_TEST_COUNT(cases) },
        { "through the host", staged, cases, FERRY_TEST_COUNT(cases) },
        { "traced", direct, traced, FERRY_TEST_COUNT(traced) },
        { "cuda (double), peer copies", cuda_direct, doubles, FERRY_TEST_COUNT(doubles) },
        { "cuda (double), through the host", cuda_staged, doubles, FERRY_TEST_COUNT(doubles) },
    };
    const char *backends = getenv("FERRY_TEST_BACKENDS");
    bool with_doubles = backends && strstr(backends, "cuda(double)");
    /* With FERRY_TEST_QUICK=2 the double has peer copies only; sim is tested with both ways. */
    size_t omitted = !with_doubles ? 2 : ferry_test_is_shortest() ? 1 : 0;

    for (size_t i = 0; ferry_test_is_shortest() && i < FERRY_TEST_COUNT(doubles); i++)
        if (doubles[i].run == a_call_that_fails_changes_nothing ||
            doubles[i].run == a_call_that_fails_changes_nothing_while_work_is_pending)
            doubles[i].run = is_left_to_ci;
    return wx_main(argc, argv, "coherence", worlds, FERRY_TEST_COUNT(worlds) - omitted);
}
