/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depthwise convolutions of 3 × 3, contiguous channels, for an instruction set: see vector.h. No
 * include guard.
 *
 * A line is processed once, for as many channels as a cache line holds. A column of three pixels is
 * loaded and added to all sums that use it; the leftmost sum is then complete. Nothing is loaded
 * twice, for any length of the line and any distance of its pixels. If the distance is a power of
 * two, the pixels share a few sets of the first-level cache, but the cache need not keep them.
 */

#define SLIDE_WIDE (LANES == 16 ? LANES : 2 * LANES)

struct NAME(slide) {
    const VALUE *x[4]; /* the input lines, from column 0 on */
    int64_t step[4];   /* the distance from a column to the next */
    int64_t pad, in, out, y_line, y_next;
};

/* Zeros for the lines above and below the image. */
static const VALUE NAME(slide_zero)[2 * SLIDE_WIDE];

/* Clamps v, or multiplies it if it is negative: is_leaky, see NAME(slide). */
#define SLIDE_FINISH(v)                        \
    do {                                       \
        if (is_leaky)                          \
            v = SELECT_POSITIVE(v, v * least); \
        else                                   \
            v = CLIP(v, least, most);          \
    } while (0)

#if HAVE_NEON
#include "slide_neon_impl.h"
#else
/*
 * There are two sets of sums: a, and b for the next vector of channels, or for the line below.
 *
 * Wide: two cache lines of channels are processed at a time, for example with stride 2, which reads
 * almost nothing twice. If the distance of the pixels is a power of two, the first-level cache then
 * has room for twice as many loads at the same time. Narrow vectors need the sets c and d for this.
 */
#if LANES == 16
#define TAP(j, k, half) ((half) ? u##j##k : w##j##k)
#define TAPS                                                                   \
    const vec w00 = LOAD(w), w01 = LOAD(w + LANES), w02 = LOAD(w + 2 * LANES); \
    const vec w10 = LOAD(w + 3 * LANES), w11 = LOAD(w + 4 * LANES);            \
    const vec w12 = LOAD(w + 5 * LANES), w20 = LOAD(w + 6 * LANES);            \
    const vec w21 = LOAD(w + 7 * LANES), w22 = LOAD(w + 8 * LANES);            \
    const float *u = wide ? w + 9 * LANES : w;                                 \
    const vec u00 = LOAD(u), u01 = LOAD(u + LANES), u02 = LOAD(u + 2 * LANES); \
    const vec u10 = LOAD(u + 3 * LANES), u11 = LOAD(u + 4 * LANES);            \
    const vec u12 = LOAD(u + 5 * LANES), u20 = LOAD(u + 6 * LANES);            \
    const vec u21 = LOAD(u + 7 * LANES), u22 = LOAD(u + 8 * LANES);
#define TAPS_AGAIN
#else
#define TAP(j, k, half) LOAD(w + ((half) / 2 * 9 + 3 * (j) + (k)) * SLIDE_WIDE + (half) % 2 * LANES)
#define TAPS
/* The registers do not suffice for the taps, so they are loaded again. */
#define TAPS_AGAIN OPAQUE(w);
#endif

/* clang-format off */
/*
 * Adds the contributions of v, by line j of the taps: to three pixels with stride 1; to one or two
 * with stride 2.
 */
#define GIVE_ALL(s, half, j)                                                    \
    s##0 = FMA(v, TAP(j, 2, half), s##0); s##1 = FMA(v, TAP(j, 1, half), s##1); \
    s##2 = FMA(v, TAP(j, 0, half), s##2)
#define GIVE_EVEN(s, half, j) \
    s##0 = FMA(v, TAP(j, 2, half), s##0); s##1 = FMA(v, TAP(j, 0, half), s##1)
#define GIVE_ODD(s, half, j) s##0 = FMA(v, TAP(j, 1, half), s##0)

/* Processes a column, and moves to the next. */
#if LANES == 16
#define SEE(GIVE)                                                               \
    v = LOAD_VALUE(x0); GIVE(a, 0, 0);                                                \
    if (wide) { v = LOAD_VALUE(x0 + LANES); GIVE(b, 1, 0); }                          \
    v = LOAD_VALUE(x1); GIVE(a, 0, 1); if (lines == 2) { GIVE(b, 0, 0); }             \
    if (wide) { v = LOAD_VALUE(x1 + LANES); GIVE(b, 1, 1); }                          \
    v = LOAD_VALUE(x2); GIVE(a, 0, 2); if (lines == 2) { GIVE(b, 0, 1); }             \
    if (wide) { v = LOAD_VALUE(x2 + LANES); GIVE(b, 1, 2); }                          \
    if (lines == 2) { v = LOAD_VALUE(x3); GIVE(b, 0, 2); }                            \
    x0 += t.step[0]; x1 += t.step[1]; x2 += t.step[2]; x3 += t.step[3]
#else
#define SEE(GIVE)                                                               \
    TAPS_AGAIN                                                                  \
    SEE_LINE(x0, GIVE, 0); SEE_LINE(x1, GIVE, 1); SEE_LINE(x2, GIVE, 2);        \
    x0 += t.step[0]; x1 += t.step[1]; x2 += t.step[2]
#define SEE_LINE(x, GIVE, j)                                                    \
    v = LOAD_VALUE(x); GIVE(a, 0, j); v = LOAD_VALUE(x + LANES); GIVE(b, 1, j);             \
    if (wide) {                                                                 \
        v = LOAD_VALUE(x + 2 * LANES); GIVE(c, 2, j);                                 \
        v = LOAD_VALUE(x + 3 * LANES); GIVE(d, 3, j);                                 \
    }
#endif
/* Stores the leftmost pixel, and starts another one. */
#define SHIFT                                                                   \
    a0 = a1, a1 = a2, a2 = a_new, b0 = b1, b1 = b2, b2 = b_new;                 \
    c0 = c1, c1 = c2, c2 = c_new, d0 = d1, d1 = d2, d2 = d_new
#define SLIDE_STORE(v, to)                                                      \
    SLIDE_FINISH(v);                                                            \
    STORE_VALUE(to, v)
#define DONE                                                                    \
    SLIDE_STORE(a0, y);                                                         \
    if (has_b) { SLIDE_STORE(b0, y + b_at); }                                   \
    if (has_cd) {                                                               \
        SLIDE_STORE(c0, y + 2 * LANES);                                         \
        SLIDE_STORE(d0, y + 3 * LANES);                                         \
    }                                                                           \
    y += t.y_next;                                                              \
    SHIFT
/* clang-format on */
/*
 * Computes a line of y, or two; pixels that begin before the line are partly summed and not stored.
 * Sums start with the bias. Leaky: negative ones are multiplied, by s.least; else they are clamped.
 */
INLINE void NAME(slide)(const struct cpu_store s, const struct NAME(slide) t, int stride, int lines,
                        bool wide, bool is_leaky, const float *w, VALUE *y, int64_t c)
{
    const VALUE *x0 = t.x[0], *x1 = t.x[1], *x2 = t.x[2], *x3 = t.x[3];
    const bool has_b = LANES < 16 || wide || lines == 2, has_cd = LANES < 16 && wide;
    const bool is_line = LANES == 16 && lines == 2, is_begun = s.bias;
    const int64_t b_at = is_line ? t.y_line : LANES, b_c = is_line ? 0 : LANES;
    const vec zero = { 0 }, least = SPLAT(s.least), most = SPLAT(s.most);
    const vec a_new = is_begun ? LOAD(s.bias + c) : zero;
    const vec b_new = is_begun && has_b ? LOAD(s.bias + c + b_c) : zero;
    const vec c_new = is_begun && has_cd ? LOAD(s.bias + c + 2 * LANES) : zero;
    const vec d_new = is_begun && has_cd ? LOAD(s.bias + c + 3 * LANES) : zero;
    vec a0 = a_new, a1 = a_new, a2 = a_new, b0 = b_new, b1 = b_new, b2 = b_new;
    vec c0 = c_new, c1 = c_new, c2 = c_new, d0 = d_new, d1 = d_new, d2 = d_new, v;
    int64_t pixel = 0, whole; /* the number of pixels whose last column exists */
    TAPS

        (void)
        x3;
    if (stride == 1) {
        for (int64_t column = -t.pad; column < 2 - t.pad; column++) {
            if (column >= 0 && column < t.in) {
                SEE(GIVE_ALL);
            }
            SHIFT;
        }
        whole = t.in - 2 + t.pad;
        whole = whole < t.out ? whole : t.out;
        for (; pixel < whole; pixel++) {
            SEE(GIVE_ALL);
            DONE;
        }
    } else {
        if (t.pad == 0) {
            SEE(GIVE_EVEN);
        }
        SHIFT;
        whole = (t.in - 1 + t.pad) / 2;
        whole = whole < t.out ? whole : t.out;
        for (; pixel < whole; pixel++) {
            SEE(GIVE_ODD);
            SEE(GIVE_EVEN);
            DONE;
        }
        if (pixel < t.out && 2 * pixel + 1 - t.pad < t.in) {
            SEE(GIVE_ODD);
        }
    }
    for (; pixel < t.out; pixel++) {
        DONE;
    }
}
#endif

/* A function for each kind of lines: registers suffice for one kind. */
typedef void NAME(slide_function)(const struct cpu_store *s, const struct NAME(slide) * t,
                                  const float *w, VALUE *y, int64_t c);
#define SLIDE(name, stride, lines, wide, is_leaky)                                               \
    TARGET static __attribute__((noinline)) void NAME(name)(const struct cpu_store *s,           \
                                                            const struct NAME(slide) * t,        \
                                                            const float *w, VALUE *y, int64_t c) \
    {                                                                                            \
        NAME(slide)(*s, *t, stride, lines, wide, is_leaky, w, y, c);                             \
    }

SLIDE(slide_1, 1, 1, false, false)
SLIDE(slide_1_leaky, 1, 1, false, true)
SLIDE(slide_2, 2, 1, false, false)
SLIDE(slide_2_leaky, 2, 1, false, true)
#if LANES == 16
SLIDE(slide_lines, 1, 2, false, false)
SLIDE(slide_lines_leaky, 1, 2, false, true)
#endif
#if !HAVE_NEON
SLIDE(slide_wide, 2, 1, true, false)
SLIDE(slide_wide_leaky, 2, 1, true, true)
#endif

enum { SLIDE_BY_1, SLIDE_BY_2, SLIDE_LINES, SLIDE_IN_WIDTH };

/* The functions of each kind, without and with a slope. */
static NAME(slide_function) *const NAME(slides)[4][2] = {
    [SLIDE_BY_1] = { NAME(slide_1), NAME(slide_1_leaky) },
    [SLIDE_BY_2] = { NAME(slide_2), NAME(slide_2_leaky) },
#if LANES == 16
    [SLIDE_LINES] = { NAME(slide_lines), NAME(slide_lines_leaky) },
#endif
#if !HAVE_NEON
    [SLIDE_IN_WIDTH] = { NAME(slide_wide), NAME(slide_wide_leaky) },
#endif
};

/* Stores the limits, or the slope, in s->least and s->most; returns whether it is a slope. */
INLINE bool NAME(slide_limits)(struct cpu_store *s)
{
    if (s->clamp == CPU_CLAMP_RELU) {
        s->least = s->slope;
    } else if (s->clamp != CPU_CLAMP_CLIP) {
        s->least = s->clamp == CPU_CLAMP_POSITIVE ? 0 : -__builtin_inff();
        s->most = __builtin_inff();
    }
    return s->clamp == CPU_CLAMP_RELU;
}

/* Finds the input lines of `lines` lines of y, from its line `at` on. */
INLINE void NAME(slide_find)(const struct cpu_window *w, const VALUE *x, int64_t at, int64_t lines,
                             struct NAME(slide) * out)
{
    for (int64_t j = 0; j < 4; j++) {
        int64_t line = at * w->stride[1] - w->pad[1] + j;
        bool is_there = j < lines + 2 && line >= 0 && line < w->in[1];

        out->x[j] = is_there ? x + line * w->x[3] : NAME(slide_zero);
        out->step[j] = is_there ? w->x[4] : 0;
    }
}

TARGET static void NAME(depthwise_slide)(const struct cpu_depthwise *d, const void *x, int64_t y,
                                         int64_t first, int64_t count)
{
    const struct cpu_window *v = d->window;
    struct cpu_store s = d->store;
    const bool is_leaky = NAME(slide_limits)(&s), is_apart = v->stride[2] == 2;
    const bool by_two = LANES == 16 && !is_apart && v->stride[1] == 1;
    const float *w = d->w;
    struct NAME(slide) t = {
        .pad = v->pad[2], .in = v->in[2], .out = v->out[2], .y_line = v->y[3], .y_next = v->y[4]
    };

    for (int64_t c = 0, width; c < v->channels; c += width, w += 9 * width) {
        bool wide = !HAVE_NEON && is_apart && c + 2 * SLIDE_WIDE <= v->channels;

        width = wide ? 2 * SLIDE_WIDE : SLIDE_WIDE;
        if (c + width > v->channels)
            c = v->channels - width; /* the last channels overlap the previous ones */
        for (int64_t i = first, lines, kind; i < first + count; i += lines) {
            int64_t at = y + i * v->y[3] + c;

            lines = by_two && i + 1 < first + count ? 2 : 1;
            kind = lines == 2 ? SLIDE_LINES
                   : wide     ? SLIDE_IN_WIDTH
                   : is_apart ? SLIDE_BY_2
                              : SLIDE_BY_1;
            NAME(slide_find)(v, (const VALUE *)x + c, i, lines, &t);
            NAME(slides)[kind][is_leaky](&s, &t, w, (VALUE *)(void *)d->y + at, c);
        }
    }
}
