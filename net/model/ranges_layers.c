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
#include <stdlib.h>
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

/* ---- the layers that count ------------------------------------------------------------------- */

/* The reading of the layers of one definition. */
struct reading {
    const ferry_proto **layers; /* those that count */
    size_t count;
    struct ferry__names rectified; /* whether a blob has no negative value at the end */
    struct ferry__names ranges;    /* the position of a blob's range in `to` */
    ferry_proto *to;
};

/*
 * Whether a layer of a file of weights counts: a layer of the net, or one without parameters that
 * the net may have by another name.
 */
static bool counts(const ferry_net *net, const ferry_proto *layer)
{
    return ferry__net_find_layer(net, text_of(layer, "name")) >= 0 ||
           (!is_product(layer) && !ferry__proto_has(layer, "include") &&
            !ferry__proto_has(layer, "exclude"));
}

/* Collects the layers that count: of the net's own definition those of its phase and stages. */
static int collect(const ferry_net *net, const ferry_proto *definition, struct reading *r)
{
    int64_t count = ferry_proto_value_count(definition, "layer"), i;
    bool is_own = definition == net->proto;

    if (is_own)
        count = net->n_layers;
    r->layers = malloc(((size_t)count + 1) * sizeof *r->layers);
    if (!r->layers)
        return ferry_error_set(FERRY_ENOMEM, "net \"%s\": no memory", net->name);
    for (i = 0; i < count; i++) {
        const ferry_proto *layer =
            is_own ? net->layers[i].message : ferry_proto_message(definition, "layer", i);

        if (is_own || counts(net, layer))
            r->layers[r->count++] = layer;
    }
    return 0;
}

/* Notes which blobs have no negative value at the end: their last layer in place is a ReLU. */
static int note_rectified(struct reading *r)
{
    int err = 0;
    size_t i;

    for (i = 0; !err && i < r->count; i++) {
        const ferry_proto *layer = r->layers[i];
        const ferry_proto *param = ferry_proto_message(layer, "relu_param", 0);
        bool rectified = strcmp(text_of(layer, "type"), "ReLU") == 0 &&
                         ferry_proto_real(param, "negative_slope", 0) == 0;

        if (ferry__proto_has(layer, "top"))
            err = ferry__names_set(&r->rectified, text_of(layer, "top"), rectified, false);
    }
    return err;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Whether the layer computes with 8 bits; ferry computes it in F32 otherwise. */
static bool has_integers(const ferry_proto *param)
{
    return param && ferry_proto_integer(param, input.bits, 0) == BITS &&
           ferry_proto_integer(param, "bw_params", 0) == BITS;
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

/* Appends a range; `blob` lives as long as the reading. */
static int append_range(struct reading *r, const char *blob, ferry_proto **range)
{
    int at = (int)ferry_proto_value_count(r->to, "range");
    int err = ferry__proto_put_message(r->to, "range", range);

    if (!err)
        err = ferry__proto_put_string(*range, "blob", blob);
    return err ? err : ferry__names_set(&r->ranges, blob, at, false);
}

/* Adds a range, or widens the one that the blob has. */
static int add_range(struct reading *r, const char *blob, float least, float most, bool may_widen)
{
    ferry_proto *range = ferry__proto_mutable(r->to, "range", ferry__names_get(&r->ranges, blob));
    int err = 0;

    if (range && !may_widen)
        return 0;
    if (range) {
        least = fminf(least, (float)ferry_proto_real(range, "min", 0));
        most = fmaxf(most, (float)ferry_proto_real(range, "max", 0));
    } else {
        err = append_range(r, blob, &range);
    }
    if (!err)
        err = ferry__proto_put_real(range, "min", (double)least);
    return err ? err : ferry__proto_put_real(range, "max", (double)most);
}

/* Adds the range of a layer's input, or its name if it computes in F32. */
static int add_input(struct reading *r, const ferry_proto *layer)
{
    const ferry_proto *param = quantization_of(layer);
    float least, most;
    int err = param ? check(layer, param) : 0;

    if (err || !is_product(layer))
        return err;
    if (!has_integers(param))
        return ferry__proto_put_string(r->to, "float_layer", text_of(layer, "name"));
    levels_of(param, &input, ferry_proto_boolean(param, "is_negative_input", 0), &least, &most);
    if (ferry_proto_boolean(param, "force_u8_input", 0)) { /* bytes of pictures */
        least = 0;
        most = 255;
    }
    return ferry__proto_has(layer, "bottom")
               ? add_range(r, text_of(layer, "bottom"), least, most, true)
               : 0;
}

/* Adds the range of a layer's output, unless a reader states that of its input. */
static int add_output(struct reading *r, const ferry_proto *layer)
{
    const ferry_proto *param = quantization_of(layer);
    const char *top = text_of(layer, "top");
    float least, most;

    if (!has_integers(param) || ferry_proto_integer(param, output.bits, 0) != BITS ||
        !ferry__proto_has(layer, "top"))
        return 0;
    levels_of(param, &output, ferry__names_get(&r->rectified, top) != 1, &least, &most);
    return add_range(r, top, least, most, false);
}

static int read_layers(const ferry_proto *definition, struct reading *r)
{
    bool any = false;
    int err = 0;
    size_t i;

    for (i = 0; !any && i < r->count; i++)
        any = quantization_of(r->layers[i]) != NULL;
    if (!any)
        return 0;
    err = ferry__proto_create(&ferry__proto_QuantizationParameter, definition->document->file,
                              &r->to);
    if (!err)
        err = note_rectified(r);
    for (i = 0; !err && i < r->count; i++)
        err = add_input(r, r->layers[i]);
    for (i = 0; !err && i < r->count; i++)
        err = add_output(r, r->layers[i]);
    return err;
}

int ferry__ranges_of_layers(const ferry_net *net, const ferry_proto *definition, ferry_proto **out)
{
    struct reading r = { 0 };
    int err = collect(net, definition, &r);

    if (!err)
        err = read_layers(definition, &r);
    if (err) {
        ferry_proto_close(r.to);
        r.to = NULL;
    }
    free(r.layers);
    ferry__names_end(&r.rectified);
    ferry__names_end(&r.ranges);
    *out = r.to;
    return err;
}
