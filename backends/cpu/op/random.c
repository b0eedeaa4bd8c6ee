/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>

/*
 * RANDOM, by Philox 4×32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", 2011): block b of four words is a function of the seed and of b. Element i of a run comes
 * from word i mod 4 of block offset + i / 4; a pair of Gaussians comes from words 2j and 2j + 1.
 */

struct random {
    const struct cpu_op *op;
    uint64_t seed, offset;
    void *y;
    bool is_f32;
};

static void philox(uint64_t seed, uint64_t block, uint32_t *out)
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 };

    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                             (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a };

        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

/* A number in [0, 1) with 24 bits, which a float represents exactly. */
static double uniform(uint32_t word)
{
    return (double)(word >> 8) * 0x1p-24;
}

/* One Gaussian of a pair, by Box and Muller; u1 in (0, 1]. */
static double gaussian(const uint32_t *words, int64_t i)
{
    const double turn = 6.283185307179586;
    double u1 = (double)((words[i & ~1] >> 8) + 1) * 0x1p-24, u2 = uniform(words[i | 1]);
    double radius = sqrt(-2 * log(u1));

    return i & 1 ? radius * sin(turn * u2) : radius * cos(turn * u2);
}

static double draw(const struct random *r, const uint32_t *words, int64_t i)
{
    double a = r->op->op.params.random.a, b = r->op->op.params.random.b;

    switch (r->op->op.params.random.distribution) {
    case FERRY_RANDOM_UNIFORM:
        return a + (b - a) * uniform(words[i]);
    case FERRY_RANDOM_GAUSSIAN:
        return a + b * gaussian(words, i);
    default: /* FERRY_RANDOM_BERNOULLI */
        return uniform(words[i]) < a ? b : 0;
    }
}

/* Rounds a number without reaching the end of an interval that excludes this end. */
static float below(const struct random *r, double value)
{
    const ferry_op_desc *op = &r->op->op;
    float near = (float)value, end = (float)op->params.random.b;

    if (op->params.random.distribution == FERRY_RANDOM_UNIFORM && near >= end && value < end)
        return nextafterf(end, -INFINITY);
    return near;
}

/* Computes blocks of four elements, counted in y's logical order. */
static void random_blocks(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct random *r = arg;
    const struct cpu_walk *w = &r->op->plan.walk;

    (void)piece;
    for (int64_t b = first; b < first + count; b++) {
        uint32_t words[4];

        philox(r->seed, r->offset + (uint64_t)b, words);
        for (int64_t i = 0; i < 4 && 4 * b + i < w->count; i++) {
            double value = draw(r, words, i);
            int64_t at = walk_at(w, 0, 4 * b + i);

            if (r->is_f32)
                ((float *)r->y)[at] = below(r, value);
            else
                ((double *)r->y)[at] = value;
        }
    }
}

static int random_plan(struct cpu_op *p)
{
    if (!cpu_op_is_real(p) || p->op.params.random.distribution > FERRY_RANDOM_BERNOULLI)
        return FERRY_EUNSUPPORTED;
    walk_begin(&p->plan.walk, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(&p->plan.walk, p->op.out[0].stride);
    walk_end_as_given(&p->plan.walk);
    return 0;
}

static void random_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    struct random r = { .op = p,
                        .seed = args->seed,
                        .offset = args->offset,
                        .y = args->out[0],
                        .is_f32 = p->op.out[0].dtype == FERRY_F32 };
    int64_t blocks = (p->plan.walk.count + 3) / 4;

    workers_run(d->workers, blocks, walk_piece_of(blocks, 64), random_blocks, &r);
}

const struct cpu_op_kind cpu_op_random = {
    .kind = FERRY_OP_RANDOM,
    .plan = random_plan,
    .run = random_run,
};
