/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <math.h>
#include <string.h>

/* Related blobs: copies, sharers, slices. */

static void fill_up(ferry_blob *b, bool diff, double first)
{
    void *p = diff ? ferry_blob_overwrite_host_diff(b) : ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        fx_set(ferry_blob_dtype(b), p, i, first + (double)i);
}

static double at(const ferry_blob *b, bool diff, int64_t i)
{
    const void *p = diff ? ferry_blob_host_diff(b) : ferry_blob_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return fx_get(ferry_blob_dtype(b), p, i);
}

static bool counts_up_from(const ferry_blob *b, bool diff, double first)
{
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        if (at(b, diff, i) != first + (double)i)
            return false;
    return true;
}

static ferry_memory_head_state data_head(const ferry_blob *b)
{
    return ferry_memory_head(ferry_blob_data_memory(b));
}

/* ---- copy_from ------------------------------------------------------------------------------ */

static void copies_between_equal_shapes_copy_the_selected_half(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 2, 3);
    b = FX_BLOB(FERRY_F32, 2, 3);
    fill_up(a, false, 1);
    fill_up(a, true, 100);
    fill_up(b, true, 50);
    FX_OK(ferry_blob_copy_from(b, a, 0));
    CU_ASSERT(counts_up_from(b, false, 1));
    CU_ASSERT(counts_up_from(b, true, 50));
    fill_up(b, false, 7);
    FX_OK(ferry_blob_copy_from(b, a, FERRY_COPY_DIFF));
    CU_ASSERT(counts_up_from(b, false, 7));
    CU_ASSERT(counts_up_from(b, true, 100));
    fill_up(a, false, 9);
    CU_ASSERT(counts_up_from(b, false, 7));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_copy_between_different_shapes_needs_the_flag(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 2, 3);
    b = FX_BLOB(FERRY_F32, 3, 2);
    fill_up(a, false, 1);
    fill_up(b, false, 7);
    FX_FAILS(FERRY_ESHAPE, ferry_blob_copy_from(b, a, 0));
    CU_ASSERT_EQUAL(ferry_blob_dim(b, 0), 3);
    CU_ASSERT(counts_up_from(b, false, 7));
    FX_OK(ferry_blob_copy_from(b, a, FERRY_COPY_RESHAPE));
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 1);
    CU_ASSERT(counts_up_from(b, false, 1));
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 100 }, 1, NULL));
    fill_up(a, true, 3);
    FX_OK(ferry_blob_copy_from(b, a, FERRY_COPY_RESHAPE | FERRY_COPY_DIFF));
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 100);
    CU_ASSERT(counts_up_from(b, true, 3));
    FX_FAILS(FERRY_EINVAL, ferry_blob_copy_from(b, NULL, 0));
    FX_FAILS(FERRY_EINVAL, ferry_blob_copy_from(NULL, a, 0));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_copy_runs_on_the_side_of_its_source(void)
{
    static const ferry_memory_head_state heads[] = { FERRY_HEAD_AT_HOST, FERRY_HEAD_AT_DEVICE,
                                                     FERRY_HEAD_SYNCED };
    ferry_device *dev = fx_device();

    for (size_t i = 0; i < FERRY_TEST_COUNT(heads); i++) {
        ferry_blob *a = FX_BLOB(FERRY_F32, 100), *b = FX_BLOB(FERRY_F32, 100);

        fill_up(a, false, 1);
        fill_up(b, false, 7);
        if (heads[i] == FERRY_HEAD_SYNCED)
            ferry_blob_device_data(a);
        if (heads[i] == FERRY_HEAD_AT_DEVICE)
            ferry_blob_mutable_device_data(a);
        fx_mark();
        FX_OK(ferry_blob_copy_from(b, a, 0));
        CU_ASSERT_EQUAL(fx_copies(), 0);
        CU_ASSERT_EQUAL(data_head(a), heads[i]);
        CU_ASSERT_EQUAL(ferry_memory_is_valid_at(ferry_blob_data_memory(b), dev),
                        heads[i] != FERRY_HEAD_AT_HOST);
        CU_ASSERT(counts_up_from(b, false, 1));
        ferry_blob_destroy(a);
        ferry_blob_destroy(b);
    }
    fx_end();
}

static void a_source_never_written_copies_as_zeros(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 4);
    b = FX_BLOB(FERRY_F32, 4);
    fill_up(b, false, 7);
    FX_OK(ferry_blob_copy_from(b, a, 0));
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(at(b, false, i), 0);
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

static void copying_a_blob_to_itself_or_an_empty_blob_works(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 4);
    fill_up(a, false, 1);
    FX_OK(ferry_blob_copy_from(a, a, 0));
    CU_ASSERT(counts_up_from(a, false, 1));
    b = FX_BLOB(FERRY_F32, 4);
    FX_OK(ferry_blob_share_data(b, a));
    FX_OK(ferry_blob_copy_from(b, a, 0));
    CU_ASSERT(counts_up_from(b, false, 1));
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 0 }, 1, NULL));
    FX_OK(ferry_blob_copy_from(a, b, FERRY_COPY_RESHAPE));
    CU_ASSERT_EQUAL(ferry_blob_element_count(a), 0);
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_copy_converts_between_every_pair_of_dtypes(void)
{
    if (!strcmp(ferry_test_backend(), "opencl") &&
        (ferry_test_skip_variant() || ferry_test_skip_slow_device())) /* it compiles each pair */
        return;
    fx_device();
    for (int from = 0; from < FERRY_DTYPE_COUNT; from++)
        for (int to = 0; to < FERRY_DTYPE_COUNT; to++)
            for (int device = 0; device < 2; device++) {
                ferry_blob *a = FX_BLOB((ferry_dtype)from, 100);
                ferry_blob *b = FX_BLOB((ferry_dtype)to, 100);

                fill_up(a, false, 3);
                if (device)
                    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(a).handle);
                FX_OK(ferry_blob_copy_from(b, a, 0));
                CU_ASSERT(counts_up_from(b, false, 3));
                ferry_blob_destroy(a);
                ferry_blob_destroy(b);
            }
    fx_end();
}

static void integers_saturate_and_nan_becomes_zero(void)
{
    static const double values[] = { 1e30, -1e30, NAN, 2.5, -3.5, INFINITY };
    static const struct {
        ferry_dtype dtype;
        double expected[6];
    } to[] = { { FERRY_I8, { 127, -128, 0, 2, -4, 127 } },
               { FERRY_U8, { 255, 0, 0, 2, 0, 255 } },
               { FERRY_I32, { 2147483647.0, -2147483648.0, 0, 2, -4, 2147483647.0 } },
               { FERRY_I64, { 0x1p63, -0x1p63, 0, 2, -4, 0x1p63 } },
               { FERRY_U32, { 4294967295.0, 0, 0, 2, 0, 4294967295.0 } } };

    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(to); t++) {
        ferry_blob *a = FX_BLOB(FERRY_F64, 6), *b = FX_BLOB(to[t].dtype, 6);

        memcpy(ferry_blob_overwrite_host_data(a), values, sizeof(values));
        FX_OK(ferry_blob_copy_from(b, a, 0));
        for (int i = 0; i < 6; i++)
            CU_ASSERT_EQUAL(at(b, false, i), to[t].expected[i]);
        ferry_blob_destroy(a);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* ---- share ---------------------------------------------------------------------------------- */

static void sharers_see_each_others_writes_and_adoptions(void)
{
    static _Alignas(64) float own[6];
    ferry_ref ref = { own, 0 };
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 2, 3);
    b = FX_BLOB(FERRY_F32, 6);
    fill_up(b, true, 40);
    FX_OK(ferry_blob_share_data(b, a));
    CU_ASSERT_PTR_EQUAL(ferry_blob_data_memory(a), ferry_blob_data_memory(b));
    fill_up(a, false, 1);
    CU_ASSERT(counts_up_from(b, false, 1));
    FX_OK(ferry_blob_fill_data(b, 5));
    CU_ASSERT_EQUAL(at(a, false, 5), 5);
    FX_OK(ferry_memory_adopt(ferry_blob_data_memory(a), NULL, ref, sizeof(own), 0, NULL, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), own);
    CU_ASSERT(counts_up_from(b, true, 40));
    ferry_blob_destroy(a);
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), own);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_diff_can_be_shared(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 6);
    b = FX_BLOB(FERRY_F32, 2, 3);
    fill_up(a, false, 1);
    FX_OK(ferry_blob_share_diff(b, a));
    fill_up(b, true, 9);
    CU_ASSERT(counts_up_from(a, true, 9));
    CU_ASSERT_EQUAL(at(b, false, 0), 0);
    CU_ASSERT(counts_up_from(a, false, 1));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

static void sharing_needs_equal_counts_and_dtypes(void)
{
    ferry_blob *a, *b, *c;

    fx_device();
    a = FX_BLOB(FERRY_F32, 6);
    b = FX_BLOB(FERRY_F32, 7);
    c = FX_BLOB(FERRY_I32, 6);
    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_data(b, a));
    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_diff(b, a));
    FX_FAILS(FERRY_ESHAPE, ferry_blob_share_data(c, a));
    FX_FAILS(FERRY_EINVAL, ferry_blob_share_data(b, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_share_diff(NULL, b));
    FX_OK(ferry_blob_share_data(a, a));
    CU_ASSERT_PTR_NOT_EQUAL(ferry_blob_data_memory(a), ferry_blob_data_memory(b));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    ferry_blob_destroy(c);
    fx_end();
}

static void a_growing_sharer_does_not_write_beyond_the_owners_buffer(void)
{
    ferry_blob *owner, *sharer;
    bool grew = false;

    fx_device();
    owner = FX_BLOB(FERRY_F32, 2);
    sharer = FX_BLOB(FERRY_F32, 100);
    fill_up(owner, false, 1);
    fill_up(sharer, false, 7);
    FX_OK(ferry_blob_reshape(sharer, (int64_t[]){ 2 }, 1, NULL));
    FX_OK(ferry_blob_share_data(sharer, owner));
    CU_ASSERT_EQUAL(ferry_blob_capacity(sharer), 2);
    FX_OK(ferry_blob_reshape(sharer, (int64_t[]){ 100 }, 1, &grew));
    CU_ASSERT(grew);
    fill_up(sharer, false, 50);
    CU_ASSERT(counts_up_from(owner, false, 1));
    CU_ASSERT(counts_up_from(sharer, false, 50));
    ferry_blob_destroy(owner);
    ferry_blob_destroy(sharer);
    fx_end();
}

static void a_smaller_sharer_does_not_truncate_the_owners_values(void)
{
    ferry_blob *owner, *sharer;

    fx_device();
    owner = FX_BLOB(FERRY_F32, 100);
    sharer = FX_BLOB(FERRY_F32, 100);
    fill_up(owner, false, 1);
    FX_OK(ferry_blob_share_data(sharer, owner));
    FX_OK(ferry_blob_reshape(sharer, (int64_t[]){ 2 }, 1, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(sharer).handle);
    CU_ASSERT_EQUAL(at(sharer, false, 1), 2);
    CU_ASSERT(counts_up_from(owner, false, 1));
    ferry_blob_destroy(owner);
    ferry_blob_destroy(sharer);
    fx_end();
}

static void a_copy_moves_the_bytes_that_the_sharers_need(void)
{
    ferry_blob *a, *b;
    ferry_device_stats before = { .struct_size = sizeof before },
                       after = { .struct_size = sizeof after };

    fx_device();
    a = FX_BLOB(FERRY_F32, 100);
    b = FX_BLOB(FERRY_F32, 100);
    FX_OK(ferry_blob_share_data(b, a));
    fill_up(a, false, 1);
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 2 }, 1, NULL));
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2 }, 1, NULL));
    FX_OK(ferry_device_get_stats(ferry_blob_home(a), &before));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(a).handle);
    FX_OK(ferry_device_get_stats(ferry_blob_home(a), &after));
    CU_ASSERT(after.bytes_h2d - before.bytes_h2d <= 8);
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 4 }, 1, NULL));
    CU_ASSERT(counts_up_from(b, false, 1));
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- slices --------------------------------------------------------------------------------- */

static ferry_blob *slice_of(const ferry_blob *parent, int64_t start, int64_t count)
{
    ferry_blob *s = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_slice(parent, start, count, &s), FERRY_OK);
    return s;
}

static void a_slice_shares_the_elements_of_its_parent(void)
{
    ferry_blob *parent, *slice;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 3);
    fill_up(parent, false, 0);
    fill_up(parent, true, 100);
    slice = slice_of(parent, 1, 2);
    CU_ASSERT_EQUAL(ferry_blob_rank(slice), 2);
    CU_ASSERT_EQUAL(ferry_blob_dim(slice, 0), 2);
    CU_ASSERT_EQUAL(ferry_blob_element_count(slice), 6);
    CU_ASSERT(counts_up_from(slice, false, 3));
    CU_ASSERT(counts_up_from(slice, true, 103));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(slice),
                        (const float *)ferry_blob_host_data(parent) + 3);
    CU_ASSERT_PTR_EQUAL(ferry_blob_device_data(slice).handle,
                        ferry_blob_device_data(parent).handle);
    CU_ASSERT_EQUAL(ferry_blob_device_data(slice).offset,
                    ferry_blob_device_data(parent).offset + 12);
    fill_up(slice, false, 50);
    CU_ASSERT_EQUAL(at(parent, false, 2), 2);
    CU_ASSERT_EQUAL(at(parent, false, 3), 50);
    CU_ASSERT_EQUAL(at(parent, false, 8), 55);
    CU_ASSERT_EQUAL(at(parent, false, 9), 9);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(parent);
    fx_end();
}

static void an_overwrite_through_a_slice_keeps_the_other_elements(void)
{
    ferry_blob *parent, *slice;

    fx_device();
    for (int to_device = 0; to_device < 2; to_device++) {
        parent = FX_BLOB(FERRY_F32, 4, 3);
        fill_up(parent, false, 0);
        slice = slice_of(parent, 1, 2);
        if (to_device) {
            fx_device_set(ferry_blob_overwrite_device_data(slice), 24, 0);
        } else {
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(parent).handle);
            fx_mark();
            memset(ferry_blob_overwrite_host_data(slice), 0, 24);
            CU_ASSERT_EQUAL(fx_copies(), fx_price(1));
        }
        for (int i = 0; i < 12; i++)
            CU_ASSERT_EQUAL(at(parent, false, i), i < 3 || i > 8 ? i : 0);
        ferry_blob_destroy(slice);
        ferry_blob_destroy(parent);
    }
    fx_end();
}

static void arithmetic_on_a_slice_stays_inside_it(void)
{
    ferry_blob *parent, *slice;
    double sum = 0;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 3);
    fill_up(parent, false, 0);
    FX_OK(ferry_blob_fill_diff(parent, 1));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(parent).handle);
    slice = slice_of(parent, 3, 1);
    FX_OK(ferry_blob_update(slice));
    FX_OK(ferry_blob_scale_data(slice, 2));
    FX_OK(ferry_blob_asum_data(slice, &sum));
    CU_ASSERT_EQUAL(sum, 54);
    FX_OK(ferry_blob_data_at(slice, (int64_t[]){ 0, 2 }, 2, &sum));
    CU_ASSERT_EQUAL(sum, 20);
    for (int i = 0; i < 9; i++)
        CU_ASSERT_EQUAL(at(parent, false, i), i);
    CU_ASSERT_EQUAL(at(parent, false, 9), 16);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(parent);
    fx_end();
}

static void a_slice_outlives_its_parent_and_its_growth(void)
{
    ferry_blob *parent, *slice, *part;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 3);
    fill_up(parent, false, 0);
    slice = slice_of(parent, 1, 3);
    part = slice_of(slice, 1, 1);
    FX_OK(ferry_blob_reshape(parent, (int64_t[]){ 400, 3 }, 2, NULL));
    fill_up(parent, false, 1000);
    CU_ASSERT(counts_up_from(slice, false, 3));
    ferry_blob_destroy(parent);
    CU_ASSERT(counts_up_from(slice, false, 3));
    ferry_blob_destroy(slice);
    CU_ASSERT(counts_up_from(part, false, 6));
    ferry_blob_destroy(part);
    fx_end();
}

static void a_slice_reshapes_within_its_range_and_cannot_adopt(void)
{
    static _Alignas(64) float own[6];
    ferry_ref ref = { own, 0 };
    ferry_blob *parent, *slice;
    int calls = 0;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 3);
    fill_up(parent, false, 0);
    slice = slice_of(parent, 1, 2);
    FX_OK(ferry_blob_reshape(slice, (int64_t[]){ 6 }, 1, NULL));
    CU_ASSERT(counts_up_from(slice, false, 3));
    FX_OK(ferry_blob_reshape(slice, (int64_t[]){ 2 }, 1, NULL));
    FX_FAILS(FERRY_ESHAPE, ferry_blob_reshape(slice, (int64_t[]){ 7 }, 1, NULL));
    CU_ASSERT_EQUAL(ferry_blob_element_count(slice), 2);
    FX_OK(ferry_blob_reshape(slice, (int64_t[]){ 3, 2 }, 2, NULL));
    FX_FAILS(FERRY_EPERM, ferry_memory_adopt(ferry_blob_data_memory(slice), NULL, ref, sizeof(own),
                                             0, fx_count_call, &calls));
    CU_ASSERT_EQUAL(calls, 0);
    CU_ASSERT(counts_up_from(slice, false, 3));
    CU_ASSERT(counts_up_from(parent, false, 0));
    ferry_blob_destroy(slice);
    ferry_blob_destroy(parent);
    fx_end();
}

static void a_slice_outside_axis_0_is_refused(void)
{
    ferry_blob *parent, *scalar, *out = NULL, *empty;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 3);
    scalar = fx_blob(FERRY_F32, 0, NULL);
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, -1, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, 0, 5, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, 4, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, 1, -1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, INT64_MAX, INT64_MAX, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(scalar, 0, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(NULL, 0, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_slice(parent, 0, 1, NULL));
    CU_ASSERT_PTR_NULL(out);
    empty = slice_of(parent, 4, 0);
    CU_ASSERT_EQUAL(ferry_blob_element_count(empty), 0);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(empty));
    ferry_blob_destroy(empty);
    ferry_blob_destroy(scalar);
    ferry_blob_destroy(parent);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(copies_between_equal_shapes_copy_the_selected_half),
    FERRY_TEST(a_copy_between_different_shapes_needs_the_flag),
    FERRY_TEST(a_copy_runs_on_the_side_of_its_source),
    FERRY_TEST(a_source_never_written_copies_as_zeros),
    FERRY_TEST(copying_a_blob_to_itself_or_an_empty_blob_works),
    FERRY_TEST(a_copy_converts_between_every_pair_of_dtypes),
    FERRY_TEST(integers_saturate_and_nan_becomes_zero),
    FERRY_TEST(sharers_see_each_others_writes_and_adoptions),
    FERRY_TEST(a_diff_can_be_shared),
    FERRY_TEST(sharing_needs_equal_counts_and_dtypes),
    FERRY_TEST(a_growing_sharer_does_not_write_beyond_the_owners_buffer),
    FERRY_TEST(a_smaller_sharer_does_not_truncate_the_owners_values),
    FERRY_TEST(a_copy_moves_the_bytes_that_the_sharers_need),
    FERRY_TEST(a_slice_shares_the_elements_of_its_parent),
    FERRY_TEST(an_overwrite_through_a_slice_keeps_the_other_elements),
    FERRY_TEST(arithmetic_on_a_slice_stays_inside_it),
    FERRY_TEST(a_slice_outlives_its_parent_and_its_growth),
    FERRY_TEST(a_slice_reshapes_within_its_range_and_cannot_adopt),
    FERRY_TEST(a_slice_outside_axis_0_is_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-share", cases, FERRY_TEST_COUNT(cases));
}
