/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion of another library's tensor into the memory of a blob. */
#include "dlpack.h"

#include <ferry/ferry.h>
#include <ferry/io.h>

static const char function[] = "ferry_blob_from_dlpack";

static int check_shape(const struct dl_tensor *t)
{
    if (t->ndim < 0 || t->ndim > FERRY_MAX_AXES)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %d axes are more than %d", function,
                               (int)t->ndim, FERRY_MAX_AXES);
    if (t->ndim > 0 && !t->shape)
        return ferry_error_set(FERRY_EINVAL, "%s: the shape is NULL", function);
    return FERRY_OK;
}

/* Checks that the tensor is contiguous. Strides of axes of size 0 or 1 are ignored. */
static int check_strides(const struct dl_tensor *t, int64_t count)
{
    int64_t stride = 1;

    for (int i = t->ndim - 1; i >= 0 && t->strides && count > 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != stride)
            return ferry_error_set(FERRY_EUNSUPPORTED,
                                   "%s: stride %lld of axis %d, where a contiguous row-major array "
                                   "has %lld: copy it first",
                                   function, (long long)t->strides[i], i, (long long)stride);
        stride *= t->shape[i];
    }
    return FERRY_OK;
}

/* Checks that the offset does not wrap around, and that host memory is aligned to its elements. */
static int check_address(const struct dl_tensor *t, size_t size, size_t element)
{
    bool is_host = t->device.device_type == DL_CPU || t->device.device_type == DL_CUDA_HOST;
    uintptr_t first = is_host ? (uintptr_t)t->data : 0;
    size_t alignment = element < sizeof(void *) ? element : sizeof(void *);

    if (t->byte_offset > UINTPTR_MAX - first || size > UINTPTR_MAX - first - t->byte_offset)
        return ferry_error_set(FERRY_EINVAL,
                               "%s: byte_offset %llu and %zu bytes exceed the address space",
                               function, (unsigned long long)t->byte_offset, size);
    if ((first + t->byte_offset) % alignment)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: with byte_offset %llu the values are not aligned to %zu "
                               "bytes: copy them first",
                               function, (unsigned long long)t->byte_offset, alignment);
    return FERRY_OK;
}

/* Finds the device of the tensor's memory, and a reference to it. */
static int locate(const struct dl_tensor *t, ferry_device *home, ferry_device **out_where,
                  ferry_ref *out)
{
    struct dl_device device;
    int err;

    if (t->device.device_type == DL_CPU || t->device.device_type == DL_CUDA_HOST) {
        *out_where = NULL;
        out->handle = (char *)t->data + t->byte_offset;
        out->offset = 0;
        return FERRY_OK;
    }
    err = ferry__dl_device(home, function, &device);
    if (err)
        return err;
    if (device.device_type != t->device.device_type || device.device_id != t->device.device_id)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: the tensor is on DLPack device %d:%d, and the home %s is %d:%d",
                               function, (int)t->device.device_type, (int)t->device.device_id,
                               ferry_device_name(home), (int)device.device_type,
                               (int)device.device_id);
    *out_where = home;
    out->handle = t->data;
    out->offset = t->byte_offset;
    return FERRY_OK;
}

/* The deleter of a tensor of either kind, and how ferry may use its memory. */
struct owner {
    ferry_memory_deleter deleter;
    void *tensor;
    unsigned adopt; /* FERRY_ADOPT_READONLY or 0 */
};

static int adopt(ferry_blob *b, ferry_device *home, const struct dl_tensor *t,
                 const struct owner *owner)
{
    size_t size = (size_t)ferry_blob_element_count(b) * ferry_dtype_size(ferry_blob_dtype(b));
    ferry_memory *memory = ferry_blob_data_memory(b);
    ferry_device *where = NULL;
    ferry_ref ref;
    int err;

    if (!memory)
        return ferry_last_error_code();
    if (!t->data)
        return ferry_error_set(FERRY_EINVAL, "%s: data is NULL for %zu bytes", function, size);
    err = check_address(t, size, ferry_dtype_size(ferry_blob_dtype(b)));
    if (!err)
        err = locate(t, home, &where, &ref);
    return err ? err
               : ferry_memory_adopt(memory, where, ref, size, owner->adopt, owner->deleter,
                                    owner->tensor);
}

static int import(ferry_device *home, const struct dl_tensor *t, const struct owner *owner,
                  ferry_blob **out)
{
    ferry_blob *b = NULL;
    ferry_dtype dtype = FERRY_F32;
    int err = check_shape(t);

    if (!err)
        err = ferry__dl_dtype_of(t->dtype, function, &dtype);
    if (!err)
        err = ferry_blob_create(home, dtype, t->shape, t->ndim, &b);
    if (!err)
        err = check_strides(t, ferry_blob_element_count(b));
    if (!err && ferry_blob_element_count(b) > 0)
        err = adopt(b, home, t, owner);
    if (err) {
        ferry_blob_destroy(b);
        return err;
    }
    if (ferry_blob_element_count(b) == 0)
        owner->deleter(owner->tensor); /* the tensor has no memory to keep */
    *out = b;
    return FERRY_OK;
}

static void delete_plain(void *arg)
{
    struct DLManagedTensor *tensor = arg;

    if (tensor->deleter)
        tensor->deleter(tensor);
}

static void delete_versioned(void *arg)
{
    struct DLManagedTensorVersioned *tensor = arg;

    if (tensor->deleter)
        tensor->deleter(tensor);
}

int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor, ferry_blob **out)
{
    const struct owner owner = { delete_plain, tensor, 0 };

    if (!home || !tensor || !out)
        return ferry_error_set(FERRY_EINVAL, "%s: an argument is NULL", function);
    return import(home, &tensor->dl_tensor, &owner, out);
}

int ferry_blob_from_dlpack_versioned(ferry_device *home, struct DLManagedTensorVersioned *tensor,
                                     ferry_blob **out)
{
    struct owner owner = { delete_versioned, tensor, 0 };

    if (!home || !tensor || !out)
        return ferry_error_set(FERRY_EINVAL, "%s_versioned: an argument is NULL", function);
    if (tensor->version.major != DL_MAJOR) /* under another major version the layout of the other
                                            * members is unknown */
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s_versioned: the tensor is of DLPack %u.%u",
                               function, tensor->version.major, tensor->version.minor);
    if (tensor->flags & DL_READ_ONLY)
        owner.adopt = FERRY_ADOPT_READONLY;
    return import(home, &tensor->dl_tensor, &owner, out);
}
