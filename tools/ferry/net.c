/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net.h"

#include "given.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ------------------------------------------------------------------------ */

int net_take_all(const struct tool_command *self, const char *name, int *argc, char **argv,
                 struct net_list *out)
{
    size_t length = strlen(name);
    int kept = 0;

    out->count = 0;
    out->at = calloc((size_t)*argc + 1, sizeof(const char *));
    if (!out->at)
        return tool_error(-1, "out of memory");
    for (int i = 0; i < *argc; i++) {
        if (strncmp(argv[i], name, length) != 0 || (argv[i][length] && argv[i][length] != '=')) {
            argv[kept++] = argv[i];
        } else if (argv[i][length]) {
            out->at[out->count++] = argv[i] + length + 1;
        } else if (i + 1 < *argc) {
            out->at[out->count++] = argv[++i];
        } else {
            return tool_error(-1, "%s: %s requires a value", self->name, name);
        }
    }
    *argc = kept;
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int phase_of(const char *text, ferry_phase *out)
{
    if (!text)
        return TOOL_OK;
    if (strcmp(text, "TRAIN") != 0 && strcmp(text, "TEST") != 0)
        return tool_error(TOOL_USAGE, "--phase %s: expected TRAIN or TEST", text);
    *out = *text == 'T' && text[1] == 'R' ? FERRY_PHASE_TRAIN : FERRY_PHASE_TEST;
    return TOOL_OK;
}

/* Splits a text at commas; *out points into the copy *out_copy. */
static int cut(const char *text, char **out_copy, struct net_list *out)
{
    size_t room = 2;
    char *rest;

    for (const char *c = text; *c; c++)
        room += *c == ',';
    *out_copy = strdup(text);
    out->at = calloc(room, sizeof(const char *));
    out->count = 0;
    if (!*out_copy || !out->at)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (rest = *out_copy; *rest;) {
        char *part = rest, *end = strchr(rest, ',');

        rest = end ? end + 1 : rest + strlen(rest);
        if (end)
            *end = 0;
        if (*part)
            out->at[out->count++] = part;
    }
    return TOOL_OK;
}

static int load_file(const struct net_request *r, const char *path, ferry_net *net)
{
    int err = r->weights_partial ? ferry_net_load(net, path, NULL)
                                 : ferry_net_load_matched(net, path, NULL);

    return err ? tool_ferry_error() : TOOL_OK;
}

static int load(const struct net_request *r, ferry_net *net)
{
    struct net_list files = { 0 };
    char *copy = NULL;
    int status = r->weights ? cut(r->weights, &copy, &files) : TOOL_OK;

    if (status == TOOL_OK && r->weights && !files.count)
        status = tool_error(TOOL_USAGE, "%s: WEIGHTS \"%s\" does not name a file", r->self->name,
                            r->weights);
    for (size_t i = 0; status == TOOL_OK && i < files.count; i++)
        status = load_file(r, files.at[i], net);
    free(files.at);
    free(copy);
    return status;
}

/* Whether a file is a caffemodel, which contains weights as well as its definition. */
static bool has_weights(const char *path)
{
    ferry_io *io = NULL;
    bool has = !ferry_io_open(path, &io) && ferry_io_get_format(io) == FERRY_IO_CAFFEMODEL;

    ferry_io_close(io);
    return has;
}

/* Opens the net unchanged, or with inputs in place of data layers. */
static int open_given(const struct net_request *r, ferry_device *dev, ferry_net_options *o,
                      ferry_net **out)
{
    char *text = NULL;
    int status =
        r->inputs ? given_text(r->prototxt, r->inputs->at, r->inputs->count, &text) : TOOL_OK;

    o->text = text ? text : r->text;
    o->text_size = o->text ? strlen(o->text) : 0;
    if (status == TOOL_OK && ferry_net_open(dev, r->prototxt, o, out))
        status = tool_ferry_error();
    if (status == TOOL_OK && text && has_weights(r->prototxt))
        status = load_file(r, r->prototxt, *out);
    free(text);
    return status;
}

int net_precision(const struct tool_command *self, const char *given, ferry_precision *out)
{
    if (!given)
        return TOOL_OK;
    if (strcmp(given, "f32") && strcmp(given, "bf16"))
        return tool_error(TOOL_USAGE, "%s: --precision %s: expected f32 or bf16", self->name,
                          given);
    *out = strcmp(given, "f32") ? FERRY_PRECISION_BF16 : FERRY_PRECISION_F32;
    return TOOL_OK;
}

int net_open_on(const struct net_request *r, ferry_device *dev, ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .place = r->place,
                            .allow_write = r->allow_write,
                            .segments = r->segments };
    bool all = r->keep && strcmp(r->keep, "all") == 0;
    struct net_list keep = { 0 };
    char *copy = NULL;
    int64_t level = 0;
    int status = phase_of(r->phase, &o.phase);

    if (status == TOOL_OK)
        status = net_precision(r->self, r->precision, &o.precision);
    if (status == TOOL_OK)
        status = tool_parse_number(r->self, "--level", r->level, INT_MIN, INT_MAX, &level);
    o.level = (int)level;

    o.stages = r->stages.at;
    o.stage_count = r->stages.count;
    if (status == TOOL_OK && r->keep)
        status = cut(all ? "*" : r->keep, &copy, &keep);
    if (status == TOOL_OK && r->keep && !keep.count)
        status =
            tool_error(TOOL_USAGE, "%s: --blobs %s: does not name a blob", r->self->name, r->keep);
    o.keep = keep.at;
    o.keep_count = keep.count;
    o.only = r->keep && !all;
    o.no_plan = r->no_plan;
    o.no_fuse = r->no_fuse;
    o.backward = r->backward;
    o.plan_training = r->plan_training;
    o.recompute = r->recompute;
    o.ignore_quantization = r->in_float;
    o.reread_weights = r->reread;
    if (status == TOOL_OK)
        status = open_given(r, dev, &o, out);
    free(keep.at);
    free(copy);
    return status;
}

int net_max_bytes(const struct tool_command *self, const char *text)
{
    int64_t bytes = 0;
    int status =
        text ? tool_parse_number(self, "--max-bytes", text, 1, INT64_MAX, &bytes) : TOOL_OK;

    if (status == TOOL_OK && text)
        ferry_io_set_max_bytes((uint64_t)bytes);
    return status;
}

int net_open(const struct net_request *r, ferry_runtime **out_rt, ferry_net **out)
{
    ferry_device *dev;
    ferry_net *net = NULL;
    int status = net_max_bytes(r->self, r->max_bytes);

    if (status != TOOL_OK)
        return status;
    if (ferry_runtime_open(NULL, out_rt))
        return tool_ferry_error();
    if (ferry_layer_library_load(*out_rt, NULL) ||
        (r->layers && ferry_layer_library_load(*out_rt, r->layers)) ||
        ferry_runtime_get_device(*out_rt, NULL, &dev)) {
        status = tool_ferry_error();
    } else {
        status = net_open_on(r, dev, &net);
        if (status == TOOL_OK)
            status = load(r, net);
    }
    if (status == TOOL_OK) {
        *out = net;
        return TOOL_OK;
    }
    ferry_net_close(net);
    ferry_runtime_close(*out_rt);
    *out_rt = NULL;
    return status;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Reads an entry of a file into the blob of that name. Returns an exit status. */
typedef int (*read_fn)(ferry_net *net, ferry_io *io, const ferry_io_entry *entry, const char *name);

/* The name of the layer that makes a blob; "" if there is none. */
static const char *maker_of(const ferry_net *net, const char *name)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);

        for (int k = 0; k < ferry_layer_top_count(layer); k++)
            if (strcmp(ferry_blob_name(ferry_layer_top_at(layer, k)), name) == 0)
                return ferry_layer_name(layer);
    }
    return "";
}

ferry_blob *net_input(ferry_net *net, const char *name, const char *option)
{
    const char *maker = maker_of(net, name);

    for (int i = 0; i < ferry_net_input_count(net); i++)
        if (strcmp(ferry_blob_name(ferry_net_input_at(net, i)), name) == 0)
            return ferry_net_input_at(net, i);
    if (*maker)
        tool_error(
            TOOL_FAILURE,
            "%s %s: layer \"%s\" computes it; inputs are tops of layers without bottoms", option,
            name, maker);
    else
        tool_error(TOOL_FAILURE, "%s: the net has no blob \"%s\"", option, name);
    return NULL;
}

static int read_data(ferry_net *net, ferry_io *io, const ferry_io_entry *entry, const char *name)
{
    ferry_blob *blob = net_input(net, name, "--input");
    char shape[160];

    if (!blob)
        return TOOL_FAILURE;
    if (ferry_io_read(io, entry, blob))
        return tool_ferry_error();
    if (ferry_blob_element_count(blob) > 0)
        return TOOL_OK;
    ferry_blob_shape_string(blob, shape, sizeof shape);
    return tool_error(TOOL_FAILURE, "--input %s: the array is empty: %s", name, shape);
}

static int read_diff(ferry_net *net, ferry_io *io, const ferry_io_entry *entry, const char *name)
{
    ferry_blob *blob = ferry_net_blob_find(net, name), *read;
    char shape[160];
    void *diff;
    int status = TOOL_OK;

    if (!blob || ferry_blob_create(ferry_net_device(net), FERRY_F32, NULL, FERRY_UNSHAPED, &read))
        return tool_ferry_error();
    if (ferry_io_read(io, entry, read)) {
        status = tool_ferry_error();
    } else if (ferry_blob_shape_equals(read, blob) != 1) {
        ferry_blob_shape_string(blob, shape, sizeof shape);
        status = tool_error(TOOL_FAILURE, "--diff: \"%s\" is %s, the array has %lld elements", name,
                            shape, (long long)ferry_blob_element_count(read));
    } else {
        diff = ferry_blob_overwrite_host_diff(blob);
        if (diff && ferry_blob_host_data(read))
            memcpy(diff, ferry_blob_host_data(read),
                   (size_t)ferry_blob_element_count(blob) * sizeof(float));
        else
            status = tool_ferry_error();
    }
    ferry_blob_destroy(read);
    return status;
}

/*
 * Reads the arrays of a file by name: `prefix`/NAME and NAME both mean NAME; arrays with another
 * prefix are skipped, unless a blob has exactly that name.
 */
static int feed_file(ferry_net *net, const char *path, const char *prefix, read_fn read_into)
{
    ferry_io *io;
    int status = TOOL_OK;

    if (ferry_io_open(path, &io))
        return tool_ferry_error();
    for (int64_t i = 0; status == TOOL_OK && i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *entry;
        const char *name;

        if (ferry_io_entry_at(io, i, &entry)) {
            status = tool_ferry_error();
            break;
        }
        name = entry->name;
        if (strncmp(name, prefix, strlen(prefix)) == 0)
            name += strlen(prefix);
        else if (strchr(name, '/') && !ferry_net_blob_find(net, name))
            continue;
        status = read_into(net, io, entry, name);
    }
    ferry_io_close(io);
    return status;
}

static int feed_picture(ferry_net *net, const char *name, const char *path,
                        const struct net_pictures *pictures)
{
    ferry_blob *blob = net_input(net, name, "--input");

    if (!blob)
        return TOOL_FAILURE;
    return pictures_read(pictures, path, blob, -1) ? tool_ferry_error() : TOOL_OK;
}

/* Reads "NAME=FILE": a picture, the file's only array, or the array of the blob's name. */
static int feed_blob(ferry_net *net, const char *spec, const char *equals,
                     const struct net_pictures *pictures, read_fn read_into)
{
    const ferry_io_entry *entry = NULL;
    char name[512];
    ferry_io *io;
    int status;

    if ((size_t)(equals - spec) >= sizeof name)
        return tool_error(TOOL_USAGE, "%s: the name exceeds 511 bytes", spec);
    memcpy(name, spec, (size_t)(equals - spec));
    name[equals - spec] = 0;
    if (pictures && pictures_is_one(equals + 1))
        return feed_picture(net, name, equals + 1, pictures);
    if (ferry_io_open(equals + 1, &io))
        return tool_ferry_error();
    if (ferry_io_entry_count(io) == 1 ? ferry_io_entry_at(io, 0, &entry)
                                      : ferry_io_entry_find(io, name, &entry))
        status = tool_ferry_error();
    else if (!entry)
        status = tool_error(TOOL_FAILURE, "%s: has %lld arrays, none of them named \"%s\"",
                            equals + 1, (long long)ferry_io_entry_count(io), name);
    else
        status = read_into(net, io, entry, name);
    ferry_io_close(io);
    return status;
}

/* Reads a picture without a name into the net's only input. */
static int feed_unnamed(ferry_net *net, const char *path, const struct net_pictures *pictures)
{
    if (!pictures_is_one(path))
        return feed_file(net, path, "input/", read_data);
    if (ferry_net_input_count(net) == 1)
        return feed_picture(net, ferry_blob_name(ferry_net_input_at(net, 0)), path, pictures);
    return tool_error(TOOL_FAILURE, "--input %s: the net has %d inputs; use --input NAME=FILE",
                      path, ferry_net_input_count(net));
}

/* TOOL_USAGE, after reporting it, if an input before the one at `at` has the same name. */
static int is_new(const struct net_list *inputs, size_t at)
{
    const char *spec = inputs->at[at], *equals = strchr(spec, '=');

    for (size_t i = 0; equals && i < at; i++)
        if (strncmp(inputs->at[i], spec, (size_t)(equals - spec) + 1) == 0)
            return tool_error(TOOL_USAGE, "--input %s: was given %s", spec, inputs->at[i]);
    return TOOL_OK;
}

int net_feed(ferry_net *net, const struct net_list *inputs, const struct net_pictures *pictures)
{
    int status = TOOL_OK;

    for (size_t i = 0; status == TOOL_OK && i < inputs->count; i++) {
        const char *spec = inputs->at[i], *equals = strchr(spec, '=');

        status = is_new(inputs, i);
        if (status == TOOL_OK)
            status = equals ? feed_blob(net, spec, equals, pictures, read_data)
                            : feed_unnamed(net, spec, pictures);
    }
    return status;
}

int net_feed_diffs(ferry_net *net, const struct net_list *diffs)
{
    int status = TOOL_OK;

    for (size_t i = 0; status == TOOL_OK && i < diffs->count; i++) {
        const char *spec = diffs->at[i], *equals = strchr(spec, '=');

        status = equals ? feed_blob(net, spec, equals, NULL, read_diff)
                        : feed_file(net, spec, "diff/", read_diff);
    }
    return status;
}

int net_set_items(ferry_blob *input, int64_t items)
{
    int64_t shape[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(input);

    if (rank < 1)
        return ferry_error_set(FERRY_ESHAPE, "\"%s\" lacks an axis of items",
                               ferry_blob_name(input));
    memcpy(shape, ferry_blob_shape(input), (size_t)rank * sizeof(*shape));
    shape[0] = items;
    return ferry_blob_reshape(input, shape, rank, NULL);
}

int net_is_fed(ferry_net *net)
{
    char text[800] = "", shape[160];
    bool fed = true;

    for (int i = 0; i < ferry_net_input_count(net); i++) {
        const ferry_blob *b = ferry_net_input_at(net, i);
        size_t used = strlen(text);

        if (ferry_memory_head(ferry_blob_data_memory(b)) == FERRY_HEAD_UNINITIALIZED)
            fed = false;
        ferry_blob_shape_string(b, shape, sizeof shape);
        snprintf(text + used, sizeof text - used, "%s%s %s", i ? ", " : "", ferry_blob_name(b),
                 shape);
    }
    if (fed)
        return TOOL_OK;
    return tool_error(TOOL_FAILURE,
                      "an input of the net has no values; the inputs are: %s (--input NAME=FILE)",
                      text);
}
