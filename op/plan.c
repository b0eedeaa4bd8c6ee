/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/plan.h"

#include "op/kind.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

void ferry__plan_cut(struct ferry__plan *plan, uint32_t n)
{
    plan->n_packed = 0;
    for (plan->n_steps = 0; plan->n_steps < n; plan->n_steps++)
        plan->n_packed += plan->steps[plan->n_steps].answer.packed_bytes > 0;
}

/*
 * Appends an empty step. The capacity grows in powers of two, so the count determines when it is
 * full.
 */
static struct ferry__step *append(struct ferry__plan *plan)
{
    uint32_t n = plan->n_steps;
    struct ferry__step *grown;

    if ((n & (n - 1)) == 0) {
        grown = realloc(plan->steps, (n ? 2 * (size_t)n : 1) * sizeof *grown);
        if (!grown)
            return NULL;
        plan->steps = grown;
    }
    grown = &plan->steps[plan->n_steps++];
    memset(grown, 0, sizeof *grown);
    return grown;
}

/* Whether the target's entries support the offset, in each repetition. */
static bool is_aligned(const struct ferry__plan *plan, const struct ferry__binding *b, uint32_t n)
{
    int64_t alignment = (int64_t)plan->target.alignment;
    uint32_t i;

    for (i = 0; i < n && alignment; i++)
        if (b[i].offset % alignment || b[i].stride % alignment)
            return false;
    return true;
}

static int no_memory(const ferry_op_desc *op)
{
    return ferry_error_set(FERRY_ENOMEM, "%s: no memory for its steps",
                           ferry_op_kind_name(op->kind));
}

int ferry__plan_add(struct ferry__plan *plan, const ferry_op_desc *op,
                    const struct ferry__binding *in, const struct ferry__binding *out)
{
    struct ferry__step *step;

    if (!is_aligned(plan, in, op->n_in) || !is_aligned(plan, out, op->n_out))
        return 0;
    if (ferry__op_is_integer(op) && !(plan->target.table->flags & FERRY_OP_INTEGERS))
        return 0;
    if (ferry__op_has_half_weights(op) && !(plan->target.table->flags & FERRY_OP_HALF_WEIGHTS))
        return 0;
    if (ferry__op_has_bf16_values(op) && !(plan->target.table->flags & FERRY_OP_BF16_VALUES))
        return 0;
    step = append(plan);
    if (!step)
        return no_memory(op);
    step->op = *op;
    if (plan->n_packed == FERRY__PACKED_MAX)
        step->op.constants = 0;
    step->answer.struct_size = sizeof step->answer;
    if (plan->target.table->query(plan->target.ctx, &step->op, &step->answer)) {
        plan->n_steps--;
        return 0;
    }
    if (step->answer.packed_bytes)
        step->packed = plan->n_packed++;
    memcpy(step->in, in, op->n_in * sizeof *in);
    memcpy(step->out, out, op->n_out * sizeof *out);
    return 1;
}

int ferry__plan_take(struct ferry__plan *plan, const struct ferry__step *step)
{
    struct ferry__step *own;

    if (!is_aligned(plan, step->in, step->op.n_in) || !is_aligned(plan, step->out, step->op.n_out))
        return 0;
    own = append(plan);
    if (!own)
        return no_memory(&step->op);
    *own = *step;
    if (own->answer.packed_bytes)
        own->packed = plan->n_packed++;
    return 1;
}

/* Computes the needs of all steps; each has the whole workspace while it runs. */
static void add_up(struct ferry__plan *plan)
{
    uint64_t alignment = plan->target.alignment ? plan->target.alignment : 64;
    uint32_t i;

    plan->temporary_bytes = (plan->temporary_bytes + alignment - 1) / alignment * alignment;

    for (i = 0; i < plan->n_steps; i++) {
        const ferry_op_answer *a = &plan->steps[i].answer;

        plan->packed_bytes += a->packed_bytes;
        plan->math |= a->math & plan->steps[i].op.math;
        if (plan->workspace_bytes < a->workspace_bytes)
            plan->workspace_bytes = a->workspace_bytes;
    }
}

static void operation_bindings(const ferry_op_desc *op, struct ferry__binding *in,
                               struct ferry__binding *out)
{
    uint32_t i;

    memset(in, 0, FERRY_OP_INPUTS * sizeof *in);
    memset(out, 0, FERRY_OP_OUTPUTS * sizeof *out);
    for (i = 0; i < op->n_in; i++)
        in[i] = (struct ferry__binding){ .source = FERRY__FROM_IN, .index = i };
    for (i = 0; i < op->n_out; i++)
        out[i] = (struct ferry__binding){ .source = FERRY__FROM_OUT, .index = i };
}

/* The operation with only the first `steps` of its epilogue, and their operands. */
static ferry_op_desc shortened(const ferry_op_desc *op, uint32_t steps)
{
    ferry_op_desc cut = *op;
    uint32_t i;

    cut.n_epilogue = steps;
    cut.n_in = ferry_op_own_inputs(op);
    for (i = 0; i < steps; i++)
        cut.n_in += op->epilogue[i].step != FERRY_STEP_UNARY;
    cut.constants &= (1u << cut.n_in) - 1;
    return cut;
}

/*
 * Plans one entry for the operation with as much of its epilogue as the target supports, and
 * separate entries for the rest. 1, 0 or an error, as ferry__plan_add.
 */
static int plan_whole(struct ferry__plan *plan, const ferry_op_desc *op)
{
    struct ferry__binding in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    uint32_t taken;
    ferry_op_desc cut;
    int can;

    operation_bindings(op, in, out);
    can = ferry__plan_add(plan, op, in, out);
    if (can <= 0)
        return can;
    taken = plan->steps[0].answer.epilogue;
    memcpy(plan->order, plan->steps[0].answer.order, sizeof plan->order);
    if (taken >= op->n_epilogue)
        return 1;
    ferry__plan_cut(plan, 0);
    /* the result would be rounded before the other steps */
    if (ferry__op_is_integer(op) || ferry__op_has_bf16_values(op))
        return 0;
    cut = shortened(op, taken);
    can = ferry__plan_add(plan, &cut, in, out);
    if (can > 0)
        can = ferry__compose_epilogue(plan, op, taken);
    if (can <= 0)
        ferry__plan_cut(plan, 0);
    return can;
}

static int plan_composed(struct ferry__plan *plan, const ferry_op_desc *op)
{
    ferry_op_desc bare = shortened(op, 0);
    bool is_mixed =
        ferry__op_is_integer(op) || ferry__op_has_half_weights(op) || ferry__op_has_bf16_values(op);
    int can = is_mixed ? 0 : ferry__compose(plan, &bare);

    if (can > 0)
        can = ferry__compose_epilogue(plan, op, 0);
    if (can <= 0)
        ferry__plan_cut(plan, 0);
    return can;
}

/*
 * Checks that the plan fits. Temporary memory and workspace are one block: a plan whose block is
 * too large cannot run.
 */
static int fitting(struct ferry__plan *plan, int can)
{
    uint64_t bytes = plan->temporary_bytes, most = 0;
    uint32_t i;

    for (i = 0; can > 0 && i < plan->n_steps; i++)
        if (most < plan->steps[i].answer.workspace_bytes)
            most = plan->steps[i].answer.workspace_bytes;
    if (can <= 0 || !plan->target.largest || bytes + most <= plan->target.largest)
        return can;
    ferry__plan_cut(plan, 0);
    plan->temporary_bytes = 0;
    return 0;
}

int ferry__plan_by(struct ferry__plan *plan, const ferry_op_desc *op,
                   ferry_operation_tier *out_tier)
{
    int can;

    plan->temporary_bytes = 0;
    plan->before = 0;
    plan->repeat = 1;
    plan->repeated = 1;
    *out_tier = FERRY_TIER_OWN;
    can = fitting(plan, plan_whole(plan, op));
    if (can)
        return can;
    *out_tier = FERRY_TIER_COMPOSED;
    can = fitting(plan, plan_composed(plan, op));
    return can ? can : ferry__compose_narrow(plan, op);
}

static int refuse(ferry_device *dev, const ferry_op_desc *op, const char *why)
{
    const ferry_operand *of = op->n_in ? &op->in[0] : &op->out[0];
    char shape[FERRY__SHAPE_TEXT];

    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %s of %s %s %s: %s", ferry_device_name(dev),
                           ferry__op_title(op), op->n_in ? "in[0]" : "out[0]",
                           ferry_dtype_name((ferry_dtype)of->dtype), ferry__operand_text(of, shape),
                           why);
}

/* Replaces unused strides by those of a contiguous operand. */
static void settle(ferry_operand *operands, uint32_t n)
{
    for (; n-- > 0; operands++) {
        int64_t next = 1; /* the stride of a contiguous operand */
        uint32_t axis = operands->rank;

        while (axis-- > 0) {
            if (operands->shape[axis] == 1)
                operands->stride[axis] = next;
            if (__builtin_mul_overflow(operands->stride[axis], operands->shape[axis], &next))
                next = 1;
        }
    }
}

/*
 * The operation with default values in unused members, so that later code need not check whether
 * they are used.
 */
static ferry_op_desc settled(const ferry_op_desc *op)
{
    ferry_op_desc copy = *op;
    uint32_t i;

    settle(copy.in, copy.n_in);
    settle(copy.out, copy.n_out);
    for (i = 0; i < copy.n_epilogue; i++)
        if (copy.epilogue[i].step == FERRY_STEP_UNARY)
            copy.epilogue[i].operand = 0;
    return copy;
}

/*
 * Plans on the target within its limit of temporary memory; if that does not suffice, without the
 * limit.
 */
static int plan_on_target(struct ferry__plan *plan, const ferry_op_desc *op)
{
    ferry_operation_tier tier;
    int can = ferry__plan_by(plan, op, &tier);

    if (can)
        return can;
    plan->target.temporary = INT64_MAX;
    return ferry__plan_by(plan, op, &tier);
}

/* Plans with the cpu plugin, or with the kernels for an operation that it does not support. */
static int plan_on_host(struct ferry__plan *plan, ferry_device *dev, const ferry_op_desc *op)
{
    int can = ferry__target_host(dev, &plan->target);

    if (can)
        return can;
    plan->tier = FERRY_TIER_HOST;
    can = plan_on_target(plan, op);
    if (!can && plan->target.device) {
        ferry__target_release_host(&plan->target);
        ferry__target_kernels(&plan->target);
        can = plan_on_target(plan, op);
    }
    memset(plan->order, 0, sizeof plan->order);
    if (can > 0)
        return 0;
    ferry__target_release_host(&plan->target);
    return can ? can : refuse(dev, op, "without the cpu plugin the host computes it only in F32");
}

static int finish(struct ferry__plan *plan, int err, struct ferry__plan *out)
{
    if (err) {
        free(plan->steps);
        return err;
    }
    add_up(plan);
    *out = *plan;
    return 0;
}

int ferry__plan_make_on_host(ferry_device *dev, const ferry_op_desc *theirs,
                             struct ferry__plan *out)
{
    struct ferry__plan plan = { 0 };
    ferry_op_desc op = settled(theirs);

    return finish(&plan, plan_on_host(&plan, dev, &op), out);
}

/* Whether the plugin estimates that its own steps take longer than the host's. */
static bool is_slower(const struct ferry__plan *plan)
{
    uint32_t i;

    for (i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].answer.cost == FERRY_OP_COST_HOST_FASTER)
            return true;
    return false;
}

/*
 * Replaces the device's plan by the cpu plugin's, if that has entries of its own for the operation.
 */
static int prefer_host(struct ferry__plan *plan, ferry_device *dev, const ferry_op_desc *op)
{
    struct ferry__plan host = { 0 };
    int err = plan_on_host(&host, dev, op);

    if (err == FERRY_ENOMEM)
        return err;
    if (err)
        return 0;
    if (!host.target.device || host.target.device == dev) {
        ferry__plan_end(&host);
        return 0;
    }
    free(plan->steps);
    *plan = host;
    return 0;
}

int ferry__plan_make(ferry_device *dev, const ferry_op_desc *theirs, struct ferry__plan *out)
{
    struct ferry__plan plan = { 0 };
    ferry_op_desc op = settled(theirs);
    int err = ferry__target_own(dev, &plan.target), can = 0;

    if (err && err != FERRY_EUNSUPPORTED)
        return err;
    if (!err)
        can = ferry__plan_by(&plan, &op, &plan.tier);
    if (can > 0 && is_slower(&plan) && !ferry_device_is_strict(dev))
        return finish(&plan, prefer_host(&plan, dev, &op), out);
    if (can)
        return finish(&plan, can < 0 ? can : 0, out);
    if (ferry_device_is_strict(dev))
        return finish(
            &plan,
            refuse(dev, &op, "its plugin does not support it, and FERRY_STRICT forbids the host"),
            out);
    return finish(&plan, plan_on_host(&plan, dev, &op), out);
}

static void unprepare(struct ferry__plan *plan)
{
    uint32_t i;

    for (i = 0; i < plan->n_steps; i++) {
        if (plan->steps[i].prepared)
            plan->target.table->destroy(plan->target.ctx, plan->steps[i].prepared);
        plan->steps[i].prepared = NULL;
    }
}

int ferry__plan_prepare(struct ferry__plan *plan)
{
    uint32_t i;

    for (i = 0; i < plan->n_steps; i++) {
        struct ferry__step *step = &plan->steps[i];
        int err = ferry__target_create(&plan->target, &step->op, &step->prepared);

        if (err) {
            unprepare(plan);
            return err;
        }
    }
    return 0;
}

void ferry__plan_end(struct ferry__plan *plan)
{
    unprepare(plan);
    free(plan->steps);
    ferry__target_release_host(&plan->target);
    memset(plan, 0, sizeof *plan);
}
