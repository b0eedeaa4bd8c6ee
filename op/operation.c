/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/operation.h"

#include "op/kind.h"
#include "op/workspace.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* ---- creating ---------------------------------------------------------------------------------- */

static int checked(ferry_device *dev, const ferry_op *op, const void *out)
{
    if (!dev || !out)
        return ferry_error_set(FERRY_EINVAL, "operation: NULL device or result");
    return ferry_op_check(op);
}

static void tell(const struct ferry__plan *plan, ferry_op_plan *out)
{
    out->tier = plan->tier;
    out->steps = plan->n_steps;
    memcpy(out->order, plan->order, sizeof out->order);
    out->packed_bytes = plan->packed_bytes;
    out->workspace_bytes = plan->temporary_bytes + plan->workspace_bytes;
}

static int sized_plan(ferry_op_plan *out)
{
    if (!out || out->struct_size < sizeof *out)
        return ferry_error_set(FERRY_EINVAL, "ferry_op_plan: NULL, or without its size");
    return 0;
}

int ferry_op_query(ferry_device *dev, const ferry_op *op, ferry_op_plan *out)
{
    struct ferry__plan plan;
    int err = checked(dev, op, out);

    if (!err)
        err = sized_plan(out);
    if (!err)
        err = ferry__plan_make(dev, op, &plan);
    if (err)
        return err;
    tell(&plan, out);
    ferry__plan_end(&plan);
    return 0;
}

static bool has_elements(const ferry_op *op)
{
    uint32_t i;

    for (i = 0; i < op->n_out; i++)
        if (ferry__operand_count(&op->out[i]))
            return true;
    return false;
}

static ferry_operation *allocate(ferry_device *dev, const ferry_op *op)
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

static int create(ferry_device *dev, const ferry_op *op, bool on_host, ferry_operation **out)
{
    ferry_operation *o;
    int err = checked(dev, op, out);

    if (err)
        return err;
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

int ferry_op_create(ferry_device *dev, const ferry_op *op, ferry_operation **out)
{
    return create(dev, op, false, out);
}

int ferry__operation_create_on_host(ferry_device *dev, const ferry_op *op, ferry_operation **out)
{
    return create(dev, op, true, out);
}

void ferry_op_destroy(ferry_operation *operation)
{
    if (!operation)
        return;
    if (!operation->plan.target.host)
        ferry_device_synchronize(ferry_queue_device(operation->queue));
    discard(operation);
}

int ferry_op_plan_of(const ferry_operation *operation, ferry_op_plan *out)
{
    int err = sized_plan(out);

    if (err)
        return err;
    if (!operation)
        return ferry_error_set(FERRY_EINVAL, "ferry_op_plan_of: NULL operation");
    tell(&operation->plan, out);
    return 0;
}

int ferry_op_get_stats(const ferry_operation *operation, ferry_op_stats *out)
{
    if (!operation || !out || out->struct_size < sizeof *out)
        return ferry_error_set(FERRY_EINVAL, "ferry_op_get_stats: NULL, or without its size");
    out->runs = atomic_load_explicit(&operation->runs, memory_order_relaxed);
    out->packs = atomic_load_explicit(&operation->packs, memory_order_relaxed);
    out->host_bytes = atomic_load_explicit(&operation->host_bytes, memory_order_relaxed);
    return 0;
}
