/* SPDX-License-Identifier: BSD-2-Clause */
/* Shapes and parameters of the kinds without a window. */
#include "op/kind.h"

#include <ferry/status.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_index(uint32_t dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_I32 || dtype == FERRY_I64;
}

int ferry__check_same(const ferry_op_desc *op, const ferry_operand *a, const char *what,
                      const ferry_operand *b)
{
    char has[FERRY__SHAPE_TEXT], wants[FERRY__SHAPE_TEXT];

    if (ferry__operand_same_shape(a, b))
        return 0;
    return ferry_error_set(FERRY_ESHAPE, "%s: %s is %s, must be %s", ferry__op_title(op), what,
                           ferry__operand_text(a, has), ferry__operand_text(b, wants));
}

static int rank_of(const ferry_op_desc *op, const ferry_operand *o, const char *what, uint32_t rank)
{
    return o->rank == rank ? 0 : ferry__misfit(op, what, o->rank, rank);
}

int ferry__check_inner_product(const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *w = &op->in[1], *y = &op->out[0];
    int64_t k;
    int err;

    if (x->rank < 2)
        return ferry__misfit(op, "the rank of x", x->rank, 2);
    err = rank_of(op, w, "the rank of its weights", 2);
    if (!err)
        err = rank_of(op, y, "the rank of y", 2);
    if (err)
        return err;
    k = ferry__operand_count_range(x, 1, x->rank);
    if (w->shape[1] != k)
        return ferry__misfit(op, "axis 1 of its weights", w->shape[1], k);
    if (y->shape[0] != x->shape[0])
        return ferry__misfit(op, "axis 0 of y", y->shape[0], x->shape[0]);
    if (y->shape[1] != w->shape[0])
        return ferry__misfit(op, "axis 1 of y", y->shape[1], w->shape[0]);
    if (ferry_op_own_inputs(op) > 2 && (op->in[2].rank != 1 || op->in[2].shape[0] != y->shape[1]))
        return ferry__misfit(op, "the length of its bias", op->in[2].shape[0], y->shape[1]);
    return ferry__check_work(op, y, (double)k);
}

/* Checks the optional operand that beta scales, of `n` inputs. */
static int addend_check(const ferry_op_desc *op, uint32_t n)
{
    const ferry_operand *y = &op->out[0];

    if (n < 3)
        return op->params.gemm.beta == 0
                   ? 0
                   : ferry_error_set(FERRY_EINVAL,
                                     "batched gemm: beta is %g, must be 0 without in[2]",
                                     op->params.gemm.beta);
    if (op->in[2].shape[1] != y->shape[1])
        return ferry__misfit(op, "the rows of in[2]", op->in[2].shape[1], y->shape[1]);
    if (op->in[2].shape[2] != y->shape[2])
        return ferry__misfit(op, "the columns of in[2]", op->in[2].shape[2], y->shape[2]);
    return 0;
}

int ferry__check_batched_gemm(const ferry_op_desc *op)
{
    const ferry_operand *a = &op->in[0], *b = &op->in[1], *y = &op->out[0];
    uint32_t n = ferry_op_own_inputs(op), i;
    int err = 0;

    for (i = 0; !err && i < n; i++)
        err = rank_of(op, &op->in[i], "the rank of an input", 3);
    if (!err)
        err = rank_of(op, y, "the rank of out[0]", 3);
    for (i = 0; !err && i < n; i++)
        if (op->in[i].shape[0] != 1 && op->in[i].shape[0] != y->shape[0])
            err = ferry__misfit(op, "the batch of an input", op->in[i].shape[0], y->shape[0]);
    if (err)
        return err;
    if (a->shape[1] != y->shape[1])
        return ferry__misfit(op, "the rows of in[0]", a->shape[1], y->shape[1]);
    if (b->shape[1] != a->shape[2])
        return ferry__misfit(op, "the rows of in[1]", b->shape[1], a->shape[2]);
    if (b->shape[2] != y->shape[2])
        return ferry__misfit(op, "the columns of in[1]", b->shape[2], y->shape[2]);
    err = ferry__check_work(op, y, (double)a->shape[2]);
    return err ? err : addend_check(op, n);
}

int ferry__check_function(const ferry_op_desc *op, const char *what, uint32_t function)
{
    return function < FERRY_UNARY_COUNT ? 0
                                        : ferry__bad(op, what, function, 0, FERRY_UNARY_COUNT - 1);
}

int ferry__check_unary(const ferry_op_desc *op)
{
    int err = ferry__check_function(op, "unary.function", op->params.unary.function);

    return err ? err : ferry__check_same(op, &op->out[0], "out[0]", &op->in[0]);
}

int ferry__check_repeated(const ferry_op_desc *op, const ferry_operand *o, const char *what,
                          const ferry_operand *whole)
{
    char text[48];
    uint32_t axis;

    if (o->rank != whole->rank) {
        snprintf(text, sizeof text, "the rank of %s", what);
        return ferry__misfit(op, text, o->rank, whole->rank);
    }
    for (axis = 0; axis < whole->rank; axis++)
        if (o->shape[axis] != 1 && o->shape[axis] != whole->shape[axis]) {
            snprintf(text, sizeof text, "axis %u of %s", axis, what);
            return ferry__misfit(op, text, o->shape[axis], whole->shape[axis]);
        }
    return 0;
}

int ferry__check_binary(const ferry_op_desc *op)
{
    uint32_t function = op->params.binary.function, n = ferry_op_own_inputs(op), i;
    bool three = function == FERRY_BINARY_NORMALISE;

    if (function > FERRY_BINARY_QUOTIENT)
        return ferry__bad(op, "binary.function", function, 0, FERRY_BINARY_QUOTIENT);
    if ((three && n != 3) || (n == 3 && !three && function != FERRY_BINARY_SCALE))
        return ferry__bad(op, "the number of inputs of this function", n, three ? 3 : 2,
                          three ? 3 : 2);
    for (i = 0; i < n; i++) {
        char what[16];
        int err;

        snprintf(what, sizeof what, "in[%u]", i);
        err = ferry__check_repeated(op, &op->in[i], what, &op->out[0]);
        if (err)
            return err;
    }
    return 0;
}

int ferry__check_axes(const ferry_op_desc *op, const ferry_operand *x)
{
    uint32_t axes = op->params.reduce.axes;

    if (axes >> x->rank || (!axes && x->rank))
        return ferry__bad(op, "the set of axes", axes, x->rank > 0, (1 << x->rank) - 1);
    return 0;
}

int ferry__check_reduced(const ferry_op_desc *op, const ferry_operand *y, const ferry_operand *x)
{
    uint32_t axes = op->params.reduce.axes, axis;
    char what[40];
    int err = ferry__check_axes(op, x);

    if (err)
        return err;
    if (y->rank != x->rank)
        return ferry__misfit(op, "the rank of its result", y->rank, x->rank);
    for (axis = 0; axis < x->rank; axis++) {
        int64_t want = axes >> axis & 1 ? 1 : x->shape[axis];

        if (y->shape[axis] != want) {
            snprintf(what, sizeof what, "axis %u of its result", axis);
            return ferry__misfit(op, what, y->shape[axis], want);
        }
    }
    return 0;
}

int ferry__check_place(const ferry_op_desc *op, const ferry_operand *o, const char *whose)
{
    if (o->dtype == FERRY_F32 || o->dtype == FERRY_I32)
        return 0;
    return ferry_error_set(FERRY_EINVAL, "%s: %s dtype is %u, must be %d or %d",
                           ferry__op_title(op), whose, o->dtype, FERRY_F32, FERRY_I32);
}

int ferry__check_reduce(const ferry_op_desc *op)
{
    uint32_t function = op->params.reduce.function, axes = op->params.reduce.axes;
    int err = ferry__check_reduced(op, &op->out[0], &op->in[0]);

    if (err)
        return err;
    if (function > FERRY_REDUCE_ARGMAX)
        return ferry__bad(op, "reduce.function", function, 0, FERRY_REDUCE_ARGMAX);
    if (function >= FERRY_REDUCE_MAX && !ferry__operand_count(&op->in[0]) &&
        ferry__operand_count(&op->out[0]))
        return ferry_error_set(FERRY_ESHAPE, "reduce: %" PRId64 " maxima of 0 elements",
                               ferry__operand_count(&op->out[0]));
    if (function != FERRY_REDUCE_ARGMAX)
        return 0;
    if (axes & (axes - 1))
        return ferry_error_set(FERRY_EINVAL,
                               "reduce: the set of axes of an index is %u, must have one bit, for "
                               "example %u",
                               axes, axes & -axes);
    return ferry__check_place(op, &op->out[0], "the index's");
}

int ferry__check_moments(const ferry_op_desc *op)
{
    int err = ferry__check_reduced(op, &op->out[0], &op->in[0]);

    return err ? err : ferry__check_reduced(op, &op->out[1], &op->in[0]);
}

int ferry__check_softmax(const ferry_op_desc *op)
{
    if (op->params.softmax.axis >= op->in[0].rank)
        return ferry__bad(op, "softmax.axis", op->params.softmax.axis, 0,
                          (int64_t)op->in[0].rank - 1);
    if (op->params.softmax.logarithm > 1)
        return ferry__bad(op, "softmax.logarithm", op->params.softmax.logarithm, 0, 1);
    return ferry__check_same(op, &op->out[0], "out[0]", &op->in[0]);
}

int ferry__check_lrn(const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0];
    int err;

    if (op->params.lrn.region > FERRY_LRN_WITHIN)
        return ferry__bad(op, "lrn.region", op->params.lrn.region, 0, FERRY_LRN_WITHIN);
    if (op->params.lrn.size < 1 || op->params.lrn.size % 2 == 0 || op->params.lrn.size > INT32_MAX)
        return ferry__bad(op, "lrn.size, an odd number,", op->params.lrn.size, 1, INT32_MAX);
    if (x->rank < (op->params.lrn.region == FERRY_LRN_WITHIN ? 4u : 2u) || x->rank > 5)
        return ferry__misfit(op, "the rank of in[0]", x->rank, 4);
    err = ferry__check_same(op, &op->out[0], "out[0]", x);
    return err || op->n_out < 2 ? err : ferry__check_same(op, &op->out[1], "out[1]", x);
}

int ferry__check_strided_copy(const ferry_op_desc *op)
{
    return ferry__check_same(op, &op->out[0], "out[0]", &op->in[0]);
}

int ferry__check_resize(const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *y = &op->out[0];
    uint32_t i;
    int err = rank_of(op, x, "the rank of x", 4);

    if (!err)
        err = rank_of(op, y, "the rank of y", 4);
    if (err)
        return err;
    if (op->params.resize.method > FERRY_RESIZE_BILINEAR)
        return ferry__bad(op, "resize.method", op->params.resize.method, 0, FERRY_RESIZE_BILINEAR);
    if (op->params.resize.sampling > FERRY_RESIZE_ASYMMETRIC)
        return ferry__bad(op, "resize.sampling", op->params.resize.sampling, 0,
                          FERRY_RESIZE_ASYMMETRIC);
    for (i = 0; i < 2; i++)
        if (y->shape[i] != x->shape[i])
            return ferry__misfit(op, i ? "axis 1 of y" : "axis 0 of y", y->shape[i], x->shape[i]);
    if (ferry__operand_count(y) && !ferry__operand_count(x))
        return ferry_error_set(FERRY_ESHAPE, "%s: %" PRId64 " elements of an image with 0",
                               ferry__op_title(op), ferry__operand_count(y));
    return 0;
}

int ferry__check_roi_pool(const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *rois = &op->in[1], *y = &op->out[0];
    int64_t group = op->params.roi.group, channels;
    int err = rank_of(op, x, "the rank of in[0]", 4);

    if (!err)
        err = rank_of(op, rois, "the rank of in[1], the regions,", 2);
    if (!err)
        err = rank_of(op, y, "the rank of out[0]", 4);
    if (err)
        return err;
    if (!(op->params.roi.spatial_scale > 0) || isinf(op->params.roi.spatial_scale))
        return ferry_error_set(FERRY_EINVAL,
                               "roi pool: the spatial scale is %g, must be finite and positive",
                               op->params.roi.spatial_scale);
    if (rois->shape[1] != 5)
        return ferry__misfit(op, "axis 1 of in[1], the regions,", rois->shape[1], 5);
    if (y->shape[0] != rois->shape[0])
        return ferry__misfit(op, "axis 0 of out[0]", y->shape[0], rois->shape[0]);
    if (group > 4096)
        return ferry__bad(op, "roi.group", group, 0, 4096);
    channels = group ? x->shape[1] / (group * group) : x->shape[1];
    if (group && x->shape[1] % (group * group))
        return ferry__misfit(op, "the channels of in[0]", x->shape[1],
                             (channels + 1) * group * group);
    return y->shape[1] == channels ? 0
                                   : ferry__misfit(op, "axis 1 of out[0]", y->shape[1], channels);
}

/* Checks `rows` (I…, D…) against `table` (T, D…) and `index` (I…). */
static int rows_check(const ferry_op_desc *op, const ferry_operand *rows,
                      const ferry_operand *table, const ferry_operand *index)
{
    uint32_t i;

    if (!is_index(index->dtype))
        return ferry_error_set(FERRY_EINVAL, "%s: the index's dtype is %u, must be %d, %d or %d",
                               ferry__op_title(op), index->dtype, FERRY_F32, FERRY_I32, FERRY_I64);
    if (table->rank < 1 || rows->rank != index->rank + table->rank - 1)
        return ferry__misfit(op, "the rank of its rows", rows->rank,
                             (int64_t)index->rank + table->rank - 1);
    for (i = 0; i < rows->rank; i++) {
        int64_t want = i < index->rank ? index->shape[i] : table->shape[i - index->rank + 1];

        if (rows->shape[i] != want)
            return ferry__misfit(op, "an axis of its rows", rows->shape[i], want);
    }
    return 0;
}

int ferry__check_gather(const ferry_op_desc *op)
{
    return rows_check(op, &op->out[0], &op->in[0], &op->in[1]);
}

int ferry__check_scatter_add(const ferry_op_desc *op)
{
    return rows_check(op, &op->in[0], &op->out[0], &op->in[1]);
}

int ferry__check_random(const ferry_op_desc *op)
{
    double a = op->params.random.a, b = op->params.random.b;

    if (op->params.random.distribution > FERRY_RANDOM_BERNOULLI)
        return ferry__bad(op, "random.distribution", op->params.random.distribution, 0,
                          FERRY_RANDOM_BERNOULLI);
    if (!isfinite(a) || !isfinite(b) ||
        (op->params.random.distribution == FERRY_RANDOM_BERNOULLI && (a < 0 || a > 1)))
        return ferry_error_set(FERRY_EINVAL, "random: parameters %g and %g", a, b);
    return 0;
}

int ferry__check_update(const ferry_op_desc *op)
{
    uint32_t i;

    if (op->params.update.solver > FERRY_UPDATE_ADAM)
        return ferry__bad(op, "update.solver", op->params.update.solver, 0, FERRY_UPDATE_ADAM);
    if (op->n_out != (op->params.update.solver >= FERRY_UPDATE_ADADELTA ? 3u : 2u))
        return ferry__misfit(op, "the number of its outputs", op->n_out,
                             op->params.update.solver >= FERRY_UPDATE_ADADELTA ? 3 : 2);
    for (i = 0; i < op->n_out; i++) {
        int err = ferry__check_same(op, &op->out[i], "an output", &op->in[0]);

        if (err)
            return err;
    }
    return 0;
}

int ferry__check_named(const ferry_op_desc *op)
{
    if (!memchr(op->params.named.name, 0, FERRY_OP_NAME) || !op->params.named.name[0])
        return ferry_error_set(FERRY_EINVAL, "named operation: it has no name");
    if (op->params.named.bytes > sizeof op->params.named.block)
        return ferry__bad(op, "named.bytes", op->params.named.bytes, 0,
                          sizeof op->params.named.block);
    return 0;
}
