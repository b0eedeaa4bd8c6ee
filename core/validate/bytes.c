/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads back bytes of the device that a run must not change, and compares them. */
#include "config.h"

#include "core/validate/track.h"

#include "core/base/dtype.h"

#include <stdlib.h>
#include <string.h>

#define AROUND 256u /* the number of bytes before and after an output that are compared */

uint64_t ferry__operand_bytes(const ferry_operand *o)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < o->rank; i++) {
        if (o->shape[i] < 1)
            return 0;
        last += (uint64_t)(o->shape[i] - 1) * (uint64_t)o->stride[i];
    }
    return (last + 1) * ferry_dtype_size((ferry_dtype)o->dtype);
}

unsigned char *ferry__read_back(const struct ferry__tracked_device *d, void *queue, ferry_cref from,
                                uint64_t bytes)
{
    unsigned char *to = bytes && bytes <= FERRY__READ_BACK ? malloc((size_t)bytes) : NULL;

    if (to && !d->ops->synchronize(d->dev) &&
        !d->ops->memcpy(d->dev, queue, FERRY_MEMCPY_D2H, (ferry_ref){ to, 0 }, from, bytes) &&
        !d->ops->synchronize(d->dev))
        return to;
    free(to);
    return NULL;
}

/*
 * Sets, in `mask`, `n` bytes from byte `offset` of a block; `mask` has `bytes` bytes of the block
 * from byte `first`.
 */
static void mark_bytes(uint64_t offset, uint64_t n, uint64_t first, uint64_t bytes,
                       unsigned char *mask)
{
    for (uint64_t byte = offset; byte < offset + n; byte++)
        if (byte >= first && byte - first < bytes)
            mask[byte - first] = 1;
}

void ferry__mark_elements(const ferry_operand *o, uint64_t offset, uint64_t first, uint64_t bytes,
                          unsigned char *mask)
{
    size_t size = ferry_dtype_size((ferry_dtype)o->dtype);
    int64_t at[FERRY_OP_AXES] = { 0 };
    uint64_t element = 0;
    uint32_t axis;

    if (!ferry__operand_bytes(o))
        return;
    do {
        mark_bytes(offset + element * size, size, first, bytes, mask);
        for (axis = o->rank; axis > 0; axis--) {
            element += (uint64_t)o->stride[axis - 1];
            if (++at[axis - 1] < o->shape[axis - 1])
                break;
            element -= (uint64_t)o->stride[axis - 1] * (uint64_t)o->shape[axis - 1];
            at[axis - 1] = 0;
        }
    } while (axis > 0);
}

/* The index of the first byte that has that mark and was changed, or `bytes`. */
static uint64_t first_difference(const unsigned char *a, const unsigned char *b,
                                 const unsigned char *mask, unsigned char wanted, uint64_t bytes)
{
    uint64_t i;

    for (i = 0; i < bytes && (a[i] == b[i] || mask[i] != wanted); i++)
        ;
    return i;
}

/* ---- inputs ------------------------------------------------------------------------------- */

/* Whether an output may be in the input's memory, as some kinds permit. */
static bool is_shared(const ferry_op_desc *op, const ferry_op_run_args *args, uint32_t i)
{
    uint64_t bytes = ferry__operand_bytes(&op->in[i]);

    for (uint32_t k = 0; k < op->n_out; k++)
        if (args->out[k].handle == args->in[i].handle &&
            args->out[k].offset < args->in[i].offset + bytes &&
            args->in[i].offset < args->out[k].offset + ferry__operand_bytes(&op->out[k]))
            return true;
    return false;
}

static void compare_input(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                          const ferry_op_run_args *args, int err, uint32_t i,
                          const unsigned char *before)
{
    uint64_t bytes = ferry__operand_bytes(&op->in[i]), at = bytes;
    unsigned char *after = ferry__read_back(d, queue, args->in[i], bytes);
    unsigned char *mask = after ? calloc(1, (size_t)bytes) : NULL;

    if (mask) {
        ferry__mark_elements(&op->in[i], 0, 0, bytes, mask);
        at = first_difference(before, after, mask, 1, bytes);
    }
    if (at < bytes)
        ferry__broken(d, err ? 63 : 27, "run", "kind %u changed byte %llu of in[%u]%s", op->kind,
                      (unsigned long long)at, i, err ? ", and failed" : "");
    free(mask);
    free(after);
}

/* ---- around outputs ----------------------------------------------------------------------- */

/*
 * Keeps the bytes of the block that an output spans, and some before and after it. Nothing is kept
 * if the host can write to the device's memory, because the checks do not see such writes.
 */
static void keep_around(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                        const ferry_op_run_args *args, uint32_t k, struct ferry__kept *out)
{
    ferry_ref at = args->out[k];
    uint64_t bytes = ferry__operand_bytes(&op->out[k]), end = at.offset + bytes, block = 0;
    const struct ferry__tracked_block *b;

    pthread_mutex_lock(&ferry__validate_lock);
    b = ferry__tracked_block(d, at.handle);
    if (b && !b->imported && !(d->flags & FERRY_DEVICE_HOST_MEMORY))
        block = b->bytes;
    pthread_mutex_unlock(&ferry__validate_lock);
    if (!bytes || end > block)
        return;
    out->first[k] = at.offset < AROUND ? 0 : at.offset - AROUND;
    out->bytes[k] = (block - end < AROUND ? block : end + AROUND) - out->first[k];
    out->around[k] =
        ferry__read_back(d, queue, (ferry_cref){ at.handle, out->first[k] }, out->bytes[k]);
}

static void compare_around(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                           const ferry_op_run_args *args, uint32_t k,
                           const struct ferry__kept *kept)
{
    uint64_t first = kept->first[k], bytes = kept->bytes[k], at = bytes;
    ferry_cref from = { args->out[k].handle, first };
    unsigned char *after = ferry__read_back(d, queue, from, bytes);
    unsigned char *mask = after ? calloc(1, (size_t)bytes) : NULL;

    for (uint32_t i = 0; mask && i < op->n_out; i++)
        if (args->out[i].handle == from.handle)
            ferry__mark_elements(&op->out[i], args->out[i].offset, first, bytes, mask);
    if (mask && args->workspace.handle == from.handle)
        mark_bytes(args->workspace.offset, kept->workspace_bytes, first, bytes, mask);
    if (mask)
        at = first_difference(kept->around[k], after, mask, 0, bytes);
    if (at < bytes)
        ferry__broken(d, 62, "run", "kind %u wrote byte %lld of out[%u], outside of its elements",
                      op->kind, (long long)(first + at) - (long long)args->out[k].offset, k);
    free(mask);
    free(after);
}

/* Whether this run was the only submission to the device since the bytes were kept. */
static bool is_alone(const struct ferry__tracked_device *d, const struct ferry__kept *kept)
{
    bool alone;

    pthread_mutex_lock(&ferry__validate_lock);
    alone = d->submissions == kept->submissions;
    pthread_mutex_unlock(&ferry__validate_lock);
    return alone;
}

/* ---- a run -------------------------------------------------------------------------------- */

void ferry__keep(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                 const ferry_op_run_args *args, const ferry_op_answer *answer,
                 struct ferry__kept *out)
{
    memset(out, 0, sizeof *out);
    out->workspace_bytes = answer->workspace_bytes;
    pthread_mutex_lock(&ferry__validate_lock);
    out->submissions = d->submissions;
    pthread_mutex_unlock(&ferry__validate_lock);
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!(answer->packed_inputs >> i & 1) && args->in[i].handle && !is_shared(op, args, i))
            out->in[i] = ferry__read_back(d, queue, args->in[i], ferry__operand_bytes(&op->in[i]));
    for (uint32_t k = 0; k < op->n_out; k++)
        keep_around(d, queue, op, args, k, out);
}

void ferry__compare_kept(struct ferry__tracked_device *d, void *queue, const ferry_op_desc *op,
                         const ferry_op_run_args *args, int err, struct ferry__kept *kept)
{
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (kept->in[i])
            compare_input(d, queue, op, args, err, i, kept->in[i]);
        free(kept->in[i]);
    }
    for (uint32_t k = 0; k < op->n_out; k++) {
        if (kept->around[k] && is_alone(d, kept))
            compare_around(d, queue, op, args, k, kept);
        free(kept->around[k]);
    }
}
