/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of an image under a window, of floats: the elements under one tap along the positions of a
 * line, where consecutive positions are adjacent in memory in the required layout.
 */
#ifndef FERRY_CPU_OP_LINES_H
#define FERRY_CPU_OP_LINES_H

#include "op.h"

#include <string.h>

/* A line of positions: its image, and its position on the two outer axes. */
struct cpu_places {
    int64_t image, at[2];
};

static inline struct cpu_places places_of(const struct cpu_window *w, int64_t line)
{
    int64_t plane = line / w->out[1];

    return (struct cpu_places){ plane / w->out[0], { plane % w->out[0], line % w->out[1] } };
}

/* Advances by that many lines, which must be inside the plane. */
static inline void places_skip(const struct cpu_window *w, struct cpu_places *p, int64_t lines)
{
    p->at[1] += lines;
    if (p->at[1] < w->out[1])
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

/*
 * The range of n positions of an axis, from `first` on, for which a tap is inside the image: those
 * from *from to *end − 1. Returns the position of the first one's tap, which may be outside.
 */
static inline int64_t places_seen(const struct cpu_window *w, const struct cpu_tap *t, int axis,
                                  int64_t first, int64_t n, int64_t *from, int64_t *end)
{
    int64_t stride = w->stride[axis], begin = t->at[axis] * w->dilation[axis] - w->pad[axis];
    int64_t low = -begin, high = w->in[axis] - begin;

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

/*
 * The elements under a tap for some lines of one plane, and for positions of each: lines and
 * positions from `from` to `end` − 1, counted from the first of them; the others are outside the
 * image.
 */
struct cpu_sight {
    int64_t lines, from_line, end_line, n, from, end;
    int64_t at, pitch, step; /* offsets in elements: from x to the first element, without the
                              * channel; from a line to the next; from a position to the next */
    bool is_whole;           /* all elements are inside and contiguous */
};

static inline struct cpu_sight sight_of(const struct cpu_window *w, const struct cpu_places *p,
                                        int64_t lines, const struct cpu_tap *t, int64_t first,
                                        int64_t n)
{
    int64_t d = p->at[0] * w->stride[0] - w->pad[0] + t->at[0] * w->dilation[0], h, v;
    struct cpu_sight s = { .lines = w->out[1] - p->at[1],
                           .n = n,
                           .pitch = w->stride[1] * w->x[3],
                           .step = w->stride[2] * w->x[4] };

    s.lines = s.lines < lines ? s.lines : lines;
    h = places_seen(w, t, 1, p->at[1], s.lines, &s.from_line, &s.end_line);
    v = places_seen(w, t, 2, first, n, &s.from, &s.end);
    if (d < 0 || d >= w->in[0] || s.from == s.end)
        s.end_line = s.from_line;
    if (s.from_line < s.end_line)
        s.at = p->image * w->x[0] + d * w->x[2] + (h + s.from_line * w->stride[1]) * w->x[3] +
               v * w->x[4] + s.from * s.step;
    s.is_whole = s.step == 1 && s.end_line - s.from_line == s.lines && s.end - s.from == n;
    return s;
}

/* Copies the elements under the tap from a channel at x; 0 outside the image. */
static inline void sight_see(const struct cpu_loops *loops, const struct cpu_sight *s,
                             const float *x, float *to)
{
    int64_t lines = s->end_line - s->from_line, n = s->end - s->from;
    float *inside = to + s->from_line * s->n + s->from;

    if (!s->is_whole)
        memset(to, 0, (size_t)(s->lines * s->n) * sizeof(*to));
    if (s->step == 1)
        loops->move_lines(lines, n, x + s->at, s->pitch, inside, s->n);
    for (int64_t k = 0; k < lines && s->step != 1; k++)
        for (int64_t i = 0; i < n; i++)
            inside[k * s->n + i] = x[s->at + k * s->pitch + i * s->step];
}

/* The reverse of sight_see: adds each position's value to its element. */
static inline void sight_spread(const struct cpu_loops *loops, const struct cpu_sight *s,
                                const float *from, float *x)
{
    int64_t lines = s->end_line - s->from_line, n = s->end - s->from;
    const float *inside = from + s->from_line * s->n + s->from;

    if (s->step == 1)
        loops->add_lines(lines, n, inside, s->n, x + s->at, s->pitch);
    for (int64_t k = 0; k < lines && s->step != 1; k++)
        for (int64_t i = 0; i < n; i++)
            x[s->at + k * s->pitch + i * s->step] += inside[k * s->n + i];
}

/* Advances to the following lines: the same of the next image if both are a whole plane. */
static inline void sight_next(const struct cpu_window *w, const struct cpu_places *p, int64_t lines,
                              const struct cpu_tap *t, int64_t first, struct cpu_sight *s)
{
    if (w->out[0] == 1 && s->lines == w->out[1] && lines >= s->lines)
        s->at += w->x[0];
    else
        *s = sight_of(w, p, lines, t, first, s->n);
}

/*
 * Copies the elements under a tap for positions first … first + n − 1 of lines that may belong to
 * several planes.
 */
static inline void lines_see(const struct cpu_loops *loops, const struct cpu_window *w,
                             const float *x, struct cpu_places places, int64_t lines,
                             const struct cpu_tap *t, int64_t first, int64_t n, float *to)
{
    struct cpu_sight s = { .n = n };

    while (lines > 0) {
        sight_next(w, &places, lines, t, first, &s);
        sight_see(loops, &s, x + t->channel * w->x[1], to);
        to += s.lines * n;
        lines -= s.lines;
        places_skip(w, &places, s.lines);
    }
}

#endif
