/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "upgrade.h"

#include "common/affine.h"

#include <ferry/proto_edit.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Implements `ferry upgrade --fold`: computes the weights of the layers into which others are
 * folded.
 */

struct upgrade_folded {
    char *name;
    bool has_bias; /* the file of the weights has a bias */
    struct ferry__weight_order order;
    struct ferry__affine affine; /* the shift begins with the bias */
};

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "out of memory");
}

static const char *name_of(const ferry_proto *layer)
{
    return ferry_proto_string(layer, "name", 0, NULL);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Finds blob `index` of a layer. FERRY_EFORMAT if the file lacks it. */
static int find_blob(const struct upgrade_fold *f, const char *layer, int index,
                     const ferry_io_entry **out)
{
    size_t size = strlen(layer) + 16;
    char *name = malloc(size);
    int err;

    if (!name)
        return no_memory();
    snprintf(name, size, "%s/%d", layer, index);
    err = ferry_io_entry_find(f->io, name, out);
    free(name);
    if (!err && !*out)
        err = ferry_error_set(FERRY_EFORMAT, "%.400s: no blob %d of layer \"%.100s\"", f->weights,
                              index, layer);
    return err;
}

/* Reads the values of an array as floats, into memory that the caller frees. */
static int read_floats(const struct upgrade_fold *f, const ferry_io_entry *entry, float **out)
{
    size_t n = (size_t)entry->count;
    void *raw = malloc(n * ferry_dtype_size(entry->dtype) + 1);
    float *values = malloc(n * sizeof(*values) + 1);
    int err =
        raw && values ? ferry_io_read_values(f->io, entry, 0, entry->count, raw) : no_memory();

    for (size_t i = 0; i < n && !err; i++)
        values[i] = (float)files_value(entry->dtype, raw, (int64_t)i);
    free(raw);
    if (err)
        free(values);
    else
        *out = values;
    return err;
}

/* Reads blob `index` of a layer, which must have `count` values. */
static int read_blob(const struct upgrade_fold *f, const char *layer, int index, int64_t count,
                     float **out)
{
    const ferry_io_entry *entry = NULL;
    int err = find_blob(f, layer, index, &entry);

    if (!err && entry->count != count)
        err = ferry_error_set(FERRY_ESHAPE,
                              "%.400s: blob %d of layer \"%.100s\" has %" PRId64
                              " values, not the %" PRId64 " of the channels",
                              f->weights, index, layer, entry->count, count);
    return err ? err : read_floats(f, entry, out);
}

/* ---- a layer that absorbs ------------------------------------------------------------------- */

/*
 * Finds the order of a layer's weights and the number of its output channels, from its parameters.
 */
static int measure(const struct upgrade_fold *f, const ferry_proto *layer,
                   struct upgrade_folded *to)
{
    const ferry_proto *conv = ferry_proto_message(layer, "convolution_param", 0),
                      *ip = ferry_proto_message(layer, "inner_product_param", 0);
    const char *type = ferry_proto_string(layer, "type", 0, NULL);
    bool inner = strcmp(type, "InnerProduct") == 0, back = strcmp(type, "Deconvolution") == 0;
    int64_t outputs = ferry_proto_integer(inner ? ip : conv, "num_output", 0);
    int64_t group = ferry_proto_integer(conv, "group", 0), per_row;
    struct ferry__weight_order order = { 1, outputs, 1, 1 };
    const ferry_io_entry *entry = NULL;
    int err = find_blob(f, name_of(layer), 0, &entry);

    if (err)
        return err;
    if (back && group > 0) {
        order.outputs = outputs / group;
        order.rows = entry->rank > 0 ? entry->shape[0] : 0;
        order.rows_of_group = order.rows / group;
    } else if (inner && ferry_proto_boolean(ip, "transpose", 0)) {
        order.rows = order.rows_of_group = outputs > 0 ? entry->count / outputs : 0;
    }
    per_row = order.outputs > 0 && order.rows > 0 ? entry->count / order.rows / order.outputs : 0;
    order.inner = per_row;
    if (per_row <= 0 || order.rows_of_group <= 0 || order.outputs * (back ? group : 1) != outputs ||
        order.rows % order.rows_of_group != 0 ||
        order.rows * order.outputs * per_row != entry->count)
        return ferry_error_set(FERRY_ESHAPE,
                               "%.400s: %" PRId64
                               " weights of layer \"%.100s\" do not fit its %" PRId64 " outputs",
                               f->weights, entry->count, name_of(layer), outputs);
    to->order = order;
    to->affine.channels = outputs;
    to->has_bias = ferry_proto_boolean(inner ? ip : conv, "bias_term", 0);
    return FERRY_OK;
}

static int begin(const struct upgrade_fold *f, const ferry_proto *layer, struct upgrade_folded *to)
{
    float *bias = NULL;
    int err = measure(f, layer, to);

    if (!err && to->has_bias)
        err = read_blob(f, name_of(layer), 1, to->affine.channels, &bias);
    if (err)
        return err;
    to->name = strdup(name_of(layer));
    to->affine.scale = malloc(2 * (size_t)to->affine.channels * sizeof(double));
    if (!to->name || !to->affine.scale) {
        free(bias);
        return no_memory();
    }
    to->affine.shift = to->affine.scale + to->affine.channels;
    ferry__affine_reset(&to->affine);
    for (int64_t i = 0; i < to->affine.channels && bias; i++)
        to->affine.shift[i] = (double)bias[i];
    free(bias);
    return FERRY_OK;
}

static struct upgrade_folded *folded_of(const struct upgrade_fold *f, const char *name)
{
    for (size_t i = 0; i < f->into_count; i++)
        if (strcmp(f->into[i].name, name) == 0)
            return &f->into[i];
    return NULL;
}

static int take_into(struct upgrade_fold *f, const ferry_proto *layer, struct upgrade_folded **out)
{
    struct upgrade_folded made = { 0 }, *more;
    int err;

    *out = folded_of(f, name_of(layer));
    if (*out)
        return FERRY_OK;
    more = realloc(f->into, (f->into_count + 1) * sizeof(*more));
    if (!more)
        return no_memory();
    f->into = more;
    err = begin(f, layer, &made);
    if (err) {
        free(made.name);
        free(made.affine.scale);
        return err;
    }
    *out = &more[f->into_count++];
    **out = made;
    return FERRY_OK;
}

/* ---- the layers that are absorbed ----------------------------------------------------------- */

static int compose_norm(const struct upgrade_fold *f, const ferry_proto *layer,
                        const struct ferry__affine *a)
{
    double eps = ferry_proto_real(ferry_proto_message(layer, "batch_norm_param", 0), "eps", 0);
    float *sums = NULL, *variances = NULL, *count = NULL;
    int err = read_blob(f, name_of(layer), 0, a->channels, &sums);

    if (!err)
        err = read_blob(f, name_of(layer), 1, a->channels, &variances);
    if (!err)
        err = read_blob(f, name_of(layer), 2, 1, &count);
    for (int64_t i = 0; i < a->channels && !err; i++) {
        double mean, spread;

        ferry__affine_statistics((double)sums[i], (double)variances[i], (double)*count, eps, &mean,
                                 &spread);
        ferry__affine_then(a, i, spread, -mean * spread);
    }
    free(sums);
    free(variances);
    free(count);
    return err;
}

/* Composes a Scale layer, with or without bias, or a Bias layer. */
static int compose_scale(const struct upgrade_fold *f, const ferry_proto *layer,
                         const struct ferry__affine *a)
{
    bool scales = strcmp(ferry_proto_string(layer, "type", 0, NULL), "Scale") == 0;
    bool adds = !scales ||
                ferry_proto_boolean(ferry_proto_message(layer, "scale_param", 0), "bias_term", 0);
    float *factors = NULL, *terms = NULL;
    int err = scales ? read_blob(f, name_of(layer), 0, a->channels, &factors) : FERRY_OK;

    if (!err && adds)
        err = read_blob(f, name_of(layer), scales ? 1 : 0, a->channels, &terms);
    for (int64_t i = 0; i < a->channels && !err; i++)
        ferry__affine_then(a, i, factors ? (double)factors[i] : 1, terms ? (double)terms[i] : 0);
    free(factors);
    free(terms);
    return err;
}

/* Has the type ferry_proto_fold_fn. */
static int fold(void *arg, const ferry_proto *into, const ferry_proto *layer)
{
    struct upgrade_fold *f = arg;
    struct upgrade_folded *to = NULL;
    char **more = realloc(f->gone, (f->gone_count + 1) * sizeof(*more)), *name;
    int err = more ? FERRY_OK : no_memory();

    if (more)
        f->gone = more;
    if (!err)
        err = take_into(f, into, &to);
    if (!err)
        err = strcmp(ferry_proto_string(layer, "type", 0, NULL), "BatchNorm") == 0
                  ? compose_norm(f, layer, &to->affine)
                  : compose_scale(f, layer, &to->affine);
    if (err)
        return err;
    name = strdup(name_of(layer));
    if (!name)
        return no_memory();
    f->gone[f->gone_count++] = name;
    return 1;
}

int upgrade_fold_net(struct upgrade_fold *f, ferry_proto *net)
{
    if (files_open(f->weights, false, &f->io) || ferry_proto_fold(net, fold, f))
        return tool_ferry_error();
    ferry_log_write(FERRY_LOG_INFO, "%zu layers folded into %zu", f->gone_count, f->into_count);
    return TOOL_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Splits "layer/12" into the layer's name, `out` of `size` bytes, and 12; −1 for any other name. */
static int split_name(const char *name, char *out, size_t size)
{
    const char *slash = strrchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : size;

    if (n >= size || !slash[1] || strspn(slash + 1, "0123456789") != strlen(slash + 1))
        return -1;
    memcpy(out, name, n);
    out[n] = '\0';
    return (int)strtol(slash + 1, NULL, 10);
}

static bool is_gone(const struct upgrade_fold *f, const char *layer)
{
    for (size_t i = 0; i < f->gone_count; i++)
        if (strcmp(f->gone[i], layer) == 0)
            return true;
    return false;
}

static int declare(struct upgrade_fold *f, const ferry_io_entry *from,
                   const struct upgrade_folded *to)
{
    ferry_io_entry entry = *from;
    char *name;
    int err;

    entry.struct_size = sizeof(entry);
    if (!to)
        return target_declare(&f->target, &entry);
    entry.has_diff = false;
    entry.dtype = FERRY_F32;
    entry.storage = NULL;
    err = target_declare(&f->target, &entry);
    name = malloc(strlen(to->name) + 3);
    if (!err && !name)
        err = no_memory();
    if (!err) {
        sprintf(name, "%s/1", to->name);
        entry.name = name;
        entry.rank = 1;
        entry.shape = &to->affine.channels;
        err = target_declare(&f->target, &entry);
    }
    free(name);
    return err;
}

/* Writes the weights times the factors, and the bias. */
static int write_folded(struct upgrade_fold *f, const ferry_io_entry *from,
                        const struct upgrade_folded *to)
{
    size_t n = (size_t)from->count, channels = (size_t)to->affine.channels;
    float *values = NULL, *bias = malloc(channels * sizeof(*bias));
    int err = bias ? read_floats(f, from, &values) : no_memory();

    if (!err) {
        ferry__affine_multiply(&to->order, to->affine.scale, values, values);
        for (size_t i = 0; i < channels; i++)
            bias[i] = (float)to->affine.shift[i];
        err = target_write(&f->target, values, n * sizeof(*values));
    }
    if (!err)
        err = target_write(&f->target, bias, channels * sizeof(*bias));
    free(values);
    free(bias);
    return err;
}

/* Declares all arrays, or writes them, without the blobs of the removed layers. */
static int each_array(struct upgrade_fold *f, void *tile)
{
    struct progress quiet = { .quiet = true };
    int err = FERRY_OK;

    for (int64_t i = 0; i < ferry_io_entry_count(f->io) && !err; i++) {
        const ferry_io_entry *entry = NULL;
        struct upgrade_folded *to = NULL;
        char layer[1024];
        int index = -1;

        err = ferry_io_entry_at(f->io, i, &entry);
        if (!err)
            index = split_name(entry->name, layer, sizeof(layer));
        if (index >= 0)
            to = folded_of(f, layer);
        if (err || (index >= 0 && (is_gone(f, layer) || (to && index == 1))))
            continue;
        if (!tile)
            err = declare(f, entry, to);
        else if (to)
            err = write_folded(f, entry, to);
        else
            err = files_copy(f->io, entry, entry->has_diff, &f->target, tile, &quiet);
    }
    return err;
}

/* Sets the definition of a caffemodel: the net without its blobs, which a text omits. */
static int set_definition(struct upgrade_fold *f, const ferry_proto *net)
{
    ferry_proto_options options = { .struct_size = sizeof(options) };
    ferry_proto *bare = NULL;
    char *text = NULL, *bytes = NULL;
    size_t size = 0;
    int err = upgrade_print(net, &text);

    options.text = text;
    options.text_size = text ? strlen(text) : 0;
    if (!err)
        err = ferry_proto_open(f->weights, "NetParameter", &options, &bare);
    if (!err)
        err = ferry_proto_serialize(bare, NULL, 0, &size);
    bytes = err ? NULL : malloc(size + 1);
    if (!err && !bytes)
        err = no_memory();
    if (!err)
        err = ferry_proto_serialize(bare, bytes, size, &size);
    if (!err)
        err = ferry_io_writer_set_definition(f->target.out, bytes, size);
    free(bytes);
    free(text);
    ferry_proto_close(bare);
    return err;
}

int upgrade_fold_write(const struct tool_command *self, struct upgrade_fold *f,
                       const ferry_proto *net)
{
    void *tile = malloc(FILES_PIECE);
    int err = FERRY_OK, status;

    f->target.path = f->out;
    f->target.format_name = net ? "caffemodel" : NULL;
    f->target.quiet = true;
    status = target_format(self, &f->target, FERRY_IO_CAFFEMODEL);
    if (status == TOOL_OK) {
        f->open = true;
        err = tile ? target_open(&f->target) : no_memory();
        if (!err)
            err = net ? set_definition(f, net) : target_set_layout(&f->target, true);
        if (!err)
            err = each_array(f, NULL);
        if (!err)
            err = each_array(f, tile);
        status = err ? tool_ferry_error() : TOOL_OK;
    }
    free(tile);
    return status;
}

int upgrade_fold_close(struct upgrade_fold *f, int status)
{
    if (f->open && target_finish(&f->target, status == TOOL_OK ? FERRY_OK : FERRY_EINVAL) &&
        status == TOOL_OK)
        status = tool_ferry_error();
    for (size_t i = 0; i < f->into_count; i++) {
        free(f->into[i].name);
        free(f->into[i].affine.scale);
    }
    for (size_t i = 0; i < f->gone_count; i++)
        free(f->gone[i]);
    free(f->into);
    free(f->gone);
    ferry_io_close(f->io);
    return status;
}
