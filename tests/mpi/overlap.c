/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * The share of communication that overlaps the backward pass: ranks train over a simulated wire on
 * which a sum takes DELAY microseconds and its bytes divided by GBYTE/S (interpose.c); the share is
 * relative to the most that a wire could hide that idles only when no sum is waiting. Rank 0 prints
 * a line for each iteration, and the largest share.
 *
 *     overlap [SOLVER DELAY GBYTE/S]
 *
 * Without arguments the layers sleep 20 ms each, forward and backward, and a sum takes 15 ms, so
 * that no processor is needed.
 */
#include "ranks.h"

#include <ferry/solver.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP        20 /* ms */
#define ITERATIONS 6
#define MOST       512 /* sums per iteration */

int rank; /* like ranks.h */

/* ---- layers that sleep ----------------------------------------------------------------------- */

static int setup(ferry_layer *layer)
{
    const int64_t n = 1000;
    const ferry_layer_param p = {
        .struct_size = sizeof p, .rank = 1, .shape = &n, .value = 1, .lr_mult = 1, .decay_mult = 1
    };

    return ferry_layer_declare_param(layer, &p);
}

static int reshape(ferry_layer *layer)
{
    return ferry_blob_reshape_like(ferry_layer_top_at(layer, 0), ferry_layer_bottom_at(layer, 0));
}

static int forward(ferry_layer *layer)
{
    return ferry_blob_copy_from(ferry_layer_top_at(layer, 0), ferry_layer_bottom_at(layer, 0), 0);
}

static int backward(ferry_layer *layer)
{
    const struct timespec t = { 0, NAP * 1000000 };
    float *diff = ferry_blob_mutable_host_diff(ferry_layer_param_at(layer, 0));

    nanosleep(&t, NULL);
    if (!diff)
        return ferry_last_error_code();
    diff[0] += 1;
    if (!ferry_layer_propagates(layer, 0))
        return 0;
    return ferry_blob_copy_from(ferry_layer_bottom_at(layer, 0), ferry_layer_top_at(layer, 0),
                                FERRY_COPY_DIFF);
}

static const ferry_layer_type nap = {
    .struct_size = sizeof nap,
    .name = "Nap",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};

static const char sleeping[] =
    "net_param { name: 'sleeping'\n"
    "layer { name: 'd' type: 'DummyData' top: 'a' top: 't' dummy_data_param {\n"
    "  shape { dim: 1 dim: 8 } shape { dim: 1 dim: 8 } } }\n"
    "layer { name: 'n1' type: 'Nap' bottom: 'a' top: 'b' }\n"
    "layer { name: 'n2' type: 'Nap' bottom: 'b' top: 'c' }\n"
    "layer { name: 'n3' type: 'Nap' bottom: 'c' top: 'd' }\n"
    "layer { name: 'n4' type: 'Nap' bottom: 'd' top: 'e' }\n"
    "layer { name: 'n5' type: 'Nap' bottom: 'e' top: 'f' }\n"
    "layer { name: 'n6' type: 'Nap' bottom: 'f' top: 'g' }\n"
    "layer { name: 'l' type: 'EuclideanLoss' bottom: 'g' bottom: 't' top: 'l' } }\n"
    "base_lr: 0 lr_policy: 'fixed' snapshot_after_train: false\n";

/* ---- a communicator that measures ------------------------------------------------------------ */

static ferry_comm inner;
static double begun[MOST], cost[MOST]; /* of the current iteration */
static int n_begun;
static bool sleeps; /* with sleeping layers the time at which each is done is known, whenever its
                     * sum was begun */
static double best;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int begin_sum(void *arg, ferry_blob *b, unsigned which)
{
    if (n_begun < MOST && ferry_blob_element_count(b) > 3) {
        begun[n_begun] = seconds();
        cost[n_begun++] =
            interposed.delay + interposed.per_byte * 4 * (double)ferry_blob_element_count(b);
    }
    return inner.begin_sum(arg, b, which);
}

/*
 * The earliest time at which the sums could end, on a wire that idles only while no sum has begun.
 */
static double least_end(double all_begun)
{
    double at = 0;
    int i;

    for (i = 0; i < n_begun; i++)
        at = (at > begun[i] ? at : begun[i]) + cost[i];
    return at > all_begun ? at : all_begun;
}

static int finish(void *arg, double *values, int n)
{
    double back = seconds(), all = 0, over, least, share;
    int i, err = inner.finish(arg, NULL, 0);

    over = seconds() - back;
    for (i = 0; sleeps && i < n_begun; i++)
        begun[i] = back - (n_begun - 1 - i) * NAP * 1e-3;
    least = least_end(back) - back;
    for (i = 0; i < n_begun; i++)
        all += cost[i];
    share = all - least > 0 ? (all - over) / (all - least) : 0;
    best = share > best ? share : best;
    if (!rank)
        printf("%d sums, %.1f ms on the wire: %.1f ms after the backward pass, minimum %.1f: "
               "hidden %.3f\n",
               n_begun, all * 1e3, over * 1e3, least * 1e3, share);
    n_begun = 0;
    return err ? err : inner.finish(arg, values, n);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int fail(void)
{
    fprintf(stderr, "overlap: %s\n", ferry_last_error());
    return 1;
}

static int train(ferry_device *on, ferry_mpi *m, const char *path)
{
    ferry_comm team;
    ferry_solver_options o = { .struct_size = sizeof o, .team = &team };
    ferry_solver *s = NULL;

    inner.struct_size = sizeof inner;
    if (ferry_mpi_get_comm(m, &inner))
        return fail();
    sleeps = !path;
    team = inner;
    team.begin_sum = begin_sum;
    team.finish = finish;
    o.text = path ? NULL : sleeping;
    o.text_size = path ? 0 : strlen(sleeping);
    if (ferry_solver_open(on, path ? path : "sleeping", &o, &s) || ferry_solver_step(s, ITERATIONS))
        return fail();
    ferry_solver_close(s);
    if (!rank)
        printf("hidden: %.3f\n", best);
    return 0;
}

int main(int argc, char **argv)
{
    ferry_runtime *rt;
    ferry_device *on;
    ferry_mpi *m;
    int status;

    interposed.delay = argc > 2 ? atof(argv[2]) * 1e-6 : 0.015;
    interposed.per_byte = argc > 3 ? 1e-9 / atof(argv[3]) : 0;
    if (ferry_mpi_open(NULL, &m) || ferry_runtime_open(NULL, &rt) ||
        ferry_runtime_get_device(rt, NULL, &on) || ferry_layer_register(&nap))
        return fail();
    rank = ferry_mpi_rank(m);
    status = train(on, m, argc > 1 ? argv[1] : NULL);
    if (status)
        ferry_mpi_abort(m, status);
    ferry_mpi_close(m);
    ferry_runtime_close(rt);
    return status;
}
