/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of depthwise.h, for an instruction set: see vector.h. No guard. */

/* ---- channels side by side ------------------------------------------------------------------ */

/* Taps first … end − 1 of the innermost axis of one pixel, one channel. */
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

#define FINISH(v, at)                                   \
    do {                                                \
        if (s.bias)                                     \
            v += LOAD(s.bias + c);                      \
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

/* So many pixels and one vector of channels. */
#define PIXELS_1(X)       X(0)
#define PIXELS_7(X)       X(0) X(1) X(2) X(3) X(4) X(5) X(6)
#define SUM_PIXEL(n)      vec sum##n = { 0 };
#define MULTIPLY_PIXEL(n) sum##n = FMA(v, LOAD(from + (n)*next), sum##n);
#define FINISH_PIXEL(n)   FINISH(sum##n, at + (n)*t.y_next);

/*
 * What the innermost loops need, in the compiler's own hands: a store of a vector may lie over
 * anything that has an address.
 */
struct NAME(taps) {
    int64_t planes, lines, taps;           /* of each axis, how many */
    int64_t plane, line, tap, next;        /* steps in x; from a pixel to the next */
    int64_t w_plane, w_line, w_tap, first; /* steps in w; where it begins */
    int64_t y_line, y_next;
    bool left, right; /* padding at the ends of three taps */
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

/* clang-format off */
/*
 * Seven pixels and three taps, a stride of 1 or 2 apart: what two taps see is loaded once. The first
 * may see padding on the left, the last on the right.
 */
#define SEE(i)          v = LOAD(from + (i) * t.tap)
#define SEE_IF(is, i)   v = (is) ? LOAD(from + (i) * t.tap) : zero
#define GIVE(pixel, k)  sum##pixel = FMA(w##k, v, sum##pixel)
#define THREE_1                                                        \
    SEE_IF(!t.left, 0); GIVE(0, 0);                                    \
    SEE(1); GIVE(0, 1); GIVE(1, 0);                                    \
    SEE(2); GIVE(0, 2); GIVE(1, 1); GIVE(2, 0);                        \
    SEE(3); GIVE(1, 2); GIVE(2, 1); GIVE(3, 0);                        \
    SEE(4); GIVE(2, 2); GIVE(3, 1); GIVE(4, 0);                        \
    SEE(5); GIVE(3, 2); GIVE(4, 1); GIVE(5, 0);                        \
    SEE(6); GIVE(4, 2); GIVE(5, 1); GIVE(6, 0);                        \
    SEE(7); GIVE(5, 2); GIVE(6, 1);                                    \
    SEE_IF(!t.right, 8); GIVE(6, 2);
#define THREE_2                                                        \
    SEE_IF(!t.left, 0); GIVE(0, 0); SEE(1); GIVE(0, 1);                \
    SEE(2); GIVE(0, 2); GIVE(1, 0); SEE(3); GIVE(1, 1);                \
    SEE(4); GIVE(1, 2); GIVE(2, 0); SEE(5); GIVE(2, 1);                \
    SEE(6); GIVE(2, 2); GIVE(3, 0); SEE(7); GIVE(3, 1);                \
    SEE(8); GIVE(3, 2); GIVE(4, 0); SEE(9); GIVE(4, 1);                \
    SEE(10); GIVE(4, 2); GIVE(5, 0); SEE(11); GIVE(5, 1);              \
    SEE(12); GIVE(5, 2); GIVE(6, 0); SEE(13); GIVE(6, 1);              \
    SEE_IF(!t.right, 14); GIVE(6, 2);

#define DEPTHWISE_THREE(stride)                                                                 \
    INLINE void NAME(depthwise_three_##stride)(                                                 \
        const struct cpu_store s, const struct NAME(taps) t, const float *x, const float *w,    \
        const float *add, float *y, int64_t at, int64_t c)                                      \
    {                                                                                           \
        const vec zero = { 0 };                                                                 \
        PIXELS_7(SUM_PIXEL)                                                                     \
                                                                                                \
        for (int64_t i = 0; i < t.planes; i++)                                                  \
            for (int64_t j = 0; j < t.lines; j++) {                                             \
                const float *from = x + i * t.plane + j * t.line;                               \
                const float *weight = w + i * t.w_plane + j * t.w_line;                         \
                vec w0 = LOAD(weight), w1 = LOAD(weight + t.w_tap);                             \
                vec w2 = LOAD(weight + 2 * t.w_tap), v;                                         \
                                                                                                \
                THREE_##stride                                                                  \
            }                                                                                   \
        PIXELS_7(FINISH_PIXEL)                                                                  \
    }

DEPTHWISE_THREE(1)
DEPTHWISE_THREE(2)

#if LANES == 16
/*
 * The same of two lines, a stride of 1 apart: what both see is loaded once. Only where there are
 * registers enough.
 */
#undef GIVE
#define BELOW_PIXEL(n)        vec below##n = { 0 };
#define FINISH_BELOW(n)       FINISH(below##n, at + y_line + (n)*t.y_next);
#define GIVE_ABOVE(pixel, k)  sum##pixel = FMA(w##k, v, sum##pixel)
#define GIVE_BELOW(pixel, k)  below##pixel = FMA(u##k, v, below##pixel)
#define GIVE_BOTH(pixel, k)   GIVE_ABOVE(pixel, k); GIVE_BELOW(pixel, k)
#define WEIGHTS(name, line)                                                        \
    name##0 = LOAD(w + (line) * t.w_line), name##1 = LOAD(w + (line) * t.w_line + t.w_tap), \
    name##2 = LOAD(w + (line) * t.w_line + 2 * t.w_tap)

INLINE void NAME(depthwise_pair)(const struct cpu_store s, const struct NAME(taps) t,
                                 const float *x, const float *w, const float *add, float *y,
                                 int64_t at, int64_t c)
{
    const int64_t y_line = t.y_line;
    const vec zero = { 0 };
    PIXELS_7(SUM_PIXEL)
    PIXELS_7(BELOW_PIXEL)

    for (int64_t i = 0; i < t.planes; i++, x += t.plane, w += t.w_plane) {
        const float *from = x;
        vec WEIGHTS(w, 0), u0, u1, u2, v;

#define GIVE GIVE_ABOVE
        THREE_1
#undef GIVE
#define GIVE GIVE_BOTH
        from += t.line, u0 = w0, u1 = w1, u2 = w2, WEIGHTS(w, 1);
        THREE_1
        from += t.line, u0 = w0, u1 = w1, u2 = w2, WEIGHTS(w, 2);
        THREE_1
#undef GIVE
#define GIVE GIVE_BELOW
        from += t.line, u0 = w0, u1 = w1, u2 = w2;
        THREE_1
    }
    PIXELS_7(FINISH_PIXEL)
    PIXELS_7(FINISH_BELOW)
}
#endif
/* clang-format on */

/* The taps of the innermost axis that pixel `pixel` sees. */
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
        .y_line = w->y[3],
        .y_next = w->y[4],
    };
}

/* The loop over all channels; the last vector may lie over the one before. */
#define EACH_CHANNEL(function)                                    \
    for (int64_t c = 0; c < channels; c += LANES) {               \
        c = c + LANES > channels ? channels - LANES : c;          \
        NAME(function)(s, t, x + c, w + c, d->add, y, at + c, c); \
    }                                                             \
    break

/* How many taps it is from a pixel to the next, where that is 1 or 2 and there are three; else 0. */
INLINE int64_t NAME(depthwise_shared)(const struct NAME(taps) * t)
{
    if (t->taps != 3)
        return 0;
    return t->next == t->tap ? 1 : t->next == 2 * t->tap ? 2 : 0;
}

/* Seven pixels from `pixel` on see all taps, or all but an outermost one where three are shared. */
INLINE bool NAME(depthwise_block)(const struct cpu_window *w, int64_t pixel, bool *left,
                                  bool *right)
{
    int64_t step = w->stride[2], tap = w->dilation[2], reach = (w->kernel[2] - 1) * tap;
    int64_t low = pixel * step - w->pad[2], high = low + 6 * step + reach;

    *left = low < 0;
    *right = high >= w->in[2];
    if (!*left && !*right)
        return true;
    return w->kernel[2] == 3 && (step == tap || step == 2 * tap) && low + tap >= 0 &&
           high - tap < w->in[2];
}

/* All channels of one pixel, or of seven that see the same taps. */
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
    NAME(depthwise_block)(v, pixel, &t.left, &t.right);
    x += l->first[0] * t.plane + l->first[1] * t.line + first * t.tap;
    w += t.first;
    switch (is_one ? -1 : l->lines == 2 ? 3 : NAME(depthwise_shared)(&t)) {
    case -1:
        EACH_CHANNEL(depthwise_1);
#if LANES == 16
    case 3:
        EACH_CHANNEL(depthwise_pair);
#endif
    case 1:
        EACH_CHANNEL(depthwise_three_1);
    case 2:
        EACH_CHANNEL(depthwise_three_2);
    default:
        EACH_CHANNEL(depthwise_7);
    }
}

/* Fewer channels than a vector has. */
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

/* Where the block with `pixel` begins: the last ones lie over those before. −1: there is none. */
INLINE int64_t NAME(depthwise_begin)(const struct cpu_depthwise *d, int64_t pixel)
{
    const int64_t pixels = d->window->out[2], end = d->inner[1];
    int64_t begin = pixel + 7 > pixels ? pixels - 7 : pixel;
    bool left, right;

    if (begin >= 0 && NAME(depthwise_block)(d->window, begin, &left, &right))
        return begin;
    return pixel >= d->inner[0] && pixel < end && end - d->inner[0] >= 7 ? end - 7 : -1;
}

INLINE void NAME(depthwise_line)(const struct cpu_depthwise *d, const struct cpu_line *l)
{
    bool is_few = d->window->channels < LANES;
    int64_t pixel = 0;

    while (pixel < d->window->out[2]) {
        int64_t begin = is_few ? -1 : NAME(depthwise_begin)(d, pixel);

        if (is_few)
            NAME(depthwise_few)(d, l, pixel);
        else
            NAME(depthwise_pixels)(d, l, begin < 0 ? pixel : begin, begin < 0);
        pixel = begin < 0 ? pixel + 1 : begin + 7;
    }
}

/* Whether two lines can be done at a time: each of their pixels lies in a block of three taps, shared. */
INLINE bool NAME(depthwise_pairs)(const struct cpu_depthwise *d)
{
    const struct cpu_window *w = d->window;

    return LANES == 16 && w->channels >= LANES && w->kernel[2] == 3 && w->stride[2] == 1 &&
           w->dilation[2] == 1 && w->out[2] >= 7 && w->pad[2] <= 1 && w->out[2] - w->pad[2] < w->in[2];
}

TARGET static void NAME(depthwise_last)(const struct cpu_depthwise *d, const struct cpu_line *l)
{
    struct cpu_line one = *l;

    if (l->lines == 2 && NAME(depthwise_pairs)(d)) {
        NAME(depthwise_line)(d, l);
        return;
    }
    one.lines = 1;
    for (int64_t i = 0; i < l->lines; i++) {
        NAME(depthwise_line)(d, &one);
        one.x += d->window->stride[1] * d->window->x[3];
        one.y += d->window->y[3];
    }
}

/* ---- pixels side by side -------------------------------------------------------------------- */

/* LANES pixels from `pixel` on, a stride of 1 apart, that see all taps of their line. */
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
