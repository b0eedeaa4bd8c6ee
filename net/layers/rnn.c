/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RNN (recurrent_param): h = tanh(W·x + b (+ W'·x_static) + U·(cont·h)), top = tanh(V·h + a), step by
 * step over axis 0. Parameters: W, b, W' where there is an x_static, U, V, a. h lives on as LSTM's.
 * (Caffe: RNNLayer.)
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

/* top = tanh(V·h + a) */
static void emerge(int64_t d, const float *v, const float *a, const float *h, float *top)
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
    int last = ferry_layer_n_params(layer) - 1;
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
            emerge(d, v, a, h, &run.top[(t * run.s->streams + n) * d]);
        }
    return ferry__recurrent_end(layer, &run);
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
};
