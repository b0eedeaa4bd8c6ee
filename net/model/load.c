/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads weights from a file by layer name. Everything is read and checked against its blob before
 * the first blob is changed.
 */
#include "net/model/arrays.h"
#include "net/model/narrow.h"
#include "net/model/ranges.h"
#include "net/model/reread.h"
#include "net/model/state.h"
#include "net/model/training.h"

#include "op/origin.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loading {
    ferry_net *net;
    struct ferry__arrays from;
    ferry_proto *ranges;        /* NULL: the file has no ranges, or the net does not use them */
    struct ferry__reread *file; /* owns `from.io`; NULL: no parameter is read again */
};

/*
 * Whether the shapes are equal, or those of early Caffe with four axes: 1 × 1 × M × N matches M ×
 * N, and missing leading axes count as 1.
 */
static bool shapes_fit(const ferry_io_entry *entry, const ferry_blob *b)
{
    int have = entry->rank, want = ferry_blob_rank(b), i;
    bool same = have == want, legacy = have == 4 && want <= 4;

    for (i = 0; same && i < have; i++)
        same = entry->shape[i] == ferry_blob_dim(b, i);
    for (i = 1; legacy && i <= 4; i++)
        legacy = entry->shape[4 - i] == (i <= want ? ferry_blob_dim(b, want - i) : 1);
    return same || legacy;
}

static int misfit(const struct loading *l, const ferry_layer *layer, int i,
                  const ferry_io_entry *entry)
{
    char have[256] = "", want[128];
    int k;

    for (k = 0; k < entry->rank && strlen(have) < sizeof have - 24; k++)
        snprintf(have + strlen(have), sizeof have - strlen(have), "%lld ",
                 (long long)entry->shape[k]);
    snprintf(have + strlen(have), sizeof have - strlen(have), "(%lld)", (long long)entry->count);
    ferry_blob_shape_string(layer->params[i].blob, want, sizeof want);
    return ferry_error_set(
        FERRY_ESHAPE,
        "%s: blob %d of layer \"%s\" is %s, the net's is %s; to train these parameters from their "
        "fillers instead of copying them, rename the layer",
        l->from.path, i, layer->name, have, want);
}

/*
 * Whether only this net can know a parameter's memory: it was neither filled nor loaded, and no
 * layer shares it.
 */
static bool is_untouched(const ferry_net *net, const ferry_layer *layer, int i)
{
    const struct ferry__net_param *p = &layer->params[i];

    return p->unfilled && p->owner == layer->index && !p->shared && net->unfilled;
}

/* Whether a parameter's values are read when they are needed, instead of now. */
static bool is_read_later(const struct loading *l, const ferry_layer *layer, int i,
                          const ferry_io_entry *entry)
{
    return i == 0 && ferry__reread_fits(l->net, l->from.io, entry, layer) &&
           is_untouched(l->net, layer, i);
}

/*
 * Whether the parameters of all layers with the name of `layer` can keep the form in which their
 * entry is stored. Only those without contents do: a program may hold the memory of another.
 */
static bool stays_narrow(const struct loading *l, const ferry_layer *layer, int i,
                         const ferry_io_entry *entry)
{
    const ferry_net *net = l->net;
    int k;

    if (!ferry__narrow_fit(net, entry, layer, i))
        return false;
    for (k = ferry__net_find_layer(net, layer->name); k >= 0; k = net->layers[k].next_same)
        if (net->layers[k].n_params > i && (!ferry__narrow_fit(net, entry, &net->layers[k], i) ||
                                            !is_untouched(net, &net->layers[k], i)))
            return false;
    return true;
}

/* Reads the values of an array that is not read yet, unless they are read later. */
static int read_array(struct loading *l, const ferry_layer *layer, int i, struct ferry__array *a)
{
    bool later = is_read_later(l, layer, i, a->entry);
    int err;

    if (a->blob || a->narrow.values || (later && !a->stays))
        return 0;
    if (a->stays)
        return ferry__narrow_open(l->from.io, a->entry, layer->device, !later, &a->narrow);
    err = ferry_blob_create(layer->device, FERRY_F32, NULL, FERRY_UNSHAPED, &a->blob);
    return err ? err : ferry_io_read(l->from.io, a->entry, a->blob);
}

/* Reads a layer's arrays and checks them against its parameters; changes nothing. */
static int read_layer(struct loading *l, const ferry_layer *layer)
{
    int n, i, err = ferry__arrays_of(&l->from, layer, &n);

    if (err || !n)
        return err;
    if (n != layer->n_params)
        return ferry_error_set(FERRY_ESHAPE,
                               "%s: layer \"%s\" has %d blobs, the net's has %d; to train these "
                               "parameters from their fillers instead of copying them, rename the "
                               "layer",
                               l->from.path, layer->name, n, layer->n_params);
    for (i = 0; i < n; i++) {
        struct ferry__array *a = ferry__arrays_find(&l->from, layer, i);

        if (!a)
            return ferry_error_set(FERRY_EFORMAT, "%s: layer \"%s\" has no blob %d", l->from.path,
                                   layer->name, i);
        if (!shapes_fit(a->entry, layer->params[i].blob))
            return misfit(l, layer, i, a->entry);
        if (!a->decided)
            a->stays = stays_narrow(l, layer, i, a->entry);
        a->decided = true;
        err = read_array(l, layer, i, a);
        if (err)
            return err;
    }
    return 0;
}

static int read_all(struct loading *l)
{
    int i, err = 0;

    for (i = 0; !err && i < l->net->n_layers; i++)
        err = read_layer(l, &l->net->layers[i]);
    return err;
}

/*
 * Whether values that were read stay readable if the file is overwritten: those of other formats
 * may be pages of the file.
 */
static bool are_read(const struct loading *l)
{
    ferry_io_format format = ferry_io_get_format(l->from.io);

    return format == FERRY_IO_CAFFEMODEL || format == FERRY_IO_HDF5;
}

/* Copies values that may be pages of a file which another program changes. */
static int own_values(struct ferry__narrow *s)
{
    ferry_blob *own = NULL;
    int err = ferry_blob_create(ferry_blob_home(s->values), ferry_blob_dtype(s->values),
                                ferry_blob_shape(s->values), ferry_blob_rank(s->values), &own);

    if (!err)
        err = ferry_blob_copy_from(own, s->values, 0);
    if (err) {
        ferry_blob_destroy(own);
        return err;
    }
    ferry_blob_destroy(s->values);
    s->values = own;
    return 0;
}

/* Lets a parameter keep narrow values that were read, or are read when they are needed. */
static int commit_narrow(struct loading *l, const ferry_layer *layer, int i, struct ferry__array *a)
{
    int err = 0;

    if (!a->used && is_read_later(l, layer, i, a->entry))
        err = ferry__reread_bind(l->file, a->entry, a->narrow.values);
    else if (!a->used && !are_read(l))
        err = own_values(&a->narrow);
    return err ? err : ferry__narrow_bind(l->net, &layer->params[i], &a->narrow);
}

/*
 * Sets a parameter to the values that were read: by their memory if nothing can refer to the
 * parameter's own and no other layer has got them, otherwise by a copy.
 */
static int commit(struct loading *l, const ferry_layer *layer, int i, const struct ferry__array *a)
{
    const ferry_net *net = l->net;
    ferry_blob *to = layer->params[i].blob;
    int err;

    if (net->phase == FERRY_PHASE_TEST && are_read(l) && !a->used && is_untouched(net, layer, i))
        return ferry_blob_share_data(to, a->blob);
    err = ferry_blob_copy_from(to, a->blob, 0);
    if (!err)
        ferry__origin_replace(ferry_blob_data_memory(to));
    return err;
}

static int commit_array(struct loading *l, const ferry_layer *layer, int i, struct ferry__array *a)
{
    ferry_blob *to = layer->params[i].blob, *values = a->stays ? a->narrow.values : a->blob;
    int err = 0;

    if (values)
        err = ferry_blob_reshape(values, ferry_blob_shape(to), ferry_blob_rank(to), NULL);
    if (err)
        return err;
    if (a->stays)
        return commit_narrow(l, layer, i, a);
    return a->blob ? commit(l, layer, i, a) : ferry__reread_bind(l->file, a->entry, to);
}

static int commit_layer(struct loading *l, ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < layer->n_params; i++) {
        struct ferry__array *a = ferry__arrays_find(&l->from, layer, i);

        if (!a)
            return 0;
        err = commit_array(l, layer, i, a);
        a->used = true;
        if (!err)
            l->net->layers[layer->params[i].owner].params[layer->params[i].owner_index].unfilled =
                false;
    }
    return err;
}

/* Checks that every layer with parameters gets weights, as a snapshot must provide. */
static int check_whole(const struct loading *l)
{
    int i, k;

    for (i = 0; i < l->net->n_layers; i++) {
        const ferry_layer *layer = &l->net->layers[i];

        for (k = 0; k < layer->n_params; k++)
            if (layer->params[k].owner == i && !ferry__arrays_find(&l->from, layer, k))
                return ferry_error_set(
                    FERRY_ESHAPE,
                    "%s: it has no weights for layer \"%s\": it is a snapshot of another net",
                    l->from.path, layer->name);
    }
    return 0;
}

/* The first few names and the number of the others: "a", "b", "c" and 5 more. */
struct names {
    char text[320];
    int count;
};

static void name(struct names *n, const char *text)
{
    size_t used = strlen(n->text);

    if (n->count++ < 3)
        snprintf(n->text + used, sizeof n->text - used, "%s\"%.80s\"", used ? ", " : "", text);
}

static void end_names(struct names *n)
{
    size_t used = strlen(n->text);

    if (n->count > 3)
        snprintf(n->text + used, sizeof n->text - used, " and %d more", n->count - 3);
}

/*
 * Appends the names of the layers that the file has blobs of; without such layers, the names of its
 * arrays.
 */
static void name_file(const struct loading *l, struct names *out)
{
    const ferry_io_entry *entry;
    int64_t i;

    for (i = 0; i < l->from.count; i++)
        if (!l->from.array[i].number)
            name(out, l->from.array[i].layer);
    for (i = 0; !l->from.count && i < ferry_io_entry_count(l->from.io); i++)
        if (!ferry_io_entry_at(l->from.io, i, &entry))
            name(out, entry->name);
    end_names(out);
}

/* Whether a layer with parameters gets values from the file. */
static bool is_matched(const struct loading *l)
{
    for (int i = 0; i < l->net->n_layers; i++)
        if (l->net->layers[i].n_params && ferry__arrays_find(&l->from, &l->net->layers[i], 0))
            return true;
    return false;
}

/*
 * Reports a file of another net: no layer gets weights from it although some layers have
 * parameters.
 */
static int check_matched(const struct loading *l)
{
    struct names wants = { .count = 0 }, has = { .count = 0 };

    if (is_matched(l))
        return 0;
    for (int i = 0; i < l->net->n_layers; i++)
        if (l->net->layers[i].n_params)
            name(&wants, l->net->layers[i].name);
    if (!wants.count)
        return 0;
    end_names(&wants);
    name_file(l, &has);
    return ferry_error_set(
        FERRY_ESHAPE,
        "%s: weights of another net: it has %s; the layers of this net with parameters are %s",
        l->from.path, has.count ? has.text : "none", wants.text);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void add_line(ferry_net *net, const char *layer, ferry_net_load_state state, int blobs)
{
    net->lines[net->report.line_count++] =
        (ferry_net_load_line){ .layer = layer, .state = state, .blobs = blobs };
}

static void report_layer(ferry_net *net, const ferry_layer *layer, bool found)
{
    bool own = false;
    int i;

    if (!layer->n_params)
        return;
    for (i = 0; i < layer->n_params; i++)
        own = own || layer->params[i].owner == layer->index;
    add_line(net, layer->name,
             found ? FERRY_LOAD_DONE
             : own ? FERRY_LOAD_NONE
                   : FERRY_LOAD_SHARED,
             layer->n_params);
    if (!found && own)
        ferry_log_write(FERRY_LOG_INFO, "ferry: layer \"%s\" got no weights: it keeps its values",
                        layer->name);
}

/* Logs one line if layers were skipped; their names are logged at FERRY_LOG_INFO. */
static void log_skipped(const struct loading *l)
{
    int counts[4] = { 0 };
    size_t i;

    for (i = 0; i < l->net->report.line_count; i++)
        counts[l->net->lines[i].state]++;
    if (counts[FERRY_LOAD_NONE])
        ferry_log_write(FERRY_LOG_WARN,
                        "ferry: %s: %d of %d layers got weights, the others keep their values; %d "
                        "layers of the file are not in the net (FERRY_LOG=info names them)",
                        l->from.path, counts[FERRY_LOAD_DONE],
                        counts[FERRY_LOAD_DONE] + counts[FERRY_LOAD_NONE],
                        counts[FERRY_LOAD_UNUSED]);
}

static int report(struct loading *l)
{
    ferry_net *net = l->net;
    int i;

    free(net->lines);
    net->report = (ferry_net_load_report){ .struct_size = sizeof net->report };
    net->lines = calloc((size_t)(net->n_layers + l->from.count + 1), sizeof *net->lines);
    if (!net->lines)
        return ferry__load_no_memory(l->from.path);
    net->report.lines = net->lines;
    for (i = 0; i < net->n_layers; i++)
        report_layer(net, &net->layers[i],
                     ferry__arrays_find(&l->from, &net->layers[i], 0) != NULL);
    for (i = 0; i < l->from.count; i++) {
        char *name;

        if (ferry__names_get(&l->from.layers, l->from.array[i].layer) != i ||
            ferry__net_find_layer(net, l->from.array[i].layer) >= 0)
            continue;
        ferry_log_write(FERRY_LOG_INFO, "Ignoring source layer %s", l->from.array[i].layer);
        name = ferry__mem_copy(&net->arena, l->from.array[i].layer, strlen(l->from.array[i].layer));
        if (!name)
            return ferry__load_no_memory(l->from.path);
        add_line(net, name, FERRY_LOAD_UNUSED,
                 ferry__arrays_count(&l->from, l->from.array[i].layer));
    }
    return 0;
}

/*
 * Reads the ranges of the file. A TRAIN net does not take them over, because training changes the
 * values that they hold for, unless it trains for these ranges (fake.h).
 */
static int read_ranges(struct loading *l)
{
    int err;

    if ((l->net->phase != FERRY_PHASE_TEST && !l->net->fake) ||
        ferry_io_get_format(l->from.io) != FERRY_IO_CAFFEMODEL)
        return 0;
    err = ferry__ranges_read(l->net, l->from.path, &l->ranges);
    return err || !l->ranges ? err : ferry__ranges_check(l->net, l->ranges);
}

/* How much of the net the file has to provide. */
enum demand { ANYTHING, MATCHED, WHOLE };

/* Lets parameters keep the file open. */
static int share_file(struct loading *l)
{
    if (!l->net->reread)
        return 0;
    l->file = ferry__reread_open(l->from.io, l->from.path);
    return l->file ? 0 : ferry__load_no_memory(l->from.path);
}

static void end_loading(struct loading *l)
{
    ferry_proto_close(l->ranges);
    ferry__arrays_end(&l->from);
    if (l->file)
        ferry__reread_leave(l->file);
    else
        ferry_io_close(l->from.io);
}

static int load(ferry_net *net, const char *weights, enum demand demand)
{
    struct loading l = { .net = net };
    int i, err;

    err = ferry__arrays_open(&l.from, net, weights);
    if (!err && demand != ANYTHING)
        err = demand == WHOLE ? check_whole(&l) : check_matched(&l);
    if (!err)
        err = read_all(&l);
    if (!err)
        err = read_ranges(&l);
    if (!err)
        err = report(&l);
    if (!err)
        err = share_file(&l);
    for (i = 0; !err && i < net->n_layers; i++)
        err = commit_layer(&l, &net->layers[i]);
    if (!err)
        log_skipped(&l);
    if (!err && l.ranges)
        ferry__ranges_commit(net, l.ranges, weights);
    else if (!err && is_matched(&l))
        ferry__ranges_drop(net);
    end_loading(&l);
    return err;
}

int ferry__net_load_whole(ferry_net *net, const char *weights)
{
    return load(net, weights, WHOLE);
}

static int load_and_report(ferry_net *net, const char *weights, enum demand demand,
                           const ferry_net_load_report **out_report)
{
    int err;

    if (!net || !weights)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_load%s: NULL argument",
                               demand == MATCHED ? "_matched" : "");
    err = load(net, weights, demand);
    if (!err && out_report)
        *out_report = &net->report;
    return err;
}

int ferry_net_load(ferry_net *net, const char *weights, const ferry_net_load_report **out_report)
{
    return load_and_report(net, weights, ANYTHING, out_report);
}

int ferry_net_load_matched(ferry_net *net, const char *weights,
                           const ferry_net_load_report **out_report)
{
    return load_and_report(net, weights, MATCHED, out_report);
}
