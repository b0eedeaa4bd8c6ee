/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RNN (recurrent_param): h = tanh(W·x + b (+ W'·x_static) + U·(cont·h)), top = tanh(V·h + a), step
 * by step along axis 0. Parameters: W, b, W' with an x_static, U, V, a. h is the initial state of
 * the next forward pass, as in LSTM. (Caffe: RNNLayer.)
 */
#include "net/layers/recurrent.h"

#include <ferry/status.h>

#include <math.h>

static int setup(ferry_layer *layer)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);
    int err = ferry__recurrent_setup(layer, 1, 1);

    if (!err)
        err = ferry__recurrent_declare(layer, s->outputs);
    if (!err)
        err = ferry__recurrent_declare(layer, s->outputs);
    return err ? err : ferry__recurrent_declare(layer, 0);
}

/* Computes top = tanh(V·h + a) for one step. */
static void output_step(int64_t d, const float *v, const float *a, const float *h, float *top)
{
    int64_t i, k;

    for (i = 0; i < d; i++) {
        double sum = a[i];

        for (k = 0; k < d; k++)
            sum += (double)v[i * d + k] * h[k];
        top[i] = (float)tanh(sum);
    }
}

static int forward(ferry_layer *layer)
{
    int last = ferry_layer_param_count(layer) - 1;
    const float *v = ferry_blob_host_data(ferry_layer_param_at(layer, last - 1));
    const float *a = ferry_blob_host_data(ferry_layer_param_at(layer, last));
    struct ferry__recurrent_run run;
    int64_t t, n, k;
    int err;

    if (!v || !a)
        return ferry_last_error_code();
    err = ferry__recurrent_begin(layer, &run);
    if (err)
        return err;
    for (t = 0; t < run.s->steps; t++)
        for (n = 0; n < run.s->streams; n++) {
            int64_t d = run.s->outputs;
            float *h = &run.state[0][n * d];

            ferry__recurrent_sum(&run, t, n);
            for (k = 0; k < d; k++)
                h[k] = tanhf(run.sum[k]);
            output_step(d, v, a, h, &run.top[(t * run.s->streams + n) * d]);
            ferry__recurrent_keep(&run, t, n);
        }
    return ferry__recurrent_end(layer, &run);
}

/* V and a with their gradients, which are NULL if not needed, and a work array of D values. */
struct output_weights {
    const float *v, *a;
    float *dv, *da, *room;
};

/* Stores the gradient of V·h + a in the work array and adds its contribution to dh. */
static void output_step_back(const struct output_weights *e, int64_t d, const float *h,
                             const float *dtop, float *dh)
{
    int64_t i, k;

    output_step(d, e->v, e->a, h, e->room);
    for (i = 0; i < d; i++) {
        float dz = (float)(dtop[i] * (1 - (double)e->room[i] * e->room[i]));

        if (e->da)
            e->da[i] += dz;
        for (k = 0; k < d; k++) {
            if (e->dv)
                e->dv[i * d + k] += dz * h[k];
            dh[k] += e->v[i * d + k] * dz;
        }
    }
}

static int begin_output(ferry_layer *layer, struct output_weights *out)
{
    int last = ferry_layer_param_count(layer) - 1;
    ferry_blob *v = ferry_layer_param_at(layer, last - 1), *a = ferry_layer_param_at(layer, last);
    bool learns_v = ferry_layer_param_propagates(layer, last - 1);
    bool learns_a = ferry_layer_param_propagates(layer, last);

    out->v = ferry_blob_host_data(v);
    out->a = ferry_blob_host_data(a);
    out->dv = learns_v ? ferry_blob_mutable_host_diff(v) : NULL;
    out->da = learns_a ? ferry_blob_mutable_host_diff(a) : NULL;
    out->room =
        ferry_blob_overwrite_host_diff(ferry_layer_scratch_at(layer, FERRY__RECURRENT_HISTORY));
    return out->v && out->a && out->room && (out->dv || !learns_v) && (out->da || !learns_a)
               ? 0
               : ferry_last_error_code();
}

static int backward(ferry_layer *layer)
{
    struct ferry__recurrent_back back;
    struct output_weights weights;
    int64_t t, n, k;
    int err = ferry__recurrent_back_begin(layer, &back);

    if (!err)
        err = begin_output(layer, &weights);
    if (err)
        return err;
    for (t = back.s->steps; t-- > 0;)
        for (n = 0; n < back.s->streams; n++) {
            int64_t d = back.s->outputs, at = (t * back.s->streams + n) * d;
            const float *h = &back.history[0][at + back.s->streams * d];
            float *dh = &back.carry[0][n * d];

            output_step_back(&weights, d, h, &back.top[at], dh);
            for (k = 0; k < d; k++)
                back.gates[at + k] = (float)(dh[k] * (1 - (double)h[k] * h[k]));
            ferry__recurrent_back_step(&back, t, n);
        }
    return 0;
}

static const char *const messages[] = { "recurrent_param", NULL };

const ferry_layer_type ferry__rnn_layer = {
    .struct_size = sizeof ferry__rnn_layer,
    .name = "RNN",
    .state_size = sizeof(struct ferry__recurrent),
    .min_bottoms = 2,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 2,
    .messages = messages,
    .setup = setup,
    .reshape = ferry__recurrent_reshape,
    .forward = forward,
    .backward = backward,
    .refuses = ferry__recurrent_refuses,
};
