/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DummyData (dummy_data_param): tops of given shapes, filled by fillers; shapes and data_filler are
 * given once for all tops or once for each. Without a filler tops are filled with constant 0.
 * Random fillers draw new numbers in each forward pass. A constant filler runs once, when the net
 * is opened: values that a program writes into such a top stay. (Caffe: DummyDataLayer.)
 */
#include "net/layers/fillers.h"
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "dummy_data_param", 0);
}

/* Whether the field has one value for all tops or one for each, and at least `least` values. */
static int count_fits(const ferry_layer *layer, const char *field, int least)
{
    int64_t n = ferry_proto_value_count(parameters(layer), field);

    if ((n == 0 && !least) || n == 1 || n == ferry_layer_top_count(layer))
        return 0;
    return ferry_proto_error(parameters(layer), field, 0, FERRY_EFORMAT,
                             "layer \"%s\": %lld of %s for %d tops; give one for all or one for "
                             "each",
                             ferry_layer_name(layer), (long long)n, field,
                             ferry_layer_top_count(layer));
}

static int setup(ferry_layer *layer)
{
    static const char *const sides[] = { "num", "channels", "height", "width" };
    bool shaped = ferry_proto_value_count(parameters(layer), "shape") > 0;
    int i, err = count_fits(layer, "data_filler", 0);

    if (!err && shaped)
        err = count_fits(layer, "shape", 1);
    for (i = 0; !err && !shaped && i < 4; i++)
        err = count_fits(layer, sides[i], 1);
    return err;
}

/* The index of the top's value in the field. */
static int64_t which(const ferry_layer *layer, const char *field, int top)
{
    return ferry_proto_value_count(parameters(layer), field) > 1 ? top : 0;
}

static int shape_top(ferry_layer *layer, int top)
{
    const ferry_proto *p = parameters(layer);
    const ferry_proto *shape = ferry_proto_message(p, "shape", which(layer, "shape", top));
    int64_t dims[FERRY_MAX_AXES], n = ferry_proto_value_count(shape, "dim"), i;

    if (!ferry_proto_value_count(p, "shape"))
        return ferry_blob_reshape4(
            ferry_layer_top_at(layer, top), ferry_proto_integer(p, "num", which(layer, "num", top)),
            ferry_proto_integer(p, "channels", which(layer, "channels", top)),
            ferry_proto_integer(p, "height", which(layer, "height", top)),
            ferry_proto_integer(p, "width", which(layer, "width", top)));
    if (n > FERRY_MAX_AXES)
        return ferry_proto_error(shape, "dim", 0, FERRY_ESHAPE,
                                 "layer \"%s\": %lld axes, the limit is %d",
                                 ferry_layer_name(layer), (long long)n, FERRY_MAX_AXES);
    for (i = 0; i < n; i++)
        dims[i] = ferry_proto_integer(shape, "dim", i);
    return ferry_blob_reshape(ferry_layer_top_at(layer, top), dims, (int)n, NULL);
}

/* The filler of a top; NULL: zeros. */
static const ferry_proto *filler_of(const ferry_layer *layer, int top)
{
    return ferry_proto_value_count(parameters(layer), "data_filler")
               ? ferry_proto_message(parameters(layer), "data_filler",
                                     which(layer, "data_filler", top))
               : NULL;
}

static const char *type_of(const ferry_proto *filler)
{
    return filler ? ferry_proto_string(filler, "type", 0, NULL) : "constant";
}

/* Whether the filler draws random numbers; *op is then the operation that draws them. */
static bool draws(const ferry_proto *filler, const ferry_blob *top, ferry_op_desc *op)
{
    const char *type = type_of(filler);
    double scale;

    op->params.random.distribution = FERRY_RANDOM_UNIFORM;
    if (!strcmp(type, "uniform")) {
        op->params.random.a = ferry_proto_real(filler, "min", 0);
        op->params.random.b = ferry_proto_real(filler, "max", 0);
    } else if (!strcmp(type, "positive_unitball")) {
        op->params.random.a = 0;
        op->params.random.b = 1;
    } else if (!strcmp(type, "xavier")) {
        scale = sqrt(3 / ferry__fill_fan(top, filler));
        op->params.random.a = -scale;
        op->params.random.b = scale;
    } else if (!strcmp(type, "gaussian") || !strcmp(type, "msra")) {
        op->params.random.distribution = FERRY_RANDOM_GAUSSIAN;
        op->params.random.a = type[0] == 'g' ? ferry_proto_real(filler, "mean", 0) : 0;
        op->params.random.b = type[0] == 'g' ? ferry_proto_real(filler, "std", 0)
                                             : sqrt(2 / ferry__fill_fan(top, filler));
    } else {
        return false;
    }
    return true;
}

static int emit_random(ferry_layer *layer, int top)
{
    int64_t count = ferry_blob_element_count(ferry_layer_top_at(layer, top));
    ferry_layer_operand out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_RANDOM);
    if (!count || !draws(filler_of(layer, top), ferry_layer_top_at(layer, top), &op))
        return 0;
    ferry__op_out(&op, out, ferry_operand_make(FERRY_F32, &count, 1, NULL), ferry__of_top(top));
    return ferry_layer_emit(layer, &op, NULL, out);
}

/* Refuses unsupported fillers before anything runs. */
static int check_filler(const ferry_layer *layer, const ferry_proto *filler)
{
    static const char *const types[] = { "constant", "uniform",           "gaussian", "xavier",
                                         "msra",     "positive_unitball", "bilinear" };
    const char *type = type_of(filler);
    size_t i;

    if (filler && strcmp(type, "gaussian") && ferry_proto_integer(filler, "sparse", 0) != -1)
        return ferry_proto_error(filler, "sparse", 0, FERRY_EFORMAT,
                                 "layer \"%s\": only a gaussian filler can be sparse",
                                 ferry_layer_name(layer));
    for (i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i]))
            return 0;
    return ferry_proto_error(filler, "type", 0, FERRY_EFORMAT,
                             "layer \"%s\": unknown filler \"%s\": constant, uniform, gaussian, "
                             "xavier, msra, positive_unitball and bilinear are supported",
                             ferry_layer_name(layer), type);
}

/* Fills a constant top, again if its contents were lost with a device. */
static int fill_constant(ferry_layer *layer, int i)
{
    const ferry_proto *filler = filler_of(layer, i);
    ferry_blob *top = ferry_layer_top_at(layer, i);

    if (!ferry_blob_element_count(top) ||
        ferry_memory_head(ferry_blob_data_memory(top)) != FERRY_HEAD_UNINITIALIZED)
        return 0;
    return ferry_blob_fill_data(top, filler ? ferry_proto_real(filler, "value", 0) : 0);
}

static bool is_constant(const ferry_layer *layer, int i)
{
    return !strcmp(type_of(filler_of(layer, i)), "constant");
}

static int reshape(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_top_count(layer); i++) {
        err = check_filler(layer, filler_of(layer, i));
        if (!err)
            err = shape_top(layer, i);
        if (!err)
            err = is_constant(layer, i) ? fill_constant(layer, i) : emit_random(layer, i);
    }
    return err;
}

/*
 * Keeps about `sparse` of an item's gaussian numbers, each with the same probability, and zeros the
 * others.
 */
static int thin_out(ferry_layer *layer, const ferry_proto *filler, ferry_blob *top)
{
    int64_t sparse = ferry_proto_integer(filler, "sparse", 0), i;
    int64_t items = ferry_blob_rank(top) ? ferry_blob_dim(top, 0) : 1;
    float *values;

    if (sparse < 0)
        return 0;
    values = ferry_blob_mutable_host_data(top);
    if (!values)
        return ferry_last_error_code();
    for (i = 0; i < ferry_blob_element_count(top); i++)
        if (ferry_layer_random(layer, (uint64_t)items) >= (uint64_t)sparse)
            values[i] = 0;
    return 0;
}

static int finish_top(ferry_layer *layer, int i)
{
    const ferry_proto *filler = filler_of(layer, i);
    ferry_blob *top = ferry_layer_top_at(layer, i);
    const char *type = type_of(filler);

    if (is_constant(layer, i))
        return fill_constant(layer, i);
    if (!strcmp(type, "bilinear"))
        return ferry__fill_bilinear(filler, ferry_layer_name(layer), top);
    if (!strcmp(type, "positive_unitball"))
        return ferry__fill_unit_ball(top);
    return strcmp(type, "gaussian") ? 0 : thin_out(layer, filler, top);
}

static int forward(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < ferry_layer_top_count(layer); i++)
        err = finish_top(layer, i);
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
