/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row of a product of matrices, of type T: matrix.c includes this once for each type. No include
 * guard.
 */

/* Computes a row of a walk over y; the sum over K is an inner loop. */
static void NAME(product_row)(const struct product *m, int64_t batch, int64_t row)
{
    const T *a = (const T *)m->a + batch * m->a_step[0] + row * m->a_step[1];
    const T *b = (const T *)m->b + batch * m->b_step[0];
    const T *c = m->c ? (const T *)m->c + batch * m->c_step[0] + row * m->c_step[1] : NULL;
    T *y = (T *)m->y + batch * m->y_step[0] + row * m->y_step[1];

    for (int64_t j = 0; j < m->n; j++) {
        double sum = 0, value;

        for (int64_t k = 0; k < m->k; k++)
            sum += (double)a[m->a_at ? walk_at(m->a_at, 0, k) : k * m->a_step[2]] *
                   (double)b[k * m->b_step[1] + j * m->b_step[2]];
        value = m->alpha * sum;
        if (c)
            value += m->beta * (double)c[j * m->c_step[2]];
        y[j * m->y_step[2]] = (T)value;
    }
}

static void NAME(product_rows)(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct product *m = arg;

    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        NAME(product_row)(m, i / m->m, i % m->m);
}
