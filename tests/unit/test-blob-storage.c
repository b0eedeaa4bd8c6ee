/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <string.h>

/*
 * The storage of a blob: when it is allocated, which contents survive a reshape, and the number of
 * copied bytes.
 */

static void write_floats(ferry_blob *b, float first)
{
    float *p = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        p[i] = first + (float)i;
}

static float read_float(const ferry_blob *b, int64_t i)
{
    const float *p = ferry_blob_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p[i];
}

static bool counts_up_from(const ferry_blob *b, float first)
{
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        if (read_float(b, i) != first + (float)i)
            return false;
    return true;
}

static ferry_memory_head_state data_head(const ferry_blob *b)
{
    return ferry_memory_head(ferry_blob_data_memory(b));
}

static uint64_t live_bytes(void)
{
    ferry_device_stats now = { .struct_size = sizeof now };

    FX_OK(ferry_device_get_stats(fx_device(), &now));
    return now.live_bytes;
}

static int reshape1(ferry_blob *b, int64_t count, bool *grew)
{
    return ferry_blob_reshape(b, &count, 1, grew);
}

/* ---- lazy allocation ------------------------------------------------------------------------ */

static void an_unused_blob_allocates_nothing(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    FX_OK(reshape1(b, 2000, NULL));
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    fx_end();
}

static void each_copy_of_data_and_diff_is_allocated_when_first_touched(void)
{
    uint64_t before, with_data;
    ferry_blob *b;

    fx_device();
    before = live_bytes();
    b = FX_BLOB(FERRY_F32, 1000);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    with_data = live_bytes() - before;
    CU_ASSERT(with_data >= 4000 && with_data < 8000);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(live_bytes() - before, with_data);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_diff(b).handle);
    CU_ASSERT_EQUAL(live_bytes() - before, 2 * with_data);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(live_bytes(), before);
}

static void data_and_diff_are_distinct(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 10);
    write_floats(b, 1);
    CU_ASSERT_PTR_NOT_EQUAL(ferry_blob_mutable_host_diff(b), ferry_blob_mutable_host_data(b));
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_diff(b))[9], 0);
    CU_ASSERT_PTR_NOT_EQUAL(ferry_blob_device_data(b).handle, ferry_blob_device_diff(b).handle);
    CU_ASSERT_PTR_NOT_EQUAL(ferry_blob_data_memory(b), ferry_blob_diff_memory(b));
    CU_ASSERT(counts_up_from(b, 1));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- reshape -------------------------------------------------------------------------------- */

static void shrinking_keeps_pointers_head_and_capacity(void)
{
    const void *host;
    ferry_cref device;
    ferry_blob *b;
    bool grew = true;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    host = ferry_blob_host_data(b);
    device = ferry_blob_device_data(b);
    fx_mark();
    FX_OK(reshape1(b, 10, &grew));
    CU_ASSERT_FALSE(grew);
    CU_ASSERT_EQUAL(data_head(b), FERRY_HEAD_SYNCED);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 1000);
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), host);
    CU_ASSERT_PTR_EQUAL(ferry_blob_device_data(b).handle, device.handle);
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    CU_ASSERT_EQUAL(fx_copies(), 0);
    CU_ASSERT(counts_up_from(b, 1));
    ferry_blob_destroy(b);
    fx_end();
}

static void growing_back_within_the_capacity_shows_the_old_values(void)
{
    ferry_blob *b;
    bool grew = true;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    FX_OK(reshape1(b, 0, NULL));
    FX_OK(reshape1(b, 1000, &grew));
    CU_ASSERT_FALSE(grew);
    CU_ASSERT(counts_up_from(b, 1));
    ferry_blob_destroy(b);
    fx_end();
}

static void growing_past_the_capacity_gives_memory_that_reads_as_zeros(void)
{
    ferry_blob *b;
    bool grew = false;

    fx_device();
    b = FX_BLOB(FERRY_F32, 10);
    write_floats(b, 1);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_diff(b).handle);
    FX_OK(reshape1(b, 1000, &grew));
    CU_ASSERT(grew);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 1000);
    CU_ASSERT_EQUAL(data_head(b), FERRY_HEAD_UNINITIALIZED);
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL(read_float(b, i), 0);
    CU_ASSERT_EQUAL(ferry_memory_head(ferry_blob_diff_memory(b)), FERRY_HEAD_UNINITIALIZED);
    grew = false;
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1001, 1 }, 2, &grew));
    CU_ASSERT(grew);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_blob_without_a_shape_grows_into_one(void)
{
    ferry_blob *b;
    bool grew = false;

    fx_device();
    b = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2, 3 }, 2, &grew));
    CU_ASSERT(grew);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 6);
    write_floats(b, 5);
    CU_ASSERT(counts_up_from(b, 5));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- bytes in use --------------------------------------------------------------------------- */

static void a_copy_moves_the_bytes_in_use_not_the_capacity(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    FX_OK(reshape1(b, 1, NULL));
    fx_mark();
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(fx_since().bytes_h2d, fx_price(1) * 4);
    CU_ASSERT_EQUAL(read_float(b, 0), 1);
    CU_ASSERT_EQUAL(fx_since().bytes_d2h, fx_price(1) * 4);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_copy_that_is_too_short_after_regrowth_is_no_longer_valid(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    FX_OK(reshape1(b, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    CU_ASSERT_EQUAL(data_head(b), FERRY_HEAD_SYNCED);
    FX_OK(reshape1(b, 1000, NULL));
    if (fx_discrete())
        CU_ASSERT_EQUAL(data_head(b), FERRY_HEAD_AT_HOST);
    fx_mark();
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(fx_bytes(), fx_price(1) * 4000);
    CU_ASSERT(counts_up_from(b, 1));
    ferry_blob_destroy(b);
    fx_end();
}

static void after_a_regrowth_a_tail_without_a_copy_reads_as_zeros(void)
{
    int64_t wrong = 0;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    FX_OK(reshape1(b, 10, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_blob_fill_data(b, 3));
    FX_OK(reshape1(b, 1000, NULL));
    CU_ASSERT_EQUAL(data_head(b), FERRY_HEAD_AT_DEVICE);
    for (int64_t i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(read_float(b, i), 3);
    for (int64_t i = 10; i < 1000; i++)
        wrong += read_float(b, i) != 0;
    CU_ASSERT_EQUAL(wrong, 0);
    ferry_blob_destroy(b);
    fx_end();
}

/* Ways to write, or only to read, two elements of a blob with a capacity of four. */
static void by_reading(ferry_blob *b)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
}

static void by_mutable_host(ferry_blob *b)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
}

static void by_overwrite_host(ferry_blob *b)
{
    write_floats(b, 1);
}

static void by_mutable_device(ferry_blob *b)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
}

static void by_overwrite_device(ferry_blob *b)
{
    ferry_ref y = ferry_blob_overwrite_device_data(b);

    FX_OK(ferry_math_fill(ferry_device_queue(ferry_blob_home(b)), FERRY_F32, 2, 1, y));
}

static void copy_from(ferry_blob *b, bool written)
{
    ferry_blob *source = FX_BLOB(FERRY_F32, 2);

    if (written)
        write_floats(source, 1);
    FX_OK(ferry_blob_copy_from(b, source, 0));
    ferry_blob_destroy(source);
}

static void by_copy_of_nothing(ferry_blob *b)
{
    copy_from(b, false);
}

static void by_copy_on_the_host(ferry_blob *b)
{
    copy_from(b, true);
}

/*
 * Four elements on the host, or on the device, of which the other side may have read the first two.
 */
static ferry_blob *shrunken(bool at_device, bool read)
{
    ferry_blob *b = FX_BLOB(FERRY_F32, 4);

    write_floats(b, 1);
    if (at_device)
        by_mutable_device(b);
    FX_OK(reshape1(b, 2, NULL));
    if (read)
        by_reading(b);
    return b;
}

static void growing_back_shows_the_bytes_of_the_remaining_copy(void)
{
    static const struct {
        void (*write)(ferry_blob *);
        bool on_host, on_device;
    } ways[] = {
        { by_reading, false, false },         { by_mutable_host, true, false },
        { by_overwrite_host, true, false },   { by_mutable_device, false, true },
        { by_overwrite_device, false, true }, { by_copy_of_nothing, false, true },
        { by_copy_on_the_host, true, false },
    };

    for (unsigned i = 0; i < 4 * sizeof(ways) / sizeof(ways[0]); i++) {
        bool at_device = i & 1, read = i & 2, lost;
        ferry_blob *b;

        fx_device();
        b = shrunken(at_device, read);
        ways[i / 4].write(b);
        lost = at_device ? ways[i / 4].on_host : ways[i / 4].on_device;
        FX_OK(reshape1(b, 4, NULL));
        CU_ASSERT_EQUAL(read_float(b, 2), lost ? 0 : 3);
        CU_ASSERT_EQUAL(read_float(b, 3), lost ? 0 : 4);
        by_reading(b);
        CU_ASSERT_EQUAL(read_float(b, 3), lost ? 0 : 4);
        ferry_blob_destroy(b);
        fx_end();
    }
}

/*
 * The blob grows back in several steps. A copy that is too short is dropped, even if it shares the
 * bytes of the other copy.
 */
static void growing_back_in_steps_keeps_only_long_enough_copies(void)
{
    ferry_blob *b;
    float *host;

    fx_device();
    b = shrunken(true, true);
    FX_OK(reshape1(b, 3, NULL));
    host = ferry_blob_overwrite_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    for (int i = 0; i < 3; i++)
        host[i] = 7;
    FX_OK(reshape1(b, 4, NULL));
    CU_ASSERT_EQUAL(read_float(b, 2), 7);
    CU_ASSERT_EQUAL(read_float(b, 3), 0);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_first_write_to_a_shrunken_blob_leaves_zeros_in_the_tail(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    FX_OK(reshape1(b, 10, NULL));
    write_floats(b, 1);
    FX_OK(reshape1(b, 1000, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(read_float(b, 9), 10);
    for (int64_t i = 10; i < 1000; i++)
        CU_ASSERT_EQUAL(read_float(b, i), 0);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_first_read_fills_the_capacity_with_zeros(void)
{
    ferry_blob *b;

    fx_device();
    for (int side = 0; side < 2; side++) {
        b = FX_BLOB(FERRY_F32, 1000);
        FX_OK(reshape1(b, 10, NULL));
        if (side)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
        CU_ASSERT_EQUAL(read_float(b, 9), 0);
        FX_OK(reshape1(b, 1000, NULL));
        for (int64_t i = 0; i < 1000; i++)
            CU_ASSERT_EQUAL(read_float(b, i), 0);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* ---- no elements ---------------------------------------------------------------------------- */

static void check_accessors(ferry_blob *b)
{
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_data(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_device_data(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_diff(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_host_diff(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_diff(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_diff(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_diff(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_device_diff(b).handle);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_data_memory(b));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_diff_memory(b));
}

static void blobs_of_no_elements_have_valid_accessors(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 0, 5);
    check_accessors(b);
    FX_OK(reshape1(b, 10, NULL));
    check_accessors(b);
    FX_OK(reshape1(b, 0, NULL));
    check_accessors(b);
    ferry_blob_destroy(b);
    b = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    check_accessors(b);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- adoption ------------------------------------------------------------------------------- */

static void adopting_data_keeps_the_diff(void)
{
    static _Alignas(64) float own[1000];
    ferry_ref ref = { own, 0 };
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 10);
    FX_OK(ferry_blob_fill_diff(b, 4));
    own[999] = 8;
    FX_FAILS(FERRY_ESHAPE,
             ferry_memory_adopt(ferry_blob_data_memory(b), NULL, ref, 39, 0, NULL, NULL));
    FX_OK(ferry_memory_adopt(ferry_blob_data_memory(b), NULL, ref, sizeof(own), 0, NULL, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), own);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_diff(b))[9], 4);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 1000);
    FX_OK(reshape1(b, 1000, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), own);
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_diff(b))[999], 0);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_shorter_adoption_reduces_the_capacity(void)
{
    static _Alignas(64) float own[10];
    ferry_ref ref = { own, 0 };
    ferry_blob *b;
    bool grew = false;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1000);
    write_floats(b, 1);
    FX_OK(reshape1(b, 10, NULL));
    FX_OK(ferry_memory_adopt(ferry_blob_data_memory(b), NULL, ref, sizeof(own), 0, NULL, NULL));
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 10);
    FX_OK(reshape1(b, 1000, &grew));
    CU_ASSERT(grew);
    write_floats(b, 1);
    CU_ASSERT_EQUAL(own[9], 0);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- another home --------------------------------------------------------------------------- */

static void a_new_home_causes_no_copy_until_the_next_access(void)
{
    const char *other_name = strcmp(ferry_test_backend(), "cpu") == 0 ? "sim" : "cpu";
    ferry_device *dev = fx_device(), *other = NULL;
    ferry_blob *b;

    if (ferry_runtime_get_device(fx_runtime(), other_name, &other)) {
        ferry_test_skip("no %s: %s", other_name, ferry_last_error());
        return;
    }
    b = FX_BLOB(FERRY_F32, 100);
    write_floats(b, 1);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    fx_mark();
    FX_OK(ferry_blob_move_to(b, other));
    CU_ASSERT_PTR_EQUAL(ferry_blob_home(b), other);
    CU_ASSERT_EQUAL(fx_copies(), 0);
    CU_ASSERT(ferry_memory_is_valid_at(ferry_blob_data_memory(b), dev));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(fx_since().copies_d2h, fx_price(1)); /* the host's contents are not copied */
    CU_ASSERT(ferry_memory_is_valid_at(ferry_blob_data_memory(b), other));
    CU_ASSERT_FALSE(ferry_memory_is_valid_at(ferry_blob_data_memory(b), dev));
    CU_ASSERT(counts_up_from(b, 1));
    FX_OK(ferry_blob_move_to(b, dev));
    FX_FAILS(FERRY_EINVAL, ferry_blob_move_to(b, NULL));
    CU_ASSERT(counts_up_from(b, 1));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- shapes that are too large -------------------------------------------------------------- */

#define TOO_MANY (INT64_C(1) << 57) /* beyond the addresses, so that no system overcommits it */

static void after_a_shape_that_is_too_large_a_smaller_one_can_be_used(void)
{
    ferry_blob *b;

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F32, (int64_t[]){ 6 }, 1, &b));
    write_floats(b, 1);
    FX_OK(reshape1(b, TOO_MANY, NULL));
    CU_ASSERT_PTR_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ENOMEM);
    FX_FAILS(FERRY_ENOMEM, ferry_blob_fill_diff(b, 1));
    FX_OK(reshape1(b, 6, NULL));
    write_floats(b, 3);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT(counts_up_from(b, 3));
    FX_OK(ferry_blob_fill_diff(b, 1));
    CU_ASSERT(ferry_blob_capacity(b) >= 6); /* unified memory is rounded up */
    CU_ASSERT(ferry_blob_capacity(b) < TOO_MANY);
    ferry_blob_destroy(b);
    fx_end();
}

/* The blob grows to memory of its own, although the memory's capacity would be enough. */
static void a_blob_that_was_too_large_grows_again(void)
{
    ferry_blob *b;
    bool grew = false;

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F32, (int64_t[]){ 6 }, 1, &b));
    FX_OK(reshape1(b, TOO_MANY, NULL));
    FX_OK(reshape1(b, 4, NULL));
    write_floats(b, 1);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(reshape1(b, 1 << 20, &grew));
    CU_ASSERT(grew);
    write_floats(b, 2);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    CU_ASSERT(counts_up_from(b, 2));
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(after_a_shape_that_is_too_large_a_smaller_one_can_be_used),
    FERRY_TEST(a_blob_that_was_too_large_grows_again),
    FERRY_TEST(an_unused_blob_allocates_nothing),
    FERRY_TEST(each_copy_of_data_and_diff_is_allocated_when_first_touched),
    FERRY_TEST(data_and_diff_are_distinct),
    FERRY_TEST(shrinking_keeps_pointers_head_and_capacity),
    FERRY_TEST(growing_back_within_the_capacity_shows_the_old_values),
    FERRY_TEST(growing_past_the_capacity_gives_memory_that_reads_as_zeros),
    FERRY_TEST(a_blob_without_a_shape_grows_into_one),
    FERRY_TEST(a_copy_moves_the_bytes_in_use_not_the_capacity),
    FERRY_TEST(a_copy_that_is_too_short_after_regrowth_is_no_longer_valid),
    FERRY_TEST(after_a_regrowth_a_tail_without_a_copy_reads_as_zeros),
    FERRY_TEST(growing_back_shows_the_bytes_of_the_remaining_copy),
    FERRY_TEST(growing_back_in_steps_keeps_only_long_enough_copies),
    FERRY_TEST(a_first_write_to_a_shrunken_blob_leaves_zeros_in_the_tail),
    FERRY_TEST(a_first_read_fills_the_capacity_with_zeros),
    FERRY_TEST(blobs_of_no_elements_have_valid_accessors),
    FERRY_TEST(adopting_data_keeps_the_diff),
    FERRY_TEST(a_shorter_adoption_reduces_the_capacity),
    FERRY_TEST(a_new_home_causes_no_copy_until_the_next_access),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-storage", cases, FERRY_TEST_COUNT(cases));
}
