/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/fold.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

/* ---- functions of elements ------------------------------------------------------------------ */

/*
 * X(operator, result for integers, result for real numbers), functions of x and u. Comparisons give
 * 0 or 1.
 */
/* clang-format off: an operator a line */
#define BINARIES(X)                                                                \
    X(Add, WRAP(x, +, u), x + u)                                                   \
    X(Sub, WRAP(x, -, u), x - u)                                                   \
    X(Mul, WRAP(x, *, u), x *u)                                                    \
    X(Div, u == 0 ? 0 : u == -1 ? WRAP(0, -, x) : x / u, x / u)                    \
    X(Mod, u == 0 || u == -1 ? 0 : (x % u + u) % u, fmod(x, u))                    \
    X(Pow, (int64_t)fmin(fmax(pow((double)x, (double)u), -9e18), 9e18), pow(x, u)) \
    X(Min, x < u ? x : u, fmin(x, u))                                              \
    X(Max, x > u ? x : u, fmax(x, u))                                              \
    X(And, x &&u, (x != 0) && (u != 0))                                            \
    X(Or, x || u, (x != 0) || (u != 0))                                            \
    X(Equal, x == u, x == u)                                                       \
    X(Greater, x > u, x > u)                                                       \
    X(GreaterOrEqual, x >= u, x >= u)                                              \
    X(Less, x < u, x < u)                                                          \
    X(LessOrEqual, x <= u, x <= u)

/* X(operator, result for integers, result for real numbers), functions of x. */
#define UNARIES(X)                             \
    X(Abs, x < 0 ? WRAP(0, -, x) : x, fabs(x)) \
    X(Neg, WRAP(0, -, x), -x)                  \
    X(Not, !x, x == 0)                         \
    X(Floor, x, floor(x))                      \
    X(Ceil, x, ceil(x))                        \
    X(Round, x, nearbyint(x))                  \
    X(Sqrt, x, sqrt(x))                        \
    X(Reciprocal, x ? 1 / x : 0, 1 / x)        \
    X(Exp, x, exp(x))                          \
    X(Log, x, log(x))
/* clang-format on */

#define WRAP(x, sign, u) (int64_t)((uint64_t)(x)sign(uint64_t)(u))

#define BINARY_FUNCTIONS(name, integer, real)           \
    static int64_t integer_##name(int64_t x, int64_t u) \
    {                                                   \
        return integer;                                 \
    }                                                   \
    static double real_##name(double x, double u)       \
    {                                                   \
        return real;                                    \
    }
#define UNARY_FUNCTIONS(name, integer, real)            \
    static int64_t integer_##name(int64_t x, int64_t u) \
    {                                                   \
        (void)u;                                        \
        return integer;                                 \
    }                                                   \
    static double real_##name(double x, double u)       \
    {                                                   \
        (void)u;                                        \
        return real;                                    \
    }
BINARIES(BINARY_FUNCTIONS)
UNARIES(UNARY_FUNCTIONS)

static const struct function {
    const char *type;
    int operands;
    int64_t (*integer)(int64_t x, int64_t u);
    double (*real)(double x, double u);
} functions[] = {
#define BINARY_ROW(name, integer, real) { #name, 2, integer_##name, real_##name },
#define UNARY_ROW(name, integer, real)  { #name, 1, integer_##name, real_##name },
    BINARIES(BINARY_ROW) UNARIES(UNARY_ROW)
};

static const struct function *function_of(const char *type)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (!strcmp(functions[i].type, type))
            return &functions[i];
    return NULL;
}

/*
 * Whether the operator returns a boolean, which is stored as an integer whatever the type of its
 * inputs.
 */
static bool compares(const char *type)
{
    static const char *const types[] = { "And",     "Or",   "Not",         "Equal",
                                         "Greater", "Less", "LessOrEqual", "GreaterOrEqual" };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(types[i], type))
            return true;
    return false;
}

static struct ferry__import_tensor compute(struct ferry__import *im, const struct function *f,
                                           const struct ferry__import_tensor *a,
                                           const struct ferry__import_tensor *b)
{
    struct ferry__import_shape shape = ferry__import_broadcast(im, &a->shape, &b->shape);
    struct ferry__import_view x = ferry__import_view_as(im, a, &shape);
    struct ferry__import_view u = ferry__import_view_as(im, b, &shape);
    bool integer = ferry__import_type_is_integer(a->type), truth = compares(f->type);
    void *out;
    struct ferry__import_tensor t = ferry__import_make(
        im, integer || truth ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &shape, &out);

    for (int64_t i = 0; i < t.count; i++) {
        int64_t at = ferry__import_view_at(&x, i), bt = ferry__import_view_at(&u, i);

        if (integer)
            ((int64_t *)out)[i] = f->integer(ferry__import_tensor_integer(a, at),
                                             ferry__import_tensor_integer(b, bt));
        else if (truth)
            ((int64_t *)out)[i] =
                f->real(ferry__import_tensor_real(a, at), ferry__import_tensor_real(b, bt)) != 0;
        else
            ((float *)out)[i] =
                (float)f->real(ferry__import_tensor_real(a, at), ferry__import_tensor_real(b, bt));
    }
    return t;
}

/* Folds a function of several inputs: Min and Max have any number of them. */
static struct ferry__import_tensor fold_function(struct ferry__import *im, const struct function *f)
{
    struct ferry__import_tensor t = *ferry__import_constant(im, 0);
    int n = ferry__import_input_count(im), i;

    if (f->operands == 1)
        return compute(im, f, &t, &t);
    if (n < 2)
        ferry__import_fail(im, FERRY_EFORMAT, "%d inputs", n);
    for (i = 1; !im->err && i < n; i++)
        t = compute(im, f, &t, ferry__import_constant(im, i));
    return t;
}

/* ---- making constants ----------------------------------------------------------------------- */

static struct ferry__import_tensor list_of(struct ferry__import *im, const int64_t *from, int64_t n,
                                           bool scalar)
{
    struct ferry__import_shape shape = { scalar ? 0 : 1, { n } };
    void *out;
    struct ferry__import_tensor t = ferry__import_make(im, FERRY__ONNX_INT64, &shape, &out);

    for (int64_t i = 0; i < t.count; i++)
        ((int64_t *)out)[i] = from[i];
    return t;
}

static struct ferry__import_tensor fold_shape(struct ferry__import *im)
{
    const struct ferry__import_shape *shape = &ferry__import_input(im, 0)->shape;
    int64_t start = ferry__import_integer(im, "start", 0);
    int64_t end = ferry__import_integer(im, "end", shape->rank);

    start = start < 0 ? start + shape->rank : start;
    end = end < 0 ? end + shape->rank : end;
    start = start < 0 ? 0 : start > shape->rank ? shape->rank : start;
    end = end < start ? start : end > shape->rank ? shape->rank : end;
    return list_of(im, shape->dim + start, end - start, false);
}

static struct ferry__import_tensor fold_size(struct ferry__import *im)
{
    int64_t count = ferry__import_shape_count(&ferry__import_input(im, 0)->shape);

    return list_of(im, &count, 1, true);
}

static struct ferry__import_tensor fold_constant(struct ferry__import *im)
{
    const ferry_proto *a = ferry__import_attribute(im, "value"), *many;
    const char *name = ferry_proto_string(im->node, "output", 0, NULL);
    struct ferry__import_tensor t = { 0 };
    struct ferry__import_shape shape = { 0 };
    void *out;
    int err;

    if (a || (many = ferry__import_attribute(im, "sparse_value")) != NULL) {
        err = a ? ferry__import_tensor_read(im->file, ferry_proto_message(a, "t", 0), name,
                                            &im->arena, &t)
                : ferry__import_tensor_read_sparse(im->file,
                                                   ferry_proto_message(many, "sparse_tensor", 0),
                                                   name, &im->arena, &t);
        im->err = im->err ? im->err : err;
        return t;
    }
    many = ferry__import_attribute(im, "value_ints");
    if (many || (a = ferry__import_attribute(im, "value_int")) != NULL) {
        shape =
            (struct ferry__import_shape){ many ? 1 : 0, { ferry_proto_value_count(many, "ints") } };
        t = ferry__import_make(im, FERRY__ONNX_INT64, &shape, &out);
        for (int64_t i = 0; i < t.count; i++)
            ((int64_t *)out)[i] = ferry_proto_integer(many ? many : a, many ? "ints" : "i", i);
        return t;
    }
    many = ferry__import_attribute(im, "value_floats");
    a = ferry__import_attribute(im, "value_float");
    if (!many && !a)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its value is not a tensor of numbers");
    shape =
        (struct ferry__import_shape){ many ? 1 : 0, { ferry_proto_value_count(many, "floats") } };
    t = ferry__import_make(im, FERRY__ONNX_FLOAT, &shape, &out);
    for (int64_t i = 0; i < t.count; i++)
        ((float *)out)[i] = (float)ferry_proto_real(many ? many : a, many ? "floats" : "f", i);
    return t;
}

/*
 * Folds ConstantOfShape: zeros, or the single element of the attribute `value`, in the shape that
 * input 0 has.
 */
static struct ferry__import_tensor fold_constant_of_shape(struct ferry__import *im)
{
    const ferry_proto *a = ferry__import_attribute(im, "value");
    struct ferry__import_tensor one = {
        FERRY__ONNX_FLOAT, { 0 }, 1, (const unsigned char *)"\0\0\0", false
    };
    struct ferry__import_view v = { .t = &one };
    int n = ferry__import_constants(im, 0, v.shape.dim, FERRY_OP_AXES);

    v.shape.rank = n < 0 ? 0 : n;
    if (a && !im->err)
        im->err = ferry__import_tensor_read(im->file, ferry_proto_message(a, "t", 0), "value",
                                            &im->arena, &one);
    if (!im->err && one.count != 1)
        ferry__import_fail(im, FERRY_EFORMAT, "its value has %lld elements", (long long)one.count);
    return ferry__import_view_copy(im, &v);
}

static struct ferry__import_tensor fold_range(struct ferry__import *im)
{
    const struct ferry__import_tensor *in[3];
    struct ferry__import_shape shape = { 1, { 0 } };
    struct ferry__import_tensor t;
    double first, step, n;
    bool integer;
    void *out;

    for (int i = 0; i < 3; i++)
        if ((in[i] = ferry__import_constant(im, i))->count != 1)
            ferry__import_fail(im, FERRY_EFORMAT, "input %d is not a scalar", i);
    if (im->err)
        return (struct ferry__import_tensor){ 0 };
    first = ferry__import_tensor_real(in[0], 0);
    step = ferry__import_tensor_real(in[2], 0);
    n = ceil((ferry__import_tensor_real(in[1], 0) - first) / step);
    if (!(n < 1e9))
        ferry__import_fail(im, FERRY_EFORMAT, "a range of %g elements", n);
    shape.dim[0] = n > 0 ? (int64_t)n : 0;
    integer = ferry__import_type_is_integer(in[0]->type);
    t = ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &shape, &out);
    for (int64_t i = 0; i < t.count; i++)
        if (integer)
            ((int64_t *)out)[i] = (int64_t)(first + (double)i * step);
        else
            ((float *)out)[i] = (float)(first + (double)i * step);
    return t;
}

/* ---- moving elements ------------------------------------------------------------------------ */

/* Folds a Cast to an integer type or to a real type. */
static struct ferry__import_tensor fold_cast(struct ferry__import *im)
{
    const struct ferry__import_tensor *x = ferry__import_constant(im, 0);
    int type = (int)ferry__import_integer(im, "to", FERRY__ONNX_FLOAT);
    bool integer = ferry__import_type_is_integer(type);
    struct ferry__import_tensor t;
    void *out;

    if (!ferry__import_type_size(type))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "a cast to type %d", type);
    if (!integer && x->type == FERRY__ONNX_FLOAT)
        return *x;
    t = ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &x->shape, &out);
    for (int64_t i = 0; i < t.count; i++)
        if (type == FERRY__ONNX_BOOL)
            ((int64_t *)out)[i] = ferry__import_tensor_real(x, i) != 0;
        else if (integer)
            ((int64_t *)out)[i] = ferry__import_tensor_integer(x, i);
        else
            ((float *)out)[i] = (float)ferry__import_tensor_real(x, i);
    return t;
}

static struct ferry__import_tensor fold_reshape(struct ferry__import *im)
{
    struct ferry__import_tensor t = *ferry__import_constant(im, 0);

    t.shape = ferry__import_reshaped(im, &t.shape);
    if (!im->err && ferry__import_shape_count(&t.shape) != t.count)
        ferry__import_fail(im, FERRY_EFORMAT, "%lld elements do not have the shape of its result",
                           (long long)t.count);
    return t;
}

static struct ferry__import_tensor fold_identity(struct ferry__import *im)
{
    return *ferry__import_constant(im, 0);
}

static struct ferry__import_tensor fold_slice(struct ferry__import *im)
{
    struct ferry__import_view v = ferry__import_view_of(ferry__import_constant(im, 0));
    int64_t start[FERRY_OP_AXES], step[FERRY_OP_AXES];

    v.shape = ferry__import_sliced(im, &v.t->shape, start, step);
    for (int i = 0; i < v.shape.rank; i++) {
        v.start += start[i] * v.step[i];
        v.step[i] *= step[i];
    }
    return ferry__import_view_copy(im, &v);
}

static struct ferry__import_tensor fold_transpose(struct ferry__import *im)
{
    struct ferry__import_view from = ferry__import_view_of(ferry__import_constant(im, 0)), v = from;
    int64_t order[FERRY_OP_AXES];

    ferry__import_order(im, v.shape.rank, order);
    for (int i = 0; !im->err && i < v.shape.rank; i++) {
        v.shape.dim[i] = from.shape.dim[order[i]];
        v.step[i] = from.step[order[i]];
    }
    return ferry__import_view_copy(im, &v);
}

static struct ferry__import_tensor fold_expand(struct ferry__import *im)
{
    const struct ferry__import_tensor *x = ferry__import_constant(im, 0);
    struct ferry__import_shape shape = { 0 };
    struct ferry__import_view v;
    int n = ferry__import_constants(im, 1, shape.dim, FERRY_OP_AXES);

    shape.rank = n < 0 ? 0 : n;
    shape = ferry__import_broadcast(im, &x->shape, &shape);
    v = ferry__import_view_as(im, x, &shape);
    return ferry__import_view_copy(im, &v);
}

/*
 * Folds Gather: the elements of x at `indices` along an axis; the axes of the indices replace it.
 */
static struct ferry__import_tensor fold_gather(struct ferry__import *im)
{
    const struct ferry__import_tensor *x = ferry__import_constant(im, 0);
    const struct ferry__import_tensor *indices = ferry__import_constant(im, 1);
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 0), x->shape.rank), i;
    bool integer = ferry__import_type_is_integer(x->type);
    struct ferry__import_shape shape = { .rank = x->shape.rank - 1 + indices->shape.rank };
    int64_t inner = 1, at, k;
    struct ferry__import_tensor t;
    void *out;

    if (shape.rank > FERRY_OP_AXES)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its result has %d axes", shape.rank);
    if (im->err)
        return (struct ferry__import_tensor){ 0 };
    for (i = 0; i < shape.rank; i++)
        shape.dim[i] = i < axis                         ? x->shape.dim[i]
                       : i < axis + indices->shape.rank ? indices->shape.dim[i - axis]
                                                        : x->shape.dim[i - indices->shape.rank + 1];
    for (i = axis + 1; i < x->shape.rank; i++)
        inner *= x->shape.dim[i];
    t = ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &shape, &out);
    for (k = 0; k < t.count; k++) {
        at = ferry__import_tensor_integer(indices, k / inner % indices->count);
        at = at < 0 ? at + x->shape.dim[axis] : at;
        if (at < 0 || at >= x->shape.dim[axis]) {
            ferry__import_fail(im, FERRY_EFORMAT, "an index is out of range");
            break;
        }
        at = (k / inner / indices->count * x->shape.dim[axis] + at) * inner + k % inner;
        if (integer)
            ((int64_t *)out)[k] = ferry__import_tensor_integer(x, at);
        else
            ((float *)out)[k] = (float)ferry__import_tensor_real(x, at);
    }
    return t;
}

/*
 * Copies x into a concatenation that has `whole` elements along the axis, of which `before` precede
 * x.
 */
static void put_part(const struct ferry__import_tensor *x, int64_t inner, int64_t along,
                     int64_t before, int64_t whole, bool integer, void *out)
{
    for (int64_t i = 0; i < x->count; i++) {
        int64_t row = i / (along * inner), rest = i % (along * inner);
        int64_t to = (row * whole + before) * inner + rest;

        if (integer)
            ((int64_t *)out)[to] = ferry__import_tensor_integer(x, i);
        else
            ((float *)out)[to] = (float)ferry__import_tensor_real(x, i);
    }
}

static struct ferry__import_tensor fold_concat(struct ferry__import *im)
{
    const struct ferry__import_tensor *first = ferry__import_constant(im, 0);
    int n = ferry__import_input_count(im), i, k;
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 0), first->shape.rank);
    bool integer = ferry__import_type_is_integer(first->type);
    struct ferry__import_shape shape = first->shape;
    int64_t inner = 1, before = 0;
    struct ferry__import_tensor t;
    void *out;

    for (i = 1; !im->err && i < n; i++) {
        const struct ferry__import_shape *other = &ferry__import_constant(im, i)->shape;

        for (k = 0; k < shape.rank; k++)
            if (other->rank != shape.rank || (k != axis && other->dim[k] != shape.dim[k]))
                ferry__import_fail(im, FERRY_EFORMAT, "input %d has another shape", i);
        if (!im->err)
            shape.dim[axis] += other->dim[axis];
    }
    for (k = axis + 1; k < shape.rank; k++)
        inner *= shape.dim[k];
    t = ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &shape, &out);
    for (i = 0; !im->err && i < n; i++) {
        const struct ferry__import_tensor *x = ferry__import_constant(im, i);

        put_part(x, inner, x->shape.dim[axis], before, shape.dim[axis], integer, out);
        before += x->shape.dim[axis];
    }
    return t;
}

/* Folds Where: x where the condition is not 0, else u. */
static struct ferry__import_tensor fold_where(struct ferry__import *im)
{
    const struct ferry__import_tensor *in[3];
    struct ferry__import_view v[3];
    struct ferry__import_shape shape = { 0 };
    struct ferry__import_tensor t;
    bool integer;
    void *out;
    int i;

    for (i = 0; i < 3; i++) {
        in[i] = ferry__import_constant(im, i);
        shape = ferry__import_broadcast(im, &shape, &in[i]->shape);
    }
    for (i = 0; i < 3; i++)
        v[i] = ferry__import_view_as(im, in[i], &shape);
    integer = ferry__import_type_is_integer(in[1]->type);
    t = ferry__import_make(im, integer ? FERRY__ONNX_INT64 : FERRY__ONNX_FLOAT, &shape, &out);
    for (int64_t k = 0; k < t.count; k++) {
        bool first = ferry__import_tensor_integer(in[0], ferry__import_view_at(&v[0], k)) != 0;
        const struct ferry__import_tensor *from = in[first ? 1 : 2];
        int64_t at = ferry__import_view_at(&v[first ? 1 : 2], k);

        if (integer)
            ((int64_t *)out)[k] = ferry__import_tensor_integer(from, at);
        else
            ((float *)out)[k] = (float)ferry__import_tensor_real(from, at);
    }
    return t;
}

/* ---- the operators -------------------------------------------------------------------------- */

static const struct folding {
    const char *type;
    struct ferry__import_tensor (*fold)(struct ferry__import *im);
    bool of_shapes; /* the function needs only the shapes of its inputs, which need not be
                     * constant */
} foldings[] = {
    { "Shape", fold_shape, true },          { "Size", fold_size, true },
    { "Constant", fold_constant, false },   { "ConstantOfShape", fold_constant_of_shape, false },
    { "Range", fold_range, false },         { "Cast", fold_cast, false },
    { "Identity", fold_identity, false },   { "Reshape", fold_reshape, false },
    { "Flatten", fold_reshape, false },     { "Squeeze", fold_reshape, false },
    { "Unsqueeze", fold_reshape, false },   { "Slice", fold_slice, false },
    { "Transpose", fold_transpose, false }, { "Expand", fold_expand, false },
    { "Gather", fold_gather, false },       { "Concat", fold_concat, false },
    { "Where", fold_where, false },
};

static bool takes_constants(struct ferry__import *im)
{
    for (int i = 0; i < ferry__import_input_count(im); i++)
        if (ferry__import_has(im, i) && !ferry__import_input(im, i)->constant)
            return false;
    return true;
}

bool ferry__import_fold(struct ferry__import *im)
{
    const char *type = ferry__import_operator(im);
    const struct function *f = function_of(type);
    const struct folding *found = NULL;
    struct ferry__import_tensor t;

    for (size_t i = 0; i < sizeof foldings / sizeof foldings[0]; i++)
        if (!strcmp(foldings[i].type, type))
            found = &foldings[i];
    if ((!f && !found) || (!(found && found->of_shapes) && !takes_constants(im)))
        return false;
    t = f ? fold_function(im, f) : found->fold(im);
    ferry__import_give_constant(im, 0, &t);
    return true;
}
