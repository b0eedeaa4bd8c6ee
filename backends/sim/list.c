/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of repeated runs: a list is recorded when it is announced for the second time, and replayed
 * from the third time on. A list belongs to one queue, whose calls ferry makes one at a time, so
 * that only the chain of lists needs the lock.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* A run with a copy of its arguments. */
struct call {
    void *prepared;
    ferry_op_run_args args;
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    double scalars[UPDATE_SCALARS];
};

struct sim_list {
    struct sim_list *next;
    uint64_t id;
    const void *queue;
    bool open; /* the list is being recorded */
    struct call *calls;
    size_t count, room;
};

/* ---- the device's lists ---------------------------------------------------------------------- */

static struct sim_list *find(struct sim_device *dev, uint64_t id)
{
    struct sim_list *list;

    sim_lock();
    for (list = dev->lists; list && list->id != id; list = list->next)
        ;
    sim_unlock();
    return list;
}

/* The list that is being recorded on that queue; NULL if there is none. */
static struct sim_list *recording(struct sim_device *dev, const void *queue)
{
    struct sim_list *list;

    sim_lock();
    for (list = dev->lists; list && !(list->open && list->queue == queue); list = list->next)
        ;
    sim_unlock();
    return list;
}

static void end_list(struct sim_list *list)
{
    free(list->calls);
    free(list);
}

static void forget(void *device, uint64_t id)
{
    struct sim_device *dev = device;
    struct sim_list **at, *list;

    sim_lock();
    for (at = &dev->lists; *at && (*at)->id != id; at = &(*at)->next)
        ;
    list = *at;
    if (list)
        *at = list->next;
    sim_unlock();
    if (list)
        end_list(list);
}

void sim_list_end_all(struct sim_device *dev)
{
    while (dev->lists) {
        struct sim_list *next = dev->lists->next;

        end_list(dev->lists);
        dev->lists = next;
    }
}

static int no_memory(void)
{
    struct sim_why why = { 0 };

    sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    return sim_why_tell(&why);
}

/* ---- recording ------------------------------------------------------------------------------- */

static int start(struct sim_device *dev, const void *queue, const ferry_op_list *told)
{
    struct sim_list *list = calloc(1, sizeof(*list));

    if (!list)
        return no_memory();
    list->calls = calloc(told->count ? told->count : 1, sizeof(*list->calls));
    if (!list->calls) {
        free(list);
        return no_memory();
    }
    list->room = told->count;
    list->id = told->id;
    list->queue = queue;
    list->open = true;
    sim_lock();
    list->next = dev->lists;
    dev->lists = list;
    sim_unlock();
    return 0;
}

static void copy_args(struct call *call, const struct kernel_plan *p, const ferry_op_run_args *args)
{
    call->args = *args;
    memcpy(call->in, args->in, p->op.n_in * sizeof(*args->in));
    memcpy(call->out, args->out, p->op.n_out * sizeof(*args->out));
    for (uint32_t i = 0; i < args->scalar_count && i < UPDATE_SCALARS; i++)
        call->scalars[i] = args->scalars[i];
    call->args.in = call->in;
    call->args.out = call->out;
    call->args.scalars = call->scalars;
}

/* Records a run if a recording is open on its queue; returns whether it did, or FERRY_ENOMEM. */
static int take(struct sim_device *dev, const void *queue, void *prepared,
                const ferry_op_run_args *args, bool *out_taken)
{
    struct sim_list *list = dev->set.lists ? recording(dev, queue) : NULL;
    struct sim_why why = { 0 };

    if (!list)
        return 0;
    if (list->count == list->room) {
        sim_why_set(&why, FERRY_EINVAL, "more runs in a list than were announced");
        return sim_why_tell(&why);
    }
    list->calls[list->count].prepared = prepared;
    copy_args(&list->calls[list->count++], prepared, args);
    *out_taken = true;
    return 0;
}

/* Submits a run, or records it if a recording is open on its queue. */
static int run(void *device, void *queue, void *prepared, const ferry_op_run_args *args)
{
    bool taken = false;
    int err = take(device, queue, prepared, args, &taken);

    return err || taken ? err : sim_operation_run(device, queue, prepared, args);
}

/* ---- submitting ------------------------------------------------------------------------------ */

static int submit(struct sim_device *dev, void *queue, const struct sim_list *list)
{
    struct sim_why why = { 0 };
    int err = 0;

    sim_lock();
    if (!sim_alive(dev, &why))
        (void)sim_fault(dev, SIM_CALL_LIST, &why);
    sim_unlock();
    if (why.code)
        return sim_why_tell(&why);
    for (size_t i = 0; !err && i < list->count; i++)
        err = sim_operation_run(dev, queue, list->calls[i].prepared, &list->calls[i].args);
    return err;
}

static int begin(void *device, void *queue, const ferry_op_list *told, uint32_t *out_action)
{
    struct sim_device *dev = device;
    const struct sim_list *list = find(dev, told->id);
    int err = 0;

    *out_action = FERRY_OP_LIST_RUN;
    if (!dev->set.lists || !told->repeats)
        return 0;
    err = list ? submit(dev, queue, list) : start(dev, queue, told);
    if (!err)
        *out_action = list ? FERRY_OP_LIST_REPLAYED : FERRY_OP_LIST_RECORD;
    return err;
}

static int end(void *device, void *queue, uint64_t id, uint32_t discard)
{
    struct sim_list *list = find(device, id);
    int err = 0;

    if (!list)
        return 0;
    list->open = false;
    if (!discard)
        err = submit(device, queue, list);
    if (err || discard)
        forget(device, id);
    return err;
}

const ferry_op_table sim_operations = {
    .struct_size = sizeof(ferry_op_table),
    .query = sim_operation_query,
    .create = sim_operation_create,
    .prepare = sim_operation_prepare,
    .run = run,
    .destroy = sim_operation_destroy,
    .begin = begin,
    .end = end,
    .forget = forget,
};
