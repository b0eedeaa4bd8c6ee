/* SPDX-License-Identifier: BSD-2-Clause */
#include "triton/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Buffers of the server in the memory of a GPU. The server's numbers of GPUs are CUDA's. */

static bool has_number(ferry_device *dev, int64_t id)
{
    int number = -1;

    return ferry_device_native(dev, "cuda_device", &number, sizeof(number)) == FERRY_OK &&
           number == id;
}

bool triton_gpu_is_of(const struct triton_instance *i, int64_t id)
{
    return has_number(i->device, id);
}

/* The device of GPU `id`: the instance's, or another one of the same runtime. */
static TRITONSERVER_Error *find_device(const struct triton_instance *i, int64_t id,
                                       ferry_device **out)
{
    char name[32];

    if (triton_gpu_is_of(i, id)) {
        *out = i->device;
        return NULL;
    }
    snprintf(name, sizeof(name), "cuda:%" PRId64, id);
    if (ferry_device_sibling(i->device, name, out))
        return triton_error(ferry_last_error_code(), "a buffer in the memory of a GPU");
    if (!has_number(*out, id))
        return triton_error_new(TRITONSERVER_ERROR_UNSUPPORTED,
                                "a buffer in the memory of GPU %" PRId64
                                ": %s is another GPU, by an option of the plugin",
                                id, name);
    return NULL;
}

/* A memory whose copy at `dev` is the buffer; released by the caller. */
static int wrap(ferry_device *dev, void *buffer, size_t bytes, unsigned flags, ferry_memory **out)
{
    const ferry_ref ref = { buffer, 0 };
    ferry_memory *m;
    int err = ferry_memory_create(dev, bytes, &m);

    if (err)
        return err;
    err = ferry_memory_adopt(m, dev, ref, bytes, flags, NULL, NULL);
    if (err) {
        ferry_memory_release(m);
        return err;
    }
    *out = m;
    return FERRY_OK;
}

static int copy_from(ferry_device *dev, void *buffer, size_t bytes, void *to)
{
    ferry_memory *m;
    const void *from;
    int err = wrap(dev, buffer, bytes, FERRY_ADOPT_READONLY, &m);

    if (err)
        return err;
    from = ferry_memory_host_data(m);
    if (from)
        memcpy(to, from, bytes);
    err = from ? FERRY_OK : ferry_last_error_code();
    ferry_memory_release(m);
    return err;
}

static int copy_to(ferry_device *dev, const void *from, size_t bytes, void *buffer)
{
    ferry_memory *m;
    void *to;
    int err = wrap(dev, buffer, bytes, 0, &m);

    if (err)
        return err;
    to = ferry_memory_overwrite_host_data(m);
    if (to) {
        memcpy(to, from, bytes);
        if (ferry_memory_device_data(m).handle)
            err = ferry_device_synchronize(dev);
        else
            err = ferry_last_error_code();
    } else {
        err = ferry_last_error_code();
    }
    ferry_memory_release(m);
    return err;
}

TRITONSERVER_Error *triton_gpu_read(const struct triton_instance *i, const void *from, size_t bytes,
                                    int64_t id, void *to)
{
    ferry_device *dev = NULL;
    TRITONSERVER_Error *error = find_device(i, id, &dev);
    void *buffer;

    if (error || !bytes)
        return error;
    memcpy(&buffer, &from, sizeof(from)); /* read only, by the flag of the adoption */
    return copy_from(dev, buffer, bytes, to) ? triton_error(ferry_last_error_code(), NULL) : NULL;
}

TRITONSERVER_Error *triton_gpu_write(const struct triton_instance *i, const void *from,
                                     size_t bytes, int64_t id, void *to)
{
    ferry_device *dev = NULL;
    TRITONSERVER_Error *error = find_device(i, id, &dev);

    if (error || !bytes)
        return error;
    return copy_to(dev, from, bytes, to) ? triton_error(ferry_last_error_code(), NULL) : NULL;
}
