/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <string.h>

/* ferry_blob_access: the primitive used by a blob's accessors. */

#define MUTABLE (FERRY_READ | FERRY_WRITE)

/* The reference as a pointer, if it is one; for comparing two on one device. */
static uint64_t place(ferry_ref ref)
{
    return (uint64_t)(uintptr_t)ref.handle + ref.offset;
}

static ferry_ref plain(ferry_cref ref)
{
    return (ferry_ref){ (void *)(uintptr_t)ref.handle, ref.offset };
}

static ferry_ref at_host(const void *p)
{
    return (ferry_ref){ (void *)(uintptr_t)p, 0 };
}

/* The result of the accessor for that half, place and mode. */
static ferry_ref by_accessor(ferry_blob *b, unsigned which, bool host, unsigned access)
{
    if (which == FERRY_DATA && host)
        return at_host(access == FERRY_READ    ? ferry_blob_host_data(b)
                       : access == FERRY_WRITE ? ferry_blob_overwrite_host_data(b)
                                               : ferry_blob_mutable_host_data(b));
    if (which == FERRY_DATA)
        return access == FERRY_READ    ? plain(ferry_blob_device_data(b))
               : access == FERRY_WRITE ? ferry_blob_overwrite_device_data(b)
                                       : ferry_blob_mutable_device_data(b);
    if (host)
        return at_host(access == FERRY_READ    ? ferry_blob_host_diff(b)
                       : access == FERRY_WRITE ? ferry_blob_overwrite_host_diff(b)
                                               : ferry_blob_mutable_host_diff(b));
    return access == FERRY_READ    ? plain(ferry_blob_device_diff(b))
           : access == FERRY_WRITE ? ferry_blob_overwrite_device_diff(b)
                                   : ferry_blob_mutable_device_diff(b);
}

/*
 * Accesses one blob by its accessors and an equal blob by the primitive. Pointers, heads and copies
 * are equal.
 */
static void compare(ferry_device *dev, unsigned which, bool host, unsigned access)
{
    ferry_blob *b = FX_BLOB(FERRY_F32, 3, 5);
    ferry_memory *m = which == FERRY_DATA ? ferry_blob_data_memory(b) : ferry_blob_diff_memory(b);
    ferry_ref expected, ref = { NULL, 77 };
    uint64_t copies;

    for (int round = 0; round < 2; round++) {
        /* only the other copy is valid, so that the access has to copy */
        CU_ASSERT_PTR_NOT_NULL(by_accessor(b, which, !host, MUTABLE).handle);
        fx_mark();
        expected = by_accessor(b, which, host, access);
        copies = fx_copies();
        CU_ASSERT_PTR_NOT_NULL(by_accessor(b, which, !host, MUTABLE).handle);
        fx_mark();
        FX_OK(ferry_blob_access(b, which, host ? NULL : dev, access, NULL, &ref));
        CU_ASSERT_EQUAL(fx_copies(), copies);
        CU_ASSERT_EQUAL(place(ref), place(expected));
        CU_ASSERT(!host || ref.offset == 0);
        CU_ASSERT_EQUAL(ferry_memory_is_valid_at(m, host ? NULL : dev), 1);
        FX_OK(ferry_blob_access(b, which, host ? NULL : dev, access, NULL, &ref)); /* done, without
                                                                                    * pending
                                                                                    * work */
        CU_ASSERT_EQUAL(place(ref), place(expected));
    }
    ferry_blob_destroy(b);
}

static void accessors_equal_ferry_blob_access(void)
{
    static const unsigned modes[] = { FERRY_READ, FERRY_WRITE, MUTABLE };
    ferry_device *dev = fx_device();

    for (unsigned which = FERRY_DATA; which <= FERRY_DIFF; which++)
        for (int host = 0; host < 2; host++)
            for (size_t i = 0; i < FERRY_TEST_COUNT(modes); i++)
                compare(dev, which, host != 0, modes[i]);
    fx_end();
}

static void access_to_a_slice_keeps_the_other_elements(void)
{
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 4, 2), *slice = NULL;
    const float *values;
    ferry_ref ref;

    FX_OK(ferry_blob_fill_data(b, 5));
    FX_OK_FATAL(ferry_blob_slice(b, 1, 2, &slice));
    FX_OK_FATAL(ferry_blob_access(slice, FERRY_DATA, NULL, FERRY_WRITE, NULL, &ref));
    CU_ASSERT_EQUAL(ref.offset, 0);
    for (int i = 0; i < 4; i++)
        ((float *)ref.handle)[i] = 6;
    FX_OK_FATAL(ferry_blob_access(slice, FERRY_DATA, dev, FERRY_WRITE, NULL, &ref));
    FX_OK(ferry_math_fill(ferry_device_queue(dev), FERRY_F32, 2, 7, ref));
    FX_OK(ferry_blob_access(slice, FERRY_DATA, NULL, FERRY_READ, NULL, &ref));
    values = ferry_blob_host_data(b);
    CU_ASSERT_PTR_EQUAL(ref.handle, values + 2);
    CU_ASSERT(values[0] == 5 && values[1] == 5 && values[6] == 5 && values[7] == 5);
    CU_ASSERT(values[2] == 7 && values[3] == 7 && values[4] == 6 && values[5] == 6);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(b);
    fx_end();
}

static void work_is_submitted_to_the_given_queue(void)
{
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 64);
    ferry_queue *q = NULL;
    ferry_ref ref;

    if (ferry_queue_create(dev, &q))
        q = ferry_device_queue(dev);
    FX_OK(ferry_blob_fill_data(b, 1));
    for (int i = 0; i < 10; i++) { /* alternately on two queues, without events of the test */
        FX_OK(ferry_blob_access(b, FERRY_DATA, dev, MUTABLE, q, &ref));
        FX_OK(ferry_math_scal(q, FERRY_F32, 64, 2, ref));
        FX_OK(ferry_blob_access(b, FERRY_DATA, dev, MUTABLE, NULL, &ref));
        FX_OK(ferry_math_scal(ferry_device_queue(dev), FERRY_F32, 64, 0.5, ref));
    }
    FX_OK(ferry_blob_access(b, FERRY_DATA, NULL, FERRY_READ, NULL, &ref));
    CU_ASSERT_EQUAL(((const float *)ref.handle)[63], 1);
    ferry_blob_destroy(b);
    ferry_queue_destroy(q);
    fx_end();
}

static void a_reference_is_written_and_read_on_a_queue(void)
{
    ferry_device *dev = fx_device();
    ferry_queue *q = ferry_device_queue(dev);
    ferry_blob *b = FX_BLOB(FERRY_F32, 8);
    float in[4] = { 1, 2, 3, 4 }, out[8] = { 0 };
    ferry_ref ref = ferry_blob_mutable_device_data(b), none = { NULL, 5 };

    CU_ASSERT(ferry_ref_advance(none, 8).offset == 5 &&
              ferry_cref_advance(ferry_ref_const(none), 8).offset == 5);
    fx_mark();
    FX_OK(ferry_queue_write(q, ferry_ref_advance(ref, 2 * sizeof(float)), in, sizeof(in)));
    FX_OK(ferry_queue_read(q, out, ferry_cref_advance(ferry_ref_const(ref), sizeof(float)), 24));
    FX_OK(ferry_queue_read(q, NULL, ferry_ref_const(ref), 0));
    FX_OK(ferry_queue_synchronize(q));
    CU_ASSERT(out[0] == 0 && out[1] == 1 && out[4] == 4 && out[5] == 0);
    CU_ASSERT_EQUAL(fx_copies(), 2);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[5], 4);
    FX_FAILS(FERRY_EINVAL, ferry_queue_write(NULL, ref, in, 4));
    FX_FAILS(FERRY_EINVAL, ferry_queue_write(q, ref, NULL, 4));
    FX_FAILS(FERRY_EINVAL, ferry_queue_read(q, NULL, ferry_ref_const(ref), 4));
    FX_FAILS(FERRY_EINVAL, ferry_blob_canonical_axis(b, 9));
    /* the error of that failure */
    FX_FAILS(FERRY_EINVAL, ferry_queue_read(q, out, ferry_ref_const(none), 4));
    ferry_blob_destroy(b);
    fx_end();
}

static void a_reference_converts_to_a_pointer_if_the_device_has_pointers(void)
{
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 8);
    ferry_cref ref = ferry_blob_device_data(b);
    const char *p = ferry_device_const_pointer(dev, ref);

    if (p)
        CU_ASSERT_PTR_EQUAL(ferry_device_const_pointer(dev, ferry_cref_advance(ref, 12)), p + 12)
    else
        CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_EUNSUPPORTED)
    ferry_blob_destroy(b);
    fx_end();
}

/* The thread has an earlier error of another call, which must not be returned. */
static void access_returns_the_code_of_this_call(void)
{
    static const char readable[64];
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_U8, 64), *other = FX_BLOB(FERRY_U8, 3);
    ferry_ref ref = { &dev, 77 }, host = at_host(readable);

    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_data(b, other));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(NULL, FERRY_DATA, NULL, FERRY_READ, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(b, FERRY_DATA, NULL, FERRY_READ, NULL, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(b, 2, NULL, FERRY_READ, NULL, &ref));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "2 is neither data nor diff"));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(b, FERRY_DATA, NULL, 0, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(b, FERRY_DATA, NULL, FERRY_NOWAIT, NULL, &ref));
    FX_FAILS(FERRY_EINVAL, ferry_blob_access(b, FERRY_DATA, NULL, 64 | FERRY_READ, NULL, &ref));
    FX_FAILS(FERRY_EINVAL,
             ferry_blob_access(b, FERRY_DATA, NULL, FERRY_READ, ferry_device_queue(dev), &ref));
    FX_OK_FATAL(ferry_memory_adopt(ferry_blob_data_memory(b), NULL, host, sizeof(readable),
                                   FERRY_ADOPT_READONLY, NULL, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_canonical_axis(b, 9));
    FX_FAILS(FERRY_EPERM, ferry_blob_access(b, FERRY_DATA, NULL, MUTABLE, NULL, &ref));
    CU_ASSERT(ref.handle == &dev && ref.offset == 77); /* `ref` is unchanged */
    FX_OK(ferry_blob_access(b, FERRY_DATA, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_PTR_EQUAL(ref.handle, readable);
    ferry_blob_destroy(other);
    ferry_blob_destroy(b);
    fx_end();
}

static void every_write_access_increases_the_version(void)
{
    ferry_blob *b;
    const ferry_memory *m;
    uint64_t before;

    fx_device();
    b = FX_BLOB(FERRY_F32, 8);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(b));
    m = ferry_blob_data_memory(b);
    before = ferry_memory_version(m);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(b)); /* done, without pending work */
    CU_ASSERT(ferry_memory_version(m) != before);
    before = ferry_memory_version(m);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
    CU_ASSERT(ferry_memory_version(m) != before);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    before = ferry_memory_version(m);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT(ferry_memory_version(m) != before);
    before = ferry_memory_version(m);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(ferry_memory_version(m), before);
    ferry_blob_destroy(b);
    fx_end();
}

/*
 * The host, the device and arithmetic write in turns. Writes by host and device copy nothing on
 * some devices, and arithmetic need not check the copies.
 */
static void alternating_writes_increase_the_version(void)
{
    const ferry_memory *m;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 8);
    m = ferry_blob_data_memory(b);
    FX_OK(ferry_blob_fill_data(b, 1));
    for (int i = 0; i < 9; i++) {
        uint64_t before = ferry_memory_version(m);

        if (i % 3 == 0)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
        if (i % 3 == 1)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
        if (i % 3 == 2)
            FX_OK(ferry_blob_scale_data(b, 2));
        CU_ASSERT(ferry_memory_version(m) != before);
    }
    ferry_blob_destroy(b);
    fx_end();
}

/* Between begin and end, calls that need a lock are refused, and the blob is unchanged. */
static void a_call_refused_in_a_section_leaves_the_blob_unchanged(void)
{
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 4);
    float *host = ferry_blob_mutable_host_data(b);
    ferry_event *e = NULL;
    double sum = -1;

    for (int i = 0; i < 4; i++)
        host[i] = (float)i + 1;
    FX_OK(ferry_blob_asum_data(b, &sum)); /* the device's abilities are known by now */
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2 }, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK_FATAL(ferry_queue_begin(ferry_device_queue(dev)));
    FX_FAILS(FERRY_EINVAL, ferry_blob_asum_data(b, &sum));
    if (ferry_blob_reshape(b, (int64_t[]){ 2, 2 }, 2, NULL) == 0)
        CU_FAIL("more axes, in a section");
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 2);
    FX_OK(ferry_queue_end(ferry_device_queue(dev), &e));
    ferry_event_destroy(e);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2, 2 }, 2, NULL));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[1], 2);
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(alternating_writes_increase_the_version),
    FERRY_TEST(a_call_refused_in_a_section_leaves_the_blob_unchanged),
    FERRY_TEST(every_write_access_increases_the_version),
    FERRY_TEST(accessors_equal_ferry_blob_access),
    FERRY_TEST(access_to_a_slice_keeps_the_other_elements),
    FERRY_TEST(work_is_submitted_to_the_given_queue),
    FERRY_TEST(a_reference_is_written_and_read_on_a_queue),
    FERRY_TEST(a_reference_converts_to_a_pointer_if_the_device_has_pointers),
    FERRY_TEST(access_returns_the_code_of_this_call),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-access", cases, FERRY_TEST_COUNT(cases));
}
