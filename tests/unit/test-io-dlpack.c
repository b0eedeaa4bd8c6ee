/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/io.h>

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef DLPACK_MAJOR_VERSION /* the installed header is older than 1.0 */
typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#endif

/* The offsets that any library expects, regardless of the header that it was built with. */
_Static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, ndim) == 16 &&
                   offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, byte_offset) == 40,
               "a tensor");
_Static_assert(offsetof(DLManagedTensor, deleter) == 56, "a tensor of before 1.0");
_Static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16 &&
                   offsetof(DLManagedTensorVersioned, flags) == 24 &&
                   offsetof(DLManagedTensorVersioned, dl_tensor) == 32,
               "a versioned tensor");

/* Memory shared by DLPack, with this program as the other library. */

/* A tensor of the test over `data`, whose deleter increments *deleted. */
struct own {
    DLManagedTensor tensor;
    int64_t shape[FERRY_MAX_AXES + 1], strides[4];
    int deleted;
};

static void count_delete(DLManagedTensor *tensor)
{
    ((struct own *)tensor->manager_ctx)->deleted++;
}

static void make(struct own *own, void *data, int ndim, int64_t rows, int64_t columns)
{
    memset(own, 0, sizeof(*own));
    own->shape[0] = rows;
    own->shape[1] = columns;
    own->tensor.dl_tensor.data = data;
    own->tensor.dl_tensor.device.device_type = kDLCPU;
    own->tensor.dl_tensor.ndim = ndim;
    own->tensor.dl_tensor.dtype = (DLDataType){ kDLFloat, 32, 1 };
    own->tensor.dl_tensor.shape = own->shape;
    own->tensor.manager_ctx = own;
    own->tensor.deleter = count_delete;
}

/* ---- from ----------------------------------------------------------------------------------- */

static void a_blob_adopts_the_tensors_memory_and_frees_it_once(void)
{
    float data[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    ferry_device *dev = fx_device();
    ferry_blob *b = NULL;
    struct own own;

    make(&own, data, 2, 2, 3);
    own.tensor.dl_tensor.byte_offset = 4;
    FX_OK_FATAL(ferry_blob_from_dlpack(dev, &own.tensor, &b));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), data + 1);
    CU_ASSERT_EQUAL(ferry_blob_dim(b, 1), 3);
    CU_ASSERT_EQUAL(ferry_memory_head(ferry_blob_data_memory(b)), FERRY_HEAD_AT_HOST);
    ((float *)ferry_blob_mutable_host_data(b))[5] = 60;
    CU_ASSERT_EQUAL(data[6], 60);
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    CU_ASSERT_EQUAL(own.deleted, 0);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(own.deleted, 1);
    fx_end();
}

static void an_offset_that_misaligns_or_wraps_around_is_refused(void)
{
    float data[8] = { 0 };
    ferry_device *dev = fx_device();
    ferry_blob *b = NULL;
    struct own own;

    make(&own, data, 1, 4, 0);
    own.tensor.dl_tensor.byte_offset = 1;
    CU_ASSERT_EQUAL(ferry_blob_from_dlpack(dev, &own.tensor, &b), FERRY_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "byte_offset 1"));
    own.tensor.dl_tensor.byte_offset = UINT64_MAX - 3;
    CU_ASSERT_EQUAL(ferry_blob_from_dlpack(dev, &own.tensor, &b), FERRY_EINVAL);
    own.tensor.dl_tensor.byte_offset = UINT64_MAX - (uintptr_t)data - 7; /* the end wraps around */
    CU_ASSERT_EQUAL(ferry_blob_from_dlpack(dev, &own.tensor, &b), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(b);
    CU_ASSERT_EQUAL(own.deleted, 0);
    fx_end();
}

static void every_element_type_is_known(void)
{
    static const DLDataType types[] = { { kDLFloat, 32, 1 }, { kDLFloat, 64, 1 },
                                        { kDLFloat, 16, 1 }, { kDLBfloat, 16, 1 },
                                        { kDLInt, 8, 1 },    { kDLUInt, 8, 1 },
                                        { kDLInt, 32, 1 },   { kDLInt, 64, 1 },
                                        { kDLUInt, 32, 1 } };
    static const DLDataType others[] = {
        { kDLFloat, 32, 4 }, { kDLUInt, 64, 1 }, { kDLComplex, 64, 1 }, { kDLInt, 16, 1 }
    };
    double data[4] = { 0 };
    ferry_device *dev = fx_device();
    struct own own;
    ferry_blob *b = NULL;

    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        make(&own, data, 1, 4, 0);
        own.tensor.dl_tensor.dtype = types[i];
        FX_OK_FATAL(ferry_blob_from_dlpack(dev, &own.tensor, &b));
        CU_ASSERT_EQUAL(ferry_blob_dtype(b), (ferry_dtype)i);
        ferry_blob_destroy(b);
        CU_ASSERT_EQUAL(own.deleted, 1);
    }
    b = NULL;
    for (size_t i = 0; i < FERRY_TEST_COUNT(others); i++) {
        make(&own, data, 1, 1, 0);
        own.tensor.dl_tensor.dtype = others[i];
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_dlpack(dev, &own.tensor, &b));
        CU_ASSERT_EQUAL(own.deleted, 0);
    }
    CU_ASSERT_PTR_NULL(b);
    fx_end();
}

static void only_contiguous_strides_are_accepted(void)
{
    float data[6] = { 0 };
    ferry_device *dev = fx_device();
    struct own own;
    ferry_blob *b = NULL;

    make(&own, data, 2, 2, 3);
    own.tensor.dl_tensor.strides = own.strides;
    own.strides[0] = 1; /* column-major */
    own.strides[1] = 2;
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_dlpack(dev, &own.tensor, &b));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "stride 2 of axis 1"));
    CU_ASSERT_EQUAL(own.deleted, 0);
    own.strides[0] = 3;
    own.strides[1] = 1;
    FX_OK_FATAL(ferry_blob_from_dlpack(dev, &own.tensor, &b));
    ferry_blob_destroy(b);
    make(&own, data, 2, 1, 6);
    own.tensor.dl_tensor.strides = own.strides;
    own.strides[0] = 12345; /* of an axis of one element */
    own.strides[1] = 1;
    FX_OK_FATAL(ferry_blob_from_dlpack(dev, &own.tensor, &b));
    ferry_blob_destroy(b);
    fx_end();
}

static void empty_tensors_are_accepted_and_invalid_ones_refused(void)
{
    ferry_device *dev = fx_device();
    struct own own;
    ferry_blob *b = NULL;

    make(&own, NULL, 2, 0, 3);
    FX_OK_FATAL(ferry_blob_from_dlpack(dev, &own.tensor, &b));
    CU_ASSERT_EQUAL(ferry_blob_element_count(b), 0);
    CU_ASSERT_EQUAL(own.deleted, 1);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(own.deleted, 1);
    b = NULL;
    make(&own, NULL, 2, 2, 3);
    FX_FAILS(FERRY_EINVAL, ferry_blob_from_dlpack(dev, &own.tensor, &b));
    own.tensor.dl_tensor.ndim = FERRY_MAX_AXES + 1;
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_dlpack(dev, &own.tensor, &b));
    make(&own, &own, 1, 2, 0);
    own.tensor.dl_tensor.device.device_type = kDLVulkan;
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_dlpack(dev, &own.tensor, &b));
    FX_FAILS(FERRY_EINVAL, ferry_blob_from_dlpack(dev, NULL, &b));
    FX_FAILS(FERRY_EINVAL, ferry_blob_from_dlpack(NULL, &own.tensor, &b));
    CU_ASSERT_PTR_NULL(b);
    CU_ASSERT_EQUAL(own.deleted, 0);
    fx_end();
}

/* ---- to ------------------------------------------------------------------------------------- */

static void a_tensor_outlives_its_blob(void)
{
    DLManagedTensor *t = NULL;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3);
    FX_OK(ferry_blob_fill_data(b, 5));
    FX_OK_FATAL(ferry_blob_to_dlpack(b, NULL, 0, &t));
    CU_ASSERT_EQUAL(t->dl_tensor.device.device_type, kDLCPU);
    CU_ASSERT_EQUAL(t->dl_tensor.ndim, 2);
    CU_ASSERT_EQUAL(t->dl_tensor.shape[1], 3);
    CU_ASSERT_EQUAL(t->dl_tensor.strides[0], 3);
    CU_ASSERT_EQUAL(t->dl_tensor.dtype.bits, 32);
    CU_ASSERT_EQUAL(((float *)t->dl_tensor.data)[5], 5);
    ((float *)t->dl_tensor.data)[5] = 6; /* ferry knows that the host's copy is the newest */
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[5], 6);
    CU_ASSERT_EQUAL(ferry_memory_head(ferry_blob_data_memory(b)), FERRY_HEAD_AT_HOST);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(((float *)t->dl_tensor.data)[5], 6);
    t->deleter(t);
    fx_end();
}

static void diffs_and_slices_are_exported_with_their_offsets(void)
{
    DLManagedTensor *t = NULL;
    ferry_blob *b, *slice = NULL;

    fx_device();
    b = FX_BLOB(FERRY_F32, 4, 2);
    FX_OK(ferry_blob_fill_data(b, 1));
    FX_OK(ferry_blob_fill_diff(b, 2));
    FX_OK_FATAL(ferry_blob_to_dlpack(b, NULL, FERRY_COPY_DIFF, &t));
    CU_ASSERT_EQUAL(((float *)t->dl_tensor.data)[7], 2);
    t->deleter(t);
    FX_OK_FATAL(ferry_blob_slice(b, 1, 2, &slice));
    FX_OK_FATAL(ferry_blob_to_dlpack(slice, NULL, 0, &t));
    CU_ASSERT_PTR_EQUAL(t->dl_tensor.data, (float *)ferry_blob_mutable_host_data(b) + 2);
    t->deleter(t);
    ferry_blob_destroy(slice);
    ferry_blob_destroy(b);
    fx_end();
}

static void empty_blobs_export_null(void)
{
    DLManagedTensor *t = NULL;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 0, 2);
    FX_OK_FATAL(ferry_blob_to_dlpack(b, NULL, 0, &t));
    CU_ASSERT_PTR_NULL(t->dl_tensor.data);
    t->deleter(t);
    ferry_blob_destroy(b);
    fx_end();
}

static void devices_that_dlpack_has_a_code_for_are_exported(void)
{
    ferry_device *dev = fx_device();
    const ferry_device_properties *p = ferry_device_get_properties(dev);
    DLManagedTensor *t = NULL;
    ferry_blob *b = FX_BLOB(FERRY_F32, 2), *back = NULL;

    if (!p->host_memory && strcmp(p->plugin, "opencl") != 0 && strcmp(p->plugin, "cuda") != 0) {
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_to_dlpack(b, dev, 0, &t));
        CU_ASSERT_PTR_NULL(t);
    } else {
        FX_OK(ferry_blob_fill_data(b, 3));
        FX_OK_FATAL(ferry_blob_to_dlpack(b, dev, 0, &t));
        CU_ASSERT_PTR_NOT_NULL(t->dl_tensor.data);
        ferry_blob_destroy(b);
        FX_OK_FATAL(ferry_blob_from_dlpack(dev, t, &back)); /* and in again, on the device */
        b = back;
        CU_ASSERT_EQUAL(((const float *)ferry_blob_host_data(b))[1], 3);
    }
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_dlpack(b, NULL, 16, &t));
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_dlpack(NULL, NULL, 0, &t));
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_dlpack(b, NULL, 0, NULL));
    ferry_blob_destroy(b);
    fx_end();
}

/* ---- versioned ------------------------------------------------------------------------------ */

/* A versioned tensor of the test; shape and strides are those of `own`. */
struct versioned {
    DLManagedTensorVersioned tensor;
    struct own own;
};

static void count_versioned(DLManagedTensorVersioned *tensor)
{
    ((struct versioned *)tensor->manager_ctx)->own.deleted++;
}

static void make_versioned(struct versioned *v, void *data, uint32_t major, uint64_t flags)
{
    make(&v->own, data, 2, 2, 3);
    memset(&v->tensor, 0, sizeof(v->tensor));
    v->tensor.version = (DLPackVersion){ major, 99 };
    v->tensor.dl_tensor = v->own.tensor.dl_tensor;
    v->tensor.flags = flags;
    v->tensor.manager_ctx = v;
    v->tensor.deleter = count_versioned;
}

static void a_versioned_tensor_carries_its_flags(void)
{
    float data[6] = { 0, 1, 2, 3, 4, 5 };
    ferry_device *dev = fx_device();
    struct versioned v;
    ferry_blob *b = NULL;

    make_versioned(&v, data, 1, 0);
    FX_OK_FATAL(ferry_blob_from_dlpack_versioned(dev, &v.tensor, &b));
    CU_ASSERT_PTR_EQUAL(ferry_blob_mutable_host_data(b), data);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(v.own.deleted, 1);
    make_versioned(&v, data, 1, DLPACK_FLAG_BITMASK_READ_ONLY);
    FX_OK_FATAL(ferry_blob_from_dlpack_versioned(dev, &v.tensor, &b));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(b), data);
    FX_FAILED(FERRY_EPERM, ferry_blob_mutable_host_data(b) == NULL);
    ferry_blob_destroy(b);
    CU_ASSERT_EQUAL(v.own.deleted, 1);
    b = NULL;
    make_versioned(&v, data, 2, 0);
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_blob_from_dlpack_versioned(dev, &v.tensor, &b));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "DLPack 2.99"));
    FX_FAILS(FERRY_EINVAL, ferry_blob_from_dlpack_versioned(dev, NULL, &b));
    CU_ASSERT(v.own.deleted == 0 && b == NULL);
    fx_end();
}

static void a_read_only_export_leaves_all_copies_valid(void)
{
    DLManagedTensorVersioned *t = NULL;
    ferry_device *dev = fx_device();
    ferry_blob *b = FX_BLOB(FERRY_F32, 2, 3);
    ferry_memory *m = ferry_blob_data_memory(b);

    FX_OK(ferry_blob_fill_data(b, 5));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_device_data(b).handle);
    FX_OK_FATAL(ferry_blob_to_dlpack_versioned(b, NULL, FERRY_DLPACK_READ_ONLY, &t));
    CU_ASSERT_EQUAL(t->version.major, 1);
    CU_ASSERT_EQUAL(t->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    CU_ASSERT_PTR_EQUAL(t->dl_tensor.data, ferry_blob_host_data(b));
    CU_ASSERT_EQUAL(((const float *)t->dl_tensor.data)[5], 5);
    CU_ASSERT(ferry_memory_is_valid_at(m, NULL) && ferry_memory_is_valid_at(m, dev));
    t->deleter(t);
    FX_OK_FATAL(ferry_blob_to_dlpack_versioned(b, NULL, 0, &t));
    CU_ASSERT_EQUAL(t->flags, 0);
    CU_ASSERT_EQUAL(ferry_memory_head(m), FERRY_HEAD_AT_HOST);
    t->deleter(t);
    ferry_blob_destroy(b);
    fx_end();
}

static void an_exported_copy_does_not_share_memory_with_the_blob(void)
{
    DLManagedTensorVersioned *t = NULL;
    ferry_blob *b;

    fx_device();
    b = FX_BLOB(FERRY_F32, 2, 3);
    FX_OK(ferry_blob_fill_data(b, 5));
    FX_OK(ferry_blob_fill_diff(b, 6));
    FX_OK_FATAL(ferry_blob_to_dlpack_versioned(b, NULL, FERRY_DLPACK_COPY | FERRY_COPY_DIFF, &t));
    CU_ASSERT_EQUAL(t->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    CU_ASSERT_EQUAL(t->dl_tensor.shape[1], 3);
    ((float *)t->dl_tensor.data)[5] = 8;
    CU_ASSERT_EQUAL(((const float *)ferry_blob_host_diff(b))[5], 6);
    FX_OK(ferry_blob_fill_diff(b, 7));
    CU_ASSERT_EQUAL(((const float *)t->dl_tensor.data)[0], 6);
    t->deleter(t);
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_dlpack_versioned(b, NULL, 64, &t));
    FX_FAILS(FERRY_EINVAL, ferry_blob_to_dlpack_versioned(b, NULL, FERRY_COPY_RESHAPE, &t));
    ferry_blob_destroy(b);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_versioned_tensor_carries_its_flags),
    FERRY_TEST(a_read_only_export_leaves_all_copies_valid),
    FERRY_TEST(an_exported_copy_does_not_share_memory_with_the_blob),
    FERRY_TEST(a_blob_adopts_the_tensors_memory_and_frees_it_once),
    FERRY_TEST(an_offset_that_misaligns_or_wraps_around_is_refused),
    FERRY_TEST(every_element_type_is_known),
    FERRY_TEST(only_contiguous_strides_are_accepted),
    FERRY_TEST(empty_tensors_are_accepted_and_invalid_ones_refused),
    FERRY_TEST(a_tensor_outlives_its_blob),
    FERRY_TEST(diffs_and_slices_are_exported_with_their_offsets),
    FERRY_TEST(empty_blobs_export_null),
    FERRY_TEST(devices_that_dlpack_has_a_code_for_are_exported),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "io-dlpack", cases, FERRY_TEST_COUNT(cases));
}
