/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <math.h>

/* The reference of SCATTER_ADD and UPDATE, which modify data, and of RANDOM. */

#define SOME 24 /* permitted roundings of a root or a transcendental function */

/* ---- tables --------------------------------------------------------------------------------- */

void op_expect_scatter_add(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_operand *index = &s->in[1].o;
    int64_t at[FERRY_OP_AXES] = { 0 }, x[FERRY_OP_AXES];

    op_add(out, op_get(&s->out[0], i));
    if (op_count(index) == 0)
        return;
    do {
        if (op_get(&s->in[1], at) != (long double)i[0])
            continue;
        for (uint32_t axis = 0; axis < s->in[0].o.rank; axis++)
            x[axis] = axis < index->rank ? at[axis] : i[axis - index->rank + 1];
        op_add(out, op_get(&s->in[0], x));
    } while (op_next(index, at));
}

/* ---- random numbers ------------------------------------------------------------------------- */

/* The words of block `counter` (Philox 4×32-10). */
static void philox(uint64_t key, uint64_t counter, uint32_t *out)
{
    uint32_t k[2] = { (uint32_t)key, (uint32_t)(key >> 32) };

    out[0] = (uint32_t)counter;
    out[1] = (uint32_t)(counter >> 32);
    out[2] = out[3] = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)out[0] * 0xd2511f53u, b = (uint64_t)out[2] * 0xcd9e8d57u;

        out[0] = (uint32_t)(b >> 32) ^ out[1] ^ k[0];
        out[2] = (uint32_t)(a >> 32) ^ out[3] ^ k[1];
        out[1] = (uint32_t)b;
        out[3] = (uint32_t)a;
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
}

void op_expect_random(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    long double a = (long double)s->op->params.random.a, b = (long double)s->op->params.random.b;
    const long double turn = 6.283185307179586476925286766559L;
    const ferry_operand *o = &s->out[0].o;
    uint64_t number = 0;
    long double u, v, radius;
    uint32_t words[4];

    for (uint32_t axis = 0; axis < o->rank; axis++)
        number = number * (uint64_t)o->shape[axis] + (uint64_t)i[axis];
    philox(s->seed, s->offset + number / 4, words);
    u = (words[number % 4] >> 8) * 0x1p-24L;
    if (s->op->params.random.distribution == FERRY_RANDOM_UNIFORM) {
        op_set(out, a + (b - a) * u, fabsl(a) + fabsl(b), 2);
    } else if (s->op->params.random.distribution == FERRY_RANDOM_BERNOULLI) {
        op_set(out, u < a ? b : 0, 0, 0);
    } else {
        u = (words[number % 4 & ~UINT64_C(1)] >> 8) * 0x1p-24L + 0x1p-24L;
        v = (words[number % 4 | 1] >> 8) * 0x1p-24L;
        radius = sqrtl(-2 * logl(u));
        op_set(out, a + b * radius * (number & 1 ? sinl(turn * v) : cosl(turn * v)),
               fabsl(a) + fabsl(b) * (1 + radius), SOME);
    }
}

/* ---- updates -------------------------------------------------------------------------------- */

/* The scalars of a run, in the order in which they come. */
struct rates {
    long double scale, l2, l1, rate, momentum, decay, delta;
};

/* The updated parameter and histories. */
static void updated(uint32_t solver, const struct rates *r, long double grad, long double *w,
                    long double *h, long double *k)
{
    long double rate = r->rate, momentum = r->momentum, decay = r->decay, delta = r->delta;
    long double g = r->scale * grad + r->l2 * *w + r->l1 * (*w > 0 ? 1 : *w < 0 ? -1 : 0);
    long double before = *h, u;

    switch (solver) {
    case FERRY_UPDATE_SGD:
        *h = momentum * *h + rate * g;
        *w -= *h;
        return;
    case FERRY_UPDATE_NESTEROV:
        *h = momentum * *h + rate * g;
        *w -= (1 + momentum) * *h - momentum * before;
        return;
    case FERRY_UPDATE_ADAGRAD:
        *h += g * g;
        *w -= rate * (g / (sqrtl(*h) + delta));
        return;
    case FERRY_UPDATE_RMSPROP:
        *h = decay * *h + (1 - decay) * g * g;
        *w -= rate * (g / (sqrtl(*h) + delta));
        return;
    case FERRY_UPDATE_ADADELTA:
        *h = momentum * *h + (1 - momentum) * g * g;
        u = g * sqrtl((*k + delta) / (*h + delta));
        *k = momentum * *k + (1 - momentum) * u * u;
        *w -= rate * u;
        return;
    default:
        *h = momentum * *h + (1 - momentum) * g;
        *k = decay * *k + (1 - decay) * g * g;
        *w -= rate * (*h / (sqrtl(*k) + delta));
        return;
    }
}

void op_expect_update(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    const double *x = s->scalars;
    const struct rates r = { x[0], x[1], x[2], x[3], x[4], x[5], x[6] };
    long double now[3] = { 0 };

    for (uint32_t k = 0; k < s->op->n_out; k++)
        now[k] = op_get(&s->out[k], i);
    updated(s->op->params.update.solver, &r, op_get(&s->in[0], i), &now[0], &now[1], &now[2]);
    op_set(out, now[n], 4 + fabsl(now[n]), SOME);
}
