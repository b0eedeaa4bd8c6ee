/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepared operations, entries of the table "ferry.op/1" (list.c): the kernels compiled for the
 * host, run on the device's memory in the order and at the time of its queues.
 */
#include "sim.h"

#include "kernels/descriptor.h"

#include <ferry/op_types.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- preparing ------------------------------------------------------------------------------ */

/* Whether the set of an option contains the kind. */
static bool is_among(uint64_t kinds, const ferry_op_desc *op)
{
    return op->kind >= FERRY_OP_CONVOLUTION && op->kind - FERRY_OP_CONVOLUTION < 64 &&
           (kinds >> (op->kind - FERRY_OP_CONVOLUTION) & 1u);
}

static int make_plan(const struct sim_device *dev, const ferry_op_desc *op, struct kernel_plan *p)
{
    if (is_among(dev->set.without, op))
        return FERRY_EUNSUPPORTED;
    return kernel_plan_make(&kernel_host_target, op, p);
}

int sim_operation_query(void *device, const ferry_op_desc *op, ferry_op_answer *out)
{
    const struct sim_device *dev = device;
    struct kernel_plan p;
    int err = make_plan(dev, op, &p);

    if (err)
        return err;
    descriptor_answer(&p.answer, out);
    out->cost = is_among(dev->set.slow, op) ? FERRY_OP_COST_HOST_FASTER : FERRY_OP_COST_DEVICE;
    return 0;
}

int sim_operation_create(void *device, const ferry_op_desc *op, void **out_prepared)
{
    struct sim_device *dev = device;
    struct kernel_plan *p = malloc(sizeof(*p));
    struct sim_why why = { 0 };

    if (!p) {
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
        return sim_why_tell(&why);
    }
    sim_lock();
    if (!sim_alive(dev, &why))
        (void)sim_fault(dev, SIM_CALL_CREATE, &why);
    sim_unlock();
    if (!why.code && make_plan(dev, op, p))
        sim_why_set(&why, FERRY_EUNSUPPORTED, "operation %" PRIu32 ", pass %" PRIu32, op->kind,
                    op->pass);
    if (why.code) {
        free(p);
        return sim_why_tell(&why);
    }
    *out_prepared = p;
    return 0;
}

void sim_operation_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

/* ---- running -------------------------------------------------------------------------------- */

/* The operands of a command while it is made. */
struct resolving {
    struct sim_device *dev;
    struct sim_command *c;
    size_t uses;
    struct sim_why why;
};

/* Resolves a buffer to its address; a buffer without elements is not resolved. (locked) */
static void resolve(struct resolving *r, uint32_t from, ferry_cref ref, uint64_t bytes,
                    uint32_t access)
{
    if (bytes && !r->why.code && !sim_arena_bind(r->dev, ref, bytes, &r->why))
        (void)sim_arena_resolve(r->dev, ref, bytes, access, &r->c->uses[r->uses++],
                                &r->c->run->on.buffer[from], &r->why);
}

/* Resolves the buffers that a run reads and writes. (locked) */
static void resolve_run(struct resolving *r, const ferry_op_run_args *args)
{
    const struct kernel_plan *p = r->c->run->plan;

    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (!(p->answer.packed_inputs >> i & 1u))
            resolve(r, FROM_IN(i), args->in[i], kernel_operand_bytes(&p->op.in[i]), FERRY_READ);
    for (uint32_t i = 0; i < p->op.n_out; i++) {
        r->c->run->bytes[i] = kernel_operand_bytes(&p->op.out[i]);
        resolve(r, FROM_OUT(i), ferry_ref_const(args->out[i]), r->c->run->bytes[i],
                FERRY_READ | FERRY_WRITE);
    }
    resolve(r, FROM_PACKED, ferry_ref_const(args->packed), p->answer.packed_bytes, FERRY_READ);
    resolve(r, FROM_WORKSPACE, ferry_ref_const(args->workspace), p->answer.workspace_bytes,
            FERRY_READ | FERRY_WRITE);
    r->c->dst = r->c->run->on.buffer[FROM_OUT(0)];
}

/* Resolves the buffers that packing reads and writes. (locked) */
static void resolve_packing(struct resolving *r, const ferry_cref *in, ferry_ref packed)
{
    const struct kernel_plan *p = r->c->run->plan;

    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (p->answer.packed_inputs >> i & 1u)
            resolve(r, FROM_IN(i), in[i], kernel_operand_bytes(&p->op.in[i]), FERRY_READ);
    r->c->run->bytes[0] = p->answer.packed_bytes;
    resolve(r, FROM_PACKED, ferry_ref_const(packed), p->answer.packed_bytes, FERRY_WRITE);
    r->c->dst = r->c->run->on.buffer[FROM_PACKED];
}

static struct sim_command *command_of(const struct sim_device *dev, const struct kernel_plan *p)
{
    struct sim_command *c = sim_command_create(SIM_RUN);
    struct sim_run *run = calloc(1, sizeof(*run));

    if (!c || !run) {
        free(c);
        free(run);
        return NULL;
    }
    run->plan = p;
    run->on.scalars = run->scalars;
    c->run = run;
    c->engine = SIM_COMPUTE;
    c->cost = dev->set.op_latency_ns;
    return c;
}

/* Implements option.lose_run. (locked) */
static void lose_at_run(struct sim_device *dev)
{
    if (dev->set.lose_run && dev->set.lose_run == dev->faults[SIM_CALL_RUN].calls + 1)
        sim_lose(dev);
}

/* Submits a run with `args`, or the packing of `in` into `packed`. */
static int enqueue(struct sim_device *dev, void *handle, const struct kernel_plan *p,
                   const ferry_op_run_args *args, const ferry_cref *in, ferry_ref packed)
{
    struct resolving r = { .dev = dev, .c = command_of(dev, p) };
    uint32_t call = args ? SIM_CALL_RUN : SIM_CALL_PREPARE;
    struct sim_queue *queue = NULL;

    if (!r.c) {
        sim_why_set(&r.why, FERRY_ENOMEM, "out of host memory");
        return sim_why_tell(&r.why);
    }
    sim_lock();
    if (args)
        lose_at_run(dev);
    if (!sim_queue_find(dev, handle, &queue, &r.why))
        (void)sim_fault(dev, call, &r.why);
    if (!r.why.code && args) {
        r.c->run->on.seed = args->seed;
        r.c->run->on.offset = args->offset;
        for (uint32_t i = 0; i < args->scalar_count && i < UPDATE_SCALARS; i++)
            r.c->run->scalars[i] = args->scalars[i];
        resolve_run(&r, args);
    } else if (!r.why.code) {
        r.c->run->packs = true;
        resolve_packing(&r, in, packed);
    }
    if (!r.why.code) {
        r.c->fail = sim_fault_later(dev, call);
        dev->counters.ops += args != NULL;
        sim_queue_submit(queue, r.c);
    }
    sim_unlock();
    if (r.why.code) {
        free(r.c->run);
        free(r.c);
    }
    return sim_why_tell(&r.why);
}

int sim_operation_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                          ferry_ref packed)
{
    const struct kernel_plan *p = prepared;

    return p->answer.packed_bytes ? enqueue(dev, queue, p, NULL, in, packed) : 0;
}

int sim_operation_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_ref nothing = { NULL, 0 };

    return enqueue(dev, queue, prepared, args, NULL, nothing);
}
