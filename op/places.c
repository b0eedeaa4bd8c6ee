/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/places.h"

#include "op/kind.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <string.h>

/* ---- checks ---------------------------------------------------------------------------------- */

static int place_check(const ferry_op_desc *op, const char *side, uint32_t i,
                       const ferry_operand *o, const ferry_operation_location *place)
{
    const char *name = ferry_op_kind_name(op->kind);
    uint64_t size = ferry_dtype_size((ferry_dtype)o->dtype), end;
    int64_t extent = ferry_operand_extent(o);

    if (!place->memory)
        return ferry_error_set(FERRY_EINVAL, "%s: %s[%u] is NULL", name, side, i);
    if (extent < 0)
        return (int)extent;
    if (place->offset % size)
        return ferry_error_set(FERRY_EINVAL,
                               "%s: %s[%u] begins at byte %" PRIu64 ", its elements have %" PRIu64,
                               name, side, i, place->offset, size);
    if (__builtin_add_overflow(place->offset, (uint64_t)extent, &end) ||
        end > ferry_memory_size(place->memory))
        return ferry_error_set(
            FERRY_ESHAPE,
            "%s: %s[%u] has %" PRId64 " bytes from byte %" PRIu64 " on, in a memory of %zu", name,
            side, i, extent, place->offset, ferry_memory_size(place->memory));
    return 0;
}

/*
 * Whether two operands with equal strides are slices of one operand that does not overlap itself:
 * slices of a concatenation interleave but never overlap.
 */
static bool are_slices(const ferry_operand *a, const ferry_operand *b, int64_t distance)
{
    uint32_t axis, i;

    if (a->rank != b->rank)
        return false;
    for (axis = 0; axis < a->rank; axis++) {
        ferry_operand both = *a;
        int64_t steps = a->stride[axis] ? distance / a->stride[axis] : 0;

        if (!a->stride[axis] || distance % a->stride[axis] || steps < a->shape[axis])
            continue;
        for (i = 0; i < a->rank; i++) {
            if (i != axis && a->stride[i] != b->stride[i])
                break;
            both.shape[i] = a->shape[i] > b->shape[i] ? a->shape[i] : b->shape[i];
        }
        both.shape[axis] = steps + b->shape[axis];
        if (i == a->rank && a->stride[axis] == b->stride[axis] && ferry__operand_is_apart(&both))
            return true;
    }
    return false;
}

static bool meet(const ferry_operand *a, const ferry_operation_location *at, const ferry_operand *b,
                 const ferry_operation_location *bt)
{
    uint64_t end;
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)a->dtype);

    if (at->memory != bt->memory || !ferry__operand_count(a) || !ferry__operand_count(b))
        return false;
    if (bt->offset < at->offset)
        return meet(b, bt, a, at);
    end = at->offset + (uint64_t)ferry_operand_extent(a);
    return bt->offset < end &&
           !(a->dtype == b->dtype && are_slices(a, b, (int64_t)(bt->offset - at->offset) / size));
}

static bool may_alias(const ferry_op_desc *op, uint32_t i, const ferry_operation_args *args)
{
    bool allowed = ferry__kind_of(op->kind, op->pass)->aliases >> i & 1;

    return allowed && i < ferry_op_own_inputs(op) && args->in[i].offset == args->out[0].offset &&
           ferry__operand_same(&op->in[i], &op->out[0]);
}

static int output_check(const ferry_op_desc *op, const ferry_operation_args *args, uint32_t k)
{
    uint32_t i;

    for (i = 0; i < op->n_in; i++)
        if (meet(&op->out[k], &args->out[k], &op->in[i], &args->in[i]) &&
            !(k == 0 && may_alias(op, i, args)))
            return ferry_error_set(FERRY_EINVAL, "%s: out[%u] overlaps in[%u]",
                                   ferry_op_kind_name(op->kind), k, i);
    for (i = 0; i < k; i++)
        if (meet(&op->out[k], &args->out[k], &op->out[i], &args->out[i]))
            return ferry_error_set(FERRY_EINVAL, "%s: out[%u] overlaps out[%u]",
                                   ferry_op_kind_name(op->kind), k, i);
    return 0;
}

int ferry__places_check(const ferry_op_desc *op, const ferry_operation_args *args)
{
    uint32_t i;
    int err = 0;

    if ((op->n_in && !args->in) || !args->out)
        return ferry_error_set(FERRY_EINVAL, "%s: the operands are NULL",
                               ferry_op_kind_name(op->kind));
    if (op->kind == FERRY_OP_UPDATE &&
        (!args->scalars || args->scalar_count != FERRY_UPDATE_SCALARS))
        return ferry_error_set(FERRY_EINVAL, "update: %zu scalars, must be %u",
                               args->scalars ? args->scalar_count : 0, FERRY_UPDATE_SCALARS);
    for (i = 0; !err && i < op->n_in; i++)
        err = place_check(op, "in", i, &op->in[i], &args->in[i]);
    for (i = 0; !err && i < op->n_out; i++)
        err = place_check(op, "out", i, &op->out[i], &args->out[i]);
    for (i = 0; !err && i < op->n_out; i++)
        err = output_check(op, args, i);
    return err;
}

/* ---- references ------------------------------------------------------------------------------ */

/* The outputs that the operation also reads. */
static bool is_read(const ferry_op_desc *op, uint32_t k, const ferry_operation_args *args)
{
    uint32_t i;

    if (ferry__op_reads_outputs(op))
        return true;
    for (i = 0; i < op->n_in; i++)
        if (args->in[i].memory == args->out[k].memory)
            return true;
    for (i = 0; i < op->n_out; i++)
        if (i != k && args->out[i].memory == args->out[k].memory)
            return true;
    return false;
}

/* Whether the operation overwrites the whole memory; `images` ≠ 0: by runs on parts of them all. */
static bool covers(const ferry_operand *o, const ferry_operation_location *place, int64_t images)
{
    uint64_t bytes = (uint64_t)ferry__operand_count(o) * ferry_dtype_size((ferry_dtype)o->dtype);

    if (images && o->rank && o->shape[0])
        bytes = bytes / (uint64_t)o->shape[0] * (uint64_t)images;

    return !place->offset && bytes >= ferry_memory_used(place->memory);
}

static int take(ferry_memory *m, ferry_queue *q, unsigned access, uint64_t offset, ferry_ref *out)
{
    ferry_ref ref;
    int err = ferry_memory_access(m, q ? ferry_queue_device(q) : NULL, access, q, &ref);

    if (err)
        return err;
    ref.offset += offset;
    *out = ref;
    return 0;
}

int ferry__places_take(const ferry_op_desc *op, const ferry_operation_args *args, ferry_queue *q,
                       uint32_t skip, int64_t images, struct ferry__refs *out, uint32_t *taken)
{
    uint32_t i;
    int err = 0;

    memset(out, 0, sizeof *out);
    *taken = 0;
    for (i = 0; !err && i < op->n_in; i++)
        if (!(skip >> i & 1))
            err = take(args->in[i].memory, q, FERRY_READ, args->in[i].offset, &out->in[i]);
    for (i = 0; !err && i < op->n_out; i++) {
        const ferry_operation_location *place = &args->out[i];
        bool keep = is_read(op, i, args) || !covers(&op->out[i], place, images);

        err = take(place->memory, q, FERRY_WRITE | (keep ? FERRY_READ : 0), place->offset,
                   &out->out[i]);
        *taken += !err;
    }
    return err;
}
