/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <ferry/op.h>

/* Operations on a device that is out of memory: replicas of idle memories are evicted. */

#define N   4
#define OLD 0x11

/* An idle memory whose only valid copy is the device's. */
static ferry_memory *idle_at_device(void)
{
    ferry_memory *m = wx_memory_at(0, OLD);

    FX_OK(ferry_memory_allow_eviction(m));
    return m;
}

static ferry_memory *floats(float value, size_t n)
{
    ferry_memory *m = NULL;
    float *p;

    FX_OK_FATAL(ferry_memory_create(wx_dev(0), n * sizeof *p, &m));
    p = ferry_memory_overwrite_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (size_t i = 0; i < n; i++)
        p[i] = value;
    return m;
}

static bool all_are(ferry_memory *m, float value, size_t n)
{
    const float *p = ferry_memory_host_data(m);

    for (size_t i = 0; p && i < n; i++)
        if (p[i] < value || p[i] > value)
            return false;
    return p != NULL;
}

/* y = x·wᵀ, with weights that may be packed. */
static ferry_operation *product(void)
{
    ferry_operation *o = NULL;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    op.n_in = 2;
    op.n_out = 1;
    for (int i = 0; i < 2; i++)
        op.in[i] = ferry_operand_make(FERRY_F32, (int64_t[]){ N, N }, 2, NULL);
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ N, N }, 2, NULL);
    op.constants = 2;
    FX_OK_FATAL(ferry_operation_create(wx_dev(0), &op, &o));
    return o;
}

/* Runs once while the first call of that kind is out of memory. Returns the code of the run. */
static int run_without_memory(uint32_t call, uint64_t *out_evictions)
{
    ferry_memory *x = floats(1, N * N), *w = floats(2, N * N), *y = floats(0, N * N);
    ferry_operation_location in[2] = { { x, 0 }, { w, 0 } }, out = { y, 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = &out };
    ferry_operation_stats stats = { .struct_size = sizeof stats };
    ferry_operation *o = product();
    ferry_memory *idle = idle_at_device();
    int err;

    wx_mark();
    wx_fail_next(0, call, 1, FERRY_ENOMEM);
    err = ferry_operation_run(o, NULL, &args);
    wx_fail_next(0, call, 0, 0);
    *out_evictions = wx_since(0).evictions;
    if (!err) {
        CU_ASSERT(all_are(y, 2 * N, N * N));
        FX_OK(ferry_operation_get_stats(o, &stats));
        CU_ASSERT_EQUAL(stats.runs, 1);
    }
    CU_ASSERT(wx_host_reads(idle, OLD));
    ferry_operation_destroy(o);
    ferry_memory_release(idle);
    ferry_memory_release(x);
    ferry_memory_release(w);
    ferry_memory_release(y);
    return err;
}

static void a_run_without_memory_evicts_and_is_retried(void)
{
    uint64_t evictions = 0;

    wx_begin();
    FX_OK(run_without_memory(SIM_CALL_RUN, &evictions));
    CU_ASSERT_EQUAL(evictions, 1);
    wx_end();
}

/* The program requests room for its own libraries. */
static void make_room_evicts_idle_memories(void)
{
    ferry_memory *idle;
    ferry_event *e = NULL;

    wx_begin();
    idle = idle_at_device();
    wx_mark();
    FX_OK(ferry_queue_begin(wx_queue(0)));
    FX_FAILS(FERRY_EINVAL, ferry_device_make_room(wx_dev(0), 1));
    FX_OK(ferry_queue_end(wx_queue(0), &e));
    ferry_event_destroy(e);
    CU_ASSERT_EQUAL(wx_since(0).evictions, 0);
    FX_OK(ferry_device_make_room(wx_dev(0), 0));
    CU_ASSERT_EQUAL(wx_since(0).evictions, 0);
    FX_OK(ferry_device_make_room(wx_dev(0), 1));
    CU_ASSERT_EQUAL(wx_since(0).evictions, 1);
    FX_FAILS(FERRY_EINVAL, ferry_device_make_room(NULL, 1));
    CU_ASSERT(wx_host_reads(idle, OLD));
    ferry_memory_release(idle);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_run_without_memory_evicts_and_is_retried),
    FERRY_TEST(make_room_evicts_idle_memories),
};

int main(int argc, char **argv)
{
    static const char *const sync[] = { "clock", "sync", NULL };
    static const struct wx_world worlds[] = {
        { "short of memory", NULL, cases, FERRY_TEST_COUNT(cases) },
        { "short of memory, at once", sync, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "op-memory", worlds, FERRY_TEST_COUNT(worlds));
}
