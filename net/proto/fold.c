/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes layers that are folded into the weights of the layer before them. */
#include "net/proto/upgrade.h"

#include <ferry/proto_edit.h>

#include <string.h>

static bool is_type(const ferry_proto *layer, const char *type)
{
    return strcmp(ferry_proto_string(layer, "type", 0, NULL), type) == 0;
}

static bool has_blob(const ferry_proto *layer, const char *field, const char *blob)
{
    for (int64_t i = 0; i < ferry_proto_value_count(layer, field); i++)
        if (strcmp(ferry_proto_string(layer, field, i, NULL), blob) == 0)
            return true;
    return false;
}

/* Whether one of the layers first … end − 1 reads or makes the blob. */
static bool is_mentioned(const ferry_proto *net, int64_t first, int64_t end, const char *blob)
{
    for (int64_t i = first; i < end; i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        if (has_blob(layer, "bottom", blob) || has_blob(layer, "top", blob))
            return true;
    }
    return false;
}

/* ---- the layers ----------------------------------------------------------------------------- */

/*
 * Whether the layer has one bottom, one top and no loss, is in every phase, and has no parameter
 * that another layer shares.
 */
static bool is_plain(const ferry_proto *layer)
{
    static const char *const absent[] = { "include", "exclude", "loss_weight" };

    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        if (ferry__proto_has(layer, absent[i]))
            return false;
    for (int64_t i = 0; i < ferry_proto_value_count(layer, "param"); i++)
        if (ferry__proto_has(ferry_proto_message(layer, "param", i), "name"))
            return false;
    return ferry_proto_value_count(layer, "bottom") == 1 &&
           ferry_proto_value_count(layer, "top") == 1;
}

/* The name of a layer's message if its weights make channels on axis 1; NULL otherwise. */
static const char *weights_message(const ferry_proto *layer)
{
    static const char *const types[] = { "Convolution", "ConvolutionDepthwise",
                                         "DepthwiseConvolution", "Deconvolution" };
    const char *message = is_type(layer, "InnerProduct") ? "inner_product_param" : NULL;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (is_type(layer, types[i]))
            message = "convolution_param";
    return message && ferry_proto_integer(ferry_proto_message(layer, message, 0), "axis", 0) == 1
               ? message
               : NULL;
}

static bool is_of_channels(const ferry_proto *param)
{
    return ferry_proto_integer(param, "axis", 0) == 1 &&
           ferry_proto_integer(param, "num_axes", 0) == 1;
}

/* Whether the layer is an affine function of the channels of axis 1. */
static bool is_affine(const ferry_proto *layer)
{
    const ferry_proto *norm = ferry_proto_message(layer, "batch_norm_param", 0);

    if (is_type(layer, "BatchNorm"))
        return !ferry_proto_boolean(norm, "scale_bias", 0) &&
               (!ferry__proto_has(norm, "use_global_stats") ||
                ferry_proto_boolean(norm, "use_global_stats", 0));
    if (is_type(layer, "Scale"))
        return is_of_channels(ferry_proto_message(layer, "scale_param", 0));
    return is_type(layer, "Bias") && is_of_channels(ferry_proto_message(layer, "bias_param", 0));
}

/* Returns the index of the layer that layer `at` can be folded into, or −1. */
static int64_t find_into(const ferry_proto *net, int64_t at)
{
    const ferry_proto *layer = ferry_proto_message(net, "layer", at), *into;
    const char *from = ferry_proto_string(layer, "bottom", 0, NULL),
               *to = ferry_proto_string(layer, "top", 0, NULL);
    int64_t i = at - 1;

    if (!is_plain(layer) || !is_affine(layer))
        return -1;
    while (i >= 0 && !is_mentioned(net, i, i + 1, from))
        i--;
    into = i < 0 ? NULL : ferry_proto_message(net, "layer", i);
    if (!into || !weights_message(into) || !is_plain(into) || has_blob(into, "bottom", from))
        return -1;
    if (strcmp(from, to) != 0 &&
        (is_mentioned(net, i, at, to) ||
         is_mentioned(net, at + 1, ferry_proto_value_count(net, "layer"), from)))
        return -1;
    return i;
}

/* ---- the change ----------------------------------------------------------------------------- */

static int absorb(ferry_proto *net, int64_t into, int64_t at)
{
    ferry_proto *layer = ferry__proto_mutable(net, "layer", into);
    const ferry_proto *folded = ferry_proto_message(net, "layer", at);
    const char *from = ferry_proto_string(layer, "top", 0, NULL),
               *to = ferry_proto_string(folded, "top", 0, NULL);
    ferry_proto *param = ferry__proto_mutable(layer, weights_message(layer), 0);
    int err = FERRY_OK;

    if (param)
        ferry__proto_clear(param, "bias_term");
    if (strcmp(from, to) != 0) {
        ferry__proto_clear(layer, "top");
        err = ferry__proto_put_string(layer, "top", to);
    }
    ferry__proto_remove(net, "layer", at);
    return err;
}

int ferry_proto_fold(ferry_proto *net, ferry_proto_fold_fn fold, void *arg)
{
    int err = ferry__edit_check(net, "ferry_proto_fold");

    if (!err && !fold)
        err = ferry_error_set(FERRY_EINVAL, "ferry_proto_fold: fold is NULL");
    for (int64_t i = 0; !err && i < ferry_proto_value_count(net, "layer");) {
        int64_t into = find_into(net, i);
        int answer = into < 0 ? 0
                              : fold(arg, ferry_proto_message(net, "layer", into),
                                     ferry_proto_message(net, "layer", i));

        if (answer < 0)
            return answer;
        if (answer > 0)
            err = absorb(net, into, i);
        else
            i++;
    }
    return err ? err : ferry__edit_prune(net);
}
