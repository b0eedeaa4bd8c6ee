/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RESIZE of a band of rows of an output, of type T: resize.c includes this once for each type. No
 * include guard.
 */

/* Resizes a row of x along its axis. */
static void NAME(resize_along)(const struct resize *r, const T *x, T *to)
{
    const struct cpu_window *w = r->window;

    for (int64_t i = 0; i < w->out[2]; i++) {
        const struct cpu_sample *h = &r->along[i];
        const T *left = x + h->at[0] * w->x[4], *right = x + h->at[1] * w->x[4];
        T along = (T)h->weight;

        for (int64_t c = 0; c < r->channels; c++, left += w->x[1], right += w->x[1])
            *to++ = *left * (1 - along) + *right * along;
    }
}

static void NAME(resize_nearest)(const struct resize *r, const T *x, T *y)
{
    const struct cpu_window *w = r->window;

    for (int64_t i = 0; i < w->out[2]; i++, y += w->y[4]) {
        const T *from = x + r->along[i].at[0] * w->x[4];

        if (w->x[1] == 1 && r->channels > 1)
            memcpy(y, from, (size_t)r->channels * sizeof(*y));
        else
            for (int64_t c = 0; c < r->channels; c++)
                y[c] = from[c * w->x[1]];
    }
}

static void NAME(resize_band)(void *arg, int64_t number, unsigned slot)
{
    const struct resize *r = arg;
    const struct cpu_window *w = r->window;
    int64_t first = number % r->bands * r->band, plane = number / r->bands;
    int64_t planes = w->channels / r->channels, image = plane / planes, held[2] = { -1, -1 };
    const T *x = (const T *)r->x + image * w->x[0] + plane % planes * w->x[1];
    T *y = (T *)r->y + image * w->y[0] + plane % planes * w->y[1];
    T *kept[2] = { (T *)r->rows + 2 * slot * r->length, (T *)r->rows + (2 * slot + 1) * r->length };

    for (int64_t i = first; i < first + r->band && i < w->out[1]; i++) {
        struct cpu_sample v = cpu_sample_of(&r->op->op.params, i, w->in[1], w->out[1]);

        if (r->op->op.params.resize.method == FERRY_RESIZE_NEAREST) {
            NAME(resize_nearest)(r, x + v.at[0] * w->x[3], y + i * w->y[3]);
            continue;
        }
        for (int k = 0; k < 2; k++) {
            if (held[v.at[k] % 2] != v.at[k])
                NAME(resize_along)(r, x + v.at[k] * w->x[3], kept[v.at[k] % 2]);
            held[v.at[k] % 2] = v.at[k];
        }
        NAME(blend)(r, kept[v.at[0] % 2], kept[v.at[1] % 2], v.weight, y + i * w->y[3]);
    }
}
