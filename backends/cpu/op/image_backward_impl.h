/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRN and RESIZE backward, of type T: image_backward.c includes this once for each type. No include
 * guard.
 */

/* The element of an operand of LRN at a channel of a pixel. */
static double NAME(at)(const struct neighbours *s, int operand, int64_t image, int64_t channel,
                       const int64_t *at)
{
    const int64_t *stride = s->stride[operand];

    return (double)((const T *)
                        s->in[operand])[image * stride[0] + channel * stride[1] +
                                        at[0] * stride[2] + at[1] * stride[3] + at[2] * stride[4]];
}

static double NAME(share)(const struct neighbours *s, int64_t image, int64_t channel,
                          const int64_t *at)
{
    return NAME(at)(s, 0, image, channel, at) * NAME(at)(s, 2, image, channel, at) /
           NAME(at)(s, 3, image, channel, at);
}

static double NAME(across)(const struct neighbours *s, int64_t image, int64_t channel,
                           const int64_t *at)
{
    int64_t c = channel > s->half ? channel - s->half : 0, end = channel + s->half + 1;
    double sum = 0;

    for (; c < end && c < s->window->channels; c++)
        sum += NAME(share)(s, image, c, at);
    return sum;
}

/* The sum over a window on the last two axes. */
static double NAME(within)(const struct neighbours *s, int64_t image, int64_t channel,
                           const int64_t *at)
{
    const struct cpu_window *w = s->window;
    int64_t i[3] = { at[0] };
    double sum = 0;

    for (i[1] = at[1] > s->half ? at[1] - s->half : 0; i[1] <= at[1] + s->half && i[1] < w->in[1];
         i[1]++)
        for (i[2] = at[2] > s->half ? at[2] - s->half : 0;
             i[2] <= at[2] + s->half && i[2] < w->in[2]; i[2]++)
            sum += NAME(share)(s, image, channel, i);
    return sum;
}

static void NAME(lrn_pixel)(const struct neighbours *s, int64_t image, const int64_t *at)
{
    const struct cpu_window *w = s->window;
    T *dx = (T *)s->dx + image * w->x[0] + at[0] * w->x[2] + at[1] * w->x[3] + at[2] * w->x[4];

    for (int64_t c = 0; c < w->channels; c++) {
        double sum = s->is_across ? NAME(across)(s, image, c, at) : NAME(within)(s, image, c, at);
        double own = NAME(at)(s, 0, image, c, at) * damping(NAME(at)(s, 3, image, c, at), s->beta);

        dx[c * w->x[1]] = (T)(own - s->factor * NAME(at)(s, 1, image, c, at) * sum);
    }
}

static void NAME(lrn_rows)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct neighbours *s = arg;
    const struct cpu_window *w = s->window;

    (void)piece;
    for (int64_t row = first; row < first + count; row++) {
        int64_t at[3] = { row / w->in[1] % w->in[0], row % w->in[1], 0 };

        for (; at[2] < w->in[2]; at[2]++)
            NAME(lrn_pixel)(s, row / w->in[1] / w->in[0], at);
    }
}

/* Adds one row of dy to a plane of dx. */
static void NAME(spread_row)(const struct spreading *s, const T *dy, int64_t row, T *dx)
{
    const struct cpu_window *w = s->window;
    struct cpu_sample v = cpu_sample_of(s->params, row, w->in[1], w->out[1]);
    int taps = s->params->resize.method == FERRY_RESIZE_NEAREST ? 1 : 2;

    for (int64_t i = 0; i < w->out[2]; i++) {
        struct cpu_sample h = cpu_sample_of(s->params, i, w->in[2], w->out[2]);
        T value = dy[i * w->y[4]];

        for (int a = 0; a < taps; a++)
            for (int b = 0; b < taps; b++)
                dx[v.at[a] * w->x[3] + h.at[b] * w->x[4]] +=
                    (T)((a ? v.weight : 1 - v.weight) * (b ? h.weight : 1 - h.weight)) * value;
    }
}

static void NAME(spread_planes)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct spreading *s = arg;
    const struct cpu_window *w = s->window;

    (void)piece;
    for (int64_t p = first; p < first + count; p++) {
        T *dx = (T *)s->dx + p / w->channels * w->x[0] + p % w->channels * w->x[1];
        const T *dy = (const T *)s->dy + p / w->channels * w->y[0] + p % w->channels * w->y[1];

        for (int64_t i = 0; i < w->in[1]; i++)
            for (int64_t k = 0; k < w->in[2]; k++)
                dx[i * w->x[3] + k * w->x[4]] = 0;
        for (int64_t i = 0; i < w->out[1]; i++)
            NAME(spread_row)(s, dy + i * w->y[3], i, dx);
    }
}
