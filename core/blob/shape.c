/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/blob/shape.h"

#include "core/base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies the dims and multiplies them. The product has to fit, and so has that of the dims that are
 * not 0: whether a shape overflows does not depend on where its zeros are.
 */
static int take_dims(int naxes, const int64_t *dims, size_t size, int64_t *to, int64_t *out)
{
    int64_t product = 1, bytes;
    bool zero = false;
    int i;

    for (i = 0; i < naxes; i++) {
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

int ferry__shape_set(struct ferry__shape *s, int naxes, const int64_t *dims, size_t size)
{
    bool shaped = naxes != FERRY_UNSHAPED;
    int err;

    if (!shaped)
        naxes = 0;
    if (naxes < 0 || naxes > FERRY_MAX_AXES)
        return ferry__error(FERRY_EINVAL, "%d axes; there may be 0 to %d", naxes, FERRY_MAX_AXES);
    if (naxes && !dims)
        return ferry__error(FERRY_EINVAL, "NULL dims for %d axes", naxes);
    s->naxes = naxes;
    if (naxes > FERRY__SHAPE_INLINE) {
        s->many = malloc((size_t)naxes * sizeof *s->many);
        if (!s->many)
            return ferry__error(FERRY_ENOMEM, "no memory for %d dims", naxes);
    }
    err = take_dims(naxes, dims, size, naxes > FERRY__SHAPE_INLINE ? s->many : s->few, &s->count);
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
    if (s->naxes > FERRY__SHAPE_INLINE)
        free(s->many);
    s->naxes = 0;
}

void ferry__shape_move(struct ferry__shape *to, struct ferry__shape *from)
{
    ferry__shape_clear(to);
    *to = *from;
    from->naxes = 0; /* its allocation now belongs to the target */
}

int ferry__shape_canonical(const struct ferry__shape *s, int axis)
{
    if (axis < -s->naxes || axis >= s->naxes)
        return ferry__error(FERRY_EINVAL, "axis %d of %d axes", axis, s->naxes);
    return axis < 0 ? axis + s->naxes : axis;
}

int64_t ferry__shape_count(const struct ferry__shape *s, int start, int end)
{
    int64_t product = 1;
    int i;

    if (start < 0 || end < start || end > s->naxes)
        return ferry__error(FERRY_EINVAL, "axes %d to %d of %d axes", start, end, s->naxes);
    for (i = start; i < end; i++)
        product *= ferry__shape_dim(s, i); /* cannot overflow: the shape as a whole does not */
    return product;
}

int64_t ferry__shape_legacy(const struct ferry__shape *s, int axis)
{
    if (s->naxes > 4)
        return ferry__error(FERRY_EINVAL, "legacy accessors need at most 4 axes, not %d", s->naxes);
    if (axis < -4 || axis > 3)
        return ferry__error(FERRY_EINVAL, "legacy axis %d; there are -4 to 3", axis);
    if (axis >= s->naxes || axis < -s->naxes)
        return 1;
    return ferry__shape_dim(s, axis < 0 ? axis + s->naxes : axis);
}

int64_t ferry__shape_offset(const struct ferry__shape *s, int n, const int64_t *index)
{
    int64_t offset = 0;
    int i;

    if (n < 0 || n > s->naxes || (n && !index))
        return ferry__error(FERRY_EINVAL, "%d indices for %d axes", n, s->naxes);
    for (i = 0; i < s->naxes; i++) {
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

    return a->shaped == b->shaped && a->naxes == b->naxes &&
           memcmp(ours, theirs, (size_t)a->naxes * sizeof *ours) == 0;
}

int ferry__shape_string(const struct ferry__shape *s, char *buf, size_t size)
{
    size_t used = 0;
    int i, n;

    for (i = 0; i <= s->naxes; i++) {
        n = i < s->naxes ? snprintf(buf + used, size - used, "%" PRId64 " ", ferry__shape_dim(s, i))
                         : snprintf(buf + used, size - used, "(%" PRId64 ")", s->count);
        if (n < 0 || (size_t)n >= size - used)
            return ferry__error(FERRY_EOVERFLOW, "a shape of %d axes does not fit %zu bytes",
                                s->naxes, size);
        used += (size_t)n;
    }
    return 0;
}
