/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "conv.h"

#include <time.h>

const struct conv_shape conv_shapes[CONV_SHAPES] = {
    { "resnet 7x7/2 3-64 @224", 3, 64, 224, 7, 2, 3, 1 },
    { "resnet 1x1 64-64 @56", 64, 64, 56, 1, 1, 0, 1 },
    { "resnet 3x3 64-64 @56", 64, 64, 56, 3, 1, 1, 1 },
    { "resnet 1x1 64-256 @56", 64, 256, 56, 1, 1, 0, 1 },
    { "resnet 1x1 256-64 @56", 256, 64, 56, 1, 1, 0, 1 },
    { "resnet 3x3/2 128-128 @56", 128, 128, 56, 3, 2, 1, 1 },
    { "resnet 3x3 256-256 @14", 256, 256, 14, 3, 1, 1, 1 },
    { "resnet 1x1 1024-256 @14", 1024, 256, 14, 1, 1, 0, 1 },
    { "resnet 3x3 512-512 @7", 512, 512, 7, 3, 1, 1, 1 },
    { "resnet 1x1 512-2048 @7", 512, 2048, 7, 1, 1, 0, 1 },
    { "vgg 3x3 3-64 @224", 3, 64, 224, 3, 1, 1, 1 },
    { "vgg 3x3 128-128 @112", 128, 128, 112, 3, 1, 1, 1 },
    { "vgg 3x3 512-512 @28", 512, 512, 28, 3, 1, 1, 1 },
    { "squeezenet 1x1 64-16 @55", 64, 16, 55, 1, 1, 0, 1 },
    { "squeezenet 3x3 16-64 @55", 16, 64, 55, 3, 1, 1, 1 },
    { "squeezenet 3x3 64-256 @13", 64, 256, 13, 3, 1, 1, 1 },
    { "mobilenet 3x3/2 3-32 @224", 3, 32, 224, 3, 2, 1, 1 },
    { "mobilenet 1x1 512-512 @14", 512, 512, 14, 1, 1, 0, 1 },
    { "mobilenet depthwise 64 @112", 64, 64, 112, 3, 1, 1, 64 },
    { "mobilenet depthwise/2 128 @56", 128, 128, 56, 3, 2, 1, 128 },
    { "mobilenet depthwise 512 @14", 512, 512, 14, 3, 1, 1, 512 },
};

/* Four axes in channels-last order. */
static void channels_last(ferry_operand *o, int64_t n, int64_t c, int64_t h, int64_t w)
{
    *o = (ferry_operand){
        .dtype = FERRY_F32, .rank = 4, .shape = { n, c, h, w }, .stride = { h * w * c, 1, w * c, c }
    };
}

void conv_describe(const struct conv_shape *s, ferry_op_desc *op)
{
    ferry_op_window *w = &op->params.window;
    int64_t kernel = s->channels / s->group * s->kernel * s->kernel;

    *op = (ferry_op_desc){ .struct_size = sizeof(*op),
                           .kind = FERRY_OP_CONVOLUTION,
                           .n_in = 3,
                           .n_out = 1,
                           .n_epilogue = 1,
                           .constants = 6 };
    *w = (ferry_op_window){ .axes = 2, .group = (uint32_t)s->group };
    for (int i = 0; i < 2; i++) {
        w->kernel[i] = s->kernel;
        w->stride[i] = s->stride;
        w->dilation[i] = 1;
        w->pad[i] = w->pad_end[i] = s->pad;
    }
    channels_last(&op->in[0], 1, s->channels, s->size, s->size);
    op->in[1] = (ferry_operand){
        .dtype = FERRY_F32,
        .rank = 4,
        .shape = { s->outputs, s->channels / s->group, s->kernel, s->kernel },
        .stride = { kernel, s->kernel * s->kernel, s->kernel, 1 },
    };
    op->in[2] =
        (ferry_operand){ .dtype = FERRY_F32, .rank = 1, .shape = { s->outputs }, .stride = { 1 } };
    channels_last(&op->out[0], 1, s->outputs, conv_out(s), conv_out(s));
}

#define ROUNDS         9
#define SAMPLE_SECONDS 0.004
/* For rows in which threads have to wake up and spread over the processors. */
#define WAKING_SECONDS 0.025

static void rest(double seconds)
{
    const struct timespec t = { 0, (long)(seconds * 1e9) };

    nanosleep(&t, NULL);
}

static double sample(const struct conv *c, int64_t times)
{
    double begin = bench_now(), end;

    for (int64_t i = 0; i < times; i++)
        c->run(c->state);
    if (c->wait)
        c->wait(c->state);
    end = bench_now();
    if (c->rest > 0)
        rest(c->rest);
    return (end - begin) / (double)times;
}

void conv_measure(const struct bench *b, const struct conv *c, int count, double *out)
{
    double enough = SAMPLE_SECONDS;
    int64_t times[3] = { 1, 1, 1 };

    for (int i = 0; i < count; i++)
        enough = c[i].wait || c[i].rest > 0 ? WAKING_SECONDS : enough;
    enough = b->quick ? enough / 8 : enough;
    for (int i = 0; i < count; i++) {
        out[i] = sample(&c[i], 1);
        while ((out[i] = sample(&c[i], times[i])) * (double)times[i] < enough)
            times[i] *= 2;
    }
    for (int round = 0; round < (b->quick ? 2 : ROUNDS); round++)
        for (int i = 0; i < count; i++) {
            double one = sample(&c[i], times[i]);

            out[i] = one < out[i] ? one : out[i];
        }
}

double conv_gigaflops(const struct conv_shape *s, double seconds)
{
    double pixels = (double)(conv_out(s) * conv_out(s) * s->outputs);

    return 2e-9 * pixels * (double)(s->kernel * s->kernel * s->channels / s->group) / seconds;
}
