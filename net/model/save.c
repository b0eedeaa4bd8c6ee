/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saves a net: its parameters under their layers' names, and in a caffemodel with the definition
 * around them.
 */
#define _POSIX_C_SOURCE 200809L
#include "net/proto/tree.h"
#include "net/proto/wire.h"
#include "net/model/ranges.h"
#include "net/model/state.h"
#include "net/model/training.h"

#include "op/origin.h"

#include <ferry/net_ranges.h>
#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definition -------------------------------------------------------------------------- */

/* The net's layer with that name, if it has parameters; NULL otherwise. */
static const ferry_layer *with_params(const ferry_net *net, const char *name)
{
    int i;

    for (i = 0; i < net->n_layers; i++)
        if (net->layers[i].n_params && !strcmp(net->layers[i].name, name))
            return &net->layers[i];
    return NULL;
}

/*
 * Whether a layer of the text is saved. A layer that is not in this phase is saved too, unless a
 * layer with the same name has parameters: a reader that loads weights by name must not find a
 * second layer without them.
 */
static bool belongs(const ferry_net *net, const ferry_proto *message)
{
    const ferry_layer *layer = with_params(net, ferry_proto_string(message, "name", 0, NULL));
    int i;

    if (!layer || layer->message == message)
        return true;
    for (i = 0; i < net->n_layers; i++)
        if (net->layers[i].message == message)
            return true;
    return false;
}

/* Removes blobs and the layers that are not saved from the net's text. */
static int strip(const ferry_net *net, ferry_proto *definition)
{
    int64_t i, err = ferry__proto_put_copy(definition, net->proto);

    for (i = ferry_proto_value_count(net->proto, "layer"); !err && i-- > 0;)
        if (belongs(net, ferry_proto_message(net->proto, "layer", i)))
            ferry__proto_clear(ferry__proto_mutable(definition, "layer", i), "blobs");
        else
            ferry__proto_remove(definition, "layer", i);
    return err ? (int)err : ferry__ranges_put(net, definition);
}

/* Where the bytes are written. */
struct serial {
    const char *path;
    char *bytes;
    size_t size;
};

static int append(void *arg, const void *bytes, size_t size)
{
    struct serial *s = arg;

    if (size)
        memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return 0;
}

static void name_skipped(void *arg, const ferry_proto *p, const char *field)
{
    const struct serial *s = arg;
    ferry_proto_location place = ferry_proto_get_location(p, field, 0);

    ferry_log_write(FERRY_LOG_WARN,
                    "ferry: %s: the field %s of a %s (%s:%d:%d) has no number and is omitted",
                    s->path, field, *ferry_proto_type(p) ? ferry_proto_type(p) : "message",
                    place.file, place.line, place.column);
}

static int serialize(const ferry_net *net, struct serial *s)
{
    struct ferry__proto_sink sink = { append, NULL, name_skipped, s };
    ferry_proto *definition = NULL;
    int err =
        ferry__proto_create(&ferry__proto_NetParameter, net->proto->document->file, &definition);

    if (!err)
        err = strip(net, definition);
    if (!err) {
        s->bytes = malloc((size_t)ferry__proto_wire_size(definition) + 1);
        err = s->bytes ? ferry__proto_to_wire(definition, &sink)
                       : ferry_error_set(FERRY_ENOMEM, "%s: no memory", s->path);
    }
    ferry_proto_close(definition);
    return err;
}

static int define(const ferry_net *net, const char *path, ferry_io_writer *w)
{
    struct serial s = { .path = path };
    int err = serialize(net, &s);

    if (!err)
        err = ferry_io_writer_set_definition(w, s.bytes, s.size);
    free(s.bytes);
    return err;
}

/* ---- the parameters -------------------------------------------------------------------------- */

static char *name_of(const ferry_layer *layer, int index)
{
    size_t size = strlen(layer->name) + 16;
    char *name = malloc(size);

    if (name)
        snprintf(name, size, "%s/%d", layer->name, index);
    return name;
}

/* A net that is saved, and its writer. */
struct saving {
    const ferry_net *net;
    ferry_io_writer *to;
    bool diffs, integers; /* integers: weights of quantized products are rounded to rows */
};

/*
 * Whether a parameter is the weights of a product that may be computed with integers, by its kind
 * and ranges, and its rows are the outputs.
 */
static bool has_integers(const struct saving *s, const ferry_layer *layer, int index)
{
    const ferry_net *net = s->net;
    const ferry_proto *inner = ferry_proto_message(layer->message, "inner_product_param", 0);
    bool rows =
        !strcmp(layer->type->name, "Convolution") ||
        (!strcmp(layer->type->name, "InnerProduct") && !ferry_proto_boolean(inner, "transpose", 0));

    return s->integers && index == 0 && rows && !layer->float_only && !layer->params[0].shared &&
           layer->params[0].owner == layer->index &&
           net->blobs[ferry__net_root(net, layer->bottoms[0])].has_range;
}

/* Declares an array, or writes its values. */
static int declare(const struct saving *s, const ferry_layer *layer, int index, const char *name)
{
    const ferry_blob *b = layer->params[index].blob;
    ferry_io_entry entry = { .struct_size = sizeof entry, .name = name };

    entry.dtype = ferry_blob_dtype(b);
    entry.rank = ferry_blob_rank(b);
    entry.shape = ferry_blob_shape(b);
    entry.layer_type = layer->type->name;
    entry.has_diff = s->diffs;
    entry.storage = has_integers(s, layer, index) ? FERRY_IO_I8_ROWS : NULL;
    return ferry_io_writer_declare(s->to, &entry);
}

static int send(const struct saving *s, const ferry_layer *layer, int index, const char *name)
{
    const ferry_blob *b = layer->params[index].blob;
    struct ferry__origin *origin;
    int err = ferry__origin_begin(ferry_blob_data_memory(b), &origin);

    if (!err)
        err = ferry_io_writer_write(s->to, name, b, s->diffs);
    ferry__origin_end(origin);
    return err;
}

typedef int (*each_fn)(const struct saving *s, const ferry_layer *layer, int index,
                       const char *name);

/*
 * Calls a function for each parameter. As in Caffe, a shared parameter is saved under each layer
 * that has it.
 */
static int each_param(const struct saving *s, each_fn fn)
{
    int i, k, err = 0;

    for (i = 0; i < s->net->n_layers; i++)
        for (k = 0; !err && k < s->net->layers[i].n_params; k++) {
            const ferry_layer *layer = &s->net->layers[i];
            char *name = name_of(layer, k);

            err = name ? fn(s, layer, k, name)
                       : ferry_error_set(FERRY_ENOMEM, "%s: no memory", layer->name);
            free(name);
        }
    return err;
}

static int save(struct saving *s, const char *path, ferry_io_format format)
{
    int err = ferry__params_fill((ferry_net *)s->net);

    if (!err)
        err = ferry_io_writer_create(path, format, &s->to);
    if (err)
        return err;
    if (format == FERRY_IO_CAFFEMODEL)
        err = define(s->net, path, s->to);
    else if (format == FERRY_IO_HDF5)
        err = ferry_io_writer_set_layout(s->to, FERRY_IO_LAYOUT_WEIGHTS);
    if (!err)
        err = each_param(s, declare);
    if (!err)
        err = each_param(s, send);
    if (!err)
        return ferry_io_writer_commit(s->to);
    ferry_io_writer_abort(s->to);
    return err;
}

int ferry__net_save(const ferry_net *net, const char *path, ferry_io_format format, bool diffs)
{
    if (!net || !path)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_save: NULL argument");
    if (format != FERRY_IO_CAFFEMODEL && format != FERRY_IO_HDF5 &&
        format != FERRY_IO_SAFETENSORS && format != FERRY_IO_NPZ)
        return ferry_error_set(
            FERRY_EINVAL, "%.400s: nets are saved as caffemodel, hdf5, safetensors or npz", path);
    return save(&(struct saving){ .net = net, .diffs = diffs }, path, format);
}

int ferry_net_save_integers(const ferry_net *net, const char *path)
{
    if (!net || !path)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_save_integers: NULL argument");
    return save(&(struct saving){ .net = net, .integers = true }, path, FERRY_IO_CAFFEMODEL);
}

int ferry_net_save(const ferry_net *net, const char *path, ferry_io_format format)
{
    return ferry__net_save(net, path, format, false);
}
