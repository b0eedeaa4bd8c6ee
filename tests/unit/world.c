/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include "core/device/device.h"
#include "cuda-double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    const struct wx_world *world;
    ferry_runtime *rt;
    ferry_device *dev[WX_DEVICES];
    void *sim[WX_DEVICES];
    const struct sim_control *control;
    const struct cuda_double_control *cuda; /* NULL: a world of sim's */
    ferry_device_stats mark[WX_DEVICES], before[WX_DEVICES];
    ferry_plugin_counters had[WX_DEVICES];
} wx;

/* ---- processes ------------------------------------------------------------------------------ */

static int run_world(int argc, char **argv, const char *suite, const struct wx_world *world)
{
    static char title[128];

    wx.world = world;
    snprintf(title, sizeof(title), "%s, %s", suite, world->name);
    return ferry_test_main(argc, argv, title, world->cases, world->ncases);
}

/* Runs a world in a process of its own. */
static int fork_world(int argc, char **argv, const char *suite, const struct wx_world *world)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int result = run_world(argc, argv, suite, world);

        wx_close();
        exit(result);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
        return WEXITSTATUS(status) == 77 ? 77 : WEXITSTATUS(status) != 0;
    printf("ferry-test: %s, %s: died, status %d\n", suite, world->name, status);
    return 1;
}

static bool is_of_cuda(const char *const *options)
{
    return options && options[0] && !strcmp(options[0], "plugin");
}

/* Whether the world's plugin was built. */
static bool is_there(const struct wx_world *world)
{
    return ferry_test_is_built(is_of_cuda(world->options) ? "cuda" : "sim");
}

int wx_main(int argc, char **argv, const char *suite, const struct wx_world *worlds, size_t n)
{
    int result = 77;

    for (size_t i = 0; i < n; i++) {
        if (is_there(&worlds[i]))
            result = ferry_test_worse(result, fork_world(argc, argv, suite, &worlds[i]));
        else
            printf("ferry-test: %s, %s: 0 passed, 0 failed, 1 skipped\n", suite, worlds[i].name);
    }
    return result;
}

/* ---- devices -------------------------------------------------------------------------------- */

/* One more than the world has, so that a device opened in addition is detected. */
static bool open_cuda(const char *const *options)
{
    setenv("CUDA_DOUBLE_DEVICES", "3", 1);
    for (; *options; options += 2)
        if (!strcmp(options[0], "peer"))
            setenv("CUDA_DOUBLE_PEERS", strcmp(options[1], "on") == 0 ? "1" : "0", 1);
    for (int i = 0; i < WX_DEVICES; i++) {
        char name[16];

        snprintf(name, sizeof(name), "cuda:%d", i);
        if (ferry_runtime_get_device(wx.rt, name, &wx.dev[i]) || !ferry_device_queue(wx.dev[i]))
            return false;
    }
    wx.cuda = cuda_double_find();
    if (wx.cuda)
        wx.cuda->hold(1);
    return wx.cuda != NULL;
}

static bool open_device(int i)
{
    char name[16];

    snprintf(name, sizeof(name), "sim:%d", i);
    return !ferry_runtime_get_device(wx.rt, name, &wx.dev[i]) && ferry_device_queue(wx.dev[i]) &&
           !ferry_device_native(wx.dev[i], "sim_control", (void *)&wx.control,
                                sizeof(wx.control)) &&
           !ferry_device_native(wx.dev[i], "sim_device", &wx.sim[i], sizeof(wx.sim[i]));
}

static bool open_sim(const char *const *options)
{
    bool ok = !ferry_runtime_set_option(wx.rt, "sim", "devices", "2");

    for (; ok && options && *options; options += 2)
        ok = !ferry_runtime_set_option(wx.rt, "sim", options[0], options[1]);
    for (int i = 0; ok && i < WX_DEVICES; i++)
        ok = open_device(i);
    return ok;
}

bool wx_open(const char *const *options)
{
    bool ok = !ferry_runtime_open(NULL, &wx.rt);

    if (ok)
        ok = is_of_cuda(options) ? open_cuda(options) : open_sim(options);
    if (!ok) {
        printf("     no devices: %s\n", ferry_last_error());
        wx_close();
    }
    return ok;
}

void wx_close(void)
{
    if (wx.cuda)
        wx.cuda->tolerate(1); /* a block whose release was made to fail is never released */
    ferry_runtime_close(wx.rt);
    wx.rt = NULL;
}

static ferry_device_stats stats_of(int i)
{
    ferry_device_stats now = { .struct_size = sizeof now };

    CU_ASSERT_EQUAL(ferry_device_get_stats(wx.dev[i], &now), FERRY_OK);
    return now;
}

ferry_plugin_counters wx_counters(int i)
{
    ferry_plugin_counters now;

    now.struct_size = sizeof(now);
    CU_ASSERT_EQUAL(wx.dev[i]->ops->counters(wx.dev[i]->dev, &now), FERRY_OK);
    return now;
}

const struct wx_world *wx_running(void)
{
    return wx.world;
}

void wx_begin(void)
{
    if (!wx.rt)
        CU_ASSERT_FATAL(wx_open(wx.world->options));
    for (int i = 0; i < WX_DEVICES; i++) {
        FX_OK(ferry_device_trim(wx.dev[i]));
        wx.before[i] = stats_of(i);
        wx.had[i] = wx_counters(i);
    }
    wx_mark();
}

void wx_end(void)
{
    wx_run_all();
    for (int i = 0; i < WX_DEVICES; i++) {
        ferry_plugin_counters now;

        CU_ASSERT_EQUAL(stats_of(i).live_bytes, wx.before[i].live_bytes);
        FX_OK(ferry_device_trim(wx.dev[i]));
        now = wx_counters(i);
        CU_ASSERT_EQUAL(now.live_bytes, wx.had[i].live_bytes);
        CU_ASSERT_EQUAL(now.live_queues, wx.had[i].live_queues);
        CU_ASSERT_EQUAL(now.live_events, wx.had[i].live_events);
    }
}

ferry_runtime *wx_runtime(void)
{
    return wx.rt;
}

ferry_device *wx_dev(int i)
{
    return wx.dev[i];
}

ferry_queue *wx_queue(int i)
{
    return ferry_device_queue(wx.dev[i]);
}

ferry_queue *wx_queue_create(int i)
{
    ferry_queue *q = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_queue_create(wx.dev[i], &q), FERRY_OK);
    return q;
}

/* ---- sim, or the doubles -------------------------------------------------------------------- */

#define CUDA_ERROR_MEMORY  2
#define CUDA_ERROR_UNKNOWN 999

void wx_fail_next(int i, uint32_t call, uint64_t nth, int code)
{
    if (wx.cuda && call == SIM_CALL_OP && code == FERRY_ENOMEM)
        wx.cuda->fail("cublasCreate", i ? 0 : (unsigned)nth, CUDA_ERROR_MEMORY);
    else if (wx.cuda)
        wx.cuda->fail("*", i ? 0 : (unsigned)nth, CUDA_ERROR_UNKNOWN);
    else
        wx.control->fail_next(wx.sim[i], call, nth, code);
}

void wx_fail_later(int i, uint32_t call, uint64_t nth, int code)
{
    wx.control->fail_later(wx.sim[i], call, nth, code);
}

void wx_lose(int i)
{
    wx.control->lose(wx.sim[i]);
}

void wx_hold(int i)
{
    wx.control->hold(wx.sim[i], 1);
}

void wx_let_go(int i)
{
    wx.control->hold(wx.sim[i], 0);
}

uint64_t wx_calls(int i, uint32_t call)
{
    if (wx.cuda)
        return i ? 0 : wx.cuda->calls("*");
    return wx.control->calls(wx.sim[i], call);
}

uint64_t wx_pending(int i)
{
    return wx.control->pending(wx.sim[i]);
}

uint64_t wx_run_all(void)
{
    uint64_t ran, all = 0;

    for (int i = 0; i < WX_DEVICES && wx.cuda; i++)
        CU_ASSERT_EQUAL(wx.dev[i]->ops->synchronize(wx.dev[i]->dev), FERRY_OK);
    if (wx.cuda)
        return 0;
    do {
        ran = 0;
        for (int i = 0; i < WX_DEVICES; i++)
            ran += wx.control->run_all(wx.sim[i]);
        all += ran;
    } while (ran);
    return all;
}

static int device_of(const ferry_queue *q)
{
    return ferry_queue_device(q) == wx.dev[0] ? 0 : 1;
}

uint64_t wx_run_queue(ferry_queue *q)
{
    int i = device_of(q);
    void *handle = NULL;

    if (wx.cuda)
        return ferry_queue_synchronize(q) != 0;
    if (q != wx_queue(i))
        CU_ASSERT_EQUAL_FATAL(ferry_queue_native(q, "sim_queue", &handle, sizeof(handle)),
                              FERRY_OK);
    return wx.control->step_queue(wx.sim[i], handle, UINT64_MAX);
}

/* ---- statistics ----------------------------------------------------------------------------- */

void wx_mark(void)
{
    for (int i = 0; i < WX_DEVICES; i++)
        wx.mark[i] = stats_of(i);
}

ferry_device_stats wx_since(int i)
{
    ferry_device_stats now = stats_of(i);

    now.copies_h2d -= wx.mark[i].copies_h2d;
    now.copies_d2h -= wx.mark[i].copies_d2h;
    now.copies_d2d -= wx.mark[i].copies_d2d;
    now.bytes_h2d -= wx.mark[i].bytes_h2d;
    now.bytes_d2h -= wx.mark[i].bytes_d2h;
    now.bytes_d2d -= wx.mark[i].bytes_d2d;
    now.allocs -= wx.mark[i].allocs;
    now.frees -= wx.mark[i].frees;
    now.evictions -= wx.mark[i].evictions;
    now.maps -= wx.mark[i].maps;
    return now;
}

/* ---- memories ------------------------------------------------------------------------------- */

ferry_memory *wx_memory(int home)
{
    ferry_memory *m = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(wx.dev[home], WX_BYTES, &m), FERRY_OK);
    return m;
}

ferry_memory *wx_memory_at_host(unsigned char value)
{
    ferry_memory *m = wx_memory(0);

    wx_write_host(m, value);
    return m;
}

ferry_memory *wx_memory_at(int i, unsigned char value)
{
    ferry_memory *m = wx_memory(i);

    wx_write_on(wx_queue(i), m, value);
    FX_OK(ferry_device_synchronize(wx.dev[i]));
    return m;
}

ferry_ref wx_access(ferry_memory *m, ferry_queue *q, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    CU_ASSERT_EQUAL_FATAL(ferry_memory_access(m, ferry_queue_device(q), access, q, &ref), FERRY_OK);
    return ref;
}

void wx_write_on(ferry_queue *q, ferry_memory *m, unsigned char value)
{
    ferry_ref ref = wx_access(m, q, FERRY_WRITE);

    FX_OK(ferry_math_fill(q, FERRY_U8, WX_BYTES, value, ref));
}

void wx_read_on(ferry_queue *q, ferry_memory *m, ferry_memory *into)
{
    ferry_ref from = wx_access(m, q, FERRY_READ);
    ferry_ref to = wx_access(into, q, FERRY_WRITE);

    FX_OK(ferry_math_copy(q, FERRY_U8, WX_BYTES, ferry_ref_const(from), to));
}

void wx_write_host(ferry_memory *m, unsigned char value)
{
    void *p = ferry_memory_overwrite_host_data(m);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    memset(p, value, WX_BYTES);
}

bool wx_host_reads(ferry_memory *m, unsigned char value)
{
    const unsigned char *p = ferry_memory_host_data(m);

    for (size_t i = 0; p && i < WX_BYTES; i++)
        if (p[i] != value)
            return false;
    return p != NULL;
}

bool wx_reads_on(ferry_queue *q, ferry_memory *m, unsigned char value)
{
    ferry_memory *scratch = wx_memory(device_of(q));
    bool same;

    wx_read_on(q, m, scratch);
    same = wx_host_reads(scratch, value);
    ferry_memory_release(scratch);
    return same;
}

unsigned wx_valid(const ferry_memory *m)
{
    unsigned v = ferry_memory_is_valid_at(m, NULL) ? WX_HOST : 0;

    for (int i = 0; i < WX_DEVICES; i++)
        v |= ferry_memory_is_valid_at(m, wx.dev[i]) ? WX_DEV(i) : 0;
    return v;
}

bool wx_idle(ferry_queue *q)
{
    ferry_event *e = NULL;
    int done;

    CU_ASSERT_EQUAL_FATAL(ferry_event_record(q, &e), FERRY_OK);
    wx_run_queue(q);
    done = ferry_event_query(e);
    ferry_event_destroy(e);
    return done == 1;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

ferry_blob *wx_blob(int64_t count)
{
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_create(wx_dev(0), FERRY_F32, &count, 1, &b), FERRY_OK);
    return b;
}

void wx_reshape(ferry_blob *b, int64_t count)
{
    FX_OK(ferry_blob_reshape(b, &count, 1, NULL));
}

void wx_put(ferry_blob *b, float first)
{
    float *p = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        p[i] = first + (float)i;
}

bool wx_holds(ferry_blob *b, int64_t from, int64_t to, float first)
{
    const float *p = ferry_blob_host_data(b);

    for (int64_t i = from; p && i < to; i++)
        if (p[i] != first + (float)i)
            return false;
    return p != NULL;
}
