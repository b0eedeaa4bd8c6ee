/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of SOFTMAX, of type T: softmax.c includes this once for each type. No include guard. */

static void NAME(softmax_line)(const struct softmax *s, const T *x, T *y)
{
    T most = x[0];
    double sum = 0;

    for (int64_t i = 1; i < s->length; i++)
        most = x[i * s->x_step] > most ? x[i * s->x_step] : most;
    for (int64_t i = 0; i < s->length; i++) {
        T shifted = x[i * s->x_step] - most, raised = MATH(exp)(shifted);

        sum += (double)raised;
        y[i * s->y_step] = s->logarithm ? shifted : raised;
    }
    if (s->logarithm) {
        for (int64_t i = 0; i < s->length; i++)
            y[i * s->y_step] -= (T)log(sum);
    } else {
        for (int64_t i = 0; i < s->length; i++)
            y[i * s->y_step] = (T)((double)y[i * s->y_step] / sum);
    }
}

static void NAME(softmax_row)(void *arg, const int64_t *offset, int64_t n)
{
    const struct softmax *s = arg;

    for (int64_t j = 0; j < n; j++)
        NAME(softmax_line)
    (s, (const T *)s->x + offset[1] + j * s->x_next, (T *)s->y + offset[0] + j * s->y_next);
}
