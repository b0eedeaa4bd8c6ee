/* SPDX-License-Identifier: BSD-2-Clause */
#include "depthwise_planes.h"

#include <string.h>

/* ---- phases ---------------------------------------------------------------------------------- */

/* The phases of a plane of the window's wide image; axis 1 is that of the lines, 2 of columns. */
struct phases {
    int64_t stride[3], dilation[3], reach[3]; /* reach: of the last tap, in elements of a phase */
    int64_t pitch, rows, size;                /* size: the floats of a phase */
};

static struct phases phases_of(const struct cpu_window *w, const int64_t *narrow)
{
    struct phases f;

    for (int i = 0; i < 3; i++) {
        f.stride[i] = w->stride[i];
        f.dilation[i] = w->dilation[i];
        f.reach[i] = (w->kernel[i] - 1) * w->dilation[i] / w->stride[i];
    }
    f.pitch = narrow[2] + f.reach[2];
    f.rows = narrow[1] + f.reach[1];
    f.size = f.pitch * f.rows + f.reach[2] + DEPTHWISE_PAST;
    return f;
}

static int64_t phase_count(const struct phases *f)
{
    return f->stride[1] * f->stride[2];
}

/* The place of tap (j, k) in the phases, for the first window. */
static int64_t tap_place(const struct phases *f, int64_t j, int64_t k)
{
    int64_t r = j * f->dilation[1], c = k * f->dilation[2];

    return (r % f->stride[1] * f->stride[2] + c % f->stride[2]) * f->size +
           r / f->stride[1] * f->pitch + c / f->stride[2];
}

/* Copies a plane of the wide image, whose padding is in `to` already. */
static void fill_phases(const struct phases *f, const struct cpu_window *w, const float *x,
                        int64_t line, float *to)
{
    int64_t down = f->stride[1], across = f->stride[2];

    for (int64_t i = 0; i < w->in[1]; i++, x += line) {
        int64_t r = i + w->pad[1];

        if (r / down >= f->rows)
            break;
        for (int64_t phase = 0; phase < across; phase++) {
            /* the first column of this phase */
            int64_t c = (phase - w->pad[2] % across + across) % across;
            int64_t at = (c + w->pad[2]) / across;
            int64_t n = w->in[2] > c ? (w->in[2] - c + across - 1) / across : 0;
            float *row = to + (r % down * across + phase) * f->size + r / down * f->pitch + at;

            n = n < f->pitch - at ? n : f->pitch - at;
            if (across == 1 && n > 0)
                memcpy(row, x, (size_t)n * sizeof *row);
            for (int64_t k = 0; across > 1 && k < n; k++)
                row[k] = x[c + k * across];
        }
    }
}

/* Copies a plane of the narrow image to rows of `pitch` floats, after `skip` floats. */
static void fill_rows(const struct phases *f, const int64_t *size, const float *x, int64_t line,
                      int64_t skip, float *to)
{
    for (int64_t i = 0; i < size[1]; i++)
        memcpy(to + skip + i * f->pitch, x + i * line, (size_t)size[2] * sizeof *to);
}

/* ---- which planes ---------------------------------------------------------------------------- */

static bool is_plane(const int64_t *stride)
{
    return stride[4] == 1 && stride[1] != 1;
}

static bool fits(const struct cpu_window *w, const int64_t *narrow, int64_t group)
{
    struct phases f = phases_of(w, narrow);

    return group > 1 && group == w->channels && w->outputs == w->channels && w->kernel[0] == 1 &&
           w->in[0] == 1 && w->out[0] == 1 && w->stride[0] == 1 && w->taps <= DEPTHWISE_MOST_TAPS &&
           w->taps > 1 && is_plane(w->x) && is_plane(w->y) && w->pad[0] == 0 && narrow[1] > 0 &&
           narrow[2] > 0 && w->pad[1] >= 0 && w->pad[2] >= 0 && w->pad[2] < f.pitch &&
           phase_count(&f) * f.size <= DEPTHWISE_MOST;
}

bool cpu_depthwise_planes_fit(const struct cpu_window *w, int64_t group)
{
    return fits(w, w->out, group);
}

bool cpu_depthwise_planes_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_window turned = *w;

    if (p->is_empty || p->op.n_epilogue)
        return false;
    if (!p->plan.convolution.is_transposed)
        return fits(w, w->out, p->op.params.window.group);
    /* as many elements of each phase as the largest one has */
    for (int i = 0; i < 3; i++)
        turned.out[i] = (w->out[i] + w->pad[i] + w->stride[i] - 1) / w->stride[i];
    turned.out[0] = w->out[0];
    return fits(w, turned.out, p->op.params.window.group);
}

/* ---- forward, and the gradient of x ---------------------------------------------------------- */

struct planes {
    const struct cpu_op *op;
    const float *x, *w, *bias;
    float *y;
};

static float bias_of(const struct planes *s, int64_t channel)
{
    return s->bias ? s->bias[channel * s->op->op.in[2].stride[0]] : 0;
}

/* The taps of a channel. */
static void find_taps(const struct planes *s, int64_t channel, float *out)
{
    for (int64_t t = 0; t < s->op->plan.convolution.window.taps; t++)
        out[t] = *(cpu_convolution_tap(s->op, s->w, t) + channel * s->op->plan.convolution.w_group);
}

/* Computes planes first … first + count − 1 of a convolution that is not transposed. */
static void convolve(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct planes *s = arg;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    struct phases f = phases_of(w, w->out);
    int64_t place[DEPTHWISE_MOST_TAPS];
    float tap[DEPTHWISE_MOST_TAPS], wide[DEPTHWISE_MOST], sums[DEPTHWISE_MOST];

    (void)piece;
    memset(wide, 0, (size_t)(phase_count(&f) * f.size) * sizeof *wide);
    for (int64_t t = 0; t < w->taps; t++)
        place[t] = tap_place(&f, t / w->kernel[2], t % w->kernel[2]);
    for (int64_t i = first; i < first + count; i++) {
        int64_t image = i / w->channels, channel = i % w->channels;
        float *y = s->y + image * w->y[0] + channel * w->y[1], bias = bias_of(s, channel);

        find_taps(s, channel, tap);
        fill_phases(&f, w, s->x + image * w->x[0] + channel * w->x[1], w->x[3], wide);
        s->op->loops->tap_sums(wide, w->taps, tap, place, w->out[1] * f.pitch, sums);
        for (int64_t r = 0; r < w->out[1]; r++)
            for (int64_t c = 0; c < w->out[2]; c++)
                y[r * w->y[3] + c] = sums[r * f.pitch + c] + bias;
    }
}

/* The taps of a phase of the wide image: their weights, and their places in the narrow one. */
static int64_t taps_of_phase(const struct phases *f, const struct cpu_window *w, int64_t down,
                             int64_t across, const float *all, float *tap, int64_t *place)
{
    int64_t n = 0;

    for (int64_t t = 0; t < w->taps; t++) {
        int64_t r = t / w->kernel[2] * f->dilation[1], c = t % w->kernel[2] * f->dilation[2];

        if (r % f->stride[1] != down || c % f->stride[2] != across)
            continue;
        tap[n] = all[t];
        place[n++] = (f->reach[1] - r / f->stride[1]) * f->pitch + f->reach[2] - c / f->stride[2];
    }
    return n;
}

/* Stores the elements of a phase of y. */
static void spread_phase(const struct phases *f, const struct cpu_window *w, int64_t down,
                         int64_t across, const float *sums, float bias, float *y)
{
    int64_t first = (across - w->pad[2] % f->stride[2] + f->stride[2]) % f->stride[2];

    for (int64_t i = 0; i < w->out[1]; i++) {
        int64_t r = i + w->pad[1];
        const float *row = sums + r / f->stride[1] * f->pitch + (first + w->pad[2]) / f->stride[2];

        if (r % f->stride[1] != down)
            continue;
        for (int64_t c = first, k = 0; c < w->out[2]; c += f->stride[2], k++)
            y[i * w->y[3] + c] = row[k] + bias;
    }
}

/* Computes planes of a transposed convolution: y is the wide image, and each phase has its taps. */
static void deconvolve(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct planes *s = arg;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    const int64_t reach[3] = { 1, (w->out[1] + w->pad[1] + w->stride[1] - 1) / w->stride[1],
                               (w->out[2] + w->pad[2] + w->stride[2] - 1) / w->stride[2] };
    struct phases f = phases_of(w, reach);
    int64_t place[DEPTHWISE_MOST_TAPS], size[3] = { 1, w->in[1], w->in[2] };
    float all[DEPTHWISE_MOST_TAPS], tap[DEPTHWISE_MOST_TAPS], narrow[DEPTHWISE_MOST],
        sums[DEPTHWISE_MOST];

    (void)piece;
    size[1] = size[1] < reach[1] ? size[1] : reach[1]; /* later elements do not reach y */
    size[2] = size[2] < reach[2] ? size[2] : reach[2];
    memset(narrow, 0, sizeof narrow);
    for (int64_t i = first; i < first + count; i++) {
        int64_t image = i / w->channels, channel = i % w->channels;
        float *y = s->y + image * w->y[0] + channel * w->y[1];

        find_taps(s, channel, all);
        fill_rows(&f, size, s->x + image * w->x[0] + channel * w->x[1], w->x[3],
                  f.reach[1] * f.pitch + f.reach[2], narrow);
        for (int64_t phase = 0; phase < phase_count(&f); phase++) {
            int64_t down = phase / f.stride[2], across = phase % f.stride[2];
            int64_t n = taps_of_phase(&f, w, down, across, all, tap, place);

            s->op->loops->tap_sums(narrow, n, tap, place, reach[1] * f.pitch, sums);
            spread_phase(&f, w, down, across, sums, bias_of(s, channel), y);
        }
    }
}

void cpu_depthwise_planes_run(struct cpu_device *d, const struct cpu_op *p,
                              const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct planes s = { .op = p,
                        .x = args->in[0],
                        .w = args->in[1],
                        .bias = p->own_in > 2 ? args->in[2] : NULL,
                        .y = args->out[0] };
    int64_t planes = w->images * w->channels;
    int64_t cost = 4 * (w->in[1] * w->in[2] + w->out[1] * w->out[2]);

    workers_run(d->workers, planes, walk_piece_of(planes, cost + 1),
                p->plan.convolution.is_transposed ? deconvolve : convolve, &s);
}

/* ---- the gradient of the weights ------------------------------------------------------------- */

struct gradient {
    const struct cpu_op *op;
    const struct cpu_window *w;
    const int64_t *stride;
    const float *wide, *narrow;
    float *out;
};

static void join_channels(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct gradient *g = arg;
    const struct cpu_window *w = g->w;
    struct phases f = phases_of(w, w->out);
    float wide[DEPTHWISE_MOST], narrow[DEPTHWISE_MOST];

    (void)piece;
    memset(wide, 0, (size_t)(phase_count(&f) * f.size) * sizeof *wide);
    memset(narrow, 0, (size_t)f.size * sizeof *narrow);
    for (int64_t channel = first; channel < first + count; channel++) {
        double sum[DEPTHWISE_MOST_TAPS] = { 0 };

        for (int64_t image = 0; image < w->images; image++) {
            fill_phases(&f, w, g->wide + image * w->x[0] + channel * w->x[1], w->x[3], wide);
            fill_rows(&f, w->out, g->narrow + image * w->y[0] + channel * w->y[1], w->y[3], 0,
                      narrow);
            for (int64_t t = 0; t < w->taps; t++)
                sum[t] += g->op->loops->dot(
                    narrow, wide + tap_place(&f, t / w->kernel[2], t % w->kernel[2]),
                    w->out[1] * f.pitch - f.reach[2]);
        }
        for (int64_t t = 0; t < w->taps; t++)
            g->out[channel * g->stride[0] + t / w->kernel[2] * g->stride[3] +
                   t % w->kernel[2] * g->stride[4]] += (float)sum[t];
    }
}

void cpu_depthwise_planes_weights(struct cpu_device *d, const struct cpu_op *p,
                                  const struct cpu_window *w, const int64_t *stride,
                                  const float *wide, const float *narrow, float *out)
{
    struct gradient g = { p, w, stride, wide, narrow, out };
    int64_t cost = 4 * w->images * (w->in[1] * w->in[2] + w->out[1] * w->out[2]);

    workers_run(d->workers, w->channels, walk_piece_of(w->channels, cost + 1), join_channels, &g);
}
