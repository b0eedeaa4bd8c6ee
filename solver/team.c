/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Training with several ranks: sums of diffs during the backward pass, and decisions that are
 * common to all ranks.
 */
#include "solver/state.h"

#include "common/former.h"
#include "common/status.h"
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

/* ---- the communicator's functions, whose results are checked --------------------------------- */

static int failed(const char *function, int result)
{
    bool has_line = ferry_last_error_code() != FERRY_OK;

    if (!ferry__is_failure_code(result))
        return ferry_error_set(FERRY_EPLUGIN,
                               "%s of the communicator returned %d, which is not a code", function,
                               result);
    if (!has_line)
        return ferry_error_set(result, "%s of the communicator failed without a message: %s",
                               function, ferry_strerror(result));
    return result;
}

static int end(const char *function, const struct ferry__former *f, int result)
{
    if (result)
        return failed(function, result);
    ferry__former_restore(f);
    return 0;
}

static int begin_sum(const ferry_solver *s, ferry_blob *b)
{
    struct ferry__former f;

    ferry__former_set_aside(&f);
    return end("begin_sum", &f, s->team.begin_sum(s->team.arg, b, FERRY_DIFF));
}

static int finish(const ferry_solver *s, double *values, int n)
{
    struct ferry__former f;

    ferry__former_set_aside(&f);
    return end("finish", &f, s->team.finish(s->team.arg, values, n));
}

static int broadcast(const ferry_solver *s, ferry_blob *b)
{
    struct ferry__former f;

    ferry__former_set_aside(&f);
    return end("broadcast", &f, s->team.broadcast(s->team.arg, b, FERRY_DATA));
}

/* ---- training together ----------------------------------------------------------------------- */

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
    err = finish(s, sums, ALIKE);
    for (i = ALIKE; !err && i-- > 0;)
        if (sums[i] != mine[i] * s->team.ranks)
            at = i;
    odd = at >= 0;
    if (!err)
        err = finish(s, &odd, 1);
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
        err = broadcast(s, s->learned[i].blob);
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
            err = begin_sum(s, s->learned[i].blob);
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
    err = finish(s, values, 3);
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
