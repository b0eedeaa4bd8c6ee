/* SPDX-License-Identifier: BSD-2-Clause */
#include "deconvolution.h"

#include "op.h"

#include <string.h>

/*
 * Transposed CONVOLUTION of images with few channels per group, for example the bilinear kernels
 * with which nets enlarge their outputs. A task is a band of lines of x, and the lines of y whose
 * windows end there.
 */

/* The number of channels above which products of matrices are faster. */
#define MOST_CHANNELS 24
/* The approximate number of floats of the repeated lines of a band. */
#define MOST_FLOATS (16 * 1024)

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- planning ------------------------------------------------------------------------------- */

/*
 * Whether this file can compute the convolution. The stride of a line has to divide the width of
 * the kernel. Otherwise the kernel would be padded with zeros, and the product of such a zero and
 * an infinite x would be NaN in elements of y that do not depend on x.
 */
bool cpu_deconvolution_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group;

    return p->plan.convolution.is_transposed && !p->is_empty && w->images > 0 && w->channels > 0 &&
           w->channels / group <= MOST_CHANNELS && w->in[0] == 1 && w->out[0] == 1 &&
           w->kernel[0] == 1 && w->stride[2] > 1 && w->kernel[2] % w->stride[2] == 0 &&
           w->dilation[1] == 1 && w->dilation[2] == 1;
}

/* The lines of x at which the windows of lines of y end: the first one and their number. */
static int64_t first_end(const struct cpu_window *w)
{
    return w->pad[1] / w->stride[1];
}

static int64_t ends(const struct cpu_window *w)
{
    return (w->pad[1] + w->out[1] - 1) / w->stride[1] - first_end(w) + 1;
}

/* The number of taps of one element of y along an axis. */
static int64_t taps_of(const struct cpu_window *w, int axis)
{
    return up(w->kernel[axis], w->stride[axis]);
}

/*
 * The number of zeros before a repeated line; and the floats of the line including them, which are
 * whole vectors beyond the last pixel of y.
 */
static int64_t before(const struct cpu_window *w)
{
    return (taps_of(w, 2) - 1) * w->stride[2];
}

static int64_t row_of(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t seen = w->pad[2] + up(w->out[2], p->loops->lanes) * p->loops->lanes;
    int64_t there = w->in[2] * w->stride[2];

    return before(w) + (there > seen ? there : seen);
}

/* The number of floats of a channel's repeated lines. */
static int64_t plane_of(const struct cpu_op *p)
{
    return (p->plan.convolution.block + taps_of(&p->plan.convolution.window, 1) - 1) * row_of(p);
}

/* The number of floats of the weights of one tap, of one line of taps, and of one channel. */
static int64_t w_tap(const struct cpu_op *p)
{
    return p->plan.convolution.window.stride[2] + p->loops->lanes;
}

static int64_t w_line(const struct cpu_op *p)
{
    return taps_of(&p->plan.convolution.window, 2) * w_tap(p);
}

static int64_t w_channel(const struct cpu_op *p)
{
    return p->plan.convolution.window.kernel[1] * w_line(p);
}

void cpu_deconvolution_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t channels = w->channels / p->op.params.window.group;
    int64_t most = MOST_FLOATS / (channels * row_of(p)), even = up(ends(w), p->threads);

    most = most < even ? most : even;
    p->plan.convolution.block = up(ends(w), up(ends(w), most > 1 ? most : 1));
    cpu_op_pack_or_not(p, 1, (uint64_t)(w->outputs * channels * w_channel(p)) * sizeof(float),
                       p->threads * (uint64_t)(channels * plane_of(p)) * sizeof(float));
}

/*
 * Packs the weights by output, channel of the group, line of taps, and tap of a line modulo the
 * stride.
 */
void cpu_deconvolution_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                            float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *wide = p->plan.convolution.w;
    int64_t group = p->op.params.window.group, channels = v->channels / group;
    int64_t outputs = v->outputs / group, taps = taps_of(v, 2), stride = v->stride[2];

    (void)d;
    for (int64_t k = 0; k < v->outputs * channels * v->kernel[1]; k++) {
        int64_t o = k / v->kernel[1] / channels, c = k / v->kernel[1] % channels;
        const float *line = w + o / outputs * p->plan.convolution.w_group + o % outputs * wide[0] +
                            c * wide[1] + k % v->kernel[1] * wide[3];

        for (int64_t t = 0; t < taps; t++)
            for (int64_t i = 0; i < w_tap(p); i++) {
                int64_t at = t * stride + i % stride;

                *packed++ = at < v->kernel[2] ? line[at * wide[4]] : 0;
            }
    }
}

/* ---- running -------------------------------------------------------------------------------- */

struct bands {
    const struct cpu_op *op;
    const float *x, *w, *bias;
    float *y, *room;
    int64_t bands; /* the number of bands of a group of an image */
};

/* Copies the line of x, or zeros if it is outside, with each element repeated `stride` times. */
static void repeat(const struct cpu_op *p, const float *x, int64_t line, float *to)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t row = row_of(p), first = before(w), stride = w->stride[2];

    if (line < 0 || line >= w->in[1]) {
        memset(to, 0, (size_t)row * sizeof(*to));
        return;
    }
    memset(to, 0, (size_t)first * sizeof(*to));
    x += line * w->x[3];
    for (int64_t j = 0, at = first; j < w->in[2]; j++)
        for (int64_t end = at + stride; at < end; at++)
            to[at] = x[j * w->x[4]];
    first += w->in[2] * stride;
    memset(to + first, 0, (size_t)(row - first) * sizeof(*to));
}

/* Computes the lines of y whose windows end at a line of x, for all outputs of the group. */
static void give_lines(const struct bands *s, struct cpu_deconvolved_line *l, int64_t end,
                       int64_t first_output, float *y)
{
    const struct cpu_op *p = s->op;
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t outputs = w->outputs / p->op.params.window.group, stride = w->stride[1];

    for (int64_t tap = 0; tap < stride; tap++) {
        int64_t at = end * stride + tap - w->pad[1];

        if (at < 0 || at >= w->out[1])
            continue;
        l->lines = tap < w->kernel[1] ? up(w->kernel[1] - tap, stride) : 0;
        for (int64_t o = first_output; o < first_output + outputs; o++) {
            l->w = s->w + o * l->channels * l->w_channel + tap * w_line(p);
            l->bias = s->bias ? s->bias[o * p->op.in[2].stride[0]] : 0;
            l->y = y + o * w->y[1] + at * w->y[3];
            p->loops->deconvolve(l);
        }
    }
}

static void do_band(void *arg, int64_t task, unsigned slot)
{
    const struct bands *s = arg;
    const struct cpu_op *p = s->op;
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t groups = p->op.params.window.group, channels = w->channels / groups;
    int64_t group = task / s->bands % groups, image = task / s->bands / groups;
    int64_t done = task % s->bands * p->plan.convolution.block, above = taps_of(w, 1) - 1;
    int64_t count = ends(w) - done, plane = plane_of(p), row = row_of(p);
    float *lines = s->room + slot * channels * plane;
    const float *x = s->x + image * w->x[0] + group * channels * w->x[1];
    struct cpu_deconvolved_line l = { .channels = channels,
                                      .taps = taps_of(w, 2),
                                      .x_channel = plane,
                                      .x_line = row,
                                      .w_channel = w_channel(p),
                                      .w_line = w->stride[1] * w_line(p),
                                      .w_tap = w_tap(p),
                                      .stride = w->stride[2],
                                      .first = w->pad[2],
                                      .y_step = w->y[4],
                                      .pixels = w->out[2] };

    count = count < p->plan.convolution.block ? count : p->plan.convolution.block;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < count + above; i++)
            repeat(p, x + c * w->x[1], first_end(w) + done + i - above,
                   lines + c * plane + i * row);
    for (int64_t i = 0; i < count; i++) {
        l.x = lines + (above + i) * row + before(w);
        give_lines(s, &l, first_end(w) + done + i, group * (w->outputs / groups),
                   s->y + image * w->y[0]);
    }
}

void cpu_deconvolution_run(struct cpu_device *d, const struct cpu_op *p,
                           const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group, channels = w->channels / group, tasks;
    struct bands s = { .op = p,
                       .x = args->in[0],
                       .w = args->packed,
                       .bias = p->own_in > 2 ? args->in[2] : NULL,
                       .y = args->out[0],
                       .room = args->workspace,
                       .bands = up(ends(w), p->plan.convolution.block) };

    if (!s.w) {
        float *packed = s.room + p->threads * channels * plane_of(p);

        cpu_deconvolution_pack(d, p, args->in[1], packed);
        s.w = packed;
    }
    tasks = w->images * group * s.bands;
    if (w->images * w->outputs * w->out[1] * w->out[2] * channels * taps_of(w, 1) * taps_of(w, 2) >=
        WORKERS_FEW_PRODUCTS)
        workers_tasks(d->workers, tasks, do_band, &s);
    else
        for (int64_t i = 0; i < tasks; i++)
            do_band(&s, i, 0);
}
