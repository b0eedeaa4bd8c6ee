/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <string.h>

/* Memory of the program: set_cpu_data and set_gpu_data, with deleters. */

static _Alignas(4096) unsigned char own_host[FX_BYTES];

static void an_adopted_host_buffer_is_the_host_copy_and_receives_writes(void)
{
    ferry_memory *m;
    ferry_ref host = { own_host, 0 };

    fx_device();
    m = fx_memory(FX_BYTES);
    memset(own_host, FX_OLD, FX_BYTES);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, NULL, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), own_host);
    fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES, FX_NEW);
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), own_host);
    CU_ASSERT(fx_all_equal(own_host, FX_NEW));
    ferry_memory_release(m);
    CU_ASSERT(fx_all_equal(own_host, FX_NEW));
    fx_end();
}

static void a_misaligned_host_buffer_can_be_adopted(void)
{
    static unsigned char buffer[FX_BYTES + 1];
    ferry_memory *m;
    ferry_ref host = { buffer + 1, 0 };

    fx_device();
    m = fx_memory(FX_BYTES);
    memset(buffer, FX_OLD, sizeof(buffer));
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, NULL, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    fx_check_head(m, FERRY_HEAD_SYNCED);
    fx_check_contents(m, FX_OLD);
    fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES, FX_NEW);
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), buffer + 1);
    CU_ASSERT(fx_all_equal(buffer + 1, FX_NEW));
    CU_ASSERT_EQUAL(buffer[0], FX_OLD);
    ferry_memory_release(m);
    fx_end();
}

static void an_offset_into_the_adopted_buffer_is_respected(void)
{
    ferry_memory *m;
    ferry_ref host = { own_host, 64 };

    fx_device();
    m = fx_memory(FX_BYTES - 64);
    memset(own_host, FX_OLD, FX_BYTES);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES - 64, 0, NULL, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), own_host + 64);
    ferry_memory_release(m);
    fx_end();
}

/*
 * Checks every way of accessing the host's copy, settled or not; `where` NULL: adopted as the
 * host's copy.
 */
static void check_offset(ferry_device *dev, ferry_device *where)
{
    const int64_t n = (FX_BYTES - 64) / 4;
    ferry_ref lent = { own_host, 64 }, got;
    ferry_memory *m;
    ferry_blob *b;

    FX_OK(ferry_blob_create(dev, FERRY_F32, &n, 1, &b));
    m = ferry_blob_data_memory(b);
    memset(own_host, FX_OLD, FX_BYTES);
    FX_OK(ferry_memory_adopt(m, where, lent, FX_BYTES - 64, 0, NULL, NULL));
    for (int again = 0; again < 2; again++) {
        fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES - 64, FX_NEW);
        CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), own_host + 64);
        fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES - 64, FX_NEW);
        FX_OK(ferry_memory_access(m, NULL, FERRY_READ, NULL, &got));
        CU_ASSERT(got.handle == own_host + 64 && got.offset == 0);
        fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES - 64, FX_NEW);
        FX_OK(ferry_blob_access(b, FERRY_DATA, NULL, FERRY_READ, NULL, &got));
        CU_ASSERT(got.handle == own_host + 64 && got.offset == 0);
        CU_ASSERT_PTR_EQUAL(ferry_blob_mutable_host_data(b), own_host + 64);
    }
    ferry_blob_destroy(b);
}

static void an_offset_is_respected_after_a_write_on_the_other_side(void)
{
    ferry_device *dev = fx_device();

    check_offset(dev, NULL);
    if (ferry_device_get_properties(dev)->host_memory)
        check_offset(dev, dev);
    fx_end();
}

static void an_adopted_device_buffer_is_the_device_copy(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *donor = fx_memory(FX_BYTES);
    ferry_memory *m = fx_memory_in(FERRY_HEAD_SYNCED, false);
    ferry_ref theirs = ferry_memory_mutable_device_data(donor);
    ferry_cref got;

    fx_device_set(theirs, FX_BYTES, FX_NEW);
    FX_OK(ferry_memory_adopt(m, dev, theirs, FX_BYTES, 0, NULL, NULL));
    got = ferry_memory_device_data(m);
    CU_ASSERT(got.handle == theirs.handle && got.offset == theirs.offset);
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), FX_NEW));
    memset(ferry_memory_mutable_host_data(m), FX_OLD, FX_BYTES);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    ferry_memory_release(m);
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(donor), FX_OLD));
    ferry_memory_release(donor);
    fx_end();
}

static void a_deleter_runs_once_when_its_memory_is_destroyed(void)
{
    ferry_memory *m;
    ferry_ref host = { own_host, 0 };
    int first = 0, second = 0, third = 0;

    fx_device();
    m = fx_memory(FX_BYTES);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, fx_count_call, &first));
    CU_ASSERT_EQUAL(first, 0);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, fx_count_call, &second));
    CU_ASSERT_EQUAL(first, 1);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    CU_ASSERT_EQUAL(second, 0);
    FX_OK(ferry_memory_discard(m));
    CU_ASSERT_EQUAL(second, 0);
    ferry_memory_retain(m);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(second, 0);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, NULL, NULL));
    CU_ASSERT_EQUAL(second, 1);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, fx_count_call, &third));
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(first, 1);
    CU_ASSERT_EQUAL(second, 1);
    CU_ASSERT_EQUAL(third, 1);
    fx_end();
}

static void host_and_device_have_separate_deleters(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *donor = fx_memory(FX_BYTES);
    ferry_memory *m = fx_memory(FX_BYTES);
    ferry_ref host = { own_host, 0 };
    int on_host = 0, on_dev = 0;

    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, fx_count_call, &on_host));
    FX_OK(ferry_memory_adopt(m, dev, ferry_memory_mutable_device_data(donor), FX_BYTES, 0,
                             fx_count_call, &on_dev));
    CU_ASSERT_EQUAL(on_host, 0);
    CU_ASSERT_EQUAL(on_dev, 0);
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), own_host);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(on_host, 1);
    CU_ASSERT_EQUAL(on_dev, 1);
    ferry_memory_release(donor);
    fx_end();
}

static void a_failed_adoption_leaves_ownership_with_the_caller(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_SYNCED, false);
    const void *before = ferry_memory_host_data(m);
    ferry_ref host = { own_host, 0 };
    ferry_ref none = { NULL, 0 };
    int calls = 0;

    FX_FAILS(FERRY_ESHAPE,
             ferry_memory_adopt(m, NULL, host, FX_BYTES - 1, 0, fx_count_call, &calls));
    FX_FAILS(FERRY_ESHAPE,
             ferry_memory_adopt(m, dev, host, FX_BYTES - 1, 0, fx_count_call, &calls));
    CU_ASSERT(ferry_memory_adopt(m, NULL, none, FX_BYTES, 0, fx_count_call, &calls) < 0);
    CU_ASSERT(ferry_memory_adopt(m, dev, none, FX_BYTES, 0, fx_count_call, &calls) < 0);
    FX_FAILS(FERRY_EINVAL,
             ferry_memory_adopt(NULL, NULL, host, FX_BYTES, 0, fx_count_call, &calls));
    fx_check_head(m, FERRY_HEAD_SYNCED);
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), before);
    fx_check_contents(m, FX_OLD);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(calls, 0);
    fx_end();
}

static void an_adopted_length_becomes_the_capacity(void)
{
    ferry_memory *m;
    ferry_ref host = { own_host, 0 };

    fx_device();
    m = fx_memory(100);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, 0, NULL, NULL));
    CU_ASSERT_EQUAL(ferry_memory_size(m), FX_BYTES);
    ferry_memory_release(m);
    fx_end();
}

static void a_read_only_host_buffer_is_never_written(void)
{
    ferry_memory *m;
    ferry_ref host = { own_host, 0 };
    ferry_ref written;

    fx_device();
    m = fx_memory(FX_BYTES);
    memset(own_host, FX_OLD, FX_BYTES);
    FX_OK(ferry_memory_adopt(m, NULL, host, FX_BYTES, FERRY_ADOPT_READONLY, NULL, NULL));
    FX_FAILED(FERRY_EPERM, !ferry_memory_mutable_host_data(m));
    FX_FAILED(FERRY_EPERM, !ferry_memory_overwrite_host_data(m));
    fx_check_head(m, FERRY_HEAD_AT_HOST);
    CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), own_host);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    fx_check_contents(m, FX_OLD);
    written = ferry_memory_mutable_device_data(m);
    CU_ASSERT_PTR_NOT_NULL(written.handle);
    if (written.handle)
        fx_device_set(written, FX_BYTES, FX_NEW);
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), FX_NEW));
    CU_ASSERT(fx_all_equal(own_host, FX_OLD));
    ferry_memory_release(m);
    CU_ASSERT(fx_all_equal(own_host, FX_OLD));
    fx_end();
}

static void a_read_only_device_buffer_refuses_writes_with_a_reason(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *donor = fx_memory(FX_BYTES);
    ferry_memory *m = fx_memory(FX_BYTES);
    ferry_ref theirs = ferry_memory_mutable_device_data(donor);

    fx_device_set(theirs, FX_BYTES, FX_OLD);
    FX_OK(ferry_memory_adopt(m, dev, theirs, FX_BYTES, FERRY_ADOPT_READONLY, NULL, NULL));
    FX_FAILED(FERRY_EPERM, !ferry_memory_mutable_device_data(m).handle);
    FX_FAILS(FERRY_EPERM, ferry_math_fill(ferry_device_queue(dev), FERRY_U8, FX_BYTES, FX_NEW,
                                          ferry_memory_mutable_device_data(m)));
    fx_check_head(m, FERRY_HEAD_AT_DEVICE);
    fx_check_contents(m, FX_OLD);
    ferry_memory_release(m);
    ferry_memory_release(donor);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_adopted_host_buffer_is_the_host_copy_and_receives_writes),
    FERRY_TEST(a_misaligned_host_buffer_can_be_adopted),
    FERRY_TEST(an_offset_into_the_adopted_buffer_is_respected),
    FERRY_TEST(an_offset_is_respected_after_a_write_on_the_other_side),
    FERRY_TEST(an_adopted_device_buffer_is_the_device_copy),
    FERRY_TEST(a_deleter_runs_once_when_its_memory_is_destroyed),
    FERRY_TEST(host_and_device_have_separate_deleters),
    FERRY_TEST(a_failed_adoption_leaves_ownership_with_the_caller),
    FERRY_TEST(an_adopted_length_becomes_the_capacity),
    FERRY_TEST(a_read_only_host_buffer_is_never_written),
    FERRY_TEST(a_read_only_device_buffer_refuses_writes_with_a_reason),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "memory-adopt", cases, FERRY_TEST_COUNT(cases));
}
