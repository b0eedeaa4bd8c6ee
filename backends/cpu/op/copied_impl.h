/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depthwise convolutions of any kernel with contiguous channels, for an instruction set: see
 * vector.h. No include guard. * The lines of x under some lines of y are copied for a few channels,
 * with zeros beside the image, so that all pixels of a line have the same taps and are computed
 * seven at a time.
 */

/* Copies a line of x from column −pad on, `columns` pixels. */
INLINE void NAME(copy_line)(const struct cpu_window *w, const float *x, int64_t columns, float *to)
{
    int64_t before = w->pad[2] < columns ? w->pad[2] : columns;
    int64_t seen = w->in[2] < columns - before ? w->in[2] : columns - before;
    const int64_t step = w->x[4];

    NAME(clear)(to, before * COPIED_CHANNELS);
    to += before * COPIED_CHANNELS;
    for (int64_t i = 0; i < seen; i++, x += step, to += COPIED_CHANNELS) {
        for (int64_t k = 0; k < COPIED_CHANNELS; k += LANES)
            STORE(to + k, LOAD(x + k));
        __builtin_prefetch(x + COPIED_CHANNELS); /* prefetches the next channels */
    }
    NAME(clear)(to, (columns - before - seen) * COPIED_CHANNELS);
}

/* Computes a line of y, one vector of channels. */
INLINE void NAME(copied_line)(const struct cpu_store s, const struct NAME(taps) t, int64_t pixels,
                              const float *x, const float *w, float *y, int64_t at, int64_t c)
{
    for (int64_t i = 0; i < pixels; i += 7) {
        if (pixels >= 7) {
            i = i + 7 > pixels ? pixels - 7 : i;
            NAME(depthwise_7)(s, t, x + i * t.next, w, NULL, y, at + i * t.y_next, c);
            continue;
        }
        for (int64_t k = 0; k < pixels; k++)
            NAME(depthwise_1)(s, t, x + k * t.next, w, NULL, y, at + k * t.y_next, c);
    }
}

TARGET static void NAME(depthwise_copied)(const struct cpu_depthwise *d, const float *x, int64_t y,
                                          int64_t first, int64_t count, int64_t c)
{
    const struct cpu_window *w = d->window;
    const struct cpu_store s = d->store;
    const int64_t columns = cpu_depthwise_columns(w), line = columns * COPIED_CHANNELS;
    const int64_t above = first * w->stride[1] - w->pad[1], top = above > 0 ? above : 0;
    int64_t below =
        (first + count - 1) * w->stride[1] - w->pad[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    const float *taps =
        d->w + (c + COPIED_CHANNELS - 1) / COPIED_CHANNELS * w->taps * COPIED_CHANNELS;
    float lines[COPIED_MOST];

    below = below < w->in[1] ? below : w->in[1];
    for (int64_t i = top; i < below; i++)
        NAME(copy_line)(w, x + i * w->x[3] + c, columns, lines + (i - top) * line);
    for (int64_t i = first; i < first + count; i++) {
        struct cpu_line l = { .y = y + i * w->y[3] + c, .end = { 1 } };
        int64_t from = i * w->stride[1] - w->pad[1] - top;
        struct NAME(taps) t;

        cpu_depthwise_see(w, 1, i, &l.first[1], &l.end[1]);
        t = NAME(depthwise_find)(d, &l, 0, w->kernel[2]);
        t.line = w->dilation[1] * line;
        t.tap = w->dilation[2] * COPIED_CHANNELS;
        t.next = w->stride[2] * COPIED_CHANNELS;
        t.w_line = w->kernel[2] * COPIED_CHANNELS;
        t.w_tap = COPIED_CHANNELS;
        for (int64_t k = 0; k < COPIED_CHANNELS; k += LANES)
            NAME(copied_line)
            (s, t, w->out[2], lines + from * line + l.first[1] * t.line + k,
             taps + l.first[1] * t.w_line + k, d->y, l.y + k, c + k);
    }
}
