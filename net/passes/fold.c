/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folds affine functions of channels, before or after a convolution or an inner product, into
 * copies of its weights and bias: BatchNorm, Scale, Bias, and Power with power 1. This file decides
 * which can be folded; fold_weights.c computes the copies, again when one of their sources was
 * written. Programs for other shapes share them, and so do other nets (folded.c).
 */
#include "net/passes/fold.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(const ferry_layer *layer)
{
    return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its folded weights");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (ferry_blob *const *)a, y = (uintptr_t) * (ferry_blob *const *)b;

    return (x > y) - (x < y);
}

/* Lists the blobs without a value that items write; only counts them if the list does not exist. */
static int list_written(struct ferry__program *p)
{
    uint32_t k;
    int i, n = 0;

    for (i = 0; i < p->n_items; i++)
        for (k = 0; !p->items[i].call && k < p->items[i].op.n_out; k++) {
            const struct ferry__use *use = &p->items[i].out[k];

            if (use->value < 0 && p->written)
                p->written[n] = use->blob;
            n += use->value < 0;
        }
    return n;
}

int ferry__folds_begin(struct ferry__program *p)
{
    p->n_written = list_written(p);
    if (!p->n_written)
        return 0;
    p->written = malloc((size_t)p->n_written * sizeof *p->written);
    if (!p->written)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
    list_written(p);
    qsort(p->written, (size_t)p->n_written, sizeof *p->written, compare);
    return 0;
}

/* Whether no item of the program writes the blob: a parameter, or a result of `prepare`. */
static bool is_constant(const struct ferry__program *p, const struct ferry__use *use)
{
    return use->value < 0 && !use->diff && !use->start &&
           (!p->n_written ||
            !bsearch(&use->blob, p->written, (size_t)p->n_written, sizeof *p->written, compare));
}

/* Whether input k of `by` has one element for each of the channels of each item, or one for all. */
static bool fits(const struct ferry__program *p, int64_t items, int64_t channels,
                 const struct ferry__item *by, uint32_t k)
{
    const ferry_operand *y = &by->op.out[0];
    int64_t count = ferry_blob_element_count(by->in[k].blob);

    if (!is_constant(p, &by->in[k]))
        return false;
    return count == 1 || (count == channels && y->rank == 3 && y->shape[0] == items &&
                          y->shape[1] == channels && by->op.in[k].shape[1] == count);
}

static bool step_of(const struct ferry__program *p, int64_t items, int64_t channels,
                    const struct ferry__item *by, struct ferry__fold_step *out)
{
    const ferry_op_desc *op = &by->op;
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
        if (!fits(p, items, channels, by, k))
            return false;
    out->u = by->in[1].blob;
    out->v = op->n_in > 2 ? by->in[2].blob : NULL;
    return true;
}

/* Requires whole F32 weights, transposed or not, and a bias that is a whole blob. */
static bool can_fold(const struct ferry__program *p, const struct ferry__item *item)
{
    const struct ferry__use *w = &item->in[1], *bias = &item->in[2];

    return item->op.n_epilogue == 0 && item->op.in[1].dtype == FERRY_F32 && item->op.n_in <= 3 &&
           (item->fold || (is_constant(p, w) && (item->op.n_in < 3 || is_constant(p, bias))));
}

/* ---- creation -------------------------------------------------------------------------------- */

static void measure(const ferry_op_desc *op, struct ferry__fold *f)
{
    const ferry_operand *w = &op->in[1];
    int64_t taps = 1;
    uint32_t i;

    for (i = 2; i < w->rank; i++)
        taps *= w->shape[i];
    f->order.rows = f->order.rows_of_group = 1;
    f->order.outputs = f->outputs_of_group = w->shape[0];
    f->order.inner = w->rank > 1 ? w->shape[1] * taps : 1;
    f->inputs = op->kind == FERRY_OP_CONVOLUTION ? op->in[0].shape[1] : w->shape[1];
    f->span = taps;
    if (op->kind == FERRY_OP_CONVOLUTION)
        f->outputs_of_group = w->shape[0] / op->params.window.group;
    if (op->kind == FERRY_OP_CONVOLUTION && op->params.window.transposed) {
        f->order.rows = w->shape[0];
        f->order.rows_of_group = w->shape[0] / op->params.window.group;
        f->order.outputs = w->shape[1];
        f->order.inner = taps;
    } else if (op->kind == FERRY_OP_INNER_PRODUCT && !ferry_operand_is_plain(w)) {
        f->order.rows = f->order.rows_of_group = w->shape[1];
        f->order.inner = 1;
    }
}

static struct ferry__fold *find(const struct ferry__fold *like)
{
    struct ferry__fold *f;

    for (f = like->layer->folds; f; f = f->next)
        if (f->number == like->number && f->n_steps == like->n_steps &&
            f->n_before == like->n_before && f->inputs == like->inputs && f->span == like->span &&
            !memcmp(f->step, like->step, (size_t)like->n_steps * sizeof *f->step) &&
            !memcmp(f->before, like->before, (size_t)like->n_before * sizeof *f->before))
            return f;
    return NULL;
}

static void discard(struct ferry__fold *f)
{
    ferry_blob_destroy(f->made[0]);
    ferry_blob_destroy(f->made[1]);
    ferry__folded_release(f->folded);
    free(f);
}

static struct ferry__fold *make(const struct ferry__fold *like, int64_t channels)
{
    struct ferry__fold *f = malloc(sizeof *f);
    ferry_device *device = like->layer->device;
    const int64_t *shape = like->weights ? ferry_blob_shape(like->weights) : &channels;
    int rank = like->weights ? ferry_blob_rank(like->weights) : 1;

    if (!f)
        return NULL;
    *f = *like;
    f->made[0] = f->made[1] = NULL;
    f->folded = NULL;
    f->version = 0;
    if (ferry_blob_create(device, FERRY_F32, shape, rank, &f->made[0]) ||
        ferry_blob_create(device, FERRY_F32, &channels, 1, &f->made[1])) {
        discard(f);
        return NULL;
    }
    f->next = f->layer->folds;
    f->layer->folds = f;
    return f;
}

/* The fold that an item has so far; a fold without steps if it has none. */
static struct ferry__fold so_far(const struct ferry__item *item)
{
    struct ferry__fold f = { .layer = item->layer, .number = item->number };

    if (item->fold)
        return *item->fold;
    f.weights = item->in[1].blob;
    f.bias = item->op.n_in > 2 ? item->in[2].blob : NULL;
    measure(&item->op, &f);
    return f;
}

/*
 * Gives an item the weights and the bias of a fold. The copies of its former fold stay allocated
 * for other programs.
 */
static int adopt(struct ferry__item *item, const struct ferry__fold *like)
{
    int64_t channels = item->op.out[0].shape[1];
    struct ferry__fold *f = find(like);

    if (!f)
        f = make(like, channels);
    if (!f)
        return no_memory(item->layer);
    item->fold = f;
    item->in[1].blob = f->made[0];
    if (item->op.n_in == 2)
        item->op.n_in = 3;
    item->op.in[2] = ferry_operand_make(FERRY_F32, &channels, 1, NULL);
    item->op.constants |= 1u << 2;
    item->in[2] = (struct ferry__use){ .value = -1, .blob = f->made[1] };
    return 1;
}

int ferry__fold_try(struct ferry__program *p, struct ferry__item *item,
                    const struct ferry__item *by)
{
    const ferry_operand *y = &item->op.out[0];
    struct ferry__fold_step step;
    struct ferry__fold like;

    if (!can_fold(p, item) || (item->fold && item->fold->n_steps == FERRY__FOLD_STEPS) ||
        !step_of(p, y->shape[0], y->shape[1], by, &step))
        return 0;
    like = so_far(item);
    like.step[like.n_steps++] = step;
    return adopt(item, &like);
}

/* ---- affine functions without weights -------------------------------------------------------- */

/*
 * Makes a fold whose first step is the affine item itself. 1 or 0. Sums of the net's inputs are not
 * reordered: an input looks constant here, and (x + a) + b may cancel where x + (a + b) does not.
 */
static int as_fold(const struct ferry__program *p, const struct ferry__item *item,
                   struct ferry__fold *out)
{
    const ferry_operand *y = &item->op.out[0];
    uint32_t function = item->op.params.binary.function;

    if (item->op.n_epilogue) /* the epilogue's steps follow the function */
        return 0;
    if (item->fold)
        *out = *item->fold;
    if (item->fold)
        return 1;
    *out = (struct ferry__fold){ .layer = item->layer, .number = item->number, .n_steps = 1 };
    return item->op.kind == FERRY_OP_BINARY && y->rank == 3 &&
           (function == FERRY_BINARY_NORMALISE || function == FERRY_BINARY_SCALE) &&
           y->dtype == FERRY_F32 && step_of(p, y->shape[0], y->shape[1], item, &out->step[0]);
}

int ferry__fold_pair(struct ferry__program *p, struct ferry__item *item,
                     const struct ferry__item *by)
{
    const ferry_operand *y = &item->op.out[0];
    const int64_t shape[3] = { 1, y->shape[1], 1 };
    ferry_operation_plan plan = { 0 };
    ferry_op_desc op = item->op;
    struct ferry__fold like, *f;
    int err;

    if (!as_fold(p, item, &like) || like.n_steps == FERRY__FOLD_STEPS ||
        !step_of(p, y->shape[0], y->shape[1], by, &like.step[like.n_steps]))
        return 0;
    like.n_steps++;
    op.params.binary.function = FERRY_BINARY_SCALE;
    op.in[1] = op.in[2] = ferry_operand_make(FERRY_F32, shape, 3, NULL);
    op.n_in = 3;
    err = ferry__item_query(item, &op, &plan);
    if (err || plan.tier > item->tier || plan.steps > item->steps)
        return err;
    f = find(&like);
    if (!f)
        f = make(&like, shape[1]);
    if (!f)
        return no_memory(item->layer);
    item->fold = f;
    item->op = op;
    item->in[1] = (struct ferry__use){ .value = -1, .blob = f->made[0] };
    item->in[2] = (struct ferry__use){ .value = -1, .blob = f->made[1] };
    return 1;
}

/* ---- affine functions before the item -------------------------------------------------------- */

/* Whether a step maps 0, the value of padding, to 0. */
static bool keeps_zero(const struct ferry__fold_step *s)
{
    return s->kind == FERRY_OP_UNARY ? s->c == 0 : s->function == FERRY_BINARY_SCALE && !s->v;
}

static bool is_padded(const ferry_op_desc *op)
{
    int i;

    for (i = 0; i < FERRY_OP_SPATIAL && op->kind == FERRY_OP_CONVOLUTION; i++)
        if (op->params.window.pad[i])
            return true;
    return false;
}

/*
 * The number of channels of the input of an item. An inner product reads several elements of each
 * channel: the channel count comes from the producer, if there is one.
 */
static int64_t channels_before(const struct ferry__item *item, const struct ferry__item *by)
{
    const ferry_operand *y = &by->op.out[0];

    if (item->op.kind == FERRY_OP_CONVOLUTION)
        return item->op.in[0].shape[1];
    return by->op.kind == FERRY_OP_BINARY && y->rank == 3 && y->shape[1] ? y->shape[1] : 1;
}

/*
 * Adds one more step before the item; false if its channels differ from those of the later steps.
 */
static bool add_before(struct ferry__fold *f, const struct ferry__fold_step *step, int64_t channels)
{
    int64_t all = f->inputs * f->span;

    if (f->n_before && f->inputs > 1 && channels > 1 && channels != f->inputs)
        return false;
    if (!f->n_before || f->inputs == 1) {
        f->inputs = channels;
        f->span = all / channels;
    }
    f->before[f->n_before++] = *step;
    return true;
}

static bool takes_before(const struct ferry__program *p, const struct ferry__item *item)
{
    return can_fold(p, item) && (!item->fold || item->fold->n_before < FERRY__FOLD_STEPS) &&
           !(item->op.kind == FERRY_OP_CONVOLUTION && item->op.params.window.transposed);
}

int ferry__fold_before(struct ferry__program *p, struct ferry__item *item,
                       const struct ferry__item *by)
{
    int64_t channels = channels_before(item, by);
    struct ferry__fold_step step;
    struct ferry__fold like;

    if (!takes_before(p, item) || !step_of(p, item->op.in[0].shape[0], channels, by, &step) ||
        (is_padded(&item->op) && !keeps_zero(&step)))
        return 0;
    like = so_far(item);
    return add_before(&like, &step, channels) ? adopt(item, &like) : 0;
}

/* ---- all folds ------------------------------------------------------------------------------- */

void ferry__folds_forget(ferry_net *net)
{
    struct ferry__fold *f;
    int i;

    for (i = 0; i < net->n_layers; i++)
        for (f = net->layers[i].folds; f; f = f->next)
            f->version = 0;
}

void ferry__folds_end(ferry_net *net)
{
    int i;

    for (i = 0; i < net->n_layers; i++)
        while (net->layers[i].folds) {
            struct ferry__fold *f = net->layers[i].folds;

            net->layers[i].folds = f->next;
            discard(f);
        }
}
