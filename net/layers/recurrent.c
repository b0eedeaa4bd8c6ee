/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bottoms: x (T × N × …), cont (T × N), optionally x_static (N × …), and with expose_hidden the
 * initial states (1 × N × D). Tops: T × N × D, and with expose_hidden the final states. (Caffe:
 * RecurrentLayer.)
 */
#include "net/layers/recurrent.h"

#include "net/layers/emit.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

enum {
    PRODUCTS = FERRY__RECURRENT_PRODUCTS,
    STATICS = FERRY__RECURRENT_STATICS,
    SUM = FERRY__RECURRENT_SUM,
    STATES = FERRY__RECURRENT_STATE,
    HISTORY = FERRY__RECURRENT_HISTORY
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "recurrent_param", 0);
}

static int declare(ferry_layer *layer, int rank, int64_t rows, int64_t columns, const char *filler)
{
    int64_t shape[2];
    ferry_layer_param param = { .struct_size = sizeof param, .rank = rank, .shape = shape };

    shape[0] = rows;
    shape[1] = columns;
    param.lr_mult = param.decay_mult = 1;
    param.filler = ferry_proto_message(parameters(layer), filler, 0);
    return ferry_layer_declare_param(layer, &param);
}

int ferry__recurrent_declare(ferry_layer *layer, int64_t rows)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);

    return rows ? declare(layer, 2, rows, s->outputs, "weight_filler")
                : declare(layer, 1, s->outputs, 0, "bias_filler");
}

/* Checks the number of bottoms and tops with expose_hidden; one more bottom is x_static. */
static int count_blobs(ferry_layer *layer, struct ferry__recurrent *s)
{
    int exposed = s->exposed ? s->states : 0, bottoms = ferry_layer_bottom_count(layer);

    s->has_static = bottoms == 3 + exposed;
    if (bottoms != 2 + exposed && !s->has_static)
        return ferry_layer_error(layer, FERRY_EFORMAT, "it has %d bottoms, %d or %d are required",
                                 bottoms, 2 + exposed, 3 + exposed);
    if (ferry_layer_top_count(layer) != 1 + exposed)
        return ferry_layer_error(layer, FERRY_EFORMAT, "it has %d tops, %d are required",
                                 ferry_layer_top_count(layer), 1 + exposed);
    return 0;
}

/* Reads the sizes that determine the weights; if not `first`, checks that they have not changed. */
static int measure(ferry_layer *layer, struct ferry__recurrent *s, bool first)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *still = ferry_layer_bottom_at(layer, 2);
    int64_t inputs, statics = 0;

    if (ferry_blob_rank(x) < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has %d axes, at least 2 are required",
                                 ferry_blob_rank(x));
    inputs = ferry_blob_element_count_range(x, 2, ferry_blob_rank(x));
    if (s->has_static && ferry_blob_rank(still) < 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom 2 is a scalar");
    if (s->has_static)
        statics = ferry_blob_element_count_range(still, 1, ferry_blob_rank(still));
    if (!first && (inputs != s->inputs || statics != s->statics))
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "a step has %lld and %lld values, the layer was set up for %lld "
                                 "and %lld",
                                 (long long)inputs, (long long)statics, (long long)s->inputs,
                                 (long long)s->statics);
    s->inputs = inputs;
    s->statics = statics;
    return 0;
}

int ferry__recurrent_setup(ferry_layer *layer, int states, int64_t gates)
{
    struct ferry__recurrent *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    int err;

    s->states = states;
    s->gates = gates;
    s->exposed = ferry_proto_boolean(p, "expose_hidden", 0);
    s->outputs = ferry_proto_integer(p, "num_output", 0);
    if (s->outputs < 1 || s->outputs > INT32_MAX)
        return ferry_proto_error(p, "num_output", 0, FERRY_EFORMAT,
                                 "layer \"%s\": num_output is %lld", ferry_layer_name(layer),
                                 (long long)s->outputs);
    err = count_blobs(layer, s);
    if (!err)
        err = measure(layer, s, true);
    if (!err)
        err = declare(layer, 2, gates * s->outputs, s->inputs, "weight_filler");
    if (!err)
        err = declare(layer, 1, gates * s->outputs, 0, "bias_filler");
    if (!err && s->has_static)
        err = declare(layer, 2, gates * s->outputs, s->statics, "weight_filler");
    return err;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int bottoms_fit(ferry_layer *layer, const struct ferry__recurrent *s)
{
    int i, states = s->exposed ? s->states : 0, first = s->has_static ? 3 : 2;
    const ferry_blob *cont = ferry_layer_bottom_at(layer, 1);
    char shape[160];

    if (ferry_blob_rank(cont) != 2 || ferry_blob_dim(cont, 0) != s->steps ||
        ferry_blob_dim(cont, 1) != s->streams) {
        ferry_blob_shape_string(cont, shape, sizeof shape);
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "bottom 1 is %s, there are %lld steps of %lld streams", shape,
                                 (long long)s->steps, (long long)s->streams);
    }
    if (s->has_static && ferry_blob_dim(ferry_layer_bottom_at(layer, 2), 0) != s->streams)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "bottom 2 has %lld entries, there are %lld streams",
            (long long)ferry_blob_dim(ferry_layer_bottom_at(layer, 2), 0), (long long)s->streams);
    for (i = first; i < first + states; i++)
        if (ferry_blob_element_count(ferry_layer_bottom_at(layer, i)) != s->streams * s->outputs)
            return ferry_layer_error(
                layer, FERRY_ESHAPE, "state %d has %lld elements, not %lld", i - first,
                (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, i)),
                (long long)(s->streams * s->outputs));
    return 0;
}

static int shape_tops(ferry_layer *layer, const struct ferry__recurrent *s)
{
    int64_t shape[3];
    int i, err;

    shape[0] = s->steps;
    shape[1] = s->streams;
    shape[2] = s->outputs;
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 3, NULL);
    shape[0] = 1;
    for (i = 1; !err && i < ferry_layer_top_count(layer); i++)
        err = ferry_blob_reshape(ferry_layer_top_at(layer, i), shape, 3, NULL);
    return err;
}

/* Allocates the states that backward needs: those before the first step, and after each. */
static int make_history(ferry_layer *layer, const struct ferry__recurrent *s)
{
    int i;

    for (i = 0; ferry_layer_needs_backward(layer) && i < s->states; i++)
        if (!ferry_layer_scratch(layer, HISTORY + i, 1,
                                 (int64_t[]){ (s->steps + 1) * s->streams, s->outputs }, 2))
            return ferry_last_error_code();
    return 0;
}

/* Allocates the scratch blobs; states for another number of streams are dropped. */
static int make_scratch(ferry_layer *layer, struct ferry__recurrent *s)
{
    int64_t rows = ferry_layer_needs_backward(layer) ? s->steps * s->streams : 1;
    int64_t wide = s->gates * s->outputs;
    int i;

    if (!ferry_layer_scratch(layer, PRODUCTS, 1, (int64_t[]){ s->steps * s->streams, wide }, 2) ||
        !ferry_layer_scratch(layer, STATICS, 1, (int64_t[]){ s->streams, wide }, 2) ||
        !ferry_layer_scratch(layer, SUM, 1, (int64_t[]){ rows, wide }, 2))
        return ferry_last_error_code();
    for (i = 0; i < s->states; i++) {
        ferry_blob *state =
            ferry_layer_scratch(layer, STATES + i, 1, (int64_t[]){ s->streams, s->outputs }, 2);

        if (!state)
            return ferry_last_error_code();
        if (s->kept != s->streams && ferry_blob_fill_data(state, 0))
            return ferry_last_error_code();
    }
    s->kept = s->streams;
    return make_history(layer, s);
}

/*
 * Emits the product of a bottom, rows of `columns` values, with the weights, plus the bias if there
 * is one.
 */
static int emit_product(ferry_layer *layer, int bottom, int64_t rows, int64_t columns, int weights,
                        int bias, int scratch)
{
    ferry_layer_operand in[3], out[1];
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_INNER_PRODUCT);
    ferry__op_in(&op, in, ferry_operand_make(FERRY_F32, (int64_t[]){ rows, columns }, 2, NULL),
                 ferry__of_bottom(bottom));
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(weights)), ferry__of_param(weights));
    if (bias >= 0)
        ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(bias)), ferry__of_param(bias));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_scratch(scratch)),
                  ferry__of_scratch(scratch));
    return ferry_layer_emit(layer, &op, in, out);
}

int ferry__recurrent_reshape(ferry_layer *layer)
{
    struct ferry__recurrent *s = ferry_layer_state(layer);
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0);
    int err = measure(layer, s, false);

    if (err)
        return err;
    s->steps = ferry_blob_dim(x, 0);
    s->streams = ferry_blob_dim(x, 1);
    err = bottoms_fit(layer, s);
    if (!err)
        err = shape_tops(layer, s);
    if (!err)
        err = make_scratch(layer, s);
    if (!err)
        err = emit_product(layer, 0, s->steps * s->streams, s->inputs, 0, 1, PRODUCTS);
    if (!err && s->has_static)
        err = emit_product(layer, 2, s->streams, s->statics, 2, -1, STATICS);
    return err ? err : ferry__recurrent_emit_backward(layer);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Copies the initial states from the bottoms. */
static int take_states(ferry_layer *layer, const struct ferry__recurrent_run *run)
{
    const struct ferry__recurrent *s = run->s;
    int i, first = s->has_static ? 3 : 2;

    for (i = 0; s->exposed && i < s->states; i++) {
        const float *given = ferry_blob_host_data(ferry_layer_bottom_at(layer, first + i));

        if (!given)
            return ferry_last_error_code();
        memcpy(run->state[i], given, (size_t)(s->streams * s->outputs) * sizeof *given);
    }
    return 0;
}

/* Records the states before the first step. */
static int begin_history(ferry_layer *layer, struct ferry__recurrent_run *run)
{
    int i;

    for (i = 0; i < run->s->states; i++) {
        run->history[i] =
            ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, HISTORY + i));
        if (!run->history[i])
            return ferry_last_error_code();
        memcpy(run->history[i], run->state[i],
               (size_t)(run->s->streams * run->s->outputs) * sizeof *run->history[i]);
    }
    return 0;
}

int ferry__recurrent_begin(ferry_layer *layer, struct ferry__recurrent_run *out)
{
    const struct ferry__recurrent *s = ferry_layer_state(layer);
    int i, err;

    out->s = s;
    out->gates = ferry_blob_host_data(ferry_layer_scratch_at(layer, PRODUCTS));
    out->statics =
        s->has_static ? ferry_blob_host_data(ferry_layer_scratch_at(layer, STATICS)) : NULL;
    out->cont = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    out->recurrent = ferry_blob_host_data(ferry_layer_param_at(layer, s->has_static ? 3 : 2));
    out->sums = ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, SUM));
    out->kept = ferry_layer_needs_backward(layer) != 0;
    out->top = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));
    if (!out->gates || (s->has_static && !out->statics) || !out->cont || !out->recurrent ||
        !out->sums || !out->top)
        return ferry_last_error_code();
    for (i = 0; i < s->states; i++) {
        out->state[i] = ferry_blob_mutable_host_data(ferry_layer_scratch_at(layer, STATES + i));
        if (!out->state[i])
            return ferry_last_error_code();
    }
    err = take_states(layer, out);
    return err || !out->kept ? err : begin_history(layer, out);
}

int ferry__recurrent_end(ferry_layer *layer, const struct ferry__recurrent_run *run)
{
    const struct ferry__recurrent *s = run->s;
    int i;

    for (i = 0; s->exposed && i < s->states; i++) {
        float *top = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 1 + i));

        if (!top)
            return ferry_last_error_code();
        memcpy(top, run->state[i], (size_t)(s->streams * s->outputs) * sizeof *top);
    }
    return 0;
}

void ferry__recurrent_keep(const struct ferry__recurrent_run *run, int64_t t, int64_t n)
{
    int64_t d = run->s->outputs;
    int i;

    for (i = 0; run->kept && i < run->s->states; i++)
        memcpy(&run->history[i][((t + 1) * run->s->streams + n) * d], &run->state[i][n * d],
               (size_t)d * sizeof *run->history[i]);
}

void ferry__recurrent_sum(struct ferry__recurrent_run *run, int64_t t, int64_t n)
{
    const struct ferry__recurrent *s = run->s;
    int64_t wide = s->gates * s->outputs, i, k;
    const float *h = &run->state[0][n * s->outputs];
    const float *x = &run->gates[(t * s->streams + n) * wide];
    double cont = run->cont[t * s->streams + n];

    run->sum = run->kept ? &run->sums[(t * s->streams + n) * wide] : run->sums;
    for (i = 0; i < wide; i++) {
        const float *weights = &run->recurrent[i * s->outputs];
        double sum = 0;

        for (k = 0; k < s->outputs; k++)
            sum += (double)weights[k] * h[k];
        sum = cont * sum + x[i];
        run->sum[i] = (float)(run->statics ? sum + run->statics[n * wide + i] : sum);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

void ferry__lstm_step(int64_t d, float cont, const float *gates, const float *c_before, float *c,
                      float *h)
{
    int64_t k;

    for (k = 0; k < d; k++) {
        double forget = cont == 0 ? 0 : cont * sigmoid(gates[d + k]);
        double cell = forget * c_before[k] + sigmoid(gates[k]) * tanh(gates[3 * d + k]);

        c[k] = (float)cell;
        h[k] = (float)(sigmoid(gates[2 * d + k]) * tanh(cell));
    }
}

void ferry__lstm_step_back(int64_t d, float cont, const float *gates, const float *c_before,
                           const float *dc, const float *dh, float *d_gates, float *dc_before)
{
    int64_t k;

    for (k = 0; k < d; k++) {
        double in = sigmoid(gates[k]), out = sigmoid(gates[2 * d + k]),
               new = tanh(gates[3 * d + k]);
        double forget = cont == 0 ? 0 : cont * sigmoid(gates[d + k]);
        double squashed = tanh((float)(forget * c_before[k] + in * new));
        double cell = dc[k] + dh[k] * out * (1 - squashed * squashed);

        d_gates[k] = (float)(cell * new *in *(1 - in));
        d_gates[d + k] = (float)(cell * c_before[k] * forget * (1 - forget));
        d_gates[2 * d + k] = (float)(dh[k] * squashed * out * (1 - out));
        d_gates[3 * d + k] = (float)(cell * in * (1 - new *new));
        dc_before[k] = (float)(cell * forget);
    }
}
