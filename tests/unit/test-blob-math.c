/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A blob's computations: update, sums, scale, fill, single elements; their device and cost. */

#define COUNT 24

/* Puts one half of a blob into state `head` with element i = first + i. */
static void put(ferry_blob *b, bool diff, ferry_memory_head_state head, double first)
{
    ferry_memory *m = diff ? ferry_blob_diff_memory(b) : ferry_blob_data_memory(b);
    void *p;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    if (head == FERRY_HEAD_UNINITIALIZED)
        return;
    p = ferry_memory_overwrite_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        fx_set(ferry_blob_dtype(b), p, i, first + (double)i);
    if (head == FERRY_HEAD_SYNCED)
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
    if (head == FERRY_HEAD_AT_DEVICE)
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle);
    fx_check_head(m, head);
}

static ferry_memory_head_state data_head(const ferry_blob *b)
{
    return ferry_memory_head(ferry_blob_data_memory(b));
}

static ferry_memory_head_state diff_head(const ferry_blob *b)
{
    return ferry_memory_head(ferry_blob_diff_memory(b));
}

static double at(const ferry_blob *b, bool diff, int64_t i)
{
    const void *p = diff ? ferry_blob_host_diff(b) : ferry_blob_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return fx_get(ferry_blob_dtype(b), p, i);
}

/* ---- update --------------------------------------------------------------------------------- */

#define U FERRY_HEAD_UNINITIALIZED
#define H FERRY_HEAD_AT_HOST
#define D FERRY_HEAD_AT_DEVICE
#define S FERRY_HEAD_SYNCED

static const struct update_cell {
    ferry_memory_head_state data, diff, data_after, diff_after;
    uint64_t copies;
} update_cells[] = {
    { H, U, H, H, 0 }, { H, H, H, H, 0 }, { H, D, H, S, 1 }, { H, S, H, S, 0 },
    { D, U, D, D, 0 }, { D, H, D, S, 1 }, { D, D, D, D, 0 }, { D, S, D, S, 0 },
    { S, U, D, D, 0 }, { S, H, D, S, 1 }, { S, D, D, D, 0 }, { S, S, D, S, 0 },
};

static void check_update(const struct update_cell *cell, ferry_dtype dtype)
{
    unsigned failures = CU_get_number_of_failures();
    ferry_blob *b = FX_BLOB(dtype, 2, 3, 4);

    put(b, false, cell->data, 20);
    put(b, true, cell->diff, 5);
    fx_mark();
    FX_OK(ferry_blob_update(b));
    if (fx_since().fallbacks == 0)
        CU_ASSERT_EQUAL(fx_copies(), fx_price(cell->copies));
    CU_ASSERT_EQUAL(data_head(b), cell->data_after);
    CU_ASSERT_EQUAL(diff_head(b), cell->diff_after);
    for (int64_t i = 0; i < COUNT; i++) {
        double subtrahend = cell->diff == U ? 0 : 5 + (double)i;

        CU_ASSERT_EQUAL(at(b, false, i), 20 + (double)i - subtrahend);
        CU_ASSERT_EQUAL(at(b, true, i), subtrahend);
    }
    ferry_blob_destroy(b);
    if (CU_get_number_of_failures() != failures)
        printf("     in update of %s, data head %d, diff head %d\n", ferry_dtype_name(dtype),
               (int)cell->data, (int)cell->diff);
}

static void every_cell_of_the_update_table_has_its_states_and_copy_counts(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (size_t i = 0; i < FERRY_TEST_COUNT(update_cells); i++)
            check_update(&update_cells[i], fx_floats[t]);
    fx_end();
}

/* If host and device share the bytes, the data must not have moved between them by then. */
static void an_update_without_memory_for_diff_leaves_data_unchanged(void)
{
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 2, 3, 4);
    int err;

    put(b, false, S, 20);
    FX_OK(ferry_device_set_budget(dev, 1));
    err = ferry_blob_update(b); /* bytes shared with the host may not count as the device's */
    FX_OK(ferry_device_set_budget(dev, 0));
    CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
    CU_ASSERT_EQUAL(data_head(b), err ? S : D);
    ferry_blob_destroy(b);
    fx_end();
}

static void an_update_of_data_never_written_is_an_error_for_any_diff(void)
{
    static const ferry_memory_head_state heads[] = { U, H, D, S };

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(heads); i++) {
        ferry_blob *b = FX_BLOB(FERRY_F32, 2, 3, 4);

        put(b, true, heads[i], 1);
        fx_mark();
        FX_FAILS(FERRY_EUNINIT, ferry_blob_update(b));
        CU_ASSERT_EQUAL(fx_copies(), 0);
        CU_ASSERT_EQUAL(data_head(b), U);
        CU_ASSERT_EQUAL(diff_head(b), heads[i]);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* ---- sums and scale ------------------------------------------------------------------------- */

static void check_sums(ferry_dtype dtype, ferry_memory_head_state head, bool diff)
{
    ferry_blob *b = FX_BLOB(dtype, COUNT);
    double asum = -1, sumsq = -1, expected_asum = 0, expected_sumsq = 0;

    put(b, diff, head, -10);
    put(b, !diff, H, 99);
    for (int i = 0; i < COUNT && head != U; i++) {
        expected_asum += fabs(i - 10.0);
        expected_sumsq += (i - 10.0) * (i - 10.0);
    }
    fx_mark();
    FX_OK(diff ? ferry_blob_asum_diff(b, &asum) : ferry_blob_asum_data(b, &asum));
    FX_OK(diff ? ferry_blob_sumsq_diff(b, &sumsq) : ferry_blob_sumsq_data(b, &sumsq));
    if (fx_since().fallbacks == 0)
        CU_ASSERT_EQUAL(fx_bytes() < sizeof(float) * COUNT, 1);
    CU_ASSERT_DOUBLE_EQUAL(asum, expected_asum, expected_asum * 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(sumsq, expected_sumsq, expected_sumsq * 1e-6);
    CU_ASSERT_EQUAL(diff ? diff_head(b) : data_head(b), head);
    CU_ASSERT_EQUAL(diff ? data_head(b) : diff_head(b), H);
    ferry_blob_destroy(b);
}

static void sums_are_computed_on_the_side_of_the_head(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (int head = U; head <= S; head++) {
            check_sums(fx_floats[t], (ferry_memory_head_state)head, false);
            check_sums(fx_floats[t], (ferry_memory_head_state)head, true);
        }
    fx_end();
}

static void check_scale(ferry_dtype dtype, ferry_memory_head_state head, bool diff)
{
    static const ferry_memory_head_state after[] = { U, H, D, D };
    ferry_blob *b = FX_BLOB(dtype, COUNT);

    put(b, diff, head, -10);
    put(b, !diff, H, 3);
    fx_mark();
    FX_OK(diff ? ferry_blob_scale_diff(b, 3) : ferry_blob_scale_data(b, 3));
    if (fx_since().fallbacks == 0)
        CU_ASSERT_EQUAL(fx_copies(), 0);
    CU_ASSERT_EQUAL(diff ? diff_head(b) : data_head(b), after[head]);
    CU_ASSERT_EQUAL(diff ? data_head(b) : diff_head(b), H);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(at(b, diff, i), head == U ? 0 : 3 * (i - 10.0));
        CU_ASSERT_EQUAL(at(b, !diff, i), 3 + i);
    }
    ferry_blob_destroy(b);
}

static void scale_runs_on_the_side_of_the_head_and_keeps_the_other_half(void)
{
    fx_device();
    for (size_t t = 0; t < FERRY_TEST_COUNT(fx_floats); t++)
        for (int head = U; head <= S; head++) {
            check_scale(fx_floats[t], (ferry_memory_head_state)head, false);
            check_scale(fx_floats[t], (ferry_memory_head_state)head, true);
        }
    fx_end();
}

/* ---- fill and single elements --------------------------------------------------------------- */

static void fill_sets_every_element_on_the_side_of_the_data(void)
{
    fx_device();
    for (int t = 0; t < FERRY_DTYPE_COUNT; t++)
        for (int head = U; head <= S; head++) {
            ferry_blob *b = FX_BLOB((ferry_dtype)t, COUNT);

            put(b, false, (ferry_memory_head_state)head, 1);
            put(b, true, (ferry_memory_head_state)head, 1);
            FX_OK(ferry_blob_fill_data(b, 42));
            FX_OK(ferry_blob_fill_diff(b, 7));
            CU_ASSERT_EQUAL(data_head(b), head == H ? H : D);
            CU_ASSERT_EQUAL(diff_head(b), head == H ? H : D);
            for (int i = 0; i < COUNT; i++) {
                CU_ASSERT_EQUAL(at(b, false, i), 42);
                CU_ASSERT_EQUAL(at(b, true, i), 7);
            }
            ferry_blob_destroy(b);
        }
    fx_end();
}

static void a_fill_that_an_integer_cannot_hold_changes_nothing(void)
{
    static const struct {
        ferry_dtype dtype;
        double value;
    } wrong[] = { { FERRY_I8, 128 },    { FERRY_I8, -129 },         { FERRY_U8, -1 },
                  { FERRY_U8, 256 },    { FERRY_I32, 3e9 },         { FERRY_I64, 1e19 },
                  { FERRY_I64, -1e19 }, { FERRY_I32, -2.2e9 },      { FERRY_U8, 1e300 },
                  { FERRY_U32, -1 },    { FERRY_U32, 4294967296.0 } };

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(wrong); i++) {
        ferry_blob *b = FX_BLOB(wrong[i].dtype, 3);

        put(b, false, H, 1);
        FX_FAILS(FERRY_EOVERFLOW, ferry_blob_fill_data(b, wrong[i].value));
        CU_ASSERT_EQUAL(data_head(b), H);
        CU_ASSERT_EQUAL(at(b, false, 2), 3);
        ferry_blob_destroy(b);
    }
    fx_end();
}

static void single_elements_are_read_in_any_dtype(void)
{
    fx_device();
    for (int t = 0; t < FERRY_DTYPE_COUNT; t++) {
        ferry_blob *b = FX_BLOB((ferry_dtype)t, 2, 3, 4);
        double value = -1;

        put(b, false, D, 0);
        put(b, true, H, 100);
        FX_OK(ferry_blob_data_at(b, (int64_t[]){ 1, 2, 3 }, 3, &value));
        CU_ASSERT_EQUAL(value, 23);
        FX_OK(ferry_blob_diff_at(b, (int64_t[]){ 0, 1 }, 2, &value));
        CU_ASSERT_EQUAL(value, 104);
        CU_ASSERT_EQUAL(data_head(b), S);
        FX_FAILS(FERRY_EINVAL, ferry_blob_data_at(b, (int64_t[]){ 2 }, 1, &value));
        CU_ASSERT_EQUAL(value, 104);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* ---- rejected operands ----------------------------------------------------------------------- */

static void arithmetic_on_integers_is_unsupported(void)
{
    static const ferry_dtype integers[] = { FERRY_I8, FERRY_U8, FERRY_I32, FERRY_I64, FERRY_U32 };

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(integers); i++) {
        ferry_blob *b = FX_BLOB(integers[i], COUNT);
        double value = 7;

        put(b, false, H, 1);
        put(b, true, H, 1);
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_update(b));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_asum_data(b, &value));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_sumsq_diff(b, &value));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_scale_data(b, 2));
        CU_ASSERT_EQUAL(value, 7);
        CU_ASSERT_EQUAL(at(b, false, 3), 4);
        ferry_blob_destroy(b);
    }
    fx_end();
}

/* An operation on a blob without elements returns 0, does nothing, or fails; it never crashes. */
static void check_empty(ferry_blob *b)
{
    double value = 7;
    int err;

    CU_ASSERT(ferry_blob_update(b) <= 0);
    err = ferry_blob_asum_data(b, &value);
    CU_ASSERT(err < 0 || value == 0);
    value = 7;
    err = ferry_blob_sumsq_diff(b, &value);
    CU_ASSERT(err < 0 || value == 0);
    CU_ASSERT(ferry_blob_scale_data(b, 2) <= 0);
    CU_ASSERT(ferry_blob_scale_diff(b, 2) <= 0);
    CU_ASSERT(ferry_blob_fill_data(b, 2) <= 0);
    CU_ASSERT(ferry_blob_data_at(b, NULL, 0, &value) < 0);
    ferry_blob_destroy(b);
}

static void arithmetic_on_empty_blobs_does_nothing(void)
{
    fx_device();
    check_empty(fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL));
    check_empty(FX_BLOB(FERRY_F32, 0));
    check_empty(FX_BLOB(FERRY_F64, 0, 5));
    CU_ASSERT_EQUAL(fx_since().allocs, 0);
    fx_end();
}

static void arithmetic_works_on_a_scalar(void)
{
    ferry_blob *b;
    double value = 0;

    fx_device();
    b = fx_blob(FERRY_F32, 0, NULL);
    FX_OK(ferry_blob_fill_data(b, -4));
    FX_OK(ferry_blob_sumsq_data(b, &value));
    CU_ASSERT_EQUAL(value, 16);
    FX_OK(ferry_blob_data_at(b, NULL, 0, &value));
    CU_ASSERT_EQUAL(value, -4);
    ferry_blob_destroy(b);
    fx_end();
}

static void sums_with_a_null_result_are_refused(void)
{
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 3);
    FX_FAILS(FERRY_EINVAL, ferry_blob_asum_data(b, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_sumsq_diff(b, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_blob_data_at(b, (int64_t[]){ 0 }, 1, NULL));
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_cell_of_the_update_table_has_its_states_and_copy_counts),
    FERRY_TEST(an_update_without_memory_for_diff_leaves_data_unchanged),
    FERRY_TEST(an_update_of_data_never_written_is_an_error_for_any_diff),
    FERRY_TEST(sums_are_computed_on_the_side_of_the_head),
    FERRY_TEST(scale_runs_on_the_side_of_the_head_and_keeps_the_other_half),
    FERRY_TEST(fill_sets_every_element_on_the_side_of_the_data),
    FERRY_TEST(a_fill_that_an_integer_cannot_hold_changes_nothing),
    FERRY_TEST(single_elements_are_read_in_any_dtype),
    FERRY_TEST(arithmetic_on_integers_is_unsupported),
    FERRY_TEST(arithmetic_on_empty_blobs_does_nothing),
    FERRY_TEST(arithmetic_works_on_a_scalar),
    FERRY_TEST(sums_with_a_null_result_are_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-math", cases, FERRY_TEST_COUNT(cases));
}
