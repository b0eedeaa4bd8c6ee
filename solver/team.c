/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Training with several ranks: sums of diffs during the backward pass, and decisions that are
 * common to all ranks.
 */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/status.h>

#include <string.h>

int ferry__team_take(ferry_solver *s, const ferry_comm *team)
{
    s->team = (ferry_comm){ .struct_size = sizeof s->team, .ranks = 1 };
    if (!team)
        return 0;
    if (team->struct_size < sizeof *team || team->ranks < 1 || team->rank < 0 ||
        team->rank >= team->ranks || !team->begin_sum || !team->finish || !team->broadcast)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_open: a communicator with missing "
                                             "members");
    s->team = *team;
    return 0;
}

static bool is_alone(const ferry_solver *s)
{
    return !s->team.begin_sum;
}

#define ALIKE 4

/*
 * Checks that all ranks train the same net for the same number of iterations; otherwise they would
 * add unrelated values, or wait for a rank that has finished. All ranks get the same result, so
 * that none continues alone.
 */
static int check_alike(ferry_solver *s)
{
    static const char *const what[ALIKE] = { "parameters", "elements of parameters",
                                             "iterations at most", "iterations done" };
    double mine[ALIKE] = { s->n_learned, 0, s->settings.max_iter, s->iter }, sums[ALIKE], odd = 0;
    int i, at = -1, err;

    for (i = 0; i < s->n_learned; i++)
        mine[1] += (double)ferry_blob_element_count(s->learned[i].blob);
    memcpy(sums, mine, sizeof sums);
    err = s->team.finish(s->team.arg, sums, ALIKE);
    for (i = ALIKE; !err && i-- > 0;)
        if (sums[i] != mine[i] * s->team.ranks)
            at = i;
    odd = at >= 0;
    if (!err)
        err = s->team.finish(s->team.arg, &odd, 1);
    if (err || odd == 0)
        return err;
    if (at < 0)
        return ferry_error_set(FERRY_EINVAL, "ranks train different nets, or for different numbers "
                                             "of iterations");
    return ferry_error_set(FERRY_EINVAL,
                           "ranks train different nets, or for different numbers of iterations: "
                           "%.0f %s on rank %d of %d, %.0f on all together",
                           mine[at], what[at], s->team.rank, s->team.ranks, sums[at]);
}

int ferry__team_join(ferry_solver *s)
{
    int i, err;

    if (is_alone(s) || s->joined)
        return 0;
    err = check_alike(s);
    for (i = 0; !err && i < s->n_learned; i++)
        err = s->team.broadcast(s->team.arg, s->learned[i].blob, FERRY_DATA);
    s->joined = !err;
    return err;
}

/*
 * Starts the sums of a layer's diffs. The owner of a shared parameter is the first layer that has
 * it: it is the last one in the backward pass that adds to the diff. Diffs that no layer adds to
 * are zeros on each rank and need no sum.
 */
static int sum_layer(void *arg, int layer)
{
    ferry_solver *s = arg;
    int i, err = 0;

    for (i = 0; !err && i < s->n_learned; i++)
        if (s->learned[i].number == layer && s->learned[i].has_diff &&
            ferry_blob_element_count(s->learned[i].blob) > 0)
            err = s->team.begin_sum(s->team.arg, s->learned[i].blob, FERRY_DIFF);
    return err;
}

int ferry__team_backward(ferry_solver *s, bool last)
{
    int err;

    if (last && !is_alone(s))
        ferry__training_on_layer(s->net, sum_layer, s);
    err = ferry_net_backward(s->net);
    ferry__training_on_layer(s->net, NULL, NULL);
    return err;
}

int ferry__team_finish(ferry_solver *s, double *loss)
{
    double values[] = { *loss, s->wants_snapshot, s->wants_stop };
    int err;

    s->agreed = 0;
    if (is_alone(s))
        return 0;
    err = s->team.finish(s->team.arg, values, 3);
    if (err)
        return err;
    *loss = values[0] / s->team.ranks;
    if (s->team.ranks == 1)
        return 0;
    if (values[1] > 0) {
        s->agreed |= FERRY_SOLVER_SNAPSHOT;
        s->wants_snapshot = 0;
    }
    if (values[2] > 0) {
        s->agreed |= FERRY_SOLVER_STOP;
        s->wants_stop = 0;
    }
    return 0;
}
