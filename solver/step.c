/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* An iteration, in Caffe's order. */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void begin_losses(ferry_solver *s)
{
    if (!s->goes_on) {
        s->first = s->iter;
        s->n_losses = 0;
        s->smoothed = 0;
    }
    s->goes_on = false;
}

/* The mean of the latest average_loss losses. */
static void smooth(ferry_solver *s, double loss)
{
    int most = s->settings.average_loss, at;

    if (s->n_losses < most) {
        s->losses[s->n_losses++] = loss;
        s->smoothed = (s->smoothed * (s->n_losses - 1) + loss) / s->n_losses;
        return;
    }
    at = (s->iter - s->first) % most;
    s->smoothed += (loss - s->losses[at]) / most;
    s->losses[at] = loss;
}

/* ---- an iteration ---------------------------------------------------------------------------- */

static bool displays(const ferry_solver *s)
{
    return s->settings.display && s->iter % s->settings.display == 0;
}

static int call_gradients(ferry_solver *s, bool ready)
{
    return s->on_gradients ? s->on_gradients(s->gradients_arg, s, ready) : 0;
}

static bool rounds_layer(const ferry_net *net, int layer)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    return !ferry_net_get_layer_info(net, layer, &info) &&
           (!strcmp(info.precision, "bf16") || !strcmp(info.backward_precision, "bf16"));
}

/* Logs once how many layers round to BF16, which the plugin has decided by the first pass. */
static void log_precision(ferry_solver *s)
{
    int i, n = 0;

    if (s->settings.precision != FERRY_PRECISION_BF16 || s->has_logged_precision)
        return;
    s->has_logged_precision = true;
    for (i = 0; i < ferry_net_layer_count(s->net); i++)
        n += rounds_layer(s->net, i);
    if (n)
        ferry_log_write(FERRY_LOG_INFO,
                        "ferry: %d convolutions and inner products of the training net round "
                        "their factors to BF16; weights and updates are F32",
                        n);
}

static int forward_backward(ferry_solver *s)
{
    double sum = 0, one;
    int i, err = ferry__team_join(s);

    if (!err)
        err = call_gradients(s, false);

    if (!err)
        err = ferry_net_clear_param_diffs(s->net);

    if (!err)
        err = ferry_net_set_debug(s->net, s->settings.debug && displays(s));
    for (i = 0; !err && i < s->settings.iter_size; i++) {
        err = ferry_net_forward(s->net, &one);
        if (!err)
            err = ferry__team_backward(s, i + 1 == s->settings.iter_size);
        sum += err ? 0 : one;
    }
    sum /= s->settings.iter_size;
    if (!err)
        err = ferry__team_finish(s, &sum);
    if (err)
        return err;
    s->loss = sum;
    log_precision(s);
    return call_gradients(s, true);
}

static int log_iteration(ferry_solver *s)
{
    double seconds = now() - s->began;

    ferry_log_write(FERRY_LOG_INFO, "Iteration %d (%g iter/s, %gs/%d iters), loss = %g", s->iter,
                    (s->iter - s->logged_at) / (seconds > 0 ? seconds : 1), seconds,
                    s->settings.display, s->smoothed);
    s->began = now();
    s->logged_at = s->iter;
    return ferry__log_outputs(s->net);
}

static void watch(ferry_solver *s)
{
    if (s->not_a_number || isfinite(s->loss))
        return;
    s->not_a_number = true;
    ferry_log_write(FERRY_LOG_WARN,
                    "ferry: iteration %d: the loss is %g; training continues, and this is logged "
                    "once",
                    s->iter, s->loss);
}

/* Calls the program's function for each iteration; `last`: after the last iteration. */
static int call(ferry_solver *s, bool last)
{
    ferry_solver_iteration e = { .struct_size = sizeof e,
                                 .iter = s->iter - !last,
                                 .is_last = last };

    if (!s->fn)
        return 0;
    if (!last) {
        e.lr = s->rate;
        e.loss = s->loss;
        e.smoothed_loss = s->smoothed;
    }
    e.score_count = (size_t)s->score_count;
    e.scores = s->scores;
    return s->fn(s->arg, s, &e);
}

static bool tests_now(const ferry_solver *s)
{
    return s->settings.test_interval && s->iter % s->settings.test_interval == 0;
}

/* Makes the update of the current iteration: the program's, or ferry's own. */
static int update(ferry_solver *s)
{
    int err;

    if (!s->on_update)
        return ferry__update(s, s->team.ranks);
    s->updating = true;
    err = s->on_update(s->update_arg, s);
    s->updating = false;
    return err;
}

static int iterate(ferry_solver *s)
{
    int err = 0;

    s->score_count = 0;
    if (tests_now(s) && (s->iter > 0 || s->settings.test_initialization))
        err = ferry__test_all(s);
    if (err || s->stopped)
        return err;
    err = forward_backward(s);
    if (err)
        return err;
    smooth(s, s->loss);
    watch(s);
    if (displays(s))
        err = log_iteration(s);
    if (!err)
        err = update(s);
    if (err)
        return err;
    s->iter++;
    return call(s, false);
}

static int snapshot_if_due(ferry_solver *s)
{
    bool stop;

    if (s->settings.snapshot && s->iter % s->settings.snapshot == 0) {
        s->wants_snapshot = 0;
        return ferry_solver_snapshot(s);
    }
    if (s->team.ranks > 1)
        return s->agreed & FERRY_SOLVER_SNAPSHOT && !s->team.rank ? ferry_solver_snapshot(s) : 0;
    return s->wants_snapshot ? ferry__requests(s, &stop) : 0;
}

/* Requires ranges for fake quantisation; a test net gets them with the parameters. */
static int check_ranges(ferry_solver *s)
{
    if (!s->is_fake || s->has_ranges)
        return 0;
    if (!ferry__training_is_rounded(s->net))
        return ferry_error_set(FERRY_EINVAL,
                               "%s: fake_quantize: neither the weights nor a snapshot has ranges "
                               "of the net's blobs; ferry quantize adds them to weights",
                               s->path);
    s->has_ranges = true;
    return 0;
}

static int step(ferry_solver *s, int n)
{
    int end = s->iter + n, err = check_ranges(s);

    begin_losses(s);
    s->began = now();
    while (!err && !s->stopped && s->iter < end) {
        err = iterate(s);
        if (!err && !s->stopped)
            err = snapshot_if_due(s);
        if (s->team.ranks > 1) {
            s->stopped = s->agreed & FERRY_SOLVER_STOP;
        } else if (s->wants_stop) {
            s->wants_stop = 0;
            s->stopped = true;
        }
    }
    return err;
}

int ferry_solver_step(ferry_solver *s, int n)
{
    if (!s || n < 0)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_step: %s",
                               s ? "a negative number" : "NULL solver");
    s->stopped = false;
    return step(s, n);
}

int ferry_solver_apply_update(ferry_solver *s)
{
    int err;

    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_apply_update: NULL solver");
    if (s->updating)
        return ferry__update(s, s->team.ranks);
    err = ferry__update(s, 1);
    if (!err)
        s->iter++;
    return err;
}

/*
 * ---- solving
 * -------------------------------------------------------------------------------------
 */

/* Runs the final forward pass and test if they are due. */
static int finish(ferry_solver *s)
{
    double loss;
    int err = 0;

    s->score_count = 0;
    if (displays(s)) {
        err = ferry_net_forward(s->net, &loss);
        if (err)
            return err;
        smooth(s, loss);
        ferry_log_write(FERRY_LOG_INFO, "Iteration %d, loss = %g", s->iter, s->smoothed);
    }
    if (tests_now(s))
        err = ferry__test_all(s);
    if (!err && s->score_count)
        err = call(s, true);
    if (!err)
        ferry_log_write(FERRY_LOG_INFO, "Optimization Done.");
    return err;
}

int ferry_solver_solve(ferry_solver *s)
{
    static const char *const policies[] = { "fixed",     "step", "exp",    "inv",
                                            "multistep", "poly", "sigmoid" };
    int err;

    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_solve: NULL solver");
    ferry_log_write(FERRY_LOG_INFO, "Solving %s", ferry_net_name(s->net));
    ferry_log_write(FERRY_LOG_INFO, "Learning Rate Policy: %s", policies[s->settings.policy]);
    s->stopped = false;
    err = step(s, s->settings.max_iter > s->iter ? s->settings.max_iter - s->iter : 0);
    if (!err && s->settings.snapshot_after_train && s->saved != s->iter &&
        (!s->settings.snapshot || s->iter % s->settings.snapshot != 0))
        err = ferry_solver_snapshot(s);
    if (err)
        return err;
    if (!s->stopped)
        return finish(s);
    ferry_log_write(FERRY_LOG_INFO, "Optimization stopped early.");
    return 0;
}

/*
 * ---- queries and requests
 * ------------------------------------------------------------------------
 */

void ferry_solver_request(ferry_solver *s, unsigned what)
{
    if (!s)
        return;
    if (what & FERRY_SOLVER_SNAPSHOT)
        s->wants_snapshot = 1;
    if (what & FERRY_SOLVER_STOP)
        s->wants_stop = 1;
}

bool ferry_solver_is_stopped(const ferry_solver *s)
{
    return s && s->stopped;
}

int ferry_solver_on_iteration(ferry_solver *s,
                              int (*fn)(void *arg, ferry_solver *s,
                                        const ferry_solver_iteration *event),
                              void *arg)
{
    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_on_iteration: NULL solver");
    s->fn = fn;
    s->arg = arg;
    return 0;
}

int ferry_solver_on_gradients(ferry_solver *s, int (*fn)(void *arg, ferry_solver *s, bool ready),
                              void *arg)
{
    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_on_gradients: NULL solver");
    s->on_gradients = fn;
    s->gradients_arg = arg;
    return 0;
}

int ferry_solver_on_update(ferry_solver *s, int (*fn)(void *arg, ferry_solver *s), void *arg)
{
    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_on_update: NULL solver");
    s->on_update = fn;
    s->update_arg = arg;
    return 0;
}
