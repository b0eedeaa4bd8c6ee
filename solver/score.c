/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests, and Caffe's lines about the outputs of nets. */
#include "solver/state.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

/* The loss weight of an output: the weight in the last layer that writes the blob. */
static double weight_of(const ferry_net *net, const ferry_blob *output)
{
    int i, k;

    for (i = ferry_net_layer_count(net); i-- > 0;) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);

        for (k = 0; k < ferry_layer_top_count(layer); k++)
            if (ferry_layer_top_at(layer, k) == output)
                return ferry_layer_loss_weight(layer, k);
    }
    return 0;
}

static void log_value(const char *whose, int number, const char *name, double value, double weight)
{
    char loss[64] = "";

    if (weight != 0)
        snprintf(loss, sizeof loss, " (* %g = %g loss)", weight, weight * value);
    ferry_log_write(FERRY_LOG_INFO, "    %s net output #%d: %s = %g%s", whose, number, name, value,
                    loss);
}

int ferry__log_outputs(const ferry_net *net)
{
    int i, number = 0;
    int64_t k;

    for (i = 0; i < ferry_net_output_count(net); i++) {
        const ferry_blob *b = ferry_net_output_at(net, i);
        const float *values = ferry_blob_host_data(b);

        if (!values)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_element_count(b); k++)
            log_value("Train", number++, ferry_blob_name(b), (double)values[k], weight_of(net, b));
    }
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

int ferry__requests(ferry_solver *s, bool *out_stop)
{
    int err = 0;

    *out_stop = false;
    if (s->team.ranks > 1) /* rank 0 alone would make the other ranks wait */
        return 0;
    if (s->wants_snapshot) {
        s->wants_snapshot = 0;
        err = ferry_solver_snapshot(s);
    }
    if (s->wants_stop) {
        s->wants_stop = 0;
        s->stopped = true;
    }
    *out_stop = s->stopped;
    return err;
}

/* ---- one test net ---------------------------------------------------------------------------- */

/* Adds the values of the outputs to the sums. */
static int add_outputs(struct ferry__test *t)
{
    int i, at = 0;
    int64_t k;

    for (i = 0; i < ferry_net_output_count(t->net); i++) {
        const ferry_blob *b = ferry_net_output_at(t->net, i);
        const float *values = ferry_blob_host_data(b);

        if (!values)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_element_count(b) && at < t->n_sums; k++)
            t->sums[at++] += (double)values[k];
    }
    return 0;
}

static int add_score(ferry_solver *s, int net, const char *name, double value, double weight)
{
    if (s->score_count == s->room_scores) {
        int room = s->room_scores ? 2 * s->room_scores : 8;
        ferry_solver_score *grown = realloc(s->scores, (size_t)room * sizeof *grown);

        if (!grown)
            return ferry_error_set(FERRY_ENOMEM, "%s: no memory for scores", s->path);
        s->scores = grown;
        s->room_scores = room;
    }
    s->scores[s->score_count++] =
        (ferry_solver_score){ .net = net, .name = name, .value = value, .loss_weight = weight };
    return 0;
}

static int log_scores(ferry_solver *s, int index, double loss)
{
    const struct ferry__test *t = &s->tests[index];
    int i, at = 0, err = 0;
    int64_t k;

    if (s->settings.test_compute_loss)
        ferry_log_write(FERRY_LOG_INFO, "Test loss: %g", loss / t->iterations);
    for (i = 0; i < ferry_net_output_count(t->net); i++) {
        const ferry_blob *b = ferry_net_output_at(t->net, i);

        for (k = 0; !err && k < ferry_blob_element_count(b) && at < t->n_sums; k++, at++) {
            double mean = t->sums[at] / t->iterations, weight = weight_of(t->net, b);

            log_value("Test", at, ferry_blob_name(b), mean, weight);
            err = add_score(s, index, ferry_blob_name(b), mean, weight);
        }
    }
    return err;
}

static int test(ferry_solver *s, int index)
{
    struct ferry__test *t = &s->tests[index];
    double loss = 0;
    bool stop = false;
    int i, err;

    ferry_log_write(FERRY_LOG_INFO, "Iteration %d, Testing net (#%d)", s->iter, index);
    memset(t->sums, 0, (size_t)t->n_sums * sizeof *t->sums);
    err = ferry_net_share(t->net, s->net);
    for (i = 0; !err && i < t->iterations; i++) {
        double one = 0;

        err = ferry__requests(s, &stop);
        if (err || stop)
            break;
        err = ferry_net_forward(t->net, s->settings.test_compute_loss ? &one : NULL);
        if (!err)
            err = add_outputs(t);
        loss += one;
    }
    if (!err && stop)
        ferry_log_write(FERRY_LOG_INFO, "Test interrupted.");
    else if (!err)
        err = log_scores(s, index, loss);
    return err;
}

int ferry__test_all(ferry_solver *s)
{
    int i, err = 0;

    s->score_count = 0;
    for (i = 0; !err && !s->stopped && i < s->n_tests; i++)
        err = test(s, i);
    return err;
}
