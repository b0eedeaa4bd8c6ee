/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LSTM and RNN: the products with the input of all steps are one Gemm, and the steps are a Scan.
 * The initial states are zeros or, with expose_hidden, inputs.
 */
#include "net/layers/recurrent.h"
#include "net/onnx/layers.h"

/* ---- one step ------------------------------------------------------------------------------- */

/* The gates i, f, o, g, of n values each along an axis; o is 3. */
static void split_gates(struct ferry__onnx *o, int gates, int axis, int64_t n, int out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = ferry__onnx_slice_of(o, gates, axis, i * n, (i + 1) * n);
}

/*
 * Computes c and h of an LSTM's step from the gates' sums, the previous c, and cont, which is
 * broadcast.
 */
static int lstm_step(struct ferry__onnx *o, int gates, int axis, int64_t n, int c, int cont,
                     int *out_h)
{
    int gate[4], kept, added;

    split_gates(o, gates, axis, n, gate);
    kept = ONNX_OP(o, "Mul", ONNX_OP(o, "Mul", cont, ONNX_OP(o, "Sigmoid", gate[1])), c);
    added = ONNX_OP(o, "Mul", ONNX_OP(o, "Sigmoid", gate[0]), ONNX_OP(o, "Tanh", gate[3]));
    c = ONNX_OP(o, "Add", kept, added);
    *out_h = ONNX_OP(o, "Mul", ONNX_OP(o, "Sigmoid", gate[2]), ONNX_OP(o, "Tanh", c));
    return c;
}

void ferry__onnx_lstm_unit(struct ferry__onnx *o)
{
    const ferry_blob *c = ferry__onnx_bottom_blob(o, 0);
    int64_t streams[3] = { 1, ferry_blob_dim(c, 1), 1 };
    int cont = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 2), 3, streams), h = 0;

    ferry__onnx_top(o, 0,
                    lstm_step(o, ferry__onnx_bottom(o, 1), 2, ferry_blob_dim(c, 2),
                              ferry__onnx_bottom(o, 0), cont, &h));
    ferry__onnx_top(o, 1, h);
}

/* ---- all steps ------------------------------------------------------------------------------ */

/* Parameter `index` times x, both with that many columns, plus parameter `bias` unless it is 0. */
static int product(struct ferry__onnx *o, int x, int index, int bias)
{
    const ferry_blob *w = ferry_layer_param_at(o->layer, index);
    int64_t rows = ferry_blob_dim(w, 0);
    int in[3] = { x }, y;

    in[1] = ferry__onnx_param(o, index, 2, ferry_blob_shape(w));
    in[2] = bias ? ferry__onnx_param(o, bias, 1, &rows) : 0;
    y = ferry__onnx_op(o, "Gemm", bias ? 3 : 2, in);
    ferry__onnx_set_int(o, "transB", 1);
    return y;
}

/* The terms of all gates at all steps that do not depend on h: steps × streams × gates. */
static int inputs(struct ferry__onnx *o, const struct ferry__recurrent *s)
{
    int64_t flat[2] = { s->steps * s->streams, s->inputs };
    int64_t dims[3] = { s->steps, s->streams, s->gates * s->outputs };
    int y = product(o, ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 2, flat), 0, 1), still;

    y = ferry__onnx_reshape_to(o, y, 3, dims);
    if (!s->has_static)
        return y;
    still = product(o, ONNX_OP(o, "Flatten", ferry__onnx_bottom(o, 2)), 2, 0);
    return ONNX_OP(o, "Add", y, still);
}

/* The initial state `index`: streams × outputs. */
static int first_state(struct ferry__onnx *o, const struct ferry__recurrent *s, int index)
{
    int64_t dims[2] = { s->streams, s->outputs };

    if (s->exposed)
        return ferry__onnx_squeeze(o, ferry__onnx_bottom(o, (s->has_static ? 3 : 2) + index), 0);
    return ferry__onnx_filled(o, 0, 2, dims);
}

/* Builds the body for one step: from states, sums and cont to states and the top's values. */
static struct ferry__onnx_graph *step(struct ferry__onnx *o, const struct ferry__recurrent *s)
{
    struct ferry__onnx_graph *body = ferry__onnx_body_begin(o);
    int weights = s->has_static ? 3 : 2, h, c = 0, sums, cont, top;

    if (!body)
        return NULL;
    h = ferry__onnx_body_in(o, 2);
    if (s->states > 1)
        c = ferry__onnx_body_in(o, 2);
    sums = ferry__onnx_body_in(o, 2);
    cont = ferry__onnx_body_in(o, 2);
    sums = ONNX_OP(o, "Add", sums, product(o, ONNX_OP(o, "Mul", cont, h), weights, 0));
    if (s->states > 1) {
        c = lstm_step(o, sums, 1, s->outputs, c, cont, &h);
        top = ONNX_OP(o, "Identity", h);
    } else {
        h = ONNX_OP(o, "Tanh", sums);
        top = ONNX_OP(o, "Tanh", product(o, h, weights + 1, weights + 2));
        /*
         * no effect on the values, since tanh is within the bounds: OpenVINO 2026.4 overwrites a
         * state that another node reads
         */
        h = ferry__onnx_clip_to(o, h, -1, 1);
    }
    ferry__onnx_body_out(o, h, 2);
    if (s->states > 1)
        ferry__onnx_body_out(o, c, 2);
    ferry__onnx_body_out(o, top, 2);
    ferry__onnx_body_end(o);
    return body;
}

static void recurrent(struct ferry__onnx *o)
{
    const struct ferry__recurrent *s = ferry_layer_state(o->layer);
    int64_t dims[3] = { s->steps, s->streams, 1 };
    struct ferry__onnx_graph *body;
    int in[4], out[3], n = 0, i, first;

    for (n = 0; n < s->states; n++)
        in[n] = first_state(o, s, n);
    in[n++] = inputs(o, s);
    in[n++] = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 3, dims);
    body = step(o, s);
    out[0] = ferry__onnx_op(o, "Scan", n, in);
    if (!body)
        return;
    ferry__onnx_set_body(o, body);
    ferry__onnx_set_int(o, "num_scan_inputs", 2);
    for (i = 1; i <= s->states; i++)
        out[i] = ferry__onnx_more(o);
    ferry__onnx_top(o, 0, out[s->states]);
    first = 1;
    for (i = 0; s->exposed && i < s->states; i++)
        ferry__onnx_top(o, first + i, ferry__onnx_unsqueeze(o, out[i], 1, &(int64_t){ 0 }));
}

void ferry__onnx_lstm(struct ferry__onnx *o)
{
    recurrent(o);
}

void ferry__onnx_rnn(struct ferry__onnx *o)
{
    recurrent(o);
}
