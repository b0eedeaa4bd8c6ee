/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RESIZE of one row of an output, of type T: resize.c includes this once for each type. No include
 * guard.
 */

static void NAME(resize_row)(const struct resize *r, int64_t plane, int64_t row)
{
    const struct cpu_window *w = r->window;
    const T *x = (const T *)r->x + plane / w->channels * w->x[0] + plane % w->channels * w->x[1];
    T *y =
        (T *)r->y + plane / w->channels * w->y[0] + plane % w->channels * w->y[1] + row * w->y[3];
    struct cpu_sample v = sample(r, 1, row);

    for (int64_t i = 0; i < w->out[2]; i++) {
        struct cpu_sample h = sample(r, 2, i);
        const T *top = x + v.at[0] * w->x[3], *bottom = x + v.at[1] * w->x[3];
        T a = top[h.at[0] * w->x[4]], b = top[h.at[1] * w->x[4]];
        T c = bottom[h.at[0] * w->x[4]], d = bottom[h.at[1] * w->x[4]];
        const T along = (T)h.weight, down = (T)v.weight;

        if (r->params->resize.method == FERRY_RESIZE_NEAREST)
            y[i * w->y[4]] = a;
        else
            y[i * w->y[4]] =
                (a * (1 - along) + b * along) * (1 - down) + (c * (1 - along) + d * along) * down;
    }
}
