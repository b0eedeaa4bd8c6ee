/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts operators that move elements. */
#include "net/import/fold.h"
#include "net/import/ops.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

void ferry__import_reshape_op(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    struct ferry__import_shape shape = ferry__import_reshaped(im, &x->shape);

    if (!im->err)
        ferry__import_give(im, 0, ferry__import_reshape(im, x, &shape));
}

void ferry__import_transpose(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int64_t order[FERRY_OP_AXES];

    ferry__import_order(im, x->shape.rank, order);
    if (!im->err)
        ferry__import_give(im, 0, ferry__import_permute(im, x, order));
}

/* ---- joining and dividing ------------------------------------------------------------------- */

static struct ferry__import_value *joined(struct ferry__import *im, struct ferry__import_value **x,
                                          int n, int axis)
{
    struct ferry__import_shape shape = x[0]->shape;

    for (int i = 1; !im->err && i < n; i++) {
        const struct ferry__import_shape *other = &x[i]->shape;

        for (int k = 0; k < shape.rank; k++)
            if (other->rank != shape.rank || (k != axis && other->dim[k] != shape.dim[k]))
                ferry__import_fail(im, FERRY_EFORMAT, "input %d has another shape", i);
        if (__builtin_add_overflow(shape.dim[axis], other->dim[axis], &shape.dim[axis]))
            ferry__import_fail(im, FERRY_EFORMAT, "its result would have an invalid shape");
    }
    if (n == 1)
        return x[0];
    ferry__import_layer(im, "Concat", "concat_param");
    ferry__import_put(im, "axis", axis);
    for (int i = 0; i < n; i++)
        ferry__import_bottom(im, x[i]);
    return ferry__import_top(im, &shape);
}

#define MOST 512

/*
 * Replaces the first inputs by the longest earlier concatenation of exactly these, since models of
 * DenseNet concatenate all earlier outputs again for each layer. Returns the number of inputs that
 * are left.
 */
static int begin_with_joined(struct ferry__import_value **x, int n, int axis)
{
    struct ferry__import_value *join = x[0]->join;

    if (!join || join->axis != axis || join->n_parts >= n ||
        memcmp(x, join->parts, (size_t)join->n_parts * sizeof *x) != 0)
        return n;
    n -= join->n_parts - 1;
    memmove(x + 1, x + join->n_parts, (size_t)(n - 1) * sizeof *x);
    x[0] = join;
    return n;
}

/*
 * Records that `made` is the concatenation of the parts, for later concatenations that begin with
 * them.
 */
static void keep_joined(struct ferry__import *im, struct ferry__import_value *made,
                        struct ferry__import_value *const *parts, int n, int axis)
{
    size_t size = (size_t)n * sizeof *parts;

    made->parts = im->err ? NULL : ferry__mem_alloc(&im->arena, size);
    if (!made->parts) {
        ferry__import_no_memory(im);
        return;
    }
    memcpy(made->parts, parts, size);
    made->n_parts = n;
    made->axis = axis;
    made->parts[0]->join = made;
}

void ferry__import_concat(struct ferry__import *im)
{
    struct ferry__import_value *x[MOST], *all[MOST], *made;
    int n = ferry__import_input_count(im), axis, i;

    if (n < 1 || n > MOST)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "%d inputs", n);
    for (i = 0; !im->err && i < n; i++)
        x[i] = all[i] = ferry__import_input(im, i);
    if (im->err)
        return;
    axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 1), x[0]->shape.rank);
    if (im->err)
        return;
    made = joined(im, x, begin_with_joined(x, n, axis), axis);
    if (!im->err && n > 1)
        keep_joined(im, made, all, n, axis);
    if (!im->err)
        ferry__import_give(im, 0, made);
}

/* The number of elements of each output: from the node, or as equal as possible. */
static void parts_of(struct ferry__import *im, int64_t dim, int n, int64_t *out)
{
    int given = ferry__import_list(im, 1, "split", out, MOST), i;
    int64_t each = (dim + n - 1) / n, sum = 0;

    if (!im->err && given && given != n)
        ferry__import_fail(im, FERRY_EFORMAT, "%d sizes for %d outputs", given, n);
    for (i = 0; !im->err && i < n; i++) {
        if (!given)
            out[i] = i + 1 < n ? each : dim - sum;
        if (out[i] < 1 || out[i] > dim - sum)
            ferry__import_fail(im, FERRY_EFORMAT, "an output of %lld elements", (long long)out[i]);
        sum += out[i];
    }
    if (!im->err && sum != dim)
        ferry__import_fail(im, FERRY_EFORMAT, "sizes of %lld elements in all for %lld",
                           (long long)sum, (long long)dim);
}

void ferry__import_split(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 0), x->shape.rank), i;
    int n = ferry__import_output_count(im);
    struct ferry__import_shape shape = x->shape;
    int64_t parts[MOST], end = 0;

    if (n < 1 || n > MOST)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "%d outputs", n);
    if (!im->err)
        parts_of(im, shape.dim[axis], n, parts);
    if (im->err)
        return;
    if (n == 1) {
        ferry__import_give(im, 0, x);
        return;
    }
    ferry__import_layer(im, "Slice", "slice_param");
    ferry__import_put(im, "axis", axis);
    for (i = 0; i + 1 < n; i++)
        ferry__import_put(im, "slice_point", end += parts[i]);
    ferry__import_bottom(im, x);
    for (i = 0; i < n; i++) {
        shape.dim[axis] = parts[i];
        ferry__import_give(im, i, ferry__import_top(im, &shape));
    }
}

/* ---- parts ---------------------------------------------------------------------------------- */

/*
 * Adds a StridedSlice: elements start, start + step, … of the axes whose size changes; the result
 * has `shape`.
 */
static struct ferry__import_value *sliced(struct ferry__import *im, struct ferry__import_value *x,
                                          const struct ferry__import_shape *shape,
                                          const int64_t *start, const int64_t *step)
{
    ferry__import_layer(im, "StridedSlice", "strided_slice_param");
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] == x->shape.dim[i])
            continue;
        ferry__import_put(im, "axis", i);
        ferry__import_put(im, "begin", start[i]);
        ferry__import_put(im, "end", start[i] + (shape->dim[i] - 1) * step[i] + 1);
        ferry__import_put(im, "step", step[i]);
    }
    ferry__import_bottom(im, x);
    return ferry__import_top(im, shape);
}

void ferry__import_slice(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int64_t start[FERRY_OP_AXES], step[FERRY_OP_AXES];
    struct ferry__import_shape shape = ferry__import_sliced(im, &x->shape, start, step);
    bool all = true;

    for (int i = 0; !im->err && i < shape.rank; i++) {
        if (step[i] < 0 && shape.dim[i] > 1)
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "a step of %lld", (long long)step[i]);
        if (!shape.dim[i])
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "a result without elements");
        step[i] = step[i] < 0 ? 1 : step[i];
        all = all && shape.dim[i] == x->shape.dim[i];
    }
    if (!im->err)
        ferry__import_give(im, 0, all ? x : sliced(im, x, &shape, start, step));
}

/* Takes `n` elements of an axis from `first` on, `step` apart. */
static struct ferry__import_value *taken(struct ferry__import *im, struct ferry__import_value *x,
                                         int axis, int64_t first, int64_t step, int64_t n)
{
    struct ferry__import_shape shape = x->shape;
    int64_t starts[FERRY_OP_AXES] = { 0 }, steps[FERRY_OP_AXES];

    for (int i = 0; i < FERRY_OP_AXES; i++)
        steps[i] = 1;
    starts[axis] = first;
    steps[axis] = step;
    shape.dim[axis] = n;
    return n == x->shape.dim[axis] ? x : sliced(im, x, &shape, starts, steps);
}

/* Reads the indices of Gather, from 0 on; returns their number, or 0 after a failure. */
static int read_indices(struct ferry__import *im, const struct ferry__import_tensor *t, int64_t dim,
                        int64_t *out)
{
    if (!im->err && (t->count < 1 || t->count > MOST))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "%lld indices in %d axes", (long long)t->count,
                           t->shape.rank);
    for (int64_t i = 0; !im->err && i < t->count; i++) {
        out[i] = ferry__import_tensor_integer(t, i);
        out[i] += out[i] < 0 ? dim : 0;
        if (out[i] < 0 || out[i] >= dim)
            ferry__import_fail(im, FERRY_EFORMAT, "index %lld of %lld elements", (long long)out[i],
                               (long long)dim);
    }
    return im->err ? 0 : (int)t->count;
}

/*
 * Converts Gather with constant indices: one slice if they have equal distances, otherwise one
 * slice for each.
 */
void ferry__import_gather(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y, *parts[MOST];
    const struct ferry__import_tensor *t = ferry__import_constant(im, 1);
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 0), x->shape.rank), i;
    struct ferry__import_shape shape = { 0 };
    int64_t at[MOST], step;
    int n = read_indices(im, t, x->shape.dim[axis], at);
    bool even;

    if (!n)
        return;
    step = n > 1 ? at[1] - at[0] : 1;
    for (i = 1, even = step > 0; i < n; i++)
        even = even && at[i] - at[i - 1] == step;
    for (i = 0; !even && i < n; i++)
        parts[i] = taken(im, x, axis, at[i], 1, 1);
    y = even ? taken(im, x, axis, at[0], step, n) : joined(im, parts, n, axis);
    shape.rank = y->shape.rank - 1 + t->shape.rank;
    if (shape.rank > FERRY_OP_AXES)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its result has %d axes", shape.rank);
    for (i = 0; !im->err && i < shape.rank; i++)
        shape.dim[i] = i < axis                   ? y->shape.dim[i]
                       : i < axis + t->shape.rank ? t->shape.dim[i - axis]
                                                  : y->shape.dim[i - t->shape.rank + 1];
    if (!im->err)
        ferry__import_give(im, 0, ferry__import_reshape(im, y, &shape));
}

/* ---- repeating ------------------------------------------------------------------------------ */

/* Converts Tile, from the repeats of each axis, and Expand, from the shape to broadcast to. */
void ferry__import_tile(struct ferry__import *im)
{
    bool tile = !strcmp(ferry__import_operator(im), "Tile");
    struct ferry__import_value *x = ferry__import_input(im, 0);
    struct ferry__import_shape shape = x->shape, given = { 0 }, wide = { 0 };
    int n = ferry__import_constants(im, 1, given.dim, FERRY_OP_AXES), i;

    given.rank = n < 0 ? 0 : n;
    if (!im->err && tile && n != x->shape.rank)
        ferry__import_fail(im, FERRY_EFORMAT, "%d repeats for %d axes", n, x->shape.rank);
    if (!im->err && !tile) {
        shape = ferry__import_broadcast(im, &x->shape, &given);
        wide.rank = shape.rank;
        for (i = 0; i < shape.rank; i++) {
            int own = i - (shape.rank - x->shape.rank);

            wide.dim[i] = own < 0 ? 1 : x->shape.dim[own];
            given.dim[i] = shape.dim[i] / (wide.dim[i] ? wide.dim[i] : 1);
        }
        x = ferry__import_reshape(im, x, &wide);
    }
    for (i = 0; !im->err && i < x->shape.rank; i++) {
        if (given.dim[i] == 1)
            continue;
        if (given.dim[i] < 1 || given.dim[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "%lld repeats", (long long)given.dim[i]);
        shape = x->shape;
        if (__builtin_mul_overflow(shape.dim[i], given.dim[i], &shape.dim[i]))
            ferry__import_fail(im, FERRY_EFORMAT, "its result would have an invalid shape");
        ferry__import_layer(im, "Tile", "tile_param");
        ferry__import_put(im, "axis", i);
        ferry__import_put(im, "tiles", given.dim[i]);
        ferry__import_bottom(im, x);
        x = ferry__import_top(im, &shape);
    }
    ferry__import_give(im, 0, x);
}

/* ---- DepthToSpace --------------------------------------------------------------------------- */

/*
 * Converts DepthToSpace and SpaceToDepth: a reshape to six axes, a permutation, and a reshape back.
 */
void ferry__import_depth_to_space(struct ferry__import *im)
{
    static const int64_t dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 };
    static const int64_t from_dcr[] = { 0, 3, 5, 1, 2, 4 }, from_crd[] = { 0, 1, 3, 5, 2, 4 };
    bool to_space = !strcmp(ferry__import_operator(im), "DepthToSpace");
    bool columns = !strcmp(ferry__import_string(im, "mode", "DCR"), "CRD");
    int64_t b = ferry__import_integer(im, "blocksize", 0);
    struct ferry__import_value *x = ferry__import_input(im, 0);
    const int64_t *d = x->shape.dim;
    struct ferry__import_shape six, out;

    if (!im->err && (x->shape.rank != 4 || b < 1 || b > 4096 ||
                     (to_space ? d[1] % (b * b) : d[2] % b + d[3] % b)))
        ferry__import_fail(im, FERRY_EFORMAT, "blocks of %lld", (long long)b);
    if (im->err)
        return;
    if (to_space) {
        int64_t c = d[1] / (b * b);

        six = (struct ferry__import_shape){
            6, { d[0], columns ? c : b, b, columns ? b : c, d[2], d[3] }
        };
        out = (struct ferry__import_shape){ 4, { d[0], c, d[2] * b, d[3] * b } };
    } else {
        six = (struct ferry__import_shape){ 6, { d[0], d[1], d[2] / b, b, d[3] / b, b } };
        out = (struct ferry__import_shape){ 4, { d[0], d[1] * b * b, d[2] / b, d[3] / b } };
    }
    x = ferry__import_reshape(im, x, &six);
    x = ferry__import_permute(im, x,
                              to_space  ? columns ? crd : dcr
                              : columns ? from_crd
                                        : from_dcr);
    ferry__import_give(im, 0, ferry__import_reshape(im, x, &out));
}

/* ---- Pad ------------------------------------------------------------------------------------ */

static struct ferry__import_value *padded(struct ferry__import *im, struct ferry__import_value *x,
                                          const int64_t *begin, const int64_t *end, double value,
                                          const char *mode)
{
    struct ferry__import_shape shape = x->shape;

    ferry__import_layer(im, "Pad", "pad_param");
    for (int i = 0; i < shape.rank; i++) {
        ferry__import_put(im, "begin", begin[i]);
        ferry__import_put(im, "end", end[i]);
        shape.dim[i] += begin[i] + end[i];
    }
    if (strcmp(mode, "CONSTANT"))
        ferry__import_put_word(im, "mode", mode);
    if (value != 0)
        ferry__import_put_real(im, "value", value);
    ferry__import_bottom(im, x);
    return ferry__import_top(im, &shape);
}

struct ferry__import_value *ferry__import_padded(struct ferry__import *im,
                                                 struct ferry__import_value *x,
                                                 const int64_t *begin, const int64_t *end,
                                                 double value)
{
    return padded(im, x, begin, end, value, "CONSTANT");
}

/* Reads the pads of all axes, or of the axes that input 3 names. */
static void read_pads(struct ferry__import *im, int rank, int64_t *begin, int64_t *end)
{
    int64_t pads[2 * FERRY_OP_AXES], axes[FERRY_OP_AXES];
    int n = ferry__import_list(im, 1, "pads", pads, 2 * FERRY_OP_AXES), i;
    int n_axes =
        ferry__import_has(im, 3) ? ferry__import_constants(im, 3, axes, FERRY_OP_AXES) : rank;

    if (!im->err && (n != 2 * n_axes || n_axes > rank))
        ferry__import_fail(im, FERRY_EFORMAT, "%d pads for %d axes", n, n_axes);
    for (i = 0; !im->err && i < n_axes; i++) {
        int axis = ferry__import_has(im, 3) ? ferry__import_axis(im, axes[i], rank) : i;

        begin[axis] = pads[i];
        end[axis] = pads[n_axes + i];
        if (begin[axis] < -INT32_MAX || begin[axis] > INT32_MAX || end[axis] < -INT32_MAX ||
            end[axis] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "pads of %lld and %lld", (long long)begin[axis],
                               (long long)end[axis]);
    }
}

void ferry__import_pad(struct ferry__import *im)
{
    const char *mode = ferry__import_string(im, "mode", "constant"), *ours;
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int64_t begin[FERRY_OP_AXES] = { 0 }, end[FERRY_OP_AXES] = { 0 };
    double value = ferry__import_real(im, "value", 0);

    read_pads(im, x->shape.rank, begin, end);
    if (ferry__import_has(im, 2)) {
        const struct ferry__import_tensor *t = ferry__import_constant(im, 2);

        if (!im->err && t->count != 1)
            ferry__import_fail(im, FERRY_EFORMAT, "input 2 is not a scalar");
        value = im->err ? 0 : ferry__import_tensor_real(t, 0);
    }
    ours = !strcmp(mode, "constant")  ? "CONSTANT"
           : !strcmp(mode, "edge")    ? "EDGE"
           : !strcmp(mode, "reflect") ? "REFLECT"
                                      : NULL;
    if (!ours)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "mode %.40s", mode);
    if (!im->err)
        ferry__import_give(im, 0,
                           padded(im, x, begin, end, strcmp(ours, "CONSTANT") ? 0 : value, ours));
}

/* ---- Resize and Upsample -------------------------------------------------------------------- */

/* The name in a layer's enum of a word of ONNX's: the same word in capitals. */
static const char *word_of(struct ferry__import *im, const char *attribute, const char *none,
                           const char *const *words, const char *const *ours)
{
    const char *word = ferry__import_string(im, attribute, none);

    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return ours[i];
    ferry__import_fail(im, FERRY_EUNSUPPORTED, "%s %.40s", attribute, word);
    return ours[0];
}

static void put_method(struct ferry__import *im, bool old)
{
    static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
    static const char *const methods[] = { "NEAREST", "LINEAR", "CUBIC" };
    static const char *const coordinates[] = { "half_pixel", "align_corners", "asymmetric",
                                               "pytorch_half_pixel", NULL };
    static const char *const samplings[] = { "HALF_PIXEL", "ALIGN_CORNERS", "ASYMMETRIC",
                                             "PYTORCH_HALF_PIXEL" };
    static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil", NULL };
    static const char *const roundings[] = { "ROUND_PREFER_FLOOR", "ROUND_PREFER_CEIL", "FLOOR",
                                             "CEIL" };

    if (ferry__import_integer(im, "antialias", 0))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "antialias");
    ferry__import_put_word(im, "method", word_of(im, "mode", "nearest", modes, methods));
    ferry__import_put_word(im, "sampling",
                           word_of(im, "coordinate_transformation_mode",
                                   old ? "asymmetric" : "half_pixel", coordinates, samplings));
    ferry__import_put_word(
        im, "rounding",
        word_of(im, "nearest_mode", old ? "floor" : "round_prefer_floor", nearest, roundings));
    if (ferry__import_attribute(im, "cubic_coeff_a"))
        ferry__import_put_real(im, "cubic_coeff", ferry__import_real(im, "cubic_coeff_a", 0));
    if (ferry__import_integer(im, "exclude_outside", 0))
        ferry__import_put(im, "exclude_outside", 1);
}

/* Scales and sizes of all axes; a 0 means that the other one determines the axis. */
struct target {
    double scale[FERRY_OP_AXES];
    int64_t size[FERRY_OP_AXES];
};

/*
 * Reads the scales or sizes: input 1 of Upsample and of Resize in operator set 10; later inputs 2
 * and 3, for the listed axes.
 */
static void read_target(struct ferry__import *im, const struct ferry__import_shape *x, bool old,
                        struct target *out)
{
    int64_t axes[FERRY_OP_AXES];
    int n_axes = ferry__import_integers(im, "axes", axes, FERRY_OP_AXES), i;
    int n = n_axes > 0 ? n_axes : x->rank, at = old ? 1 : 2;
    const ferry_proto *given = ferry__import_attribute(im, "scales");
    const struct ferry__import_tensor *t = NULL;
    bool sizes = false;

    if (!given) {
        t = ferry__import_has(im, at) ? ferry__import_constant(im, at) : NULL;
        sizes = !old && (!t || !t->count);
        t = sizes ? ferry__import_constant(im, 3) : t;
    }
    if (!im->err && (given ? ferry_proto_value_count(given, "floats") != n : !t || t->count != n))
        ferry__import_fail(im, FERRY_EFORMAT, "scales or sizes are not given for %d axes", n);
    for (i = 0; !im->err && i < n; i++) {
        int axis = n_axes > 0 ? ferry__import_axis(im, axes[i], x->rank) : i;

        if (sizes)
            out->size[axis] = ferry__import_tensor_integer(t, i);
        else
            out->scale[axis] =
                t ? ferry__import_tensor_real(t, i) : ferry_proto_real(given, "floats", i);
    }
}

/* Gives all listed axes one scale, so that the larger or the smaller of them has the given size. */
static void keep_ratio(struct ferry__import *im, const struct ferry__import_shape *x,
                       struct target *target)
{
    const char *policy = ferry__import_string(im, "keep_aspect_ratio_policy", "stretch");
    bool larger = !strcmp(policy, "not_smaller");
    double scale = 0;

    if (im->err || !strcmp(policy, "stretch"))
        return;
    for (int i = 0; i < x->rank; i++) {
        double own = (double)target->size[i] / (double)(x->dim[i] ? x->dim[i] : 1);

        if (target->size[i] && (scale == 0 || (larger ? own > scale : own < scale)))
            scale = own;
    }
    for (int i = 0; i < x->rank; i++)
        if (target->size[i])
            target->size[i] = (int64_t)floor(scale * (double)x->dim[i] + 0.5);
}

void ferry__import_resize(struct ferry__import *im)
{
    bool old = !strcmp(ferry__import_operator(im), "Upsample") || im->opset < 11;
    struct ferry__import_value *x = ferry__import_input(im, 0);
    struct ferry__import_shape shape = x->shape;
    struct target target = { 0 };
    int i, n = 0;

    read_target(im, &x->shape, old, &target);
    keep_ratio(im, &x->shape, &target);
    for (i = 0; !im->err && i < shape.rank; i++) {
        double scaled = floor((double)shape.dim[i] * target.scale[i]);

        if (target.size[i])
            shape.dim[i] = target.size[i];
        else if (target.scale[i] != 0)
            shape.dim[i] = scaled >= 1 && scaled < INT32_MAX ? (int64_t)scaled : -1;
        if (shape.dim[i] < 1 || shape.dim[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "axis %d becomes %lld elements", i,
                               (long long)shape.dim[i]);
        n += shape.dim[i] != x->shape.dim[i] || (target.scale[i] != 0 && target.scale[i] != 1);
    }
    if (im->err)
        return;
    if (!n) {
        ferry__import_give(im, 0, x);
        return;
    }
    ferry__import_layer(im, "Resize", "resize_param");
    for (i = 0; i < shape.rank; i++) {
        if (shape.dim[i] == x->shape.dim[i] &&
            (target.size[i] || target.scale[i] == 0 || target.scale[i] == 1))
            continue;
        ferry__import_put(im, "axis", i);
        if (target.size[i])
            ferry__import_put(im, "size", shape.dim[i]);
        else
            ferry__import_put_real(im, "scale", target.scale[i]);
    }
    put_method(im, old);
    ferry__import_bottom(im, x);
    ferry__import_give(im, 0, ferry__import_top(im, &shape));
}
