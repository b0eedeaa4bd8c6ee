/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host memory that the device allocates. On a unified device it is one set of pages with two views:
 * the host's, which map and unmap make accessible or not, and the device's, which is always
 * accessible.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- allocation ---- */

static int map_twice(struct sim_host *host, struct sim_why *why)
{
    int fd = memfd_create("ferry-sim", MFD_CLOEXEC);
    void *view = MAP_FAILED, *device = MAP_FAILED;

    if (fd < 0)
        return sim_why_set(why, FERRY_ENOMEM, "memfd_create: %s", strerror(errno));
    if (ftruncate(fd, (off_t)host->span) == 0) {
        view = mmap(NULL, (size_t)host->span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        device = mmap(NULL, (size_t)host->span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (view != MAP_FAILED && device != MAP_FAILED) {
        host->view = view;
        host->device = device;
        return 0;
    }
    if (view != MAP_FAILED)
        munmap(view, (size_t)host->span);
    if (device != MAP_FAILED)
        munmap(device, (size_t)host->span);
    return sim_why_set(why, FERRY_ENOMEM, "cannot map shared pages for %" PRIu64 " bytes",
                       host->bytes);
}

static struct sim_host *create_host(uint64_t bytes, bool unified, struct sim_why *why)
{
    struct sim_host *host;

    if (!bytes || bytes > SIZE_MAX / 2) {
        sim_why_set(why, bytes ? FERRY_ENOMEM : FERRY_EINVAL, "a host block of %" PRIu64 " bytes",
                    bytes);
        return NULL;
    }
    host = calloc(1, sizeof(*host));
    if (!host)
        goto err_short;
    host->bytes = bytes;
    host->span = unified ? sim_whole_pages(bytes) : (bytes + 63) / 64 * 64;
    if (unified) {
        if (map_twice(host, why))
            goto err_free_host;
        return host;
    }
    host->view = aligned_alloc(64, (size_t)host->span);
    if (host->view)
        return host;
err_short:
    sim_why_set(why, FERRY_ENOMEM, "out of host memory");
err_free_host:
    free(host);
    return NULL;
}

void sim_host_release(struct sim_host *host)
{
    if (host->device) {
        munmap(host->view, (size_t)host->span);
        munmap(host->device, (size_t)host->span);
    } else {
        memset(host->view, SIM_POISON_FREED, (size_t)host->span);
        free(host->view);
    }
    free(host);
}

int sim_host_alloc(void *device, uint64_t bytes, uint32_t flags, void **out_ptr,
                   uint32_t *out_flags)
{
    struct sim_device *dev = device;
    struct sim_host *host;
    struct sim_why why = { 0 };
    bool zero = flags & FERRY_ALLOC_ZERO;

    sim_lock();
    if (!sim_alive(dev, &why))
        (void)sim_fault(dev, SIM_CALL_HOST_ALLOC, &why);
    sim_unlock();
    if (why.code)
        return sim_why_tell(&why);
    host = create_host(bytes, dev->unified, &why);
    if (!host)
        return sim_why_tell(&why);
    if (!zero)
        memset(host->view, SIM_POISON_FRESH, (size_t)host->span);
    else if (!host->device)
        memset(host->view, 0, (size_t)host->span);
    sim_lock();
    host->next = dev->hosts;
    dev->hosts = host;
    dev->counters.live_host_blocks++;
    sim_unlock();
    *out_ptr = host->view;
    *out_flags = zero ? FERRY_ALLOC_WAS_ZEROED : 0;
    return 0;
}

int sim_host_free(void *device, void *ptr)
{
    struct sim_device *dev = device;
    struct sim_host **link = &dev->hosts;
    struct sim_host *host;
    struct sim_why why = { 0 };

    sim_lock();
    while (*link && (*link)->view != ptr)
        link = &(*link)->next;
    host = *link;
    if (!host) {
        sim_why_set(&why, FERRY_EINVAL, "%p is not a host block of this device", ptr);
    } else if (host->import) {
        sim_why_set(&why, FERRY_EBUSY, "host block %p is imported", ptr);
    } else {
        *link = host->next;
        dev->counters.live_host_blocks--;
    }
    sim_unlock();
    if (!why.code)
        sim_host_release(host);
    return sim_why_tell(&why);
}

/* ---- import ---- */

/* Sets the host's access to the first `bytes` of an import. */
static int protect(const struct sim_block *block, uint64_t bytes, uint32_t access,
                   struct sim_why *why)
{
    int prot = access & FERRY_WRITE ? PROT_READ | PROT_WRITE : access ? PROT_READ : PROT_NONE;

    if (mprotect(block->host_view, (size_t)sim_whole_pages(bytes), prot) != 0)
        return sim_why_set(why, FERRY_EDEVICE, "mprotect: %s", strerror(errno));
    return 0;
}

/* Imports a host block. (locked) */
static int import(struct sim_device *dev, struct sim_block *block, unsigned char *ptr,
                  struct sim_why *why)
{
    struct sim_host *host = sim_host_find(dev, ptr, block->bytes);
    int err = sim_alive(dev, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_IMPORT, why);
    if (err)
        return err;
    if (!host || !host->device)
        return sim_why_set(why, FERRY_EUNSUPPORTED,
                           "host memory %p was not allocated by host_alloc of this device",
                           (void *)ptr);
    if ((uintptr_t)ptr % SIM_PAGE)
        return sim_why_set(why, FERRY_EUNSUPPORTED, "host memory %p is not aligned to 4096 bytes",
                           (void *)ptr);
    if (host->import)
        return sim_why_set(why, FERRY_EINVAL, "host block %p is imported already",
                           (void *)host->view);
    block->host = host;
    block->host_view = ptr;
    block->real = host->device + (ptr - host->view);
    err = sim_arena_add(&dev->arena, block, why);
    if (err)
        return err;
    err = dev->set.map ? protect(block, block->bytes, 0, why) : 0;
    if (err) {
        sim_arena_remove(&dev->arena, block);
        return err;
    }
    host->import = block;
    dev->counters.live_imports++;
    return 0;
}

int sim_import_host(void *device, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    struct sim_device *dev = device;
    struct sim_block *block = calloc(1, sizeof(*block));
    struct sim_why why = { 0 };

    (void)flags;
    if (!dev->unified)
        sim_why_set(&why, FERRY_EUNSUPPORTED, "the device is discrete (option.unified = off)");
    else if (!bytes || !ptr)
        sim_why_set(&why, FERRY_EINVAL, "an import of %" PRIu64 " bytes at %p", bytes, ptr);
    else if (!block)
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    if (!why.code) {
        block->bytes = bytes;
        sim_lock();
        if (!import(dev, block, ptr, &why))
            *out_handle = (void *)block->base;
        sim_unlock();
    }
    if (why.code)
        free(block);
    return sim_why_tell(&why);
}

/* Finds the import of that handle. (locked) */
static int find_import(struct sim_device *dev, void *handle, struct sim_block **out,
                       struct sim_why *why)
{
    int err = sim_arena_find(dev, handle, out, why);

    if (err)
        return err;
    if (!(*out)->host)
        return sim_why_set(why, FERRY_EINVAL, "handle %p is not imported", handle);
    return 0;
}

static int unimport(struct sim_device *dev, void *handle, struct sim_block **out,
                    struct sim_why *why)
{
    struct sim_block *block;
    int err = find_import(dev, handle, &block, why);

    if (err)
        return err;
    if ((block->mapped & FERRY_WRITE) && !block->stuck)
        return sim_why_set(why, FERRY_EINVAL, "handle %p is mapped for writing", handle);
    if (block->pending)
        return sim_why_set(why, FERRY_EBUSY, "handle %p: %" PRIu64 " commands still use it", handle,
                           block->pending);
    err = protect(block, block->bytes, FERRY_READ | FERRY_WRITE, why);
    if (err)
        return err;
    if (block->mapped)
        dev->counters.live_maps--;
    block->host->import = NULL;
    sim_arena_remove(&dev->arena, block);
    dev->counters.live_imports--;
    *out = block;
    return 0;
}

int sim_unimport_host(void *device, void *handle)
{
    struct sim_block *block = NULL;
    struct sim_why why = { 0 };

    sim_lock();
    (void)unimport(device, handle, &block, &why);
    sim_unlock();
    free(block);
    return sim_why_tell(&why);
}

/* ---- map ---- */

/*
 * Maps a block; waits for the queue's work, during which the caller must keep the block. (locked)
 */
static int map(struct sim_device *dev, void *queue_handle, void *handle, uint64_t bytes,
               uint32_t access, struct sim_why *why)
{
    struct sim_queue *queue;
    struct sim_block *block;
    int err = sim_queue_find(dev, queue_handle, &queue, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_MAP, why);
    if (err)
        return err;
    sim_queue_drain(queue, sim_shared.seq);
    err = sim_alive(dev, why);
    if (!err)
        err = find_import(dev, handle, &block, why);
    if (err)
        return err;
    if (block->mapped == access || (block->mapped && block->mapped_bytes != bytes))
        return sim_why_set(why, FERRY_EINVAL, "handle %p is mapped already", handle);
    if (!bytes || bytes > block->bytes || !(access & FERRY_READ) ||
        (access & ~(FERRY_READ | FERRY_WRITE)))
        return sim_why_set(why, FERRY_EINVAL,
                           "handle %p: map of %" PRIu64 " of %" PRIu64 " bytes, access %u", handle,
                           bytes, block->bytes, access);
    err = protect(block, bytes, access, why);
    if (err)
        return err;
    if (block->mapped) /* a change of the access ends the previous mapping */
        dev->counters.unmaps++;
    else
        dev->counters.live_maps++;
    block->mapped = access;
    block->mapped_bytes = bytes;
    dev->counters.maps++;
    return 0;
}

int sim_map(void *device, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    struct sim_why why = { 0 };

    sim_lock();
    (void)map(device, queue, handle, bytes, access, &why);
    sim_unlock();
    return sim_why_tell(&why);
}

static int unmap(struct sim_device *dev, void *queue_handle, void *handle, struct sim_why *why)
{
    struct sim_queue *queue;
    struct sim_block *block;
    int err = sim_queue_find(dev, queue_handle, &queue, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_UNMAP, why);
    if (!err)
        err = find_import(dev, handle, &block, why);
    if (err)
        return err;
    if (!block->mapped)
        return sim_why_set(why, FERRY_EINVAL, "handle %p is not mapped", handle);
    err = protect(block, block->bytes, 0, why);
    if (err)
        return err;
    block->mapped = 0;
    dev->counters.unmaps++;
    dev->counters.live_maps--;
    return 0;
}

int sim_unmap(void *device, void *queue, void *handle)
{
    struct sim_why why = { 0 }, ignored = { 0 };
    struct sim_block *block;

    sim_lock();
    if (unmap(device, queue, handle, &why) && !find_import(device, handle, &block, &ignored))
        block->stuck = block->mapped != 0;
    sim_unlock();
    return sim_why_tell(&why);
}
