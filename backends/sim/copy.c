/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies and memsets. There is no staging: a copy reads its source when it runs.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>

/* The modelled cost: the latency plus the time for the bytes at the device's bandwidth. */
static int64_t copy_cost(const struct sim_settings *set, uint64_t bytes)
{
    double seconds = set->bandwidth ? (double)bytes / (double)set->bandwidth : 0.0;

    return set->latency_ns + (int64_t)(seconds * 1e9);
}

/* Checks the host side: it may be any memory except that of a device. (locked) */
static int host_side(struct sim_device *dev, struct sim_command *command, const void *handle,
                     uint64_t offset, uint64_t bytes, uint32_t access, struct sim_why *why)
{
    uintptr_t address = (uintptr_t)handle + (uintptr_t)offset;

    if (!handle)
        return sim_why_set(why, FERRY_EINVAL, "the host side is NULL");
    for (const struct sim_device *each = sim_shared.devices; each; each = each->next)
        if (address >= each->arena.start && address < each->arena.end)
            return sim_why_set(why, FERRY_EINVAL, "host side %p is memory of sim:%u",
                               (void *)address, each->index);
    command->host = (const unsigned char *)handle + offset;
    command->host_access = access;
    return sim_host_check(dev, command->host, bytes, access, why);
}

static int h2d(struct sim_device *dev, struct sim_command *c, ferry_ref dst, ferry_cref src,
               struct sim_why *why)
{
    int err = host_side(dev, c, src.handle, src.offset, c->bytes, FERRY_READ, why);

    c->src = c->host;
    c->engine = SIM_TO_DEVICE;
    return err ? err
               : sim_arena_resolve(dev, ferry_ref_const(dst), c->bytes, FERRY_WRITE, &c->uses[0],
                                   &c->dst, why);
}

static int d2h(struct sim_device *dev, struct sim_command *c, ferry_ref dst, ferry_cref src,
               struct sim_why *why)
{
    unsigned char *real;
    int err = host_side(dev, c, dst.handle, dst.offset, c->bytes, FERRY_WRITE, why);

    if (!err)
        err = sim_arena_resolve(dev, src, c->bytes, FERRY_READ, &c->uses[0], &real, why);
    if (err)
        return err;
    c->src = real;
    c->dst = (unsigned char *)dst.handle + dst.offset;
    c->engine = SIM_TO_HOST;
    return 0;
}

static int d2d(struct sim_device *dev, struct sim_command *c, ferry_ref dst,
               struct sim_device *from, ferry_cref src, struct sim_why *why)
{
    unsigned char *real;
    int err = sim_arena_resolve(from, src, c->bytes, FERRY_READ, &c->uses[1], &real, why);

    if (!err)
        err = sim_arena_resolve(dev, ferry_ref_const(dst), c->bytes, FERRY_WRITE, &c->uses[0],
                                &c->dst, why);
    if (err)
        return err;
    if (c->uses[0] == c->uses[1] && dst.offset < src.offset + c->bytes &&
        src.offset < dst.offset + c->bytes)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle %p: %" PRIu64 " bytes at %" PRIu64 " and at %" PRIu64 " overlap",
                           dst.handle, c->bytes, src.offset, dst.offset);
    c->src = real;
    c->engine = SIM_WITHIN;
    return 0;
}

static int by_kind(struct sim_device *dev, struct sim_command *c, uint32_t kind, ferry_ref dst,
                   ferry_cref src, struct sim_why *why)
{
    if (kind == FERRY_MEMCPY_H2D)
        return h2d(dev, c, dst, src, why);
    if (kind == FERRY_MEMCPY_D2H)
        return d2h(dev, c, dst, src, why);
    if (kind == FERRY_MEMCPY_D2D)
        return d2d(dev, c, dst, dev, src, why);
    return sim_why_set(why, FERRY_EINVAL, "memcpy kind %u does not exist", kind);
}

static void count(ferry_plugin_counters *counters, enum sim_engine engine, uint64_t bytes)
{
    uint64_t *copies = engine == SIM_TO_DEVICE ? &counters->copies_h2d
                       : engine == SIM_TO_HOST ? &counters->copies_d2h
                                               : &counters->copies_d2d;
    uint64_t *moved = engine == SIM_TO_DEVICE ? &counters->bytes_h2d
                      : engine == SIM_TO_HOST ? &counters->bytes_d2h
                                              : &counters->bytes_d2d;

    ++*copies;
    *moved += bytes;
}

/* Common to all copies: checks the device, the queue and the size. (locked) */
static int begin(struct sim_device *dev, void *queue_handle, uint32_t call, uint64_t bytes,
                 struct sim_queue **out, struct sim_why *why)
{
    int err = sim_queue_find(dev, queue_handle, out, why);

    if (err)
        return err;
    if (!bytes || bytes > SIZE_MAX / 2)
        return sim_why_set(why, FERRY_EINVAL, "%" PRIu64 " bytes", bytes);
    return sim_fault(dev, call, why);
}

/* Submits a copy. (locked) */
static void submit_copy(struct sim_device *dev, struct sim_queue *queue, struct sim_command *c)
{
    c->cost = copy_cost(&dev->set, c->bytes);
    c->fail = sim_fault_later(dev, SIM_CALL_MEMCPY);
    count(&dev->counters, c->engine, c->bytes);
    sim_queue_submit(queue, c);
}

static int no_memory(void)
{
    struct sim_why why = { 0 };

    sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    return sim_why_tell(&why);
}

int sim_memcpy(void *device, void *queue_handle, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes)
{
    struct sim_device *dev = device;
    struct sim_command *c = sim_command_create(SIM_COPY);
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    if (!c)
        return no_memory();
    c->bytes = bytes;
    sim_lock();
    if (!begin(dev, queue_handle, SIM_CALL_MEMCPY, bytes, &queue, &why) &&
        !by_kind(dev, c, kind, dst, src, &why))
        submit_copy(dev, queue, c);
    sim_unlock();
    if (why.code)
        free(c);
    return sim_why_tell(&why);
}

int sim_memset(void *device, void *queue_handle, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    struct sim_device *dev = device;
    struct sim_command *c = sim_command_create(SIM_SET);
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    if (!c)
        return no_memory();
    c->bytes = bytes;
    c->byte = byte;
    c->engine = SIM_COMPUTE;
    c->cost = dev->set.op_latency_ns;
    sim_lock();
    if (!begin(dev, queue_handle, SIM_CALL_MEMSET, bytes, &queue, &why) &&
        !sim_arena_resolve(dev, ferry_ref_const(dst), bytes, FERRY_WRITE, &c->uses[0], &c->dst,
                           &why)) {
        c->fail = sim_fault_later(dev, SIM_CALL_MEMSET);
        dev->counters.memsets++;
        sim_queue_submit(queue, c);
    }
    sim_unlock();
    if (why.code)
        free(c);
    return sim_why_tell(&why);
}

int sim_peer_access(void *dst_dev, void *src_dev)
{
    const struct sim_device *dst = dst_dev, *src = src_dev;

    return dst != src && dst->set.peer && src->set.peer;
}

int sim_peer_copy(void *dst_dev, void *queue_handle, ferry_ref dst, void *src_dev, ferry_cref src,
                  uint64_t bytes)
{
    struct sim_device *dev = dst_dev, *from = src_dev;
    struct sim_command *c = sim_command_create(SIM_COPY);
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    if (!c)
        return no_memory();
    c->bytes = bytes;
    sim_lock();
    if (!sim_peer_access(dev, from))
        sim_why_set(&why, FERRY_EUNSUPPORTED, "no peer copy from sim:%u (option.peer = off)",
                    from->index);
    else if (from->lost)
        sim_why_set(&why, FERRY_EDEVICE, "the source, sim:%u, is lost", from->index);
    else if (!begin(dev, queue_handle, SIM_CALL_MEMCPY, bytes, &queue, &why) &&
             !d2d(dev, c, dst, from, src, &why))
        submit_copy(dev, queue, c);
    sim_unlock();
    if (why.code)
        free(c);
    return sim_why_tell(&why);
}
