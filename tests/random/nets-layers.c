/* SPDX-License-Identifier: BSD-2-Clause */
#include "nets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The kinds of layers of random nets, each as its shapes allow. */

static bool is_image(const struct net_blob *b)
{
    return b->axes == 4;
}

static int64_t shorter(const struct net_blob *b)
{
    return b->shape[2] < b->shape[3] ? b->shape[2] : b->shape[3];
}

/* A divisor of the channels. */
static int groups(struct net_maker *m, int64_t channels)
{
    int g = net_roll(m, 1, (int)channels);

    while (channels % g)
        g--;
    return g;
}

static bool same_but(const struct net_blob *a, const struct net_blob *b, int axis)
{
    bool same = a->axes == b->axes;

    for (int i = 0; same && i < a->axes; i++)
        same = i == axis || a->shape[i] == b->shape[i];
    return same;
}

/* Any blob of that shape except along one axis; possibly `b` itself. */
static int some_like(struct net_maker *m, int b, int axis)
{
    int at = net_roll(m, 0, m->blobs - 1);

    while (!same_but(&m->blob[at], &m->blob[b], axis))
        at = (at + 1) % m->blobs;
    return at;
}

/* ---- windows -------------------------------------------------------------------------------- */

static void convolution(struct net_maker *m, int b)
{
    static const int kernels[] = { 1, 1, 3, 3, 5, 2 };
    struct net_blob top = m->blob[b];
    int kernel = kernels[net_roll(m, 0, 5)], pad = net_roll(m, 0, 1) * (kernel / 2);
    int stride = net_roll(m, 0, 2) ? 1 : 2, dilation = net_roll(m, 0, 3) ? 1 : 2;
    int group, extent = dilation * (kernel - 1) + 1;

    if (!is_image(&top) || shorter(&top) + 2 * pad < extent)
        return;
    group = net_roll(m, 0, 2) ? 1 : groups(m, top.shape[1]);
    top.shape[1] = group * net_roll(m, 1, group > 3 ? 2 : 9);
    for (int i = 2; i < 4; i++)
        top.shape[i] = (top.shape[i] + 2 * pad - extent) / stride + 1;
    net_layer(m, "Convolution", &b, 1, &top,
              "convolution_param { num_output: %" PRId64 " kernel_size: %d pad: %d stride: %d "
              "dilation: %d group: %d bias_term: %s }",
              top.shape[1], kernel, pad, stride, dilation, group, net_word(m, "true|false"));
}

static void depthwise(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int pad = net_roll(m, 0, 1), stride = net_roll(m, 1, 2);

    if (!is_image(&top) || shorter(&top) + 2 * pad < 3)
        return;
    for (int i = 2; i < 4; i++)
        top.shape[i] = (top.shape[i] + 2 * pad - 3) / stride + 1;
    net_layer(m, "Convolution", &b, 1, &top,
              "convolution_param { num_output: %" PRId64 " kernel_size: 3 pad: %d stride: %d "
              "group: %" PRId64 " }",
              top.shape[1], pad, stride, top.shape[1]);
}

static void deconvolution(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int kernel = net_roll(m, 2, 4), stride = net_roll(m, 1, 2), pad = net_roll(m, 0, 1);
    int group;

    if (!is_image(&top) || stride * (shorter(&top) - 1) + kernel - 2 * pad < 1)
        return;
    group = net_roll(m, 0, 2) ? 1 : groups(m, top.shape[1]);
    top.shape[1] = group * net_roll(m, 1, group > 3 ? 2 : 6);
    for (int i = 2; i < 4; i++)
        top.shape[i] = stride * (top.shape[i] - 1) + kernel - 2 * pad;
    net_layer(m, "Deconvolution", &b, 1, &top,
              "convolution_param { num_output: %" PRId64 " kernel_size: %d stride: %d pad: %d "
              "group: %d }",
              top.shape[1], kernel, stride, pad, group);
}

static void global_pooling(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];

    if (!is_image(&top))
        return;
    top.shape[2] = top.shape[3] = 1;
    net_layer(m, "Pooling", &b, 1, &top, "pooling_param { pool: %s global_pooling: true }",
              net_word(m, "MAX|AVE"));
}

/* Rounded up, but no window begins in the padding at the end. */
static int64_t pooled(int64_t n, int kernel, int stride, int pad)
{
    int64_t out = (n + 2 * pad - kernel + stride - 1) / stride + 1;

    return pad && (out - 1) * stride >= n + pad ? out - 1 : out;
}

static void pooling(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int kernel = net_roll(m, 2, 3), stride = net_roll(m, 1, 2), pad = net_roll(m, 0, 3) == 0;

    if (!is_image(&top) || shorter(&top) + 2 * pad < kernel)
        return;
    for (int i = 2; i < 4; i++)
        top.shape[i] = pooled(top.shape[i], kernel, stride, pad);
    net_layer(m, "Pooling", &b, 1, &top,
              "pooling_param { pool: %s kernel_size: %d stride: %d pad: %d }",
              net_word(m, "MAX|AVE"), kernel, stride, pad);
}

static void lrn(struct net_maker *m, int b)
{
    if (is_image(&m->blob[b]))
        net_layer(m, "LRN", &b, 1, &m->blob[b],
                  "lrn_param { local_size: 3 alpha: 0.5 norm_region: %s }",
                  net_word(m, "ACROSS_CHANNELS|WITHIN_CHANNEL"));
}

static void normalize(struct net_maker *m, int b)
{
    if (is_image(&m->blob[b]))
        net_layer(m, "Normalize", &b, 1, &m->blob[b],
                  "norm_param { across_spatial: %s channel_shared: false eps: 0.01 }",
                  net_word(m, "true|false"));
}

static void mvn(struct net_maker *m, int b)
{
    if (is_image(&m->blob[b]) && shorter(&m->blob[b]) > 1)
        net_layer(m, "MVN", &b, 1, &m->blob[b], "mvn_param { across_channels: %s eps: 0.01 }",
                  net_word(m, "true|false"));
}

static void interp(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];

    if (!is_image(&top))
        return;
    top.shape[2] = net_roll(m, 1, 12);
    top.shape[3] = net_roll(m, 1, 12);
    net_layer(m, "Interp", &b, 1, &top, "interp_param { height: %" PRId64 " width: %" PRId64 " }",
              top.shape[2], top.shape[3]);
}

/* ---- elements ------------------------------------------------------------------------------- */

static void relu(struct net_maker *m, int b)
{
    net_layer_like(m, "ReLU", b, "relu_param { negative_slope: %s }", net_word(m, "0|0|0.1"));
}

static void some_function(struct net_maker *m, int b)
{
    static const char *const types[] = { "ELU",       "Sigmoid",     "TanH",     "AbsVal",
                                         "BNLL",      "Swish",       "Dropout",  "Bias",
                                         "Mish",      "HardSigmoid", "Softsign", "GELU",
                                         "HardSwish", "Softplus" };

    net_layer_like(m, types[net_roll(m, 0, sizeof types / sizeof *types - 1)], b, "%s", "");
}

static void prelu(struct net_maker *m, int b)
{
    net_layer_like(m, "PReLU", b, "prelu_param { channel_shared: %s }", net_word(m, "true|false"));
}

static void batch_norm(struct net_maker *m, int b)
{
    net_layer_like(m, "BatchNorm", b, "%s", "");
}

static void scale(struct net_maker *m, int b)
{
    net_layer_like(m, "Scale", b, "scale_param { bias_term: %s }", net_word(m, "true|false"));
}

static void power(struct net_maker *m, int b)
{
    net_layer_like(m, "Power", b, "power_param { scale: 0.7 shift: %s }", net_word(m, "0|0.2"));
}

static void softmax(struct net_maker *m, int b)
{
    net_layer_like(m, "Softmax", b, "softmax_param { axis: %d }",
                   net_roll(m, 1, m->blob[b].axes - 1));
}

static void eltwise(struct net_maker *m, int b)
{
    int bottoms[3] = { b }, n = net_roll(m, 2, 3);
    const char *operation = net_word(m, "SUM|SUM|PROD|MAX");
    bool weighted = *operation == 'S' && net_roll(m, 0, 2) == 0;

    for (int i = 1; i < n; i++)
        bottoms[i] = some_like(m, b, -1);
    net_layer(m, "Eltwise", bottoms, n, &m->blob[b], "eltwise_param { operation: %s%s%s }",
              operation, weighted ? " coeff: 0.5 coeff: -1.25" : "",
              weighted && n == 3 ? " coeff: 1.5" : "");
}

/* ---- shapes --------------------------------------------------------------------------------- */

static void concat(struct net_maker *m, int b)
{
    int bottoms[4] = { b }, n = net_roll(m, 1, 4), first = net_roll(m, 0, 3);
    int axis = net_roll(m, 0, 2) ? 1 : net_roll(m, 0, m->blob[b].axes - 1);
    struct net_blob top = m->blob[b];

    for (int i = 1; i < n; i++) {
        bottoms[i] = some_like(m, b, axis);
        top.shape[axis] += m->blob[bottoms[i]].shape[axis];
    }
    if (first < n) { /* the blob itself is at a random position */
        bottoms[0] = bottoms[first];
        bottoms[first] = b;
    }
    net_layer(m, "Concat", bottoms, n, &top, "concat_param { axis: %d }", axis);
}

static void slice(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b], second = top;
    int axis = net_roll(m, 1, top.axes - 1);

    if (top.shape[axis] < 2)
        return;
    top.shape[axis] = net_roll(m, 1, (int)top.shape[axis] - 1);
    second.shape[axis] -= top.shape[axis];
    net_layer_of_two(m, "Slice", b, &top, &second,
                     "slice_param { axis: %d slice_point: %" PRId64 " }", axis, top.shape[axis]);
}

static void split(struct net_maker *m, int b)
{
    net_layer_of_two(m, "Split", b, &m->blob[b], &m->blob[b], "%s", "");
}

static void flatten(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];

    top.shape[1] = net_count(&top, 1);
    top.axes = 2;
    net_layer(m, "Flatten", &b, 1, &top, "%s", "");
}

/* Reshapes to 2 to 5 axes: successive divisors of the remaining count. */
static void reshape(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int64_t left = net_count(&top, 1);
    char shape[128];
    int length = 0;

    top.axes = net_roll(m, 2, NET_AXES);
    for (int i = 1; i < top.axes - 1; i++) {
        top.shape[i] = groups(m, left);
        left /= top.shape[i];
        length += snprintf(shape + length, sizeof(shape) - (size_t)length, " dim: %" PRId64,
                           top.shape[i]);
    }
    top.shape[top.axes - 1] = left;
    net_layer(m, "Reshape", &b, 1, &top, "reshape_param { shape { dim: 0%.*s dim: -1 } }", length,
              shape);
}

static void permute(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int order[NET_AXES] = { 0, 1, 2, 3, 4 }, length = 0;
    char text[96];

    for (int i = top.axes - 1; i > 1; i--) {
        int k = net_roll(m, 1, i), was = order[i];

        order[i] = order[k];
        order[k] = was;
    }
    for (int i = 0; i < top.axes; i++) {
        top.shape[i] = m->blob[b].shape[order[i]];
        length += snprintf(text + length, sizeof(text) - (size_t)length, " order: %d", order[i]);
    }
    net_layer(m, "Permute", &b, 1, &top, "permute_param {%s }", text);
}

static void shuffle(struct net_maker *m, int b)
{
    if (is_image(&m->blob[b]))
        net_layer(m, "ShuffleChannel", &b, 1, &m->blob[b], "shuffle_channel_param { group: %d }",
                  groups(m, m->blob[b].shape[1]));
}

static void tile(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];
    int axis = net_roll(m, 1, top.axes - 1);

    top.shape[axis] *= 2;
    net_layer(m, "Tile", &b, 1, &top, "tile_param { axis: %d tiles: 2 }", axis);
}

static void crop(struct net_maker *m, int b)
{
    int by = net_roll(m, 0, m->blobs - 1), bottoms[2] = { b, by };
    struct net_blob top = m->blob[b], *like = &m->blob[by];
    int64_t down = top.shape[2] - like->shape[2], right = top.shape[3] - like->shape[3];

    if (!is_image(&top) || !is_image(like) || down < 0 || right < 0)
        return;
    top.shape[2] = like->shape[2];
    top.shape[3] = like->shape[3];
    net_layer(m, "Crop", bottoms, 2, &top, "crop_param { axis: 2 offset: %d }",
              net_roll(m, 0, (int)(down < right ? down : right)));
}

static void inner_product(struct net_maker *m, int b)
{
    struct net_blob top = { .axes = 2, .shape = { m->blob[b].shape[0], net_roll(m, 1, 12) } };

    net_layer(m, "InnerProduct", &b, 1, &top, "inner_product_param { num_output: %" PRId64 " }",
              top.shape[1]);
}

static void reduction(struct net_maker *m, int b)
{
    struct net_blob top = m->blob[b];

    if (top.axes < 3)
        return;
    top.axes = net_roll(m, 2, top.axes - 1);
    net_layer(m, "Reduction", &b, 1, &top, "reduction_param { operation: %s axis: %d }",
              net_word(m, "SUM|MEAN|ASUM|SUMSQ"), top.axes);
}

/* ---- all kinds ------------------------------------------------------------------------------ */

static const struct {
    void (*make)(struct net_maker *m, int bottom);
    int weight;
} kinds[] = {
    { convolution, 12 }, { depthwise, 3 },  { deconvolution, 3 }, { global_pooling, 1 },
    { pooling, 5 },      { lrn, 2 },        { relu, 8 },          { some_function, 9 },
    { prelu, 2 },        { batch_norm, 6 }, { scale, 6 },         { power, 3 },
    { softmax, 2 },      { eltwise, 7 },    { concat, 8 },        { slice, 4 },
    { split, 3 },        { flatten, 3 },    { reshape, 4 },       { permute, 3 },
    { shuffle, 2 },      { tile, 2 },       { crop, 2 },          { inner_product, 3 },
    { reduction, 2 },    { normalize, 1 },  { mvn, 1 },           { interp, 1 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int some_kind(struct net_maker *m)
{
    int total = 0, which, i = 0;

    for (size_t k = 0; k < KINDS; k++)
        total += kinds[k].weight;
    for (which = net_roll(m, 0, total - 1); which >= kinds[i].weight; i++)
        which -= kinds[i].weight;
    return i;
}

void net_choose_favourites(struct net_maker *m)
{
    for (int i = 0; i < NET_FAVOURITES; i++)
        m->favourite[i] = some_kind(m);
}

void net_some_layer(struct net_maker *m, int bottom)
{
    int kind = net_roll(m, 0, 1) ? some_kind(m) : m->favourite[net_roll(m, 0, NET_FAVOURITES - 1)];

    kinds[kind].make(m, bottom);
}
