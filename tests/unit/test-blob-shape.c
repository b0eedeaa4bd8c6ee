/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <limits.h>
#include <string.h>

/* The shape of a blob: dims, counts, axes, offsets. No call here may allocate storage. */

#define BIG ((int64_t)1 << 40)

static void check_shape(const ferry_blob *b, const char *expected)
{
    char text[256] = "";

    FX_OK(ferry_blob_shape_string(b, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static void end_without_storage(ferry_blob *b)
{
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    fx_end();
}

static void a_blob_without_a_shape_has_no_axes_and_no_elements(void)
{
    ferry_blob *b;

    fx_device();
    b = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 0);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 0);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 0, 0), 1);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 0);
    check_shape(b, "(0)");
    end_without_storage(b);
}

static void a_scalar_has_no_axes_and_one_element(void)
{
    ferry_blob *b;

    fx_device();
    b = fx_blob(FERRY_F32, 0, NULL);
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 0);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 1);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 0, 0), 1);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, NULL, 0), 0);
    check_shape(b, "(1)");
    CU_ASSERT(ferry_blob_dim(b, 0) == FERRY_EINVAL);
    CU_ASSERT(ferry_blob_canonical_axis(b, 0) == FERRY_EINVAL);
    end_without_storage(b);
}

static void dims_count_and_string_are_those_of_the_shape(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4, 5);
    CU_ASSERT_EQUAL(ferry_blob_rank(b), 4);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 120);
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 120);
    CU_ASSERT_EQUAL(memcmp(ferry_blob_shape(b), ((int64_t[]){ 2, 3, 4, 5 }), 4 * sizeof(int64_t)),
                    0);
    check_shape(b, "2 3 4 5 (120)");
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2, 3 }, 2, NULL));
    check_shape(b, "2 3 (6)");
    end_without_storage(b);
}

static void a_shape_string_needs_a_large_enough_buffer(void)
{
    ferry_blob *b;
    char text[8] = "";

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3);
    FX_FAILS(FERRY_EOVERFLOW, ferry_blob_shape_string(b, text, 7));
    FX_OK(ferry_blob_shape_string(b, text, 8));
    CU_ASSERT_STRING_EQUAL(text, "2 3 (6)");
    FX_FAILS(FERRY_EINVAL, ferry_blob_shape_string(b, NULL, 8));
    end_without_storage(b);
}

static void axes_count_from_both_ends(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4);
    for (int axis = 0; axis < 3; axis++) {
        CU_ASSERT_EQUAL(ferry_blob_dim(b, axis), axis + 2);
        CU_ASSERT_EQUAL(ferry_blob_dim(b, axis - 3), axis + 2);
        CU_ASSERT_EQUAL(ferry_blob_canonical_axis(b, axis), axis);
        CU_ASSERT_EQUAL(ferry_blob_canonical_axis(b, axis - 3), axis);
    }
    CU_ASSERT_EQUAL(ferry_blob_dim(b, 3), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_dim(b, -4), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_canonical_axis(b, 3), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_canonical_axis(b, -4), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_canonical_axis(b, INT_MIN), FERRY_EINVAL);
    end_without_storage(b);
}

static void a_count_of_a_range_refuses_negative_axes(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4, 5);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 0, 4), 120);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 1, 3), 12);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 3, 4), 5);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 2, 2), 1);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 4, 4), 1);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, -1, 4), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 0, -1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 2, 1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_element_count_range(b, 0, 5), FERRY_EINVAL);
    end_without_storage(b);
}

static void legacy_accessors_return_1_for_missing_axes(void)
{
    static const int64_t front[] = { 3, 2, 1, 1 }, back[] = { 1, 1, 3, 2 };
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3, 2);
    for (int axis = 0; axis < 4; axis++) {
        CU_ASSERT_EQUAL(ferry_blob_legacy_dim(b, axis), front[axis]);
        CU_ASSERT_EQUAL(ferry_blob_legacy_dim(b, axis - 4), back[axis]);
    }
    CU_ASSERT_EQUAL(ferry_blob_legacy_dim(b, 4), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_legacy_dim(b, -5), FERRY_EINVAL);
    FX_OK(ferry_blob_reshape4(b, 2, 3, 4, 5));
    CU_ASSERT_EQUAL(ferry_blob_num(b), 2);
    CU_ASSERT_EQUAL(ferry_blob_channels(b), 3);
    CU_ASSERT_EQUAL(ferry_blob_height(b), 4);
    CU_ASSERT_EQUAL(ferry_blob_width(b), 5);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 1, 1, 1, 1 }, 5, NULL));
    CU_ASSERT_EQUAL(ferry_blob_legacy_dim(b, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_width(b), FERRY_EINVAL);
    end_without_storage(b);
}

static void offset4_allows_one_past_the_end(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4, 5);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 0, 0, 0), 0);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 1, 2, 3, 4), 119);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 2, 0, 0, 0), 120);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 3, 0, 0), 60);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 3, 0, 0, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 4, 0, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 0, 5, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 0, 0, 6), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, -1, 0, 0, 0), FERRY_EINVAL);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 3, 2 }, 2, NULL));
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 2, 1, 0, 0), 5);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 2, 1, 1, 1), 7);
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 2, 1, 2, 0), FERRY_EINVAL);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 1, 1, 1, 1 }, 5, NULL));
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 0, 0, 0, 0), FERRY_EINVAL);
    end_without_storage(b);
}

static void offset_is_strict_and_missing_indices_are_zero(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, NULL, 0), 0);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 1 }, 1), 12);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 1, 2 }, 2), 20);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 1, 2, 3 }, 3), 23);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 2 }, 1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 0, 0, 4 }, 3), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 0, -1 }, 2), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 0, 0, 0, 0 }, 4), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 0 }, -1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(b, NULL, 1), FERRY_EINVAL);
    end_without_storage(b);
}

static void counts_beyond_int_max_are_correct(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 65536, 65536);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), INT64_C(4294967296));
    CU_ASSERT_EQUAL(ferry_blob_offset(b, (int64_t[]){ 65535, 65535 }, 2), INT64_C(4294967295));
    CU_ASSERT_EQUAL(ferry_blob_offset4(b, 65536, 0, 0, 0), INT64_C(4294967296));
    check_shape(b, "65536 65536 (4294967296)");
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ BIG }, 1, NULL));
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), BIG);
    end_without_storage(b);
}

static void overflow_is_detected_for_any_order_of_zero_dims(void)
{
    static const int64_t shapes[][3] = { { 0, BIG, BIG }, { BIG, 0, BIG }, { BIG, BIG, 0 },
                                         { BIG, BIG, 1 }, { 1, BIG, BIG }, { INT64_MAX, 2, 1 } };
    static const int64_t fits[][3] = { { 0, 65536, 65536 },
                                       { 65536, 65536, 0 },
                                       { 65536, 0, 65536 } };
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3);
    for (size_t i = 0; i < FERRY_TEST_COUNT(shapes); i++) {
        bool grew = true;
        ferry_blob *none = b;

        FX_FAILS(FERRY_EOVERFLOW, ferry_blob_reshape(b, shapes[i], 3, &grew));
        CU_ASSERT(grew);
        check_shape(b, "2 3 (6)");
        FX_FAILS(FERRY_EOVERFLOW,
                 ferry_blob_create(ferry_blob_home(b), FERRY_F32, shapes[i], 3, &none));
        CU_ASSERT_PTR_EQUAL(none, b);
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(fits); i++) {
        FX_OK(ferry_blob_reshape(b, fits[i], 3, NULL));
        CU_ASSERT_EQUAL(ferry_blob_element_count(b), 0);
    }
    end_without_storage(b);
}

static void bytes_that_overflow_are_found_too(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F64, 2);
    FX_FAILS(FERRY_EOVERFLOW, ferry_blob_reshape(b, (int64_t[]){ INT64_MAX / 2 }, 1, NULL));
    FX_FAILS(FERRY_EOVERFLOW, ferry_blob_reshape4(b, BIG, 1 << 22, 1, 1));
    check_shape(b, "2 (2)");
    end_without_storage(b);
}

static void a_failed_reshape_changes_nothing(void)
{
    int64_t shape[33];
    ferry_blob *b;
    bool grew = false;

    fx_device();
    for (int i = 0; i < 33; i++)
        shape[i] = 1;
    b = FX_BLOB(FERRY_F32, 2, 3);
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(b, (int64_t[]){ 7, -1 }, 2, &grew));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(b, (int64_t[]){ -1, 0 }, 2, &grew));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(b, shape, 33, &grew));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(b, shape, -2, &grew));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(b, NULL, 2, &grew));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape4(b, 1, 1, 1, -1));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape_like(b, NULL));
    CU_ASSERT_FALSE(grew);
    check_shape(b, "2 3 (6)");
    CU_ASSERT_EQUAL(ferry_blob_capacity(b), 6);
    FX_OK(ferry_blob_reshape(b, shape, 32, &grew));
    CU_ASSERT_FALSE(grew);
    CU_ASSERT_EQUAL(ferry_blob_rank(b), FERRY_MAX_AXES);
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 1);
    end_without_storage(b);
}

static void reshape_accepts_the_dims_array_of_the_same_blob(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4);
    FX_OK(ferry_blob_reshape(b, ferry_blob_shape(b) + 1, 2, NULL));
    check_shape(b, "3 4 (12)");
    FX_OK(ferry_blob_reshape_like(b, b));
    check_shape(b, "3 4 (12)");
    end_without_storage(b);
}

static void reshape_like_sets_the_shape_of_the_other_blob(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F64, 4, 1, 2);
    b = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    FX_OK(ferry_blob_reshape_like(b, a));
    check_shape(b, "4 1 2 (8)");
    CU_ASSERT_EQUAL(ferry_blob_dtype(b), FERRY_F32);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 1);
    ferry_blob_destroy(a);
    end_without_storage(b);
}

static void shapes_are_equal_only_if_all_dims_are(void)
{
    ferry_blob *a, *b;

    fx_device();
    a = FX_BLOB(FERRY_F32, 2, 3);
    b = FX_BLOB(FERRY_F32, 3, 2);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 1, 2, 3 }, 3, NULL));
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 2, 3 }, 2, NULL));
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 1);
    ferry_blob_destroy(a);
    ferry_blob_destroy(b);
    a = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    b = fx_blob(FERRY_F32, 0, NULL);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, b), 0);
    CU_ASSERT_EQUAL(ferry_blob_shape_equals(a, a), 1);
    ferry_blob_destroy(a);
    end_without_storage(b);
}

static void dims_are_copied_to_the_device_as_int32(void)
{
    static const int32_t expected[] = { 2, 3, 4, 5 };
    int32_t shape[4] = { 0 };
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3, 4, 5);
    fx_device_get(ferry_blob_device_shape(b), sizeof(shape), shape);
    CU_ASSERT_EQUAL(memcmp(shape, expected, sizeof(shape)), 0);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 7, 1 }, 2, NULL));
    fx_device_get(ferry_blob_device_shape(b), 2 * sizeof(int32_t), shape);
    CU_ASSERT(shape[0] == 7 && shape[1] == 1);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 0, INT64_C(1) << 31 }, 2, NULL));
    FX_FAILED(FERRY_EOVERFLOW, !ferry_blob_device_shape(b).handle);
    ferry_blob_destroy(b);
    fx_end();
}

static void dtypes_have_sizes_and_names(void)
{
    static const struct {
        ferry_dtype dtype;
        size_t size;
        const char *name;
    } all[] = { { FERRY_F32, 4, "F32" },   { FERRY_F64, 8, "F64" }, { FERRY_F16, 2, "F16" },
                { FERRY_BF16, 2, "BF16" }, { FERRY_I8, 1, "I8" },   { FERRY_U8, 1, "U8" },
                { FERRY_I32, 4, "I32" },   { FERRY_I64, 8, "I64" }, { FERRY_U32, 4, "U32" } };

    fx_device();
    CU_ASSERT_EQUAL(FERRY_TEST_COUNT(all), FERRY_DTYPE_COUNT);
    for (size_t i = 0; i < FERRY_TEST_COUNT(all); i++) {
        ferry_blob *b = FX_BLOB(all[i].dtype, 3);

        CU_ASSERT_EQUAL(ferry_dtype_size(all[i].dtype), all[i].size);
        CU_ASSERT_STRING_EQUAL(ferry_dtype_name(all[i].dtype), all[i].name);
        CU_ASSERT_EQUAL(ferry_blob_dtype(b), all[i].dtype);
        CU_ASSERT(ferry_memory_size(ferry_blob_data_memory(b)) >= 3 * all[i].size);
        ferry_blob_destroy(b);
    }
    CU_ASSERT_EQUAL(ferry_dtype_size((ferry_dtype)FERRY_DTYPE_COUNT), 0);
    CU_ASSERT_STRING_EQUAL(ferry_dtype_name((ferry_dtype)FERRY_DTYPE_COUNT), "?");
    fx_end();
}

static void a_blob_has_a_name(void)
{
    char name[] = "conv1";
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 1);
    CU_ASSERT_STRING_EQUAL(ferry_blob_name(b), "");
    FX_OK(ferry_blob_set_name(b, name));
    name[0] = 'x';
    CU_ASSERT_STRING_EQUAL(ferry_blob_name(b), "conv1");
    FX_OK(ferry_blob_set_name(b, ""));
    CU_ASSERT_STRING_EQUAL(ferry_blob_name(b), "");
    FX_OK(ferry_blob_set_name(b, "fc"));
    FX_OK(ferry_blob_set_name(b, NULL));
    CU_ASSERT_STRING_EQUAL(ferry_blob_name(b), "");
    FX_FAILS(FERRY_EINVAL, ferry_blob_set_name(NULL, "x"));
    end_without_storage(b);
}

static void a_wrong_shape_is_reported_with_the_function_and_the_blob(void)
{
    ferry_blob *b = NULL;

    CU_ASSERT_EQUAL(ferry_blob_create(fx_device(), FERRY_F32, (int64_t[]){ -1 }, 1, &b),
                    FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_blob_create: dim 0 is -1");
    CU_ASSERT_PTR_NULL(b);
    b = FX_BLOB(FERRY_F32, 2);
    CU_ASSERT_EQUAL(ferry_blob_reshape(b, NULL, 33, NULL), FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(),
                           "ferry_blob_reshape: 33 axes; there may be 0 to 32");
    FX_OK(ferry_blob_set_name(b, "conv1"));
    CU_ASSERT_EQUAL(ferry_blob_reshape(b, (int64_t[]){ -1 }, 1, NULL), FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_blob_reshape of conv1: dim 0 is -1");
    end_without_storage(b);
}

static void wrong_arguments_of_create_are_refused(void)
{
    static const int64_t shape[] = { 2, -3 };
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 1);
    ferry_blob *out = b;

    FX_FAILS(FERRY_EINVAL, ferry_blob_create(NULL, FERRY_F32, shape, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, (ferry_dtype)FERRY_DTYPE_COUNT, shape, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, FERRY_F32, shape, 2, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, FERRY_F32, shape, 33, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, FERRY_F32, shape, -2, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, FERRY_F32, NULL, 1, &out));
    FX_FAILS(FERRY_EINVAL, ferry_blob_create(dev, FERRY_F32, shape, 1, NULL));
    CU_ASSERT_PTR_EQUAL(out, b);
    CU_ASSERT_PTR_EQUAL(ferry_blob_home(b), dev);
    end_without_storage(b);
}

static void a_null_blob_is_an_error_never_a_crash(void)
{
    double value = 7;

    fx_device();
    ferry_blob_destroy(NULL);
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape(NULL, NULL, 0, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_reshape4(NULL, 1, 1, 1, 1));
    CU_ASSERT_EQUAL(ferry_blob_rank(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_element_count(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_capacity(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_dtype(NULL), FERRY_F32);
    CU_ASSERT_PTR_NULL(ferry_blob_shape(NULL));
    CU_ASSERT_PTR_NULL(ferry_blob_home(NULL));
    CU_ASSERT_EQUAL(ferry_blob_dim(NULL, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset(NULL, NULL, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_offset4(NULL, 0, 0, 0, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_blob_legacy_dim(NULL, 0), FERRY_EINVAL);
    FX_FAILED(FERRY_EINVAL, !ferry_blob_host_data(NULL));
    FX_FAILED(FERRY_EINVAL, !ferry_blob_mutable_device_diff(NULL).handle);
    FX_FAILED(FERRY_EINVAL, !ferry_blob_data_memory(NULL));
    FX_FAILED(FERRY_EINVAL, !ferry_blob_device_shape(NULL).handle);
    FX_FAILS(FERRY_EINVAL, ferry_blob_update(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_asum_data(NULL, &value));
    FX_FAILS(FERRY_EINVAL, ferry_blob_data_at(NULL, NULL, 0, &value));
    CU_ASSERT_EQUAL(value, 7);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_blob_without_a_shape_has_no_axes_and_no_elements),
    FERRY_TEST(a_scalar_has_no_axes_and_one_element),
    FERRY_TEST(dims_count_and_string_are_those_of_the_shape),
    FERRY_TEST(a_shape_string_needs_a_large_enough_buffer),
    FERRY_TEST(axes_count_from_both_ends),
    FERRY_TEST(a_count_of_a_range_refuses_negative_axes),
    FERRY_TEST(legacy_accessors_return_1_for_missing_axes),
    FERRY_TEST(offset4_allows_one_past_the_end),
    FERRY_TEST(offset_is_strict_and_missing_indices_are_zero),
    FERRY_TEST(counts_beyond_int_max_are_correct),
    FERRY_TEST(overflow_is_detected_for_any_order_of_zero_dims),
    FERRY_TEST(bytes_that_overflow_are_found_too),
    FERRY_TEST(a_failed_reshape_changes_nothing),
    FERRY_TEST(reshape_accepts_the_dims_array_of_the_same_blob),
    FERRY_TEST(reshape_like_sets_the_shape_of_the_other_blob),
    FERRY_TEST(shapes_are_equal_only_if_all_dims_are),
    FERRY_TEST(dims_are_copied_to_the_device_as_int32),
    FERRY_TEST(dtypes_have_sizes_and_names),
    FERRY_TEST(a_blob_has_a_name),
    FERRY_TEST(a_wrong_shape_is_reported_with_the_function_and_the_blob),
    FERRY_TEST(wrong_arguments_of_create_are_refused),
    FERRY_TEST(a_null_blob_is_an_error_never_a_crash),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-shape", cases, FERRY_TEST_COUNT(cases));
}
