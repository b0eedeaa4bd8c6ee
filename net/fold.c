/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Affine functions of each channel that follow a convolution or an inner product, as copies of its
 * weights and bias: BatchNorm, Scale, Bias, and Power without a power. A copy is made anew when one of
 * its sources was written; programs for other shapes share it.
 */
#include "net/program.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

#define STEPS 4

/* y = scale·x + shift, from the constants that there are. */
struct step {
    uint32_t kind, function;
    double b, c;       /* UNARY: b·x + c */
    ferry_blob *u, *v; /* BINARY */
};

struct ferry__fold {
    struct ferry__fold *next;
    ferry_layer *layer;
    int number;                                  /* of the layer's operations */
    int64_t rows, outputs, inner, rows_of_group; /* of the weights: see scale_weights */
    ferry_blob *weights, *bias;                  /* what they are made of; no bias: NULL */
    struct step step[STEPS];
    int n_steps;
    ferry_blob *made[2]; /* weights, bias */
    uint64_t version;    /* the sources' when they were made; 0: not yet */
};

static int no_memory(const ferry_layer *layer)
{
    return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its folded weights");
}

/* ---- what can be folded ---------------------------------------------------------------------------- */

/* Whether nothing in the program writes a blob: a parameter, or what `prepare` made of some. */
static bool is_constant(const struct ferry__program *p, const struct ferry__use *use)
{
    int i;
    uint32_t k;

    if (use->value >= 0 || use->diff || use->start)
        return false;
    for (i = 0; i < p->n_items; i++)
        for (k = 0; !p->items[i].call && k < p->items[i].op.n_out; k++)
            if (p->items[i].out[k].value < 0 && p->items[i].out[k].blob == use->blob)
                return false;
    return true;
}

/* Whether input k of `by` has an element for each channel, or one for all. */
static bool fits(const struct ferry__program *p, const struct ferry__item *item,
                 const struct ferry__item *by, uint32_t k)
{
    const ferry_operand *y = &by->op.out[0], *made = &item->op.out[0];
    int64_t count = ferry_blob_count(by->in[k].blob);

    if (!is_constant(p, &by->in[k]))
        return false;
    return count == 1 ||
           (count == made->shape[1] && y->rank == 3 && y->shape[0] == made->shape[0] &&
            y->shape[1] == made->shape[1] && by->op.in[k].shape[1] == count);
}

static bool step_of(const struct ferry__program *p, const struct ferry__item *item,
                    const struct ferry__item *by, struct step *out)
{
    const ferry_op *op = &by->op;
    uint32_t function = op->params.binary.function, k;

    memset(out, 0, sizeof *out);
    out->kind = op->kind;
    if (op->kind == FERRY_OP_UNARY) {
        out->b = op->params.unary.b;
        out->c = op->params.unary.c;
        return op->params.unary.function == FERRY_UNARY_POWER && op->params.unary.a == 1;
    }
    out->function = function;
    if (function != FERRY_BINARY_NORMALISE && function != FERRY_BINARY_SCALE &&
        !(function == FERRY_BINARY_SUM && op->params.binary.a == 1 && op->params.binary.b == 1))
        return false;
    for (k = 1; k < op->n_in; k++)
        if (!fits(p, item, by, k))
            return false;
    out->u = by->in[1].blob;
    out->v = op->n_in > 2 ? by->in[2].blob : NULL;
    return true;
}

/* Weights whole and F32, in their own order or transposed, and a bias that is all of its blob. */
static bool can_fold(const struct ferry__program *p, const struct ferry__item *item)
{
    const struct ferry__use *w = &item->in[1], *bias = &item->in[2];

    return item->op.n_epilogue == 0 && item->op.in[1].dtype == FERRY_F32 && item->op.n_in <= 3 &&
           (item->fold || (is_constant(p, w) && (item->op.n_in < 3 || is_constant(p, bias))));
}

/* ---- making ---------------------------------------------------------------------------------------- */

static void measure(const ferry_op *op, struct ferry__fold *f)
{
    const ferry_operand *w = &op->in[1];
    int64_t taps = 1;
    uint32_t i;

    for (i = 2; i < w->rank; i++)
        taps *= w->shape[i];
    f->rows = f->rows_of_group = 1;
    f->outputs = w->shape[0];
    f->inner = w->rank > 1 ? w->shape[1] * taps : 1;
    if (op->kind == FERRY_OP_CONVOLUTION && op->params.window.transposed) {
        f->rows = w->shape[0];
        f->rows_of_group = w->shape[0] / op->params.window.group;
        f->outputs = w->shape[1];
        f->inner = taps;
    } else if (op->kind == FERRY_OP_INNER_PRODUCT && !ferry_operand_is_plain(w)) {
        f->rows = f->rows_of_group = w->shape[1];
        f->inner = 1;
    }
}

static struct ferry__fold *find(const ferry_net *net, const struct ferry__fold *like)
{
    struct ferry__fold *f;

    for (f = net->folds; f; f = f->next)
        if (f->layer == like->layer && f->number == like->number && f->n_steps == like->n_steps &&
            !memcmp(f->step, like->step, (size_t)like->n_steps * sizeof *f->step))
            return f;
    return NULL;
}

static void discard(struct ferry__fold *f)
{
    ferry_blob_destroy(f->made[0]);
    ferry_blob_destroy(f->made[1]);
    free(f);
}

static struct ferry__fold *make(ferry_net *net, const struct ferry__fold *like, int64_t channels)
{
    struct ferry__fold *f = malloc(sizeof *f);
    ferry_device *device = like->layer->device;

    if (!f)
        return NULL;
    *f = *like;
    f->made[0] = f->made[1] = NULL;
    f->version = 0;
    if (ferry_blob_create(device, FERRY_F32, ferry_blob_naxes(like->weights),
                          ferry_blob_dims(like->weights), &f->made[0]) ||
        ferry_blob_create(device, FERRY_F32, 1, &channels, &f->made[1])) {
        discard(f);
        return NULL;
    }
    f->next = net->folds;
    net->folds = f;
    return f;
}

/* The fold of an item so far and one step more; what is made for the former stays for others. */
static struct ferry__fold *longer(struct ferry__program *p, struct ferry__item *item,
                                  const struct step *step)
{
    struct ferry__fold like = { .layer = item->layer, .number = item->number }, *found;

    if (item->fold)
        like = *item->fold;
    else {
        like.weights = item->in[1].blob;
        like.bias = item->op.n_in > 2 ? item->in[2].blob : NULL;
        measure(&item->op, &like);
    }
    like.step[like.n_steps++] = *step;
    found = find(p->net, &like);
    return found ? found : make(p->net, &like, item->op.out[0].shape[1]);
}

int ferry__fold_try(struct ferry__program *p, struct ferry__item *item,
                    const struct ferry__item *by)
{
    int64_t channels = item->op.out[0].shape[1];
    struct ferry__fold *f;
    struct step step;

    if (!can_fold(p, item) || (item->fold && item->fold->n_steps == STEPS) ||
        !step_of(p, item, by, &step))
        return 0;
    f = longer(p, item, &step);
    if (!f)
        return no_memory(item->layer);
    item->fold = f;
    item->in[1].blob = f->made[0];
    if (item->op.n_in == 2)
        item->op.n_in = 3;
    item->op.in[2] = ferry_operand_of(FERRY_F32, 1, &channels, NULL);
    item->op.constants |= 1u << 2;
    item->in[2] = (struct ferry__use){ .value = -1, .blob = f->made[1] };
    return 1;
}

/* ---- refreshing ------------------------------------------------------------------------------------ */

static uint64_t sources(const struct ferry__fold *f)
{
    uint64_t n = ferry__contents(ferry__contents(1, f->weights), f->bias);
    int i;

    for (i = 0; i < f->n_steps; i++)
        n = ferry__contents(ferry__contents(n, f->step[i].u), f->step[i].v);
    return n;
}

/* One step more of y = scale·x + shift, for each channel. */
static int compose(const struct step *s, int64_t channels, double *scale, double *shift)
{
    const float *u = s->u ? ferry_blob_host_data(s->u) : NULL;
    const float *v = s->v ? ferry_blob_host_data(s->v) : NULL;
    bool one_u = s->u && ferry_blob_count(s->u) == 1, one_v = s->v && ferry_blob_count(s->v) == 1;
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
 * The weights are rows × outputs × inner: one row but where the outputs are not the first axis. Rows
 * of one group have its outputs.
 */
static void scale_weights(const struct ferry__fold *f, const double *scale, const float *from,
                          float *to)
{
    int64_t i, j, k;

    for (i = 0; i < f->rows; i++)
        for (j = 0; j < f->outputs; j++) {
            double factor = scale[i / f->rows_of_group * f->outputs + j];

            for (k = 0; k < f->inner; k++)
                *to++ = (float)(factor * *from++);
        }
}

static int fill(struct ferry__fold *f, double *scale, double *shift, int64_t channels)
{
    const float *w = ferry_blob_host_data(f->weights);
    const float *bias = f->bias ? ferry_blob_host_data(f->bias) : NULL;
    float *to = ferry_blob_overwrite_host_data(f->made[0]);
    float *to_bias = ferry_blob_overwrite_host_data(f->made[1]);
    int64_t i;
    int k, err = 0;

    if (!w || (f->bias && !bias) || !to || !to_bias)
        return ferry_last_error_code();
    for (i = 0; i < channels; i++) {
        scale[i] = 1;
        shift[i] = bias ? (double)bias[i] : 0;
    }
    for (k = 0; !err && k < f->n_steps; k++)
        err = compose(&f->step[k], channels, scale, shift);
    if (err)
        return err;
    scale_weights(f, scale, w, to);
    for (i = 0; i < channels; i++)
        to_bias[i] = (float)shift[i];
    return 0;
}

int ferry__fold_refresh(struct ferry__fold *f)
{
    uint64_t version = sources(f);
    int64_t channels = ferry_blob_count(f->made[1]);
    double *room;
    int err;

    if (version == f->version)
        return 0;
    room = malloc((size_t)(2 * channels) * sizeof *room);
    if (!room)
        return no_memory(f->layer);
    f->version = 0;
    err = fill(f, room, room + channels, channels);
    free(room);
    if (!err)
        f->version = version;
    return err;
}

void ferry__folds_forget(ferry_net *net)
{
    struct ferry__fold *f;

    for (f = net->folds; f; f = f->next)
        f->version = 0;
}

void ferry__folds_end(ferry_net *net)
{
    while (net->folds) {
        struct ferry__fold *next = net->folds->next;

        discard(net->folds);
        net->folds = next;
    }
}
