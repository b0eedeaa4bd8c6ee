/* SPDX-License-Identifier: BSD-2-Clause */
/* Export of a blob's memory as another library's tensor. */
#include "dlpack.h"

#include <ferry/ferry.h>
#include <ferry/io.h>

#include <stdlib.h>

/* An exported tensor of either kind, and the blob that it retains. */
struct export
{
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } tensor;
    ferry_memory *memory;
    int64_t shape[FERRY_MAX_AXES], strides[FERRY_MAX_AXES];
};

static void release(struct export *e)
{
    ferry_memory_release(e->memory);
    free(e);
}

static void release_plain(struct DLManagedTensor *tensor)
{
    release(tensor->manager_ctx);
}

static void release_versioned(struct DLManagedTensorVersioned *tensor)
{
    release(tensor->manager_ctx);
}

static void describe(const ferry_blob *b, struct export *e, struct dl_tensor *t)
{
    int64_t stride = 1;

    t->ndim = ferry_blob_rank(b);
    t->dtype = ferry__dl_dtype(ferry_blob_dtype(b));
    t->shape = e->shape;
    t->strides = e->strides;
    for (int i = t->ndim - 1; i >= 0; i--) {
        e->shape[i] = ferry_blob_shape(b)[i];
        e->strides[i] = stride;
        stride *= e->shape[i] > 0 ? e->shape[i] : 1;
    }
}

/* Sets the pointer to the values for that access, with no work pending on them. */
static int fill(ferry_blob *b, ferry_device *where, unsigned which, unsigned access,
                struct export *e, struct dl_tensor *t)
{
    ferry_ref ref;
    int err = ferry__dl_device(where, "ferry_blob_to_dlpack", &t->device);

    if (!err)
        err = ferry_blob_access(b, which, where, access, NULL, &ref);
    if (!err && where)
        err = ferry_device_synchronize(where);
    if (err)
        return err;
    e->memory = ferry_memory_retain(which == FERRY_DIFF ? ferry_blob_diff_memory(b)
                                                        : ferry_blob_data_memory(b));
    describe(b, e, t);
    if (ferry_blob_element_count(b) > 0 && t->device.device_type == DL_CPU) {
        t->data = (char *)ref.handle + ref.offset;
    } else if (ferry_blob_element_count(b) > 0) {
        t->data = ref.handle;
        t->byte_offset = ref.offset;
    }
    return FERRY_OK;
}

static int check(const ferry_blob *b, const ferry_device *where, bool known_flags, const void *out)
{
    if (!b || !out || !known_flags)
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_to_dlpack: %s",
                               b && out ? "flags that cannot be combined" : "an argument is NULL");
    if (where && where != ferry_blob_home(b))
        return ferry_error_set(FERRY_EINVAL, "ferry_blob_to_dlpack: %s is not the blob's home, %s",
                               ferry_device_name(where), ferry_device_name(ferry_blob_home(b)));
    return FERRY_OK;
}

static struct export *export_new(void)
{
    struct export *e = calloc(1, sizeof(*e));

    if (!e)
        ferry_error_set(FERRY_ENOMEM, "ferry_blob_to_dlpack: out of memory");
    return e;
}

int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                         struct DLManagedTensor **out)
{
    unsigned which = flags & FERRY_COPY_DIFF ? FERRY_DIFF : FERRY_DATA;
    struct export *e;
    int err = check(b, where, !(flags & ~FERRY_COPY_DIFF), out);

    if (err)
        return err;
    e = export_new();
    if (!e)
        return FERRY_ENOMEM;
    e->tensor.plain.manager_ctx = e;
    e->tensor.plain.deleter = release_plain;
    err = fill(b, where, which, FERRY_READ | FERRY_WRITE, e, &e->tensor.plain.dl_tensor);
    if (err) {
        free(e);
        return err;
    }
    *out = &e->tensor.plain;
    return FERRY_OK;
}

static int export_versioned(ferry_blob *b, ferry_device *where, unsigned which, uint64_t flags,
                            struct DLManagedTensorVersioned **out)
{
    unsigned access = flags & DL_READ_ONLY ? FERRY_READ : FERRY_READ | FERRY_WRITE;
    struct export *e = export_new();
    int err;

    if (!e)
        return FERRY_ENOMEM;
    e->tensor.versioned.version = (struct dl_version){ DL_MAJOR, DL_MINOR };
    e->tensor.versioned.manager_ctx = e;
    e->tensor.versioned.deleter = release_versioned;
    e->tensor.versioned.flags = flags;
    err = fill(b, where, which, access, e, &e->tensor.versioned.dl_tensor);
    if (err) {
        free(e);
        return err;
    }
    *out = &e->tensor.versioned;
    return FERRY_OK;
}

/* Copies a blob: same shape, home, and values in data. */
static int duplicate(const ferry_blob *b, unsigned which, ferry_blob **out)
{
    ferry_blob *copy;
    int err =
        ferry_blob_create(ferry_blob_home(b), ferry_blob_dtype(b), NULL, FERRY_UNSHAPED, &copy);

    if (err)
        return err;
    err = ferry_blob_copy_from(copy, b,
                               FERRY_COPY_RESHAPE | (which == FERRY_DIFF ? FERRY_COPY_DIFF : 0));
    if (err) {
        ferry_blob_destroy(copy);
        return err;
    }
    *out = copy;
    return FERRY_OK;
}

int ferry_blob_to_dlpack_versioned(ferry_blob *b, ferry_device *where, unsigned flags,
                                   struct DLManagedTensorVersioned **out)
{
    const unsigned known = FERRY_COPY_DIFF | FERRY_DLPACK_READ_ONLY | FERRY_DLPACK_COPY;
    unsigned which = flags & FERRY_COPY_DIFF ? FERRY_DIFF : FERRY_DATA;
    ferry_blob *copy;
    int err = check(b, where, !(flags & ~known), out);

    if (err)
        return err;
    if (!(flags & FERRY_DLPACK_COPY))
        return export_versioned(b, where, which, flags & FERRY_DLPACK_READ_ONLY ? DL_READ_ONLY : 0,
                                out);
    err = duplicate(b, which, &copy);
    if (err)
        return err;
    err = export_versioned(copy, where, which, DL_IS_COPIED, out);
    ferry_blob_destroy(copy);
    return err;
}
