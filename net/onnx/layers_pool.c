/* SPDX-License-Identifier: BSD-2-Clause */
/* Layers that have windows but no weights: Pooling, SPP, LRN, and the layers that resize. */
#include "net/onnx/layers.h"

#include <string.h>

/* ---- pooling -------------------------------------------------------------------------------- */

/* The length by which the last window of an axis extends beyond the image; at least 0. */
static int64_t overhang(const struct ferry__onnx_pool *p, int i)
{
    int64_t end = (p->out[i] - 1) * p->stride[i] - p->pad[i] + p->kernel[i];

    return end > p->in[i] ? end - p->in[i] : 0;
}

bool ferry__onnx_pool_is_empty(const struct ferry__onnx_pool *p)
{
    return overhang(p, 0) >= p->kernel[0] || overhang(p, 1) >= p->kernel[1];
}

static void set_pool(struct ferry__onnx *o, const struct ferry__onnx_pool *p, const int64_t *pads)
{
    ferry__onnx_set_ints(o, "kernel_shape", 2, p->kernel);
    ferry__onnx_set_ints(o, "strides", 2, p->stride);
    ferry__onnx_set_ints(o, "pads", 4, pads);
}

/* Computes Caffe's mask, an index in a plane, from ONNX's index in the whole tensor. */
static int mask_of(struct ferry__onnx *o, int index, const struct ferry__onnx_pool *p)
{
    int place = ONNX_OP(o, "Mod", index, ferry__onnx_int(o, p->in[0] * p->in[1]));

    return ferry__onnx_cast(o, place, FERRY__ONNX_FLOAT);
}

/*
 * Adds an average. Caffe divides by the part of a window inside the image and its padding. ONNX
 * includes all padding or none: if a window extends beyond the padding, the padding becomes an
 * operator of its own, and the rest is excluded from the divisor.
 */
static int average(struct ferry__onnx *o, int x, const struct ferry__onnx_pool *p)
{
    int64_t pads[4] = { p->pad[0], p->pad[1], overhang(p, 0), overhang(p, 1) };
    bool padded = (p->pad[0] || p->pad[1]) && !p->unpadded;
    bool beyond = pads[2] > p->pad[0] || pads[3] > p->pad[1];
    int y;

    if (padded && beyond) {
        x = ferry__onnx_pad(o, x, 4, (int64_t[]){ 0, 0, pads[0], pads[1], 0, 0, pads[0], pads[1] });
        for (int i = 0; i < 2; i++) {
            pads[2 + i] = pads[2 + i] > p->pad[i] ? pads[2 + i] - p->pad[i] : 0;
            pads[i] = 0;
        }
    }
    y = ONNX_OP(o, "AveragePool", x);
    set_pool(o, p, pads);
    ferry__onnx_set_int(o, "count_include_pad", padded && !beyond);
    return y;
}

int ferry__onnx_pool(struct ferry__onnx *o, int x, const struct ferry__onnx_pool *p, int *out_mask)
{
    int64_t pads[4] = { p->pad[0], p->pad[1], overhang(p, 0), overhang(p, 1) };
    bool global = p->kernel[0] == p->in[0] && p->kernel[1] == p->in[1] && p->out[0] == 1 &&
                  p->out[1] == 1 && !p->pad[0] && !p->pad[1] && !out_mask;
    int y;

    if (global)
        return ONNX_OP(o, p->average ? "GlobalAveragePool" : "GlobalMaxPool", x);
    if (p->average)
        return average(o, x, p);
    y = ONNX_OP(o, "MaxPool", x);
    set_pool(o, p, pads);
    if (out_mask)
        *out_mask = mask_of(o, ferry__onnx_more(o), p);
    return y;
}

/* Reads NAME_h and NAME_w, or NAME for both. */
static void pair(const ferry_proto *p, const char *both, const char *h, const char *w, int64_t *out)
{
    bool split = ferry_proto_value_count(p, h) || ferry_proto_value_count(p, w);

    out[0] = ferry_proto_integer(p, split ? h : both, 0);
    out[1] = ferry_proto_integer(p, split ? w : both, 0);
}

static void read_pool(const ferry_layer *layer, struct ferry__onnx_pool *out)
{
    const ferry_proto *p = ferry__onnx_message(layer, "pooling_param");
    const char *method = ferry_proto_enum(p, "pool", 0);

    out->unpadded = !strcmp(method, "AVE_EXC_PAD");
    out->average = out->unpadded || !strcmp(method, "AVE");
    pair(p, "kernel_size", "kernel_h", "kernel_w", out->kernel);
    pair(p, "stride", "stride_h", "stride_w", out->stride);
    pair(p, "pad", "pad_h", "pad_w", out->pad);
    for (int i = 0; i < 2; i++) {
        out->in[i] = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 2 + i);
        out->out[i] = ferry_blob_dim(ferry_layer_top_at(layer, 0), 2 + i);
        if (ferry_proto_boolean(p, "global_pooling", 0))
            out->kernel[i] = out->in[i];
    }
}

void ferry__onnx_pooling(struct ferry__onnx *o)
{
    struct ferry__onnx_pool p;
    bool masked = o->layer->n_tops > 1;
    int mask = 0;

    read_pool(o->layer, &p);
    ferry__onnx_top(o, 0, ferry__onnx_pool(o, ferry__onnx_bottom(o, 0), &p, masked ? &mask : NULL));
    if (masked)
        ferry__onnx_top(o, 1, mask);
}

static const char *const empty_window = "its last window begins after the image";

const char *ferry__onnx_pooling_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    struct ferry__onnx_pool p;

    (void)o;
    read_pool(layer, &p);
    return ferry__onnx_pool_is_empty(&p) ? empty_window : NULL;
}

/* ---- pyramids ------------------------------------------------------------------------------- */

/* Level `level` has 2^level bins along each axis, as in net/layers/spp.c. */
static void read_level(const ferry_layer *layer, int level, struct ferry__onnx_pool *out)
{
    const ferry_proto *p = ferry__onnx_message(layer, "spp_param");
    int64_t bins = INT64_C(1) << level;
    bool padded;

    out->average = !strcmp(ferry_proto_enum(p, "pool", 0), "AVE");
    out->unpadded = false;
    for (int i = 0; i < 2; i++) {
        out->in[i] = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 2 + i);
        out->kernel[i] = out->stride[i] = (out->in[i] + bins - 1) / bins;
        out->pad[i] = (out->kernel[i] * bins - out->in[i] + 1) / 2;
    }
    padded = out->pad[0] || out->pad[1];
    for (int i = 0; i < 2; i++) {
        out->out[i] = (out->in[i] + 2 * out->pad[i] - 1) / out->kernel[i] + 1;
        if (padded && (out->out[i] - 1) * out->kernel[i] >= out->in[i] + out->pad[i])
            out->out[i]--;
    }
}

static int levels_of(const ferry_layer *layer)
{
    return (int)ferry_proto_integer(ferry__onnx_message(layer, "spp_param"), "pyramid_height", 0);
}

void ferry__onnx_spp(struct ferry__onnx *o)
{
    int levels = levels_of(o->layer), parts[16], i;
    struct ferry__onnx_pool p;

    for (i = 0; i < levels && i < 16; i++) {
        read_level(o->layer, i, &p);
        parts[i] = ferry__onnx_pool(o, ferry__onnx_bottom(o, 0), &p, NULL);
        if (levels > 1)
            parts[i] = ONNX_OP(o, "Flatten", parts[i]);
    }
    ferry__onnx_top(o, 0, levels > 1 ? ferry__onnx_concat_of(o, 1, levels, parts) : parts[0]);
}

const char *ferry__onnx_spp_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    struct ferry__onnx_pool p;

    (void)o;
    for (int i = 0; i < levels_of(layer); i++) {
        read_level(layer, i, &p);
        if (ferry__onnx_pool_is_empty(&p))
            return empty_window;
    }
    return NULL;
}

/* ---- local responses ------------------------------------------------------------------------ */

/* Adds x · (1 + alpha · mean of x² over a square)^−beta. */
static int within(struct ferry__onnx *o, int x, const ferry_proto *p)
{
    int64_t size = ferry_proto_integer(p, "local_size", 0), pad = (size - 1) / 2;
    int mean = ONNX_OP(o, "AveragePool", ONNX_OP(o, "Mul", x, x)), y;

    ferry__onnx_set_ints(o, "kernel_shape", 2, (int64_t[]){ size, size });
    ferry__onnx_set_ints(o, "strides", 2, (int64_t[]){ 1, 1 });
    ferry__onnx_set_ints(o, "pads", 4, (int64_t[]){ pad, pad, pad, pad });
    ferry__onnx_set_int(o, "count_include_pad", 1);
    y = ferry__onnx_scaled(o, mean, ferry_proto_real(p, "alpha", 0), 1);
    return ONNX_OP(o, "Mul", x, ferry__onnx_raised(o, y, -ferry_proto_real(p, "beta", 0)));
}

void ferry__onnx_lrn(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "lrn_param");
    int x = ferry__onnx_bottom(o, 0), y;

    if (!strcmp(ferry_proto_enum(p, "norm_region", 0), "WITHIN_CHANNEL")) {
        y = within(o, x, p);
    } else {
        y = ONNX_OP(o, "LRN", x);
        ferry__onnx_set_int(o, "size", ferry_proto_integer(p, "local_size", 0));
        ferry__onnx_set_float(o, "alpha", ferry_proto_real(p, "alpha", 0));
        ferry__onnx_set_float(o, "beta", ferry_proto_real(p, "beta", 0));
        ferry__onnx_set_float(o, "bias", ferry_proto_real(p, "k", 0));
    }
    ferry__onnx_top(o, 0, y);
}

/* ---- resizing ------------------------------------------------------------------------------- */

/* Adds a Resize to the top's height and width. */
static int resize(struct ferry__onnx *o, int x, const char *mode, const char *sampling)
{
    const int64_t *dims = ferry_blob_shape(ferry__onnx_top_blob(o, 0));
    int none = o->opset < 13 ? ferry__onnx_floats(o, 1, &(int64_t){ 0 }, NULL) : 0;
    int size = ferry__onnx_ints(o, 4, dims), y;

    if (o->dynamic_batch)
        size =
            ferry__onnx_concat_of(o, 0, 2,
                                  (int[]){ ferry__onnx_slice_of(o, ONNX_OP(o, "Shape", x), 0, 0, 2),
                                           ferry__onnx_ints(o, 2, dims + 2) });
    y = ONNX_OP(o, "Resize", x, none, none, size);
    ferry__onnx_set_string(o, "mode", mode);
    ferry__onnx_set_string(o, "coordinate_transformation_mode", sampling);
    if (!strcmp(mode, "nearest"))
        ferry__onnx_set_string(o, "nearest_mode", "floor");
    return y;
}

void ferry__onnx_interp(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "interp_param");
    int64_t first = -ferry_proto_integer(p, "pad_beg", 0);
    int64_t last = ferry_proto_integer(p, "pad_end", 0), end = last ? last : INT64_MAX;
    int x = ferry__onnx_bottom(o, 0);

    if (first || last)
        x = ferry__onnx_slices(o, x, 2, (int64_t[]){ 2, 3 }, (int64_t[]){ first, first },
                               (int64_t[]){ end, end });
    ferry__onnx_top(o, 0, resize(o, x, "linear", "align_corners"));
}

/* Scatters each element to the position in its plane that the mask contains. */
static int unpool(struct ferry__onnx *o)
{
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0), *top = ferry__onnx_top_blob(o, 0);
    int64_t planes = ferry_blob_element_count_range(b, 0, 2);
    int64_t flat[2] = { planes, ferry_blob_element_count_range(b, 2, 4) };
    int64_t wide[2] = { planes, ferry_blob_element_count_range(top, 2, 4) };
    int x = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 2, flat);
    int mask = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 2, flat);
    int zeros = ferry__onnx_filled(o, 0, 2, wide), y;

    y = ONNX_OP(o, "ScatterElements", zeros, ferry__onnx_cast(o, mask, FERRY__ONNX_INT64), x);
    ferry__onnx_set_int(o, "axis", 1);
    return ferry__onnx_reshape_as(o, y, top);
}

void ferry__onnx_upsample(struct ferry__onnx *o)
{
    ferry__onnx_top(o, 0,
                    o->layer->n_bottoms > 1
                        ? unpool(o)
                        : resize(o, ferry__onnx_bottom(o, 0), "nearest", "asymmetric"));
}

const char *ferry__onnx_upsample_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    return layer->n_bottoms > 1 ? ferry__onnx_one_batch(o, layer) : NULL;
}
