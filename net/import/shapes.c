/* SPDX-License-Identifier: BSD-2-Clause */
/* Shapes that nodes describe, for folding and for layers. */
#include "net/import/fold.h"

#include <ferry/status.h>

#include <string.h>

/* ---- Reshape and its kin -------------------------------------------------------------------- */

/*
 * The shape of Reshape: a dimension of −1 is computed, one of 0 is copied from the input unless
 * allowzero is set.
 */
static struct ferry__import_shape reshaped(struct ferry__import *im,
                                           const struct ferry__import_shape *from)
{
    int64_t count = ferry__import_shape_count(from), rest = 1;
    bool zeros = ferry__import_integer(im, "allowzero", 0) != 0;
    struct ferry__import_shape out = { 0 };
    int n = ferry__import_list(im, 1, "shape", out.dim, FERRY_OP_AXES), infer = -1;

    out.rank = n < 0 ? 0 : n;
    for (int i = 0; !im->err && i < out.rank; i++) {
        if (out.dim[i] == 0 && !zeros && i < from->rank)
            out.dim[i] = from->dim[i];
        if (out.dim[i] == -1 && infer < 0)
            infer = i;
        else if (out.dim[i] < 0 || __builtin_mul_overflow(rest, out.dim[i], &rest))
            ferry__import_fail(im, FERRY_EFORMAT, "dimension %d of its shape is %lld", i,
                               (long long)out.dim[i]);
    }
    if (im->err || infer < 0)
        return out;
    out.dim[infer] = rest ? count / rest : 0;
    return out;
}

static struct ferry__import_shape flattened(struct ferry__import *im,
                                            const struct ferry__import_shape *from)
{
    int64_t axis = ferry__import_integer(im, "axis", 1);
    struct ferry__import_shape out = { 2, { 1, 1 } };

    if (axis < -from->rank || axis > from->rank)
        ferry__import_fail(im, FERRY_EFORMAT, "axis %lld of %d", (long long)axis, from->rank);
    if (axis < 0)
        axis += from->rank;
    for (int i = 0; !im->err && i < from->rank; i++)
        out.dim[i >= axis] *= from->dim[i];
    return out;
}

/* Sets bit i if input 1 or the attribute names axis i of a result with `rank` axes. */
static unsigned axes_of(struct ferry__import *im, int rank, int *out_count)
{
    int64_t axes[FERRY_OP_AXES];
    int n = ferry__import_list(im, 1, "axes", axes, FERRY_OP_AXES);
    unsigned out = 0;

    *out_count = n < 0 ? 0 : n;
    for (int i = 0; !im->err && i < n; i++) {
        unsigned bit = 1u << ferry__import_axis(im, axes[i], rank);

        if (out & bit)
            ferry__import_fail(im, FERRY_EFORMAT, "an axis twice");
        out |= bit;
    }
    return out;
}

static struct ferry__import_shape squeezed(struct ferry__import *im,
                                           const struct ferry__import_shape *from)
{
    struct ferry__import_shape out = { 0 };
    int n;
    unsigned axes = axes_of(im, from->rank, &n);

    for (int i = 0; !im->err && i < from->rank; i++) {
        bool goes = n ? axes >> i & 1 : from->dim[i] == 1;

        if (goes && from->dim[i] != 1)
            ferry__import_fail(im, FERRY_EFORMAT, "axis %d has %lld elements", i,
                               (long long)from->dim[i]);
        if (!goes)
            out.dim[out.rank++] = from->dim[i];
    }
    return out;
}

static struct ferry__import_shape unsqueezed(struct ferry__import *im,
                                             const struct ferry__import_shape *from)
{
    int64_t given[FERRY_OP_AXES];
    int n = ferry__import_list(im, 1, "axes", given, FERRY_OP_AXES), at = 0;
    struct ferry__import_shape out = { .rank = from->rank + (n < 0 ? 0 : n) };
    unsigned axes;

    if (out.rank > FERRY_OP_AXES)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its result has %d axes", out.rank);
    if (im->err)
        return (struct ferry__import_shape){ 0 };
    axes = axes_of(im, out.rank, &n);
    for (int i = 0; !im->err && i < out.rank; i++)
        out.dim[i] = axes >> i & 1 ? 1 : from->dim[at++];
    return out;
}

struct ferry__import_shape ferry__import_reshaped(struct ferry__import *im,
                                                  const struct ferry__import_shape *from)
{
    const char *type = ferry__import_operator(im);

    return !strcmp(type, "Reshape")   ? reshaped(im, from)
           : !strcmp(type, "Flatten") ? flattened(im, from)
           : !strcmp(type, "Squeeze") ? squeezed(im, from)
                                      : unsqueezed(im, from);
}

/* ---- Slice and Transpose -------------------------------------------------------------------- */

static int64_t limited(int64_t at, int64_t low, int64_t high)
{
    return at < low ? low : at > high ? high : at;
}

/* Cuts one axis of `dim` elements: returns the first element and the number of elements. */
static int64_t cut(int64_t dim, int64_t *start, int64_t end, int64_t step)
{
    bool back = step < 0;
    int64_t first, last;

    if (!dim)
        return 0;
    first = *start < 0 ? (*start < -dim ? -1 : *start + dim) : *start;
    last = end < 0 ? (end < -dim ? -1 : end + dim) : end;
    first = limited(first, 0, back ? dim - 1 : dim);
    last = limited(last, back ? -1 : 0, dim);
    *start = first;
    if (back)
        return first > last ? (first - last - 1) / -step + 1 : 0;
    return last > first ? (last - first - 1) / step + 1 : 0;
}

struct ferry__import_shape ferry__import_sliced(struct ferry__import *im,
                                                const struct ferry__import_shape *from,
                                                int64_t *start, int64_t *step)
{
    int64_t starts[FERRY_OP_AXES], ends[FERRY_OP_AXES], axes[FERRY_OP_AXES], steps[FERRY_OP_AXES];
    struct ferry__import_shape out = *from;
    int n = ferry__import_list(im, 1, "starts", starts, FERRY_OP_AXES);
    int n_ends = ferry__import_list(im, 2, "ends", ends, FERRY_OP_AXES);
    int n_axes = ferry__import_list(im, 3, "axes", axes, FERRY_OP_AXES);
    int n_steps = ferry__import_list(im, 4, "steps", steps, FERRY_OP_AXES), i;

    for (i = 0; i < FERRY_OP_AXES; i++) {
        start[i] = 0;
        step[i] = 1;
    }
    if (!im->err && (n_ends != n || (n_axes && n_axes != n) || (n_steps && n_steps != n) ||
                     (!n_axes && n > from->rank)))
        ferry__import_fail(im, FERRY_EFORMAT, "%d starts, %d ends, %d axes", n, n_ends, n_axes);
    for (i = 0; !im->err && i < n; i++) {
        int axis = ferry__import_axis(im, n_axes ? axes[i] : i, from->rank);

        step[axis] = n_steps ? limited(steps[i], -INT32_MAX, INT32_MAX) : 1;
        start[axis] = starts[i];
        if (!step[axis])
            ferry__import_fail(im, FERRY_EFORMAT, "a step of 0");
        if (!im->err)
            out.dim[axis] = cut(from->dim[axis], &start[axis], ends[i], step[axis]);
    }
    return out;
}

void ferry__import_order(struct ferry__import *im, int rank, int64_t *order)
{
    int n = ferry__import_integers(im, "perm", order, FERRY_OP_AXES);
    unsigned seen = 0;

    for (int i = 0; !n && i < rank; i++)
        order[i] = rank - 1 - i;
    if (!im->err && n && n != rank)
        ferry__import_fail(im, FERRY_EFORMAT, "an order of %d axes for %d", n, rank);
    for (int i = 0; !im->err && i < rank; i++) {
        if (order[i] < 0 || order[i] >= rank || seen >> order[i] & 1)
            ferry__import_fail(im, FERRY_EFORMAT, "its order of axes is not a permutation");
        else
            seen |= 1u << order[i];
    }
}
