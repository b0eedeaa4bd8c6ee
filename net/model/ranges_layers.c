/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges stated by layers: quantization_param of Intel Caffe (src/caffe/proto/caffe.proto, number
 * 158; how it computes with them: src/caffe/layers/mkldnn_convolution_layer.cpp). A scale is the
 * number of levels per unit: 255 from 0 for an input without negative values and for an output
 * after a ReLU, otherwise 127 on each side of 0.
 */
#include "net/model/ranges.h"

#include "net/proto/tree.h"
#include "net/proto/upgrade.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

#define BITS 8

/* The repeated fields of one range of a layer: scales, or exponents of scales. */
struct fields {
    const char *bits, *scale, *exponent;
};

static const struct fields input = { "bw_layer_in", "scale_in", "fl_layer_in" };
static const struct fields output = { "bw_layer_out", "scale_out", "fl_layer_out" };

static const char *text_of(const ferry_proto *layer, const char *field)
{
    return ferry_proto_string(layer, field, 0, NULL);
}

static bool is_product(const ferry_proto *layer)
{
    static const char *const types[] = { "Convolution", "ConvolutionDepthwise",
                                         "DepthwiseConvolution", "InnerProduct" };
    size_t i;

    for (i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(text_of(layer, "type"), types[i]) == 0)
            return true;
    return false;
}

/* The quantization_param of a layer of a type for which Intel Caffe reads it; or else NULL. */
static const ferry_proto *quantization_of(const ferry_proto *layer)
{
    const char *type = text_of(layer, "type");
    bool reads = strcmp(type, "Convolution") == 0 || strcmp(type, "InnerProduct") == 0;

    return reads && ferry_proto_value_count(layer, "quantization_param")
               ? ferry_proto_message(layer, "quantization_param", 0)
               : NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_scales(const ferry_proto *layer, const ferry_proto *param, const char *field,
                        bool may_be_zero)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(param, field); i++) {
        float scale = (float)ferry_proto_real(param, field, i);

        if (isfinite(scale) && isfinite(255 / scale) ? scale > 0 : may_be_zero && scale == 0)
            continue;
        return ferry_proto_error(param, field, i, FERRY_EFORMAT,
                                 "quantization_param: layer \"%s\": %s %g is not a scale",
                                 text_of(layer, "name"), field, (double)scale);
    }
    return 0;
}

static int check_exponents(const ferry_proto *layer, const ferry_proto *param, const char *field)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(param, field); i++) {
        int64_t exponent = ferry_proto_integer(param, field, i);

        if (exponent < -64 || exponent > 64)
            return ferry_proto_error(param, field, i, FERRY_EFORMAT,
                                     "quantization_param: layer \"%s\": %s %lld is not from -64 "
                                     "to 64",
                                     text_of(layer, "name"), field, (long long)exponent);
    }
    return 0;
}

/* Checks that a range with 8 bits has a scale. */
static int check_range(const ferry_proto *layer, const ferry_proto *param, const struct fields *f)
{
    int err = check_scales(layer, param, f->scale, false);

    if (!err)
        err = check_exponents(layer, param, f->exponent);
    if (!err && ferry_proto_integer(param, f->bits, 0) == BITS &&
        !ferry_proto_value_count(param, f->scale) && !ferry_proto_value_count(param, f->exponent))
        err = ferry_proto_error(param, f->bits, 0, FERRY_EFORMAT,
                                "quantization_param: layer \"%s\": %s is %d, but neither %s nor "
                                "%s is given",
                                text_of(layer, "name"), f->bits, BITS, f->scale, f->exponent);
    return err;
}

static int check(const ferry_proto *layer, const ferry_proto *param)
{
    int err = check_range(layer, param, &input);

    if (!err)
        err = check_range(layer, param, &output);
    if (!err)
        err = check_scales(layer, param, "scale_params", true); /* 0: all weights are 0 */
    return err ? err : check_exponents(layer, param, "fl_params");
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Whether the layer computes with 8 bits; ferry computes it in F32 otherwise. */
static bool has_integers(const ferry_proto *param)
{
    return param && ferry_proto_integer(param, input.bits, 0) == BITS &&
           ferry_proto_integer(param, "bw_params", 0) == BITS;
}

/* Whether a blob has no negative value at the end: its last layer in place is a ReLU. */
static bool is_rectified(const ferry_proto *net, const char *blob)
{
    bool rectified = false;
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        if (ferry_proto_value_count(layer, "top") == 0 || strcmp(text_of(layer, "top"), blob) != 0)
            continue;
        rectified = strcmp(text_of(layer, "type"), "ReLU") == 0 &&
                    ferry_proto_real(ferry_proto_message(layer, "relu_param", 0), "negative_slope",
                                     0) == 0;
    }
    return rectified;
}

/* The range of the levels of a scale. */
static void levels_of(const ferry_proto *param, const struct fields *f, bool is_negative,
                      float *least, float *most)
{
    float scale = ferry_proto_value_count(param, f->scale)
                      ? (float)ferry_proto_real(param, f->scale, 0)
                      : ldexpf(1, (int)ferry_proto_integer(param, f->exponent, 0));

    *least = is_negative ? -127 / scale : 0;
    *most = (is_negative ? 127 : 255) / scale;
}

/* Adds a range to the message, or widens the one that the blob has. */
static int add_range(ferry_proto *to, const char *blob, float least, float most, bool may_widen)
{
    ferry_proto *range = NULL;
    int64_t i;
    int err;

    for (i = 0; !range && i < ferry_proto_value_count(to, "range"); i++)
        if (strcmp(text_of(ferry_proto_message(to, "range", i), "blob"), blob) == 0)
            range = ferry__proto_mutable(to, "range", i);
    if (range && !may_widen)
        return 0;
    if (range) {
        least = fminf(least, (float)ferry_proto_real(range, "min", 0));
        most = fmaxf(most, (float)ferry_proto_real(range, "max", 0));
    }
    err = range ? 0 : ferry__proto_put_message(to, "range", &range);
    if (!err)
        err = ferry__proto_put_string(range, "blob", blob);
    if (!err)
        err = ferry__proto_put_real(range, "min", (double)least);
    return err ? err : ferry__proto_put_real(range, "max", (double)most);
}

/* Adds the range of a layer's input, or its name if it computes in F32. */
static int add_input(const ferry_proto *layer, ferry_proto *to)
{
    const ferry_proto *param = quantization_of(layer);
    float least, most;
    int err = param ? check(layer, param) : 0;

    if (err || !is_product(layer))
        return err;
    if (!has_integers(param))
        return ferry__proto_put_string(to, "float_layer", text_of(layer, "name"));
    levels_of(param, &input, ferry_proto_boolean(param, "is_negative_input", 0), &least, &most);
    if (ferry_proto_boolean(param, "force_u8_input", 0)) { /* bytes of pictures */
        least = 0;
        most = 255;
    }
    return ferry_proto_value_count(layer, "bottom")
               ? add_range(to, text_of(layer, "bottom"), least, most, true)
               : 0;
}

/* Adds the range of a layer's output, unless a reader states that of its input. */
static int add_output(const ferry_proto *net, const ferry_proto *layer, ferry_proto *to)
{
    const ferry_proto *param = quantization_of(layer);
    float least, most;

    if (!has_integers(param) || ferry_proto_integer(param, output.bits, 0) != BITS ||
        ferry_proto_value_count(layer, "top") == 0)
        return 0;
    levels_of(param, &output, !is_rectified(net, text_of(layer, "top")), &least, &most);
    return add_range(to, text_of(layer, "top"), least, most, false);
}

int ferry__ranges_of_layers(const ferry_proto *net, ferry_proto **out)
{
    int64_t count = ferry_proto_value_count(net, "layer"), i;
    ferry_proto *made = NULL;
    bool any = false;
    int err = 0;

    *out = NULL;
    for (i = 0; !any && i < count; i++)
        any = quantization_of(ferry_proto_message(net, "layer", i)) != NULL;
    if (!any)
        return 0;
    err = ferry__proto_create(&ferry__proto_QuantizationParameter, net->document->file, &made);
    for (i = 0; !err && i < count; i++)
        err = add_input(ferry_proto_message(net, "layer", i), made);
    for (i = 0; !err && i < count; i++)
        err = add_output(net, ferry_proto_message(net, "layer", i), made);
    if (err)
        ferry_proto_close(made);
    else
        *out = made;
    return err;
}
