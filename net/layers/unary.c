/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layers that compute a unary function of each element; FERRY_UNARY_… (ferry/op_params.h)
 * defines the functions. (Caffe: the layer of the same name. Forks for MobileNet: ReLU6, HardSwish,
 * HSwish, HardSigmoid with Keras' slope, HSigmoid. Forks for YOLO: Mish. Softplus is BNLL.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <math.h>

/* X(TYPE, message, FUNCTION, a, b, c): each of a, b, c is a field of the message or a number. */
/* clang-format off: one layer per line */
#define LAYERS(X)                                                                        \
    X(AbsVal, NULL, ABS, NUMBER(0), NUMBER(0), NUMBER(0))                                \
    X(BNLL, NULL, BNLL, NUMBER(0), NUMBER(0), NUMBER(0))                                 \
    X(Clip, "clip_param", CLIP, FIELD("min"), FIELD("max"), NUMBER(0))                   \
    X(Power, "power_param", POWER, FIELD("power"), FIELD("scale"), FIELD("shift"))       \
    X(ReLU, "relu_param", RELU, FIELD("negative_slope"), NUMBER(0), NUMBER(0))           \
    X(ReLU6, "relu6_param", CLIP, NUMBER(0), NUMBER(6), NUMBER(0))                       \
    X(Sigmoid, "sigmoid_param", SIGMOID, NUMBER(0), NUMBER(0), NUMBER(0))                \
    X(Swish, "swish_param", SWISH, FIELD("beta"), NUMBER(0), NUMBER(0))                  \
    X(TanH, "tanh_param", TANH, NUMBER(0), NUMBER(0), NUMBER(0))                         \
    X(Threshold, "threshold_param", THRESHOLD, FIELD("threshold"), NUMBER(0), NUMBER(0)) \
    X(Mish, NULL, MISH, NUMBER(0), NUMBER(0), NUMBER(0))                                 \
    X(HardSwish, NULL, HARD_SWISH, NUMBER(1.0 / 6), NUMBER(0.5), NUMBER(0))              \
    X(HSwish, NULL, HARD_SWISH, NUMBER(1.0 / 6), NUMBER(0.5), NUMBER(0))                 \
    X(HardSigmoid, NULL, HARD_SIGMOID, NUMBER(0.2), NUMBER(0.5), NUMBER(0))              \
    X(HSigmoid, NULL, HARD_SIGMOID, NUMBER(1.0 / 6), NUMBER(0.5), NUMBER(0))             \
    X(GELU, NULL, GELU, NUMBER(0), NUMBER(0), NUMBER(0))                                 \
    X(Softplus, NULL, BNLL, NUMBER(0), NUMBER(0), NUMBER(0))                             \
    X(Softsign, NULL, SOFTSIGN, NUMBER(0), NUMBER(0), NUMBER(0))
/* clang-format on */

struct parameter {
    const char *field; /* NULL: the value is the number itself */
    double number;
};

#define FIELD(name) \
    {               \
        name, 0     \
    }
#define NUMBER(value) \
    {                 \
        NULL, value   \
    }

static const ferry_proto *message(const ferry_layer *layer, const char *field)
{
    return field ? ferry_proto_message(ferry_layer_message(layer), field, 0) : NULL;
}

static int reshape(ferry_layer *layer, const char *field, uint32_t function,
                   const struct parameter *from)
{
    const ferry_proto *p = message(layer, field);
    double v[3];
    int i;

    for (i = 0; i < 3; i++)
        v[i] = from[i].field ? ferry_proto_real(p, from[i].field, 0) : from[i].number;
    return ferry__unary_layer(layer, function, v[0], v[1], v[2]);
}

#define RESHAPE(type, message, function, a, b, c)                           \
    static int reshape_##type(ferry_layer *layer)                           \
    {                                                                       \
        static const struct parameter parameters[] = { a, b, c };           \
                                                                            \
        return reshape(layer, message, FERRY_UNARY_##function, parameters); \
    }
LAYERS(RESHAPE)

/* ---- Exp and Log, which have a base ---------------------------------------------------------- */

static int bad_base(const ferry_layer *layer, const ferry_proto *p, double base)
{
    return ferry_proto_error(p, "base", 0, FERRY_EFORMAT, "layer \"%s\": a base of %g",
                             ferry_layer_name(layer), base);
}

/* Emits base ^ (shift + scale · x); a base of −1 means e. (Caffe: ExpLayer.) */
static int reshape_exp(ferry_layer *layer)
{
    const ferry_proto *p = message(layer, "exp_param");
    double base = ferry_proto_real(p, "base", 0), log_base = base == -1 ? 1 : log(base);

    if (base != -1 && !(base > 0))
        return bad_base(layer, p, base);
    return ferry__unary_layer(layer, FERRY_UNARY_EXP, log_base * ferry_proto_real(p, "scale", 0),
                              log_base * ferry_proto_real(p, "shift", 0), 0);
}

/* Emits the logarithm of shift + scale · x; a base of −1 means e. (Caffe: LogLayer.) */
static int reshape_log(ferry_layer *layer)
{
    const ferry_proto *p = message(layer, "log_param");
    double base = ferry_proto_real(p, "base", 0), factor = base == -1 ? 1 : 1 / log(base);

    if (base != -1 && (!(base > 0) || base == 1))
        return bad_base(layer, p, base);
    return ferry__unary_layer(layer, FERRY_UNARY_LOG, ferry_proto_real(p, "scale", 0),
                              ferry_proto_real(p, "shift", 0), factor);
}

/* ---- ELU, of any alpha ----------------------------------------------------------------------- */

/* The layer's scratch blobs. */
enum { INPUT, MIRRORED };

static int emit_slope(ferry_layer *layer, uint32_t function, double a, struct ferry__term dy,
                      struct ferry__term by)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = function;
    op.params.unary.a = a;
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 2,
                            (struct ferry__term[]){ dy, by },
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

/*
 * Emits the gradient of ELU with alpha < 0. The result is then positive on both sides of 0 and does
 * not determine the sign of x. The gradient is therefore computed with -alpha, whose result does
 * determine it, and negated where x is not positive.
 */
static int emit_negative(ferry_layer *layer, double alpha)
{
    const struct ferry__term dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    const struct ferry__term dx = ferry__term(layer, ferry__diff(ferry__of_bottom(0)));
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand x, mirrored = ferry__diff(ferry__of_scratch(MIRRORED));
    int err = ferry__input_kept(layer, INPUT, &x);

    if (!err)
        err = ferry__emit_unary(layer, FERRY_UNARY_ELU, alpha, 0, 0, ferry__of_bottom(0),
                                ferry__of_top(0));
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    if (!ferry_layer_scratch(layer, MIRRORED, 0, ferry_blob_shape(bottom), ferry_blob_rank(bottom)))
        return ferry_last_error_code();
    err = ferry__emit_unary(layer, FERRY_UNARY_ELU, -alpha, 0, 0, x, mirrored);
    if (!err)
        err = emit_slope(layer, FERRY_UNARY_ELU, -alpha, dy, ferry__term(layer, mirrored));
    return err ? err : emit_slope(layer, FERRY_UNARY_RELU, -1, dx, ferry__term(layer, x));
}

/* Emits x if it is positive, else alpha · (exp(x) − 1). (Caffe: ELULayer.) */
static int reshape_elu(ferry_layer *layer)
{
    double alpha = ferry_proto_real(message(layer, "elu_param"), "alpha", 0);
    int err;

    if (alpha >= 0)
        return ferry__unary_layer(layer, FERRY_UNARY_ELU, alpha, 0, 0);
    err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));
    return err ? err : emit_negative(layer, alpha);
}

/* ---- the types ------------------------------------------------------------------------------- */

/* A function without a derivative makes the layer FORWARD_ONLY. */
#define FLAGS(function) \
    (FERRY_LAYER_IN_PLACE | (function == FERRY_UNARY_THRESHOLD ? FERRY_LAYER_FORWARD_ONLY : 0))
#define TYPE(type, message_field, function, reshape_function)     \
    {                                                             \
        .struct_size = sizeof(ferry_layer_type),                  \
        .name = type,                                             \
        .min_bottoms = 1,                                         \
        .max_bottoms = 1,                                         \
        .min_tops = 1,                                            \
        .max_tops = 1,                                            \
        .flags = FLAGS(function),                                 \
        .messages = (const char *const[]){ message_field, NULL }, \
        .reshape = reshape_function,                              \
    },
#define ROW(type, message, function, a, b, c) \
    TYPE(#type, message, FERRY_UNARY_##function, reshape_##type)

const ferry_layer_type ferry__unary_layers[] = {
    LAYERS(ROW) TYPE("ELU", "elu_param", FERRY_UNARY_ELU, reshape_elu)
        TYPE("Exp", "exp_param", FERRY_UNARY_EXP, reshape_exp)
            TYPE("Log", "log_param", FERRY_UNARY_LOG, reshape_log){ .name = NULL },
};
