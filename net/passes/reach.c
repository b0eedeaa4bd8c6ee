/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the offsets of operands: on a device with an offset_alignment, an operation with an
 * operand at another offset, for example a slice, runs on the host.
 */
#include "net/passes/passes.h"

#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <string.h>

static bool is_multiple(const struct ferry__program *p, const ferry_operand *o,
                        const struct ferry__use *use, int64_t start, int64_t alignment)
{
    start += ferry__value_start(p, use->value);
    return start * (int64_t)ferry_dtype_size((ferry_dtype)o->dtype) % alignment == 0;
}

bool ferry__item_reaches(const struct ferry__program *p, const struct ferry__item *item,
                         const int64_t *in_start, const int64_t *out_start)
{
    int64_t alignment = (int64_t)ferry_device_get_properties(item->layer->device)->offset_alignment;
    uint32_t i;

    if (alignment <= 1 || item->tier == FERRY_TIER_HOST)
        return true;
    for (i = 0; i < item->op.n_in; i++)
        if (!is_multiple(p, &item->op.in[i], &item->in[i], in_start[i], alignment))
            return false;
    for (i = 0; i < item->op.n_out; i++)
        if (!is_multiple(p, &item->op.out[i], &item->out[i], out_start[i], alignment))
            return false;
    return true;
}

/* Whether the device supports the current offsets of the item's operands. */
static bool reaches_now(const struct ferry__program *p, const struct ferry__item *item)
{
    int64_t in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    uint32_t i;

    for (i = 0; i < item->op.n_in; i++)
        in[i] = item->in[i].start;
    for (i = 0; i < item->op.n_out; i++)
        out[i] = item->out[i].start;
    return ferry__item_reaches(p, item, in, out);
}

static int leave_to_host(struct ferry__item *item)
{
    ferry_device *dev = item->layer->device;

    if (ferry_device_is_strict(dev))
        return ferry_layer_error(item->layer, FERRY_EUNSUPPORTED,
                                 "%s: %s: the offset of an operand is not a multiple of %" PRIu64
                                 " bytes, and FERRY_STRICT forbids the host",
                                 ferry_device_name(dev), ferry_op_kind_name(item->op.kind),
                                 ferry_device_get_properties(dev)->offset_alignment);
    item->tier = FERRY_TIER_HOST;
    item->left = true;
    return 0;
}

int ferry__item_query(struct ferry__item *item, const ferry_op_desc *op, ferry_operation_plan *out)
{
    out->struct_size = sizeof *out;
    return ferry__layer_failed(item->layer, ferry_operation_query(item->layer->device, op, out));
}

/*
 * Permits the item of a net that trains the approximations. Updates change the weights, so that
 * devices which gain by reading packed weights of fewer bits gain nothing: the item rounds only if
 * the device also rounds weights that are not constants. They stay constants if the device packs
 * them in the same form for each run; other forms may take long to pack.
 */
static int set_training_precision(struct ferry__item *item, uint32_t math)
{
    ferry_operation_plan once = { 0 }, each = { 0 };
    ferry_op_desc op = item->op;
    int err;

    op.math |= math;
    err = ferry__item_query(item, &op, &once);
    op.constants = 0;
    if (!err)
        err = ferry__item_query(item, &op, &each);
    if (err || !(each.math & math))
        return err;
    if (once.math == each.math && once.steps == each.steps &&
        once.packed_bytes + once.workspace_bytes == each.workspace_bytes)
        op.constants = item->op.constants;
    item->op = op;
    return 0;
}

int ferry__item_set_precision(const struct ferry__program *p, struct ferry__item *item)
{
    if (item->layer->float_only || !p->net->math ||
        (item->op.kind != FERRY_OP_CONVOLUTION && item->op.kind != FERRY_OP_INNER_PRODUCT))
        return 0;
    if (p->net->backward)
        return set_training_precision(item, p->net->math);
    item->op.math |= p->net->math;
    return 0;
}

int ferry__item_choose(const struct ferry__program *p, struct ferry__item *item)
{
    ferry_operation_plan plan = { 0 };
    int err = ferry__item_query(item, &item->op, &plan);

    if (err)
        return err;
    item->tier = plan.tier;
    item->steps = plan.steps;
    memcpy(item->order, plan.order, sizeof item->order);
    return reaches_now(p, item) ? 0 : leave_to_host(item);
}

/*
 * The number of elements in the memory of an operand: in its blob, or in the outermost value that
 * contains it.
 */
static int64_t elements_around(const struct ferry__program *p, const struct ferry__use *use)
{
    int value = use->value;

    if (value < 0)
        return ferry_blob_element_count(use->blob);
    while (p->values[value].within >= 0)
        value = p->values[value].within;
    return p->values[value].count;
}

/*
 * Checks that operands end inside their values: an arena is larger than each value in it, so that
 * running would not detect it.
 */
static int check_extent(const struct ferry__program *p, const struct ferry__item *item,
                        const ferry_operand *o, const struct ferry__use *use)
{
    int64_t start = use->start + ferry__value_start(p, use->value), all = elements_around(p, use);
    int64_t extent = ferry_operand_extent(o),
            size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);

    if (extent < 0)
        return ferry__layer_failed(item->layer, (int)extent);
    if (extent / size <= all - start)
        return 0;
    return ferry_layer_error(item->layer, FERRY_ESHAPE,
                             "%s: an operand covers %" PRId64 " elements from element %" PRId64
                             " on, in a blob of %" PRId64,
                             ferry_op_kind_name(item->op.kind), extent / size, start, all);
}

static int check_extents(const struct ferry__program *p, const struct ferry__item *item)
{
    uint32_t i;
    int err = 0;

    for (i = 0; !err && i < item->op.n_in; i++)
        err = check_extent(p, item, &item->op.in[i], &item->in[i]);
    for (i = 0; !err && i < item->op.n_out; i++)
        err = check_extent(p, item, &item->op.out[i], &item->out[i]);
    return err;
}

int ferry__item_prepare(const struct ferry__program *p, struct ferry__item *item)
{
    ferry_device *dev = item->layer->device;
    int err = check_extents(p, item);

    if (!err && !reaches_now(p, item))
        err = leave_to_host(item);
    if (err)
        return err;
    return ferry__layer_failed(
        item->layer, item->left ? ferry__operation_create_on_host(dev, &item->op, &item->prepared)
                                : ferry_operation_create(dev, &item->op, &item->prepared));
}

int ferry__pass_prepare(struct ferry__program *p)
{
    int i, err;

    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];

        if (item->call || item->dropped)
            continue;
        err = ferry__item_prepare(p, item);
        if (err)
            return err;
    }
    return 0;
}
