/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backward of LSTM and RNN through time: the host runs the steps and writes the gradients of all
 * gates, from which operations compute those of the inputs and their weights.
 */
#include "net/layers/recurrent.h"

#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

enum { PRODUCTS = FERRY__RECURRENT_PRODUCTS, STATICS = FERRY__RECURRENT_STATICS };

/*
 * Emits the gradients of a product whose result is in a scratch blob, for rows of `columns` values
 * of a bottom.
 */
static int emit_product(ferry_layer *layer, int bottom, int64_t rows, int64_t columns, int weights,
                        int bias, int scratch)
{
    struct ferry__term dy = ferry__term(layer, ferry__diff(ferry__of_scratch(scratch)));
    struct ferry__term w = ferry__term(layer, ferry__of_param(weights)), dw = w, x, dx;
    ferry_op_desc op;
    int err = 0;

    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    x.o = ferry_operand_make(FERRY_F32, (int64_t[]){ rows, columns }, 2, NULL);
    x.at = ferry__of_bottom(bottom);
    dx = x;
    dx.at.diff = dw.at.diff = 1;
    if (bias >= 0 && ferry_layer_param_propagates(layer, bias))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               ferry__term(layer, ferry__diff(ferry__of_param(bias))));
    if (!err && ferry_layer_param_propagates(layer, weights))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ dy, x }, dw);
    if (!err && ferry_layer_propagates(layer, bottom))
        err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 2,
                               (struct ferry__term[]){ dy, w }, dx);
    return err;
}

int ferry__recurrent_emit_backward(ferry_layer *layer)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);
    int64_t row = s->streams * s->gates * s->outputs;
    struct ferry__term gates = { ferry_operand_make(FERRY_F32, (int64_t[]){ s->steps, row }, 2,
                                                    NULL),
                                 ferry__diff(ferry__of_scratch(PRODUCTS)) };
    struct ferry__term sum = { ferry_operand_make(FERRY_F32, (int64_t[]){ 1, row }, 2, NULL),
                               ferry__diff(ferry__of_scratch(STATICS)) };
    int err;

    if (!ferry_layer_needs_backward(layer))
        return 0;
    err = emit_product(layer, 0, s->steps * s->streams, s->inputs, 0, 1, PRODUCTS);
    if (err || !s->has_static)
        return err;
    err = ferry__emit_sum(layer, 1, gates, sum);
    return err ? err : emit_product(layer, 2, s->streams, s->statics, 2, -1, STATICS);
}

const char *ferry__recurrent_refuses(const ferry_layer *layer, int index)
{
    (void)layer;
    return index == 1 ? "Layer: Cannot backpropagate to sequence indicators." : NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

/*
 * Initializes the gradients that the last step gets from its successor: they are zeros, since Caffe
 * ignores the diff of an exposed state.
 */
static int begin_carry(ferry_layer *layer, struct ferry__recurrent_back *back)
{
    size_t bytes = (size_t)(back->s->streams * back->s->outputs) * sizeof(float);
    int i;

    for (i = 0; i < back->s->states; i++) {
        back->carry[i] = ferry_blob_overwrite_host_diff(
            ferry_layer_scratch_at(layer, FERRY__RECURRENT_STATE + i));
        if (!back->carry[i])
            return ferry_last_error_code();
        memset(back->carry[i], 0, bytes);
    }
    return 0;
}

int ferry__recurrent_back_begin(ferry_layer *layer, struct ferry__recurrent_back *out)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);
    int weights = s->has_static ? 3 : 2, i;
    ferry_blob *recurrent = ferry_layer_param_at(layer, weights);
    bool learns = ferry_layer_param_propagates(layer, weights);

    out->s = s;
    out->sums = ferry_blob_host_data(ferry_layer_scratch_at(layer, FERRY__RECURRENT_SUM));
    out->cont = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    out->recurrent = ferry_blob_host_data(recurrent);
    out->top = ferry_blob_host_diff(ferry_layer_top_at(layer, 0));
    out->gates = ferry_blob_overwrite_host_diff(ferry_layer_scratch_at(layer, PRODUCTS));
    out->d_recurrent = learns ? ferry_blob_mutable_host_diff(recurrent) : NULL;
    if (!out->sums || !out->cont || !out->recurrent || !out->top || !out->gates ||
        (learns && !out->d_recurrent))
        return ferry_last_error_code();
    for (i = 0; i < s->states; i++) {
        out->history[i] =
            ferry_blob_host_data(ferry_layer_scratch_at(layer, FERRY__RECURRENT_HISTORY + i));
        if (!out->history[i])
            return ferry_last_error_code();
    }
    return begin_carry(layer, out);
}

void ferry__recurrent_back_step(const struct ferry__recurrent_back *back, int64_t t, int64_t n)
{
    int64_t d = back->s->outputs, wide = back->s->gates * d, row = t * back->s->streams + n, i, k;
    const float *gates = &back->gates[row * wide], *h = &back->history[0][row * d];
    float *dh = &back->carry[0][n * d], cont = back->cont[row];

    memset(dh, 0, (size_t)d * sizeof *dh);
    for (i = 0; i < wide; i++)
        for (k = 0; k < d; k++) {
            dh[k] += back->recurrent[i * d + k] * (cont * gates[i]);
            if (back->d_recurrent)
                back->d_recurrent[i * d + k] += gates[i] * (cont * h[k]);
        }
}
