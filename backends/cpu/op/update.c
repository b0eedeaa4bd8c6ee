/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>

/* UPDATE computes a solver's step in one pass over a parameter, its gradient and its histories. */

struct update {
    uint32_t solver;
    const void *g;
    void *w, *h, *k; /* k is NULL if there is one history */
    int64_t step[4]; /* strides of w, g, h, k */
    const double *scalars;
};

/*
 * Computes rows of one type. The branch on the solver is outside of the loop, so that contiguous
 * elements are vectorised.
 */
#define ROWS(name, real, root)                                                                   \
    static void name(void *arg, const int64_t *offset, int64_t n)                                \
    {                                                                                            \
        const struct update *u = arg;                                                            \
        const real scale = (real)u->scalars[0], l2 = (real)u->scalars[1];                        \
        const real l1 = (real)u->scalars[2], rate = (real)u->scalars[3];                         \
        const real m = (real)u->scalars[4], decay = (real)u->scalars[5];                         \
        const real delta = (real)u->scalars[6];                                                  \
        const int64_t ws = u->step[0], gs = u->step[1], hs = u->step[2], ks = u->step[3];        \
        real *restrict w = (real *)u->w + offset[0], *restrict h = (real *)u->h + offset[2];     \
        real *restrict k = u->k ? (real *)u->k + offset[3] : NULL;                               \
        const real *restrict grad = (const real *)u->g + offset[1];                              \
                                                                                                 \
        switch (u->solver) {                                                                     \
        case FERRY_UPDATE_SGD:                                                                   \
            EACH(real, w[i * ws] -= h[i * hs] = m * h[i * hs] + rate * g);                       \
            break;                                                                               \
        case FERRY_UPDATE_NESTEROV:                                                              \
            EACH(real, real old = h[i * hs]; h[i * hs] = m * old + rate * g;                     \
                 w[i * ws] -= (1 + m) * h[i * hs] - m * old);                                    \
            break;                                                                               \
        case FERRY_UPDATE_ADAGRAD:                                                               \
            EACH(real, h[i * hs] += g * g; w[i * ws] -= rate * (g / (root(h[i * hs]) + delta))); \
            break;                                                                               \
        case FERRY_UPDATE_RMSPROP:                                                               \
            EACH(real, h[i * hs] = decay * h[i * hs] + (1 - decay) * (g * g);                    \
                 w[i * ws] -= rate * (g / (root(h[i * hs]) + delta)));                           \
            break;                                                                               \
        case FERRY_UPDATE_ADADELTA:                                                              \
            EACH(real, h[i * hs] = m * h[i * hs] + (1 - m) * (g * g);                            \
                 real d = g * root((k[i * ks] + delta) / (h[i * hs] + delta));                   \
                 k[i * ks] = m * k[i * ks] + (1 - m) * (d * d); w[i * ws] -= rate * d);          \
            break;                                                                               \
        default: /* FERRY_UPDATE_ADAM */                                                         \
            EACH(real, h[i * hs] = m * h[i * hs] + (1 - m) * g;                                  \
                 k[i * ks] = decay * k[i * ks] + (1 - decay) * (g * g);                          \
                 w[i * ws] -= rate * (h[i * hs] / (root(k[i * ks]) + delta)));                   \
        }                                                                                        \
    }

#define EACH(real, statements)                                                   \
    for (int64_t i = 0; i < n; i++) {                                            \
        real x = w[i * ws];                                                      \
        real g = scale * grad[i * gs] + l2 * x + l1 * (real)((x > 0) - (x < 0)); \
                                                                                 \
        statements;                                                              \
    }

ROWS(update_f32, float, sqrtf)
ROWS(update_f64, double, sqrt)

static int update_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;

    if (!cpu_op_is_real(p) || p->op.params.update.solver > FERRY_UPDATE_ADAM)
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    walk_add(w, p->op.in[0].stride);
    for (uint32_t i = 1; i < p->op.n_out; i++)
        walk_add(w, p->op.out[i].stride);
    walk_end(w);
    return 0;
}

static void update_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.walk;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct update u = { .solver = p->op.params.update.solver,
                        .g = args->in[0],
                        .w = args->out[0],
                        .h = args->out[1],
                        .k = p->op.n_out > 2 ? args->out[2] : NULL,
                        .scalars = args->scalars };

    for (uint32_t i = 0; i < w->operands; i++)
        u.step[i] = walk_step(w, i);
    walk_all(w, d->workers, is_f32 ? 16 : 32, is_f32 ? update_f32 : update_f64, &u);
}

const struct cpu_op_kind cpu_op_update = {
    .kind = FERRY_OP_UPDATE,
    .plan = update_plan,
    .run = update_run,
};
