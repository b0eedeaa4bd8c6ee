/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "backends/sim/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every call that can fail is failed: from each state, the first plugin call of an operation fails,
 * then the second, and so on until the operation succeeds. After each failure the valid copies,
 * their bytes, pointers and shapes are unchanged, and the same operation then succeeds.
 */

static const struct sim_control *control;
static void *sim;

static void arm(uint64_t nth)
{
    control->fail_next(sim, SIM_CALL_ANY, nth, FERRY_EDEVICE);
}

static ferry_device *sim_device(void)
{
    ferry_device *dev = fx_device();

    CU_ASSERT_EQUAL_FATAL(
        ferry_device_native(dev, "sim_control", (void *)&control, sizeof(control)), FERRY_OK);
    CU_ASSERT_EQUAL_FATAL(ferry_device_native(dev, "sim_device", &sim, sizeof(sim)), FERRY_OK);
    return dev;
}

/* ---- memories ------------------------------------------------------------------------------- */

static int op_host(ferry_memory *m)
{
    return ferry_memory_host_data(m) ? 0 : ferry_last_error_code();
}

static int op_mutable_host(ferry_memory *m)
{
    return ferry_memory_mutable_host_data(m) ? 0 : ferry_last_error_code();
}

static int op_overwrite_host(ferry_memory *m)
{
    return ferry_memory_overwrite_host_data(m) ? 0 : ferry_last_error_code();
}

static int op_device(ferry_memory *m)
{
    return ferry_memory_device_data(m).handle ? 0 : ferry_last_error_code();
}

static int op_mutable_device(ferry_memory *m)
{
    return ferry_memory_mutable_device_data(m).handle ? 0 : ferry_last_error_code();
}

static int op_overwrite_device(ferry_memory *m)
{
    return ferry_memory_overwrite_device_data(m).handle ? 0 : ferry_last_error_code();
}

static int op_prefetch_device(ferry_memory *m)
{
    return ferry_memory_prefetch(m, ferry_memory_home(m), NULL);
}

static int op_prefetch_host(ferry_memory *m)
{
    return ferry_memory_prefetch(m, NULL, NULL);
}

static _Alignas(64) unsigned char own[FX_BYTES];
static int deleted;

static int op_adopt_host(ferry_memory *m)
{
    ferry_ref ref = { own, 0 };

    return ferry_memory_adopt(m, NULL, ref, sizeof(own), 0, fx_count_call, &deleted);
}

static int op_invalidate(ferry_memory *m)
{
    return ferry_memory_discard(m);
}

static const struct {
    const char *name;
    int (*run)(ferry_memory *m);
} memory_ops[] = {
    { "host", op_host },
    { "mutable_host", op_mutable_host },
    { "overwrite_host", op_overwrite_host },
    { "device", op_device },
    { "mutable_device", op_mutable_device },
    { "overwrite_device", op_overwrite_device },
    { "prefetch(device)", op_prefetch_device },
    { "prefetch(host)", op_prefetch_host },
    { "adopt(host)", op_adopt_host },
    { "invalidate", op_invalidate },
};

/*
 * Checks that the copies valid before are valid after; only the host's bit may be added, by a
 * staged copy.
 */
static void check_valid(const ferry_memory *m, int host_before, int device_before)
{
    CU_ASSERT(ferry_memory_is_valid_at(m, NULL) >= host_before);
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, ferry_memory_home(m)), device_before);
    if (!host_before && !device_before)
        CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_UNINITIALIZED);
}

/* Fails the nth call of one operation in one state. Returns whether there was an nth call. */
static bool fail_memory_op(size_t op, ferry_memory_head_state head, bool warm, uint64_t nth)
{
    ferry_memory *m = fx_memory_in(head, warm);
    int host = ferry_memory_is_valid_at(m, NULL);
    int device = ferry_memory_is_valid_at(m, ferry_memory_home(m));
    const void *pointer = host ? ferry_memory_host_data(m) : NULL;
    int err;

    deleted = 0;
    arm(nth);
    err = memory_ops[op].run(m);
    arm(0);
    if (err) {
        CU_ASSERT_EQUAL(err, FERRY_EDEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "sim:0"));
        check_valid(m, host, device);
        CU_ASSERT_EQUAL(deleted, 0);
        if (pointer)
            CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), pointer);
        fx_check_contents(m, FX_OLD);
        if (head == FERRY_HEAD_UNINITIALIZED)
            CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), 0));
        CU_ASSERT_EQUAL(memory_ops[op].run(m), FERRY_OK);
    }
    ferry_memory_release(m);
    return err != 0;
}

static void a_failed_operation_leaves_a_memory_unchanged(void)
{
    uint64_t failures = 0;

    sim_device();
    for (size_t op = 0; op < FERRY_TEST_COUNT(memory_ops); op++)
        for (int head = 0; head < 4; head++)
            for (int warm = 0; warm < 2; warm++) {
                unsigned before = CU_get_number_of_failures();
                uint64_t nth = 1;

                while (nth < 100 && fail_memory_op(op, (ferry_memory_head_state)head, warm, nth))
                    nth++;
                failures += nth - 1;
                if (CU_get_number_of_failures() != before)
                    printf("     in %s from head %d, warm %d\n", memory_ops[op].name, head, warm);
            }
    CU_ASSERT(failures >= 20); /* an error in the test: no call has failed */
    fx_end();
}

/* ---- blobs ---------------------------------------------------------------------------------- */

#define COUNT 16

static int op_update(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_update(b);
}

static int op_fill(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_fill_data(b, 9);
}

static int op_scale(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_scale_data(b, 2);
}

static int op_asum(ferry_blob *b, ferry_blob *other)
{
    double sum;

    (void)other;
    return ferry_blob_asum_data(b, &sum);
}

static int op_data_at(ferry_blob *b, ferry_blob *other)
{
    double value;

    (void)other;
    return ferry_blob_data_at(b, (int64_t[]){ 3 }, 1, &value);
}

static int op_copy_from(ferry_blob *b, ferry_blob *other)
{
    return ferry_blob_copy_from(b, other, FERRY_COPY_RESHAPE);
}

static int op_copy_diff_from(ferry_blob *b, ferry_blob *other)
{
    return ferry_blob_copy_from(b, other, FERRY_COPY_RESHAPE | FERRY_COPY_DIFF);
}

static int op_device_shape(ferry_blob *b, ferry_blob *other)
{
    (void)other;
    return ferry_blob_device_shape(b).handle ? 0 : ferry_last_error_code();
}

static const struct {
    const char *name;
    int (*run)(ferry_blob *b, ferry_blob *other);
} blob_ops[] = {
    { "update", op_update },
    { "fill", op_fill },
    { "scale", op_scale },
    { "asum", op_asum },
    { "data_at", op_data_at },
    { "copy_from", op_copy_from },
    { "copy_from diff", op_copy_diff_from },
    { "device_shape", op_device_shape },
};

static void put(ferry_memory *m, ferry_memory_head_state head, double first)
{
    void *p = ferry_memory_overwrite_host_data(m);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int i = 0; i < COUNT; i++)
        fx_set(FERRY_F32, p, i, first + i);
    if (head == FERRY_HEAD_SYNCED)
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    if (head == FERRY_HEAD_AT_DEVICE)
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
}

/* Checks that the bits that were set are still set, and that their contents are unchanged. */
static void check_half(const ferry_memory *m, ferry_memory_head_state head, double first)
{
    const void *p;
    int wrong = 0;

    if (head == FERRY_HEAD_AT_HOST || head == FERRY_HEAD_SYNCED)
        CU_ASSERT(ferry_memory_is_valid_at(m, NULL));
    if (head == FERRY_HEAD_AT_DEVICE || head == FERRY_HEAD_SYNCED)
        CU_ASSERT(ferry_memory_is_valid_at(m, ferry_memory_home(m)));
    p = ferry_memory_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int i = 0; i < COUNT; i++)
        wrong += fx_get(FERRY_F32, p, i) != first + i;
    CU_ASSERT_EQUAL(wrong, 0);
}

static ferry_blob *other_blob(ferry_memory_head_state head)
{
    ferry_blob *other = FX_BLOB(FERRY_F32, 2 * COUNT);

    put(ferry_blob_data_memory(other), head, 500);
    put(ferry_blob_diff_memory(other), head, 600);
    return other;
}

static bool fail_blob_op(size_t op, ferry_memory_head_state data, ferry_memory_head_state diff,
                         uint64_t nth)
{
    ferry_blob *b = FX_BLOB(FERRY_F32, COUNT), *other = other_blob(data);
    int err;

    put(ferry_blob_data_memory(b), data, 100);
    put(ferry_blob_diff_memory(b), diff, 300);
    arm(nth);
    err = blob_ops[op].run(b, other);
    arm(0);
    if (err) {
        CU_ASSERT_EQUAL(err, FERRY_EDEVICE);
        CU_ASSERT_EQUAL(ferry_blob_rank(b), 1);
        CU_ASSERT_EQUAL(ferry_blob_element_count(b), COUNT);
        CU_ASSERT_EQUAL(ferry_blob_capacity(b), COUNT);
        check_half(ferry_blob_data_memory(b), data, 100);
        check_half(ferry_blob_diff_memory(b), diff, 300);
        CU_ASSERT_EQUAL(blob_ops[op].run(b, other), FERRY_OK);
    }
    ferry_blob_destroy(b);
    ferry_blob_destroy(other);
    return err != 0;
}

static void a_failed_operation_leaves_a_blob_unchanged(void)
{
    uint64_t failures = 0;

    sim_device();
    for (size_t op = 0; op < FERRY_TEST_COUNT(blob_ops); op++)
        for (int data = 1; data < 4; data++)
            for (int diff = 1; diff < 4; diff++) {
                unsigned before = CU_get_number_of_failures();
                uint64_t nth = 1;

                while (nth < 100 && fail_blob_op(op, (ferry_memory_head_state)data,
                                                 (ferry_memory_head_state)diff, nth))
                    nth++;
                failures += nth - 1;
                if (CU_get_number_of_failures() != before)
                    printf("     in %s, data head %d, diff head %d\n", blob_ops[op].name, data,
                           diff);
            }
    CU_ASSERT(failures >= 20);
    fx_end();
}

/* ---- the last copy, and the device itself --------------------------------------------------- */

static void an_asynchronous_copy_failure_is_reported_at_the_next_access(void)
{
    ferry_device *dev = sim_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_HOST, false);
    ferry_cref ref;

    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    control->fail_later(sim, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    (void)ferry_memory_prefetch(m, dev, NULL);
    (void)ferry_device_synchronize(dev);
    control->fail_later(sim, SIM_CALL_MEMCPY, 0, FERRY_EDEVICE);
    ref = ferry_memory_device_data(m);
    if (!ref.handle)
        ref = ferry_memory_device_data(m);
    CU_ASSERT_PTR_NOT_NULL(ref.handle);
    fx_check_contents(m, FX_OLD);
    ferry_memory_release(m);
    fx_end();
}

static bool error_says(const char *a, const char *b, const char *c)
{
    const char *said = ferry_last_error();

    return strstr(said, a) && strstr(said, b) && strstr(said, c);
}

static void an_asynchronous_failure_is_reported_with_device_bytes_and_cause(void)
{
    ferry_device *dev = sim_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_HOST, false);

    control->fail_later(sim, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_OK(ferry_memory_prefetch(m, dev, NULL));
    (void)ferry_device_synchronize(dev);
    FX_FAILED(FERRY_EDEVICE, !ferry_memory_device_data(m).handle);
    CU_ASSERT(error_says("sim:0", "4096", "as requested"));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    control->fail_later(sim, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    FX_FAILED(FERRY_EDEVICE, !ferry_memory_host_data(m));
    CU_ASSERT(error_says("sim:0", "4096", "as requested"));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_host_data(m));
    control->fail_later(sim, SIM_CALL_MEMCPY, 1, FERRY_EDEVICE);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    (void)ferry_device_synchronize(dev);
    FX_FAILED(FERRY_ELOST, !ferry_memory_host_data(m));
    CU_ASSERT(error_says("sim:0", "4096", "as requested"));
    FX_FAILED(FERRY_ELOST, !ferry_memory_device_data(m).handle);
    CU_ASSERT(error_says("sim:0", "4096", ferry_strerror(FERRY_EDEVICE)));
    ferry_memory_release(m);
    fx_end();
}

static void a_lost_device_is_reported_and_everything_can_be_destroyed(void)
{
    ferry_device *dev = sim_device();
    ferry_blob *host = FX_BLOB(FERRY_F32, COUNT), *there = FX_BLOB(FERRY_F32, COUNT);

    put(ferry_blob_data_memory(host), FERRY_HEAD_AT_HOST, 1);
    put(ferry_blob_data_memory(there), FERRY_HEAD_AT_DEVICE, 1);
    control->lose(sim);
    FX_FAILED(FERRY_ELOST, !ferry_blob_host_data(there));
    FX_FAILED(FERRY_ELOST, !ferry_blob_device_data(host).handle);
    CU_ASSERT_EQUAL(ferry_device_synchronize(dev), FERRY_ELOST);
    CU_ASSERT_EQUAL(fx_get(FERRY_F32, ferry_blob_host_data(host), 3), 4);
    ferry_blob_destroy(host);
    ferry_blob_destroy(there);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_failed_operation_leaves_a_memory_unchanged),
    FERRY_TEST(a_failed_operation_leaves_a_blob_unchanged),
    FERRY_TEST(an_asynchronous_copy_failure_is_reported_at_the_next_access),
    FERRY_TEST(an_asynchronous_failure_is_reported_with_device_bytes_and_cause),
    /* The last case, because the device is lost after it. */
    FERRY_TEST(a_lost_device_is_reported_and_everything_can_be_destroyed),
};

int main(int argc, char **argv)
{
    if (!ferry_test_is_built("sim")) {
        puts("ferry-test: failures: 0 passed, 0 failed, 1 skipped");
        return 77;
    }
    setenv("FERRY_TEST_BACKENDS", "sim", 1);
    return ferry_test_main_backends(argc, argv, "failures", cases, FERRY_TEST_COUNT(cases));
}
