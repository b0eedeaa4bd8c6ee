/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include "core/coherence/state.h"

#include <string.h>

/* Memories: costs and results of accesses, sizes, and invalid arguments. */

static void creating_and_destroying_a_memory_allocates_nothing(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory(1 << 20);

    CU_ASSERT_EQUAL(ferry_memory_size(m), 1 << 20);
    CU_ASSERT_PTR_EQUAL(ferry_memory_home(m), dev);
    fx_check_head(m, FERRY_HEAD_UNINITIALIZED);
    CU_ASSERT_PTR_EQUAL(ferry_memory_retain(m), m);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(ferry_memory_size(m), 1 << 20);
    ferry_memory_release(m);
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    fx_end();
}

static void settled_reads_do_no_work_and_return_the_same_pointer(void)
{
    ferry_memory *m;
    const void *host;
    ferry_cref device;

    fx_device();
    m = fx_memory_in(FERRY_HEAD_SYNCED, false);
    host = ferry_memory_host_data(m);
    device = ferry_memory_device_data(m);
    fx_mark();
    for (int i = 0; i < 1000; i++) {
        ferry_cref again = ferry_memory_device_data(m);

        CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), host);
        CU_ASSERT(again.handle == device.handle && again.offset == device.offset);
    }
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    CU_ASSERT_EQUAL(fx_copies(), 0);
    ferry_memory_release(m);
    fx_end();
}

/* Like the accessors: a thread that holds the lock meanwhile makes no other thread wait. */
static void a_settled_access_with_a_queue_takes_no_lock(void)
{
    ferry_device *dev = fx_device();
    ferry_queue *q = ferry_device_queue(dev);
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_DEVICE, false);
    const ferry_memory_use use = { m, FERRY_WRITE };
    uint64_t version;
    ferry_ref ref, again;

    FX_OK_FATAL(ferry_device_synchronize(dev));
    FX_OK_FATAL(ferry_memory_access(m, dev, FERRY_READ | FERRY_WRITE, q, &ref));
    version = ferry_memory_version(m);
    pthread_mutex_lock(&m->lock);
    FX_OK(ferry_memory_access(m, dev, FERRY_READ, q, &again));
    CU_ASSERT(again.handle == ref.handle && again.offset == ref.offset);
    FX_OK(ferry_memory_access(m, dev, FERRY_WRITE, NULL, &again));
    CU_ASSERT(again.handle == ref.handle && again.offset == ref.offset);
    CU_ASSERT_EQUAL(ferry_memory_version(m), version + 1);
    FX_OK(ferry_memory_record_all(&use, 1, q, NULL)); /* done, without pending work */
    CU_ASSERT_EQUAL(ferry_memory_version(m), version + 2);
    pthread_mutex_unlock(&m->lock);
    fx_check_head(m, FERRY_HEAD_AT_DEVICE);
    ferry_memory_release(m);
    fx_end();
}

static void with_shared_memory_both_sides_are_one_block(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m;
    ferry_ref ref;

    if (fx_discrete()) {
        ferry_test_skip("%s is discrete", ferry_device_name(dev));
        return;
    }
    m = fx_memory(FX_BYTES);
    fx_mark();
    ref = ferry_memory_mutable_device_data(m);
    if (ferry_device_get_properties(dev)->host_memory)
        CU_ASSERT_PTR_EQUAL(ferry_memory_host_data(m), ferry_device_pointer(dev, ref));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    CU_ASSERT_EQUAL(fx_since().allocs, 1);
    ferry_memory_release(m);
    fx_end();
}

static void any_number_of_bytes_round_trips_through_the_device(void)
{
    static const size_t sizes[] = { 1, 3, 63, 64, 65, 4095, 4097, (1 << 20) + 1 };

    fx_device();
    for (size_t s = 0; s < FERRY_TEST_COUNT(sizes); s++) {
        ferry_memory *m = fx_memory(sizes[s]);
        unsigned char *p = ferry_memory_overwrite_host_data(m);
        const unsigned char *back;
        size_t wrong = 0;

        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        for (size_t i = 0; i < sizes[s]; i++)
            p[i] = (unsigned char)(i * 31 + 7);
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
        fx_check_head(m, FERRY_HEAD_AT_DEVICE);
        back = ferry_memory_host_data(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(back);
        for (size_t i = 0; i < sizes[s]; i++)
            wrong += back[i] != (unsigned char)(i * 31 + 7);
        CU_ASSERT_EQUAL(wrong, 0);
        ferry_memory_release(m);
    }
    fx_end();
}

static void a_memory_of_no_bytes_has_valid_accessors_and_no_block(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory(0);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_host_data(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_overwrite_device_data(m).handle);
    CU_ASSERT_EQUAL(ferry_memory_size(m), 0);
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    ferry_memory_release(m);
    fx_end();
}

static void invalidated_bytes_read_as_zeros_in_the_old_blocks(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory_in(FERRY_HEAD_SYNCED, false);
    FX_OK(ferry_memory_discard(m));
    fx_mark();
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), 0));
    FX_OK(ferry_memory_discard(m));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    fx_check_contents(m, 0);
    ferry_memory_release(m);
    fx_end();
}

static void allow_eviction_keeps_the_contents(void)
{
    ferry_memory *m;

    fx_device();
    m = fx_memory_in(FERRY_HEAD_AT_DEVICE, false);
    FX_OK(ferry_memory_allow_eviction(m));
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), FX_OLD));
    ferry_memory_release(m);
    fx_end();
}

static void access_gives_the_same_references_as_the_accessors(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_HOST, false);
    ferry_ref ref = { NULL, 0 };

    FX_OK(ferry_memory_access(m, dev, FERRY_READ, NULL, &ref));
    CU_ASSERT_PTR_EQUAL(ref.handle, ferry_memory_device_data(m).handle);
    fx_check_head(m, FERRY_HEAD_SYNCED);
    FX_OK(ferry_memory_access(m, dev, FERRY_READ | FERRY_WRITE, ferry_device_queue(dev), &ref));
    fx_check_head(m, FERRY_HEAD_AT_DEVICE);
    FX_OK(ferry_device_synchronize(dev));
    FX_OK(ferry_memory_access(m, NULL, FERRY_WRITE, NULL, &ref));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ref.handle);
    CU_ASSERT_EQUAL(ref.offset, 0);
    memset(ref.handle, FX_NEW, FX_BYTES);
    fx_check_head(m, FERRY_HEAD_AT_HOST);
    FX_OK(ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    fx_check_contents(m, FX_NEW);
    ferry_memory_release(m);
    fx_end();
}

static void a_record_of_outside_work_needs_a_copy_on_that_device(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory(FX_BYTES);

    FX_FAILS(FERRY_EUNINIT, ferry_memory_record(m, ferry_device_queue(dev), FERRY_READ));
    fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES, FX_OLD);
    FX_OK(ferry_memory_record(m, ferry_device_queue(dev), FERRY_READ));
    FX_OK(ferry_memory_record(m, ferry_device_queue(dev), FERRY_WRITE));
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), FX_OLD));
    ferry_memory_release(m);
    fx_end();
}

/* ---- wrong arguments ------------------------------------------------------------------------ */

static void wrong_arguments_are_refused_and_change_nothing(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_HOST, false);
    ferry_memory *untouched = m;
    ferry_ref ref = { &ref, 1 };

    FX_FAILS(FERRY_EINVAL, ferry_memory_create(NULL, 1, &untouched));
    FX_FAILS(FERRY_EINVAL, ferry_memory_create(dev, 1, NULL));
    CU_ASSERT_PTR_EQUAL(untouched, m);
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, dev, 0, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(m, dev, FERRY_NOWAIT, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_memory_access(NULL, dev, FERRY_READ, NULL, &ref));
    CU_ASSERT(ref.handle == &ref && ref.offset == 1);
    FX_FAILS(FERRY_EINVAL, ferry_memory_record(m, NULL, FERRY_READ));
    FX_FAILS(FERRY_EINVAL, ferry_memory_prefetch(NULL, dev, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_memory_discard(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_memory_allow_eviction(NULL));
    fx_check_head(m, FERRY_HEAD_AT_HOST);
    fx_check_contents(m, FX_OLD);
    ferry_memory_release(m);
    fx_end();
}

static void a_null_memory_is_an_error_never_a_crash(void)
{
    fx_device();
    FX_FAILED(FERRY_EINVAL, !ferry_memory_host_data(NULL));
    FX_FAILED(FERRY_EINVAL, !ferry_memory_mutable_host_data(NULL));
    FX_FAILED(FERRY_EINVAL, !ferry_memory_overwrite_host_data(NULL));
    FX_FAILED(FERRY_EINVAL, !ferry_memory_device_data(NULL).handle);
    FX_FAILED(FERRY_EINVAL, !ferry_memory_mutable_device_data(NULL).handle);
    FX_FAILED(FERRY_EINVAL, !ferry_memory_overwrite_device_data(NULL).handle);
    CU_ASSERT_PTR_NULL(ferry_memory_retain(NULL));
    ferry_memory_release(NULL);
    CU_ASSERT_EQUAL(ferry_memory_head(NULL), FERRY_HEAD_UNINITIALIZED);
    CU_ASSERT_EQUAL(ferry_memory_is_valid_at(NULL, NULL), 0);
    CU_ASSERT_EQUAL(ferry_memory_size(NULL), 0);
    CU_ASSERT_PTR_NULL(ferry_memory_home(NULL));
    fx_end();
}

static void more_bytes_than_exist_are_an_error_at_the_first_access(void)
{
    ferry_memory *m = NULL;
    ferry_device *dev = fx_device();

    if (ferry_test_is_slow()) {
        ferry_test_skip("the sanitizer ends the program if an allocation fails");
        return;
    }
    FX_OK_FATAL(ferry_memory_create(dev, (size_t)1 << (sizeof(size_t) > 4 ? 60 : 31), &m));
    FX_FAILED(FERRY_ENOMEM, !ferry_memory_host_data(m));
    FX_FAILED(FERRY_ENOMEM, !ferry_memory_device_data(m).handle);
    fx_check_head(m, FERRY_HEAD_UNINITIALIZED);
    ferry_memory_release(m);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(creating_and_destroying_a_memory_allocates_nothing),
    FERRY_TEST(settled_reads_do_no_work_and_return_the_same_pointer),
    FERRY_TEST(a_settled_access_with_a_queue_takes_no_lock),
    FERRY_TEST(with_shared_memory_both_sides_are_one_block),
    FERRY_TEST(any_number_of_bytes_round_trips_through_the_device),
    FERRY_TEST(a_memory_of_no_bytes_has_valid_accessors_and_no_block),
    FERRY_TEST(invalidated_bytes_read_as_zeros_in_the_old_blocks),
    FERRY_TEST(allow_eviction_keeps_the_contents),
    FERRY_TEST(access_gives_the_same_references_as_the_accessors),
    FERRY_TEST(a_record_of_outside_work_needs_a_copy_on_that_device),
    FERRY_TEST(wrong_arguments_are_refused_and_change_nothing),
    FERRY_TEST(a_null_memory_is_an_error_never_a_crash),
    FERRY_TEST(more_bytes_than_exist_are_an_error_at_the_first_access),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "memory", cases, FERRY_TEST_COUNT(cases));
}
