/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/shape.h"

#include "core/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies the dims and multiplies them. The product must not overflow, and neither must the product
 * of the nonzero dims, so that overflow does not depend on the position of zeros.
 */
static int take_dims(int rank, const int64_t *dims, size_t size, int64_t *to, int64_t *out)
{
    int64_t product = 1, bytes;
    bool zero = false;
    int i;

    for (i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return ferry__error(FERRY_EINVAL, "dim %d is %" PRId64, i, dims[i]);
        to[i] = dims[i];
        zero = zero || dims[i] == 0;
        if (dims[i] && __builtin_mul_overflow(product, dims[i], &product))
            return ferry__error(FERRY_EOVERFLOW,
                                "the product of the dims overflows at dim %d, which is %" PRId64, i,
                                dims[i]);
    }
    if (__builtin_mul_overflow(product, (int64_t)size, &bytes))
        return ferry__error(FERRY_EOVERFLOW, "%" PRId64 " elements of %zu bytes overflow", product,
                            size);
    *out = zero ? 0 : product;
    return 0;
}

int ferry__shape_set(struct ferry__shape *s, int rank, const int64_t *dims, size_t size)
{
    bool shaped = rank != FERRY_UNSHAPED;
    int err;

    if (!shaped)
        rank = 0;
    if (rank < 0 || rank > FERRY_MAX_AXES)
        return ferry__error(FERRY_EINVAL, "%d axes; there may be 0 to %d", rank, FERRY_MAX_AXES);
    if (rank && !dims)
        return ferry__error(FERRY_EINVAL, "NULL dims for %d axes", rank);
    s->rank = rank;
    if (rank > FERRY__SHAPE_INLINE) {
        s->many = malloc((size_t)rank * sizeof *s->many);
        if (!s->many)
            return ferry__error(FERRY_ENOMEM, "no memory for %d dims", rank);
    }
    err = take_dims(rank, dims, size, rank > FERRY__SHAPE_INLINE ? s->many : s->few, &s->count);
    if (err) {
        ferry__shape_clear(s);
        return err;
    }
    s->shaped = shaped;
    if (!shaped)
        s->count = 0;
    return 0;
}

void ferry__shape_clear(struct ferry__shape *s)
{
    if (s->rank > FERRY__SHAPE_INLINE)
        free(s->many);
    s->rank = 0;
}

void ferry__shape_move(struct ferry__shape *to, struct ferry__shape *from)
{
    ferry__shape_clear(to);
    *to = *from;
    from->rank = 0; /* the allocation now belongs to the target */
}

int ferry__shape_canonical(const struct ferry__shape *s, int axis)
{
    if (axis < -s->rank || axis >= s->rank)
        return ferry__error(FERRY_EINVAL, "axis %d of %d axes", axis, s->rank);
    return axis < 0 ? axis + s->rank : axis;
}

int64_t ferry__shape_count(const struct ferry__shape *s, int start, int end)
{
    int64_t product = 1;
    int i;

    if (start < 0 || end < start || end > s->rank)
        return ferry__error(FERRY_EINVAL, "axes %d to %d of %d axes", start, end, s->rank);
    for (i = start; i < end; i++)
        product *= ferry__shape_dim(s, i); /* cannot overflow, since the product of all dims does
                                            * not */
    return product;
}

int64_t ferry__shape_legacy(const struct ferry__shape *s, int axis)
{
    if (s->rank > 4)
        return ferry__error(FERRY_EINVAL, "legacy accessors need at most 4 axes, not %d", s->rank);
    if (axis < -4 || axis > 3)
        return ferry__error(FERRY_EINVAL, "legacy axis %d; there are -4 to 3", axis);
    if (axis >= s->rank || axis < -s->rank)
        return 1;
    return ferry__shape_dim(s, axis < 0 ? axis + s->rank : axis);
}

int64_t ferry__shape_offset(const struct ferry__shape *s, int n, const int64_t *index)
{
    int64_t offset = 0;
    int i;

    if (n < 0 || n > s->rank || (n && !index))
        return ferry__error(FERRY_EINVAL, "%d indices for %d axes", n, s->rank);
    for (i = 0; i < s->rank; i++) {
        int64_t at = i < n ? index[i] : 0, dim = ferry__shape_dim(s, i);

        if (i < n && (at < 0 || at >= dim))
            return ferry__error(FERRY_EINVAL, "index %" PRId64 " of axis %d, whose dim is %" PRId64,
                                at, i, dim);
        offset = offset * dim + at;
    }
    return offset;
}

int64_t ferry__shape_offset4(const struct ferry__shape *s, const int64_t index[4])
{
    int64_t offset = 0;
    int i;

    for (i = 0; i < 4; i++) {
        int64_t dim = ferry__shape_legacy(s, i);

        if (dim < 0)
            return dim;
        if (index[i] < 0 || index[i] > dim) /* one past the end is allowed */
            return ferry__error(FERRY_EINVAL, "index %" PRId64 " of axis %d, whose dim is %" PRId64,
                                index[i], i, dim);
        if (__builtin_mul_overflow(offset, dim, &offset) ||
            __builtin_add_overflow(offset, index[i], &offset))
            return ferry__error(FERRY_EOVERFLOW, "the offset overflows at axis %d", i);
    }
    return offset;
}

bool ferry__shape_equal(const struct ferry__shape *a, const struct ferry__shape *b)
{
    const int64_t *ours = ferry__shape_dims(a), *theirs = ferry__shape_dims(b);

    return a->shaped == b->shaped && a->rank == b->rank &&
           memcmp(ours, theirs, (size_t)a->rank * sizeof *ours) == 0;
}

int ferry__shape_string(const struct ferry__shape *s, char *buf, size_t size)
{
    size_t used = 0;
    int i, n;

    for (i = 0; i <= s->rank; i++) {
        n = i < s->rank ? snprintf(buf + used, size - used, "%" PRId64 " ", ferry__shape_dim(s, i))
                        : snprintf(buf + used, size - used, "(%" PRId64 ")", s->count);
        if (n < 0 || (size_t)n >= size - used)
            return ferry__error(FERRY_EOVERFLOW, "a shape of %d axes does not fit %zu bytes",
                                s->rank, size);
        used += (size_t)n;
    }
    return 0;
}
