/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CONVOLUTION element by element, of type T: direct.c includes this once for each type. No include
 * guard.
 */

/* Sums the contribution of input channels first … first + count − 1 to one element of y. */
static double NAME(gather_taps)(const struct direct *c, const T *x, const T *w, int64_t count,
                                const int64_t *at)
{
    const struct cpu_window *v = &c->op->plan.convolution.window;
    const int64_t *wide = c->op->plan.convolution.w;
    double sum = 0;
    int64_t i[3];

    for (int64_t p = 0; p < v->kernel[0]; p++)
        for (int64_t q = 0; q < v->kernel[1]; q++)
            for (int64_t r = 0; r < v->kernel[2]; r++) {
                const T *weight = w + p * wide[2] + q * wide[3] + r * wide[4];
                const T *value;

                if (!see(c, 0, at[0], p, &i[0]) || !see(c, 1, at[1], q, &i[1]) ||
                    !see(c, 2, at[2], r, &i[2]))
                    continue;
                value = x + i[0] * v->x[2] + i[1] * v->x[3] + i[2] * v->x[4];
                for (int64_t k = 0; k < count; k++)
                    sum += (double)value[k * v->x[1]] * (double)weight[k * wide[1]];
            }
    return sum;
}

/* Computes one output channel of one image. */
static void NAME(convolve_plane)(const struct direct *c, int64_t image, int64_t o)
{
    const struct cpu_window *v = &c->op->plan.convolution.window;
    const int64_t *wide = c->op->plan.convolution.w;
    int64_t group = c->op->op.params.window.group;
    int64_t outputs = v->outputs / group, channels = v->channels / group, g = o / outputs;
    const T *x = (const T *)c->x + image * v->x[0] + g * channels * v->x[1];
    const T *w = (const T *)c->w;
    T *y = (T *)c->y + image * v->y[0] + o * v->y[1];
    double bias = c->bias ? (double)((const T *)c->bias)[o * c->bias_step] : 0;
    int64_t at[3];

    if (c->is_transposed)
        w += o % outputs * wide[0] + g * channels * wide[1];
    else
        w += o * wide[0];
    for (at[0] = 0; at[0] < v->out[0]; at[0]++)
        for (at[1] = 0; at[1] < v->out[1]; at[1]++)
            for (at[2] = 0; at[2] < v->out[2]; at[2]++)
                y[at[0] * v->y[2] + at[1] * v->y[3] + at[2] * v->y[4]] =
                    (T)(bias + NAME(gather_taps)(c, x, w, channels, at));
}

static void NAME(convolve_planes)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct direct *c = arg;
    int64_t outputs = c->op->plan.convolution.window.outputs;

    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        NAME(convolve_plane)(c, i / outputs, i % outputs);
}
