/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DummyData (dummy_data_param): tops of given shapes, one for all or one each, filled by data_filler,
 * likewise: constant (0), or uniform or gaussian numbers, which each forward draws anew. (Caffe:
 * DummyDataLayer, which takes every filler.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <string.h>

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "dummy_data_param", 0);
}

/* One for all, or one for each top; `least` of them. */
static int count_fits(const ferry_layer *layer, const char *field, int least)
{
    int64_t n = ferry_proto_count(parameters(layer), field);

    if ((n == 0 && !least) || n == 1 || n == ferry_layer_n_tops(layer))
        return 0;
    return ferry_proto_error(parameters(layer), field, 0, FERRY_EFORMAT,
                             "layer \"%s\": %lld of %s for %d tops; one, or one for each, fits",
                             ferry_layer_name(layer), (long long)n, field,
                             ferry_layer_n_tops(layer));
}

static int setup(ferry_layer *layer)
{
    static const char *const sides[] = { "num", "channels", "height", "width" };
    bool shaped = ferry_proto_count(parameters(layer), "shape") > 0;
    int i, err = count_fits(layer, "data_filler", 0);

    if (!err && shaped)
        err = count_fits(layer, "shape", 1);
    for (i = 0; !err && !shaped && i < 4; i++)
        err = count_fits(layer, sides[i], 1);
    return err;
}

/* Of several the one of that top. */
static int64_t which(const ferry_layer *layer, const char *field, int top)
{
    return ferry_proto_count(parameters(layer), field) > 1 ? top : 0;
}

static int shape_top(ferry_layer *layer, int top)
{
    const ferry_proto *p = parameters(layer);
    const ferry_proto *shape = ferry_proto_message(p, "shape", which(layer, "shape", top));
    int64_t dims[FERRY_MAX_AXES], n = ferry_proto_count(shape, "dim"), i;

    if (!ferry_proto_count(p, "shape"))
        return ferry_blob_reshape4(
            ferry_layer_top(layer, top), ferry_proto_integer(p, "num", which(layer, "num", top)),
            ferry_proto_integer(p, "channels", which(layer, "channels", top)),
            ferry_proto_integer(p, "height", which(layer, "height", top)),
            ferry_proto_integer(p, "width", which(layer, "width", top)));
    if (n > FERRY_MAX_AXES)
        return ferry_proto_error(shape, "dim", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes, %d are the most",
                                 ferry_layer_name(layer), (long long)n, FERRY_MAX_AXES);
    for (i = 0; i < n; i++)
        dims[i] = ferry_proto_integer(shape, "dim", i);
    return ferry_blob_reshape(ferry_layer_top(layer, top), (int)n, dims, NULL);
}

/* The filler of that top; NULL: zeros. */
static const ferry_proto *filler_of(const ferry_layer *layer, int top)
{
    return ferry_proto_count(parameters(layer), "data_filler")
               ? ferry_proto_message(parameters(layer), "data_filler",
                                     which(layer, "data_filler", top))
               : NULL;
}

static bool is_constant(const ferry_proto *filler)
{
    return !filler || !strcmp(ferry_proto_string(filler, "type", 0, NULL), "constant");
}

static int emit_random(ferry_layer *layer, int top, const ferry_proto *filler)
{
    const char *type = ferry_proto_string(filler, "type", 0, NULL);
    bool uniform = !strcmp(type, "uniform");
    int64_t count = ferry_blob_count(ferry_layer_top(layer, top));
    ferry_layer_operand out[1];
    ferry_op op;

    if (!uniform && strcmp(type, "gaussian"))
        return ferry_proto_error(
            filler, "type", 0, FERRY_EUNSUPPORTED,
            "layer \"%s\": \"%s\" is for weights; constant, uniform and gaussian are for data",
            ferry_layer_name(layer), type);
    ferry_op_init(&op, FERRY_OP_RANDOM);
    op.params.random.distribution = uniform ? FERRY_RANDOM_UNIFORM : FERRY_RANDOM_GAUSSIAN;
    op.params.random.a = ferry_proto_real(filler, uniform ? "min" : "mean", 0);
    op.params.random.b = ferry_proto_real(filler, uniform ? "max" : "std", 0);
    ferry__op_out(&op, out, ferry_operand_of(FERRY_F32, 1, &count, NULL), ferry__of_top(top));
    return ferry_layer_emit(layer, &op, NULL, out);
}

static int reshape(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_n_tops(layer); i++) {
        err = shape_top(layer, i);
        if (!err && !is_constant(filler_of(layer, i)))
            err = emit_random(layer, i, filler_of(layer, i));
    }
    return err;
}

static int forward(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_n_tops(layer); i++) {
        const ferry_proto *filler = filler_of(layer, i);

        if (is_constant(filler))
            err = ferry_blob_fill_data(ferry_layer_top(layer, i),
                                       filler ? ferry_proto_real(filler, "value", 0) : 0);
    }
    return err;
}

static const char *const messages[] = { "dummy_data_param", NULL };

const ferry_layer_type ferry__dummy_data_layer = {
    .struct_size = sizeof ferry__dummy_data_layer,
    .name = "DummyData",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
