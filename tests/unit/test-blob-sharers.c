/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

/* The bytes in use of a memory that several blobs share. */

/* The bytes of the memory that its blobs need, found by the smallest block that it adopts. */
static void needs(ferry_blob *b, size_t bytes)
{
    static _Alignas(64) float own[100];
    ferry_memory *m = ferry_blob_data_memory(b);
    ferry_ref ref = { own, 0 };

    if (bytes > 0)
        CU_ASSERT_NOT_EQUAL(ferry_memory_adopt(m, NULL, ref, bytes - 4, 0, NULL, NULL), FERRY_OK);
    FX_OK(ferry_memory_adopt(m, NULL, ref, bytes, 0, NULL, NULL));
    FX_OK(ferry_memory_adopt(m, NULL, ref, sizeof(own), 0, NULL, NULL));
}

static void the_largest_sharer_determines_the_bytes_in_use(void)
{
    ferry_blob *a, *b, *c;

    fx_device();
    a = FX_BLOB(FERRY_F32, 100);
    b = FX_BLOB(FERRY_F32, 100);
    c = FX_BLOB(FERRY_F32, 100);
    FX_OK(ferry_blob_share_data(b, a));
    FX_OK(ferry_blob_share_data(c, b));
    FX_OK(ferry_blob_share_data(b, b));
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 2 }, 1, NULL));
    needs(a, 400);
    FX_OK(ferry_blob_reshape(b, (int64_t[]){ 3 }, 1, NULL));
    FX_OK(ferry_blob_reshape(c, (int64_t[]){ 5 }, 1, NULL));
    needs(a, 20);
    ferry_blob_destroy(c);
    needs(a, 12);
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 50 }, 1, NULL));
    needs(b, 200);
    ferry_blob_destroy(a);
    needs(b, 12);
    ferry_blob_destroy(b);
    fx_end();
}

static void a_retained_memory_has_all_its_bytes_in_use(void)
{
    ferry_memory *m;
    ferry_blob *a;

    fx_device();
    a = FX_BLOB(FERRY_F32, 100);
    m = ferry_memory_retain(ferry_blob_data_memory(a));
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 2 }, 1, NULL));
    needs(a, 400);
    ferry_memory_release(m);
    FX_OK(ferry_blob_reshape(a, (int64_t[]){ 3 }, 1, NULL));
    needs(a, 12);
    ferry_blob_destroy(a);
    fx_end();
}

static void a_slice_keeps_its_range_in_use(void)
{
    ferry_blob *parent, *slice;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 4, 25);
    FX_OK_FATAL(ferry_blob_slice(parent, 1, 2, &slice));
    FX_OK(ferry_blob_reshape(parent, (int64_t[]){ 2 }, 1, NULL));
    FX_OK(ferry_blob_reshape(slice, (int64_t[]){ 1 }, 1, NULL));
    needs(parent, 300);
    ferry_blob_destroy(slice);
    needs(parent, 8);
    ferry_blob_destroy(parent);
    fx_end();
}

#define MANY 1500

/* The bytes that the slices from `first` on need, each of one float. */
static size_t furthest(const int *start, int first)
{
    int end = 1;

    for (int i = first; i < MANY; i++)
        if (start[i] + 1 > end)
            end = start[i] + 1;
    return (size_t)end * sizeof(float);
}

static void many_sharers_can_be_destroyed_in_any_order(void)
{
    static ferry_blob *slice[MANY];
    static int start[MANY];
    ferry_blob *parent;

    fx_device();
    parent = FX_BLOB(FERRY_F32, 100);
    for (int i = 0; i < MANY; i++) {
        start[i] = (i * 37) % 91 * (MANY - i) / MANY;
        FX_OK_FATAL(ferry_blob_slice(parent, start[i], 1, &slice[i]));
    }
    FX_OK(ferry_blob_reshape(parent, (int64_t[]){ 1 }, 1, NULL));
    for (int i = 0; i < MANY; i++) {
        ferry_blob_destroy(slice[i]);
        if (i % 50 == 49)
            needs(parent, furthest(start, i + 1));
    }
    ferry_blob_destroy(parent);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_largest_sharer_determines_the_bytes_in_use),
    FERRY_TEST(a_retained_memory_has_all_its_bytes_in_use),
    FERRY_TEST(a_slice_keeps_its_range_in_use),
    FERRY_TEST(many_sharers_can_be_destroyed_in_any_order),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "blob-sharers", cases, FERRY_TEST_COUNT(cases));
}
