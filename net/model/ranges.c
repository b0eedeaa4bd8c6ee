/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/ranges.h"

#include "net/proto/field.h"
#include "net/proto/tree.h"
#include "net/proto/upgrade.h"

#include <ferry/net_ranges.h>
#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a net's ranges -------------------------------------------------------------------------- */

/* Sets a range. Programs that were made for other ranges do not fit any more. */
static void set_range(ferry_net *net, int blob, bool has, float least, float most)
{
    struct ferry__net_blob *b = &net->blobs[ferry__net_root(net, blob)];

    b->of_file = false;
    if (b->has_range == has && (!has || (b->least == least && b->most == most)))
        return;
    b->has_range = has;
    b->least = has ? least : 0;
    b->most = has ? most : 0;
    net->outdated = true;
}

static void set_float_only(ferry_net *net, int layer, bool on)
{
    if (net->layers[layer].float_only == on)
        return;
    net->layers[layer].float_only = on;
    net->outdated = true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *blob_of(const ferry_proto *quantization, int64_t i)
{
    return ferry_proto_string(ferry_proto_message(quantization, "range", i), "blob", 0, NULL);
}

static float bound_of(const ferry_proto *quantization, int64_t i, const char *field)
{
    return (float)ferry_proto_real(ferry_proto_message(quantization, "range", i), field, 0);
}

static int check_range(const ferry_proto *range)
{
    static const char *const fields[] = { "blob", "min", "max" };
    double min = ferry_proto_real(range, "min", 0), max = ferry_proto_real(range, "max", 0);
    const char *blob = ferry_proto_string(range, "blob", 0, NULL);
    size_t i;

    for (i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!ferry_proto_value_count(range, fields[i]))
            return ferry_proto_error(range, NULL, 0, FERRY_EFORMAT,
                                     "quantization: the range of blob \"%s\" has no %s", blob,
                                     fields[i]);
    if (!isfinite((float)min) || !isfinite((float)max))
        return ferry_proto_error(range, isfinite((float)min) ? "max" : "min", 0, FERRY_EFORMAT,
                                 "quantization: the range of blob \"%s\", %g to %g, is not finite",
                                 blob, min, max);
    if (min > max)
        return ferry_proto_error(range, "min", 0, FERRY_EFORMAT,
                                 "quantization: the range of blob \"%s\" has min %g above max %g",
                                 blob, min, max);
    return 0;
}

int ferry__ranges_check(const ferry_net *net, const ferry_proto *quantization)
{
    bool *seen = calloc((size_t)net->n_blobs + 1, sizeof *seen);
    int64_t i;
    int k, err = seen ? 0 : ferry_error_set(FERRY_ENOMEM, "net \"%s\": no memory", net->name);

    for (i = 0; !err && i < ferry_proto_value_count(quantization, "range"); i++) {
        err = check_range(ferry_proto_message(quantization, "range", i));
        k = ferry__net_find_blob(net, blob_of(quantization, i));
        if (!err && k >= 0 && seen[k])
            err = ferry_proto_error(quantization, "range", i, FERRY_EFORMAT,
                                    "quantization: blob \"%s\" has two ranges",
                                    blob_of(quantization, i));
        if (k >= 0)
            seen[k] = true;
    }
    free(seen);
    return err;
}

/* Takes over ranges and layers; returns the number of names that the net lacks. */
static int take(ferry_net *net, const ferry_proto *quantization, bool of_file)
{
    int64_t i;
    int k, unknown = 0;

    for (i = 0; i < ferry_proto_value_count(quantization, "range"); i++) {
        k = ferry__net_find_blob(net, blob_of(quantization, i));
        unknown += k < 0;
        if (k < 0)
            continue;
        set_range(net, k, true, bound_of(quantization, i, "min"), bound_of(quantization, i, "max"));
        net->blobs[ferry__net_root(net, k)].of_file = of_file;
    }
    for (i = 0; i < ferry_proto_value_count(quantization, "float_layer"); i++) {
        k = ferry__net_find_layer(net, ferry_proto_string(quantization, "float_layer", i, NULL));
        unknown += k < 0;
        if (k >= 0)
            set_float_only(net, k, true);
    }
    return unknown;
}

void ferry__ranges_commit(ferry_net *net, const ferry_proto *quantization, const char *path)
{
    int unknown = take(net, quantization, true);

    if (unknown)
        ferry_log_write(FERRY_LOG_INFO,
                        "ferry: %s: quantization: %d of its blobs and layers are not in the net",
                        path, unknown);
}

void ferry__ranges_drop(ferry_net *net)
{
    for (int i = 0; i < net->n_blobs; i++)
        if (net->blobs[i].alias < 0 && net->blobs[i].of_file)
            set_range(net, i, false, 0, 0);
}

/* ---- the net's own text ---------------------------------------------------------------------- */

/* Collects the names of the text's layers and of their tops, those of other phases too. */
static int collect_names(const ferry_proto *net, struct ferry__names *layers,
                         struct ferry__names *tops)
{
    int64_t i, k;
    int err = 0;

    for (i = 0; !err && i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        err = ferry__names_set(layers, ferry_proto_string(layer, "name", 0, NULL), 0, true);
        for (k = 0; !err && k < ferry_proto_value_count(layer, "top"); k++)
            err = ferry__names_set(tops, ferry_proto_string(layer, "top", k, NULL), 0, true);
    }
    return err;
}

static int find_names(const ferry_net *net, const ferry_proto *quantization,
                      const struct ferry__names *layers, const struct ferry__names *tops)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(quantization, "range"); i++) {
        const char *blob = blob_of(quantization, i);

        if (ferry__net_find_blob(net, blob) < 0 && ferry__names_get(tops, blob) < 0)
            return ferry_proto_error(quantization, "range", i, FERRY_EFORMAT,
                                     "quantization: the net has no blob \"%s\"", blob);
    }
    for (i = 0; i < ferry_proto_value_count(quantization, "float_layer"); i++) {
        const char *layer = ferry_proto_string(quantization, "float_layer", i, NULL);

        if (ferry__net_find_layer(net, layer) < 0 && ferry__names_get(layers, layer) < 0)
            return ferry_proto_error(quantization, "float_layer", i, FERRY_EFORMAT,
                                     "quantization: float_layer: the net has no layer \"%s\"",
                                     layer);
    }
    return 0;
}

static int check_names(const ferry_net *net, const ferry_proto *quantization)
{
    struct ferry__names layers = { 0 }, tops = { 0 };
    int err = collect_names(net->proto, &layers, &tops);

    if (!err)
        err = find_names(net, quantization, &layers, &tops);
    ferry__names_end(&layers);
    ferry__names_end(&tops);
    return err;
}

/* Takes over the ranges that the layers of the definition state. */
static int begin_layers(ferry_net *net, bool is_text)
{
    ferry_proto *made;
    int err = ferry__ranges_of_layers(net, net->proto, &made);

    if (made)
        (void)take(net, made, !is_text);
    ferry_proto_close(made);
    return err;
}

/*
 * Takes over the ranges of the net's definition. Names of a binary file are not checked, since
 * tools that rename its layers may not know the field.
 */
int ferry__ranges_begin(ferry_net *net)
{
    const ferry_proto *quantization = ferry_proto_message(net->proto, "quantization", 0);
    bool is_text = ferry_proto_get_form(net->proto) == FERRY_PROTO_TEXT;
    int err;

    if (ferry_proto_value_count(net->proto, "quantization") == 0)
        return begin_layers(net, is_text);
    err = ferry__ranges_check(net, quantization);
    if (!err && is_text)
        err = check_names(net, quantization);
    if (err)
        return err;
    if (is_text)
        (void)take(net, quantization, false);
    else
        ferry__ranges_commit(net, quantization, net->proto->document->file);
    return 0;
}

int ferry__ranges_read(const ferry_net *net, const char *path, ferry_proto **out)
{
    const struct ferry__proto_field *field =
        ferry__proto_field_of(&ferry__proto_NetParameter, "quantization", strlen("quantization"));

    ferry_proto *layers;
    int err = ferry__proto_read_field(path, field, out);

    if (err || *out)
        return err;
    err = ferry__proto_read_layers(path, "quantization_param", &layers);
    if (!err && layers)
        err = ferry__ranges_of_layers(net, layers, out);
    ferry_proto_close(layers);
    return err;
}

/* ---- sharing and saving ---------------------------------------------------------------------- */

static void share_range(ferry_net *net, int blob, const struct ferry__net_blob *from)
{
    set_range(net, blob, true, from->least, from->most);
    net->blobs[ferry__net_root(net, blob)].of_file = from->of_file;
}

void ferry__ranges_share(ferry_net *net, const ferry_net *source)
{
    int i, k;

    for (i = 0; i < net->n_blobs; i++) {
        k = net->blobs[i].alias < 0 ? ferry__net_find_blob(source, net->blobs[i].name) : -1;
        if (k >= 0 && source->blobs[ferry__net_root(source, k)].has_range)
            share_range(net, i, &source->blobs[ferry__net_root(source, k)]);
    }
    for (i = 0; i < net->n_layers; i++) {
        k = ferry__net_find_layer(source, net->layers[i].name);
        if (k >= 0 && source->layers[k].float_only)
            set_float_only(net, i, true);
    }
}

static int put_range(ferry_proto *to, const char *blob, float least, float most)
{
    ferry_proto *range;
    int err = ferry__proto_put_message(to, "range", &range);

    if (!err)
        err = ferry__proto_put_string(range, "blob", blob);
    if (!err)
        err = ferry__proto_put_real(range, "min", (double)least);
    if (!err)
        err = ferry__proto_put_real(range, "max", (double)most);
    return err;
}

/* Writes the ranges: the blobs of the text in its order, then those that got ranges later. */
static int put_ranges(const ferry_net *net, const ferry_proto *own, bool *done, ferry_proto *to)
{
    int64_t i;
    int k, err = 0;

    for (i = 0; !err && i < ferry_proto_value_count(own, "range"); i++) {
        const char *name = blob_of(own, i);

        k = ferry__net_find_blob(net, name);
        k = k < 0 ? k : ferry__net_root(net, k);
        if (k < 0)
            err = put_range(to, name, bound_of(own, i, "min"), bound_of(own, i, "max"));
        else if (net->blobs[k].has_range)
            err = put_range(to, name, net->blobs[k].least, net->blobs[k].most);
        if (k >= 0)
            done[k] = true;
    }
    for (k = 0; !err && k < net->n_blobs; k++)
        if (net->blobs[k].has_range && net->blobs[k].alias < 0 && !done[k])
            err = put_range(to, net->blobs[k].name, net->blobs[k].least, net->blobs[k].most);
    return err;
}

static int put_layers(const ferry_net *net, const ferry_proto *own, bool *done, ferry_proto *to)
{
    int64_t i;
    int k, err = 0;

    for (i = 0; !err && i < ferry_proto_value_count(own, "float_layer"); i++) {
        const char *name = ferry_proto_string(own, "float_layer", i, NULL);

        k = ferry__net_find_layer(net, name);
        if (k < 0 || net->layers[k].float_only)
            err = ferry__proto_put_string(to, "float_layer", name);
        if (k >= 0)
            done[k] = true;
    }
    for (k = 0; !err && k < net->n_layers; k++)
        if (net->layers[k].float_only && !done[k])
            err = ferry__proto_put_string(to, "float_layer", net->layers[k].name);
    return err;
}

int ferry__ranges_put(const ferry_net *net, ferry_proto *definition)
{
    const ferry_proto *own = ferry_proto_message(net->proto, "quantization", 0);
    bool *blobs = calloc((size_t)net->n_blobs + 1, sizeof *blobs);
    bool *layers = calloc((size_t)net->n_layers + 1, sizeof *layers);
    ferry_proto *to;
    int err =
        blobs && layers ? 0 : ferry_error_set(FERRY_ENOMEM, "net \"%s\": no memory", net->name);

    ferry__proto_clear(definition, "quantization");
    if (!err)
        err = ferry__proto_put_message(definition, "quantization", &to);
    if (!err)
        err = put_ranges(net, own, blobs, to);
    if (!err)
        err = put_layers(net, own, layers, to);
    if (!err && !ferry_proto_field_count(to))
        ferry__proto_clear(definition, "quantization");
    free(blobs);
    free(layers);
    return err;
}

/* ---- the program's ranges -------------------------------------------------------------------- */

int ferry_net_set_range(ferry_net *net, const char *blob, float least, float most)
{
    int k = net && blob ? ferry__net_find_blob(net, blob) : -1;
    bool none = isinf(least) && least < 0 && isinf(most) && most > 0;

    if (!net || !blob)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_range: NULL argument");
    if (k < 0)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no blob \"%s\"", net->name, blob);
    if (!none && (!isfinite(least) || !isfinite(most) || least > most))
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": %g to %g is not a range for blob \"%s\"",
                               net->name, (double)least, (double)most, blob);
    set_range(net, k, !none, least, most);
    return 0;
}

int ferry_net_get_range(const ferry_net *net, const char *blob, float *out_least, float *out_most)
{
    int k = net && blob ? ferry__net_find_blob(net, blob) : -1;
    const struct ferry__net_blob *b;

    if (!net || !blob || !out_least || !out_most)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_get_range: NULL argument");
    if (k < 0)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no blob \"%s\"", net->name, blob);
    b = &net->blobs[ferry__net_root(net, k)];
    *out_least = b->has_range ? b->least : -INFINITY;
    *out_most = b->has_range ? b->most : INFINITY;
    return 0;
}

int ferry_net_set_float_only(ferry_net *net, const char *layer, bool on)
{
    int k = net && layer ? ferry__net_find_layer(net, layer) : -1;

    if (!net || !layer)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_float_only: NULL argument");
    if (k < 0)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no layer \"%s\"", net->name,
                               layer);
    set_float_only(net, k, on);
    return 0;
}

bool ferry_net_is_float_only(const ferry_net *net, const char *layer)
{
    int k = net && layer ? ferry__net_find_layer(net, layer) : -1;

    return k >= 0 && net->layers[k].float_only;
}

/* A step between levels; ranges too small for one have a step of 1. */
static float step_of(float span, float levels)
{
    return span / levels >= FLT_MIN ? span / levels : 1;
}

struct ferry__grid ferry__grid_of(float least, float most, bool may_shift)
{
    float reach = fmaxf(fabsf(least), fabsf(most)), span = fmaxf(most, 0) - fminf(least, 0);
    float even = step_of(reach, 127), fine = step_of(span, 255);

    if (least >= 0)
        return (struct ferry__grid){ FERRY_U8, fine, 0 };
    if (may_shift && fine < even)
        return (struct ferry__grid){ FERRY_U8, fine, rintf(-least / fine) };
    return (struct ferry__grid){ FERRY_I8, even, 0 };
}
