/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The estimate that divides a net: the time in which a processor moves the bytes of items, by the
 * caches that contain them. The time of arithmetic is the same with any division. Constants are
 * rounded measurements of processors with two and more cores
 * (doc/measurements/2026-11-30-parts.md); nothing is measured when a net is opened.
 */
#include "net/passes/divide.h"

#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>

/* ns for a byte: from the own cache, the shared one, memory, and as another processor wrote it. */
#define NS_OWN    0.01
#define NS_SHARED 0.018
#define NS_MEMORY 0.075
#define NS_OTHER  0.04
/* ns to start and end an undivided operation on all processors, and a division. */
#define NS_LOOP     5000.0
#define NS_DIVISION 20000.0
/* Above this size processors divide the weights of a product, below it the rows. */
#define SHARED_WEIGHTS (2 << 20)
/* The least work of a division: multiplications, with a byte counted as one. */
#define LEAST_WORK 4e6
/* The most that the slowest chain may have above the mean. */
#define MOST_UNEVEN 1.1
/* The most items of a division: the time to choose grows with it for each item of a net. */
#define MOST_ITEMS 512
/* The largest number of rounds that is tried one by one. */
#define ROUNDS_ALL 8

struct state {
    double best;
    int from;       /* the first item of the last division, if `rounds` is not 0 */
    int64_t rounds; /* 0: the last item is undivided */
};

/* The time for a byte if the processor uses `own` bytes in turn, and all of them `all`. */
static double ns_within(const ferry_op_chains *d, double own, double all)
{
    if (own <= 0.5 * (double)d->own_bytes)
        return NS_OWN;
    return all <= (double)d->shared_bytes ? NS_SHARED : NS_MEMORY;
}

/* The time for a byte of a value of the whole batch. */
static double ns_between(const ferry_op_chains *d, double bytes)
{
    return bytes <= (double)d->shared_bytes ? NS_OTHER : NS_MEMORY;
}

static double undivided(const ferry_op_chains *d, const struct ferry__divisible *item,
                        double images)
{
    double each = images / d->count, weights = item->weights;

    if (weights > SHARED_WEIGHTS)
        weights /= d->count;
    return NS_LOOP + each * item->in * ns_between(d, images * item->in) +
           each * item->out * ns_between(d, images * item->out) +
           weights * ns_within(d, weights, item->weights);
}

/* The time of an item in a division, with its input and its output from inside of it. */
static double divided(const ferry_op_chains *d, const struct ferry__divisible *item, double images,
                      double rounds)
{
    double each = images / d->count, values = item->in + item->out;
    double ns = ns_within(d, each / rounds * values, images / rounds * values);

    return each * values * ns + rounds * item->weights * ns_within(d, item->weights, item->weights);
}

/* The extra time of a value of `bytes` for each image outside of the division. */
static double border(const ferry_op_chains *d, double bytes, double images, double rounds)
{
    double within = ns_within(d, images / d->count / rounds * bytes, images / rounds * bytes);

    return images / d->count * bytes * (ns_between(d, images * bytes) - within);
}

static void improve(struct state *at, double ns, int from, int64_t rounds)
{
    if (ns < at->best)
        *at = (struct state){ .best = ns, .from = from, .rounds = rounds };
}

/* Tries all divisions that begin at item `from` and have that many rounds. */
static void try_from(const ferry_op_chains *d, const struct ferry__divisible *items, int n,
                     int64_t images, int from, int64_t rounds, struct state *states)
{
    double all = (double)images, r = (double)rounds, work = 0;
    double ns = states[from].best + NS_DIVISION + border(d, items[from].in, all, r);
    int i;

    for (i = from; i < n && i < from + MOST_ITEMS && items[i].least <= images / (d->count * rounds);
         i++) {
        ns += divided(d, &items[i], all, r);
        work += all * (items[i].products + items[i].in + items[i].out);
        if (work >= LEAST_WORK)
            improve(&states[i + 1], ns + border(d, items[i].out, all, r), from, rounds);
    }
}

static int collect(const struct state *states, int n, struct ferry__divided *out)
{
    int i, count = 0;

    for (i = n; i > 0; i = states[i].rounds ? states[i].from : i - 1)
        if (states[i].rounds)
            out[count++] = (struct ferry__divided){ states[i].from, i - 1, states[i].rounds };
    for (i = 0; i < count / 2; i++) {
        struct ferry__divided other = out[i];

        out[i] = out[count - 1 - i];
        out[count - 1 - i] = other;
    }
    return count;
}

int ferry__divide_choose(const ferry_op_chains *device, const struct ferry__divisible *items, int n,
                         int64_t images, struct ferry__divided *out)
{
    int64_t count = device->count, most = count ? (images + count - 1) / count : 0, rounds;
    struct state *states;
    int i;

    if (images < 2 || !count || images < count ||
        (double)(most * count) > MOST_UNEVEN * (double)images)
        return 0;
    states = malloc((size_t)(n + 1) * sizeof *states);
    if (!states)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
    states[0] = (struct state){ 0 };
    for (i = 0; i < n; i++)
        states[i + 1] = (struct state){ .best = HUGE_VAL };
    for (i = 0; i < n; i++) {
        improve(&states[i + 1], states[i].best + undivided(device, &items[i], (double)images), i,
                0);
        for (rounds = 1; rounds <= images / count; rounds += rounds < ROUNDS_ALL ? 1 : rounds)
            try_from(device, items, n, images, i, rounds, states);
    }
    n = collect(states, n, out);
    free(states);
    return n;
}
