/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolutions in groups of few channels (grouped.h), for vectors of 16 floats: see vector.h. No
 * include guard.
 *
 * The lines of x under some lines of y are transposed from pixels of channels to channels of
 * pixels. A tile is a few outputs of a group by a few vectors of pixels: for each tap and channel,
 * a vector of pixels is multiplied by an output's weight. Lines follow each other at the pitch of
 * the copied lines, so that vectors cross the ends of lines; sums of the columns between two lines
 * of y are computed and not stored. A block's tiles are transposed to pixels of channels.
 */

/* Transposes 16 vectors. */
INLINE void NAME(transpose)(vec v[LANES])
{
    __m512 t[LANES];

#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_ps((__m512)v[i], (__m512)v[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps((__m512)v[i], (__m512)v[i + 1]);
    }
    /* afterwards v[i + k] has the columns k, k + 4, k + 8 and k + 12 of rows i to i + 3 */
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i += 4)
#pragma GCC unroll 16
        for (int k = 0; k < 2; k++) {
            const __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + k + 2]);

            v[i + 2 * k] = (vec)_mm512_unpacklo_pd(a, b);
            v[i + 2 * k + 1] = (vec)_mm512_unpackhi_pd(a, b);
        }
#pragma GCC unroll 16
    for (int k = 0; k < 4; k++) {
        const __m512 a = (__m512)v[k], b = (__m512)v[k + 4];
        const __m512 c = (__m512)v[k + 8], d = (__m512)v[k + 12];
        const __m512 even = _mm512_shuffle_f32x4(a, b, 0x88);
        const __m512 odd = _mm512_shuffle_f32x4(a, b, 0xdd);
        const __m512 even_end = _mm512_shuffle_f32x4(c, d, 0x88);
        const __m512 odd_end = _mm512_shuffle_f32x4(c, d, 0xdd);

        v[k] = (vec)_mm512_shuffle_f32x4(even, even_end, 0x88);
        v[k + 4] = (vec)_mm512_shuffle_f32x4(odd, odd_end, 0x88);
        v[k + 8] = (vec)_mm512_shuffle_f32x4(even, even_end, 0xdd);
        v[k + 12] = (vec)_mm512_shuffle_f32x4(odd, odd_end, 0xdd);
    }
}

/* ---- lines of x ----------------------------------------------------------------------------- */

/* Copies n ≤ 16 pixels, `step` apart, of up to 16 channels to channels `apart` apart. */
INLINE void NAME(transpose_pixels)(const float *x, int64_t step, int64_t n, int64_t channels,
                                   float *to, int64_t apart)
{
    vec v[LANES];

    if (n == LANES && channels == LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            v[i] = LOAD(x + i * step);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            v[i] = LOAD_SOME(x + (i < n ? i * step : 0), channels);
    }
    NAME(transpose)(v);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        if (i < channels)
            STORE_SOME(to + i * apart, n, v[i]);
}

/*
 * Copies the lines of x under `lines` lines of y from `first` on, with zeros beside the image, to
 * channels `apart` apart.
 */
INLINE void NAME(transpose_lines)(const struct cpu_window *w, const float *x, int64_t first,
                                  int64_t lines, int64_t channels, int64_t apart, float *to)
{
    const int64_t pitch = cpu_depthwise_columns(w), before = w->pad[2] < pitch ? w->pad[2] : pitch;
    const int64_t seen = w->in[2] < pitch - before ? w->in[2] : pitch - before;

    first -= w->pad[1];
    lines += (w->kernel[1] - 1) * w->dilation[1];
    for (int64_t line = first; line < first + lines; line++, to += pitch) {
        bool is_inside = line >= 0 && line < w->in[1];
        int64_t inside = is_inside ? seen : 0, left = is_inside ? before : 0;

        for (int64_t c = 0; c < channels; c++) {
            NAME(clear)(to + c * apart, left);
            NAME(clear)(to + c * apart + left + inside, pitch - left - inside);
        }
        for (int64_t i = 0; i < inside; i += LANES)
            NAME(transpose_pixels)
        (x + line * w->x[3] + i * w->x[4], w->x[4], inside - i < LANES ? inside - i : LANES,
         channels, to + left + i, apart);
    }
}

/* ---- tiles ---------------------------------------------------------------------------------- */

/* The values that all tiles of some lines share. */
struct NAME(grouped_sums) {
    int64_t taps, channel;     /* the number of taps, and the distance of channels in the copy */
    int64_t tap[GROUPED_TAPS]; /* the offsets of the taps in a channel */
    struct cpu_store store;
};

/* The clamp of a store, of a vector. */
INLINE vec NAME(grouped_clamp)(const struct cpu_store *s, vec v)
{
    if (s->clamp == CPU_CLAMP_POSITIVE)
        return MOST(v, SPLAT(0.0f));
    if (s->clamp == CPU_CLAMP_RELU)
        return SELECT_POSITIVE(v, v * SPLAT(s->slope));
    if (s->clamp == CPU_CLAMP_CLIP)
        return CLIP(v, SPLAT(s->least), SPLAT(s->most));
    return v;
}

/*
 * Computes the outputs of a group, four or eight, for some vectors of pixels. `x` is the first
 * pixel in the group's first channel, `bias` the first output's, and `to` has LANES · vectors
 * floats for each output.
 */
INLINE void NAME(grouped_tile)(const struct NAME(grouped_sums) * s, const int outputs,
                               const int vectors, const float *x, const float *w, const float *bias,
                               float *to)
{
    vec sum[8][6];
    const struct cpu_store store = s->store;
    const int64_t channel = s->channel;

#pragma GCC unroll 8
    for (int o = 0; o < outputs; o++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sum[o][v] = SPLAT(bias ? bias[o] : 0.0f);
    for (int64_t t = 0; t < s->taps; t++) {
        const float *from = x + s->tap[t];

        for (int64_t c = 0; c < outputs; c++, from += channel, w += outputs) {
            vec pixels[6];

#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                pixels[v] = LOAD(from + v * LANES);
#pragma GCC unroll 8
            for (int o = 0; o < outputs; o++) {
                const vec weight = SPLAT(w[o]);

#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++)
                    FMA_ONTO(pixels[v], weight, sum[o][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int o = 0; o < outputs; o++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            STORE(to + (o * vectors + v) * LANES, NAME(grouped_clamp)(&store, sum[o][v]));
}

#define GROUPED_TILE(outputs, vectors)                                                          \
    TARGET static void NAME(grouped_##outputs##_##vectors)(const struct NAME(grouped_sums) * s, \
                                                           const float *x, const float *w,      \
                                                           const float *bias, float *to)        \
    {                                                                                           \
        NAME(grouped_tile)(s, outputs, vectors, x, w, bias, to);                                \
    }

GROUPED_TILE(4, 1)
GROUPED_TILE(4, 2)
GROUPED_TILE(4, 3)
GROUPED_TILE(4, 4)
GROUPED_TILE(4, 5)
GROUPED_TILE(4, 6)
GROUPED_TILE(8, 1)
GROUPED_TILE(8, 2)
GROUPED_TILE(8, 3)

/* By outputs, four or eight, and by vectors minus one: as many sums as registers hold. */
static void (*const NAME(grouped_tiles)[2][6])(const struct NAME(grouped_sums) * s, const float *x,
                                               const float *w, const float *bias, float *to) = {
    { NAME(grouped_4_1), NAME(grouped_4_2), NAME(grouped_4_3), NAME(grouped_4_4), NAME(grouped_4_5),
      NAME(grouped_4_6) },
    { NAME(grouped_8_1), NAME(grouped_8_2), NAME(grouped_8_3) },
};

/* ---- lines of y ----------------------------------------------------------------------------- */

/* Stores vectors of a block's outputs, from pixel `pixel` of the copied lines on. */
INLINE void NAME(grouped_store)(const struct cpu_window *w, const float *sums, int64_t vectors,
                                int64_t channels, int64_t pixel, int64_t pixels, int64_t pitch,
                                float *y)
{
    int64_t line = pixel / pitch, column = pixel % pitch;

    for (int64_t k = 0; k < vectors; k++) {
        vec v[LANES];

#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            v[i] = LOAD(sums + (i * vectors + k) * LANES);
        NAME(transpose)(v);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            float *to = y + line * w->y[3] + column * w->y[4];

            if (column < w->out[2] && pixel + k * LANES + i < pixels)
                STORE_SOME(to, channels, v[i]);
            if (++column == pitch) {
                column = 0;
                line++;
            }
        }
    }
}

INLINE struct NAME(grouped_sums) NAME(grouped_find)(const struct cpu_grouped *g, int64_t channel)
{
    const struct cpu_window *w = g->window;
    struct NAME(grouped_sums) s = { .taps = w->taps, .channel = channel, .store = g->store };

    for (int64_t t = 0; t < w->taps; t++)
        s.tap[t] = t / w->kernel[2] * w->dilation[1] * cpu_depthwise_columns(w) +
                   t % w->kernel[2] * w->dilation[2];
    return s;
}

TARGET static void NAME(grouped)(const struct cpu_grouped *g, const float *x, float *y,
                                 int64_t first, int64_t lines, int64_t channel, int64_t channels)
{
    const struct cpu_window *w = g->window;
    const int64_t apart = cpu_grouped_channel(w, lines), pitch = cpu_depthwise_columns(w);
    const int64_t pixels = (lines - 1) * pitch + w->out[2], width = g->width;
    const int64_t most = width == 4 ? 6 : 3;
    const struct NAME(grouped_sums) s = NAME(grouped_find)(g, apart);
    const float *weights = g->w + channel * width * w->taps, *bias = g->store.bias;
    float copy[GROUPED_MOST + LANES], sums[GROUPED_CHANNELS * 6 * LANES];

    NAME(transpose_lines)(w, x, first, lines, channels, apart, copy);
    NAME(clear)(copy + channels * apart, LANES); /* the last vector reads them */
    for (int64_t at = 0, vectors; at < pixels; at += vectors * LANES) {
        int64_t left = (pixels - at + LANES - 1) / LANES, tiles = (left + most - 1) / most;

        vectors = (left + tiles - 1) / tiles;
        for (int64_t c = 0; c < channels; c += width)
            NAME(grouped_tiles)
        [width == 8][vectors - 1](&s, copy + c * apart + at, weights + c * width * w->taps,
                                  bias ? bias + channel + c : NULL, sums + c * vectors * LANES);
        NAME(grouped_store)(w, sums, vectors, channels, at, pixels, pitch, y + first * w->y[3]);
    }
}
