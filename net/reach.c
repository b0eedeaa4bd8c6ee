/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where kernels may begin: on a device with an offset_alignment what has an operand elsewhere, a slice
 * say, is the host's.
 */
#include "net/program.h"

#include "op/operation.h"

#include <ferry/status.h>

#include <inttypes.h>
#include <string.h>

int64_t ferry__value_start(const struct ferry__program *p, int value)
{
    int64_t start = 0;

    for (; value >= 0 && p->values[value].within >= 0; value = p->values[value].within)
        start += p->values[value].start;
    return start;
}

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

/* Whether it reaches what it uses as that is now. */
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
                                 "%s: %s: an operand begins at no multiple of %" PRIu64
                                 " bytes, and FERRY_STRICT forbids the host",
                                 ferry_device_name(dev), ferry_op_kind_name(item->op.kind),
                                 ferry_device_get_properties(dev)->offset_alignment);
    item->tier = FERRY_TIER_HOST;
    item->left = true;
    return 0;
}

int ferry__item_settle(const struct ferry__program *p, struct ferry__item *item)
{
    ferry_op_plan plan = { 0 };
    int err = ferry__item_query(item, &item->op, &plan);

    if (err)
        return err;
    item->tier = plan.tier;
    item->steps = plan.steps;
    memcpy(item->order, plan.order, sizeof item->order);
    return reaches_now(p, item) ? 0 : leave_to_host(item);
}

int ferry__item_prepare(const struct ferry__program *p, struct ferry__item *item)
{
    ferry_device *dev = item->layer->device;
    int err = reaches_now(p, item) ? 0 : leave_to_host(item);

    if (err)
        return err;
    return ferry__layer_failed(
        item->layer, item->left ? ferry__operation_create_on_host(dev, &item->op, &item->prepared)
                                : ferry_op_create(dev, &item->op, &item->prepared));
}
