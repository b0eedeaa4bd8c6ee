/* SPDX-License-Identifier: BSD-2-Clause */
/* Gathers rows of patches.h, for an instruction set: see vector.h. No include guard. */

/* Copies channels c … c + n − 1 of a tap; zeros if the tap is outside the image. */
INLINE void NAME(patch_tap)(const float *from, int64_t step, int64_t n, float *to)
{
    if (!from) {
        NAME(clear)(to, n);
    } else if (step == 1) {
        NAME(move)(to, from, n);
    } else {
        for (int64_t c = 0; c < n; c++)
            to[c] = from[c * step];
    }
}

/* The position of tap k along an axis, relative to tap 0; −1 in the padding. */
INLINE int64_t NAME(patch_see)(const struct cpu_patches *p, int axis, int64_t begin, int64_t k)
{
    const struct cpu_window *w = p->window;
    int64_t i = begin + k * w->dilation[axis];

    if (p->is_transposed) {
        i = begin - k * w->dilation[axis];
        if (i < 0 || i % w->stride[axis] != 0)
            return -1;
        i /= w->stride[axis];
    }
    return i >= 0 && i < w->in[axis] ? i : -1;
}

/* Copies elements within … within + n − 1 of a line of taps, tap by tap. */
INLINE void NAME(patch_line)(const struct cpu_patches *p, const float *x, int64_t begin,
                             int64_t within, int64_t n, float *to)
{
    const struct cpu_window *w = p->window;
    int64_t tap = within / p->channels, c = within % p->channels;

    for (; n > 0; tap++, c = 0) {
        int64_t i = NAME(patch_see)(p, 2, begin, tap);
        int64_t some = p->channels - c < n ? p->channels - c : n;

        NAME(patch_tap)(i < 0 ? NULL : x + i * w->x[4] + c * w->x[1], w->x[1], some, to);
        to += some;
        n -= some;
    }
}

/* A pixel of the output: its image, and the position of tap 0 along each axis. */
struct NAME(pixel) {
    const float *image;
    int64_t begin[3];
    bool is_dense; /* its lines of taps have the required layout in memory */
};

INLINE void NAME(patch_pixels)(const struct cpu_patches *p, int64_t first, int64_t rows,
                               struct NAME(pixel) * pixel)
{
    const struct cpu_window *w = p->window;
    int64_t line = first / w->out[2], plane = line / w->out[1];
    int64_t at[3] = { plane % w->out[0], line % w->out[1], first % w->out[2] };
    int64_t image = plane / w->out[0];

    for (int64_t i = 0; i < rows; i++, pixel++) {
        pixel->image = p->x + image * w->x[0];
        for (int axis = 0; axis < 3; axis++)
            pixel->begin[axis] = p->is_transposed ? at[axis] + w->pad[axis]
                                                  : at[axis] * w->stride[axis] - w->pad[axis];
        pixel->is_dense =
            p->is_dense && pixel->begin[2] >= 0 && pixel->begin[2] + w->kernel[2] <= w->in[2];
        if (++at[2] < w->out[2])
            continue;
        at[2] = 0;
        if (++at[1] < w->out[1])
            continue;
        at[1] = 0;
        if (++at[0] < w->out[0])
            continue;
        at[0] = 0;
        image++;
    }
}

/* Copies one line of taps of every row. */
INLINE void NAME(patch_lines)(const struct cpu_patches *p, const struct NAME(pixel) * pixel,
                              int64_t rows, int64_t plane, int64_t within, int64_t n, float *to,
                              int64_t to_row)
{
    const struct cpu_window *w = p->window;
    const int64_t u = plane / w->kernel[1], v = plane % w->kernel[1], step = w->x[4];

    for (int64_t i = 0; i < rows; i++, pixel++, to += to_row) {
        int64_t d = NAME(patch_see)(p, 0, pixel->begin[0], u);
        int64_t h = NAME(patch_see)(p, 1, pixel->begin[1], v);
        const float *x = pixel->image + d * w->x[2] + h * w->x[3];

        if (d < 0 || h < 0)
            NAME(clear)(to, n);
        else if (pixel->is_dense)
            NAME(move)(to, x + pixel->begin[2] * step + within, n);
        else
            NAME(patch_line)(p, x, pixel->begin[2], within, n, to);
    }
}

TARGET static void NAME(patches)(const struct cpu_patches *p, int64_t first, int64_t rows,
                                 int64_t k, int64_t depth, float *to, int64_t to_row)
{
    const int64_t line = p->window->kernel[2] * p->channels; /* a line of taps */
    int64_t plane = k / line, within = k % line;
    struct NAME(pixel) pixel[MOST_ROWS];

    NAME(patch_pixels)(p, first, rows, pixel);
    for (; depth > 0; plane++, within = 0) {
        int64_t n = line - within < depth ? line - within : depth;

        NAME(patch_lines)(p, pixel, rows, plane, within, n, to, to_row);
        to += n;
        depth -= n;
    }
}
