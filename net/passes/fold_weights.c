/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the weights and the bias of a fold (fold.c) from those of its layer. */
#include "net/passes/fold.h"

#include "op/origin.h"

#include <ferry/op_types.h>
#include <ferry/status.h>

#include <stdlib.h>

/* The factor and the term of a step, from its operands' values for one channel. */
static void values_of(const struct ferry__fold_step *s, double u, double v, double *factor,
                      double *term)
{
    *factor = s->b;
    *term = s->c;
    if (s->kind == FERRY_OP_BINARY && s->function == FERRY_BINARY_NORMALISE) {
        *factor = v;
        *term = -u * v;
    } else if (s->kind == FERRY_OP_BINARY) {
        *factor = s->function == FERRY_BINARY_SCALE ? u : 1;
        *term = s->function == FERRY_BINARY_SCALE ? v : u;
    }
}

/* Composes one more step y = scale·x + shift, for each channel. */
static int compose(const struct ferry__fold_step *s, const struct ferry__affine *a)
{
    const float *u = s->u ? ferry_blob_host_data(s->u) : NULL;
    const float *v = s->v ? ferry_blob_host_data(s->v) : NULL;
    bool one_u = s->u && ferry_blob_element_count(s->u) == 1,
         one_v = s->v && ferry_blob_element_count(s->v) == 1;
    int64_t i;

    if ((s->u && !u) || (s->v && !v))
        return ferry_last_error_code();
    for (i = 0; i < a->channels; i++) {
        double factor, term;

        values_of(s, u ? (double)u[one_u ? 0 : i] : 0, v ? (double)v[one_v ? 0 : i] : 0, &factor,
                  &term);
        ferry__affine_then(a, i, factor, term);
    }
    return 0;
}

/* The combined affine functions of the output and of the input channels. */
struct factors {
    struct ferry__affine after, before;
};

/* The input channel to which a weight belongs. */
static int64_t input_of(const struct ferry__fold *f, int64_t row, int64_t output, int64_t k)
{
    int64_t channels = f->order.inner / f->span; /* the number of channels of one group */

    return f->order.rows > 1 ? row / f->span
                             : output / f->outputs_of_group * channels + k / f->span;
}

/* Adds to each output's shift the contribution of the constants before the weights. */
static void add_shifts(const struct ferry__fold *f, const struct factors *by, const float *from)
{
    const struct ferry__weight_order *w = &f->order;
    int64_t i, j, k;

    for (i = 0; i < w->rows; i++)
        for (j = 0; j < w->outputs; j++)
            for (k = 0; k < w->inner; k++)
                by->after.shift[j] += by->before.shift[input_of(f, i, j, k)] * (double)*from++;
}

/* Multiplies each weight by the scales of its output and of its input channel. */
static void scale_both(const struct ferry__fold *f, const struct factors *by, const float *from,
                       float *to)
{
    const struct ferry__weight_order *w = &f->order;
    int64_t i, j, k;

    for (i = 0; i < w->rows; i++)
        for (j = 0; j < w->outputs; j++) {
            double factor = by->after.scale[ferry__weight_channel(w, i, j)];

            for (k = 0; k < w->inner; k++)
                *to++ = (float)(factor * by->before.scale[input_of(f, i, j, k)] * (double)*from++);
        }
}

/* Composes the steps before the operation, starting with the one that is farthest from it. */
static int compose_before(const struct ferry__fold *f, const struct factors *by, const float *w)
{
    int k, err = 0;

    if (!f->n_before)
        return 0;
    ferry__affine_reset(&by->before);
    for (k = f->n_before; !err && k-- > 0;)
        err = compose(&f->before[k], &by->before);
    if (!err)
        add_shifts(f, by, w);
    return err;
}

/* The copy of the weights; without weights, the scales. */
static void fill_weights(const struct ferry__fold *f, const struct factors *by, const float *w,
                         float *to)
{
    int64_t i;

    if (f->n_before)
        scale_both(f, by, w, to);
    else if (w)
        ferry__affine_multiply(&f->order, by->after.scale, w, to);
    for (i = 0; i < by->after.channels && !w; i++)
        to[i] = (float)by->after.scale[i];
}

/* Computes the factors of a fold; `w` are the weights before. */
static int factors_of(const struct ferry__fold *f, const struct factors *by, const float *w)
{
    const float *bias = f->bias ? ferry_blob_host_data(f->bias) : NULL;
    int64_t i;
    int k, err;

    if (f->bias && !bias)
        return ferry_last_error_code();
    ferry__affine_reset(&by->after);
    for (i = 0; i < by->after.channels && bias; i++)
        by->after.shift[i] = (double)bias[i];
    err = compose_before(f, by, w);
    for (k = 0; !err && k < f->n_steps; k++)
        err = compose(&f->step[k], &by->after);
    return err;
}

static int fill(const struct ferry__fold *f, const struct factors *by, float *weights, float *bias)
{
    const float *w = f->weights ? ferry_blob_host_data(f->weights) : NULL;
    int64_t i;
    int err = f->weights && !w ? ferry_last_error_code() : factors_of(f, by, w);

    if (err)
        return err;
    if (weights)
        fill_weights(f, by, w, weights);
    for (i = 0; i < by->after.channels && bias; i++)
        bias[i] = (float)by->after.shift[i];
    return 0;
}

const struct ferry__fold *ferry__fold_of_outputs(const ferry_layer *layer, const ferry_blob *made)
{
    const struct ferry__fold *f;

    for (f = layer->folds; f && f->made[0] != made; f = f->next)
        ;
    return f && f->weights && !f->n_before && f->order.rows == 1 ? f : NULL;
}

int ferry__fold_scales(const struct ferry__fold *f, double *scales)
{
    int64_t channels = ferry_blob_element_count(f->made[1]);
    struct factors by = {
        .after = { .channels = channels, .scale = scales, .shift = scales + channels }
    };

    return factors_of(f, &by, NULL);
}

int ferry__fold_compute(const struct ferry__fold *f, float *weights, float *bias)
{
    int64_t channels = ferry_blob_element_count(f->made[1]);
    int64_t inputs = f->n_before ? f->inputs : 0;
    struct factors by = { .after.channels = channels, .before.channels = inputs };
    double *all = malloc((size_t)(2 * (channels + inputs)) * sizeof *all);
    struct ferry__origin *origin = NULL;
    int err = 0;

    if (!all)
        return ferry_error_set(FERRY_ENOMEM, "no memory for its folded weights");
    by.after.scale = all;
    by.after.shift = all + channels;
    by.before.scale = all + 2 * channels;
    by.before.shift = all + 2 * channels + inputs;
    if (f->weights && (weights || f->n_before)) /* the bias alone needs no weights */
        err = ferry__origin_begin(ferry_blob_data_memory(f->weights), &origin);
    if (!err)
        err = fill(f, &by, weights, bias);
    ferry__origin_end(origin);
    free(all);
    return err;
}
