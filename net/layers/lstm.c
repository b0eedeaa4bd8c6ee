/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LSTM (recurrent_param): gates i, f, o, g of W·x + b (+ W'·x_static) + U·(cont·h); c = cont·σ(f)·c
 * + σ(i)·tanh g; h = σ(o)·tanh c, step by step along axis 0. Parameters: W, b, W' with an x_static,
 * U. h and c of the last step are the initial state of the next forward pass, where cont can reset
 * them; with expose_hidden they are tops and bottoms instead. (Caffe: LSTMLayer.)
 */
#include "net/layers/recurrent.h"

static int setup(ferry_layer *layer)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);
    int err = ferry__recurrent_setup(layer, 2, 4);

    return err ? err : ferry__recurrent_declare(layer, 4 * s->outputs);
}

static int forward(ferry_layer *layer)
{
    struct ferry__recurrent_run run;
    int err = ferry__recurrent_begin(layer, &run);
    int64_t t, n, k;

    if (err)
        return err;
    for (t = 0; t < run.s->steps; t++)
        for (n = 0; n < run.s->streams; n++) {
            int64_t d = run.s->outputs;
            float *h = &run.state[0][n * d], *c = &run.state[1][n * d];

            ferry__recurrent_sum(&run, t, n);
            ferry__lstm_step(d, run.cont[t * run.s->streams + n], run.sum, c, c, h);
            for (k = 0; k < d; k++)
                run.top[(t * run.s->streams + n) * d + k] = h[k];
            ferry__recurrent_keep(&run, t, n);
        }
    return ferry__recurrent_end(layer, &run);
}

/*
 * The gates' gradients at step t of stream n; updates the carried gradients of the previous h and
 * c.
 */
static void step_back(const struct ferry__recurrent_back *back, int64_t t, int64_t n)
{
    int64_t d = back->s->outputs, before = (t * back->s->streams + n) * d, k;
    float *dh = &back->carry[0][n * d], *dc = &back->carry[1][n * d];

    for (k = 0; k < d; k++)
        dh[k] += back->top[before + k];
    ferry__lstm_step_back(d, back->cont[t * back->s->streams + n], &back->sums[4 * before],
                          &back->history[1][before], dc, dh, &back->gates[4 * before], dc);
    ferry__recurrent_back_step(back, t, n);
}

static int backward(ferry_layer *layer)
{
    struct ferry__recurrent_back back;
    int err = ferry__recurrent_back_begin(layer, &back);
    int64_t t, n;

    if (err)
        return err;
    for (t = back.s->steps; t-- > 0;)
        for (n = 0; n < back.s->streams; n++)
            step_back(&back, t, n);
    return 0;
}

static const char *const messages[] = { "recurrent_param", NULL };

const ferry_layer_type ferry__lstm_layer = {
    .struct_size = sizeof ferry__lstm_layer,
    .name = "LSTM",
    .state_size = sizeof(struct ferry__recurrent),
    .min_bottoms = 2,
    .max_bottoms = 5,
    .min_tops = 1,
    .max_tops = 3,
    .messages = messages,
    .setup = setup,
    .reshape = ferry__recurrent_reshape,
    .forward = forward,
    .backward = backward,
    .refuses = ferry__recurrent_refuses,
};
