/* SPDX-License-Identifier: BSD-2-Clause */
/* Expresses ferry's operations as layers of OpenVINO's opsets. */
#include "openvino.h"

#include <ferry/op_plugin.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes -------------------------------------------------------------------------------- */

static int64_t count_of(uint32_t rank, const int64_t *dim)
{
    int64_t count = 1;

    for (uint32_t i = 0; i < rank; i++)
        count *= dim[i];
    return count;
}

static bool same_dims(const struct ov_value *v, uint32_t rank, const int64_t *dim)
{
    return v->rank == rank && !memcmp(v->dim, dim, rank * sizeof *dim);
}

static bool is_plain(const ferry_operand *o)
{
    int64_t step = 1;

    for (uint32_t i = o->rank; i-- > 0; step *= o->shape[i])
        if (o->shape[i] != 1 && o->stride[i] != step)
            return false;
    return true;
}

static struct ov_value reshaped(struct ov_writer *w, struct ov_value v, uint32_t rank,
                                const int64_t *dim)
{
    struct ov_value in[2] = { v };

    if (same_dims(&v, rank, dim))
        return v;
    in[1] = ov_integers(w, rank, dim);
    return ov_layer(w, "Reshape", 1, "special_zero=\"false\"", in, 2, rank, dim);
}

/*
 * The axis of an edge of which an operand is a part; `out` gets the part's dimensions, *out_first
 * the part's first index on the axis. −1: no such axis.
 */
static int part_axis(const ferry_operand *edge, const ferry_operand *part, uint64_t start,
                     int64_t *out, int64_t *out_first)
{
    int64_t inner = count_of(edge->rank, edge->shape), outer = 1;
    int64_t n = count_of(part->rank, part->shape);

    for (uint32_t a = 0; a < edge->rank; a++) {
        int64_t row = inner, width = outer ? n / outer : 0;

        inner = edge->shape[a] ? inner / edge->shape[a] : 0;
        if (inner && width % inner == 0 && (int64_t)start % inner == 0 && (int64_t)start < row &&
            width < row && n == width * outer) {
            bool rows = outer == 1 && is_plain(part);
            uint32_t i, first = 0;

            /* axes of the part up to `outer` step from row to row, the others are contiguous */
            for (i = 0; !rows && i < part->rank && count_of(i, part->shape) < outer; i++)
                ;
            for (first = i; !rows && i < part->rank && part->shape[i] == 1; i++)
                ;
            if (!rows && first > 0 && count_of(first, part->shape) == outer &&
                part->stride[first - 1] == row) {
                ferry_operand tail = *part;

                tail.rank = part->rank - first;
                memmove(tail.shape, part->shape + first, tail.rank * sizeof *tail.shape);
                memmove(tail.stride, part->stride + first, tail.rank * sizeof *tail.stride);
                rows = is_plain(&tail);
            }
            if (rows) {
                memcpy(out, edge->shape, edge->rank * sizeof *out);
                out[a] = width / inner;
                *out_first = (int64_t)start / inner;
                return (int)a;
            }
        }
        outer *= edge->shape[a];
    }
    return -1;
}

/* ---- operands ------------------------------------------------------------------------------ */

static const ferry_graph_edge *edge_of(const struct ov_lowering *l, const ferry_graph_use *use)
{
    return l->graph->edges[use->edge];
}

/*
 * The contents of an edge. Constants are created at their first use; in a dry run all other
 * contents are too. Without a layer, some parts of the edge were not written.
 */
static struct ov_value *edge_value(struct ov_lowering *l, uint32_t number)
{
    const ferry_graph_edge *e = l->graph->edges[number];
    struct ov_value *v = &l->edges[number];

    if (!v->layer && e->flags & FERRY_GRAPH_CONSTANT)
        *v = ov_constant(l->w, e->operand.rank, e->operand.shape,
                         l->constants ? l->constants[number] : NULL);
    else if (!v->layer && l->w->dry)
        *v = ov_input(l->w, e->operand.rank, e->operand.shape);
    return v;
}

/* Whether an operand is its whole edge, in the edge's order of axes. */
static bool is_whole(const struct ov_lowering *l, const ferry_operand *o,
                     const ferry_graph_use *use)
{
    const ferry_operand *e = &edge_of(l, use)->operand;

    return !use->start && is_plain(o) && count_of(o->rank, o->shape) == count_of(e->rank, e->shape);
}

/*
 * Gets input k in its own shape or, with `edge`, in the shape of its edge. False: it is a part, or
 * has another order of axes.
 */
static bool input(struct ov_lowering *l, const ferry_graph_node *n, uint32_t k, bool edge,
                  struct ov_value *out)
{
    const ferry_operand *o = &n->op->in[k];

    if (o->dtype != FERRY_F32 || !is_whole(l, o, &n->in[k]))
        return false;
    *out = *edge_value(l, n->in[k].edge);
    if (!out->layer)
        return false;
    if (!edge)
        *out = reshaped(l->w, *out, o->rank, o->shape);
    return true;
}

/*
 * Gets an input with one number for each channel of y, or one for all, shaped so that it can be
 * added to y or multiplied by it.
 */
static bool per_channel(struct ov_lowering *l, const ferry_graph_node *n, uint32_t k, uint32_t rank,
                        struct ov_value *out)
{
    int64_t dim[FERRY_OP_AXES] = { 1, 1, 1, 1, 1, 1, 1, 1 };

    dim[rank > 1 ? 1 : 0] = count_of(n->op->in[k].rank, n->op->in[k].shape);
    if (!input(l, n, k, true, out))
        return false;
    *out = reshaped(l->w, *out, rank, dim);
    return true;
}

static struct ov_value scalar(struct ov_writer *w, double value)
{
    const float number = (float)value;

    return ov_constant(w, 0, NULL, &number);
}

/* Adds a layer of one or two inputs whose result has the dimensions of the first. */
static struct ov_value apply(struct ov_writer *w, const char *type, const char *attributes,
                             struct ov_value x, const struct ov_value *u)
{
    struct ov_value in[2] = { x };

    if (u)
        in[1] = *u;
    return ov_layer(w, type, 1, attributes, in, u ? 2 : 1, x.rank, x.dim);
}

static struct ov_value apply_scalar(struct ov_writer *w, const char *type, struct ov_value x,
                                    double number)
{
    struct ov_value u = scalar(w, number);

    return apply(w, type, "", x, &u);
}

/* Adds b·x + c, without the layers that have no effect. */
static struct ov_value affine(struct ov_writer *w, struct ov_value x, double b, double c)
{
    if (b < 1 || b > 1)
        x = apply_scalar(w, "Multiply", x, b);
    return c < 0 || c > 0 ? apply_scalar(w, "Add", x, c) : x;
}

/* Adds x > 0 ? x : u·x. */
static struct ov_value prelu(struct ov_writer *w, struct ov_value x, const struct ov_value *u)
{
    struct ov_value below = apply_scalar(w, "Minimum", x, 0);

    below = apply(w, "Multiply", "", below, u);
    x = apply(w, "ReLU", "", x, NULL);
    return apply(w, "Add", "", x, &below);
}

static bool unary(struct ov_writer *w, uint32_t function, const double *p, struct ov_value *x)
{
    char text[96];
    struct ov_value slope;

    switch (function) {
    case FERRY_UNARY_RELU:
        slope = p[0] < 0 || p[0] > 0 ? scalar(w, p[0]) : *x;
        *x = p[0] < 0 || p[0] > 0 ? prelu(w, *x, &slope) : apply(w, "ReLU", "", *x, NULL);
        return true;
    case FERRY_UNARY_ELU:
        snprintf(text, sizeof text, "alpha=\"%.9g\"", p[0]);
        *x = apply(w, "Elu", text, *x, NULL);
        return true;
    case FERRY_UNARY_SIGMOID:
        *x = apply(w, "Sigmoid", "", *x, NULL);
        return true;
    case FERRY_UNARY_TANH:
        *x = apply(w, "Tanh", "", *x, NULL);
        return true;
    case FERRY_UNARY_ABS:
        *x = apply(w, "Abs", "", *x, NULL);
        return true;
    case FERRY_UNARY_POWER:
        *x = affine(w, *x, p[1], p[2]);
        if (p[0] < 1 || p[0] > 1)
            *x = apply_scalar(w, "Power", *x, p[0]);
        return true;
    case FERRY_UNARY_EXP:
        *x = apply(w, "Exp", "", affine(w, *x, p[0], p[1]), NULL);
        return true;
    case FERRY_UNARY_CLIP:
        snprintf(text, sizeof text, "min=\"%.9g\" max=\"%.9g\"", p[0], p[1]);
        *x = apply(w, "Clamp", text, *x, NULL);
        return true;
    default:
        return false;
    }
}

/* ---- kinds --------------------------------------------------------------------------------- */

static void list(char *out, size_t size, const char *name, uint32_t n, const int64_t *values)
{
    int length = snprintf(out, size, "%s=\"", name);

    for (uint32_t i = 0; i < n; i++)
        length +=
            snprintf(out + length, size - (size_t)length, "%s%" PRId64, i ? "," : "", values[i]);
    snprintf(out + length, size - (size_t)length, "\" ");
}

/*
 * Reshapes weights (O, C/g, …), or transposed ones (C, O/g, …), to (g, O/g, C/g, …) or (g, C/g,
 * O/g, …).
 */
static struct ov_value grouped(struct ov_writer *w, struct ov_value weights, int64_t group)
{
    int64_t dim[FERRY_OP_AXES + 1] = { group, weights.dim[0] / group };

    memcpy(dim + 2, weights.dim + 1, (weights.rank - 1) * sizeof *dim);
    return reshaped(w, weights, weights.rank + 1, dim);
}

static bool convolution(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    static const char *const types[2][2] = { { "Convolution", "GroupConvolution" },
                                             { "ConvolutionBackpropData",
                                               "GroupConvolutionBackpropData" } };
    const ferry_op_window *win = &n->op->params.window;
    const ferry_operand *o = &n->op->out[0];
    struct ov_value in[2], bias;
    char text[512], *at = text;
    uint32_t own = ferry_op_own_inputs(n->op);

    if (o->rank < 3 || o->rank > 5 || !input(l, n, 0, false, &in[0]) ||
        !input(l, n, 1, false, &in[1]))
        return false;
    if (win->group > 1)
        in[1] = grouped(l->w, in[1], win->group);
    list(at, sizeof text, "strides", win->axes, win->stride);
    list(at + strlen(at), 384, "dilations", win->axes, win->dilation);
    list(at + strlen(at), 256, "pads_begin", win->axes, win->pad);
    list(at + strlen(at), 128, "pads_end", win->axes, win->pad_end);
    *y = ov_layer(l->w, types[win->transposed][win->group > 1], 1, text, in, 2, o->rank, o->shape);
    if (own < 3)
        return true;
    if (!per_channel(l, n, 2, o->rank, &bias))
        return false;
    *y = apply(l->w, "Add", "", *y, &bias);
    return true;
}

static bool inner_product(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    const ferry_operand *o = &n->op->out[0], *w = &n->op->in[1];
    int64_t flat[2] = { o->shape[0], w->shape[1] };
    bool turned = !is_plain(w) && w->stride[0] == 1 && w->stride[1] == w->shape[0];
    uint32_t own = ferry_op_own_inputs(n->op);
    struct ov_value in[2], bias;

    if (!input(l, n, 0, true, &in[0]) || n->in[1].start || w->dtype != FERRY_F32 ||
        (!turned && !is_whole(l, w, &n->in[1])))
        return false;
    in[0] = reshaped(l->w, in[0], 2, flat);
    in[1] = reshaped(l->w, *edge_value(l, n->in[1].edge), 2,
                     turned ? (int64_t[]){ w->shape[1], w->shape[0] } : w->shape);
    *y = ov_layer(l->w, "MatMul", 1,
                  turned ? "transpose_a=\"false\" transpose_b=\"false\""
                         : "transpose_a=\"false\" transpose_b=\"true\"",
                  in, 2, 2, o->shape);
    if (own < 3)
        return true;
    if (!per_channel(l, n, 2, 2, &bias))
        return false;
    *y = apply(l->w, "Add", "", *y, &bias);
    return true;
}

/*
 * Finds the padding at the end with which the number of windows, rounded down, is the output's
 * size.
 */
static bool pool_ends(const ferry_graph_node *n, int64_t *ends, bool *out_padded, bool *out_over)
{
    const ferry_op_window *win = &n->op->params.window;

    *out_padded = *out_over = false;
    for (uint32_t i = 0; i < win->axes; i++) {
        int64_t in = n->op->in[0].shape[2 + i], out = n->op->out[0].shape[2 + i];
        int64_t end = (out - 1) * win->stride[i] + win->kernel[i] - in - win->pad[i];

        *out_padded = *out_padded || win->pad[i] || win->pad_end[i];
        *out_over = *out_over || end > win->pad_end[i];
        ends[i] = end > 0 ? end : 0;
        if (win->dilation[i] != 1 || win->pad[i] >= win->kernel[i] || ends[i] >= win->kernel[i] ||
            (in + win->pad[i] + ends[i] - win->kernel[i]) / win->stride[i] + 1 != out)
            return false;
    }
    return true;
}

static bool pool(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    const ferry_op_window *win = &n->op->params.window;
    const ferry_operand *o = &n->op->out[0];
    bool max = n->op->params.pool.method == FERRY_POOL_MAX, padded, over, valid;
    int64_t ends[FERRY_OP_SPATIAL];
    char text[512], *at = text;
    struct ov_value x;

    valid = n->op->params.pool.divisor == FERRY_POOL_DIVISOR_VALID;
    if (n->op->n_out > 1 || o->rank < 3 || o->rank > 5 || !pool_ends(n, ends, &padded, &over) ||
        (!max && !valid && padded && over) || !input(l, n, 0, false, &x))
        return false;
    list(at, sizeof text, "strides", win->axes, win->stride);
    list(at + strlen(at), 384, "kernel", win->axes, win->kernel);
    list(at + strlen(at), 256, "pads_begin", win->axes, win->pad);
    list(at + strlen(at), 128, "pads_end", win->axes, ends);
    strcat(text, "rounding_type=\"floor\"");
    if (!max)
        strcat(text, valid || !padded ? " exclude-pad=\"true\"" : " exclude-pad=\"false\"");
    *y = ov_layer(l->w, max ? "MaxPool" : "AvgPool", 1, text, &x, 1, o->rank, o->shape);
    return true;
}

/* Gets operand k of a binary function: it has the shape of x's edge, or is broadcast along axes. */
static bool beside(struct ov_lowering *l, const ferry_graph_node *n, uint32_t k,
                   const struct ov_value *x, struct ov_value *out)
{
    const ferry_operand *o = &n->op->in[k], *y = &n->op->out[0];
    int64_t count = count_of(o->rank, o->shape);

    if (count == count_of(y->rank, y->shape)) {
        if (!input(l, n, k, true, out))
            return false;
        *out = reshaped(l->w, *out, x->rank, x->dim);
        return true;
    }
    if (same_dims(x, y->rank, y->shape))
        return input(l, n, k, false, out);
    /* y is treated as (N, C, inner) */
    if (y->rank != 3 || x->rank < 2 || y->shape[0] != x->dim[0] || y->shape[1] != x->dim[1] ||
        (count != 1 && (count != y->shape[1] || o->shape[1] != count)))
        return false;
    return per_channel(l, n, k, x->rank, out);
}

static bool binary(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    const double a = n->op->params.binary.a, b = n->op->params.binary.b;
    uint32_t function = n->op->params.binary.function;
    struct ov_value x, u, v;

    if (count_of(n->op->in[0].rank, n->op->in[0].shape) !=
            count_of(n->op->out[0].rank, n->op->out[0].shape) ||
        !input(l, n, 0, true, &x) || !beside(l, n, 1, &x, &u) ||
        (n->op->n_in > 2 && !beside(l, n, 2, &x, &v)))
        return false;
    if (function == FERRY_BINARY_SUM) {
        x = affine(l->w, x, a, 0);
        u = affine(l->w, u, b, 0);
    }
    if (function == FERRY_BINARY_PRELU) {
        *y = prelu(l->w, x, &u);
        return true;
    }
    *y = apply(l->w,
               function == FERRY_BINARY_SUM         ? "Add"
               : function == FERRY_BINARY_MAX       ? "Maximum"
               : function == FERRY_BINARY_QUOTIENT  ? "Divide"
               : function == FERRY_BINARY_NORMALISE ? "Subtract"
                                                    : "Multiply",
               "", x, &u);
    if (n->op->n_in > 2)
        *y = apply(l->w, function == FERRY_BINARY_NORMALISE ? "Multiply" : "Add", "", *y, &v);
    return function <= FERRY_BINARY_QUOTIENT;
}

static bool softmax(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    struct ov_value x;
    char text[32];

    if (n->op->params.softmax.logarithm || !input(l, n, 0, false, &x))
        return false;
    snprintf(text, sizeof text, "axis=\"%u\"", n->op->params.softmax.axis);
    *y = apply(l->w, "SoftMax", text, x, NULL);
    return true;
}

static bool lrn(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    const int64_t axis = 1;
    struct ov_value x, axes;
    char text[160];

    if (n->op->params.lrn.region != FERRY_LRN_ACROSS || n->op->n_out > 1 ||
        !input(l, n, 0, false, &x))
        return false;
    snprintf(text, sizeof text, "alpha=\"%.9g\" beta=\"%.9g\" bias=\"%.9g\" size=\"%" PRId64 "\"",
             n->op->params.lrn.alpha, n->op->params.lrn.beta, n->op->params.lrn.k,
             n->op->params.lrn.size);
    axes = ov_integers(l->w, 1, &axis);
    *y = apply(l->w, "LRN", text, x, &axes);
    return true;
}

/* Adds a copy of all of an edge, or of a part of it along an axis. */
static bool copy(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    const ferry_operand *edge = &edge_of(l, &n->in[0])->operand;
    int64_t dim[FERRY_OP_AXES], first, numbers[4];
    struct ov_value in[5];
    int axis;

    if (n->op->in[0].dtype != FERRY_F32)
        return false;
    if (input(l, n, 0, true, y))
        return true;
    axis = part_axis(edge, &n->op->in[0], n->in[0].start, dim, &first);
    if (axis < 0)
        return false;
    numbers[0] = first;
    numbers[1] = first + dim[axis];
    numbers[2] = 1;
    numbers[3] = axis;
    in[0] = *edge_value(l, n->in[0].edge);
    for (int i = 0; i < 4; i++)
        in[1 + i] = ov_integers(l->w, 1, &numbers[i]);
    *y = ov_layer(l->w, "Slice", 8, "", in, 5, edge->rank, dim);
    return true;
}

/* ---- results ------------------------------------------------------------------------------- */

static bool epilogue(struct ov_lowering *l, const ferry_graph_node *n, struct ov_value *y)
{
    for (uint32_t i = 0; i < n->op->n_epilogue; i++) {
        const ferry_op_step *step = &n->op->epilogue[i];
        const double p[3] = { step->a, step->b, step->c };
        struct ov_value u;
        bool good;

        if (step->step == FERRY_STEP_UNARY) {
            if (!unary(l->w, step->function, p, y))
                return false;
            continue;
        }
        good = step->step == FERRY_STEP_ADD ? input(l, n, step->operand, true, &u)
                                            : per_channel(l, n, step->operand, y->rank, &u);
        if (!good)
            return false;
        if (step->step == FERRY_STEP_ADD)
            u = reshaped(l->w, u, y->rank, y->dim);
        *y = step->step == FERRY_STEP_PRELU
                 ? prelu(l->w, *y, &u)
                 : apply(l->w, step->step == FERRY_STEP_SCALE ? "Multiply" : "Add", "", *y, &u);
    }
    return true;
}

/* Concatenates the parts of an edge along one axis, once all of them are written. */
static void concatenate(struct ov_lowering *l, uint32_t last)
{
    const ferry_graph_use *to = &l->graph->nodes[last]->out[0];
    const ferry_operand *edge = &edge_of(l, to)->operand;
    struct ov_value *in = calloc(last + 1, sizeof *in);
    int64_t dim[FERRY_OP_AXES], first, next = 0;
    int axis = -1, n = 0;
    char text[32];

    if (!in)
        l->w->failed = true;
    for (bool more = true; in && more;) { /* sorts the parts by their first indices */
        more = false;
        for (uint32_t i = 0; i <= last && !more; i++) {
            const ferry_graph_node *node = l->graph->nodes[i];
            int a = node->out[0].edge == to->edge && l->parts[i].layer
                        ? part_axis(edge, &node->op->out[0], node->out[0].start, dim, &first)
                        : -1;

            more = a >= 0 && first == next && (axis < 0 || a == axis);
            if (more) {
                axis = a;
                next += dim[a];
                in[n++] = reshaped(l->w, l->parts[i], edge->rank, dim);
            }
        }
    }
    snprintf(text, sizeof text, "axis=\"%d\"", axis);
    if (in && axis >= 0 && next == edge->shape[axis])
        l->edges[to->edge] = ov_layer(l->w, "Concat", 1, text, in, n, edge->rank, edge->shape);
    free(in);
}

static bool put(struct ov_lowering *l, uint32_t i, struct ov_value y)
{
    const ferry_graph_node *n = l->graph->nodes[i];
    const ferry_operand *edge = &edge_of(l, &n->out[0])->operand;
    int64_t dim[FERRY_OP_AXES], first;

    if (is_whole(l, &n->op->out[0], &n->out[0])) {
        l->edges[n->out[0].edge] = reshaped(l->w, y, edge->rank, edge->shape);
        return true;
    }
    if (part_axis(edge, &n->op->out[0], n->out[0].start, dim, &first) < 0)
        return false;
    if (l->w->dry)
        return true;
    l->parts[i] = y;
    concatenate(l, i);
    return true;
}

bool ov_lower(struct ov_lowering *l, uint32_t i)
{
    const ferry_graph_node *n = l->graph->nodes[i];
    const ferry_op_desc *op = n->op;
    const double p[3] = { op->params.unary.a, op->params.unary.b, op->params.unary.c };
    struct ov_value y = { 0 };
    bool good = op->pass == FERRY_PASS_FORWARD && op->n_out == 1 && op->out[0].dtype == FERRY_F32;

    switch (good ? op->kind : 0) {
    case FERRY_OP_CONVOLUTION:
        good = convolution(l, n, &y);
        break;
    case FERRY_OP_INNER_PRODUCT:
        good = inner_product(l, n, &y);
        break;
    case FERRY_OP_POOL:
        good = pool(l, n, &y);
        break;
    case FERRY_OP_UNARY:
        good = input(l, n, 0, true, &y) && unary(l->w, op->params.unary.function, p, &y);
        break;
    case FERRY_OP_BINARY:
        good = binary(l, n, &y);
        break;
    case FERRY_OP_SOFTMAX:
        good = softmax(l, n, &y);
        break;
    case FERRY_OP_LRN:
        good = lrn(l, n, &y);
        break;
    case FERRY_OP_STRIDED_COPY:
        good = copy(l, n, &y);
        break;
    default:
        return false;
    }
    return good && epilogue(l, n, &y) && put(l, i, y);
}
