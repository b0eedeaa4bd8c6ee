/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gradients of weights for type T, element by element: convolution_weights.c includes this twice.
 * No include guard.
 */

/* The contribution of one channel of either image to one tap. */
static double NAME(joined)(const struct cpu_window *v, const T *wide, const T *narrow,
                           const int64_t *tap)
{
    double sum = 0;
    int64_t at[3], i[3];

    for (int64_t image = 0; image < v->images; image++)
        for (at[0] = 0; at[0] < v->out[0]; at[0]++)
            for (at[1] = 0; at[1] < v->out[1]; at[1]++)
                for (at[2] = 0; at[2] < v->out[2]; at[2]++) {
                    bool sees = true;

                    for (int k = 0; k < 3; k++) {
                        i[k] = at[k] * v->stride[k] - v->pad[k] + tap[k] * v->dilation[k];
                        sees &= i[k] >= 0 && i[k] < v->in[k];
                    }
                    if (sees)
                        sum += (double)wide[image * v->x[0] + i[0] * v->x[2] + i[1] * v->x[3] +
                                            i[2] * v->x[4]] *
                               (double)narrow[image * v->y[0] + at[0] * v->y[2] + at[1] * v->y[3] +
                                              at[2] * v->y[4]];
                }
    return sum;
}

static void NAME(join_row)(const struct direct *d, int64_t o)
{
    const struct cpu_window *v = &d->op->plan.weights.window;
    const int64_t *stride = d->op->plan.weights.w, groups = d->op->op.params.window.group;
    int64_t channels = v->channels / groups, first = o / (v->outputs / groups) * channels;

    for (int64_t c = 0; c < channels; c++)
        for (int64_t tap = 0; tap < v->taps; tap++) {
            int64_t plane = tap / v->kernel[2];
            int64_t k[3] = { plane / v->kernel[1], plane % v->kernel[1], tap % v->kernel[2] };
            T *w = (T *)d->w + o * stride[0] + c * stride[1] + k[0] * stride[2] + k[1] * stride[3] +
                   k[2] * stride[4];

            *w = (T)((double)*w + NAME(joined)(v, (const T *)d->wide + (first + c) * v->x[1],
                                               (const T *)d->narrow + o * v->y[1], k));
        }
}

static void NAME(join_rows)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    for (int64_t o = first; o < first + count; o++)
        NAME(join_row)(arg, o);
}
