/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of terms, of type T: sums.c includes this once for each type. No include guard. */

static double NAME(share)(const struct sum *m, T dy, T x)
{
    switch (m->s->share) {
    case FERRY_BINARY_SUM:
        return (double)dy;
    case FERRY_BINARY_MAX:
        return (double)x > m->u ? 0 : (double)dy;
    case FERRY_BINARY_PRELU:
        return x > 0 ? 0 : (double)x * (double)dy;
    default: /* FERRY_BINARY_PRODUCT */
        return (double)x * (double)dy;
    }
}

static void NAME(sum_row)(void *arg, const int64_t *offset, int64_t n)
{
    struct sum *m = arg;
    const struct cpu_walk *inner = &m->s->op->plan.reduce.inner;
    const T *dy = (const T *)m->s->dy + m->dy + offset[0];
    const T *x = m->s->x ? (const T *)m->s->x + m->x + offset[1] : NULL;
    int64_t dy_step = walk_step(inner, 0), x_step = walk_step(inner, 1);

    for (int64_t i = 0; i < n; i++)
        m->value += NAME(share)(m, dy[i * dy_step], x ? x[i * x_step] : 0);
}
