/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/operand.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An operand that every check refuses by its rank. */
static ferry_operand refused(void)
{
    ferry_operand o;

    memset(&o, 0, sizeof o);
    o.rank = FERRY_OP_AXES + 1;
    return o;
}

ferry_operand ferry_operand_make(ferry_dtype dtype, const int64_t *shape, int rank,
                                 const uint8_t *order)
{
    ferry_operand o;
    int64_t stride = 1;
    int i;

    memset(&o, 0, sizeof o);
    o.dtype = (uint32_t)dtype;
    o.rank = (uint32_t)rank;
    if (rank < 0 || rank > FERRY_OP_AXES || (rank > 0 && !shape))
        return refused();
    for (i = rank - 1; i >= 0; i--) {
        int axis = order ? order[i] : i;

        if (axis >= rank || o.stride[axis])
            return refused(); /* an axis is repeated or missing */
        o.stride[axis] = stride;
        if (shape[axis] > 1 && __builtin_mul_overflow(stride, shape[axis], &stride))
            stride = INT64_MAX;
    }
    for (i = 0; i < rank; i++)
        o.shape[i] = shape[i];
    return o;
}

bool ferry_operand_is_plain(const ferry_operand *operand)
{
    int64_t stride = 1;
    uint32_t i;

    if (!operand || operand->rank > FERRY_OP_AXES)
        return 0;
    for (i = operand->rank; i-- > 0;) {
        if (operand->shape[i] != 1 && operand->stride[i] != stride)
            return 0;
        if (operand->shape[i] > 1 && __builtin_mul_overflow(stride, operand->shape[i], &stride))
            return 0;
    }
    return 1;
}

/* The extent in elements from the first element to the last; −1 on overflow. */
static int64_t reach(const ferry_operand *o)
{
    int64_t last = 0;
    uint32_t i;

    for (i = 0; i < o->rank; i++) {
        int64_t far;

        if (!o->shape[i])
            return 0;
        if (__builtin_mul_overflow(o->shape[i] - 1, o->stride[i], &far) ||
            __builtin_add_overflow(last, far, &last))
            return -1;
    }
    return last == INT64_MAX ? -1 : last + 1;
}

int64_t ferry_operand_extent(const ferry_operand *operand)
{
    int64_t elements, bytes;

    if (!operand)
        return ferry_error_set(FERRY_EINVAL, "ferry_operand_extent: the operand is NULL");
    if (operand->rank > FERRY_OP_AXES)
        return ferry_error_set(FERRY_EINVAL, "ferry_operand_extent: rank %u, the maximum is %u",
                               (unsigned)operand->rank, (unsigned)FERRY_OP_AXES);
    for (uint32_t i = 0; i < operand->rank; i++)
        if (operand->shape[i] < 0)
            return ferry_error_set(FERRY_EINVAL, "ferry_operand_extent: dim %u is negative",
                                   (unsigned)i);
    elements = reach(operand);
    if (elements < 0 ||
        __builtin_mul_overflow(elements, (int64_t)ferry_dtype_size((ferry_dtype)operand->dtype),
                               &bytes))
        return ferry_error_set(FERRY_EOVERFLOW, "ferry_operand_extent: more than 63 bits of bytes");
    return bytes;
}

int64_t ferry__operand_count_range(const ferry_operand *o, uint32_t first, uint32_t end)
{
    int64_t count = 1;
    uint32_t i;

    for (i = first; i < end; i++)
        count *= o->shape[i];
    return count;
}

int64_t ferry__operand_count(const ferry_operand *o)
{
    return ferry__operand_count_range(o, 0, o->rank);
}

bool ferry__operand_same_shape(const ferry_operand *a, const ferry_operand *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]);
}

bool ferry__operand_same(const ferry_operand *a, const ferry_operand *b)
{
    uint32_t i;

    if (a->dtype != b->dtype || !ferry__operand_same_shape(a, b))
        return false;
    for (i = 0; i < a->rank; i++)
        if (a->shape[i] > 1 && a->stride[i] != b->stride[i])
            return false;
    return true;
}

bool ferry__operand_is_apart(const ferry_operand *o)
{
    int64_t room;

    return ferry__operand_overlap(o, &room) < 0;
}

int ferry__operand_overlap(const ferry_operand *o, int64_t *out_room)
{
    uint32_t axes[FERRY_OP_AXES], n = 0, i, j;
    int64_t room = 1; /* the extent of the axes so far, in elements */

    for (i = 0; i < o->rank; i++) {
        if (!o->shape[i])
            return -1;
        if (o->shape[i] == 1)
            continue;
        for (j = n++; j > 0 && o->stride[axes[j - 1]] > o->stride[i]; j--)
            axes[j] = axes[j - 1];
        axes[j] = i;
    }
    for (i = 0; i < n; i++) {
        if (o->stride[axes[i]] < room) {
            *out_room = room;
            return (int)axes[i];
        }
        room = (o->shape[axes[i]] - 1) * o->stride[axes[i]] + room;
    }
    return -1;
}

const char *ferry__operand_text(const ferry_operand *o, char *buf)
{
    size_t used = 0;
    uint32_t i;

    snprintf(buf, FERRY__SHAPE_TEXT, "a scalar");
    for (i = 0; i < o->rank && used < FERRY__SHAPE_TEXT; i++)
        used += (size_t)snprintf(buf + used, FERRY__SHAPE_TEXT - used, "%s%" PRId64, i ? "x" : "",
                                 o->shape[i]);
    return buf;
}

static int axes_check(const ferry_operand *o, const char *what, bool may_repeat)
{
    int64_t count = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
    uint32_t i;

    for (i = 0; i < o->rank; i++) {
        if (o->shape[i] < 0)
            return ferry_error_set(FERRY_EINVAL, "%s: axis %u has %" PRId64 " elements", what, i,
                                   o->shape[i]);
        if (o->stride[i] < 0 || (!o->stride[i] && o->shape[i] > 1 && !may_repeat))
            return ferry_error_set(FERRY_EINVAL, "%s: axis %u of %" PRId64 " has stride %" PRId64,
                                   what, i, o->shape[i], o->stride[i]);
        /* a dimension of 0 does not hide that the product of the others overflows */
        if (o->shape[i] && __builtin_mul_overflow(count, o->shape[i], &count)) {
            char text[FERRY__SHAPE_TEXT];

            return ferry_error_set(FERRY_EOVERFLOW, "%s: %s elements need more than 63 bits", what,
                                   ferry__operand_text(o, text));
        }
    }
    return 0;
}

/*
 * Whether 63 bits hold the sum of all axes' extents in bytes, and so any sum or product of strides
 * and dimensions. A dimension of 0 does not hide its stride.
 */
static bool steps_fit(const ferry_operand *o)
{
    int64_t size = (int64_t)ferry_dtype_size((ferry_dtype)o->dtype), sum = size;
    uint32_t i;

    for (i = 0; i < o->rank; i++) {
        int64_t far;

        if (o->shape[i] == 1)
            continue;
        if (__builtin_mul_overflow(o->shape[i] ? o->shape[i] : 1, o->stride[i], &far) ||
            __builtin_mul_overflow(far, size, &far) || __builtin_add_overflow(sum, far, &sum))
            return false;
    }
    return true;
}

int ferry__operand_check(const ferry_operand *o, const char *what, bool may_repeat)
{
    char text[FERRY__SHAPE_TEXT];
    int err;

    if (!ferry_dtype_size((ferry_dtype)o->dtype))
        return ferry_error_set(FERRY_EINVAL, "%s: %u is not a dtype, 0 to %d are", what, o->dtype,
                               FERRY_DTYPE_COUNT - 1);
    if (o->rank > FERRY_OP_AXES)
        return ferry_error_set(FERRY_EINVAL, "%s: %u axes, the limit is %d", what, o->rank,
                               FERRY_OP_AXES);
    err = axes_check(o, what, may_repeat);
    if (err)
        return err;
    if (!steps_fit(o))
        return ferry_error_set(FERRY_EOVERFLOW, "%s: the strides of %s exceed 63 bits", what,
                               ferry__operand_text(o, text));
    return 0;
}
