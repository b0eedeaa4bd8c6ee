/* SPDX-License-Identifier: BSD-2-Clause */
/* One window of POOL, for type T: pool.c includes this once for each type. No include guard. */

static T NAME(most)(const struct pool *p, const struct range *r, const T *x, int64_t *out_where)
{
    const struct cpu_window *w = p->window;
    T most = -FLT_MAX;

    *out_where = -1;
    for (int64_t i = r->first[0]; i < r->end[0]; i++)
        for (int64_t j = r->first[1]; j < r->end[1]; j++)
            for (int64_t k = r->first[2]; k < r->end[2]; k++) {
                T value = x[i * w->x[2] + j * w->x[3] + k * w->x[4]];

                if (value > most) {
                    most = value;
                    *out_where = (i * w->in[1] + j) * w->in[2] + k;
                }
            }
    return most;
}

/* The maximum for a plane with contiguous rows, without further axes. */
static T NAME(most_flat)(const struct pool *p, const struct range *r, const T *x,
                         int64_t *out_where)
{
    const int64_t row = p->window->in[2], width = r->end[2] - r->first[2];
    int64_t at = r->first[1] * row + r->first[2], where = -1;
    T most = -FLT_MAX;

    for (int64_t j = r->first[1]; j < r->end[1]; j++, at += row - width)
        for (int64_t k = 0; k < width; k++, at++) {
            const T value = x[at];

            where = value > most ? at : where; /* a select instead of an unpredictable branch */
            most = value > most ? value : most;
        }
    *out_where = where;
    return most;
}

static bool NAME(is_flat)(const struct cpu_window *w)
{
    return w->in[0] == 1 && w->x[4] == 1 && w->x[3] == w->in[2];
}

static T NAME(average)(const struct pool *p, const struct range *r, const T *x)
{
    const struct cpu_window *w = p->window;
    T sum = 0;

    for (int64_t i = r->first[0]; i < r->end[0]; i++)
        for (int64_t j = r->first[1]; j < r->end[1]; j++)
            for (int64_t k = r->first[2]; k < r->end[2]; k++)
                sum += x[i * w->x[2] + j * w->x[3] + k * w->x[4]];
    return r->divisor ? sum / (T)r->divisor : 0;
}

/* Computes one window of one channel. */
static void NAME(pool_one)(const struct pool *p, const struct range *r, const T *x, T *y,
                           int64_t channel)
{
    const struct cpu_window *w = p->window;
    bool is_flat = NAME(is_flat)(w) && r->end[0] > r->first[0] && r->end[2] > r->first[2];
    int64_t where;

    if (p->method == FERRY_POOL_AVERAGE) {
        *y = NAME(average)(p, r, x);
        return;
    }
    *y = is_flat ? NAME(most_flat)(p, r, x, &where) : NAME(most)(p, r, x, &where);
    if (p->mask)
        put_mask(p, r, channel, where);
}

/* Computes one window of every channel. */
static void NAME(pool_window)(const struct pool *p, const struct range *r, const void *xp, void *yp,
                              int64_t y_at)
{
    const struct cpu_window *w = p->window;

    for (int64_t c = 0; c < w->channels; c++)
        NAME(pool_one)
    (p, r, (const T *)xp + c * w->x[1], (T *)yp + y_at + c * w->y[1], c);
}
