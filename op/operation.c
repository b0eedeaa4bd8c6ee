/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/operation.h"

#include "op/kind.h"
#include "op/workspace.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * ---- creation ----------------------------------------------------------------------------------
 */

/* The operation as ferry__op_whole converts it, or NULL with the error set. */
static const ferry_op_desc *checked(ferry_device *dev, const ferry_op_desc *op, const void *out,
                                    ferry_op_desc *room)
{
    if (!dev || !out) {
        ferry_error_set(FERRY_EINVAL, "operation: NULL device or result");
        return NULL;
    }
    op = ferry__op_whole(op, room);
    return op && !ferry_op_desc_check(op) ? op : NULL;
}

/* Fills in the members that the caller's structure has. */
static void tell(const struct ferry__plan *plan, ferry_operation_plan *out)
{
    ferry_operation_plan told = { .struct_size = out->struct_size, .tier = plan->tier };

    told.steps = plan->n_steps;
    memcpy(told.order, plan->order, sizeof told.order);
    told.packed_bytes = plan->packed_bytes;
    told.math = plan->math;
    told.workspace_bytes = plan->temporary_bytes + plan->workspace_bytes;
    memcpy(out, &told, told.struct_size < sizeof told ? told.struct_size : sizeof told);
}

static int sized_plan(const ferry_operation_plan *out)
{
    if (!out || out->struct_size < offsetof(ferry_operation_plan, steps))
        return ferry_error_set(FERRY_EINVAL, "ferry_operation_plan: the argument is NULL, or "
                                             "struct_size is not set");
    return 0;
}

int ferry_operation_query(ferry_device *dev, const ferry_op_desc *op, ferry_operation_plan *out)
{
    struct ferry__plan plan;
    ferry_op_desc room;
    int err;

    op = checked(dev, op, out, &room);
    err = op ? sized_plan(out) : ferry_last_error_code();
    if (!err)
        err = ferry__plan_make(dev, op, &plan);
    if (err)
        return err;
    tell(&plan, out);
    ferry__plan_end(&plan);
    return 0;
}

int ferry__operation_gains(ferry_device *dev, const ferry_op_desc *op, bool *out)
{
    struct ferry__plan plan;
    int err = ferry__plan_make(dev, op, &plan);

    *out = false;
    if (err)
        return err;
    *out = plan.tier == FERRY_TIER_OWN && plan.n_steps == 1 &&
           plan.steps[0].answer.cost == FERRY_OP_COST_DEVICE;
    ferry__plan_end(&plan);
    return 0;
}

static bool has_elements(const ferry_op_desc *op)
{
    uint32_t i;

    for (i = 0; i < op->n_out; i++)
        if (ferry__operand_count(&op->out[i]))
            return true;
    return false;
}

static ferry_operation *allocate(ferry_device *dev, const ferry_op_desc *op)
{
    ferry_operation *o = calloc(1, sizeof *o);

    if (!o) {
        ferry_error_set(FERRY_ENOMEM, "%s: no memory for an operation",
                        ferry_op_kind_name(op->kind));
        return NULL;
    }
    if (ferry_memory_create(dev, 0, &o->keeper)) {
        free(o);
        return NULL;
    }
    o->op = *op;
    o->queue = ferry_device_queue(dev);
    o->empty = !has_elements(op);
    pthread_mutex_init(&o->lock, NULL);
    ferry__workspace_join();
    return o;
}

static void discard(ferry_operation *o)
{
    uint32_t i;

    for (i = 0; i < FERRY__PACKED_MAX; i++)
        ferry__packed_release(o->packed[i]);
    ferry__plan_end(&o->plan);
    ferry__workspace_leave();
    ferry_memory_release(o->keeper);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static int create(ferry_device *dev, const ferry_op_desc *op, bool on_host, ferry_operation **out)
{
    ferry_operation *o;
    ferry_op_desc room;
    int err;

    op = checked(dev, op, out, &room);
    if (!op)
        return ferry_last_error_code();
    o = allocate(dev, op);
    if (!o)
        return ferry_last_error_code();
    err =
        on_host ? ferry__plan_make_on_host(dev, op, &o->plan) : ferry__plan_make(dev, op, &o->plan);
    if (!err)
        err = ferry__plan_prepare(&o->plan);
    if (err) {
        discard(o);
        return err;
    }
    *out = o;
    return 0;
}

int ferry_operation_create(ferry_device *dev, const ferry_op_desc *op, ferry_operation **out)
{
    return create(dev, op, false, out);
}

int ferry__operation_create_on_host(ferry_device *dev, const ferry_op_desc *op,
                                    ferry_operation **out)
{
    return create(dev, op, true, out);
}

void ferry_operation_destroy(ferry_operation *operation)
{
    if (!operation)
        return;
    if (!operation->plan.target.host)
        ferry_device_synchronize(ferry_queue_device(operation->queue));
    discard(operation);
}

int ferry_operation_get_plan(const ferry_operation *operation, ferry_operation_plan *out)
{
    int err = sized_plan(out);

    if (err)
        return err;
    if (!operation)
        return ferry_error_set(FERRY_EINVAL, "ferry_operation_get_plan: NULL operation");
    tell(&operation->plan, out);
    return 0;
}

int ferry_operation_get_stats(const ferry_operation *operation, ferry_operation_stats *out)
{
    ferry_operation_stats told;

    if (!operation || !out || out->struct_size < offsetof(ferry_operation_stats, packs))
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_operation_get_stats: the argument is NULL, or struct_size is "
                               "not set");
    told.struct_size = out->struct_size;
    told.runs = atomic_load_explicit(&operation->runs, memory_order_relaxed);
    told.packs = atomic_load_explicit(&operation->packs, memory_order_relaxed);
    told.host_bytes = atomic_load_explicit(&operation->host_bytes, memory_order_relaxed);
    memcpy(out, &told, told.struct_size < sizeof told ? told.struct_size : sizeof told);
    return 0;
}
