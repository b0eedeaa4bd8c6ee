/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the weights and the bias of a fold (fold.c) from those of its layer. */
#include "net/passes/fold.h"

#include <ferry/status.h>

#include <stdlib.h>

static uint64_t sources(const struct ferry__fold *f)
{
    uint64_t n = ferry__contents(ferry__contents(1, f->weights), f->bias);
    int i;

    for (i = 0; i < f->n_steps; i++)
        n = ferry__contents(ferry__contents(n, f->step[i].u), f->step[i].v);
    for (i = 0; i < f->n_before; i++)
        n = ferry__contents(ferry__contents(n, f->before[i].u), f->before[i].v);
    return n;
}

/* Composes one more step y = scale·x + shift, for each channel. */
static int compose(const struct ferry__fold_step *s, int64_t channels, double *scale, double *shift)
{
    const float *u = s->u ? ferry_blob_host_data(s->u) : NULL;
    const float *v = s->v ? ferry_blob_host_data(s->v) : NULL;
    bool one_u = s->u && ferry_blob_element_count(s->u) == 1,
         one_v = s->v && ferry_blob_element_count(s->v) == 1;
    int64_t i;

    if ((s->u && !u) || (s->v && !v))
        return ferry_last_error_code();
    for (i = 0; i < channels; i++) {
        double by = u ? (double)u[one_u ? 0 : i] : 0, more = v ? (double)v[one_v ? 0 : i] : 0;
        double factor = s->b, term = s->c;

        if (s->kind == FERRY_OP_BINARY && s->function == FERRY_BINARY_NORMALISE) {
            factor = more;
            term = -by * more;
        } else if (s->kind == FERRY_OP_BINARY) {
            factor = s->function == FERRY_BINARY_SCALE ? by : 1;
            term = s->function == FERRY_BINARY_SCALE ? more : by;
        }
        scale[i] *= factor;
        shift[i] = shift[i] * factor + term;
    }
    return 0;
}

/*
 * The scale and the shift of each output, and of each input channel, that result from composing the
 * steps.
 */
struct factors {
    double *scale, *shift;
    double *scale_before, *shift_before;
};

/* The input channel of a weight. */
static int64_t input_of(const struct ferry__fold *f, int64_t row, int64_t output, int64_t k)
{
    int64_t channels = f->inner / f->span; /* of one group */

    return f->rows > 1 ? row / f->span : output / f->outputs_of_group * channels + k / f->span;
}

/* Adds to each output's shift the contribution of the constants before the weights. */
static void add_shifts(const struct ferry__fold *f, const struct factors *by, const float *w)
{
    int64_t i, j, k;

    for (i = 0; i < f->rows; i++)
        for (j = 0; j < f->outputs; j++)
            for (k = 0; k < f->inner; k++)
                by->shift[j] += by->shift_before[input_of(f, i, j, k)] * *w++;
}

static void scale_weights(const struct ferry__fold *f, const struct factors *by, const float *from,
                          float *to)
{
    int64_t i, j, k;

    for (i = 0; i < f->rows; i++)
        for (j = 0; j < f->outputs; j++) {
            double factor = by->scale[i / f->rows_of_group * f->outputs + j];

            for (k = 0; k < f->inner && !f->n_before; k++)
                *to++ = (float)(factor * *from++);
            for (k = 0; k < f->inner && f->n_before; k++)
                *to++ = (float)(factor * by->scale_before[input_of(f, i, j, k)] * *from++);
        }
}

static void reset(double *scale, double *shift, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        scale[i] = 1;
        shift[i] = 0;
    }
}

/* Composes the steps before the operation, starting with the one that is farthest from it. */
static int compose_before(const struct ferry__fold *f, const struct factors *by, const float *w)
{
    int k, err = 0;

    if (!f->n_before)
        return 0;
    reset(by->scale_before, by->shift_before, f->inputs);
    for (k = f->n_before; !err && k-- > 0;)
        err = compose(&f->before[k], f->inputs, by->scale_before, by->shift_before);
    if (!err)
        add_shifts(f, by, w);
    return err;
}

static int fill(struct ferry__fold *f, const struct factors *by, int64_t channels)
{
    const float *w = ferry_blob_host_data(f->weights);
    const float *bias = f->bias ? ferry_blob_host_data(f->bias) : NULL;
    float *to = ferry_blob_overwrite_host_data(f->made[0]);
    float *to_bias = ferry_blob_overwrite_host_data(f->made[1]);
    int64_t i;
    int k, err;

    if (!w || (f->bias && !bias) || !to || !to_bias)
        return ferry_last_error_code();
    reset(by->scale, by->shift, channels);
    for (i = 0; i < channels && bias; i++)
        by->shift[i] = (double)bias[i];
    err = compose_before(f, by, w);
    for (k = 0; !err && k < f->n_steps; k++)
        err = compose(&f->step[k], channels, by->scale, by->shift);
    if (err)
        return err;
    scale_weights(f, by, w, to);
    for (i = 0; i < channels; i++)
        to_bias[i] = (float)by->shift[i];
    return 0;
}

int ferry__fold_refresh(struct ferry__fold *f)
{
    uint64_t version = sources(f);
    int64_t channels = ferry_blob_element_count(f->made[1]);
    int64_t inputs = f->n_before ? f->inputs : 0;
    struct factors by;
    int err;

    if (version == f->version)
        return 0;
    by.scale = malloc((size_t)(2 * (channels + inputs)) * sizeof *by.scale);
    if (!by.scale)
        return ferry_layer_error(f->layer, FERRY_ENOMEM, "no memory for its folded weights");
    by.shift = by.scale + channels;
    by.scale_before = by.shift + channels;
    by.shift_before = by.scale_before + inputs;
    f->version = 0;
    err = fill(f, &by, channels);
    free(by.scale);
    if (!err)
        f->version = version;
    return err;
}
