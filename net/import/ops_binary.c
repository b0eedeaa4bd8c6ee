/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts Add, Sub, Mul, Div, Min, Max, Sum and Mean. */
#include "net/import/fold.h"
#include "net/import/ops.h"

#include <ferry/status.h>

#include <float.h>
#include <string.h>

enum operation { ADD, SUB, MUL, DIV };

static enum operation operation_of(const struct ferry__import *im)
{
    const char *op = ferry__import_operator(im);

    return !strcmp(op, "Add") ? ADD : !strcmp(op, "Sub") ? SUB : !strcmp(op, "Mul") ? MUL : DIV;
}

static bool same_shape(const struct ferry__import_shape *a, const struct ferry__import_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]);
}

/* ---- with a constant ------------------------------------------------------------------------ */

struct ferry__import_tensor ferry__import_constant_affine(struct ferry__import *im,
                                                          const struct ferry__import_tensor *t,
                                                          double a, double b)
{
    void *out;
    struct ferry__import_tensor y = ferry__import_make(im, FERRY__ONNX_FLOAT, &t->shape, &out);

    for (int64_t i = 0; i < y.count; i++)
        ((float *)out)[i] = (float)(a * ferry__import_tensor_real(t, i) + b);
    return y;
}

static struct ferry__import_tensor inverse(struct ferry__import *im,
                                           const struct ferry__import_tensor *t)
{
    void *out;
    struct ferry__import_tensor y = ferry__import_make(im, FERRY__ONNX_FLOAT, &t->shape, &out);

    for (int64_t i = 0; i < y.count; i++)
        ((float *)out)[i] = (float)(1 / ferry__import_tensor_real(t, i));
    return y;
}

static struct ferry__import_value *power(struct ferry__import *im, struct ferry__import_value *x,
                                         double exponent)
{
    struct ferry__import_value *y = ferry__import_map(im, x, "Power", "power_param");

    ferry__import_put_real(im, "power", exponent);
    return y;
}

/* Converts a function of x and a number; `swapped`: the number is the first operand. */
static struct ferry__import_value *with_number(struct ferry__import *im, enum operation operation,
                                               struct ferry__import_value *x, double c,
                                               bool swapped)
{
    switch (operation) {
    case ADD:
        return ferry__import_affine(im, x, 1, c);
    case SUB:
        return swapped ? ferry__import_affine(im, x, -1, c) : ferry__import_affine(im, x, 1, -c);
    case MUL:
        return ferry__import_affine(im, x, c, 0);
    case DIV:
    default:
        return swapped ? ferry__import_affine(im, power(im, x, -1), c, 0)
                       : ferry__import_affine(im, x, 1 / c, 0);
    }
}

struct ferry__import_value *ferry__import_scaled(struct ferry__import *im,
                                                 struct ferry__import_value *x, int axis,
                                                 int n_axes,
                                                 const struct ferry__import_tensor *factor,
                                                 const struct ferry__import_tensor *term)
{
    struct ferry__import_value *y =
        ferry__import_map(im, x, factor ? "Scale" : "Bias", factor ? "scale_param" : "bias_param");

    if (axis != 1)
        ferry__import_put(im, "axis", axis);
    if (n_axes != 1)
        ferry__import_put(im, "num_axes", n_axes);
    if (factor && term)
        ferry__import_put(im, "bias_term", 1);
    if (factor)
        ferry__import_weights(im, factor);
    if (term)
        ferry__import_weights(im, term);
    return y;
}

/*
 * Whether a constant has the elements of x along consecutive axes and one element along the others,
 * as a parameter of a Scale or Bias layer has.
 */
static bool is_span(const struct ferry__import_shape *x, const struct ferry__import_tensor *c,
                    int *out_axis, int *out_n)
{
    int more = x->rank - c->shape.rank, first = -1, end = -1;

    if (more < 0)
        return false;
    for (int i = 0; i < c->shape.rank; i++) {
        if (c->shape.dim[i] == 1)
            continue;
        if (c->shape.dim[i] != x->dim[i + more])
            return false;
        first = first < 0 ? i + more : first;
        end = i + more + 1;
    }
    for (int i = first; i < end; i++) /* between them, x has to have one element as well */
        if (c->shape.dim[i - more] != x->dim[i])
            return false;
    *out_axis = first;
    *out_n = end - first;
    return first >= 0;
}

static struct ferry__import_value *with_span(struct ferry__import *im, enum operation operation,
                                             struct ferry__import_value *x, int axis, int n,
                                             const struct ferry__import_tensor *c, bool swapped)
{
    struct ferry__import_tensor changed;

    switch (operation) {
    case ADD:
        return ferry__import_scaled(im, x, axis, n, NULL, c);
    case SUB:
        if (swapped)
            return ferry__import_scaled(im, ferry__import_affine(im, x, -1, 0), axis, n, NULL, c);
        changed = ferry__import_constant_affine(im, c, -1, 0);
        return ferry__import_scaled(im, x, axis, n, NULL, &changed);
    case MUL:
        return ferry__import_scaled(im, x, axis, n, c, NULL);
    case DIV:
    default:
        if (swapped)
            return ferry__import_scaled(im, power(im, x, -1), axis, n, c, NULL);
        changed = inverse(im, c);
        return ferry__import_scaled(im, x, axis, n, &changed, NULL);
    }
}

/* ---- of two values -------------------------------------------------------------------------- */

struct ferry__import_value *ferry__import_binary_of(struct ferry__import *im, const char *what,
                                                    struct ferry__import_value *x,
                                                    struct ferry__import_value *u)
{
    struct ferry__import_shape shape = ferry__import_broadcast(im, &x->shape, &u->shape);

    ferry__import_layer(im, "Binary", "binary_param");
    ferry__import_put_word(im, "operation", what);
    ferry__import_bottom(im, x);
    ferry__import_bottom(im, u);
    return ferry__import_top(im, &shape);
}

static struct ferry__import_value *eltwise(struct ferry__import *im, const char *what,
                                           struct ferry__import_value **x, int n, double coeff,
                                           double last)
{
    ferry__import_layer(im, "Eltwise", "eltwise_param");
    if (strcmp(what, "SUM"))
        ferry__import_put_word(im, "operation", what);
    for (int i = 0; i < n; i++) {
        ferry__import_bottom(im, x[i]);
        if (coeff != 1 || last != 1)
            ferry__import_put_real(im, "coeff", i + 1 < n ? coeff : last);
    }
    return ferry__import_top(im, &x[0]->shape);
}

static struct ferry__import_value *of_two(struct ferry__import *im, enum operation operation,
                                          struct ferry__import_value *x,
                                          struct ferry__import_value *u)
{
    static const char *const names[] = { "ADD", "SUBTRACT", "MULTIPLY", "DIVIDE" };
    struct ferry__import_value *both[] = { x, u };

    if (operation == DIV || x == u || !same_shape(&x->shape, &u->shape))
        return ferry__import_binary_of(im, names[operation], x, u);
    return eltwise(im, operation == MUL ? "PROD" : "SUM", both, 2, 1, operation == SUB ? -1 : 1);
}

/*
 * Converts a function of x and a constant of any shape; the result has the broadcast shape of both.
 */
static struct ferry__import_value *of_constant(struct ferry__import *im, enum operation operation,
                                               struct ferry__import_value *x,
                                               struct ferry__import_value *c, bool swapped)
{
    struct ferry__import_shape shape = ferry__import_broadcast(im, &x->shape, &c->shape);
    int axis, n;

    if (im->err)
        return x;
    if (c->tensor.count == 1)
        return ferry__import_reshape(
            im, with_number(im, operation, x, ferry__import_tensor_real(&c->tensor, 0), swapped),
            &shape);
    if (is_span(&x->shape, &c->tensor, &axis, &n)) {
        struct ferry__import_tensor t = c->tensor;
        int more = x->shape.rank - t.shape.rank;

        memmove(t.shape.dim, t.shape.dim + axis - more, (size_t)n * sizeof t.shape.dim[0]);
        t.shape.rank = n;
        return with_span(im, operation, x, axis, n, &t, swapped);
    }
    return swapped ? of_two(im, operation, c, x) : of_two(im, operation, x, c);
}

void ferry__import_binary(struct ferry__import *im)
{
    enum operation operation = operation_of(im);
    struct ferry__import_value *x = ferry__import_input(im, 0), *u = ferry__import_input(im, 1), *y;

    if (im->err || ferry__import_erf_step(im, x, u))
        return;
    if (x->gate_of || u->gate_of)
        y = ferry__import_map(im, x->gate_of ? u : x,
                              (x->gate_of ? x : u)->hard ? "HardSwish" : "Swish", NULL);
    else if (u->constant)
        y = of_constant(im, operation, x, u, false);
    else if (x->constant)
        y = of_constant(im, operation, u, x, true);
    else
        y = of_two(im, operation, x, u);
    ferry__import_give(im, 0, y);
}

/* ---- of any number -------------------------------------------------------------------------- */

/* Takes the inputs, which must have one shape; returns their number, or 0 after a failure. */
static int take_all(struct ferry__import *im, struct ferry__import_value **out, int room)
{
    int n = ferry__import_input_count(im);

    if (n > room || n < 1)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "%d inputs", n);
    for (int i = 0; !im->err && i < n; i++) {
        out[i] = ferry__import_input(im, i);
        if (!im->err && !same_shape(&out[0]->shape, &out[i]->shape))
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "inputs of different shapes");
    }
    return im->err ? 0 : n;
}

#define MOST 64

void ferry__import_sum(struct ferry__import *im)
{
    struct ferry__import_value *x[MOST];
    int n = take_all(im, x, MOST);
    double coeff = strcmp(ferry__import_operator(im), "Mean") || !n ? 1 : 1.0 / n;

    if (n)
        ferry__import_give(im, 0, n == 1 ? x[0] : eltwise(im, "SUM", x, n, coeff, coeff));
}

/* Converts Min and Max: of values of one shape, or of one value and a number. */
void ferry__import_extreme(struct ferry__import *im)
{
    bool max = !strcmp(ferry__import_operator(im), "Max");
    struct ferry__import_value *x[MOST], *y;
    int n = ferry__import_input_count(im), k;

    for (k = 0; n == 2 && k < 2; k++) {
        const struct ferry__import_value *c = ferry__import_input(im, k);

        if (im->err || !c->constant || c->tensor.count != 1)
            continue;
        y = ferry__import_map(im, ferry__import_input(im, 1 - k), "Clip", "clip_param");
        ferry__import_put_real(im, "min",
                               max ? ferry__import_tensor_real(&c->tensor, 0) : (double)-FLT_MAX);
        ferry__import_put_real(im, "max",
                               max ? (double)FLT_MAX : ferry__import_tensor_real(&c->tensor, 0));
        ferry__import_give(im, 0, y);
        return;
    }
    n = take_all(im, x, MOST);
    for (k = 0; !max && k < n; k++)
        x[k] = ferry__import_affine(im, x[k], -1, 0);
    if (!n)
        return;
    y = n == 1 ? x[0] : eltwise(im, "MAX", x, n, 1, 1);
    ferry__import_give(im, 0, max ? y : ferry__import_affine(im, y, -1, 0));
}
