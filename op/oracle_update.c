/* SPDX-License-Identifier: BSD-2-Clause */
/* UPDATE, in doubles. */
#include "op/oracle_parts.h"

#include <math.h>

/* The run's scalars by name. */
struct rates {
    double scale, l2, l1, rate, momentum, decay, delta;
};

/* What is taken from a parameter whose gradient is g; the histories go on. */
static double step_of(uint32_t solver, const struct rates *r, double g, double *h, double *k)
{
    double m = r->momentum, old = *h, u;

    switch (solver) {
    case FERRY_UPDATE_SGD:
        return *h = m * old + r->rate * g;
    case FERRY_UPDATE_NESTEROV:
        *h = m * old + r->rate * g;
        return (1 + m) * *h - m * old;
    case FERRY_UPDATE_ADAGRAD:
        *h = old + g * g;
        return r->rate * (g / (sqrt(*h) + r->delta));
    case FERRY_UPDATE_RMSPROP:
        *h = r->decay * old + (1 - r->decay) * g * g;
        return r->rate * (g / (sqrt(*h) + r->delta));
    case FERRY_UPDATE_ADADELTA:
        *h = m * old + (1 - m) * g * g;
        u = g * sqrt((*k + r->delta) / (*h + r->delta));
        *k = m * *k + (1 - m) * u * u;
        return r->rate * u;
    default: /* FERRY_UPDATE_ADAM */
        *h = m * old + (1 - m) * g;
        *k = r->decay * *k + (1 - r->decay) * g * g;
        return r->rate * (*h / (sqrt(*k) + r->delta));
    }
}

void oracle_update(const struct scene *s)
{
    const double *x = s->scalars;
    struct rates r = { x[0], x[1], x[2], x[3], x[4], x[5], x[6] };
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double w = view_get(&s->out[0], at.i), h = view_get(&s->out[1], at.i);
        double k = s->op->n_out > 2 ? view_get(&s->out[2], at.i) : 0;
        double g = r.scale * view_get(&s->in[0], at.i) + r.l2 * w + r.l1 * ((w > 0) - (w < 0));

        w -= step_of(s->op->params.update.solver, &r, g, &h, &k);
        view_set(&s->out[0], at.i, w);
        view_set(&s->out[1], at.i, h);
        if (s->op->n_out > 2)
            view_set(&s->out[2], at.i, k);
    }
}
