/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that host and device share, and pinned memory.
 *
 * On a device that is the host's processor, a host block is plain memory with the device's
 * alignment, and an import is a buffer over it (CL_MEM_USE_HOST_PTR). On other devices a host block
 * is a buffer that the driver allocates (CL_MEM_ALLOC_HOST_PTR) and that stays mapped: drivers pin
 * those. With zero copy an import returns that same buffer, because drivers of GPUs copy memory
 * that they did not allocate at each map; the buffer is then mapped and unmapped as ferry requests,
 * until the import ends. If a driver's buffers do not begin at a cache line, host blocks are plain
 * memory there too, because such a buffer could not be imported.
 */
#define _GNU_SOURCE
#include "opencl.h"

#include "common/blocks.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The minimum alignment of a host block; drivers may use a larger one. */
#define LINE 64u

struct host_block {
    void *ptr; /* the first member: the key of the tree */
    size_t span;
    cl_mem mem;   /* NULL: the block is plain memory */
    void *view;   /* the address at which mem is mapped */
    size_t place; /* for plain memory: the offset of ptr from its beginning */
    bool pages;   /* mmap has allocated it */
    bool lent;    /* it is imported, and mapped only when ferry requests it */
};

static int by_address(const void *a, const void *b)
{
    const struct host_block *x = a, *y = b;

    return (x->ptr > y->ptr) - (x->ptr < y->ptr);
}

static int by_buffer(const void *a, const void *b)
{
    const struct host_block *x = a, *y = b;

    return (x->mem > y->mem) - (x->mem < y->mem);
}

/* The host block that was imported as `mem`; NULL if the buffer is over other memory. */
static struct host_block *lender_of(struct ocl_device *dev, cl_mem mem)
{
    struct host_block key = { .mem = mem }, **node;

    ocl_lock(dev);
    node = tfind(&key, &dev->lent_blocks, by_buffer);
    ocl_unlock(dev);
    return node ? *node : NULL;
}

/* ---- plain blocks ---- */

/* The offset of a block from its base. The steps are an odd multiple of the alignment. */
static size_t next_place(struct ocl_device *dev, uint64_t bytes)
{
    uint64_t step = (FERRY__BLOCK_STEP / dev->host_align | 1) * dev->host_align;

    if (bytes < FERRY__BLOCK_SPREAD || dev->host_align >= OCL_PAGE)
        return 0;
    return (size_t)(atomic_fetch_add_explicit(&dev->next_place, 1, memory_order_relaxed) %
                    FERRY__BLOCK_PLACES * step);
}

static bool take_plain(struct ocl_device *dev, struct host_block *block, uint64_t bytes)
{
    uint64_t align = bytes >= FERRY__BLOCK_SPREAD ? OCL_PAGE : dev->host_align;
    size_t all;
    char *base;

    if (align < dev->host_align)
        align = dev->host_align;
    if (bytes > SIZE_MAX - align - FERRY__BLOCK_PLACES * OCL_PAGE)
        return false;
    block->place = next_place(dev, bytes);
    all = (size_t)((bytes + block->place + align - 1) / align * align);
    block->span = all - block->place;
    block->pages = bytes >= FERRY__BLOCK_PAGES && align == OCL_PAGE;
    if (block->pages)
        base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        base = aligned_alloc((size_t)align, all);
    if (!base || base == MAP_FAILED)
        return false;
    block->ptr = base + block->place;
    return true;
}

static void give_plain(struct host_block *block)
{
    char *base = (char *)block->ptr - block->place;

    if (block->pages)
        munmap(base, block->span + block->place);
    else
        free(base);
}

/* ---- pinned blocks ---- */

static int take_pinned(struct ocl_device *dev, struct host_block *block, uint64_t bytes)
{
    int error = CL_INVALID_BUFFER_SIZE;
    size_t room;

    if (bytes > SIZE_MAX - LINE)
        return ocl_host->error(FERRY_ENOMEM, "%" PRIu64 " bytes of host memory", bytes);
    block->span = (size_t)bytes;
    room = block->span + LINE - 1;
    block->mem = clCreateBuffer(dev->context->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                room, NULL, &error);
    if (error)
        return ocl_host->error(FERRY_ENOMEM, "clCreateBuffer: %s", ocl_error_name(error));
    block->view = clEnqueueMapBuffer(dev->setup.q, block->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                     0, room, 0, NULL, NULL, &error);
    if (!error) {
        block->ptr = (char *)block->view + (LINE - (uintptr_t)block->view % LINE) % LINE;
        return 0;
    }
    clReleaseMemObject(block->mem);
    return ocl_host->error(FERRY_ENOMEM, "clEnqueueMapBuffer: %s", ocl_error_name(error));
}

static void give(struct ocl_device *dev, struct host_block *block)
{
    if (block->mem) {
        (void)clEnqueueUnmapMemObject(dev->setup.q, block->mem, block->view, 0, NULL, NULL);
        (void)clFinish(dev->setup.q);
        clReleaseMemObject(block->mem);
    } else {
        give_plain(block);
    }
}

/*
 * Allocates a block. The alignment is checked here, so that an import of the block never fails
 * depending on the address that the driver chose.
 */
static int take(struct ocl_device *dev, struct host_block *block, uint64_t bytes)
{
    if (!dev->plain && bytes <= dev->max_alloc - LINE) {
        int err = take_pinned(dev, block, bytes);

        if (err || !dev->zero_copy || block->ptr == block->view)
            return err;
        give(dev, block);
        *block = (struct host_block){ 0 };
    }
    return take_plain(dev, block, bytes)
               ? 0
               : ocl_host->error(FERRY_ENOMEM, "%" PRIu64 " bytes of host memory", bytes);
}

/* Adds a block to the tree. (locked) */
static bool remember(struct ocl_device *dev, struct host_block *block)
{
    void *node;

    ocl_lock(dev);
    node = tsearch(block, &dev->host_blocks, by_address);
    if (node)
        dev->counters.live_host_blocks++;
    ocl_unlock(dev);
    return node != NULL;
}

int ocl_host_alloc(void *device, uint64_t bytes, uint32_t flags, void **out_ptr,
                   uint32_t *out_flags)
{
    struct ocl_device *dev = device;
    struct host_block *block = calloc(1, sizeof(*block));
    int err;

    (void)flags;
    if (!block || bytes == 0) {
        free(block);
        return ocl_host->error(bytes ? FERRY_ENOMEM : FERRY_EINVAL,
                               bytes ? "out of host memory" : "a block of 0 bytes");
    }
    err = take(dev, block, bytes);
    if (!err && !remember(dev, block)) {
        give(dev, block);
        err = ocl_host->error(FERRY_ENOMEM, "out of host memory");
    }
    if (err) {
        free(block);
        return err;
    }
    *out_ptr = block->ptr;
    *out_flags = block->pages ? FERRY_ALLOC_WAS_ZEROED : 0;
    return 0;
}

int ocl_host_free(void *device, void *ptr)
{
    struct ocl_device *dev = device;
    struct host_block key = { .ptr = ptr }, *block = NULL, **node;

    ocl_lock(dev);
    node = tfind(&key, &dev->host_blocks, by_address);
    if (node) {
        block = *node;
        tdelete(&key, &dev->host_blocks, by_address);
        dev->counters.live_host_blocks--;
    }
    ocl_unlock(dev);
    if (!block)
        return ocl_host->error(FERRY_EINVAL, "%p was not allocated by host_alloc", ptr);
    give(dev, block);
    free(block);
    return 0;
}

/* ---- imports ---- */

/*
 * The size rounded up to whole cache lines, which drivers share; a host block has room for the rest
 * of its last line.
 */
static uint64_t whole_lines(struct ocl_device *dev, void *ptr, uint64_t bytes)
{
    struct host_block key = { .ptr = ptr }, **node;
    uint64_t whole = (bytes + 63) & ~UINT64_C(63);

    ocl_lock(dev);
    node = tfind(&key, &dev->host_blocks, by_address);
    if (!node || (*node)->span < whole)
        whole = bytes;
    ocl_unlock(dev);
    return whole;
}

static struct host_block *block_at(struct ocl_device *dev, void *ptr)
{
    struct host_block key = { .ptr = ptr }, **node;

    ocl_lock(dev);
    node = tfind(&key, &dev->host_blocks, by_address);
    ocl_unlock(dev);
    return node ? *node : NULL;
}

static bool note_lent(struct ocl_device *dev, struct host_block *block, bool lent)
{
    bool done;

    ocl_lock(dev);
    if (lent)
        done = tsearch(block, &dev->lent_blocks, by_buffer) != NULL;
    else
        done = tdelete(block, &dev->lent_blocks, by_buffer) != NULL;
    if (done)
        block->lent = lent;
    ocl_unlock(dev);
    return done;
}

/*
 * Imports a host block that is a buffer of the driver: unmaps it, so that the device owns it until
 * the next map.
 */
static int lend(struct ocl_device *dev, struct host_block *block, uint64_t bytes, void **out_handle)
{
    int error;

    if (block->lent || bytes > block->span)
        return ocl_host->error(FERRY_EUNSUPPORTED,
                               "%" PRIu64 " bytes at %p cannot be imported: the block is shorter, "
                               "or imported already",
                               bytes, block->ptr);
    if (!note_lent(dev, block, true))
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the record of the import");
    error = clEnqueueUnmapMemObject(dev->setup.q, block->mem, block->view, 0, NULL, NULL);
    if (!error)
        error = clFinish(dev->setup.q);
    if (error) {
        (void)note_lent(dev, block, false);
        return ocl_fail("clEnqueueUnmapMemObject", error);
    }
    clRetainMemObject(block->mem);
    *out_handle = block->mem;
    return 0;
}

/* Creates a buffer over memory that this device's driver did not allocate. */
static int wrap(struct ocl_device *dev, void *ptr, uint64_t bytes, void **out_handle)
{
    int error;
    cl_mem mem;

    if ((uintptr_t)ptr % dev->host_align)
        return ocl_host->error(FERRY_EUNSUPPORTED, "%p is not aligned to %" PRIu64 " bytes", ptr,
                               dev->host_align);
    mem = clCreateBuffer(dev->context->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                         (size_t)whole_lines(dev, ptr, bytes), ptr, &error);
    if (error)
        return ocl_fail("clCreateBuffer", error);
    *out_handle = mem;
    return 0;
}

int ocl_import_host(void *device, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    struct ocl_device *dev = device;
    struct host_block *block;
    int err;

    (void)flags;
    if (!ptr || bytes == 0)
        return ocl_host->error(FERRY_EINVAL, "%" PRIu64 " bytes at %p", bytes, ptr);
    if (!dev->zero_copy)
        return ocl_host->error(FERRY_EUNSUPPORTED, "the device does not share the host's memory");
    if (bytes > dev->max_alloc)
        return ocl_host->error(FERRY_EUNSUPPORTED,
                               "%" PRIu64 " bytes, the device's largest block is %" PRIu64 " bytes",
                               bytes, dev->max_alloc);
    block = block_at(dev, ptr);
    err = block && block->mem ? lend(dev, block, bytes, out_handle)
                              : wrap(dev, ptr, bytes, out_handle);
    if (err)
        return err;
    ocl_lock(dev);
    dev->counters.live_imports++;
    ocl_unlock(dev);
    return 0;
}

/* The host address of an imported buffer. */
static int place_of(struct ocl_device *dev, cl_mem mem, void **out)
{
    const struct host_block *block = lender_of(dev, mem);
    void *ptr = block ? block->ptr : NULL;
    int error = block ? 0 : clGetMemObjectInfo(mem, CL_MEM_HOST_PTR, sizeof(ptr), &ptr, NULL);

    if (error)
        return ocl_fail("clGetMemObjectInfo", error);
    if (!ptr)
        return ocl_host->error(FERRY_EINVAL, "the buffer was not imported");
    *out = ptr;
    return 0;
}

static int enqueue_map(struct ocl_queue *queue, cl_mem mem, uint64_t bytes, cl_map_flags how)
{
    void *view, *ptr;
    int error, err = place_of(queue->dev, mem, &ptr);

    if (err)
        return err;
    view = clEnqueueMapBuffer(queue->q, mem, CL_TRUE, how, 0, (size_t)bytes, 0, NULL, NULL, &error);
    if (error)
        return ocl_fail("clEnqueueMapBuffer", error);
    if (view == ptr)
        return 0;
    (void)clEnqueueUnmapMemObject(queue->q, mem, view, 0, NULL, NULL);
    return ocl_host->error(FERRY_EDEVICE, "clEnqueueMapBuffer: %p was imported, %p is mapped", ptr,
                           view);
}

static int enqueue_unmap(struct ocl_queue *queue, cl_mem mem)
{
    void *ptr;
    cl_event event;
    int error, err = place_of(queue->dev, mem, &ptr);

    if (err)
        return err;
    error = clEnqueueUnmapMemObject(queue->q, mem, ptr, 0, NULL, &event);
    return error ? ocl_fail("clEnqueueUnmapMemObject", error)
                 : ocl_queue_note(queue, "clEnqueueUnmapMemObject", event);
}

/* Maps the buffer, and unmaps it again, except for a host block, which `stays` mapped. */
static int map_last(struct ocl_device *dev, cl_mem mem, uint64_t bytes, bool stays)
{
    const cl_map_flags how = CL_MAP_READ | (stays ? CL_MAP_WRITE : 0u);
    cl_event event;
    void *ptr;
    int error, err = enqueue_map(&dev->setup, mem, bytes, how);

    if (err || stays)
        return err;
    err = place_of(dev, mem, &ptr);
    if (err)
        return err;
    error = clEnqueueUnmapMemObject(dev->setup.q, mem, ptr, 0, NULL, &event);
    if (error)
        return ocl_fail("clEnqueueUnmapMemObject", error);
    error = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return error ? ocl_fail("clEnqueueUnmapMemObject", error) : 0;
}

/*
 * Ends an import. A last map by the host copies back bytes that the driver may have kept elsewhere;
 * a host block stays mapped from then on. This is not done on the default queue, which other
 * threads may use or exchange meanwhile; the work on the import is done.
 */
int ocl_unimport_host(void *device, void *handle)
{
    struct ocl_device *dev = device;
    struct host_block *block = lender_of(dev, handle);
    size_t bytes = 0;
    int error = clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL), err;

    if (error)
        return ocl_fail("clGetMemObjectInfo", error);
    err = map_last(dev, handle, bytes, block != NULL);
    if (block)
        (void)note_lent(dev, block, false);
    ocl_list_forget_buffer(dev, handle);
    clReleaseMemObject(handle);
    ocl_lock(dev);
    dev->counters.live_imports--;
    ocl_unlock(dev);
    return err;
}

/* ---- maps ---- */

static int by_value(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

/*
 * Whether the buffer is mapped. CL_MEM_MAP_COUNT is updated only when the command runs, so the
 * plugin keeps its own record.
 */
static bool is_mapped(struct ocl_device *dev, const void *block)
{
    bool found;

    ocl_lock(dev);
    found = tfind(block, &dev->mapped, by_value) != NULL;
    ocl_unlock(dev);
    return found;
}

static bool set_mapped(struct ocl_device *dev, const void *block, bool mapped)
{
    bool done;

    ocl_lock(dev);
    if (mapped)
        done = tsearch(block, &dev->mapped, by_value) != NULL;
    else
        done = tdelete(block, &dev->mapped, by_value) != NULL;
    if (done)
        dev->counters.live_maps += mapped ? 1 : UINT64_MAX;
    if (done && mapped)
        dev->counters.maps++;
    else if (done)
        dev->counters.unmaps++;
    ocl_unlock(dev);
    return done;
}

int ocl_unmap(void *device, void *handle, void *block)
{
    struct ocl_device *dev = device;
    int err;

    if (!is_mapped(dev, block))
        return ocl_host->error(FERRY_EINVAL, "the buffer is not mapped");
    err = enqueue_unmap(ocl_queue_of(dev, handle), block);
    if (!err)
        (void)set_mapped(dev, block, false);
    return err;
}

int ocl_map(void *device, void *handle, void *block, uint64_t bytes, uint32_t access)
{
    struct ocl_device *dev = device;
    struct ocl_queue *queue = ocl_queue_of(dev, handle);
    cl_map_flags how = CL_MAP_READ | (access & FERRY_WRITE ? CL_MAP_WRITE : 0u);
    int err = ocl_range_check("block", block, 0, bytes);

    if (!err && is_mapped(dev, block)) /* the bytes do not move, so the host can still read them */
        err = ocl_unmap(dev, handle, block);
    if (!err)
        err = enqueue_map(queue, block, bytes, how);
    if (err || set_mapped(dev, block, true))
        return err;
    (void)enqueue_unmap(queue, block);
    return ocl_host->error(FERRY_ENOMEM, "out of memory for the record of the map");
}
