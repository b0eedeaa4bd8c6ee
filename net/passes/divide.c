/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Divides the images of a batch among the processors of a device: consecutive items whose results
 * for an image depend on that image alone run as chains (op/chain.h). Values that only they use
 * get memory for a sub-batch of each chain.
 */
#include "net/passes/divide.h"

#include "net/passes/passes.h"

#include "op/operand.h"
#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
}

/* ---- which items can be divided -------------------------------------------------------------- */

/* Whether axis 0 of the kind's operands divides its work, and constants have no such axis. */
static bool divides(const ferry_op_desc *op)
{
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
    case FERRY_OP_POOL:
    case FERRY_OP_UNARY:
    case FERRY_OP_BINARY:
    case FERRY_OP_LRN:
    case FERRY_OP_STRIDED_COPY:
    case FERRY_OP_RESIZE:
        return true;
    case FERRY_OP_SOFTMAX:
        return op->params.softmax.axis != 0;
    default:
        return false;
    }
}

/* Whether input k is one that all images share. */
static bool is_shared(const ferry_op_desc *op, uint32_t k)
{
    uint32_t i, own = ferry_op_own_inputs(op);

    for (i = 0; i < op->n_epilogue; i++)
        if (op->epilogue[i].operand == k && op->epilogue[i].step != FERRY_STEP_UNARY)
            return op->epilogue[i].step != FERRY_STEP_ADD;
    if (op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT)
        return k > 0 && k < own;
    return op->kind == FERRY_OP_BINARY && k > 0 && k < own && op->in[k].rank &&
           op->in[k].shape[0] == 1;
}

/* Whether an operand is `images` equal parts of its value, one after the other along axis 0. */
static bool has_images(const struct ferry__program *p, const ferry_operand *o,
                       const struct ferry__use *use, int64_t images)
{
    const struct ferry__value *v;

    if (use->value < 0 || use->diff || !o->rank || o->shape[0] != images)
        return false;
    v = &p->values[ferry__value_root(p, use->value)];
    return v->count > 0 && v->count % images == 0 && o->stride[0] == v->count / images &&
           use->start + ferry__value_start(p, use->value) < o->stride[0];
}

/* The number of images that an item can be divided into; 0: it cannot. */
static int64_t images_of(const struct ferry__program *p, const struct ferry__item *item)
{
    const ferry_op_desc *op = &item->op;
    int64_t images = op->n_out && op->out[0].rank ? op->out[0].shape[0] : 0;
    uint32_t k;

    if (item->call || item->back || item->in_parts || item->whole || item->left ||
        item->tier != FERRY_TIER_OWN || op->pass != FERRY_PASS_FORWARD || images < 2 ||
        !divides(op))
        return 0;
    for (k = 0; k < op->n_in; k++)
        if (is_shared(op, k) ? item->in[k].value >= 0
                             : !has_images(p, &op->in[k], &item->in[k], images))
            return 0;
    for (k = 0; k < op->n_out; k++)
        if (!has_images(p, &op->out[k], &item->out[k], images))
            return 0;
    return images;
}

/* The item's operation for another number of images. */
static ferry_op_desc op_for(const struct ferry__item *item, int64_t images)
{
    ferry_op_desc op = item->op;
    uint32_t k;

    for (k = 0; k < op.n_in; k++)
        if (!is_shared(&item->op, k))
            op.in[k].shape[0] = images;
    for (k = 0; k < op.n_out; k++)
        op.out[k].shape[0] = images;
    return op;
}

/* 1 if the device computes the item for fewer images as for all of them; 0; an error. */
static int runs_alike(struct ferry__item *item, int64_t images)
{
    ferry_operation_plan all = { 0 }, some = { 0 };
    ferry_op_desc op = op_for(item, images);
    int err = ferry__item_query(item, &item->op, &all);

    if (!err)
        err = ferry__item_query(item, &op, &some);
    if (err)
        return err;
    return some.tier == all.tier && some.steps == all.steps && some.math == all.math &&
           some.packed_bytes == all.packed_bytes;
}

/* ---- their work ------------------------------------------------------------------------------ */

static double bytes_of(const ferry_operand *o)
{
    return (double)ferry__operand_count(o) * (double)ferry_dtype_size((ferry_dtype)o->dtype);
}

/*
 * The smallest number of images for which the device computes the item as for all of them: Winograd
 * tiles depend on it. 0: none that leaves a sub-batch for each chain. Otherwise an error.
 */
static int64_t least_of(struct ferry__item *item, int64_t images, uint32_t chains)
{
    int64_t k;
    int alike;

    for (k = 1; k <= images / chains; k++) {
        alike = runs_alike(item, k);
        if (alike)
            return alike < 0 ? alike : k;
    }
    return 0;
}

static void describe(const struct ferry__item *item, int index, int64_t images,
                     struct ferry__divisible *out)
{
    const ferry_op_desc *op = &item->op;
    const ferry_operand *w = &op->in[1];
    uint32_t k;

    memset(out, 0, sizeof *out);
    out->item = index;
    for (k = 0; k < op->n_in; k++)
        *(is_shared(op, k) ? &out->weights : &out->in) += bytes_of(&op->in[k]);
    for (k = 0; k < op->n_out; k++)
        out->out += bytes_of(&op->out[k]);
    if ((op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT) && w->shape[0])
        out->products = (double)ferry__operand_count(&op->out[0]) / (double)images *
                        (double)ferry__operand_count(w) / (double)w->shape[0];
    out->in /= (double)images;
    out->out /= (double)images;
}

/* ---- divisions ------------------------------------------------------------------------------- */

/* Gives the items of a division the images of its largest sub-batches; 1, 0: not alike, errors. */
static int set_items(struct ferry__program *p, const struct ferry__division *d, int number)
{
    int64_t most = ferry__chains_most(&d->chains), least = ferry__chains_least(&d->chains);
    int i, alike = 1;

    for (i = d->first; alike == 1 && i <= d->last; i++) {
        if (p->items[i].dropped)
            continue;
        alike = runs_alike(&p->items[i], most);
        if (alike == 1 && least < most)
            alike = runs_alike(&p->items[i], least);
    }
    for (i = d->first; alike == 1 && i <= d->last; i++) {
        if (p->items[i].dropped)
            continue;
        p->items[i].op = op_for(&p->items[i], most);
        p->items[i].division = number;
    }
    return alike;
}

static bool is_written_first(const struct ferry__program *p, int value)
{
    const struct ferry__item *item = &p->items[p->values[value].first];
    bool written = false;
    uint32_t k;

    for (k = 0; k < item->op.n_in; k++)
        if (item->in[k].value >= 0 && ferry__value_root(p, item->in[k].value) == value)
            return false;
    for (k = 0; k < item->op.n_out; k++)
        written |= item->out[k].value >= 0 && ferry__value_root(p, item->out[k].value) == value;
    return written;
}

/* Gives a value that item `at` uses first, and the division alone, the images of a sub-batch. */
static void set_value(struct ferry__program *p, const struct ferry__division *d, int number, int at,
                      int value, const bool *called)
{
    struct ferry__value *v;

    if (value < 0)
        return;
    value = ferry__value_root(p, value);
    v = &p->values[value];
    if (v->division == number || v->own || v->seen || v->first != at || v->end > d->last ||
        called[value] || !is_written_first(p, value))
        return;
    v->division = number;
    v->count = v->count / d->chains.images * ferry__chains_most(&d->chains);
}

/* Gives the values that the division alone uses the images of a chain's sub-batch. */
static void set_values(struct ferry__program *p, const struct ferry__division *d, int number,
                       const bool *called)
{
    uint32_t k;
    int i;

    for (i = d->first; i <= d->last; i++) {
        const struct ferry__item *item = &p->items[i];

        for (k = 0; !item->call && !item->dropped && k < item->op.n_in; k++)
            set_value(p, d, number, i, item->in[k].value, called);
        for (k = 0; !item->call && !item->dropped && k < item->op.n_out; k++)
            set_value(p, d, number, i, item->out[k].value, called);
    }
}

static int add(struct ferry__program *p, const struct ferry__division *d, const bool *called)
{
    struct ferry__division *grown =
        realloc(p->divisions, (size_t)(p->n_divisions + 1) * sizeof *grown);
    int alike;

    if (!grown)
        return no_memory();
    p->divisions = grown;
    alike = set_items(p, d, p->n_divisions + 1);
    if (alike < 1)
        return alike;
    grown[p->n_divisions++] = *d;
    set_values(p, d, p->n_divisions, called);
    return 0;
}

/* The work of ferry__divide. */
struct dividing {
    struct ferry__program *p;
    ferry_op_chains device;
    struct ferry__divisible *list; /* a stretch of items that can be divided; room for all items */
    bool *called;                  /* for each value: a layer's own function or a segment uses it */
};

/* Divides a stretch of `n` items with the same number of images. */
static int divide(struct dividing *w, int n, int64_t images)
{
    struct ferry__divided *parts = malloc((size_t)n * sizeof *parts);
    int i, count, err = 0;

    if (!parts)
        return no_memory();
    count = ferry__divide_choose(&w->device, w->list, n, images, parts);
    for (i = 0; !err && i < count; i++) {
        struct ferry__division d = { .first = w->list[parts[i].first].item,
                                     .last = w->list[parts[i].last].item,
                                     .block = -1,
                                     .chains = { .count = w->device.count,
                                                 .images = images,
                                                 .pieces = w->device.count * parts[i].rounds,
                                                 .to = parts[i].rounds } };

        err = add(w->p, &d, w->called);
    }
    free(parts);
    return err ? err : count < 0 ? count : 0;
}

/* Whether two items run on one queue of the net's device. */
static bool run_together(const struct ferry__program *p, const struct ferry__item *a,
                         const struct ferry__item *b)
{
    return a->layer->device == p->net->device && b->layer->device == p->net->device &&
           ferry_layer_queue(a->layer) == ferry_layer_queue(b->layer);
}

/* Describes an item that can be divided; the number of its images, 0: it cannot, or an error. */
static int64_t consider(struct dividing *w, int index, struct ferry__divisible *out)
{
    struct ferry__item *item = &w->p->items[index];
    int64_t images = run_together(w->p, item, item) ? images_of(w->p, item) : 0;
    int64_t least = images ? least_of(item, images, w->device.count) : 0;

    if (least <= 0)
        return least;
    describe(item, index, images, out);
    out->least = least;
    return images;
}

static int divide_stretches(struct dividing *w)
{
    struct ferry__item *items = w->p->items;
    int64_t images = 0;
    int i, n = 0, err = 0;

    for (i = 0; !err && i < w->p->n_items; i++) {
        struct ferry__divisible next;
        int64_t here;

        if (items[i].dropped)
            continue;
        here = consider(w, i, &next);
        if (n && (here != images || !run_together(w->p, &items[i], &items[w->list[0].item]))) {
            err = divide(w, n, images);
            n = 0;
        }
        err = here < 0 ? (int)here : err;
        images = here;
        if (here > 0)
            w->list[n++] = next;
    }
    return err || !n ? err : divide(w, n, images);
}

/* Marks the values that items other than operations use. */
static void mark_called(struct dividing *w)
{
    const struct ferry__program *p = w->p;
    int i, k;

    for (i = 0; i < p->n_items; i++) {
        const struct ferry__item *item = &p->items[i];
        const ferry_layer *layer = item->layer;

        if (!item->call || item->dropped)
            continue;
        for (k = 0; item->claim && k < item->n_reads + item->n_writes; k++)
            w->called[ferry__value_root(p, item->border_values[k])] = true;
        for (k = 0; !item->claim && k < layer->n_bottoms + layer->n_tops; k++) {
            int blob = k < layer->n_bottoms ? layer->bottoms[k] : layer->tops[k - layer->n_bottoms];
            int value = p->of_blob[ferry__net_root(p->net, blob)];

            if (value >= 0)
                w->called[ferry__value_root(p, value)] = true;
        }
    }
}

int ferry__divide(struct ferry__program *p)
{
    const ferry_device_properties *device = ferry_device_get_properties(p->net->device);
    struct dividing w = { .p = p };
    int err;

    if (!p->net->plan || p->net->backward || p->net->debug || device->offset_alignment > 1 ||
        device->max_binding)
        return 0;
    ferry__chains_of(p->net->device, &w.device);
    if (!w.device.count)
        return 0;
    w.list = malloc(((size_t)p->n_items + 1) * sizeof *w.list);
    w.called = calloc((size_t)p->n_values + 1, sizeof *w.called);
    if (w.list && w.called) {
        mark_called(&w);
        err = divide_stretches(&w);
    } else {
        err = no_memory();
    }
    free(w.called);
    free(w.list);
    return err;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int prepare_fewer(const struct ferry__division *d, struct ferry__item *item)
{
    int64_t least = ferry__chains_least(&d->chains);
    ferry_op_desc op = op_for(item, least);

    if (least == ferry__chains_most(&d->chains))
        return 0;
    return ferry__layer_failed(item->layer,
                               ferry_operation_create(item->layer->device, &op, &item->fewer));
}

int ferry__divide_prepare(struct ferry__program *p)
{
    size_t uses = FERRY_OP_INPUTS + FERRY_OP_OUTPUTS + FERRY__PACKED_MAX;
    int i, most = 0, err = 0;

    for (i = 0; !err && i < p->n_items; i++)
        if (p->items[i].division && !p->items[i].dropped)
            err = prepare_fewer(&p->divisions[p->items[i].division - 1], &p->items[i]);
    for (i = 0; i < p->n_divisions; i++)
        if (p->divisions[i].last - p->divisions[i].first >= most)
            most = p->divisions[i].last - p->divisions[i].first + 1;
    if (err || !most)
        return err;
    p->n_runs = 2 * (size_t)most;
    p->n_uses = p->n_runs * uses;
    p->runs = calloc(p->n_runs, sizeof *p->runs);
    p->uses = calloc(p->n_uses, sizeof *p->uses);
    if (!p->runs || !p->uses)
        return no_memory();
    return 0;
}
