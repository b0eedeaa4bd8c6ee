/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V0: layers { layer { … } }, with all parameters in one message and padding as a layer of its own.
 */
#include "net/proto/index.h"
#include "net/proto/upgrade.h"

#include <stdio.h>
#include <string.h>

bool ferry__upgrade_needs_v0(const ferry_proto *net)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers"); i++)
        if (ferry__proto_has(ferry_proto_message(net, "layers", i), "layer"))
            return true;
    return false;
}

static const char *type_of(const ferry_proto *v1)
{
    return ferry_proto_string(ferry_proto_message(v1, "layer", 0), "type", 0, NULL);
}

/* ---- padding layers ------------------------------------------------------------------------- */

static bool is_padding(const ferry_proto *v1)
{
    return strcmp(type_of(v1), "padding") == 0;
}

/*
 * Gives a layer whose bottom comes from a padding layer the padding itself, and the padding layer's
 * bottom.
 */
static int fold(ferry_proto *v1, const ferry_proto *padding)
{
    const char *type = type_of(v1);
    int64_t pad = ferry_proto_integer(ferry_proto_message(padding, "layer", 0), "pad", 0);
    ferry_proto *layer = NULL;
    int err;

    if (strcmp(type, "conv") != 0 && strcmp(type, "pool") != 0)
        return ferry_proto_error(
            v1, NULL, 0, FERRY_EFORMAT,
            "a padding layer's top is used by a layer of type \"%.100s\": only conv and pool have "
            "padding",
            type);
    if (ferry_proto_value_count(v1, "bottom") != 1)
        return ferry_proto_error(v1, NULL, 0, FERRY_EFORMAT,
                                 "a layer after a padding layer must have a single bottom");
    if (ferry_proto_value_count(padding, "bottom") != 1 ||
        ferry_proto_value_count(padding, "top") != 1)
        return ferry_proto_error(padding, NULL, 0, FERRY_EFORMAT,
                                 "a padding layer must have a single bottom and a single top");
    err = ferry__proto_put_message(v1, "layer", &layer);
    if (!err)
        err = ferry__proto_put_integer(layer, "pad", pad);
    ferry__proto_clear(v1, "bottom");
    return err ? err : ferry__proto_put_all(v1, "bottom", padding, "bottom");
}

enum { FROM_INPUT = -1, FROM_NOWHERE = -2 };

static int fold_layer(ferry_proto *net, const struct ferry__index *producers, ferry_proto *v1)
{
    for (int64_t j = 0; j < ferry_proto_value_count(v1, "bottom"); j++) {
        const char *bottom = ferry_proto_string(v1, "bottom", j, NULL);
        int64_t from = ferry__index_get(producers, bottom, FROM_NOWHERE);
        const ferry_proto *producer = from >= 0 ? ferry_proto_message(net, "layers", from) : NULL;

        if (from == FROM_NOWHERE)
            return ferry_proto_error(v1, "bottom", j, FERRY_EFORMAT,
                                     "no layer produces the bottom \"%.100s\"", bottom);
        if (producer && is_padding(producer))
            return fold(v1, producer);
    }
    return FERRY_OK;
}

static int set_producers(struct ferry__index *producers, const ferry_proto *p, const char *field,
                         int64_t producer)
{
    int err = FERRY_OK;

    for (int64_t j = 0; j < ferry_proto_value_count(p, field) && !err; j++)
        err = ferry__index_set(producers, ferry_proto_string(p, field, j, NULL), producer);
    return err;
}

static int fold_padding(ferry_proto *net)
{
    struct ferry__index producers = { 0 };
    int err = set_producers(&producers, net, "input", FROM_INPUT);

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers") && !err; i++) {
        ferry_proto *v1 = ferry__proto_mutable(net, "layers", i);

        err = fold_layer(net, &producers, v1);
        if (!err)
            err = set_producers(&producers, v1, "top", i);
    }
    ferry__index_free(&producers);
    return err;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* The destination of a parameter for layers of a type; NULL: for any type. */
static const struct {
    const char *from, *type, *message, *to;
} moves[] = {
    { "num_output", "conv", "convolution_param", "num_output" },
    { "num_output", "innerproduct", "inner_product_param", "num_output" },
    { "biasterm", "conv", "convolution_param", "bias_term" },
    { "biasterm", "innerproduct", "inner_product_param", "bias_term" },
    { "weight_filler", "conv", "convolution_param", "weight_filler" },
    { "weight_filler", "innerproduct", "inner_product_param", "weight_filler" },
    { "bias_filler", "conv", "convolution_param", "bias_filler" },
    { "bias_filler", "innerproduct", "inner_product_param", "bias_filler" },
    { "pad", "conv", "convolution_param", "pad" },
    { "pad", "pool", "pooling_param", "pad" },
    { "kernelsize", "conv", "convolution_param", "kernel_size" },
    { "kernelsize", "pool", "pooling_param", "kernel_size" },
    { "group", "conv", "convolution_param", "group" },
    { "stride", "conv", "convolution_param", "stride" },
    { "stride", "pool", "pooling_param", "stride" },
    { "pool", "pool", "pooling_param", "pool" },
    { "dropout_ratio", "dropout", "dropout_param", "dropout_ratio" },
    { "local_size", "lrn", "lrn_param", "local_size" },
    { "alpha", "lrn", "lrn_param", "alpha" },
    { "beta", "lrn", "lrn_param", "beta" },
    { "k", "lrn", "lrn_param", "k" },
    { "source", "data", "data_param", "source" },
    { "source", "hdf5_data", "hdf5_data_param", "source" },
    { "source", "images", "image_data_param", "source" },
    { "source", "window_data", "window_data_param", "source" },
    { "source", "infogain_loss", "infogain_loss_param", "source" },
    { "scale", NULL, "transform_param", "scale" },
    { "meanfile", NULL, "transform_param", "mean_file" },
    { "batchsize", "data", "data_param", "batch_size" },
    { "batchsize", "hdf5_data", "hdf5_data_param", "batch_size" },
    { "batchsize", "images", "image_data_param", "batch_size" },
    { "batchsize", "window_data", "window_data_param", "batch_size" },
    { "cropsize", NULL, "transform_param", "crop_size" },
    { "mirror", NULL, "transform_param", "mirror" },
    { "rand_skip", "data", "data_param", "rand_skip" },
    { "rand_skip", "images", "image_data_param", "rand_skip" },
    { "shuffle_images", "images", "image_data_param", "shuffle" },
    { "new_height", "images", "image_data_param", "new_height" },
    { "new_width", "images", "image_data_param", "new_width" },
    { "concat_dim", "concat", "concat_param", "concat_dim" },
    { "det_fg_threshold", "window_data", "window_data_param", "fg_threshold" },
    { "det_bg_threshold", "window_data", "window_data_param", "bg_threshold" },
    { "det_fg_fraction", "window_data", "window_data_param", "fg_fraction" },
    { "det_context_pad", "window_data", "window_data_param", "context_pad" },
    { "det_crop_mode", "window_data", "window_data_param", "crop_mode" },
    { "hdf5_output_param", "hdf5_output", NULL, "hdf5_output_param" },
};

#define MOVE_COUNT (sizeof(moves) / sizeof(moves[0]))

static int move(ferry_proto *v1, const ferry_proto *v0, size_t i)
{
    ferry_proto *to = v1;
    int err = FERRY_OK;

    if (moves[i].message)
        err = ferry__proto_put_message(v1, moves[i].message, &to);
    return err ? err : ferry__proto_put_all(to, moves[i].to, v0, moves[i].from);
}

/* Moves the parameters. Rows of the same parameter are consecutive in the table. */
static int move_all(ferry_proto *v1, const ferry_proto *v0, const char *type, bool *compatible)
{
    bool moved = false;
    int err = FERRY_OK;

    for (size_t i = 0; i < MOVE_COUNT && !err; i++) {
        const char *from = moves[i].from;
        bool last = i + 1 == MOVE_COUNT || strcmp(moves[i + 1].from, from) != 0;

        if (ferry__proto_has(v0, from) && (!moves[i].type || strcmp(moves[i].type, type) == 0)) {
            err = move(v1, v0, i);
            moved = true;
        }
        if (last && !moved && !err && ferry__proto_has(v0, from)) {
            *compatible = false;
            err = ferry__proto_add_note(v1->document, FERRY_LOG_ERROR,
                                        "Unknown parameter %s for layer type %.100s", from, type);
        }
        moved = moved && !last;
    }
    return err;
}

/* ---- layers --------------------------------------------------------------------------------- */

/* V0's type names that differ from V1's in lower case. */
static const char *const renamed[][2] = {
    { "conv", "CONVOLUTION" },
    { "images", "IMAGE_DATA" },
    { "innerproduct", "INNER_PRODUCT" },
    { "pool", "POOLING" },
};

/* V0's type names that are V1's in lower case. */
static const char *const kept[] = {
    "accuracy", "bnll",        "concat",        "data",
    "dropout",  "flatten",     "hdf5_data",     "euclidean_loss",
    "im2col",   "hdf5_output", "infogain_loss", "multinomial_logistic_loss",
    "lrn",      "relu",        "sigmoid",       "softmax",
    "split",    "tanh",        "window_data",   "softmax_loss",
};

static void v1_name(const char *type, char out[64])
{
    *out = '\0';
    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
        if (strcmp(type, renamed[i][0]) == 0)
            snprintf(out, 64, "%s", renamed[i][1]);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (strcmp(type, kept[i]) == 0) {
            snprintf(out, 64, "%s", type);
            for (char *c = out; *c; c++)
                *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
        }
}

static int put_type(ferry_proto *v1, const ferry_proto *v0, const char *type)
{
    const struct ferry__proto_field *field = ferry__proto_field_of(v1->type, "type", 4);
    const struct ferry__proto_name *name;
    char upper[64];

    if (!ferry__proto_has(v0, "type"))
        return FERRY_OK;
    v1_name(type, upper);
    name = ferry__proto_enum_named(field->choices, upper, strlen(upper));
    if (!name)
        return ferry_proto_error(v0, "type", 0, FERRY_EFORMAT,
                                 "V0 does not have a layer type \"%.100s\"", type);
    return ferry__proto_put_integer(v1, "type", name->number);
}

static int upgrade_layer(ferry_proto *v1, bool *compatible)
{
    static const char *const same[] = { "name", "blobs", "blobs_lr", "weight_decay" };
    ferry_proto *fresh = ferry__proto_new(v1->document, v1->type);
    const ferry_proto *v0 = ferry_proto_message(v1, "layer", 0);
    const char *type = ferry_proto_string(v0, "type", 0, NULL);
    int err = fresh ? ferry__proto_put_all(fresh, "bottom", v1, "bottom")
                    : ferry__proto_no_memory(v1->document);

    if (!err)
        err = ferry__proto_put_all(fresh, "top", v1, "top");
    if (!err)
        err = put_type(fresh, v0, type);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]) && !err; i++)
        err = ferry__proto_put_all(fresh, same[i], v0, same[i]);
    if (!err)
        err = move_all(fresh, v0, type, compatible);
    if (!err)
        v1->slots = fresh->slots;
    return err;
}

int ferry__upgrade_padding(ferry_proto *net)
{
    int err = fold_padding(net);

    for (int64_t i = ferry_proto_value_count(net, "layers") - 1; i >= 0 && !err; i--)
        if (is_padding(ferry_proto_message(net, "layers", i)))
            ferry__proto_remove(net, "layers", i);
    return err;
}

/* Upgrades V0. A layer that already has V1's form is kept; Caffe would drop its parameters. */
int ferry__upgrade_v0(ferry_proto *net, bool *compatible)
{
    int err = ferry__upgrade_padding(net);

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layers") && !err; i++) {
        ferry_proto *v1 = ferry__proto_mutable(net, "layers", i);

        if (ferry__proto_has(v1, "layer"))
            err = upgrade_layer(v1, compatible);
    }
    return err;
}
