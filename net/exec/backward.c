/* SPDX-License-Identifier: BSD-2-Clause */
/* The backward pass: the items of the programs, from the last layer to the first. */
#include "net/exec/exec.h"
#include "net/exec/traced.h"
#include "net/model/call.h"

#include <ferry/profile.h>
#include <ferry/status.h>

/*
 * Initializes the diff of a top that has a loss weight with this weight, unless the program has
 * written the diff.
 */
static int seed(const ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < layer->n_tops; i++) {
        ferry_blob *top = ferry_layer_top_at(layer, i);

        if (layer->loss_weights[i] != 0 && ferry_blob_element_count(top) &&
            ferry_memory_head(ferry_blob_diff_memory(top)) == FERRY_HEAD_UNINITIALIZED)
            err = ferry_blob_fill_diff(top, layer->loss_weights[i]);
    }
    return err;
}

/* Whether an operation or function of the layer computes the needed diffs. */
static bool has_backward(const ferry_layer *layer)
{
    int i;

    if (layer->type->backward || layer->backward.count ||
        layer->type->flags & FERRY_LAYER_EMPTY_BACKWARD)
        return true;
    for (i = 0; i < layer->n_tops; i++)
        if (layer->alias[i] >= 0 || !ferry_blob_element_count(ferry_layer_top_at(layer, i)))
            return true;
    for (i = 0; i < layer->n_bottoms; i++)
        if (layer->propagate[i])
            return false;
    return true;
}

/* Whether layers first … last have the results of a forward pass for the current shapes. */
static bool is_ready(const ferry_net *net, int first, int last)
{
    int i;

    if (!ferry__net_is_shaped(net))
        return false;
    for (i = first; i <= last; i++)
        if (net->layers[i].fresh || !ferry__stage_of(net, i)->now)
            return false;
    return true;
}

static int check(const ferry_net *net, int first, int last)
{
    int i;

    if (!net->backward)
        return ferry_error_set(FERRY_EINVAL,
                               "net \"%s\": it is in phase TEST and was opened without `backward`",
                               net->name);
    if (net->plan_training && (first > 0 || last < net->n_layers - 1))
        return ferry_error_set(FERRY_EINVAL,
                               "net \"%s\": running a part of it backward excludes plan_training, "
                               "by which its blobs share memory",
                               net->name);
    if (!is_ready(net, first, last))
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": its shapes have changed since forward",
                               net->name);
    if (net->plan_training && !net->forwarded)
        return ferry_error_set(FERRY_EINVAL,
                               "net \"%s\": with plan_training each backward pass requires a "
                               "forward pass of its own",
                               net->name);
    for (i = 0; i < net->n_layers; i++) {
        const ferry_layer *layer = &net->layers[i];

        if (layer->refused)
            return ferry_layer_error(layer, FERRY_EUNSUPPORTED, "%s %s", layer->type->name,
                                     layer->refused);
        if (layer->needs_backward && !has_backward(layer))
            return ferry_layer_error(layer, FERRY_EUNSUPPORTED, "this type has no backward");
    }
    return 0;
}

/* Completes the submitted work before a layer's values are logged. */
static int log_layers(ferry_net *net, struct ferry__submission *s, int last, int first)
{
    int err = net->debug && last >= first ? ferry__submission_end(s, 0) : 0;

    return err || !net->debug ? err : ferry__debug_backward(net, last, first);
}

static bool has_params(const ferry_net *net, int last, int first)
{
    int i;

    for (i = last; i >= first; i--)
        if (net->layers[i].n_params)
            return true;
    return false;
}

/*
 * Calls ferry__training_on_layer's function for layers last … first, whose operations have been
 * submitted.
 */
static int hand_on(ferry_net *net, struct ferry__submission *s, int last, int first)
{
    int i, err;

    if (!net->on_layer || !has_params(net, last, first))
        return 0;
    err = ferry__submission_failed(s, NULL, ferry__submission_end(s, 0));
    for (i = last; !err && i >= first; i--)
        if (net->layers[i].n_params)
            err = net->on_layer(net->on_layer_arg, i);
    return err;
}

/* Finishes layers last … first. */
static int leave(ferry_net *net, struct ferry__submission *s, int last, int first)
{
    int err = log_layers(net, s, last, first);

    return err ? err : hand_on(net, s, last, first);
}

/* Runs the layers of a stage's program that are among first … last. */
static int run(ferry_net *net, const struct ferry__program *p, struct ferry__submission *s,
               int first, int last)
{
    bool is_whole = first == 0 && last == net->n_layers - 1 && !net->debug;
    int i, reported = last < p->last_layer ? last : p->last_layer;
    int err = ferry__parts_begin(p, p->back, p->n_back, first, last);

    for (i = 0; !err && i < p->n_back; i++) {
        const struct ferry__item *item = &p->back[i];

        if (item->dropped || item->layer->index < first || item->layer->index > last ||
            (is_whole ? item->in_parts : item->whole))
            continue;
        err = leave(net, s, reported, item->layer->index + 1);
        reported = item->layer->index;
        if (!err)
            err = ferry__submission_failed(s, item->layer, ferry__item_run_apart(s, p, item));
    }
    return err ? err : leave(net, s, reported, first > p->first_layer ? first : p->first_layer);
}

static int backward(ferry_net *net, int first, int last)
{
    struct ferry__submission s;
    int i, err = check(net, first, last);

    for (i = first; !err && i <= last; i++)
        err = ferry__layer_failed(&net->layers[i], seed(&net->layers[i]));
    if (err)
        return err;
    net->forwarded = false;
    net->traced = ferry_trace_is_on();
    ferry__submission_init(&s, net->runs, FERRY__NET_RUNS, net->uses, FERRY__NET_USES);
    for (i = net->stage_count; !err && i-- > 0;)
        if (net->stages[i].first <= last && net->stages[i].last >= first)
            err = run(net, net->stages[i].now, &s, first, last);
    err = err ? ferry__submission_end(&s, err)
              : ferry__submission_failed(&s, NULL, ferry__submission_end(&s, 0));
    if (err == FERRY_ENOMEM)
        ferry__net_yield(net, net->plan_training);
    if (!err && net->debug)
        err = ferry__debug_params(net);
    net->passes[1] += net->measured && !err;
    return ferry__net_failed(net, err);
}

int ferry_net_backward(ferry_net *net)
{
    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_backward: NULL net");
    return backward(net, 0, net->n_layers - 1);
}

int ferry_net_backward_range(ferry_net *net, const char *from, const char *to)
{
    int first, last;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_backward_range: NULL net");
    last = from ? ferry__net_find_layer(net, from) : net->n_layers - 1;
    first = to ? ferry__net_find_layer(net, to) : 0;
    if (first < 0 || last < 0)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no layer \"%s\"", net->name,
                               last < 0 ? from : to);
    if (first > last)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": layer \"%s\" comes before \"%s\"",
                               net->name, from ? from : "", to ? to : "");
    return backward(net, first, last);
}

int ferry_net_clear_param_diffs(ferry_net *net)
{
    int i, k, err = 0;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_clear_param_diffs: NULL net");
    for (i = 0; !err && i < net->n_layers; i++)
        for (k = 0; !err && k < net->layers[i].n_params; k++)
            if (net->layers[i].params[k].owner == i)
                err = ferry_blob_fill_diff(net->layers[i].params[k].blob, 0);
    return err;
}
