/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a net: the items of its stages' programs, in segments. */
#include "net/exec/measure.h"
#include "net/ir/program.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* ---- the loss ------------------------------------------------------------------------------------ */

/* Adds loss weight times top to *loss, over the weighted tops that a later layer overwrites, or over the others. */
static int add_loss(const ferry_layer *layer, bool overwritten, double *loss)
{
    int i;

    for (i = 0; i < layer->n_tops; i++) {
        const ferry_blob *top = ferry_layer_top_at(layer, i);
        const float *values;
        int64_t k;
        double sum = 0;

        if (layer->loss_weights[i] == 0 || ferry__layer_top_is_overwritten(layer, i) != overwritten)
            continue;
        values = ferry_blob_host_data(top);
        if (!values)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_element_count(top); k++)
            sum += (double)values[k];
        *loss += layer->loss_weights[i] * sum;
    }
    return 0;
}

/* The loss of layers first … last at the end of their pass. */
static int loss_of(const ferry_net *net, int first, int last, double *out)
{
    double loss = 0;
    int i, err = 0;

    for (i = first; !err && i <= last; i++) {
        loss += net->layers[i].early_loss;
        err = ferry__layer_failed(&net->layers[i], add_loss(&net->layers[i], false, &loss));
    }
    if (!err)
        *out = loss;
    return err;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Where an operand is: a blob's memory, or a part of an arena. */
static void place_of(const struct ferry__program *p, const struct ferry__use *use, uint32_t dtype,
                     ferry_operation_location *out)
{
    const struct ferry__value *v = use->value < 0 ? NULL : &p->values[use->value];
    const ferry_blob *blob;
    int64_t start = use->start + ferry__value_start(p, use->value);

    while (v && v->within >= 0)
        v = &p->values[v->within];
    blob = v ? v->blob : use->blob;
    out->offset = (uint64_t)start * ferry_dtype_size((ferry_dtype)dtype);
    if (v && !v->own) {
        out->memory = ferry__arena_of(p->net, v);
        out->offset += v->offset;
    } else {
        out->memory = use->diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
    }
}

static int64_t elements_of(const ferry_operand *o)
{
    int64_t count = 1;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        count *= o->shape[i];
    return count;
}

static int run_operation(struct ferry__segment *s, const struct ferry__program *p,
                         const struct ferry__item *item)
{
    ferry_operation_location in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = out };
    const ferry_op_desc *op = &item->op;
    uint32_t i;

    for (i = 0; i < op->n_in; i++) {
        place_of(p, &item->in[i], op->in[i].dtype, &in[i]);
        if (!in[i].memory) /* a diff's is made when it is asked for */
            return ferry_last_error_code();
    }
    for (i = 0; i < op->n_out; i++) {
        place_of(p, &item->out[i], op->out[i].dtype, &out[i]);
        if (!out[i].memory)
            return ferry_last_error_code();
    }
    args.seed = p->net->seed + (uint64_t)p->net->rank * UINT64_C(0x9e3779b97f4a7c15);
    args.offset = p->net->drawn;
    if (op->kind == FERRY_OP_RANDOM) /* four of a block: the next one, and the next run, go on */
        p->net->drawn += ((uint64_t)elements_of(&op->out[0]) + 3) / 4;
    return ferry__segment_add(s, item->prepared, ferry_layer_queue(item->layer), &args);
}

/* Whether a parameter has been written since the layer prepared. */
static bool params_changed(ferry_layer *layer)
{
    uint64_t version = 1;
    int i;

    for (i = 0; i < layer->n_params; i++)
        version = ferry__contents(version, layer->params[i].blob);
    if (version == layer->prepared)
        return false;
    layer->prepared = version;
    return true;
}

static int prepare_layer(ferry_layer *layer)
{
    int err;

    if (!layer->type->prepare || !params_changed(layer))
        return 0;
    err = layer->type->prepare(layer);
    if (err)
        layer->prepared = 0;
    return err;
}

/* What is made of parameters, by layers and by folding. */
static int prepare(ferry_net *net, const struct ferry__program *p, int first, int last)
{
    int i, err = 0;

    for (i = first; !err && i <= last; i++)
        err = ferry__layer_failed(&net->layers[i], prepare_layer(&net->layers[i]));
    for (i = 0; !err && i < p->n_items; i++)
        if (p->items[i].fold && !p->items[i].dropped)
            err = ferry__layer_failed(p->items[i].layer, ferry__fold_refresh(p->items[i].fold));
    return err;
}

int ferry__segment_failed(const struct ferry__segment *s, const ferry_layer *layer, int err)
{
    if (s->failed)
        layer = s->failed;
    return layer ? ferry__layer_failed(layer, err) : err;
}

int ferry__item_run(struct ferry__segment *s, const struct ferry__program *p,
                    const struct ferry__item *item)
{
    const ferry_layer_type *type = item->layer->type;
    int err;

    s->who = item->layer;
    if (!item->call)
        return run_operation(s, p, item);
    err = ferry__segment_end(s, 0);
    if (err)
        return err;
    if (item->loss)
        return add_loss(item->layer, true, &item->layer->early_loss);
    return item->back ? type->backward(item->layer) : type->forward(item->layer);
}

/* ---- what is written in parts -------------------------------------------------------------------- */

static bool adds(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_SCATTER_ADD || op->pass == FERRY_PASS_BACKWARD_WEIGHTS ||
           op->pass == FERRY_PASS_BACKWARD_BIAS;
}

/* The memory of which an item writes a part, and the rest belongs to others; NULL: there is none. */
static ferry_memory *part_of(const struct ferry__program *p, const struct ferry__item *item,
                             uint32_t k)
{
    const struct ferry__use *use = &item->out[k];
    const ferry_blob *blob = use->value < 0 ? use->blob : p->values[use->value].blob;

    if (item->call || item->dropped || adds(&item->op) || !blob ||
        (ferry_operand_is_plain(&item->op.out[k]) && !use->start &&
         elements_of(&item->op.out[k]) == ferry_blob_element_count(blob)))
        return NULL;
    return use->diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
}

int ferry__parts_begin(const struct ferry__program *p, const struct ferry__item *items, int n_items,
                       int first, int last)
{
    uint32_t k;
    int i, err = 0;

    for (i = 0; !err && !p->net->plan && i < n_items; i++)
        for (k = 0; !err && k < items[i].op.n_out; k++) {
            int layer = items[i].layer->index;
            ferry_memory *m = layer < first || layer > last ? NULL : part_of(p, &items[i], k);
            bool host = items[i].tier == FERRY_TIER_HOST;
            ferry_ref ref;

            if (!m)
                continue;
            err = ferry_memory_access(m, host ? NULL : items[i].layer->device, FERRY_WRITE, NULL,
                                      &ref);
            if (err == FERRY_ELOST || err == FERRY_EDEVICE)
                err = ferry_memory_discard(m);
        }
    return err;
}

/* ---- passes -------------------------------------------------------------------------------------- */

/* Has what was submitted end before a layer's numbers are looked at. */
static int tell(ferry_net *net, struct ferry__segment *s, int first, int last)
{
    int err = net->debug && first <= last ? ferry__segment_end(s, 0) : 0;

    return err || !net->debug ? err : ferry__debug_forward(net, first, last);
}

/* The items of layers first … last. */
static int run_items(ferry_net *net, const struct ferry__program *p, struct ferry__segment *s,
                     int first, int last)
{
    int i, told = first, err = 0;

    for (i = 0; !err && i < p->n_items; i++) {
        const struct ferry__item *item = &p->items[i];

        if (item->dropped || item->layer->index < first || item->layer->index > last)
            continue;
        err = tell(net, s, told, item->layer->index - 1);
        told = item->layer->index;
        if (!err)
            err = ferry__segment_failed(s, item->layer,
                                        net->measured ? ferry__measure_item(s, p, item)
                                                      : ferry__item_run(s, p, item));
    }
    return err ? err : tell(net, s, told, last);
}

static bool has_fresh(const ferry_net *net, int first, int last)
{
    int i;

    for (i = first; i <= last; i++)
        if (net->layers[i].fresh)
            return true;
    return false;
}

/*
 * Reshapes layers first … last of one stage, and chooses their program. As in Caffe no other layer is reshaped:
 * those of the stage that would have to be get a stage of their own, since they may not fit the new shapes.
 */
static int choose(ferry_net *net, int first, int last, const struct ferry__program **out)
{
    int err = ferry__net_reshape(net, first, last);

    if (err)
        return err;
    if (has_fresh(net, ferry__stage_of(net, first)->first, first - 1))
        ferry__stage_cut(net, first);
    if (has_fresh(net, last + 1, ferry__stage_of(net, last)->last))
        ferry__stage_cut(net, last + 1);
    err = ferry__stage_choose(net, ferry__stage_of(net, first));
    *out = ferry__stage_of(net, first)->now;
    return err;
}

/* Layers first … last, of one stage. */
static int run_stage(ferry_net *net, struct ferry__segment *s, int first, int last)
{
    const struct ferry__program *p;
    int err = choose(net, first, last, &p);

    if (err)
        return err;
    err = prepare(net, p, first, last);
    if (!err)
        err = ferry__parts_begin(p, p->items, p->n_items, first, last);
    return err ? err : run_items(net, p, s, first, last);
}

static int run_stages(ferry_net *net, int first, int last)
{
    struct ferry__segment s;
    int at, to, err = 0;

    ferry__segment_init(&s, net->runs, FERRY__NET_RUNS, net->uses, FERRY__NET_USES);
    for (at = first; !err && at <= last; at = to + 1) {
        to = ferry__stage_of(net, at)->last;
        to = last < to ? last : to;
        err = run_stage(net, &s, at, to);
        if (!err && to < net->n_layers - 1)
            err = ferry__segment_failed(&s, NULL, ferry__segment_end(&s, 0));
    }
    return err ? ferry__segment_end(&s, err)
               : ferry__segment_failed(&s, NULL, ferry__segment_end(&s, 0));
}

static int forward(ferry_net *net, int first, int last, double *out_loss)
{
    double loss = 0;
    int i, err = ferry__params_fill(net);

    for (i = first; i <= last; i++)
        net->layers[i].early_loss = 0;
    if (!err)
        err = ferry__arenas_begin(net);
    if (!err)
        err = ferry__running_save(net, first, last);
    if (err)
        return err;
    err = run_stages(net, first, last);
    net->passes[0] += net->measured && !err;
    if (!err && out_loss)
        err = loss_of(net, first, last, &loss);
    if (err)
        return ferry__running_restore(net, first, last, err);
    if (out_loss)
        *out_loss = loss;
    return 0;
}

int ferry_net_forward(ferry_net *net, double *out_loss)
{
    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_forward: NULL net");
    return forward(net, 0, net->n_layers - 1, out_loss);
}

/* The layer of that name; −1, with an error that says so. */
static int layer_of(const ferry_net *net, const char *name)
{
    int i;

    for (i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layers[i].name, name))
            return i;
    ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no layer \"%s\"", net->name, name);
    return -1;
}

int ferry_net_forward_range(ferry_net *net, const char *from, const char *to, double *out_loss)
{
    int first, last;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_forward_range: NULL net");
    first = from ? layer_of(net, from) : 0;
    last = to ? layer_of(net, to) : net->n_layers - 1;
    if (first < 0 || last < 0)
        return FERRY_EINVAL;
    if (!net->keep_all && (first > 0 || last < net->n_layers - 1))
        return ferry_error_set(FERRY_EINVAL,
                               "net \"%s\": a part of it runs alone only with keep = {\"*\"}: its "
                               "blobs share memory and its layers are fused",
                               net->name);
    if (first > last)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": layer \"%s\" comes after \"%s\"",
                               net->name, from, to);
    return forward(net, first, last, out_loss);
}
