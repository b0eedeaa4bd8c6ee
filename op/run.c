/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of an operation: accesses its operands, and submits its steps to a queue. */
#include "op/run.h"

#include "op/operation.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <string.h>

static ferry_ref bound(const struct ferry__run *r, const struct ferry__binding *b,
                       int64_t repetition)
{
    ferry_ref ref = b->source == FERRY__FROM_IN    ? r->refs.in[b->index]
                    : b->source == FERRY__FROM_OUT ? r->refs.out[b->index]
                                                   : r->workspace;

    if (ref.handle)
        ref.offset += (uint64_t)(b->offset + b->stride * repetition);
    return ref;
}

static int enqueue_step(struct ferry__run *r, void *ctx, void *queue,
                        const struct ferry__step *step, int64_t repetition)
{
    const struct ferry__plan *plan = &r->operation->plan;
    ferry_op_run_args args = r->args;
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    uint32_t i;

    for (i = 0; i < step->op.n_in; i++)
        in[i] = ferry_ref_const(bound(r, &step->in[i], repetition));
    for (i = 0; i < step->op.n_out; i++)
        out[i] = bound(r, &step->out[i], repetition);
    args.in = in;
    args.out = out;
    if (step->answer.packed_bytes)
        args.packed = r->packed[step->packed];
    if (step->answer.workspace_bytes) {
        args.workspace = r->workspace;
        args.workspace.offset += plan->temporary_bytes;
    }
    return plan->target.table->run(ctx, queue, step->prepared, &args);
}

/* Enqueues the steps. A second call continues at the entry that failed. */
static int enqueue(void *ctx, void *queue, void *arg)
{
    struct ferry__run *r = arg;
    const struct ferry__plan *plan = &r->operation->plan;
    int64_t loop = plan->repeated * plan->repeat, all = loop + plan->n_steps - plan->repeated;

    for (; r->done < all; r->done++) {
        int64_t within = r->done - plan->before;
        bool once = within < 0 || within >= loop;
        int64_t step = within < 0       ? r->done
                       : within >= loop ? r->done - loop + plan->repeated
                                        : plan->before + within % plan->repeated;
        int err =
            enqueue_step(r, ctx, queue, &plan->steps[step], once ? 0 : within / plan->repeated);

        if (err)
            return err;
    }
    return 0;
}

/*
 * Gets the packed form of a step's constants; it is that of the previous run unless the constants
 * differ.
 */
static int take_packed(ferry_operation *o, const struct ferry__step *step,
                       const ferry_operation_args *args, ferry_queue *q, struct ferry__run *r)
{
    ferry_operation_location place[FERRY_OP_INPUTS] = { { NULL, 0 } };
    struct ferry__constants c = { &o->plan.target, step, place };
    struct ferry__packed *p, *former = NULL;
    uint64_t packs = 0;
    uint32_t i;
    int err = 0;

    for (i = 0; i < step->op.n_in; i++)
        if (step->in[i].source == FERRY__FROM_IN) {
            place[i] = args->in[step->in[i].index];
            place[i].offset += (uint64_t)step->in[i].offset;
        }
    pthread_mutex_lock(&o->lock);
    p = o->packed[step->packed];
    if (!p || !ferry__packed_is_of(p, &c)) {
        err = ferry__packed_get(&c, &p);
        if (!err) {
            former = o->packed[step->packed];
            o->packed[step->packed] = p;
        }
    }
    if (!err)
        err = ferry__packed_access(p, &c, q, &packs, &r->packed[step->packed]);
    if (!err &&
        !r->constants[step->packed]) /* `p` may be replaced by another run before this one ends */
        r->constants[step->packed] = ferry_memory_retain(ferry__packed_memory(p));
    pthread_mutex_unlock(&o->lock);
    ferry__packed_release(former);
    atomic_fetch_add_explicit(&o->packs, packs, memory_order_relaxed);
    return err;
}

static int take_all_packed(ferry_operation *o, const ferry_operation_args *args, ferry_queue *q,
                           struct ferry__run *r)
{
    uint32_t i;
    int err = 0;

    for (i = 0; !err && i < o->plan.n_steps && o->plan.packed_bytes; i++)
        if (o->plan.steps[i].answer.packed_bytes)
            err = take_packed(o, &o->plan.steps[i], args, q, r);
    return err;
}

/*
 * The inputs that all steps which read them have in packed form: runs do not need the unpacked
 * ones.
 */
static uint32_t packed_inputs(const struct ferry__plan *plan, uint32_t n_in)
{
    uint32_t packed = 0, read = 0, i, k;

    for (i = 0; i < plan->n_steps && plan->packed_bytes; i++)
        for (k = 0; k < plan->steps[i].op.n_in; k++)
            if (plan->steps[i].in[k].source == FERRY__FROM_IN) {
                uint32_t bit = 1u << plan->steps[i].in[k].index;

                *(plan->steps[i].answer.packed_inputs >> k & 1 ? &packed : &read) |= bit;
            }
    return packed & ~read & ((1u << n_in) - 1);
}

bool ferry__operation_packs(const ferry_operation *o, uint32_t input)
{
    return !o->plan.target.host &&
           ferry_device_get_properties(o->plan.target.device)->host_memory &&
           packed_inputs(&o->plan, o->op.n_in) >> input & 1;
}

/*
 * Checks the offsets of operands, which are passed to the device's entries unchanged: an offset
 * that its kernels do not support is refused.
 */
static int check_offsets(const ferry_operation *o, const ferry_operation_args *args)
{
    uint64_t alignment = o->plan.target.alignment;
    uint32_t i;

    for (i = 0; i < o->op.n_in + o->op.n_out && alignment; i++) {
        const ferry_operation_location *place =
            i < o->op.n_in ? &args->in[i] : &args->out[i - o->op.n_in];

        if (place->offset % alignment)
            return ferry_error_set(FERRY_EUNSUPPORTED,
                                   "%s: %s: an operand begins at byte %" PRIu64
                                   ", which is not a multiple of %" PRIu64,
                                   ferry_device_name(o->plan.target.device),
                                   ferry_op_kind_name(o->op.kind), place->offset, alignment);
    }
    return 0;
}

int ferry__run_take(ferry_operation *o, ferry_queue *q, const ferry_operation_args *args,
                    int64_t images, struct ferry__run *out)
{
    int err;

    memset(&out->args, 0, sizeof out->args);
    memset(out->constants, 0, sizeof out->constants);
    out->operation = o;
    out->done = 0;
    out->taken = 0;
    out->args.struct_size = sizeof out->args;
    out->args.scalars = args->scalars;
    out->args.scalar_count = (uint32_t)args->scalar_count;
    out->args.seed = args->seed;
    out->args.offset = args->offset;
    out->skipped = packed_inputs(&o->plan, o->op.n_in);
    err = check_offsets(o, args);
    if (!err)
        err = take_all_packed(o, args, q, out);
    if (err)
        return err;
    return ferry__places_take(&o->op, args, o->plan.target.host ? NULL : q, out->skipped, images,
                              &out->refs, &out->taken);
}

void ferry__run_end(struct ferry__run *r)
{
    uint32_t i;

    for (i = 0; i < FERRY__PACKED_MAX; i++)
        ferry_memory_release(r->constants[i]);
}

int ferry__run_enqueue(struct ferry__run *r, void *ctx, void *queue)
{
    return enqueue(ctx, queue, r);
}

int ferry__run_submit(struct ferry__run *r, ferry_queue *q, ferry_ref workspace)
{
    r->workspace = workspace;
    return q ? ferry_queue_call(q, ferry_op_kind_name(r->operation->op.kind), enqueue, r)
             : enqueue(NULL, NULL, r);
}
