/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/fake.h"

#include "net/model/graph.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A blob, by its name. With layers in place it is one blob, unless the first layer that writes it
 * keeps levels: the values before and after the others then differ, and the latter are another one.
 */
struct spot {
    const char *name;
    const char
        *copy; /* the name of the blob that is rounded: its own, or that of a source's copy */
    const char *layer; /* the name of the layer that rounds it */
    int of;       /* the parent in the tree of its class (union-find) */
    int last;     /* the node after which it is rounded */
    int next;     /* the next blob that is rounded after that node; −1: none */
    bool source;  /* a layer without bottoms writes it */
    bool derived; /* a layer that keeps the levels of its bottoms writes it */
    bool read;    /* a product reads it; for a class: one of its blobs */
    bool other;   /* for a class: a layer that computes in F32 reads it */
    bool padded;  /* for a class */
    int feeds;    /* for a class that only averages read: the root of their results' class; −1 */
};

struct insertion {
    ferry_net *net;
    const ferry_layer_type *type;
    const ferry_proto *empty;
    struct spot *spots;
    int count;
    struct ferry__names names;
    struct ferry__names layers; /* those of the nodes */
    int *first;                 /* for each node: the first blob that is rounded after it */
};

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its graph");
}

static bool is_any(const char *type, const char *const *types)
{
    for (; *types; types++)
        if (!strcmp(type, *types))
            return true;
    return false;
}

bool ferry__fake_is_product(const char *type)
{
    static const char *const types[] = { "Convolution", "ConvolutionDepthwise",
                                         "DepthwiseConvolution", "InnerProduct", NULL };

    return is_any(type, types);
}

static bool is_pooling(const struct ferry__node *node, const char *method)
{
    const ferry_proto *p = ferry_proto_message(node->message, "pooling_param", 0);

    return !strcmp(node->type, "Pooling") && !strcmp(ferry_proto_enum(p, "pool", 0), method);
}

/* Whether a layer's top has the levels of its bottoms. */
static bool keeps_levels(const struct ferry__node *node)
{
    static const char *const types[] = { "Concat", "Dropout", "Flatten", "Reshape", "Split", NULL };

    return is_any(node->type, types) || is_pooling(node, "MAX");
}

/* Whether a layer's tops are its bottom's contents. */
static bool shares_contents(const struct ferry__node *node)
{
    return node->n_bottoms == 1 && strcmp(node->type, "Pooling") && strcmp(node->type, "Dropout");
}

static bool has_nonzero(const ferry_proto *p, const char *field)
{
    for (int64_t i = 0; i < ferry_proto_value_count(p, field); i++)
        if (ferry_proto_integer(p, field, i))
            return true;
    return false;
}

static bool pads(const struct ferry__node *node)
{
    const char *param = is_pooling(node, "AVE")         ? "pooling_param"
                        : strstr(node->type, "onvolution") ? "convolution_param"
                                                           : NULL;
    const ferry_proto *p = param ? ferry_proto_message(node->message, param, 0) : NULL;

    return p && (has_nonzero(p, "pad") || has_nonzero(p, "pad_h") || has_nonzero(p, "pad_w"));
}

/*
 * Whether a node computes with bottom k in F32: it is not a product, an average, or a layer that
 * keeps levels or works in place.
 */
static bool reads_reals(const struct ferry__node *node, int k)
{
    bool in_place = node->n_tops && !strcmp(node->tops[0], node->bottoms[k]);

    return !in_place && !ferry__fake_is_product(node->type) && !keeps_levels(node) &&
           !is_pooling(node, "AVE");
}

/* ---- classes --------------------------------------------------------------------------------- */

static struct spot *class_of(struct insertion *in, int spot)
{
    while (in->spots[spot].of != spot)
        spot = in->spots[spot].of = in->spots[in->spots[spot].of].of;
    return &in->spots[spot];
}

static void join(struct insertion *in, int a, int b)
{
    struct spot *x = class_of(in, a), *y = class_of(in, b);

    x->read = x->read || y->read;
    x->other = x->other || y->other;
    x->padded = x->padded || y->padded;
    y->of = x->of;
}

/* Notes that node `at` writes a top. */
static int note_top(struct insertion *in, const struct ferry__node *node, int at, const char *name)
{
    int k = ferry__names_get(&in->names, name);
    struct spot *s = &in->spots[in->count];

    if (k >= 0 && (keeps_levels(node) || !in->spots[k].derived)) {
        if (strcmp(node->type, "Dropout")) /* its factor of TRAIN follows the rounding */
            in->spots[k].last = at;
        return 0;
    }
    *s = (struct spot){ .name = name, .of = in->count, .last = at, .next = -1, .feeds = -1 };
    s->source = node->n_bottoms == 0;
    s->derived = keeps_levels(node);
    return ferry__names_set(&in->names, name, in->count++, false);
}

/* Notes what a node reads; a name that nothing writes is reported later. */
static void note_bottoms(struct insertion *in, const struct ferry__node *node)
{
    for (int k = 0; k < node->n_bottoms; k++) {
        int spot = ferry__names_get(&in->names, node->bottoms[k]);

        if (spot < 0)
            continue;
        class_of(in, spot)->padded |= pads(node);
        class_of(in, spot)->other |= reads_reals(node, k);
        if (ferry__fake_is_product(node->type)) {
            in->spots[spot].read = true;
            class_of(in, spot)->read = true;
        }
    }
}

/* Joins the classes of a node's bottoms and tops. */
static void connect(struct insertion *in, const struct ferry__node *node)
{
    int top = node->n_tops ? ferry__names_get(&in->names, node->tops[0]) : -1, k, t;

    for (k = 0; k < node->n_bottoms; k++) {
        int spot = ferry__names_get(&in->names, node->bottoms[k]);

        if (spot >= 0 && in->spots[spot].source) {
            in->spots[top].derived = false; /* a source is rounded for its products only */
            for (t = 0; shares_contents(node) && t < node->n_tops; t++)
                in->spots[ferry__names_get(&in->names, node->tops[t])].source = true;
            continue;
        }
        for (t = 0; spot >= 0 && t < node->n_tops; t++)
            join(in, ferry__names_get(&in->names, node->tops[t]), spot);
    }
}

static int classify(struct insertion *in, const struct ferry__graph *g)
{
    int i, t, err = 0;

    for (i = 0; !err && i < g->count; i++) {
        const struct ferry__node *node = &g->nodes[i];

        note_bottoms(in, node);
        for (t = 0; !err && t < node->n_tops; t++)
            err = note_top(in, node, i, node->tops[t]);
        if (!err && node->n_tops && keeps_levels(node))
            connect(in, node);
        in->first[i] = -1;
    }
    return err;
}

/* Values that only averages with rounded results read are rounded too. */
static void add_averages(struct insertion *in, const struct ferry__graph *g)
{
    for (int i = g->count; i-- > 0;) {
        const struct ferry__node *node = &g->nodes[i];
        int from = node->n_bottoms ? ferry__names_get(&in->names, node->bottoms[0]) : -1;
        int to = node->n_tops ? ferry__names_get(&in->names, node->tops[0]) : -1;

        if (is_pooling(node, "AVE") && from >= 0 && to >= 0 && !in->spots[from].source &&
            class_of(in, to)->read && !class_of(in, from)->other && !class_of(in, from)->read) {
            class_of(in, from)->read = true;
            class_of(in, from)->feeds = (int)(class_of(in, to) - in->spots);
        }
    }
}

/* ---- the net's classes ----------------------------------------------------------------------- */

/* Whether FakeQuantize rounds a blob. */
static bool is_rounded(struct insertion *in, int spot)
{
    return class_of(in, spot)->read && !in->spots[spot].derived;
}

static int store_classes(struct insertion *in)
{
    struct ferry__fake *f = ferry__mem_alloc(&in->net->arena, sizeof *f);
    int *number = calloc((size_t)in->count + 1, sizeof *number), i, err = 0;

    if (f) {
        *f = (struct ferry__fake){ .type = in->type };
        in->net->fake = f;
        f->at = ferry__mem_alloc(&in->net->arena, (size_t)(in->count + 1) * sizeof *f->at);
    }
    if (!f || !f->at || !number)
        err = no_memory();
    for (i = 0; !err && i < in->count; i++)
        if (in->spots[i].of == i && in->spots[i].read) {
            number[i] = f->count;
            f->at[f->count++] =
                (struct ferry__fake_class){ .padded = in->spots[i].padded, .feeds = -1 };
        }
    for (i = 0; !err && i < in->count; i++)
        if (in->spots[i].of == i && in->spots[i].feeds >= 0)
            f->at[number[i]].feeds = number[in->spots[i].feeds];
    for (i = 0; !err && i < in->count; i++)
        if (class_of(in, i)->read)
            err = ferry__names_set(&f->of, in->spots[i].name,
                                   number[class_of(in, i) - in->spots], false);
    free(number);
    return err;
}

/* ---- insertion ------------------------------------------------------------------------------- */

static char *name_of(struct insertion *in, const char *blob, const char *suffix)
{
    size_t size = strlen(blob) + strlen(suffix) + 1;
    char *name = ferry__mem_alloc(&in->net->arena, size);

    if (name)
        snprintf(name, size, "%s%s", blob, suffix);
    return name;
}

/* Makes a name that is not in `taken`, and adds it: the suffix is appended once or more. */
static int make_name(struct insertion *in, struct ferry__names *taken, const char *blob,
                     const char *suffix, const char **out)
{
    char *name = name_of(in, blob, suffix);

    while (name && ferry__names_get(taken, name) >= 0)
        name = name_of(in, name, suffix);
    *out = name;
    return name ? ferry__names_set(taken, name, 0, true) : no_memory();
}

/* Names the copies of sources and the layers that round. A net may have a blob "x_quantized". */
static int name_all(struct insertion *in, const struct ferry__graph *g)
{
    int count = in->count, i, err = 0;

    for (i = 0; !err && i < g->count; i++)
        err = ferry__names_set(&in->layers, g->nodes[i].name, 0, true);
    for (i = 0; !err && i < count; i++) {
        struct spot *s = &in->spots[i];

        s->copy = s->name;
        if (is_rounded(in, i))
            err = make_name(in, &in->layers, s->name, "_fake_quantize", &s->layer);
        if (!err && is_rounded(in, i) && s->source)
            err = make_name(in, &in->names, s->name, "_quantized", &s->copy);
    }
    return err;
}

/* Adds the layer that rounds a blob; a source's is a copy, whose name is added to its class. */
static int add_layer(struct insertion *in, const struct spot *s, struct ferry__node *to)
{
    struct ferry__mem_arena *arena = &in->net->arena;

    *to = (struct ferry__node){ .type = in->type->name,
                                .layer_type = in->type,
                                .message = in->empty,
                                .n_bottoms = 1,
                                .n_tops = 1 };
    to->name = s->layer;
    to->bottoms = ferry__mem_alloc(arena, sizeof *to->bottoms);
    to->tops = ferry__mem_alloc(arena, sizeof *to->tops);
    to->loss_weights = ferry__mem_alloc(arena, sizeof *to->loss_weights);
    if (!to->bottoms || !to->tops || !to->loss_weights)
        return no_memory();
    to->loss_weights[0] = 0;
    to->bottoms[0] = s->name;
    to->tops[0] = s->copy;
    return s->source ? ferry__names_set(&in->net->fake->of, to->tops[0],
                                        ferry__names_get(&in->net->fake->of, s->name), true)
                     : 0;
}

/* Lets a product read the rounded copies of sources. */
static void read_copies(struct insertion *in, struct ferry__node *node)
{
    for (int k = 0; ferry__fake_is_product(node->type) && k < node->n_bottoms; k++) {
        int spot = ferry__names_get(&in->names, node->bottoms[k]);

        if (spot >= 0 && in->spots[spot].source)
            node->bottoms[k] = in->spots[spot].copy;
    }
}

static int insert(struct insertion *in, struct ferry__graph *g)
{
    struct ferry__graph out = { .room = g->count + in->count };
    int i, spot, err = 0;

    out.nodes = ferry__mem_alloc(&in->net->arena, (size_t)(out.room + 1) * sizeof *out.nodes);
    if (!out.nodes)
        return no_memory();
    for (i = in->count; i-- > 0;)
        if (is_rounded(in, i)) {
            in->spots[i].next = in->first[in->spots[i].last];
            in->first[in->spots[i].last] = i;
        }
    for (i = 0; !err && i < g->count; i++) {
        out.nodes[out.count] = g->nodes[i];
        read_copies(in, &out.nodes[out.count++]);
        for (spot = in->first[i]; !err && spot >= 0; spot = in->spots[spot].next)
            err = add_layer(in, &in->spots[spot], &out.nodes[out.count++]);
    }
    if (!err)
        *g = out;
    return err;
}

int ferry__fake_begin(ferry_net *net, const ferry_layer_type *type, const ferry_proto *empty,
                      struct ferry__graph *g)
{
    struct insertion in = { .net = net, .type = type, .empty = empty };
    size_t tops = 1;
    int i, err;

    for (i = 0; i < g->count; i++)
        tops += (size_t)g->nodes[i].n_tops;
    in.spots = calloc(tops, sizeof *in.spots);
    in.first = calloc((size_t)g->count + 1, sizeof *in.first);
    err = in.spots && in.first ? classify(&in, g) : no_memory();
    if (!err)
        add_averages(&in, g);
    if (!err)
        err = store_classes(&in);
    if (!err)
        err = name_all(&in, g);
    if (!err)
        err = insert(&in, g);
    ferry__names_end(&in.names);
    ferry__names_end(&in.layers);
    free(in.spots);
    free(in.first);
    return err;
}
