/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts functions of each element of one input. */
#include "net/import/ops.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- functions that are a layer ------------------------------------------------------------- */

/*
 * A row of the table: the layer's field that takes the attribute, or its default; both NULL: none.
 */
static const struct unary {
    const char *op, *type, *message, *field, *attribute;
    double none; /* the attribute's default or, without an attribute, the field's value */
} unaries[] = {
    { "Abs", "AbsVal", NULL, NULL, NULL, 0 },
    { "Elu", "ELU", "elu_param", "alpha", "alpha", 1 },
    { "Exp", "Exp", NULL, NULL, NULL, 0 },
    { "HardSwish", "HardSwish", NULL, NULL, NULL, 0 },
    { "LeakyRelu", "ReLU", "relu_param", "negative_slope", "alpha", 0.01 },
    { "Log", "Log", NULL, NULL, NULL, 0 },
    { "Mish", "Mish", NULL, NULL, NULL, 0 },
    { "Neg", "Power", "power_param", "scale", NULL, -1 },
    { "Reciprocal", "Power", "power_param", "power", NULL, -1 },
    { "Relu", "ReLU", NULL, NULL, NULL, 0 },
    { "Softplus", "BNLL", NULL, NULL, NULL, 0 },
    { "Softsign", "Softsign", NULL, NULL, NULL, 0 },
    { "Sqrt", "Power", "power_param", "power", NULL, 0.5 },
    { "Swish", "Swish", "swish_param", "beta", "alpha", 1 },
    { "Tanh", "TanH", NULL, NULL, NULL, 0 },
};

void ferry__import_unary(struct ferry__import *im)
{
    const char *op = ferry__import_operator(im);
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    size_t i = 0;

    while (strcmp(unaries[i].op, op))
        i++;
    y = ferry__import_map(im, x, unaries[i].type, unaries[i].message);
    if (unaries[i].field)
        ferry__import_put_real(im, unaries[i].field,
                               unaries[i].attribute
                                   ? ferry__import_real(im, unaries[i].attribute, unaries[i].none)
                                   : unaries[i].none);
    ferry__import_give(im, 0, y);
}

/* ---- Sigmoid and HardSigmoid, and their products -------------------------------------------- */

/*
 * Whether output 0 is read only by a product with input 0: the product then becomes Swish or
 * HardSwish (ferry__import_binary).
 */
static bool is_gate(struct ferry__import *im)
{
    const char *y = ferry_proto_string(im->node, "output", 0, NULL);
    const char *x = ferry_proto_string(im->node, "input", 0, NULL);
    const struct ferry__import_value *out = ferry__import_value_named(im, y);

    if (im->err || out->output || out->uses != 1 || !out->user ||
        strcmp(ferry_proto_string(out->user, "op_type", 0, NULL), "Mul"))
        return false;
    for (int i = 0; i < 2; i++)
        if (!strcmp(ferry_proto_string(out->user, "input", i, NULL), y) &&
            !strcmp(ferry_proto_string(out->user, "input", 1 - i, NULL), x))
            return true;
    return false;
}

static void defer(struct ferry__import *im, struct ferry__import_value *x, bool hard)
{
    struct ferry__import_value *y =
        ferry__import_value_named(im, ferry_proto_string(im->node, "output", 0, NULL));

    if (im->err)
        return;
    y->gate_of = x;
    y->hard = hard;
    y->shape = x->shape;
    y->blob = x->blob;
}

void ferry__import_sigmoid(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);

    if (is_gate(im))
        defer(im, x, false);
    else
        ferry__import_give(im, 0, ferry__import_map(im, x, "Sigmoid", NULL));
}

static struct ferry__import_value *clip(struct ferry__import *im, struct ferry__import_value *x,
                                        double min, double max)
{
    struct ferry__import_value *y;

    if (min == 0 && max >= FLT_MAX)
        return ferry__import_map(im, x, "ReLU", NULL);
    y = ferry__import_map(im, x, "Clip", "clip_param");
    ferry__import_put_real(im, "min", min);
    ferry__import_put_real(im, "max", max);
    return y;
}

/* Converts HardSigmoid: min(max(alpha · x + beta, 0), 1). */
void ferry__import_hard_sigmoid(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    double alpha = ferry__import_real(im, "alpha", (double)0.2f);
    double beta = ferry__import_real(im, "beta", 0.5);
    bool sixth = fabs(alpha - 1.0 / 6) < 1e-7 && beta == 0.5;

    if (sixth && is_gate(im)) {
        defer(im, x, true);
        return;
    }
    if (beta == 0.5 && (sixth || alpha == (double)0.2f))
        y = ferry__import_map(im, x, sixth ? "HSigmoid" : "HardSigmoid", NULL);
    else
        y = clip(im, ferry__import_affine(im, x, alpha, beta), 0, 1);
    ferry__import_give(im, 0, y);
}

/* ---- others --------------------------------------------------------------------------------- */

/* A bound of Clip, from an attribute or from an input that may be absent. */
static double bound(struct ferry__import *im, int i, const char *name, double none)
{
    const struct ferry__import_tensor *t;

    if (!ferry__import_has(im, i))
        return ferry__import_real(im, name, none);
    t = ferry__import_constant(im, i);
    if (!im->err && t->count != 1)
        ferry__import_fail(im, FERRY_EFORMAT, "input %d is not a scalar", i);
    return im->err ? none : ferry__import_tensor_real(t, 0);
}

void ferry__import_clip(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    double min = bound(im, 1, "min", (double)-FLT_MAX), max = bound(im, 2, "max", (double)FLT_MAX);

    ferry__import_give(im, 0,
                       clip(im, x, min < -FLT_MAX ? (double)-FLT_MAX : min,
                            max > FLT_MAX ? (double)FLT_MAX : max));
}

/* Converts Identity, Dropout, and Cast between real types. */
void ferry__import_identity(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    const char *mask =
        ferry__import_output_count(im) > 1 ? ferry_proto_string(im->node, "output", 1, NULL) : "";
    int type = (int)ferry__import_integer(im, "to", FERRY__ONNX_FLOAT);

    if (ferry__import_type_is_integer(type))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "a cast to integers (type %d)", type);
    if (*mask && ferry__import_value_named(im, mask)->uses)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its mask is used");
    if (ferry__import_has(im, 2) && !strcmp(ferry__import_operator(im), "Dropout") &&
        ferry__import_tensor_integer(ferry__import_constant(im, 2), 0))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "training_mode");
    ferry__import_give(im, 0, x);
}

void ferry__import_pow(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    const struct ferry__import_tensor *exponent = ferry__import_constant(im, 1);

    if (!im->err && (exponent->count != 1 || exponent->shape.rank > x->shape.rank))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its exponent is not a scalar");
    if (im->err)
        return;
    y = ferry__import_map(im, x, "Power", "power_param");
    ferry__import_put_real(im, "power", ferry__import_tensor_real(exponent, 0));
    ferry__import_give(im, 0, y);
}

/* Converts PRelu with one slope, or with one for each channel. */
void ferry__import_prelu(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    struct ferry__import_tensor slope = *ferry__import_constant(im, 1);
    int channel = slope.shape.rank - x->shape.rank + 1; /* the axis of the slopes that corresponds
                                                         * to the channels */
    bool shared = slope.count == 1;

    if (!im->err &&
        (x->shape.rank < 2 || (!shared && (channel < 0 || slope.shape.dim[channel] != slope.count ||
                                           slope.count != x->shape.dim[1]))))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "slopes other than one or one for each channel");
    if (im->err)
        return;
    slope.shape = (struct ferry__import_shape){ shared ? 0 : 1, { slope.count } };
    y = ferry__import_map(im, x, "PReLU", "prelu_param");
    if (shared)
        ferry__import_put(im, "channel_shared", 1);
    ferry__import_weights(im, &slope);
    ferry__import_give(im, 0, y);
}

void ferry__import_gelu(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);

    if (strcmp(ferry__import_string(im, "approximate", "none"), "none"))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "an approximation");
    ferry__import_give(im, 0, ferry__import_map(im, x, "GELU", NULL));
}

/* Converts Selu: gamma · ELU(x). */
void ferry__import_selu(struct ferry__import *im)
{
    struct ferry__import_value *y =
        ferry__import_map(im, ferry__import_input(im, 0), "ELU", "elu_param");

    ferry__import_put_real(im, "alpha", ferry__import_real(im, "alpha", 1.67326319217681884765625));
    ferry__import_give(
        im, 0,
        ferry__import_affine(im, y, ferry__import_real(im, "gamma", 1.05070102214813232421875), 0));
}
