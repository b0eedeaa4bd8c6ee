/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of patches.h, for an instruction set: see vector.h. No guard. */

/* Channels c … c + n − 1 of a tap that sees the image, or not. */
INLINE void NAME(patch_tap)(const struct cpu_patches *p, const float *from, int64_t n, float *to)
{
    const int64_t step = p->window->x[1];

    if (!from) {
        NAME(clear)(to, n);
    } else if (step == 1) {
        NAME(move)(to, from, n);
    } else {
        for (int64_t c = 0; c < n; c++)
            to[c] = from[c * step];
    }
}

/* Where a tap sees an axis; −1 for the padding. */
INLINE int64_t NAME(patch_see)(const struct cpu_patches *p, int axis, int64_t at, int64_t k)
{
    const struct cpu_window *w = p->window;
    int64_t i = at * w->stride[axis] - w->pad[axis] + k * w->dilation[axis];

    if (p->is_transposed) {
        i = at + w->pad[axis] - k * w->dilation[axis];
        if (i < 0 || i % w->stride[axis] != 0)
            return -1;
        i /= w->stride[axis];
    }
    return i < w->in[axis] ? i : -1;
}

/* Elements k … k + depth − 1 of the patch at a pixel. */
INLINE void NAME(patch)(const struct cpu_patches *p, const float *x, const int64_t *at, int64_t k,
                        int64_t depth, float *to)
{
    const struct cpu_window *w = p->window;
    const int64_t line = w->kernel[2] * p->channels; /* of one row of taps */
    int64_t plane = k / line, within = k % line;

    for (; depth > 0; plane++, within = 0) {
        int64_t i = NAME(patch_see)(p, 0, at[0], plane / w->kernel[1]);
        int64_t j = NAME(patch_see)(p, 1, at[1], plane % w->kernel[1]);
        int64_t n = line - within < depth ? line - within : depth;
        int64_t left = at[2] * w->stride[2] - w->pad[2];
        const float *from = x + i * w->x[2] + j * w->x[3];

        depth -= n;
        if (i < 0 || j < 0) {
            NAME(clear)(to, n);
            to += n;
        } else if (p->is_dense && left >= 0 && left + w->kernel[2] <= w->in[2]) {
            NAME(move)(to, from + left * w->x[4] + within, n);
            to += n;
        } else {
            while (n > 0) {
                int64_t c = within % p->channels;
                int64_t l = NAME(patch_see)(p, 2, at[2], within / p->channels);
                int64_t some = p->channels - c < n ? p->channels - c : n;

                NAME(patch_tap)(p, l < 0 ? NULL : from + l * w->x[4] + c * w->x[1], some, to);
                within += some;
                to += some;
                n -= some;
            }
        }
    }
}

TARGET static void NAME(patches)(const struct cpu_patches *p, int64_t first, int64_t rows,
                                 int64_t k, int64_t depth, float *to, int64_t to_row)
{
    const struct cpu_window *w = p->window;
    int64_t at[3] = { first / w->out[2] / w->out[1] % w->out[0], first / w->out[2] % w->out[1],
                      first % w->out[2] };
    int64_t image = first / w->out[2] / w->out[1] / w->out[0];

    for (int64_t i = 0; i < rows; i++, to += to_row) {
        NAME(patch)(p, p->x + image * w->x[0], at, k, depth, to);
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
