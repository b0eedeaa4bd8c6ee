/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands, in order on each queue, and the threads that run them. The modelled time of a command
 * follows from the command before it, the event it waits for, and the engine it needs: commands of
 * one engine never overlap, those of different engines may.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sim_command *sim_command_create(enum sim_kind kind)
{
    struct sim_command *command = calloc(1, sizeof(*command));

    if (command)
        command->kind = kind;
    return command;
}

void sim_queue_init(struct sim_queue *queue, struct sim_device *dev)
{
    memset(queue, 0, sizeof(*queue));
    queue->dev = dev;
    queue->tail = &queue->head;
}

void sim_event_release(struct sim_event *event)
{
    if (--event->refs == 0)
        free(event);
}

void sim_device_wake(struct sim_device *dev)
{
    if (dev->worker.started)
        pthread_cond_signal(&dev->worker.wake);
}

/*
 * Wakes all waiting threads: blocked callers, this device's thread, and devices that wait for an
 * event.
 */
static void announce(struct sim_device *dev)
{
    pthread_cond_broadcast(&sim_shared.changed);
    for (struct sim_device *other = sim_shared.devices; other; other = other->next)
        if (other != dev)
            sim_device_wake(other);
}

static void note_failure(struct sim_queue *queue, const struct sim_why *why)
{
    queue->for_sync.serial = ++sim_shared.failures;
    queue->for_sync.why = *why;
    if (!queue->for_event.serial)
        queue->for_event = queue->for_sync;
}

static void mark(struct sim_queue *queue, struct sim_event *event, int64_t finish)
{
    event->failure = queue->for_event;
    queue->for_event.serial = 0;
    event->finish = finish;
    event->done = true;
    sim_event_let_go(event);
}

/* Ends the head, which has completed: removes it and releases the objects that it used. */
static void complete(struct sim_queue *queue)
{
    struct sim_command *command = queue->head;

    sim_queue_lift(queue);
    queue->head = command->next;
    if (!queue->head)
        queue->tail = &queue->head;
    if (command->finish > queue->free_at)
        queue->free_at = command->finish;
    for (size_t i = 0; i < sizeof(command->uses) / sizeof(command->uses[0]); i++)
        if (command->uses[i])
            command->uses[i]->pending--;
    if (command->why.code)
        note_failure(queue, &command->why);
    if (queue->sections || queue->profiled)
        sim_section_stamp(queue, command);
    if (command->kind == SIM_MARK)
        mark(queue, command->event, command->finish);
    if (command->event) {
        sim_event_release(command->event);
        announce(queue->dev);
    } else {
        pthread_cond_broadcast(&sim_shared.changed);
    }
    free(command->run);
    free(command);
    sim_queue_place(queue);
}

void sim_queue_drop(struct sim_queue *queue, int code, const char *text)
{
    while (queue->head && !queue->running) {
        sim_why_set(&queue->head->why, code, "%s", text);
        complete(queue);
        sim_shared.broken++;
    }
}

void sim_queue_submit(struct sim_queue *queue, struct sim_command *command)
{
    uint64_t seq = ++sim_shared.seq;

    command->seq = seq;
    command->submitted = sim_now();
    for (size_t i = 0; i < sizeof(command->uses) / sizeof(command->uses[0]); i++)
        if (command->uses[i])
            command->uses[i]->pending++;
    *queue->tail = command;
    queue->tail = &command->next;
    if (queue->head == command)
        sim_queue_place(queue);
    if (queue->dev->set.clock == SIM_CLOCK_SYNC)
        sim_queue_drain(queue, seq);
    else
        sim_device_wake(queue->dev);
}

/* Has the command's effect on bytes. After a failure its output is poisoned. */
static void move_bytes(const struct sim_command *command)
{
    if (command->kind == SIM_RUN)
        sim_run_run(command->run, command->fail != 0);
    else if (command->fail)
        memset(command->dst, SIM_POISON_FREED, (size_t)command->bytes);
    else if (command->kind == SIM_COPY)
        memmove(command->dst, command->src, (size_t)command->bytes);
    else if (command->kind == SIM_SET)
        memset(command->dst, (int)command->byte, (size_t)command->bytes);
    else if (command->kind == SIM_OP)
        sim_op_run(&command->op);
}

static void sleep_until(int64_t when)
{
    int64_t left = when - sim_now();
    struct timespec span;

    if (left <= 0)
        return;
    span.tv_sec = (time_t)(left / 1000000000);
    span.tv_nsec = (long)(left % 1000000000);
    nanosleep(&span, NULL);
}

/* Executes the head; the lock is released while bytes are copied. */
static void move(struct sim_queue *queue)
{
    struct sim_command *head = queue->head;
    bool sync = queue->dev->set.clock == SIM_CLOCK_SYNC;
    bool moves = head->dst != NULL;
    int64_t due = sim_queue_due(queue);

    if (head->fail)
        sim_why_set(&head->why, head->fail,
                    "the command was accepted and failed when it ran, as requested");
    if (head->host &&
        sim_host_check(queue->dev, head->host, head->bytes, head->host_access, &head->why))
        moves = false;
    head->moved = true;
    queue->running = moves || sync;
    sim_queue_place(queue);
    if (!queue->running)
        return;
    sim_unlock();
    if (sync)
        sleep_until(due);
    if (moves)
        move_bytes(head);
    if (sync)
        sleep_until(head->finish);
    sim_lock();
    queue->running = false;
    sim_queue_place(queue);
}

void sim_queue_run(struct sim_queue *queue)
{
    sim_queue_schedule(queue);
    if (!queue->head->moved)
        move(queue);
    if (queue->dev->lost)
        sim_queue_drop(queue, FERRY_ELOST, "the device is lost");
    else if (queue->dev->set.clock != SIM_CLOCK_REAL || queue->head->finish <= sim_now())
        complete(queue);
}

/*
 * Advances the queue that blocks the start of the path, or waits until another thread, such as that
 * of a device on the real clock, makes progress.
 */
static void progress(struct sim_path *path)
{
    struct sim_queue *first = sim_path_first(path);

    if (first->dev->set.clock != SIM_CLOCK_REAL && sim_queue_ready(first))
        sim_queue_run(first);
    else
        pthread_cond_wait(&sim_shared.changed, &sim_shared.lock);
}

static bool has(const struct sim_queue *queue, uint64_t seq)
{
    return queue->head && queue->head->seq <= seq;
}

void sim_queue_drain(struct sim_queue *queue, uint64_t seq)
{
    struct sim_path path = { 0 };

    sim_path_start(&path, queue);
    while (has(queue, seq))
        progress(&path);
    sim_path_end(&path);
}

void sim_queue_drain_all(struct sim_device *dev, uint64_t seq)
{
    struct sim_queue *queue = dev->queues.first;
    struct sim_path path = { 0 };

    while (queue) {
        uint64_t broken = sim_shared.broken;

        if (!has(queue, seq)) {
            queue = queue->next;
            continue;
        }
        if (path.from != queue)
            sim_path_start(&path, queue);
        progress(&path);
        if (sim_shared.broken != broken)
            queue = dev->queues.first; /* the previous queue may have been destroyed */
    }
    sim_path_end(&path);
}

void sim_queue_await(struct sim_event *event)
{
    struct sim_path path = { 0 };

    event->refs++;
    sim_path_start(&path, event->queue);
    while (!event->done)
        progress(&path);
    sim_path_end(&path);
    sim_event_release(event);
}

int sim_queue_take_failure(struct sim_queue *queue, struct sim_why *why)
{
    if (!queue->for_sync.serial)
        return 0;
    *why = queue->for_sync.why;
    queue->for_sync.serial = 0; /* the next event still reports the failure */
    return why->code;
}
