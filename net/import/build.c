/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/build.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(struct ferry__import *im, int err)
{
    if (!im->err)
        im->err = err;
}

/* ---- layers --------------------------------------------------------------------------------- */

static struct ferry__import_layer *last_layer(const struct ferry__import *im)
{
    return &im->layers[im->n_layers - 1];
}

void ferry__import_layer(struct ferry__import *im, const char *type, const char *field)
{
    const struct ferry__proto_message *layer = &ferry__proto_LayerParameter;
    ferry_proto *p = NULL;

    if (field && !im->err) {
        p = ferry__proto_new(im->net->document,
                             ferry__proto_field_of(layer, field, strlen(field))->message);
        if (!p)
            ferry__import_no_memory(im);
    }
    if (ferry__import_grow(im, &im->layers, im->n_layers, &im->room_layers, sizeof *im->layers))
        im->layers[im->n_layers++] = (struct ferry__import_layer){ type,       field,
                                                                   p,          im->n_bottoms,
                                                                   im->n_made, im->n_weights };
}

void ferry__import_put(struct ferry__import *im, const char *field, int64_t value)
{
    if (!im->err)
        check(im, ferry__proto_put_integer(last_layer(im)->parameters, field, value));
}

void ferry__import_put_real(struct ferry__import *im, const char *field, double value)
{
    if (!im->err)
        check(im, ferry__proto_put_real(last_layer(im)->parameters, field, value));
}

void ferry__import_put_word(struct ferry__import *im, const char *field, const char *value)
{
    const struct ferry__proto_field *f;

    if (im->err)
        return;
    f = ferry__proto_field_of(last_layer(im)->parameters->type, field, strlen(field));
    ferry__import_put(im, field, ferry__proto_enum_named(f->choices, value, strlen(value))->number);
}

void ferry__import_put_shape(struct ferry__import *im, const char *field,
                             const struct ferry__import_shape *shape)
{
    ferry_proto *p = NULL;

    if (!im->err)
        check(im, ferry__proto_put_message(last_layer(im)->parameters, field, &p));
    for (int i = 0; !im->err && i < shape->rank; i++)
        check(im, ferry__proto_put_integer(p, "dim", shape->dim[i]));
}

void ferry__import_bottom(struct ferry__import *im, struct ferry__import_value *x)
{
    if (!ferry__import_grow(im, &im->bottoms, im->n_bottoms, &im->room_bottoms,
                            sizeof *im->bottoms))
        return;
    x->bottoms++;
    im->bottoms[im->n_bottoms++] = x;
    last_layer(im)->end_bottoms = im->n_bottoms;
}

void ferry__import_weights(struct ferry__import *im, const struct ferry__import_tensor *t)
{
    if (!ferry__import_grow(im, &im->weights, im->n_weights, &im->room_weights,
                            sizeof *im->weights))
        return;
    im->weights[im->n_weights++] = (struct ferry__import_weights){ NULL, 0, *t };
    last_layer(im)->end_weights = im->n_weights;
}

struct ferry__import_value *ferry__import_top(struct ferry__import *im,
                                              const struct ferry__import_shape *shape)
{
    struct ferry__import_value *x = ferry__import_value_create(im);

    if (ferry__import_shape_count(shape) < 0)
        ferry__import_fail(im, FERRY_EFORMAT, "its result would have an invalid shape");
    if (!ferry__import_grow(im, &im->made, im->n_made, &im->room_made, sizeof *im->made))
        return &ferry__import_no_value;
    x->shape = *shape;
    x->blob = "";
    im->made[im->n_made++] = x;
    last_layer(im)->end_tops = im->n_made;
    return x;
}

struct ferry__import_value *ferry__import_map(struct ferry__import *im,
                                              struct ferry__import_value *x, const char *type,
                                              const char *field)
{
    ferry__import_layer(im, type, field);
    ferry__import_bottom(im, x);
    return ferry__import_top(im, &x->shape);
}

struct ferry__import_value *ferry__import_reshape(struct ferry__import *im,
                                                  struct ferry__import_value *x,
                                                  const struct ferry__import_shape *shape)
{
    struct ferry__import_shape written = *shape;

    if (ferry__import_shape_count(&x->shape) != ferry__import_shape_count(shape))
        ferry__import_fail(im, FERRY_EFORMAT, "%lld elements do not have the shape of its result",
                           (long long)ferry__import_shape_count(&x->shape));
    if (x->shape.rank == shape->rank &&
        !memcmp(x->shape.dim, shape->dim, (size_t)shape->rank * sizeof shape->dim[0]))
        return x;
    if (shape->rank && x->shape.rank && shape->dim[0] == x->shape.dim[0])
        written.dim[0] = 0;
    ferry__import_layer(im, "Reshape", "reshape_param");
    ferry__import_put_shape(im, "shape", &written);
    ferry__import_bottom(im, x);
    return ferry__import_top(im, shape);
}

struct ferry__import_value *
ferry__import_permute(struct ferry__import *im, struct ferry__import_value *x, const int64_t *order)
{
    struct ferry__import_shape shape = x->shape;

    ferry__import_layer(im, "Permute", "permute_param");
    for (int i = 0; i < shape.rank; i++) {
        shape.dim[i] = x->shape.dim[order[i]];
        ferry__import_put(im, "order", order[i]);
    }
    ferry__import_bottom(im, x);
    return ferry__import_top(im, &shape);
}

struct ferry__import_value *ferry__import_affine(struct ferry__import *im,
                                                 struct ferry__import_value *x, double a, double b)
{
    struct ferry__import_value *y = ferry__import_map(im, x, "Power", "power_param");

    ferry__import_put_real(im, "scale", a);
    ferry__import_put_real(im, "shift", b);
    return y;
}

/* ---- outputs of a node ---------------------------------------------------------------------- */

void ferry__import_give(struct ferry__import *im, int k, struct ferry__import_value *x)
{
    const char *name =
        k < ferry__import_output_count(im) ? ferry_proto_string(im->node, "output", k, NULL) : "";
    struct ferry__import_value *old =
        *name ? ferry__import_value_named(im, name) : &ferry__import_no_value;

    if (im->err || !*name)
        return;
    if (old->constant || old->blob) {
        ferry__import_fail(im, FERRY_EFORMAT, "makes \"%.150s\", which exists", name);
        return;
    }
    if (!x->name)
        x->name = old->name;
    x->uses += old->uses;
    x->output = x->output || old->output;
    im->values[ferry__names_get(&im->names, name)] = x;
}

void ferry__import_give_constant(struct ferry__import *im, int k,
                                 const struct ferry__import_tensor *t)
{
    struct ferry__import_value *x = ferry__import_value_create(im);

    if (im->err)
        return;
    x->constant = true;
    x->tensor = *t;
    x->shape = t->shape;
    ferry__import_give(im, k, x);
}

/* ---- names ---------------------------------------------------------------------------------- */

/*
 * Makes a unique name: BASE or, if it is taken, BASE/WORD or BASE/WORD2 …; in the arena. "" after a
 * failure.
 */
static const char *name_for(struct ferry__import *im, struct ferry__names *taken, const char *base,
                            const char *word)
{
    size_t room = strlen(base) + strlen(word) + 16;
    char *out = im->err ? NULL : ferry__mem_alloc(&im->arena, room);
    int n = 1;

    if (!out) {
        ferry__import_no_memory(im);
        return "";
    }
    snprintf(out, room, "%s%s%s", base, *word ? "/" : "", word);
    while (ferry__names_get(taken, out) >= 0)
        snprintf(out, room, "%s/%s%d", base, *word ? word : "", ++n);
    if (ferry__names_set(taken, out, 0, false))
        ferry__import_no_memory(im);
    return out;
}

/* The name of the node's first output, from which the names of its layers and blobs are made. */
static const char *base_of(const struct ferry__import *im)
{
    const char *name = ferry_proto_string(im->node, "output", 0, NULL);

    return *name ? name : ferry_proto_string(im->node, "name", 0, NULL);
}

/*
 * Names a top. An output of the graph that layers also read has another name until
 * ferry__import_output.
 */
static void name_top(struct ferry__import *im, struct ferry__import_value *x, const char *type)
{
    if (!x->name)
        x->blob = name_for(im, &im->blob_names, base_of(im), type);
    else if (x->output && (x->uses > 1 || x->bottoms))
        x->blob = name_for(im, &im->blob_names, x->name, "inner");
    else
        x->blob = x->name;
}

static ferry_proto *add_message(struct ferry__import *im, const char *name, const char *type)
{
    ferry_proto *out = NULL;

    if (!im->err)
        check(im, ferry__proto_put_message(im->net, "layer", &out));
    if (!im->err)
        check(im, ferry__proto_put_string(out, "name", name));
    if (!im->err)
        check(im, ferry__proto_put_string(out, "type", type));
    return out;
}

static void put_name(struct ferry__import *im, ferry_proto *layer, const char *field,
                     const char *name)
{
    if (!im->err)
        check(im, ferry__proto_put_string(layer, field, name));
}

/* ---- the end of a node ---------------------------------------------------------------------- */

/* Adds a Parameter layer for a constant that another layer reads. */
static void add_parameter(struct ferry__import *im, struct ferry__import_value *x)
{
    const char *name = name_for(im, &im->layer_names, x->name ? x->name : base_of(im), "");
    ferry_proto *layer = add_message(im, name, "Parameter"), *p = NULL, *shape = NULL;

    x->blob =
        x->name && !x->output ? x->name : name_for(im, &im->blob_names, base_of(im), "constant");
    put_name(im, layer, "top", x->blob);
    if (!im->err)
        check(im, ferry__proto_put_message(layer, "parameter_param", &p));
    if (!im->err)
        check(im, ferry__proto_put_message(p, "shape", &shape));
    for (int i = 0; !im->err && i < x->shape.rank; i++)
        check(im, ferry__proto_put_integer(shape, "dim", x->shape.dim[i]));
    if (ferry__import_grow(im, &im->weights, im->n_weights, &im->room_weights, sizeof *im->weights))
        im->weights[im->n_weights++] = (struct ferry__import_weights){ name, 0, x->tensor };
}

/* Adds the layer's own message after its bottoms and tops, as in Caffe's texts. */
static void put_parameters(struct ferry__import *im, ferry_proto *layer,
                           const struct ferry__import_layer *l)
{
    const struct ferry__proto_message *type = &ferry__proto_LayerParameter;
    struct ferry__proto_value *value;

    if (im->err || !l->field)
        return;
    value = ferry__proto_append(layer, ferry__proto_field_of(type, l->field, strlen(l->field)),
                                l->field, FERRY__PROTO_MESSAGE);
    if (value)
        value->as.message = l->parameters;
    else
        ferry__import_no_memory(im);
}

/*
 * Adds layer `index` of the node. Its bottoms, tops and parameters begin at the indices in `from`,
 * which are advanced to the layer's ends.
 */
static void add_layer(struct ferry__import *im, int index, struct ferry__import_layer *from)
{
    const struct ferry__import_layer *l = &im->layers[index];
    const char *given = ferry_proto_string(im->node, "name", 0, NULL), *name;
    ferry_proto *layer;
    int i;

    for (i = from->end_bottoms; i < l->end_bottoms; i++)
        if (!im->bottoms[i]->blob && im->bottoms[i]->constant)
            add_parameter(im, im->bottoms[i]);
    name = name_for(im, &im->layer_names, *given ? given : base_of(im),
                    index + 1 < im->n_layers ? l->type : "");
    layer = add_message(im, name, l->type);
    for (i = from->end_bottoms; i < l->end_bottoms; i++)
        put_name(im, layer, "bottom", im->bottoms[i]->blob);
    for (i = from->end_tops; i < l->end_tops && !im->err; i++) {
        name_top(im, im->made[i], l->type);
        put_name(im, layer, "top", im->made[i]->blob);
    }
    put_parameters(im, layer, l);
    for (i = from->end_weights; i < l->end_weights && !im->err; i++) {
        im->weights[i].layer = name;
        im->weights[i].index = i - from->end_weights;
    }
    *from = *l;
}

void ferry__import_node_begin(struct ferry__import *im, const ferry_proto *node)
{
    im->node = node;
    im->n_layers = im->n_bottoms = 0;
    im->first_top = im->n_made;
    im->first_weights = im->n_weights;
}

void ferry__import_node_end(struct ferry__import *im)
{
    struct ferry__import_layer from = { .end_tops = im->first_top,
                                        .end_weights = im->first_weights };

    for (int i = 0; !im->err && i < im->n_layers; i++)
        add_layer(im, i, &from);
    im->node = NULL;
}

/* ---- the graph ------------------------------------------------------------------------------ */

void ferry__import_output(struct ferry__import *im, const char *name)
{
    struct ferry__import_value *x = ferry__import_value_named(im, name);
    ferry_proto *layer;

    if (!im->err && !x->blob && !x->constant)
        ferry__import_fail(im, FERRY_EFORMAT, "no node makes the output \"%.150s\"", name);
    if (im->err || (x->blob && !strcmp(x->blob, name)))
        return;
    if (!x->blob)
        add_parameter(im, x);
    layer = add_message(im, name_for(im, &im->layer_names, name, ""), "Split");
    put_name(im, layer, "bottom", x->blob);
    put_name(im, layer, "top", name);
    x->bottoms++;
}

void ferry__import_silence(struct ferry__import *im)
{
    ferry_proto *layer = NULL;

    for (int i = 0; !im->err && i < im->n_made; i++) {
        const struct ferry__import_value *x = im->made[i];

        if (x->bottoms || x->output)
            continue;
        if (!layer)
            layer = add_message(im, name_for(im, &im->layer_names, "silence", ""), "Silence");
        put_name(im, layer, "bottom", x->blob);
    }
}

void ferry__import_build_end(struct ferry__import *im)
{
    free(im->values);
    free(im->made);
    free(im->weights);
    free(im->layers);
    free(im->bottoms);
    ferry__names_end(&im->names);
    ferry__names_end(&im->layer_names);
    ferry__names_end(&im->blob_names);
    ferry__mem_free(&im->arena);
}
