/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes lines of depthwise.h, for an instruction set: see vector.h. No include guard. */

/* ---- contiguous channels -------------------------------------------------------------------- */

/* Sums taps first … end − 1 of the innermost axis, for one pixel and one channel. */
INLINE float NAME(depthwise_one)(const struct cpu_depthwise *d, const struct cpu_line *l,
                                 const float *x, int64_t c, int64_t first, int64_t end)
{
    const struct cpu_window *w = d->window;
    float sum = 0;

    for (int64_t i = l->first[0]; i < l->end[0]; i++)
        for (int64_t j = l->first[1]; j < l->end[1]; j++)
            for (int64_t k = first; k < end; k++)
                sum += d->w[((i * w->kernel[1] + j) * w->kernel[2] + k) * d->w_tap +
                            c * d->w_channel] *
                       x[c * w->x[1] + i * w->dilation[0] * w->x[2] + j * w->dilation[1] * w->x[3] +
                         k * w->dilation[2] * w->x[4]];
    return sum;
}

INLINE float NAME(depthwise_finish)(const struct cpu_depthwise *d, float sum, int64_t c, int64_t at)
{
    const struct cpu_store *s = &d->store;

    sum += s->bias ? s->bias[c] : 0;
    sum += s->adds ? d->add[at] : 0;
    if (s->clamp == CPU_CLAMP_POSITIVE)
        return sum < 0 ? 0 : sum;
    if (s->clamp == CPU_CLAMP_RELU)
        return sum > 0 ? sum : s->slope * sum;
    if (s->clamp == CPU_CLAMP_CLIP)
        return sum < s->least ? s->least : sum > s->most ? s->most : sum;
    return sum;
}

#define FINISH(v, at, c)                                \
    do {                                                \
        if (s.bias)                                     \
            v += LOAD(s.bias + (c));                    \
        if (s.adds)                                     \
            v += LOAD(add + (at));                      \
        if (s.clamp == CPU_CLAMP_POSITIVE)              \
            v = MOST(v, SPLAT(0.0f));                   \
        else if (s.clamp == CPU_CLAMP_RELU)             \
            v = SELECT_POSITIVE(v, v * SPLAT(s.slope)); \
        else if (s.clamp == CPU_CLAMP_CLIP)             \
            v = CLIP(v, SPLAT(s.least), SPLAT(s.most)); \
        STORE(y + (at), v);                             \
    } while (0)

/* Repeat an expression for that many pixels of one vector of channels. */
#define PIXELS_1(X)       X(0)
#define PIXELS_7(X)       X(0) X(1) X(2) X(3) X(4) X(5) X(6)
#define SUM_PIXEL(n)      vec sum##n = { 0 };
#define MULTIPLY_PIXEL(n) sum##n = FMA(v, LOAD(from + (n)*next), sum##n);
#define FINISH_PIXEL(n)   FINISH(sum##n, at + (n)*t.y_next, c);

/*
 * Copies of the values for the innermost loops whose address is never taken, because a store of a
 * vector may alias anything that has an address.
 */
struct NAME(taps) {
    int64_t planes, lines, taps;           /* the number of taps of each axis */
    int64_t plane, line, tap, next;        /* the strides in x of each axis, and from one pixel to
                                            * the next */
    int64_t w_plane, w_line, w_tap, first; /* the strides in w of each axis, and the first
                                            * element */
    int64_t y_next;
};

#define DEPTHWISE_PIXELS(n)                                                                     \
    INLINE void NAME(depthwise_##n)(const struct cpu_store s, const struct NAME(taps) t,        \
                                    const float *x, const float *w, const float *add, float *y, \
                                    int64_t at, int64_t c)                                      \
    {                                                                                           \
        const int64_t next = t.next;                                                            \
        PIXELS_##n(SUM_PIXEL)                                                                   \
                                                                                                \
            (void) next;                                                                        \
        for (int64_t i = 0; i < t.planes; i++)                                                  \
            for (int64_t j = 0; j < t.lines; j++) {                                             \
                const float *from = x + i * t.plane + j * t.line;                               \
                const float *weight = w + i * t.w_plane + j * t.w_line;                         \
                                                                                                \
                for (int64_t k = 0; k < t.taps; k++, from += t.tap, weight += t.w_tap) {        \
                    vec v = LOAD(weight);                                                       \
                                                                                                \
                    PIXELS_##n(MULTIPLY_PIXEL)                                                  \
                }                                                                               \
            }                                                                                   \
        PIXELS_##n(FINISH_PIXEL)                                                                \
    }

DEPTHWISE_PIXELS(1)
DEPTHWISE_PIXELS(7)

/* The taps of the innermost axis that are inside the image at pixel `pixel`. */
INLINE void NAME(depthwise_taps)(const struct cpu_window *w, int64_t pixel, int64_t *first,
                                 int64_t *end)
{
    int64_t left = pixel * w->stride[2] - w->pad[2];

    *first = 0;
    *end = w->kernel[2];
    while (*first < *end && left + *first * w->dilation[2] < 0)
        ++*first;
    while (*end > *first && left + (*end - 1) * w->dilation[2] >= w->in[2])
        --*end;
}

INLINE struct NAME(taps) NAME(depthwise_find)(const struct cpu_depthwise *d,
                                              const struct cpu_line *l, int64_t first, int64_t end)
{
    const struct cpu_window *w = d->window;

    return (struct NAME(taps)){
        .planes = l->end[0] - l->first[0],
        .lines = l->end[1] - l->first[1],
        .taps = end - first,
        .plane = w->dilation[0] * w->x[2],
        .line = w->dilation[1] * w->x[3],
        .tap = w->dilation[2] * w->x[4],
        .next = w->stride[2] * w->x[4],
        .w_plane = w->kernel[1] * w->kernel[2] * d->w_tap,
        .w_line = w->kernel[2] * d->w_tap,
        .w_tap = d->w_tap,
        .first = ((l->first[0] * w->kernel[1] + l->first[1]) * w->kernel[2] + first) * d->w_tap,
        .y_next = w->y[4],
    };
}

/* Loops over all channels; the last vector may overlap the previous one. */
#define EACH_CHANNEL(function)                                    \
    for (int64_t c = 0; c < channels; c += LANES) {               \
        c = c + LANES > channels ? channels - LANES : c;          \
        NAME(function)(s, t, x + c, w + c, d->add, y, at + c, c); \
    }

/* Computes all channels of one pixel, or of seven with the same taps. */
INLINE void NAME(depthwise_pixels)(const struct cpu_depthwise *d, const struct cpu_line *l,
                                   int64_t pixel, bool is_one)
{
    const struct cpu_window *v = d->window;
    const struct cpu_store s = d->store;
    const int64_t channels = v->channels;
    const float *x = l->x + pixel * v->stride[2] * v->x[4], *w = d->w;
    float *y = d->y;
    int64_t at = l->y + pixel * v->y[4], first = 0, end = v->kernel[2];
    struct NAME(taps) t;

    if (is_one)
        NAME(depthwise_taps)(v, pixel, &first, &end);
    t = NAME(depthwise_find)(d, l, first, end);
    x += l->first[0] * t.plane + l->first[1] * t.line + first * t.tap;
    w += t.first;
    if (is_one)
        EACH_CHANNEL(depthwise_1)
    else
        EACH_CHANNEL(depthwise_7)
}

/* Computes fewer channels than a vector has lanes. */
INLINE void NAME(depthwise_few)(const struct cpu_depthwise *d, const struct cpu_line *l,
                                int64_t pixel)
{
    const struct cpu_window *w = d->window;
    const float *x = l->x + pixel * w->stride[2] * w->x[4];
    int64_t at = l->y + pixel * w->y[4], first, end;

    NAME(depthwise_taps)(w, pixel, &first, &end);
    for (int64_t c = 0; c < w->channels; c++)
        d->y[at + c] =
            NAME(depthwise_finish)(d, NAME(depthwise_one)(d, l, x, c, first, end), c, at + c);
}

/*
 * The beginning of the block that contains `pixel`: the last one overlaps the previous one. −1:
 * there is none.
 */
INLINE int64_t NAME(depthwise_begin)(const struct cpu_depthwise *d, int64_t pixel)
{
    const int64_t first = d->inner[0], end = d->inner[1];

    if (d->window->channels < LANES || pixel < first || pixel >= end || end - first < 7)
        return -1;
    return pixel + 7 > end ? end - 7 : pixel;
}

TARGET static void NAME(depthwise_last)(const struct cpu_depthwise *d, const struct cpu_line *l)
{
    bool is_few = d->window->channels < LANES;
    int64_t pixel = 0;

    while (pixel < d->window->out[2]) {
        int64_t begin = NAME(depthwise_begin)(d, pixel);

        if (is_few)
            NAME(depthwise_few)(d, l, pixel);
        else
            NAME(depthwise_pixels)(d, l, begin < 0 ? pixel : begin, begin < 0);
        pixel = begin < 0 ? pixel + 1 : begin + 7;
    }
}

/* ---- contiguous pixels ---------------------------------------------------------------------- */

/*
 * Computes LANES pixels from `pixel` on, with stride 1, for which all taps of their line are inside
 * the image.
 */
INLINE void NAME(depthwise_run)(const struct cpu_depthwise *d, const struct cpu_line *l, int64_t c,
                                int64_t pixel)
{
    const struct cpu_window *w = d->window;
    const float *x = l->x + c * w->x[1] + pixel;
    vec sum = { 0 };

    for (int64_t i = l->first[0]; i < l->end[0]; i++)
        for (int64_t j = l->first[1]; j < l->end[1]; j++)
            for (int64_t k = 0; k < w->kernel[2]; k++)
                sum = FMA(SPLAT(d->w[((i * w->kernel[1] + j) * w->kernel[2] + k) * d->w_tap +
                                     c * d->w_channel]),
                          LOAD(x + i * w->dilation[0] * w->x[2] + j * w->dilation[1] * w->x[3] +
                               k * w->dilation[2]),
                          sum);
    for (int64_t i = 0; i < LANES; i++)
        d->y[l->y + c * w->y[1] + (pixel + i) * w->y[4]] =
            NAME(depthwise_finish)(d, sum[i], c, l->y + c * w->y[1] + (pixel + i) * w->y[4]);
}

TARGET static void NAME(depthwise_plane)(const struct cpu_depthwise *d, const struct cpu_line *l,
                                         int64_t c)
{
    const struct cpu_window *w = d->window;
    bool is_row = w->x[4] == 1 && w->stride[2] == 1;
    int64_t pixel = 0;

    while (pixel < w->out[2]) {
        int64_t first, end, at = l->y + c * w->y[1] + pixel * w->y[4];

        if (is_row && pixel >= d->inner[0] && pixel + LANES <= d->inner[1]) {
            NAME(depthwise_run)(d, l, c, pixel);
            pixel += LANES;
            continue;
        }
        NAME(depthwise_taps)(w, pixel, &first, &end);
        d->y[at] = NAME(depthwise_finish)(
            d, NAME(depthwise_one)(d, l, l->x + pixel * w->stride[2] * w->x[4], c, first, end), c,
            at);
        pixel++;
    }
}

/* ---- padded planes --------------------------------------------------------------------------- */

TARGET static void NAME(tap_sums)(const float *x, int64_t taps, const float *w,
                                  const int64_t *place, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i += 4 * LANES) {
        vec a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

        for (int64_t t = 0; t < taps; t++) {
            const float *from = x + place[t] + i;
            vec v = SPLAT(w[t]);

            a = FMA(v, LOAD(from), a);
            b = FMA(v, LOAD(from + LANES), b);
            c = FMA(v, LOAD(from + 2 * LANES), c);
            d = FMA(v, LOAD(from + 3 * LANES), d);
        }
        STORE(y + i, a);
        STORE(y + i + LANES, b);
        STORE(y + i + 2 * LANES, c);
        STORE(y + i + 3 * LANES, d);
    }
}
