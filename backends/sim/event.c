/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue and event entries. An event's handle is a number that is never reused, so that the
 * handle of a destroyed event is recognised.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- handles ---- */

#define SLOT_BITS 20
#define SLOT_MASK (((uintptr_t)1 << SLOT_BITS) - 1)
#define TOP_BIT   ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1)) /* makes it an invalid address */

/* The live handles of all devices. */
static struct {
    struct slot {
        uintptr_t handle;
        struct sim_event *event; /* NULL: the entry is free, and `next_free` is valid */
        uint32_t next_free;
    } * slots;
    uint32_t room, live, first_free;
    uintptr_t serial;
} table;

/* Doubles the table. After a failure it is unchanged. */
static int grow_table(struct sim_why *why)
{
    uint32_t room = table.room ? table.room * 2 : 64;
    struct slot *slots;

    if (room > SLOT_MASK)
        return sim_why_set(why, FERRY_ENOMEM, "%" PRIu32 " events are live, the maximum",
                           table.live);
    slots = realloc(table.slots, room * sizeof(*slots));
    if (!slots)
        return sim_why_set(why, FERRY_ENOMEM, "out of memory for another event");
    for (uint32_t i = table.room; i < room; i++) {
        slots[i].event = NULL;
        slots[i].next_free = i + 1;
    }
    table.first_free = table.room;
    table.slots = slots;
    table.room = room;
    return 0;
}

static int enter_table(struct sim_event *event, void **out_handle, struct sim_why *why)
{
    struct slot *slot;
    int err = table.live == table.room ? grow_table(why) : 0;

    if (err)
        return err;
    event->slot = table.first_free;
    slot = &table.slots[event->slot];
    table.first_free = slot->next_free;
    table.live++;
    slot->event = event;
    slot->handle = TOP_BIT | (++table.serial << SLOT_BITS & ~TOP_BIT) | event->slot;
    *out_handle = (void *)slot->handle;
    return 0;
}

static void leave_table(struct sim_event *event)
{
    struct slot *slot = &table.slots[event->slot];

    slot->event = NULL;
    slot->next_free = table.first_free;
    table.first_free = event->slot;
    table.live--;
}

/* Finds the event of a handle, of `dev` or, if `dev` is NULL, of any device. (locked) */
static int find_event(const struct sim_device *dev, void *handle, struct sim_event **out,
                      struct sim_why *why)
{
    uintptr_t value = (uintptr_t)handle;
    struct slot *slot = table.slots + (value & SLOT_MASK);

    if ((value & SLOT_MASK) >= table.room || !slot->event || slot->handle != value)
        return sim_why_set(why, FERRY_EINVAL, "%p is not an event: never recorded, or destroyed",
                           handle);
    if (dev && slot->event->dev != dev)
        return sim_why_set(why, FERRY_EINVAL, "event %p belongs to sim:%u", handle,
                           slot->event->dev->index);
    *out = slot->event;
    return 0;
}

void sim_event_forget(const struct sim_device *dev)
{
    for (uint32_t i = 0; i < table.room; i++) {
        struct sim_event *event = table.slots[i].event;

        if (event && event->dev == dev) {
            leave_table(event);
            sim_event_release(event);
        }
    }
    if (table.live)
        return;
    free(table.slots);
    table.slots = NULL;
    table.room = 0;
}

/* ---- events ---- */

static int record(struct sim_device *dev, void *queue_handle, struct sim_event *event,
                  struct sim_command *command, void **out_event, struct sim_why *why)
{
    struct sim_queue *queue;
    int err = sim_queue_find(dev, queue_handle, &queue, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_EVENT, why);
    if (!err)
        err = enter_table(event, out_event, why);
    if (err)
        return err;
    dev->counters.live_events++;
    event->dev = dev;
    event->queue = queue;
    event->refs = 2;
    command->event = event;
    sim_queue_submit(queue, command);
    return 0;
}

int sim_event_record(void *device, void *queue, void **out_event)
{
    struct sim_event *event = calloc(1, sizeof(*event));
    struct sim_command *command = sim_command_create(SIM_MARK);
    struct sim_why why = { 0 };

    if (!event || !command) {
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    } else {
        sim_lock();
        (void)record(device, queue, event, command, out_event, &why);
        sim_unlock();
    }
    if (why.code) {
        free(command);
        free(event);
    }
    return sim_why_tell(&why);
}

/* Reports the failure of a done event; the queue does not report it again. (locked) */
static int report(struct sim_event *event, struct sim_why *why)
{
    struct sim_queue *queue = sim_queues_at(&event->dev->queues, event->queue);

    if (!event->failure.serial)
        return 0;
    if (queue && queue->for_sync.serial == event->failure.serial)
        queue->for_sync.serial = 0;
    *why = event->failure.why;
    return why->code;
}

int sim_event_query(void *device, void *handle)
{
    struct sim_event *event;
    struct sim_why why = { 0 };
    int done = 0;

    sim_lock();
    if (!sim_alive(device, &why) && !find_event(device, handle, &event, &why) && event->done)
        done = report(event, &why) ? 0 : 1;
    sim_unlock();
    return why.code ? sim_why_tell(&why) : done;
}

int sim_event_synchronize(void *device, void *handle)
{
    struct sim_event *event;
    struct sim_why why = { 0 };

    sim_lock();
    if (!sim_alive(device, &why) && !find_event(device, handle, &event, &why)) {
        event->refs++;
        sim_queue_await(event);
        if (!sim_alive(device, &why))
            (void)report(event, &why);
        sim_event_release(event);
    }
    sim_unlock();
    return sim_why_tell(&why);
}

int sim_event_destroy(void *device, void *handle)
{
    struct sim_device *dev = device;
    struct sim_event *event;
    struct sim_why why = { 0 };

    sim_lock();
    if (!find_event(dev, handle, &event, &why)) {
        leave_table(event);
        dev->counters.live_events--;
        sim_event_release(event);
    }
    sim_unlock();
    return sim_why_tell(&why);
}

static int wait_for(struct sim_device *dev, void *queue_handle, void *handle,
                    struct sim_command *command, struct sim_why *why)
{
    struct sim_queue *queue;
    int err = sim_queue_find(dev, queue_handle, &queue, why);

    if (!err)
        err = sim_fault(dev, SIM_CALL_WAIT, why);
    if (!err)
        err = find_event(NULL, handle, &command->event, why);
    if (err)
        return err;
    command->event->refs++;
    sim_queue_submit(queue, command);
    return 0;
}

int sim_queue_wait(void *device, void *queue, void *handle)
{
    struct sim_command *command = sim_command_create(SIM_WAIT);
    struct sim_why why = { 0 };

    if (!command) {
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    } else {
        sim_lock();
        (void)wait_for(device, queue, handle, command, &why);
        sim_unlock();
        if (why.code)
            free(command);
    }
    return sim_why_tell(&why);
}

/* ---- queues ---- */

int sim_synchronize(void *device)
{
    struct sim_device *dev = device;
    struct sim_why why = { 0 };
    uint64_t seq;

    sim_lock();
    seq = sim_shared.seq;
    if (!sim_alive(dev, &why))
        sim_queue_drain_all(dev, seq);
    if (!sim_alive(dev, &why))
        for (struct sim_queue *queue = dev->queues.first; queue; queue = queue->next)
            (void)sim_queue_take_failure(queue, &why);
    sim_unlock();
    return sim_why_tell(&why);
}

int sim_queue_create(void *device, uint32_t flags, void **out_queue)
{
    struct sim_device *dev = device;
    struct sim_queue *queue = malloc(sizeof(*queue));
    struct sim_why why = { 0 };

    (void)flags;
    sim_lock();
    if (!queue)
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    else if (!sim_alive(dev, &why) && !sim_fault(dev, SIM_CALL_QUEUE, &why)) {
        sim_queue_init(queue, dev);
        if (!sim_queues_add(&dev->queues, queue, &why))
            dev->counters.live_queues++;
    }
    sim_unlock();
    if (why.code)
        free(queue);
    else
        *out_queue = queue;
    return sim_why_tell(&why);
}

/* Removes the queue from the device once its work is done. (locked) */
static int retire(struct sim_device *dev, struct sim_queue *wanted, struct sim_why *why)
{
    if (!sim_queues_at(&dev->queues, wanted) || wanted == &dev->main)
        return sim_why_set(why, FERRY_EINVAL, "%p was not created by queue_create", (void *)wanted);
    sim_queue_drain(wanted, sim_shared.seq);
    sim_section_forget(wanted);
    sim_queues_remove(&dev->queues, wanted);
    dev->counters.live_queues--;
    return 0;
}

int sim_queue_destroy(void *device, void *queue)
{
    struct sim_why why = { 0 };

    sim_lock();
    (void)retire(device, queue, &why);
    sim_unlock();
    if (!why.code)
        free(queue);
    return sim_why_tell(&why);
}

int sim_queue_synchronize(void *device, void *handle)
{
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    sim_lock();
    if (!sim_queue_find(device, handle, &queue, &why)) {
        sim_queue_drain(queue, sim_shared.seq);
        if (!sim_alive(device, &why))
            (void)sim_queue_take_failure(queue, &why);
    }
    sim_unlock();
    return sim_why_tell(&why);
}

int sim_queue_native(void *device, void *handle, const char *what, void *out, uint64_t size)
{
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    sim_lock();
    if (!what || strcmp(what, "sim_queue"))
        sim_why_set(&why, FERRY_EUNSUPPORTED, "unknown object \"%s\"", what ? what : "");
    else if (size != sizeof(queue))
        sim_why_set(&why, FERRY_EINVAL, "%s is a pointer, not %" PRIu64 " bytes", what, size);
    else if (!sim_queue_find(device, handle, &queue, &why))
        memcpy(out, &queue, sizeof(queue));
    sim_unlock();
    return sim_why_tell(&why);
}
