/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DLPack, version 0.6: a blob's memory as a tensor of another library, and the reverse.
 */
#include <ferry/ferry.h>
#include <ferry/io.h>

#ifdef FERRY_IO_HAVE_DLPACK

#include <dlpack/dlpack.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types -------------------------------------------------------------------------- */

static const struct {
    uint8_t code, bits;
} types[FERRY_DTYPE_COUNT] = {
    [FERRY_F32] = { kDLFloat, 32 }, [FERRY_F64] = { kDLFloat, 64 },
    [FERRY_F16] = { kDLFloat, 16 }, [FERRY_BF16] = { kDLBfloat, 16 },
    [FERRY_I8] = { kDLInt, 8 },     [FERRY_U8] = { kDLUInt, 8 },
    [FERRY_I32] = { kDLInt, 32 },   [FERRY_I64] = { kDLInt, 64 },
    [FERRY_U32] = { kDLUInt, 32 },
};

static int dtype_of(DLDataType type, ferry_dtype *out)
{
    for (int i = 0; i < FERRY_DTYPE_COUNT && type.lanes == 1; i++)
        if (types[i].code == type.code && types[i].bits == type.bits) {
            *out = (ferry_dtype)i;
            return FERRY_OK;
        }
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "ferry_blob_from_dlpack: type code %u, %u bits, %u lanes: ferry has no "
                           "such dtype",
                           type.code, type.bits, type.lanes);
}

/* ---- devices -------------------------------------------------------------------------------- */

/* What DLPack calls a device of ours; NULL is the host. */
static int dl_device(ferry_device *dev, const char *function, DLDevice *out)
{
    const ferry_device_properties *p = dev ? ferry_device_get_properties(dev) : NULL;
    const char *colon = strchr(ferry_device_name(dev), ':');

    out->device_type = kDLCPU;
    out->device_id = 0;
    if (!p || p->host_memory)
        return FERRY_OK;
    if (strcmp(p->plugin, "opencl") == 0) {
        out->device_type = kDLOpenCL;
        out->device_id = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
        return FERRY_OK;
    }
    if (strcmp(p->plugin, "cuda") == 0) {
        out->device_type = kDLCUDA;
        return ferry_device_native(dev, "cuda_device", &out->device_id, sizeof(int));
    }
    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: DLPack has no name for the device %s", function,
                           p->name);
}

/* ---- to ------------------------------------------------------------------------------------- */

struct export
{
    DLManagedTensor tensor;
    ferry_memory *memory;
    int64_t shape[FERRY_MAX_AXES], strides[FERRY_MAX_AXES];
};

static void release_export(DLManagedTensor *tensor)
{
    struct export *e = tensor->manager_ctx;

    ferry_memory_release(e->memory);
    free(e);
}

static void describe(const ferry_blob *b, struct export *e)
{
    DLTensor *t = &e->tensor.dl_tensor;
    int64_t stride = 1;

    t->ndim = ferry_blob_naxes(b);
    t->dtype.code = types[ferry_blob_dtype(b)].code;
    t->dtype.bits = types[ferry_blob_dtype(b)].bits;
    t->dtype.lanes = 1;
    t->shape = e->shape;
    t->strides = e->strides;
    for (int i = t->ndim - 1; i >= 0; i--) {
        e->shape[i] = ferry_blob_dims(b)[i];
        e->strides[i] = stride;
        stride *= e->shape[i] > 0 ? e->shape[i] : 1;
    }
    e->tensor.manager_ctx = e;
    e->tensor.deleter = release_export;
}

/* The place of the values, ours to write, with nothing pending on it. */
static int reach(ferry_blob *b, ferry_device *where, bool diff, ferry_ref *out)
{
    if (where) {
        *out = diff ? ferry_blob_mutable_device_diff(b) : ferry_blob_mutable_device_data(b);
        return out->handle ? ferry_device_synchronize(where) : ferry_last_error_code();
    }
    out->handle = diff ? ferry_blob_mutable_host_diff(b) : ferry_blob_mutable_host_data(b);
    out->offset = 0;
    return out->handle ? FERRY_OK : ferry_last_error_code();
}

static int fill_export(ferry_blob *b, ferry_device *where, bool diff, struct export *e)
{
    DLTensor *t = &e->tensor.dl_tensor;
    ferry_ref ref = { NULL, 0 };
    int err = dl_device(where, "ferry_blob_to_dlpack", &t->device);

    if (!err)
        err = reach(b, where, diff, &ref);
    if (err)
        return err;
    e->memory = ferry_memory_retain(diff ? ferry_blob_diff_memory(b) : ferry_blob_data_memory(b));
    describe(b, e);
    if (ferry_blob_count(b) > 0 && t->device.device_type == kDLCPU) {
        t->data = (char *)ref.handle + ref.offset;
    } else if (ferry_blob_count(b) > 0) {
        t->data = ref.handle;
        t->byte_offset = ref.offset;
    }
    return FERRY_OK;
}

int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                         struct DLManagedTensor **out)
{
    struct export *e;
    int err;

    if (!b || !out || flags & ~FERRY_COPY_DIFF)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_to_dlpack: %s",
                               b && out ? "an unknown flag" : "an argument is NULL");
    if (where && where != ferry_blob_home(b))
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_to_dlpack: %s is not the blob's home, %s",
                               ferry_device_name(where), ferry_device_name(ferry_blob_home(b)));
    e = calloc(1, sizeof(*e));
    if (!e)
        return ferry_error_set(FERRY_ENOMEM, "ferry_blob_to_dlpack: out of memory");
    err = fill_export(b, where, flags & FERRY_COPY_DIFF, e);
    if (err) {
        free(e);
        return err;
    }
    *out = &e->tensor;
    return FERRY_OK;
}

/* ---- from ----------------------------------------------------------------------------------- */

static int check_shape(const DLTensor *t)
{
    if (t->ndim < 0 || t->ndim > FERRY_MAX_AXES)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "ferry_blob_from_dlpack: %d axes are more than "
                               "%d",
                               t->ndim, FERRY_MAX_AXES);
    if (t->ndim > 0 && !t->shape)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_from_dlpack: the shape is NULL");
    return FERRY_OK;
}

/* A stride says nothing where there is only one step to make, or none. */
static int check_strides(const DLTensor *t, int64_t count)
{
    int64_t stride = 1;

    for (int i = t->ndim - 1; i >= 0 && t->strides && count > 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != stride)
            return ferry_error_set(FERRY_EUNSUPPORTED,
                                   "ferry_blob_from_dlpack: stride %lld of axis "
                                   "%d, where a contiguous row-major array has %lld: copy it first",
                                   (long long)t->strides[i], i, (long long)stride);
        stride *= t->shape[i];
    }
    return FERRY_OK;
}

/* Where the tensor's memory is to us, and how we refer to it. */
static int locate(const DLTensor *t, ferry_device *home, ferry_device **out_where, ferry_ref *out)
{
    DLDevice device;
    int err;

    if (t->device.device_type == kDLCPU || t->device.device_type == kDLCUDAHost) {
        *out_where = NULL;
        out->handle = (char *)t->data + t->byte_offset;
        out->offset = 0;
        return FERRY_OK;
    }
    err = dl_device(home, "ferry_blob_from_dlpack", &device);
    if (err)
        return err;
    if (device.device_type != t->device.device_type || device.device_id != t->device.device_id)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "ferry_blob_from_dlpack: the tensor is on DLPack "
                               "device %d:%d, and the home %s is %d:%d",
                               (int)t->device.device_type, t->device.device_id,
                               ferry_device_name(home), (int)device.device_type, device.device_id);
    *out_where = home;
    out->handle = t->data;
    out->offset = t->byte_offset;
    return FERRY_OK;
}

static void run_deleter(void *arg)
{
    DLManagedTensor *tensor = arg;

    if (tensor->deleter)
        tensor->deleter(tensor);
}

static int adopt(ferry_blob *b, ferry_device *home, DLManagedTensor *tensor)
{
    size_t size = (size_t)ferry_blob_count(b) * ferry_dtype_size(ferry_blob_dtype(b));
    ferry_memory *memory = ferry_blob_data_memory(b);
    ferry_device *where = NULL;
    ferry_ref ref;
    int err;

    if (!memory)
        return ferry_last_error_code();
    if (!tensor->dl_tensor.data)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_from_dlpack: data is NULL for %zu bytes",
                               size);
    err = locate(&tensor->dl_tensor, home, &where, &ref);
    return err ? err : ferry_memory_adopt(memory, where, ref, size, 0, run_deleter, tensor);
}

int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor, ferry_blob **out)
{
    ferry_blob *b = NULL;
    ferry_dtype dtype = FERRY_F32;
    int err;

    if (!home || !tensor || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_from_dlpack: an argument is NULL");
    err = check_shape(&tensor->dl_tensor);
    if (!err)
        err = dtype_of(tensor->dl_tensor.dtype, &dtype);
    if (!err)
        err = ferry_blob_create(home, dtype, tensor->dl_tensor.ndim, tensor->dl_tensor.shape, &b);
    if (!err)
        err = check_strides(&tensor->dl_tensor, ferry_blob_count(b));
    if (!err && ferry_blob_count(b) > 0)
        err = adopt(b, home, tensor);
    if (err) {
        ferry_blob_destroy(b);
        return err;
    }
    if (ferry_blob_count(b) == 0)
        run_deleter(tensor); /* there is nothing to keep */
    *out = b;
    return FERRY_OK;
}

#else

int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                         struct DLManagedTensor **out)
{
    (void)b;
    (void)where;
    (void)flags;
    (void)out;
    return ferry_error_set(FERRY_EUNSUPPORTED, "this libferryio was built without DLPack");
}

int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor, ferry_blob **out)
{
    (void)home;
    (void)tensor;
    (void)out;
    return ferry_error_set(FERRY_EUNSUPPORTED, "this libferryio was built without DLPack");
}

#endif
