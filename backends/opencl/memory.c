/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory: blocks, copies, fills. */
#include "opencl.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static cl_mem mem_of(const void *handle)
{
    return (cl_mem)(uintptr_t)handle;
}

/* ---- blocks ---- */

/*
 * Forces the allocation of a block by a command. Drivers defer it to the first command that uses
 * the block, which would then fail if memory is short.
 */
static int make_real(struct ocl_device *dev, cl_mem mem, const char **call)
{
    cl_event event;
    cl_int status = CL_COMPLETE;
    int error = clEnqueueMigrateMemObjects(
        dev->setup.q, 1, &mem, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, &event);

    *call = "clEnqueueMigrateMemObjects";
    if (error)
        return error;
    error = clWaitForEvents(1, &event);
    if (!clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) &&
        status < 0)
        error = status;
    clReleaseEvent(event);
    return error;
}

static int no_block(const struct ocl_device *dev, uint64_t bytes, const char *call, int error)
{
    if (bytes > dev->max_alloc)
        return ocl_host->error(FERRY_ENOMEM,
                               "%s: %s: %" PRIu64
                               " bytes requested, the device's largest block is %" PRIu64 " bytes",
                               call, ocl_error_name(error), bytes, dev->max_alloc);
    if (error == CL_OUT_OF_RESOURCES)
        return ocl_host->error(FERRY_ENOMEM, "%s: %s", call, ocl_error_name(error));
    return ocl_fail(call, error);
}

int ocl_alloc(void *device, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags)
{
    struct ocl_device *dev = device;
    const char *call = "clCreateBuffer";
    int error = CL_INVALID_BUFFER_SIZE;
    cl_mem mem;

    (void)queue, (void)flags;
    if (bytes == 0)
        return ocl_host->error(FERRY_EINVAL, "a block of 0 bytes");
    if (bytes > dev->max_alloc || bytes > SIZE_MAX)
        return no_block(dev, bytes, call, error);
    mem = clCreateBuffer(dev->context->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (error)
        return no_block(dev, bytes, call, error);
    error = make_real(dev, mem, &call);
    if (error) {
        clReleaseMemObject(mem);
        return no_block(dev, bytes, call, error);
    }
    ocl_lock(dev);
    dev->counters.live_blocks++;
    dev->counters.live_bytes += bytes;
    ocl_unlock(dev);
    *out_handle = mem;
    *out_flags = 0;
    return 0;
}

int ocl_free(void *device, void *queue, void *handle)
{
    struct ocl_device *dev = device;
    size_t bytes = 0;
    int error = clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);

    (void)queue;
    if (error)
        return ocl_fail("clGetMemObjectInfo", error);
    ocl_list_forget_buffer(dev, handle);
    error = clReleaseMemObject(handle);
    if (error)
        return ocl_fail("clReleaseMemObject", error);
    ocl_lock(dev);
    dev->counters.live_blocks--;
    dev->counters.live_bytes -= bytes;
    ocl_unlock(dev);
    return 0;
}

int ocl_range_check(const char *side, const void *handle, uint64_t offset, uint64_t bytes)
{
    size_t size = 0;
    int error;

    if (!handle)
        return ocl_host->error(FERRY_EINVAL, "%s: the reference is null", side);
    error = clGetMemObjectInfo(mem_of(handle), CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (error)
        return ocl_host->error(FERRY_EINVAL, "%s: clGetMemObjectInfo: %s", side,
                               ocl_error_name(error));
    if (offset > size || bytes > size - offset)
        return ocl_host->error(FERRY_EINVAL,
                               "%s: %" PRIu64 " bytes at %" PRIu64 " of a buffer of %zu bytes",
                               side, bytes, offset, size);
    return 0;
}

/* ---- copies ---- */

static void count(struct ocl_device *dev, uint64_t *copies, uint64_t *moved, uint64_t bytes)
{
    ocl_lock(dev);
    ++*copies;
    *moved += bytes;
    ocl_unlock(dev);
}

static int h2d(struct ocl_device *dev, struct ocl_queue *queue, ferry_ref dst, ferry_cref src,
               uint64_t bytes)
{
    cl_event event;
    int err = ocl_range_check("dst", dst.handle, dst.offset, bytes), error;

    if (!err && !src.handle)
        err = ocl_host->error(FERRY_EINVAL, "src: the host pointer is NULL");
    if (err)
        return err;
    error = clEnqueueWriteBuffer(queue->q, dst.handle, CL_FALSE, (size_t)dst.offset, (size_t)bytes,
                                 (const char *)src.handle + src.offset, 0, NULL, &event);
    if (error)
        return ocl_fail("clEnqueueWriteBuffer", error);
    count(dev, &dev->counters.copies_h2d, &dev->counters.bytes_h2d, bytes);
    return ocl_queue_note(queue, "clEnqueueWriteBuffer", event);
}

static int d2h(struct ocl_device *dev, struct ocl_queue *queue, ferry_ref dst, ferry_cref src,
               uint64_t bytes)
{
    cl_event event;
    int err = ocl_range_check("src", src.handle, src.offset, bytes), error;

    if (!err && !dst.handle)
        err = ocl_host->error(FERRY_EINVAL, "dst: the host pointer is NULL");
    if (err)
        return err;
    error = clEnqueueReadBuffer(queue->q, mem_of(src.handle), CL_FALSE, (size_t)src.offset,
                                (size_t)bytes, (char *)dst.handle + dst.offset, 0, NULL, &event);
    if (error)
        return ocl_fail("clEnqueueReadBuffer", error);
    count(dev, &dev->counters.copies_d2h, &dev->counters.bytes_d2h, bytes);
    return ocl_queue_note(queue, "clEnqueueReadBuffer", event);
}

static int d2d(struct ocl_device *dev, struct ocl_queue *queue, ferry_ref dst, ferry_cref src,
               uint64_t bytes)
{
    cl_event event;
    int err = ocl_range_check("dst", dst.handle, dst.offset, bytes), error;

    if (!err)
        err = ocl_range_check("src", src.handle, src.offset, bytes);
    if (err)
        return err;
    if (src.handle == dst.handle && dst.offset < src.offset + bytes &&
        src.offset < dst.offset + bytes)
        return ocl_host->error(FERRY_EINVAL,
                               "%" PRIu64 " bytes at %" PRIu64 " and at %" PRIu64
                               " of one buffer overlap",
                               bytes, dst.offset, src.offset);
    error = clEnqueueCopyBuffer(queue->q, mem_of(src.handle), dst.handle, (size_t)src.offset,
                                (size_t)dst.offset, (size_t)bytes, 0, NULL, &event);
    if (error)
        return ocl_fail("clEnqueueCopyBuffer", error);
    count(dev, &dev->counters.copies_d2d, &dev->counters.bytes_d2d, bytes);
    return ocl_queue_note(queue, "clEnqueueCopyBuffer", event);
}

int ocl_memcpy(void *device, void *handle, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);

    if (bytes == 0)
        return ocl_host->error(FERRY_EINVAL, "a copy of 0 bytes");
    switch (kind) {
    case FERRY_MEMCPY_H2D:
        return h2d(dev, queue, dst, src, bytes);
    case FERRY_MEMCPY_D2H:
        return d2h(dev, queue, dst, src, bytes);
    case FERRY_MEMCPY_D2D:
        return d2d(dev, queue, dst, src, bytes);
    default:
        return ocl_host->error(FERRY_EINVAL, "invalid kind %" PRIu32 " of memcpy", kind);
    }
}

int ocl_copy(void *device, void *handle, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y)
{
    struct ocl_device *dev = device;
    uint64_t size = ocl_element_size(dtype);

    if (!size || n <= 0)
        return ocl_host->error(FERRY_EINVAL, "%" PRId64 " elements of type %" PRIu32, n, dtype);
    return d2d(dev, ocl_queue_of(dev, handle), y, x, (uint64_t)n * size);
}

/*
 * Whether one device accesses the other's buffers: two devices that were adopted with one context
 * share them.
 */
int ocl_peer_access(void *dst_dev, void *src_dev)
{
    const struct ocl_device *dst = dst_dev, *src = src_dev;

    return dst != src && dst->context->context == src->context->context;
}

int ocl_peer_copy(void *dst_dev, void *handle, ferry_ref dst, void *src_dev, ferry_cref src,
                  uint64_t bytes)
{
    if (!ocl_peer_access(dst_dev, src_dev))
        return ocl_host->error(FERRY_EUNSUPPORTED, "the devices are in different contexts");
    return d2d(dst_dev, ocl_queue_of(dst_dev, handle), dst, src, bytes);
}

/* ---- fills ---- */

/* Fills `bytes` from `offset` on with a pattern whose size divides both. */
static int fill(struct ocl_queue *queue, cl_mem mem, const void *pattern, size_t size,
                uint64_t offset, uint64_t bytes)
{
    cl_event event;
    int error;

    if (!bytes)
        return 0;
    error = clEnqueueFillBuffer(queue->q, mem, pattern, size, (size_t)offset, (size_t)bytes, 0,
                                NULL, &event);
    return error ? ocl_fail("clEnqueueFillBuffer", error)
                 : ocl_queue_note(queue, "clEnqueueFillBuffer", event);
}

/*
 * The size of the widest pattern, which is the fastest; bytes before and after its multiples are
 * filled with narrower patterns, in order.
 */
#define WIDEST 128u

static int fill_widely(struct ocl_queue *queue, ferry_ref dst, const unsigned char *element,
                       size_t size, uint64_t bytes)
{
    unsigned char pattern[WIDEST];
    uint64_t skip = (WIDEST - dst.offset % WIDEST) % WIDEST, middle;
    int err;

    for (size_t i = 0; i < WIDEST; i += size)
        memcpy(pattern + i, element, size);
    skip = skip < bytes ? skip : bytes;
    middle = (bytes - skip) / WIDEST * WIDEST;
    err = fill(queue, dst.handle, element, size, dst.offset, skip);
    if (!err)
        err = fill(queue, dst.handle, pattern, WIDEST, dst.offset + skip, middle);
    if (!err)
        err = fill(queue, dst.handle, element, size, dst.offset + skip + middle,
                   bytes - skip - middle);
    return err;
}

int ocl_memset(void *device, void *handle, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    struct ocl_device *dev = device;
    unsigned char element = (unsigned char)(byte & 0xffu);
    int err = bytes ? ocl_range_check("dst", dst.handle, dst.offset, bytes)
                    : ocl_host->error(FERRY_EINVAL, "a memset of 0 bytes");

    if (err)
        return err;
    ocl_lock(dev);
    dev->counters.memsets++;
    ocl_unlock(dev);
    return fill_widely(ocl_queue_of(dev, handle), dst, &element, 1, bytes);
}

int ocl_fill(void *device, void *handle, uint32_t dtype, int64_t n, double value, ferry_ref y)
{
    struct ocl_device *dev = device;
    unsigned char element[8];
    size_t size = ocl_element_encode(dtype, value, element);
    int err;

    if (!size || n <= 0 || y.offset % size)
        return ocl_host->error(FERRY_EINVAL,
                               "%" PRId64 " elements of type %" PRIu32 " at byte %" PRIu64, n,
                               dtype, y.offset);
    err = ocl_range_check("y", y.handle, y.offset, (uint64_t)n * size);
    if (err)
        return err;
    ocl_lock(dev);
    dev->counters.ops++;
    ocl_unlock(dev);
    return fill_widely(ocl_queue_of(dev, handle), y, element, size, (uint64_t)n * size);
}
