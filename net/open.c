/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* Opening and closing a net, and queries about its layers. */
#include "net/open.h"

#include "net/exec/exec.h"
#include "net/exec/measure.h"
#include "net/import/import.h"
#include "net/layers/layers.h"
#include "net/model/fake.h"
#include "net/model/graph.h"
#include "net/model/narrow.h"
#include "net/model/place.h"
#include "net/model/ranges.h"
#include "net/model/state.h"
#include "net/model/types.h"
#include "net/proto/tree.h"
#include "net/segment/segment.h"
#include "op/run.h"

#include <ferry/status.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

static char *kept_string(ferry_net *net, const char *s)
{
    return ferry__mem_copy(&net->arena, s, strlen(s));
}

/* The phase: that of the options, or of the prototxt's state, or TEST. */
static ferry_phase phase_of(const ferry_net *net, const ferry_net_options *o)
{
    const ferry_proto *state = ferry_proto_message(net->proto, "state", 0);

    if (o->phase)
        return o->phase;
    return ferry_proto_value_count(state, "phase") &&
                   !strcmp(ferry_proto_enum(state, "phase", 0), "TRAIN")
               ? FERRY_PHASE_TRAIN
               : FERRY_PHASE_TEST;
}

static bool is_kept(const ferry_net_options *o, const char *name)
{
    size_t i;

    for (i = 0; i < o->keep_count; i++)
        if (!strcmp(o->keep[i], name))
            return true;
    return false;
}

/* Marks the blobs named in keep; each name must exist. */
static int mark_kept(ferry_net *net, const ferry_net_options *o)
{
    size_t k;
    int i;

    for (k = 0; k < o->keep_count; k++) {
        if (!strcmp(o->keep[k], "*"))
            continue;
        i = ferry__net_find_blob(net, o->keep[k]);
        if (i < 0)
            return ferry_error_set(FERRY_EINVAL, "net \"%s\": keep: it has no blob \"%s\"",
                                   net->name, o->keep[k]);
        net->blobs[i].kept = true;
    }
    return 0;
}

/*
 * The permitted approximations of the precision that the options choose, or, unless the net runs
 * backward, the environment.
 */
static int find_precision(const ferry_net_options *o, bool backward, uint32_t *out_math)
{
    const char *text = getenv("FERRY_PRECISION");
    ferry_precision precision = o->precision;

    if ((unsigned)precision > FERRY_PRECISION_BF16)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_open: %d is not a precision",
                               (int)precision);
    if (!precision && text && *text) {
        if (strcmp(text, "f32") && strcmp(text, "bf16"))
            return ferry_error_set(FERRY_ECONF, "FERRY_PRECISION=%s: expected f32 or bf16", text);
        precision =
            backward || strcmp(text, "bf16") ? FERRY_PRECISION_F32 : FERRY_PRECISION_BF16;
    }
    *out_math = precision == FERRY_PRECISION_BF16 ? FERRY_MATH_BF16 : 0;
    return 0;
}

static int apply(ferry_net *net, const ferry_net_options *o)
{
    int err;

    if ((unsigned)o->phase > FERRY_PHASE_TEST)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_open: %d is not a phase", (int)o->phase);
    if (o->ranks < 0 || o->rank < 0 || o->rank >= (o->ranks ? o->ranks : 1))
        return ferry_error_set(FERRY_EINVAL, "ferry_net_open: rank %d of %d", o->rank, o->ranks);
    net->phase = phase_of(net, o);
    net->rank = o->rank;
    net->ranks = o->ranks ? o->ranks : 1;
    net->seed = o->seed ? o->seed : 1;
    net->backward = net->phase == FERRY_PHASE_TRAIN || o->backward;
    net->debug = ferry_proto_boolean(net->proto, "debug_info", 0);
    net->plan_training = net->backward && (o->plan_training || o->recompute) && !net->debug &&
                         !is_kept(o, "*");
    net->recompute = net->plan_training && o->recompute;
    net->keep_all = (net->backward && !net->plan_training) || net->debug || is_kept(o, "*");
    net->plan = !net->keep_all && !net->backward && !o->no_plan;
    net->only = o->only && !net->backward;
    net->reread = o->reread_weights && net->phase == FERRY_PHASE_TEST && !o->backward;
    net->lazy = net->reread;
    net->quantize =
        net->phase == FERRY_PHASE_TEST && !o->ignore_quantization && !o->fake_quantize;
    net->fuse = !net->keep_all && !net->backward && !o->no_fuse;
    err = find_precision(o, net->backward, &net->math);
    if (err)
        return err;
    if (o->fake_quantize && o->precision == FERRY_PRECISION_BF16)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_open: fake_quantize rounds in F32: it "
                                             "excludes the precision bf16");
    if (o->fake_quantize)
        net->math = 0;
    if (o->segments && !(net->segments = strdup(o->segments)))
        return ferry_error_set(FERRY_ENOMEM, "ferry_net_open: no memory");
    return o->place ? ferry__place_open(net->device, o->place, &net->place) : 0;
}

/* ---- the text -------------------------------------------------------------------------------- */

/*
 * Reads the definition. An ONNX model becomes a NetParameter; *out_model is NULL for any other
 * file.
 */
static int read_definition(ferry_net *net, const char *path, const ferry_net_options *o,
                           struct ferry__onnx_model **out_model)
{
    ferry_proto_options options = { .struct_size = sizeof options, .claims = ferry__types_claim };
    const char *line;
    int level, i, err;

    options.text = o->text;
    options.text_size = o->text_size;
    if (!o->text && ferry__import_is_onnx(path))
        err = ferry__import_open(path, out_model, &net->proto);
    else
        err = ferry_proto_open(path, "NetParameter", &options, &net->proto);
    if (!err)
        err = ferry_proto_upgrade(net->proto);
    for (i = 0; !err && i < ferry_proto_note_count(net->proto); i++)
        if (!ferry_proto_note_at(net->proto, i, &level, &line))
            ferry_log_write(level, "%s", line);
    if (err)
        return err;
    if (!ferry_proto_value_count(net->proto, "layer"))
        return ferry_error_set(FERRY_EFORMAT, "%s: it has no layers", path);
    net->name = kept_string(net, ferry_proto_string(net->proto, "name", 0, NULL));
    return net->name ? 0 : ferry_error_set(FERRY_ENOMEM, "%s: no memory", path);
}

/* Loads the blobs in a caffemodel, which are its net's initial parameters, as in Caffe. */
static int load_own(ferry_net *net, const char *path, const ferry_net_options *o)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(net->proto, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net->proto, "layer", i);

        if (!ferry_proto_value_count(layer, "blobs"))
            continue;
        if (ferry_proto_message(layer, "blobs", 0)->left && !o->text)
            return ferry_net_load(net, path, NULL);
        ferry_log_write(FERRY_LOG_WARN, "ferry: layer \"%s\": blobs are read from files only",
                        ferry_proto_string(layer, "name", 0, NULL));
    }
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_net(ferry_net *net, const char *path, const ferry_net_options *o,
                    const ferry_proto *over)
{
    struct ferry__onnx_model *model = NULL;
    struct ferry__net_conditions conditions;
    struct ferry__graph graph = { 0 };
    int i, err = ferry__net_allow_write(net, o->allow_write);

    if (!err)
        err = read_definition(net, path, o, &model);
    if (!err)
        err = apply(net, o);
    if (!err)
        err = ferry__conditions_make(net, o, over, &conditions);
    if (!err)
        err = ferry__graph_make(
            net, &conditions, o->fake_quantize ? &ferry__fake_quantize_layer : NULL, &graph);
    if (!err) {
        ferry__conditions_log(net, &conditions, &graph);
        err = ferry__net_build(net, &graph);
        ferry__place_warn(net->place);
    }
    if (!err)
        err = ferry__ranges_begin(net);
    if (!err)
        err = mark_kept(net, o);
    if (!err)
        err = ferry__stages_make(net);
    if (!err && net->backward)
        err = ferry__net_reshape(net, 0, net->n_layers - 1);
    for (i = 0; !err && i < net->stage_count; i++)
        err = ferry__stage_choose(net, &net->stages[i]);
    if (!err)
        err = model ? ferry__import_load(model, net) : load_own(net, path, o);
    ferry__import_close(model);
    return err;
}

/* The first of `count` strings that is NULL; `count` if there is none. */
static size_t first_null(const char *const *strings, size_t count)
{
    size_t i = 0;

    while (strings && i < count && strings[i])
        i++;
    return i;
}

int ferry__check_strings(const char *function, const char *name, const char *const *strings,
                         size_t count)
{
    size_t i = first_null(strings, count);

    if (i >= count)
        return 0;
    if (!strings)
        return ferry_error_set(FERRY_EINVAL, "%s: %s is NULL, its count is %zu", function, name,
                               count);
    return ferry_error_set(FERRY_EINVAL, "%s: %s[%zu] is NULL", function, name, i);
}

int ferry__check_size(const char *function, size_t size, size_t least)
{
    if (size >= least)
        return 0;
    return ferry_error_set(FERRY_EINVAL,
                           "%s: the options' struct_size is %zu, at least %zu is required",
                           function, size, least);
}

/* Checks the arguments of ferry_net_open; `o` is the known part of `options`. */
static int check_arguments(const ferry_device *dev, const char *prototxt,
                           const ferry_net_options *options, const ferry_net_options *o,
                           ferry_net *const *out)
{
    const char *missing = !dev ? "dev" : !out ? "out" : NULL;
    int err = options ? ferry__check_size("ferry_net_open", options->struct_size,
                                          offsetof(ferry_net_options, level))
                      : 0;

    if (!err && !missing && !prototxt && !o->text)
        missing = "prototxt";
    if (!err && missing)
        err = ferry_error_set(FERRY_EINVAL, "ferry_net_open: %s is NULL", missing);
    if (!err)
        err = ferry__check_strings("ferry_net_open", "stages", o->stages, o->stage_count);
    return err ? err : ferry__check_strings("ferry_net_open", "keep", o->keep, o->keep_count);
}

int ferry__net_open(ferry_device *dev, const char *prototxt, const ferry_net_options *options,
                    const ferry_proto *over, ferry_net **out)
{
    ferry_net_options told = { 0 };
    const ferry_net_options *o = &told;
    ferry_net *net;
    int err;

    if (options) /* the caller's structure may be from an older or a newer version */
        memcpy(&told, options,
               options->struct_size < sizeof told ? options->struct_size : sizeof told);
    err = check_arguments(dev, prototxt, options, o, out);
    if (err)
        return err;
    net = calloc(1, sizeof *net);
    if (!net)
        return ferry_error_set(FERRY_ENOMEM, "ferry_net_open: no memory");
    net->device = dev;
    net->unfilled = true;
    pthread_mutex_init(&net->filling, NULL);
    net->runs = calloc(FERRY__NET_RUNS, sizeof *net->runs);
    net->uses = calloc(FERRY__NET_USES, sizeof *net->uses);
    err = net->runs && net->uses ? 0 : ferry_error_set(FERRY_ENOMEM, "ferry_net_open: no memory");
    if (!err)
        err = open_net(net, prototxt ? prototxt : "", o, over);
    if (err) {
        ferry_net_close(net);
        return err;
    }
    *out = net;
    return 0;
}

int ferry_net_open(ferry_device *dev, const char *prototxt, const ferry_net_options *options,
                   ferry_net **out)
{
    return ferry__net_open(dev, prototxt, options, NULL, out);
}

static void close_layer(ferry_layer *layer)
{
    int i;

    if (layer->set_up && layer->type->destroy)
        layer->type->destroy(layer);
    for (i = 0; i < layer->n_params; i++) {
        ferry_blob_destroy(layer->params[i].blob);
        ferry_blob_destroy(layer->params[i].before);
        ferry__narrow_end(&layer->params[i]);
    }
    for (i = 0; i < layer->n_scratch; i++)
        ferry_blob_destroy(layer->scratch[i].blob);
    free(layer->params);
    free(layer->scratch);
    free(layer->forward.at);
    free(layer->backward.at);
}

void ferry_net_close(ferry_net *net)
{
    int i;

    if (!net)
        return;
    ferry__measure_end(net);
    ferry__stages_end(net);
    for (i = net->n_layers; i-- > 0;)
        close_layer(&net->layers[i]);
    for (i = 0; i < net->n_blobs; i++) {
        ferry_blob_destroy(net->blobs[i].blob);
        free(net->blobs[i].shape);
    }
    ferry__fake_end(net);
    ferry__place_close(net->place);
    ferry_proto_close(net->proto);
    ferry__mem_free(&net->arena);
    free(net->lines);
    free(net->writes_to);
    free(net->segments);
    free(net->runs);
    free(net->uses);
    ferry__names_end(&net->blob_names);
    ferry__names_end(&net->layer_names);
    ferry__names_end(&net->param_names);
    pthread_mutex_destroy(&net->filling);
    free(net);
}

/* ---- a layer --------------------------------------------------------------------------------- */

/* The first item of a layer in the forward or the backward pass of its program; −1: none. */
static int first_of(const struct ferry__program *p, const ferry_layer *layer, bool back)
{
    return p ? p->first_item[back][layer->index - p->first_layer] : -1;
}

/* Counts the operations of a layer, from its item `i` on; *tier becomes their worst tier. */
static int count_operations(const struct ferry__item *items, int i, ferry_operation_tier *tier)
{
    int operations = 0;

    for (; i >= 0; i = items[i].next) {
        if (items[i].call || items[i].in_parts || (items[i].dropped && !items[i].claimed))
            continue;
        operations++;
        if (!items[i].claimed && items[i].tier > *tier)
            *tier = items[i].tier;
    }
    return operations;
}

/* The precision of a layer's products, from its item `i` on: "bf16" if one of several has it. */
static const char *precision_of(const struct ferry__item *items, int i)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    const char *found = "";

    for (; i >= 0; i = items[i].next) {
        const struct ferry__item *item = &items[i];

        if (!item->prepared ||
            (item->op.kind != FERRY_OP_CONVOLUTION && item->op.kind != FERRY_OP_INNER_PRODUCT) ||
            item->op.pass == FERRY_PASS_BACKWARD_BIAS ||
            ferry_operation_get_plan(item->prepared, &plan) || !strcmp(found, "bf16"))
            continue;
        found = item->integers ? "int8" : plan.math & FERRY_MATH_BF16 ? "bf16" : "f32";
    }
    return found;
}

/* The dtype in which the weights of a product are stored. */
static const char *weights_of(const ferry_layer *layer)
{
    const ferry_blob *narrow = layer->n_params ? layer->params[0].narrow.values : NULL;

    if (!layer->n_params || !ferry__is_product(layer))
        return "";
    return ferry_dtype_name(narrow ? ferry_blob_dtype(narrow) : FERRY_F32);
}

/* The images of the sub-batches of a layer's first operation that is divided; 0: none is. */
static int64_t sub_batch_of(const ferry_layer *layer, const struct ferry__program *p)
{
    int i;

    for (i = first_of(p, layer, false); i >= 0; i = p->items[i].next)
        if (p->items[i].division && !p->items[i].dropped)
            return ferry__chains_most(&p->divisions[p->items[i].division - 1].chains);
    return 0;
}

int ferry_net_get_layer_info(const ferry_net *net, int index, ferry_net_layer_info *out)
{
    ferry_net_layer_info info = { 0 };
    const struct ferry__program *p;
    const ferry_layer *layer;

    if (!net || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_get_layer_info: %s is NULL",
                               net ? "out" : "net");
    if (out->struct_size < offsetof(ferry_net_layer_info, device))
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_net_get_layer_info: struct_size is %zu, at least %zu is "
                               "required",
                               out->struct_size, offsetof(ferry_net_layer_info, device));
    if (index < 0 || index >= net->n_layers)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": layer %d of %d", net->name, index,
                               net->n_layers);
    info.struct_size = out->struct_size;
    layer = &net->layers[index];
    p = ferry__stage_of(net, index)->now;
    info.name = layer->name;
    info.type = layer->type->name;
    info.device = ferry_device_name(layer->device);
    ferry__measure_get(layer, &info);
    info.needs_backward = ferry_layer_needs_backward(layer);
    info.tier = layer->type->forward ? FERRY_TIER_HOST : FERRY_TIER_OWN;
    info.operations = count_operations(p ? p->items : NULL, first_of(p, layer, false), &info.tier);
    info.backward_tier =
        info.needs_backward && layer->type->backward ? FERRY_TIER_HOST : FERRY_TIER_OWN;
    info.backward_operations =
        count_operations(p ? p->back : NULL, first_of(p, layer, true), &info.backward_tier);
    info.precision = precision_of(p ? p->items : NULL, first_of(p, layer, false));
    info.backward_precision = precision_of(p ? p->back : NULL, first_of(p, layer, true));
    info.weights = weights_of(layer);
    info.segment = p ? ferry__segment_of_layer(p, index) : 0;
    info.sub_batch = sub_batch_of(layer, p);
    memcpy(out, &info, info.struct_size < sizeof info ? info.struct_size : sizeof info);
    return 0;
}
