/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outputs that share elements with an input or with another output. Which kinds may work in place
 * is not known here: an input that is exactly out[0] is allowed for all of them.
 */
#include "config.h"

#include "core/validate/track.h"

#include <stdlib.h>
#include <string.h>

static bool same_layout(const ferry_operand *a, const ferry_operand *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->stride[i] != b->stride[i]))
            return false;
    return true;
}

/*
 * Whether the operands have a byte in common. Slices of a concatenation interleave without a common
 * byte.
 */
static bool meet(const ferry_operand *a, ferry_cref at, const ferry_operand *b, ferry_cref bt)
{
    uint64_t bytes = ferry__operand_bytes(a), others = ferry__operand_bytes(b);
    unsigned char *mask, *other;
    bool found = false;

    if (at.handle != bt.handle || !bytes || !others || bytes > FERRY__READ_BACK ||
        at.offset >= bt.offset + others || bt.offset >= at.offset + bytes)
        return false;
    mask = calloc(2, (size_t)bytes);
    if (!mask)
        return false;
    other = mask + bytes;
    ferry__mark_elements(a, at.offset, at.offset, bytes, mask);
    ferry__mark_elements(b, bt.offset, at.offset, bytes, other);
    for (uint64_t i = 0; i < bytes && !found; i++)
        found = mask[i] && other[i];
    free(mask);
    return found;
}

static bool is_in_place(const ferry_op_desc *op, const ferry_op_run_args *args, uint32_t i,
                        uint32_t k)
{
    return k == 0 && args->in[i].offset == args->out[k].offset &&
           same_layout(&op->in[i], &op->out[k]);
}

void ferry__check_overlaps(struct ferry__tracked_device *d, const ferry_op_desc *op,
                           const ferry_op_run_args *args, uint32_t packed_inputs)
{
    for (uint32_t k = 0; k < op->n_out; k++) {
        ferry_cref out = ferry_ref_const(args->out[k]);

        for (uint32_t i = 0; i < op->n_in; i++)
            if (!(packed_inputs >> i & 1) && !is_in_place(op, args, i, k) &&
                meet(&op->out[k], out, &op->in[i], args->in[i]))
                ferry__broken(d, 62, "run", "kind %u: out[%u] overlaps in[%u]", op->kind, k, i);
        for (uint32_t i = 0; i < k; i++)
            if (meet(&op->out[k], out, &op->out[i], ferry_ref_const(args->out[i])))
                ferry__broken(d, 62, "run", "kind %u: out[%u] overlaps out[%u]", op->kind, k, i);
    }
}
