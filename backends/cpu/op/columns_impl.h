/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row or a plane of the columns, of type T: columns.c includes this once for each type. No
 * include guard.
 */

/* Computes row `row` of the columns of an image: the elements of one channel under one tap. */
static void NAME(im2col_row)(const struct columns *c, int64_t image, int64_t row)
{
    const struct cpu_window *w = c->window;
    const T *x = (const T *)c->in + image * w->x[0] + row / w->taps * w->x[1];
    T *y = (T *)c->out + image * c->column[0] + row * c->column[1];
    int64_t tap = row % w->taps, at[3], i[3];
    int64_t k[3] = { tap / w->kernel[2] / w->kernel[1], tap / w->kernel[2] % w->kernel[1],
                     tap % w->kernel[2] };

    for (at[0] = 0; at[0] < w->out[0]; at[0]++)
        for (at[1] = 0; at[1] < w->out[1]; at[1]++) {
            bool sees = see(w, 0, at[0], k[0], &i[0]);

            sees &= see(w, 1, at[1], k[1], &i[1]);
            for (at[2] = 0; at[2] < w->out[2]; at[2]++)
                y[at[0] * c->column[2] + at[1] * c->column[3] + at[2] * c->column[4]] =
                    sees && see(w, 2, at[2], k[2], &i[2])
                        ? x[i[0] * w->x[2] + i[1] * w->x[3] + i[2] * w->x[4]]
                        : 0;
        }
}

/* Adds row `tap` of the columns to a channel of an image. */
static void NAME(col2im_tap)(const struct columns *c, const T *x, T *y, const int64_t *k)
{
    const struct cpu_window *w = c->window;
    int64_t at[3], i[3];

    for (at[0] = 0; at[0] < w->out[0]; at[0]++)
        for (at[1] = 0; at[1] < w->out[1]; at[1]++) {
            bool sees = see(w, 0, at[0], k[0], &i[0]);

            sees &= see(w, 1, at[1], k[1], &i[1]);
            for (at[2] = 0; sees && at[2] < w->out[2]; at[2]++)
                if (see(w, 2, at[2], k[2], &i[2]))
                    y[i[0] * w->x[2] + i[1] * w->x[3] + i[2] * w->x[4]] +=
                        x[at[0] * c->column[2] + at[1] * c->column[3] + at[2] * c->column[4]];
        }
}

static void NAME(col2im_plane)(const struct columns *c, int64_t image, int64_t channel)
{
    const struct cpu_window *w = c->window;
    const T *x = (const T *)c->in + image * c->column[0] + channel * w->taps * c->column[1];
    T *y = (T *)c->out + image * w->x[0] + channel * w->x[1];

    for (int64_t i = 0; i < w->in[0]; i++)
        for (int64_t j = 0; j < w->in[1]; j++)
            for (int64_t k = 0; k < w->in[2]; k++)
                y[i * w->x[2] + j * w->x[3] + k * w->x[4]] = 0;
    for (int64_t tap = 0; tap < w->taps; tap++) {
        int64_t k[3] = { tap / w->kernel[2] / w->kernel[1], tap / w->kernel[2] % w->kernel[1],
                         tap % w->kernel[2] };

        NAME(col2im_tap)(c, x + tap * c->column[1], y, k);
    }
}
