/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V1: layers { type: CONVOLUTION blobs_lr: 1 … }; and its older form, in which data layers have the
 * image transformation among their own fields.
 */
#include "net/proto/upgrade.h"

#include <string.h>

/* ---- data layers ---------------------------------------------------------------------------- */

static const struct {
    const char *type, *message;
} data_layers[] = {
    { "DATA", "data_param" },
    { "IMAGE_DATA", "image_data_param" },
    { "WINDOW_DATA", "window_data_param" },
};

static const char *const transformations[] = { "scale", "mean_file", "crop_size", "mirror" };

static const char *data_message(const ferry_proto *v1)
{
    for (size_t i = 0; i < sizeof(data_layers) / sizeof(data_layers[0]); i++)
        if (strcmp(ferry_proto_enum(v1, "type", 0), data_layers[i].type) == 0)
            return data_layers[i].message;
    return NULL;
}

bool ferry__upgrade_needs_data(const ferry_proto *net)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers"); i++) {
        const ferry_proto *v1 = ferry_proto_message(net, "layers", i);
        const char *message = data_message(v1);

        for (size_t k = 0; message && k < 4; k++)
            if (ferry__proto_has(ferry_proto_message(v1, message, 0), transformations[k]))
                return true;
    }
    return false;
}

/* Creates both messages, as in Caffe, even if they are empty. */
static int move_transformation(ferry_proto *v1, const char *message)
{
    ferry_proto *from = NULL, *to = NULL;
    int err = ferry__proto_put_message(v1, message, &from);

    if (!err)
        err = ferry__proto_put_message(v1, "transform_param", &to);
    for (size_t k = 0; k < 4 && !err; k++) {
        if (!ferry__proto_has(from, transformations[k]))
            continue;
        ferry__proto_clear(to, transformations[k]);
        err = ferry__proto_put_all(to, transformations[k], from, transformations[k]);
        ferry__proto_clear(from, transformations[k]);
    }
    return err;
}

int ferry__upgrade_data(ferry_proto *net)
{
    int err = FERRY_OK;

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers") && !err; i++) {
        ferry_proto *v1 = ferry__proto_mutable(net, "layers", i);
        const char *message = data_message(v1);

        if (message)
            err = move_transformation(v1, message);
    }
    return err;
}

/* ---- types ---------------------------------------------------------------------------------- */

const char *const ferry__upgrade_v1_types[][2] = {
    { "NONE", "" },
    { "ABSVAL", "AbsVal" },
    { "ACCURACY", "Accuracy" },
    { "ARGMAX", "ArgMax" },
    { "BNLL", "BNLL" },
    { "CONCAT", "Concat" },
    { "CONTRASTIVE_LOSS", "ContrastiveLoss" },
    { "CONVOLUTION", "Convolution" },
    { "DATA", "Data" },
    { "DECONVOLUTION", "Deconvolution" },
    { "DROPOUT", "Dropout" },
    { "DUMMY_DATA", "DummyData" },
    { "ELTWISE", "Eltwise" },
    { "EUCLIDEAN_LOSS", "EuclideanLoss" },
    { "EXP", "Exp" },
    { "FLATTEN", "Flatten" },
    { "HDF5_DATA", "HDF5Data" },
    { "HDF5_OUTPUT", "HDF5Output" },
    { "HINGE_LOSS", "HingeLoss" },
    { "IM2COL", "Im2col" },
    { "IMAGE_DATA", "ImageData" },
    { "INFOGAIN_LOSS", "InfogainLoss" },
    { "INNER_PRODUCT", "InnerProduct" },
    { "LRN", "LRN" },
    { "MEMORY_DATA", "MemoryData" },
    { "MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss" },
    { "MVN", "MVN" },
    { "POOLING", "Pooling" },
    { "POWER", "Power" },
    { "RELU", "ReLU" },
    { "SIGMOID", "Sigmoid" },
    { "SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss" },
    { "SILENCE", "Silence" },
    { "SLICE", "Slice" },
    { "SOFTMAX", "Softmax" },
    { "SOFTMAX_LOSS", "SoftmaxWithLoss" },
    { "SPLIT", "Split" },
    { "TANH", "TanH" },
    { "THRESHOLD", "Threshold" },
    { "WINDOW_DATA", "WindowData" },
};

const size_t ferry__upgrade_v1_type_count =
    sizeof(ferry__upgrade_v1_types) / sizeof(ferry__upgrade_v1_types[0]);

static int put_type(ferry_proto *layer, const ferry_proto *v1)
{
    const char *type = ferry_proto_enum(v1, "type", 0);
    const struct ferry__proto_slot *from = ferry__proto_slot_of(v1, "type");
    struct ferry__proto_slot *to;
    int err = FERRY_OK;

    if (!from)
        return FERRY_OK;
    for (size_t i = 0; i < ferry__upgrade_v1_type_count && !err; i++)
        if (strcmp(type, ferry__upgrade_v1_types[i][0]) == 0)
            err = ferry__proto_put_string(layer, "type", ferry__upgrade_v1_types[i][1]);
    to = ferry__proto_slot_of(layer, "type");
    if (to) {
        to->values[0].line = from->values[0].line;
        to->values[0].column = from->values[0].column;
    }
    return err;
}

/* ---- params --------------------------------------------------------------------------------- */

/* Moves value i of a field of the layer to param i, which is created if it does not exist. */
static int spread(ferry_proto *layer, const ferry_proto *v1, const char *from, const char *to)
{
    const struct ferry__proto_slot *slot = ferry__proto_slot_of(v1, from);
    int err = FERRY_OK;

    for (uint32_t i = 0; slot && i < slot->count && !err; i++) {
        ferry_proto *param = ferry__proto_mutable(layer, "param", i);
        const struct ferry__proto_field *field;
        struct ferry__proto_value *value;

        if (!param)
            err = ferry__proto_put_message(layer, "param", &param);
        if (err)
            break;
        field = ferry__proto_field_of(param->type, to, strlen(to));
        value = ferry__proto_append(param, field, to, (enum ferry__proto_kind)field->kind);
        if (!value)
            return ferry__proto_no_memory(layer->document);
        *value = slot->values[i];
    }
    return err;
}

/* ---- layers --------------------------------------------------------------------------------- */

const char *const ferry__upgrade_spreads[FERRY__UPGRADE_SPREADS][2] = {
    { "param", "name" },
    { "blob_share_mode", "share_mode" },
    { "blobs_lr", "lr_mult" },
    { "weight_decay", "decay_mult" },
};

static bool is_spread(const char *name)
{
    for (size_t i = 0; i < FERRY__UPGRADE_SPREADS; i++)
        if (strcmp(name, ferry__upgrade_spreads[i][0]) == 0)
            return true;
    return false;
}

/* Copies the fields that have the same name in V1 and V2, and unknown fields. */
static int put_same(ferry_proto *layer, const struct ferry__proto_slot *slot)
{
    const struct ferry__proto_field *field =
        ferry__proto_field_of(layer->type, slot->name, strlen(slot->name));

    for (uint32_t i = 0; i < slot->count; i++) {
        struct ferry__proto_value *value = ferry__proto_append(
            layer, field, slot->name, (enum ferry__proto_kind)slot->values[i].kind);

        if (!value)
            return ferry__proto_no_memory(layer->document);
        *value = slot->values[i];
    }
    return FERRY_OK;
}

static int upgrade_layer(ferry_proto *layer, const ferry_proto *v1)
{
    int err = put_type(layer, v1);

    layer->line = v1->line;
    layer->column = v1->column;
    for (size_t i = 0; i < FERRY__UPGRADE_SPREADS && !err; i++)
        err = spread(layer, v1, ferry__upgrade_spreads[i][0], ferry__upgrade_spreads[i][1]);
    for (const struct ferry__proto_slot *slot = v1->slots; slot && !err; slot = slot->next)
        if (!is_spread(slot->name) && strcmp(slot->name, "type") != 0)
            err = put_same(layer, slot);
    return err;
}

bool ferry__upgrade_needs_v1(const ferry_proto *net)
{
    return ferry__proto_has(net, "layers");
}

int ferry__upgrade_v1(ferry_proto *net)
{
    int err = FERRY_OK;

    if (ferry__proto_has(net, "layer"))
        return ferry_proto_error(net, "layers", 0, FERRY_EFORMAT,
                                 "the net has both layer { type: \"Name\" } and the older layers { "
                                 "type: NAME }: write all as layer");
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers") && !err; i++) {
        ferry_proto *layer;

        err = ferry__proto_put_message(net, "layer", &layer);
        if (!err)
            err = upgrade_layer(layer, ferry_proto_message(net, "layers", i));
    }
    ferry__proto_clear(net, "layers");
    return err;
}
