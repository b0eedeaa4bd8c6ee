/* SPDX-License-Identifier: BSD-2-Clause */
/* Element-wise layers: activations, arithmetic with constants, sums of blobs. */
#include "net/onnx/layers.h"

#include <math.h>
#include <string.h>

/* Adds one operator from bottom 0 to top 0. */
static void unary(struct ferry__onnx *o, const char *type)
{
    ferry__onnx_top(o, 0, ONNX_OP(o, type, ferry__onnx_bottom(o, 0)));
}

void ferry__onnx_abs_val(struct ferry__onnx *o)
{
    unary(o, "Abs");
}

void ferry__onnx_bnll(struct ferry__onnx *o)
{
    unary(o, "Softplus");
}

void ferry__onnx_sigmoid(struct ferry__onnx *o)
{
    unary(o, "Sigmoid");
}

void ferry__onnx_tanh(struct ferry__onnx *o)
{
    unary(o, "Tanh");
}

void ferry__onnx_relu(struct ferry__onnx *o)
{
    double slope =
        ferry_proto_real(ferry__onnx_message(o->layer, "relu_param"), "negative_slope", 0);

    unary(o, slope != 0 ? "LeakyRelu" : "Relu");
    if (slope != 0)
        ferry__onnx_set_float(o, "alpha", slope);
}

void ferry__onnx_elu(struct ferry__onnx *o)
{
    unary(o, "Elu");
    ferry__onnx_set_float(o, "alpha",
                          ferry_proto_real(ferry__onnx_message(o->layer, "elu_param"), "alpha", 0));
}

void ferry__onnx_clip(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "clip_param");

    ferry__onnx_top(o, 0,
                    ferry__onnx_clip_to(o, ferry__onnx_bottom(o, 0), ferry_proto_real(p, "min", 0),
                                        ferry_proto_real(p, "max", 0)));
}

void ferry__onnx_relu6(struct ferry__onnx *o)
{
    ferry__onnx_top(o, 0, ferry__onnx_clip_to(o, ferry__onnx_bottom(o, 0), 0, 6));
}

void ferry__onnx_swish(struct ferry__onnx *o)
{
    double beta = ferry_proto_real(ferry__onnx_message(o->layer, "swish_param"), "beta", 0);
    int x = ferry__onnx_bottom(o, 0), gate = ferry__onnx_scaled(o, x, beta, 0);

    ferry__onnx_top(o, 0, ONNX_OP(o, "Mul", x, ONNX_OP(o, "Sigmoid", gate)));
}

void ferry__onnx_threshold(struct ferry__onnx *o)
{
    double least =
        ferry_proto_real(ferry__onnx_message(o->layer, "threshold_param"), "threshold", 0);
    int above = ONNX_OP(o, "Greater", ferry__onnx_bottom(o, 0), ferry__onnx_float(o, least));

    ferry__onnx_top(o, 0, ferry__onnx_cast(o, above, FERRY__ONNX_FLOAT));
}

void ferry__onnx_power(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "power_param");
    int x = ferry__onnx_scaled(o, ferry__onnx_bottom(o, 0), ferry_proto_real(p, "scale", 0),
                               ferry_proto_real(p, "shift", 0));

    ferry__onnx_top(o, 0, ferry__onnx_raised(o, x, ferry_proto_real(p, "power", 0)));
}

void ferry__onnx_exp(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "exp_param");
    double base = ferry_proto_real(p, "base", 0), factor = base == -1 ? 1 : log(base);
    int x =
        ferry__onnx_scaled(o, ferry__onnx_bottom(o, 0), factor * ferry_proto_real(p, "scale", 0),
                           factor * ferry_proto_real(p, "shift", 0));

    ferry__onnx_top(o, 0, ONNX_OP(o, "Exp", x));
}

void ferry__onnx_log(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "log_param");
    double base = ferry_proto_real(p, "base", 0), factor = base == -1 ? 1 : 1 / log(base);
    int x = ferry__onnx_scaled(o, ferry__onnx_bottom(o, 0), ferry_proto_real(p, "scale", 0),
                               ferry_proto_real(p, "shift", 0));

    ferry__onnx_top(o, 0, ferry__onnx_scaled(o, ONNX_OP(o, "Log", x), factor, 0));
}

void ferry__onnx_prelu(struct ferry__onnx *o)
{
    int64_t dims[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)), i;

    dims[0] = ferry_blob_element_count(ferry_layer_param_at(o->layer, 0));
    for (i = 1; i < rank - 1; i++)
        dims[i] = 1;
    ferry__onnx_top(
        o, 0,
        ONNX_OP(o, "PRelu", ferry__onnx_bottom(o, 0),
                ferry__onnx_param(o, 0, dims[0] == 1 || rank < 2 ? 1 : rank - 1, dims)));
}

/* Adds Dropout, which is the identity in TEST. */
void ferry__onnx_dropout(struct ferry__onnx *o)
{
    ferry__onnx_top(o, 0, ferry__onnx_bottom(o, 0));
}

const char *ferry__onnx_dropout_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    (void)o;
    return ferry_layer_phase(layer) == FERRY_PHASE_TRAIN ? "it is random in TRAIN" : NULL;
}

/* ---- several bottoms ------------------------------------------------------------------------ */

static int sum(struct ferry__onnx *o, const ferry_proto *p)
{
    int i, y = 0;

    for (i = 0; i < o->layer->n_bottoms; i++) {
        double factor = ferry_proto_value_count(p, "coeff") ? ferry_proto_real(p, "coeff", i) : 1;
        bool minus = i > 0 && factor == -1;
        int x = ferry__onnx_scaled(o, ferry__onnx_bottom(o, i), minus ? 1 : factor, 0);

        y = i ? ONNX_OP(o, minus ? "Sub" : "Add", y, x) : x;
    }
    return y;
}

void ferry__onnx_eltwise(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "eltwise_param");
    const char *operation = ferry_proto_enum(p, "operation", 0);
    const char *type = strcmp(operation, "PROD") ? "Max" : "Mul";
    int i, y = ferry__onnx_bottom(o, 0);

    if (!strcmp(operation, "SUM"))
        y = sum(o, p);
    else
        for (i = 1; i < o->layer->n_bottoms; i++)
            y = ONNX_OP(o, type, y, ferry__onnx_bottom(o, i));
    ferry__onnx_top(o, 0, y);
}

/* Adds a · x + y, with one a for each channel of an image. */
void ferry__onnx_axpy(struct ferry__onnx *o)
{
    const ferry_blob *x = ferry__onnx_bottom_blob(o, 1);
    int64_t dims[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(x), i, a;

    for (i = 0; i < rank; i++)
        dims[i] = i < 2 ? ferry_blob_dim(x, i) : 1;
    a = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), rank, dims);
    ferry__onnx_top(o, 0,
                    ONNX_OP(o, "Add", ONNX_OP(o, "Mul", a, ferry__onnx_bottom(o, 1)),
                            ferry__onnx_bottom(o, 2)));
}
