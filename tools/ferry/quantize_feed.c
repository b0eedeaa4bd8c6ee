/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "quantize.h"

#include <ferry/io.h>

#include <stdlib.h>
#include <string.h>

/* The inputs of `ferry quantize`: pictures, read batch by batch, or arrays. */

/* ---- pictures -------------------------------------------------------------------------------- */

static bool is_of_pictures(const char *path)
{
    const char *suffix = strrchr(path, '.');

    return paths_is_folder(path) || pictures_is_one(path) ||
           (suffix && strcmp(suffix, ".txt") == 0);
}

static int begin_pictures(struct quantize_feed *f, ferry_net *net, const char *name,
                          const char *path)
{
    int status;

    if (!*name && ferry_net_input_count(net) != 1)
        return tool_error(TOOL_FAILURE,
                          "--calibrate %s: the net has %d inputs; use --calibrate NAME=%s", path,
                          ferry_net_input_count(net), path);
    f->input = strdup(*name ? name : ferry_blob_name(ferry_net_input_at(net, 0)));
    if (!f->input)
        return tool_error(TOOL_FAILURE, "out of memory");
    if (!net_input(net, f->input, "--calibrate"))
        return TOOL_FAILURE;
    if (pictures_is_one(path)) {
        f->paths.at = calloc(1, sizeof(*f->paths.at));
        if (!f->paths.at || !(f->paths.at[0] = strdup(path)))
            return tool_error(TOOL_FAILURE, "out of memory");
        f->paths.count = 1;
        status = TOOL_OK;
    } else {
        status = paths_read(&f->paths, path);
    }
    f->items = (int64_t)f->paths.count;
    return status;
}

static int put_pictures(const struct quantize_feed *f, ferry_net *net, int64_t at, int64_t n)
{
    ferry_blob *input = net_input(net, f->input, "--calibrate");

    if (!input)
        return TOOL_FAILURE;
    if (net_set_items(input, n))
        return tool_ferry_error();
    for (int64_t i = 0; i < n; i++)
        if (pictures_read(&f->pictures, f->paths.at[at + i], input, i))
            return tool_ferry_error();
    return TOOL_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static int add_array(struct quantize_feed *f, ferry_net *net, ferry_io *io,
                     const ferry_io_entry *entry, const char *name)
{
    struct quantize_array *a = &f->arrays[f->n_arrays];
    int64_t items;

    if (!net_input(net, name, "--calibrate"))
        return TOOL_FAILURE;
    a->name = strdup(name);
    if (!a->name)
        return tool_error(TOOL_FAILURE, "out of memory");
    f->n_arrays++;
    if (ferry_blob_create(ferry_net_device(net), FERRY_F32, NULL, FERRY_UNSHAPED, &a->values) ||
        ferry_io_read(io, entry, a->values))
        return tool_ferry_error();
    items = ferry_blob_rank(a->values) > 0 ? ferry_blob_dim(a->values, 0) : 0;
    if (items < 1 || ferry_blob_element_count(a->values) < 1)
        return tool_error(TOOL_FAILURE, "--calibrate: the array \"%s\" has no items along axis 0",
                          name);
    if (f->n_arrays > 1 && items != f->items)
        return tool_error(TOOL_FAILURE,
                          "--calibrate: \"%s\" has %lld items, \"%s\" has %lld; the first axis of "
                          "all arrays must be equal",
                          name, (long long)items, f->arrays[0].name, (long long)f->items);
    f->items = items;
    return TOOL_OK;
}

static int add_arrays(struct quantize_feed *f, ferry_net *net, ferry_io *io, const char *name)
{
    int status = TOOL_OK;

    f->arrays = calloc((size_t)ferry_io_entry_count(io) + 1, sizeof(*f->arrays));
    if (!f->arrays)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int64_t i = 0; status == TOOL_OK && i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *entry;
        const char *own;

        if (ferry_io_entry_at(io, i, &entry))
            return tool_ferry_error();
        own = strncmp(entry->name, "input/", 6) == 0 ? entry->name + 6 : entry->name;
        if (*name && ferry_io_entry_count(io) > 1 && strcmp(own, name) != 0)
            continue;
        status = add_array(f, net, io, entry, *name ? name : own);
    }
    if (status == TOOL_OK && f->n_arrays == 0)
        status = tool_error(TOOL_FAILURE, "--calibrate %s: has no array for the net", f->spec);
    return status;
}

static int begin_arrays(struct quantize_feed *f, ferry_net *net, const char *name, const char *path)
{
    ferry_io *io;
    int status;

    if (ferry_io_open(path, &io))
        return tool_ferry_error();
    status = add_arrays(f, net, io, name);
    ferry_io_close(io);
    return status;
}

static int put_array(const struct quantize_array *a, ferry_net *net, int64_t at, int64_t n)
{
    ferry_blob *input = net_input(net, a->name, "--calibrate");
    const float *from = ferry_blob_host_data(a->values);
    int64_t shape[FERRY_MAX_AXES], size;
    int rank = ferry_blob_rank(a->values);
    float *to;

    if (!input)
        return TOOL_FAILURE;
    memcpy(shape, ferry_blob_shape(a->values), (size_t)rank * sizeof(*shape));
    size = ferry_blob_element_count(a->values) / shape[0];
    shape[0] = n;
    if (ferry_blob_reshape(input, shape, rank, NULL))
        return tool_ferry_error();
    to = ferry_blob_overwrite_host_data(input);
    if (!from || !to)
        return tool_ferry_error();
    memcpy(to, from + at * size, (size_t)(n * size) * sizeof(*to));
    return TOOL_OK;
}

/* ---- either ---------------------------------------------------------------------------------- */

int feed_begin(const struct tool_command *self, struct quantize_feed *f, ferry_net *net)
{
    const char *equals = strchr(f->spec, '='), *path = equals ? equals + 1 : f->spec;
    char name[512] = "";
    int status;

    if (equals)
        snprintf(name, sizeof(name), "%.*s", (int)(equals - f->spec), f->spec);
    if (ferry_net_input_count(net) == 0)
        return tool_error(
            TOOL_FAILURE,
            "the net reads its own data: calibrate its deploy net, with Input layers");
    f->stride = 1;
    if (f->per == 0) {
        const ferry_blob *first = ferry_net_input_at(net, 0);

        f->per = ferry_blob_rank(first) > 0 && ferry_blob_dim(first, 0) > 0
                     ? ferry_blob_dim(first, 0)
                     : 1;
    }
    status = pictures_begin(self, &f->pictures, ferry_net_device(net));
    if (status != TOOL_OK)
        return status;
    return is_of_pictures(path) ? begin_pictures(f, net, name, path)
                                : begin_arrays(f, net, name, path);
}

void feed_end(struct quantize_feed *f)
{
    for (int i = 0; i < f->n_arrays; i++) {
        ferry_blob_destroy(f->arrays[i].values);
        free(f->arrays[i].name);
    }
    free(f->arrays);
    free(f->input);
    paths_end(&f->paths);
    pictures_end(&f->pictures);
}

int feed_put(const struct quantize_feed *f, ferry_net *net, int64_t at, int64_t n)
{
    int status = f->input ? put_pictures(f, net, at, n) : TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < f->n_arrays; i++)
        status = put_array(&f->arrays[i], net, at, n);
    return status == TOOL_OK ? net_is_fed(net) : status;
}
