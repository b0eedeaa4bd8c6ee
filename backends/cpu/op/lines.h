/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of an image under a window, of floats: what one tap sees along the places of a line, where
 * places of a line follow one another in memory as they are wanted.
 */
#ifndef FERRY_CPU_OP_LINES_H
#define FERRY_CPU_OP_LINES_H

#include "op.h"

#include <string.h>

/* A line of places: of which image, and where on the two outer axes. */
struct cpu_places {
    int64_t image, at[2];
};

static inline struct cpu_places places_of(const struct cpu_window *w, int64_t line)
{
    int64_t plane = line / w->out[1];

    return (struct cpu_places){ plane / w->out[0], { plane % w->out[0], line % w->out[1] } };
}

static inline void places_next(const struct cpu_window *w, struct cpu_places *p)
{
    if (++p->at[1] < w->out[1])
        return;
    p->at[1] = 0;
    if (++p->at[0] < w->out[0])
        return;
    p->at[0] = 0;
    p->image++;
}

/* A row of columns: a channel and an element of the kernel. */
struct cpu_tap {
    int64_t channel, at[3];
};

static inline struct cpu_tap tap_of(const struct cpu_window *w, int64_t row)
{
    int64_t tap = row % w->taps, plane = tap / w->kernel[2];

    return (struct cpu_tap){ row / w->taps,
                             { plane / w->kernel[1], plane % w->kernel[1], tap % w->kernel[2] } };
}

static inline void tap_next(const struct cpu_window *w, struct cpu_tap *t)
{
    for (int i = 2; i >= 0; i--) {
        if (++t->at[i] < w->kernel[i])
            return;
        t->at[i] = 0;
    }
    t->channel++;
}

/* How far from x the line that a tap sees of an image begins, at index 0; −1: it is beside it. */
static inline int64_t line_at(const struct cpu_window *w, const struct cpu_places *p,
                              const struct cpu_tap *t)
{
    int64_t d = p->at[0] * w->stride[0] - w->pad[0] + t->at[0] * w->dilation[0];
    int64_t h = p->at[1] * w->stride[1] - w->pad[1] + t->at[1] * w->dilation[1];

    if (d < 0 || d >= w->in[0] || h < 0 || h >= w->in[1])
        return -1;
    return p->image * w->x[0] + t->channel * w->x[1] + d * w->x[2] + h * w->x[3];
}

/* Which of places first … first + n − 1 see the line: those from *from to before *end. */
static inline int64_t line_seen(const struct cpu_window *w, const struct cpu_tap *t, int64_t first,
                                int64_t n, int64_t *from, int64_t *end)
{
    int64_t stride = w->stride[2], begin = t->at[2] * w->dilation[2] - w->pad[2];
    int64_t low = -begin, high = w->in[2] - begin;

    if (stride != 1) {
        low = low > 0 ? (low + stride - 1) / stride : 0;
        high = high > 0 ? (high + stride - 1) / stride : 0;
    }
    low -= first;
    high -= first;
    *from = low < 0 ? 0 : low > n ? n : low;
    *end = high < *from ? *from : high > n ? n : high;
    return begin + first * stride;
}

typedef float __attribute__((vector_size(16), aligned(4), may_alias)) line_vec;

/* Else a compiler makes a call of a loop, which is dear where the loop is short. */
#define LINE_SHORT(p) __asm__("" : "+r"(p))

/* n ≥ 0 floats that do not overlap; most are few. */
static inline void line_move(float *to, const float *from, int64_t n)
{
    for (; n >= 4; n -= 4, to += 4, from += 4) {
        LINE_SHORT(to);
        *(line_vec *)to = *(const line_vec *)from;
    }
    for (; n > 0; n--) {
        LINE_SHORT(to);
        *to++ = *from++;
    }
}

static inline void line_clear(float *to, int64_t n)
{
    for (; n > 0; n--) {
        LINE_SHORT(to);
        *to++ = 0;
    }
}

static inline void line_add(float *to, const float *from, int64_t n)
{
    for (; n >= 4; n -= 4, to += 4, from += 4)
        *(line_vec *)to += *(const line_vec *)from;
    for (; n > 0; n--)
        *to++ += *from++;
}

/* What a tap sees along places first … first + n − 1 of some lines; 0 beside the image. */
static inline void lines_see(const struct cpu_window *w, const float *x, struct cpu_places places,
                             int64_t lines, const struct cpu_tap *t, int64_t first, int64_t n,
                             float *to)
{
    int64_t from, end, step = w->stride[2] * w->x[4];
    int64_t offset = line_seen(w, t, first, n, &from, &end) * w->x[4];

    for (; lines > 0; lines--, to += n, places_next(w, &places)) {
        int64_t at = line_at(w, &places, t);

        if (at < 0) {
            line_clear(to, n);
            continue;
        }
        line_clear(to, from);
        if (step == 1)
            line_move(to + from, x + at + offset + from, end - from);
        for (int64_t i = from; i < end && step != 1; i++)
            to[i] = x[at + offset + i * step];
        line_clear(to + end, n - end);
    }
}

/* The reverse: each place of whole lines is added to what its tap sees. */
static inline void lines_spread(const struct cpu_window *w, const float *from_lines,
                                struct cpu_places places, int64_t lines, const struct cpu_tap *t,
                                float *x)
{
    int64_t from, end, step = w->stride[2] * w->x[4];
    int64_t offset = line_seen(w, t, 0, w->out[2], &from, &end) * w->x[4];

    for (; lines > 0; lines--, from_lines += w->out[2], places_next(w, &places)) {
        int64_t at = line_at(w, &places, t);

        if (at < 0)
            continue;
        if (step == 1)
            line_add(x + at + offset + from, from_lines + from, end - from);
        for (int64_t i = from; i < end && step != 1; i++)
            x[at + offset + i * step] += from_lines[i];
    }
}

#endif
