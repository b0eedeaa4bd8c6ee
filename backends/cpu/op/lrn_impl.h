/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LRN of one pixel or element, for type T: lrn.c includes this once for each type. No include
 * guard.
 */

/* The sum of squares over `size` channels around channel c of a pixel. */
static double NAME(across)(const struct lrn *l, const T *x, int64_t c)
{
    int64_t half = (l->size - 1) / 2;
    int64_t first = c > half ? c - half : 0;
    int64_t end = c + half + 1 < l->window->channels ? c + half + 1 : l->window->channels;
    double sum = 0;

    for (int64_t i = first; i < end; i++)
        sum += (double)x[i * l->window->x[1]] * (double)x[i * l->window->x[1]];
    return sum;
}

static double NAME(within)(const struct lrn *l, const T *x, const struct around *a)
{
    const struct cpu_window *w = l->window;
    double sum = 0;

    for (int64_t i = a->first[0]; i < a->end[0]; i++)
        for (int64_t j = a->first[1]; j < a->end[1]; j++)
            for (int64_t k = a->first[2]; k < a->end[2]; k++) {
                double value = (double)x[i * w->x[2] + j * w->x[3] + k * w->x[4]];

                sum += value * value;
            }
    return sum;
}

/* Computes every channel of a pixel. */
static void NAME(lrn_pixel)(const struct lrn *l, int64_t image, const int64_t *at)
{
    const struct cpu_window *w = l->window;
    const T *x = (const T *)l->x + image * w->x[0];
    int64_t x_at = at[0] * w->x[2] + at[1] * w->x[3] + at[2] * w->x[4];
    int64_t y_at = image * w->y[0] + at[0] * w->y[2] + at[1] * w->y[3] + at[2] * w->y[4];
    struct around a = around(l, at);

    for (int64_t c = 0; c < w->channels; c++) {
        double sum =
            l->is_across ? NAME(across)(l, x + x_at, c) : NAME(within)(l, x + c * w->x[1], &a);
        double scale = (l->is_across ? l->k : 1) + l->alpha / (double)a.elements * sum;
        double factor = pow(scale, -l->beta);

        ((T *)l->y)[y_at + c * w->y[1]] = (T)((double)x[x_at + c * w->x[1]] * factor);
        if (l->scale)
            ((T *)l->scale)[scale_at(l, image, c, at)] = (T)scale;
    }
}
