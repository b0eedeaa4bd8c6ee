/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device itself: its description, opening, statistics, faults and closing.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sim_device_count(void *plugin, uint32_t *out)
{
    struct sim_settings settings;
    int err = sim_settings_read(sim_shared.host, &settings);

    (void)plugin;
    if (!err)
        *out = settings.devices;
    return err;
}

/* Copies the members that both sides know to a program built with a shorter or a longer struct. */
static void answer(void *out, uint32_t *out_size, void *mine, uint32_t *my_size, size_t size)
{
    uint32_t both = *out_size < size ? *out_size : (uint32_t)size;

    *my_size = *out_size;
    memcpy(out, mine, both);
}

static bool is_unified(const struct sim_settings *set, uint32_t index)
{
    return set->unified == SIM_UNIFIED_ALL || (set->unified == SIM_UNIFIED_ODD && index % 2 == 1);
}

static void describe(const struct sim_settings *set, uint32_t index, ferry_plugin_properties *out)
{
    bool unified = is_unified(set, index);

    out->flags = unified ? FERRY_DEVICE_UNIFIED : 0;
    out->memory_total = out->max_alloc = set->memory;
    out->sync_domain = 1;
    out->host_alignment = unified ? 4096 : 0;
    out->offset_alignment = set->offset_alignment;
    out->max_binding = set->max_binding;
    snprintf(out->description, sizeof(out->description), "simulated accelerator");
    snprintf(out->uuid, sizeof(out->uuid), "sim-00000000-0000-0000-0000-%012u", index);
}

int sim_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    struct sim_device *device = dev;
    struct sim_settings settings;
    ferry_plugin_properties mine = { 0 };
    int err;

    (void)plugin;
    if (device) {
        settings = device->set;
        index = device->index;
    } else {
        err = sim_settings_read(sim_shared.host, &settings);
        if (err)
            return err;
        if (index >= settings.devices)
            return sim_shared.host->error(FERRY_ENODEV, "device %u does not exist, there are %u",
                                          index, settings.devices);
    }
    describe(&settings, index, &mine);
    answer(out, &out->struct_size, &mine, &mine.struct_size, sizeof(mine));
    return 0;
}

static void arm(struct sim_device *dev)
{
    static const uint32_t calls[] = { SIM_CALL_ALLOC,  SIM_CALL_MEMCPY,  SIM_CALL_OP,
                                      SIM_CALL_CREATE, SIM_CALL_PREPARE, SIM_CALL_RUN };
    const uint64_t when[] = { dev->set.fail_alloc,  dev->set.fail_memcpy,  dev->set.fail_op,
                              dev->set.fail_create, dev->set.fail_prepare, dev->set.fail_run };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        dev->faults[calls[i]].now = when[i];
        dev->faults[calls[i]].now_code = i == 0 ? FERRY_ENOMEM : FERRY_EDEVICE;
    }
}

int sim_device_open(void *plugin, uint32_t index, void **out_dev)
{
    struct sim_device *dev = calloc(1, sizeof(*dev));
    struct sim_why why = { 0 };

    (void)plugin;
    if (!dev) {
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
        return sim_why_tell(&why);
    }
    why.code = sim_settings_read(sim_shared.host, &dev->set);
    if (why.code) {
        free(dev);
        return why.code;
    }
    if (index >= dev->set.devices) {
        sim_why_set(&why, FERRY_ENODEV, "device %u does not exist, there are %u", index,
                    dev->set.devices);
        goto err_free_dev;
    }
    if (sim_arena_open(&dev->arena, dev->set.memory, &why))
        goto err_free_dev;
    if (sim_worker_init(&dev->worker, &why))
        goto err_close_arena;
    dev->index = index;
    dev->unified = is_unified(&dev->set, index);
    sim_queue_init(&dev->main, dev);
    if (sim_queues_add(&dev->queues, &dev->main, &why))
        goto err_finish_worker;
    arm(dev);
    sim_lock();
    dev->next = sim_shared.devices;
    sim_shared.devices = dev;
    sim_unlock();
    *out_dev = dev;
    return 0;

err_finish_worker:
    sim_worker_finish(dev);
err_close_arena:
    sim_arena_close(&dev->arena);
err_free_dev:
    free(dev);
    return sim_why_tell(&why);
}

/* Warns about objects that the program did not free. */
static void warn_of_leaks(const struct sim_device *dev, uint64_t commands)
{
    const ferry_plugin_counters *c = &dev->counters;

    if (c->live_blocks || c->live_host_blocks || c->live_imports || c->live_queues ||
        c->live_events || commands)
        sim_shared.host->log(FERRY_LOG_WARN,
                             "sim:%u: closed with %" PRIu64 " blocks (%" PRIu64 " bytes), %" PRIu64
                             " host blocks, %" PRIu64 " imports, %" PRIu64 " queues, %" PRIu64
                             " events and %" PRIu64 " commands left",
                             dev->index, c->live_blocks, c->live_bytes, c->live_host_blocks,
                             c->live_imports, c->live_queues, c->live_events, commands);
}

static void release_memory(struct sim_device *dev)
{
    for (size_t i = 0; i < dev->arena.count; i++) {
        if (!dev->arena.blocks[i]->host)
            free(dev->arena.blocks[i]->real);
        free(dev->arena.blocks[i]);
    }
    while (dev->hosts) {
        struct sim_host *host = dev->hosts;

        dev->hosts = host->next;
        sim_host_release(host);
    }
    sim_arena_close(&dev->arena);
}

static void release_queues(struct sim_device *dev)
{
    for (struct sim_queue *queue = dev->queues.first; queue; queue = queue->next)
        sim_queue_drop(queue, FERRY_ELOST, "the device was closed");
    sim_event_forget(dev);
    while (dev->queues.first != &dev->main) {
        struct sim_queue *queue = dev->queues.first;

        sim_section_forget(queue);
        sim_queues_remove(&dev->queues, queue);
        free(queue);
    }
    sim_section_forget(&dev->main);
    sim_queues_remove(&dev->queues, &dev->main);
    free(dev->queues.buckets);
}

void sim_device_close(void *device)
{
    struct sim_device *dev = device;
    struct sim_device **link = &sim_shared.devices;
    uint64_t commands;

    if (dev->set.clock == SIM_CLOCK_REAL) {
        sim_lock();
        sim_queue_drain(&dev->main, sim_shared.seq);
        sim_unlock();
    }
    commands = sim_control.pending(dev);
    sim_worker_finish(dev);
    warn_of_leaks(dev, commands);
    sim_lock();
    release_queues(dev);
    while (*link != dev)
        link = &(*link)->next;
    *link = dev->next;
    sim_unlock();
    sim_list_end_all(dev);
    release_memory(dev);
    free(dev);
}

int sim_memory_info(void *device, uint64_t *out_free, uint64_t *out_total)
{
    struct sim_device *dev = device;
    struct sim_why why = { 0 };

    sim_lock();
    if (!sim_alive(dev, &why)) {
        *out_free = dev->set.memory - dev->used;
        *out_total = dev->set.memory;
    }
    sim_unlock();
    return sim_why_tell(&why);
}

int sim_counters(void *device, ferry_plugin_counters *out)
{
    struct sim_device *dev = device;
    ferry_plugin_counters mine;

    sim_lock();
    mine = dev->counters;
    sim_unlock();
    answer(out, &out->struct_size, &mine, &mine.struct_size, sizeof(mine));
    return 0;
}

int sim_native(void *dev, const char *what, void *out, uint64_t size)
{
    struct sim_why why = { 0 };
    const void *object = NULL;

    if (what && !strcmp(what, "sim_control"))
        object = &sim_control;
    else if (what && !strcmp(what, "sim_device"))
        object = dev;
    if (!object)
        sim_why_set(&why, FERRY_EUNSUPPORTED, "unknown object \"%s\"", what ? what : "");
    else if (size != sizeof(object))
        sim_why_set(&why, FERRY_EINVAL, "%s is a pointer, not %" PRIu64 " bytes", what, size);
    else
        memcpy(out, &object, sizeof(object));
    return sim_why_tell(&why);
}
