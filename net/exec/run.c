/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a net: submits the items of its stages' programs. */
#include "net/exec/exec.h"
#include "net/exec/traced.h"

#include "net/model/call.h"
#include "net/segment/segment.h"

#include "op/operation.h"
#include "op/origin.h"

#include <ferry/profile.h>
#include <ferry/status.h>

#include <string.h>

/* ---- before a pass --------------------------------------------------------------------------- */

/* Whether a parameter has been written since the layer's last prepare. */
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
    err = ferry__layer_call(layer, layer->type->prepare, "prepare");
    if (err)
        layer->prepared = 0;
    return err;
}

/* Whether an item reads its weights themselves, not only a form packed from them. */
static bool reads_weights(const struct ferry__item *item)
{
    return item->claimed || !item->prepared || !ferry__operation_packs(item->prepared, 1);
}

/* Whether an item reads folded weights themselves. */
static bool reads_fold(const struct ferry__item *item)
{
    return !item->integers && reads_weights(item);
}

/* Makes the constants readable that an item reads unpacked. */
static int keep_inputs(const struct ferry__item *item)
{
    uint32_t k;
    int err = 0;

    if (item->call || (item->dropped && !item->claimed))
        return 0;
    for (k = 0; !err && k < item->op.n_in; k++)
        if (item->in[k].value < 0 && !item->in[k].diff &&
            (item->claimed || !item->prepared || !ferry__operation_packs(item->prepared, k)))
            err = ferry__origin_keep(ferry_blob_data_memory(item->in[k].blob));
    return err;
}

/* Whether a layer's own functions read its parameters. */
static bool reads_params(const ferry_layer *layer)
{
    return layer->net->debug || layer->type->prepare || layer->type->forward;
}

/*
 * Makes the parameters readable that layers first … last read unpacked. Narrow forms end one by
 * one, so that few of them exist in both forms at a time.
 */
static int keep_params(ferry_net *net, const struct ferry__program *p, int first, int last)
{
    int i, k, err = 0;

    for (i = first; !err && net->lazy && i <= last; i++) {
        for (k = 0; !err && k < net->layers[i].n_params && reads_params(&net->layers[i]); k++)
            err = ferry__layer_failed(
                &net->layers[i],
                ferry__origin_keep(ferry_blob_data_memory(net->layers[i].params[k].blob)));
        ferry__narrow_trim(&net->layers[i]);
    }
    for (i = 0; !err && net->lazy && i < p->n_items; i++) {
        err = ferry__layer_failed(p->items[i].layer, keep_inputs(&p->items[i]));
        ferry__narrow_trim(p->items[i].layer);
    }
    return err;
}

/* Updates the data that layers and folds derive from parameters. */
static int prepare(ferry_net *net, const struct ferry__program *p, int first, int last)
{
    int i, err = keep_params(net, p, first, last);

    for (i = first; !err && i <= last; i++)
        err = ferry__layer_failed(&net->layers[i], prepare_layer(&net->layers[i]));
    for (i = 0; !err && i < p->n_items; i++)
        if (p->items[i].fold && (!p->items[i].dropped || p->items[i].claimed))
            err = ferry__layer_failed(
                p->items[i].layer,
                ferry__fold_refresh(p->items[i].fold, reads_fold(&p->items[i])));
    for (i = 0; !err && i < p->n_items; i++)
        if (p->items[i].integers)
            err = ferry__layer_failed(
                p->items[i].layer,
                ferry__integers_refresh(p->items[i].integers, reads_weights(&p->items[i])));
    return err;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Completes the submitted work before a layer's values are logged. */
static int log_layers(ferry_net *net, struct ferry__submission *s, int first, int last)
{
    int err = net->debug && first <= last ? ferry__submission_end(s, 0) : 0;

    return err || !net->debug ? err : ferry__debug_forward(net, first, last);
}

/* Runs the items of a division that are among items first … last, in its rounds from … to − 1. */
static int run_rounds(const struct ferry__program *p, const struct ferry__division *d, int first,
                      int last, int64_t from, int64_t to)
{
    struct ferry__chains chains = d->chains;
    struct ferry__submission s;
    int i, err = 0;

    chains.from = from;
    chains.to = to;
    ferry__submission_init(&s, p->runs, p->n_runs, p->uses, p->n_uses);
    s.chains = &chains;
    for (i = first; !err && i <= last; i++)
        if (!p->items[i].dropped)
            err = ferry__submission_failed(&s, p->items[i].layer,
                                           ferry__item_run_apart(&s, p, &p->items[i]));
    return err ? ferry__submission_end(&s, err)
               : ferry__submission_failed(&s, NULL, ferry__submission_end(&s, 0));
}

/* Runs a division; measured or traced, item by item in each round. */
static int run_division(ferry_net *net, const struct ferry__program *p,
                        const struct ferry__division *d, struct ferry__submission *s)
{
    int64_t round;
    int i, err = ferry__submission_failed(s, NULL, ferry__submission_end(s, 0));

    if (err || (!net->measured && !net->traced))
        return err ? err : run_rounds(p, d, d->first, d->last, 0, d->chains.to);
    for (round = 0; !err && round < d->chains.to; round++)
        for (i = d->first; !err && i <= d->last; i++)
            if (!p->items[i].dropped)
                err = run_rounds(p, d, i, i, round, round + 1);
    return err;
}

/* Runs the items of layers first … last. */
static int run_items(ferry_net *net, const struct ferry__program *p, struct ferry__submission *s,
                     int first, int last)
{
    int i, logged = first, err = 0;

    for (i = 0; !err && i < p->n_items; i++) {
        const struct ferry__item *item = &p->items[i];

        if (item->dropped || item->layer->index < first || item->layer->index > last)
            continue;
        err = log_layers(net, s, logged, item->layer->index - 1);
        logged = item->layer->index;
        if (!err && item->division) {
            const struct ferry__division *d = &p->divisions[item->division - 1];

            err = run_division(net, p, d, s);
            i = d->last;
        } else if (!err) {
            err = ferry__submission_failed(s, item->layer, ferry__item_run_apart(s, p, item));
        }
    }
    return err ? err : log_layers(net, s, logged, last);
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
 * Reshapes layers first … last of one stage and selects their program. As in Caffe no other layer
 * is reshaped: other layers of the stage that would require it get a stage of their own, since they
 * may not match the new shapes.
 */
static int choose(ferry_net *net, int first, int last, const struct ferry__program **out)
{
    int err = ferry__net_reshape(net, first, last);

    if (!err && net->starved)
        err = ferry__net_shrink(net, first, last);
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

/*
 * Prepares the stage of layers first … last. If a segment does not compile, the program is made
 * again without that segment.
 */
static int prepare_all(ferry_net *net, int first, int last, const struct ferry__program **p)
{
    struct ferry__stage *stage = ferry__stage_of(net, first);
    bool refused = true;
    int err = 0;

    while (!err && refused) {
        *p = stage->now;
        err = prepare(net, *p, first, last);
        if (!err)
            err = ferry__segments_prepare(stage->now, &refused);
        if (!err && refused)
            err = ferry__stage_remake(net, stage);
    }
    return err;
}

/*
 * The command lists of a stage's whole pass, which are reused as long as its program is. A pass
 * that is measured or traced, or has debug_info, submits each layer by itself and has no lists.
 */
static struct ferry__repeats *repeats_of(const ferry_net *net, int first, int last)
{
    const struct ferry__stage *stage = ferry__stage_of(net, first);

    if (net->measured || net->traced || net->debug || stage->first != first || stage->last != last)
        return NULL;
    stage->now->repeats.at = 0;
    return &stage->now->repeats;
}

/* Runs layers first … last of one stage. */
static int run_stage(ferry_net *net, struct ferry__submission *s, int first, int last)
{
    const struct ferry__program *p;
    int err = choose(net, first, last, &p);

    if (!err)
        err = prepare_all(net, first, last, &p);
    if (!err)
        err = ferry__parts_begin(p, p->items, p->n_items, first, last);
    if (err)
        return err;
    s->repeats = repeats_of(net, first, last);
    return run_items(net, p, s, first, last);
}

static int run_stages(ferry_net *net, int first, int last)
{
    struct ferry__submission s;
    int at, to, err = 0;

    ferry__submission_init(&s, net->runs, FERRY__NET_RUNS, net->uses, FERRY__NET_USES);
    for (at = first; !err && at <= last; at = to + 1) {
        to = ferry__stage_of(net, at)->last;
        to = last < to ? last : to;
        err = run_stage(net, &s, at, to);
        if (!err && to < net->n_layers - 1)
            err = ferry__submission_failed(&s, NULL, ferry__submission_end(&s, 0));
    }
    return err ? ferry__submission_end(&s, err)
               : ferry__submission_failed(&s, NULL, ferry__submission_end(&s, 0));
}

/* Adds up the loss of layers first … last at the end of their pass. */
static int loss_of(const ferry_net *net, int first, int last, double *out)
{
    double loss = 0;
    int i, err = 0;

    for (i = first; !err && i <= last; i++) {
        loss += net->layers[i].early_loss;
        err = ferry__layer_failed(&net->layers[i], ferry__loss_add(&net->layers[i], false, &loss));
    }
    if (!err)
        *out = loss;
    return err;
}

/*
 * The arenas have the size of the largest shapes so far. If that does not fit, the programs are
 * made anew, with arenas for the present shapes.
 */
static int begin_arenas(ferry_net *net)
{
    int err = ferry__arenas_begin(net);

    if (err == FERRY_ENOMEM) {
        ferry__stages_forget(net);
        err = 0;
    }
    return err;
}

static int forward(ferry_net *net, int first, int last, double *out_loss)
{
    double loss = 0;
    int i, err = ferry__params_fill(net);

    net->forwarded = false;
    net->starved = net->starved && first == 0 && last == net->n_layers - 1;
    ferry__stages_update(net);
    for (i = first; i <= last; i++)
        net->layers[i].early_loss = 0;
    if (!err)
        err = begin_arenas(net);
    if (!err)
        err = ferry__running_save(net, first, last);
    if (err)
        return ferry__net_failed(net, err);
    net->in_parts |= net->debug || first > 0 || last < net->n_layers - 1;
    net->traced = ferry_trace_is_on();
    err = run_stages(net, first, last);
    net->passes[0] += net->measured && !err;
    if (!err && out_loss)
        err = loss_of(net, first, last, &loss);
    if (err == FERRY_ENOMEM)
        ferry__net_yield(net, true);
    if (err)
        return ferry__net_failed(net, ferry__running_restore(net, first, last, err));
    net->forwarded = true;
    net->starved = false;
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

/* The layer with that name; −1 with an error if there is none. */
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
        return ferry_error_set(
            FERRY_EINVAL,
            "net \"%s\": running a part of it requires keep = {\"*\"}: otherwise its blobs share "
            "memory and its layers are fused",
            net->name);
    if (first > last)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": layer \"%s\" comes after \"%s\"",
                               net->name, from, to);
    return forward(net, first, last, out_loss);
}
