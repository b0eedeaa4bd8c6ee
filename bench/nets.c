/* SPDX-License-Identifier: BSD-2-Clause */
#include "nets.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void put(struct net_text *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct net_text *n, const char *fmt, ...)
{
    size_t used = n->text ? strlen(n->text) : 0;
    char line[1024], *grown;
    va_list args;
    int length;

    va_start(args, fmt);
    length = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (used + (size_t)length + 1 > n->room) {
        grown = realloc(n->text, 2 * n->room + sizeof(line));
        if (!grown) {
            n->failed = true;
            return;
        }
        n->text = grown;
        n->room = 2 * n->room + sizeof(line);
    }
    memcpy(n->text + used, line, (size_t)length + 1);
}

static void begin(struct net_text *n, const char *name, int images, int64_t channels, int64_t size)
{
    images = n->batch ? n->batch : images;
    *n = (struct net_text){
        .batch = n->batch, .name = name, .images = images, .channels = channels, .size = size
    };
    put(n,
        "name: \"%s\"\nlayer { name: 'data' type: 'Input' top: 'b0' input_param { shape { dim: %d "
        "dim: %lld dim: %lld dim: %lld } } }\n",
        name, images, (long long)channels, (long long)size, (long long)size);
}

/* Adds a convolution of blob `from`, whose top becomes the latest blob. */
static void convolve(struct net_text *n, int from, int64_t outputs, int kernel, int stride, int pad,
                     int64_t group, bool bias)
{
    struct conv_shape s = { n->name, n->channels, outputs, n->size, kernel, stride, pad, group };

    n->blob++;
    put(n,
        "layer { name: 'c%d' type: 'Convolution' bottom: 'b%d' top: 'b%d' convolution_param { "
        "num_output: %lld kernel_size: %d stride: %d pad: %d group: %lld bias_term: %s "
        "weight_filler "
        "{ type: 'msra' } } }\n",
        n->blob, from, n->blob, (long long)outputs, kernel, stride, pad, (long long)group,
        bias ? "true" : "false");
    if (n->convs < NETS_MOST_CONVS)
        n->conv[n->convs++] = s;
    else
        n->failed = true;
    n->channels = outputs;
    n->size = conv_out(&s);
}

/* Adds a layer in place on the latest blob. */
static void in_place(struct net_text *n, const char *type, const char *more)
{
    put(n, "layer { name: '%s%d' type: '%s' bottom: 'b%d' top: 'b%d' %s }\n", type, n->blob, type,
        n->blob, n->blob, more);
}

static void pool_from(struct net_text *n, int from, const char *method, int kernel, int stride,
                      int pad)
{
    n->blob++;
    put(n, "layer { name: 'p%d' type: 'Pooling' bottom: 'b%d' top: 'b%d' pooling_param { pool: %s ",
        n->blob, from, n->blob, method);
    if (kernel == 0)
        put(n, "global_pooling: true } }\n");
    else
        put(n, "kernel_size: %d stride: %d pad: %d } }\n", kernel, stride, pad);
    n->size = kernel == 0 ? 1 : (n->size + 2 * pad - kernel + stride - 1) / stride + 1;
}

static void pool(struct net_text *n, const char *method, int kernel, int stride, bool global)
{
    pool_from(n, n->blob, method, global ? 0 : kernel, stride, 0);
}

/* Concatenates the blobs `from`, whose channels add up to `channels`. */
static void concat(struct net_text *n, const int *from, int count, int64_t channels)
{
    n->blob++;
    put(n, "layer { name: 'o%d' type: 'Concat' top: 'b%d'", n->blob, n->blob);
    for (int i = 0; i < count; i++)
        put(n, " bottom: 'b%d'", from[i]);
    put(n, " }\n");
    n->channels = channels;
}

static void classify(struct net_text *n, const char *type, int outputs)
{
    n->blob++;
    put(n,
        "layer { name: 'fc%d' type: '%s' bottom: 'b%d' top: 'b%d' %s { num_output: %d "
        "weight_filler "
        "{ type: 'xavier' } } }\n",
        n->blob, type, n->blob - 1, n->blob, "inner_product_param", outputs);
}

static void softmax(struct net_text *n)
{
    if (n->batch)
        put(n,
            "layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: %d } } }\n"
            "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'b%d' bottom: 'label' top: "
            "'loss' }\n",
            n->images, n->blob);
    else
        put(n, "layer { name: 'prob' type: 'Softmax' bottom: 'b%d' top: 'prob' }\n", n->blob);
}

/* ---- the nets -------------------------------------------------------------------------------- */

void net_lenet(struct net_text *n)
{
    begin(n, "LeNet x64", 64, 1, 28);
    convolve(n, n->blob, 20, 5, 1, 0, 1, true);
    pool(n, "MAX", 2, 2, false);
    convolve(n, n->blob, 50, 5, 1, 0, 1, true);
    pool(n, "MAX", 2, 2, false);
    classify(n, "InnerProduct", 500);
    in_place(n, "ReLU", "");
    classify(n, "InnerProduct", 10);
    softmax(n);
}

/* A fire module: a squeeze convolution, then two parallel expand convolutions. */
static void fire(struct net_text *n, int64_t squeezed, int64_t expanded)
{
    int from, left;

    convolve(n, n->blob, squeezed, 1, 1, 0, 1, true);
    in_place(n, "ReLU", "");
    from = n->blob;
    convolve(n, from, expanded, 1, 1, 0, 1, true);
    in_place(n, "ReLU", "");
    left = n->blob;
    n->channels = squeezed;
    convolve(n, from, expanded, 3, 1, 1, 1, true);
    in_place(n, "ReLU", "");
    concat(n, (int[]){ left, n->blob }, 2, 2 * expanded);
}

void net_squeezenet(struct net_text *n)
{
    static const int64_t squeezed[] = { 16, 16, 32, 32, 48, 48, 64, 64 };

    begin(n, "SqueezeNet 1.1", 1, 3, 227);
    convolve(n, n->blob, 64, 3, 2, 0, 1, true);
    in_place(n, "ReLU", "");
    for (int i = 0; i < 8; i++) {
        if (i % 2 == 0 && i < 6)
            pool(n, "MAX", 3, 2, false);
        fire(n, squeezed[i], 4 * squeezed[i]);
    }
    convolve(n, n->blob, 1000, 1, 1, 0, 1, true);
    in_place(n, "ReLU", "");
    pool(n, "AVE", 0, 0, true);
    softmax(n);
}

static void normalised(struct net_text *n, int from, int64_t outputs, int kernel, int stride,
                       int64_t group)
{
    convolve(n, from, outputs, kernel, stride, kernel / 2, group, false);
    in_place(n, "BatchNorm", "");
    in_place(n, "Scale", "scale_param { bias_term: true }");
}

void net_mobilenet(struct net_text *n)
{
    static const struct {
        int64_t outputs;
        int stride;
    } blocks[] = { { 64, 1 },  { 128, 2 },  { 128, 1 }, { 256, 2 }, { 256, 1 },
                   { 512, 2 }, { 512, 1 },  { 512, 1 }, { 512, 1 }, { 512, 1 },
                   { 512, 1 }, { 1024, 2 }, { 1024, 1 } };

    begin(n, "MobileNet v1", 1, 3, 224);
    normalised(n, n->blob, 32, 3, 2, 1);
    in_place(n, "ReLU", "");
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        normalised(n, n->blob, n->channels, 3, blocks[i].stride, n->channels);
        in_place(n, "ReLU", "");
        normalised(n, n->blob, blocks[i].outputs, 1, 1, 1);
        in_place(n, "ReLU", "");
    }
    pool(n, "AVE", 0, 0, true);
    convolve(n, n->blob, 1000, 1, 1, 0, 1, true);
    softmax(n);
}

/* Three convolutions added to the input, or to a fourth convolution of it. */
static void bottleneck(struct net_text *n, int64_t width, int stride, bool first)
{
    int from = n->blob, beside = from;
    int64_t channels = n->channels, size = n->size;

    if (first) {
        normalised(n, from, 4 * width, 1, stride, 1);
        beside = n->blob;
        n->channels = channels;
        n->size = size;
    }
    normalised(n, from, width, 1, stride, 1);
    in_place(n, "ReLU", "");
    normalised(n, n->blob, width, 3, 1, 1);
    in_place(n, "ReLU", "");
    normalised(n, n->blob, 4 * width, 1, 1, 1);
    put(n, "layer { name: 'e%d' type: 'Eltwise' bottom: 'b%d' bottom: 'b%d' top: 'b%d' }\n",
        n->blob, beside, n->blob, n->blob + 1);
    n->blob++;
    in_place(n, "ReLU", "");
}

void net_resnet50(struct net_text *n)
{
    static const int blocks[] = { 3, 4, 6, 3 };

    begin(n, "ResNet-50", 1, 3, 224);
    normalised(n, n->blob, 64, 7, 2, 1);
    in_place(n, "ReLU", "");
    pool(n, "MAX", 3, 2, false);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++)
            bottleneck(n, (int64_t)64 << stage, i == 0 && stage ? 2 : 1, i == 0);
    pool(n, "AVE", 0, 0, true);
    classify(n, "InnerProduct", 1000);
    softmax(n);
}

/* BatchNorm, Scale and ReLU of blob `from` in a blob of their own: DenseNet's order. */
static void activated(struct net_text *n, int from)
{
    n->blob++;
    put(n, "layer { name: 'n%d' type: 'BatchNorm' bottom: 'b%d' top: 'b%d' }\n", n->blob, from,
        n->blob);
    in_place(n, "Scale", "scale_param { bias_term: true }");
    in_place(n, "ReLU", "");
}

/* Adds 32 channels to the latest blob. */
static void dense(struct net_text *n)
{
    int64_t channels = n->channels;
    int from = n->blob;

    activated(n, from);
    normalised(n, n->blob, 128, 1, 1, 1);
    in_place(n, "ReLU", "");
    convolve(n, n->blob, 32, 3, 1, 1, 1, false);
    concat(n, (int[]){ from, n->blob }, 2, channels + 32);
}

void net_densenet121(struct net_text *n)
{
    static const int layers[] = { 6, 12, 24, 16 };

    begin(n, "DenseNet-121", 1, 3, 224);
    normalised(n, n->blob, 64, 7, 2, 1);
    in_place(n, "ReLU", "");
    pool(n, "MAX", 3, 2, false);
    for (int block = 0; block < 4; block++) {
        for (int i = 0; i < layers[block]; i++)
            dense(n);
        activated(n, n->blob);
        if (block < 3) {
            convolve(n, n->blob, n->channels / 2, 1, 1, 0, 1, false);
            pool(n, "AVE", 2, 2, false);
        }
    }
    pool(n, "AVE", 0, 0, true);
    convolve(n, n->blob, 1000, 1, 1, 0, 1, true);
    softmax(n);
}

static void rectified(struct net_text *n, int from, int64_t channels, int64_t outputs, int kernel,
                      int stride)
{
    n->channels = channels;
    convolve(n, from, outputs, kernel, stride, kernel / 2, 1, true);
    in_place(n, "ReLU", "");
}

/* Outputs of 1 x 1; reduced, 3 x 3; reduced, 5 x 5; of 1 x 1 behind the pool. */
static void inception(struct net_text *n, const int64_t outputs[6])
{
    int from = n->blob, top[4];
    int64_t channels = n->channels;

    rectified(n, from, channels, outputs[0], 1, 1);
    top[0] = n->blob;
    for (int i = 1; i < 3; i++) {
        rectified(n, from, channels, outputs[2 * i - 1], 1, 1);
        rectified(n, n->blob, outputs[2 * i - 1], outputs[2 * i], 2 * i + 1, 1);
        top[i] = n->blob;
    }
    pool_from(n, from, "MAX", 3, 1, 1);
    rectified(n, n->blob, channels, outputs[5], 1, 1);
    top[3] = n->blob;
    concat(n, top, 4, outputs[0] + outputs[2] + outputs[4] + outputs[5]);
}

static void normalise_locally(struct net_text *n)
{
    n->blob++;
    put(n,
        "layer { name: 'l%d' type: 'LRN' bottom: 'b%d' top: 'b%d' lrn_param { local_size: 5 alpha: "
        "0.0001 beta: 0.75 } }\n",
        n->blob, n->blob - 1, n->blob);
}

void net_vgg16(struct net_text *n)
{
    static const struct {
        int64_t outputs;
        int layers;
    } blocks[] = { { 64, 2 }, { 128, 2 }, { 256, 3 }, { 512, 3 }, { 512, 3 } };

    begin(n, "VGG-16", 1, 3, 224);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        for (int k = 0; k < blocks[i].layers; k++)
            rectified(n, n->blob, n->channels, blocks[i].outputs, 3, 1);
        pool(n, "MAX", 2, 2, false);
    }
    for (int i = 0; i < 2; i++) {
        classify(n, "InnerProduct", 4096);
        in_place(n, "ReLU", "");
    }
    classify(n, "InnerProduct", 1000);
    softmax(n);
}

void net_googlenet(struct net_text *n)
{
    static const int64_t outputs[9][6] = {
        { 64, 96, 128, 16, 32, 32 },     { 128, 128, 192, 32, 96, 64 },
        { 192, 96, 208, 16, 48, 64 },    { 160, 112, 224, 24, 64, 64 },
        { 128, 128, 256, 24, 64, 64 },   { 112, 144, 288, 32, 64, 64 },
        { 256, 160, 320, 32, 128, 128 }, { 256, 160, 320, 32, 128, 128 },
        { 384, 192, 384, 48, 128, 128 },
    };

    begin(n, "GoogLeNet", 1, 3, 224);
    rectified(n, n->blob, 3, 64, 7, 2);
    pool(n, "MAX", 3, 2, false);
    normalise_locally(n);
    rectified(n, n->blob, 64, 64, 1, 1);
    rectified(n, n->blob, 64, 192, 3, 1);
    normalise_locally(n);
    pool(n, "MAX", 3, 2, false);
    for (int i = 0; i < 9; i++) {
        inception(n, outputs[i]);
        if (i == 1 || i == 6)
            pool(n, "MAX", 3, 2, false);
    }
    pool(n, "AVE", 0, 0, true);
    in_place(n, "Dropout", "dropout_param { dropout_ratio: 0.4 }");
    classify(n, "InnerProduct", 1000);
    softmax(n);
}

void net_of_trifles(struct net_text *n, int layers)
{
    begin(n, "trifles", 1, 1, 2);
    for (; layers > 0; layers--) {
        n->blob++;
        put(n, "layer { name: 't%d' type: 'Power' bottom: 'b%d' top: 'b%d' }\n", n->blob,
            n->blob - 1, n->blob);
    }
}
