/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* Writes the files of `ferry run`. */

/* ---- the output file ------------------------------------------------------------------------- */

/* A blob of the series, with its values so far. */
struct part {
    const ferry_blob *blob;
    const char *name;
    int rank;
    int64_t shape[FERRY_MAX_AXES]; /* the first axis is that of all passes */
    float *values;
    size_t count, room;
};

struct run_series {
    const struct run *run;
    ferry_net *net;
    struct part *parts;
    size_t n;
};

static int create_file(const struct run *run, ferry_io_writer **out)
{
    ferry_io_format format = ferry_io_format_find(run->output);

    if (format != FERRY_IO_NPZ && format != FERRY_IO_HDF5 && format != FERRY_IO_SAFETENSORS)
        return tool_error(TOOL_USAGE, "%s: --output %s: expected .npz, .h5 or .safetensors",
                          run->self->name, run->output);
    return ferry_io_writer_create(run->output, format, out) ? tool_ferry_error() : TOOL_OK;
}

static int close_file(ferry_io_writer *w, int err)
{
    int status = TOOL_OK;

    if (err) {
        status = tool_ferry_error();
        ferry_io_writer_abort(w);
        return status;
    }
    return ferry_io_writer_commit(w) ? tool_ferry_error() : TOOL_OK;
}

/* ---- the blobs ------------------------------------------------------------------------------- */

static int add_named(struct run_series *s, const char *names)
{
    char *copy = strdup(names), *rest = copy, *name;
    int status = copy ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");

    while (status == TOOL_OK && (name = strtok_r(rest, ",", &rest))) {
        s->parts[s->n].blob = ferry_net_blob_find(s->net, name);
        if (s->parts[s->n].blob)
            s->n++;
        else
            status = tool_ferry_error();
    }
    free(copy);
    return status;
}

static size_t most_parts(const struct run *run, const ferry_net *net)
{
    size_t n = (size_t)ferry_net_output_count(net) + 1;

    for (const char *c = run->blobs; c && *c; c++)
        n += *c == ',';
    return n;
}

struct run_series *run_series_create(const struct run *run, ferry_net *net)
{
    struct run_series *s = calloc(1, sizeof(*s));

    if (s)
        s->parts = calloc(most_parts(run, net), sizeof(*s->parts));
    if (!s || !s->parts) {
        tool_error(TOOL_FAILURE, "out of memory");
        free(s);
        return NULL;
    }
    s->run = run;
    s->net = net;
    for (int i = 0; !run->blobs && i < ferry_net_output_count(net); i++)
        if (ferry_net_output_at(net, i))
            s->parts[s->n++].blob = ferry_net_output_at(net, i);
    if (run->blobs && add_named(s, run->blobs) != TOOL_OK) {
        run_series_destroy(s);
        return NULL;
    }
    for (size_t i = 0; i < s->n; i++)
        s->parts[i].name = ferry_blob_name(s->parts[i].blob);
    return s;
}

void run_series_destroy(struct run_series *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        free(s->parts[i].values);
    if (s)
        free(s->parts);
    free(s);
}

/* ---- passes ---------------------------------------------------------------------------------- */

/*
 * Checks that the values of a pass can be appended to those of earlier passes; scalars form a new
 * axis.
 */
static int check_shape(struct part *p, const struct run_view *v)
{
    bool first = p->rank == 0;

    if (first) {
        p->rank = v->rank ? v->rank : 1;
        memcpy(p->shape, v->shape, (size_t)v->rank * sizeof(*p->shape));
        p->shape[0] = 0;
    }
    if (!first && (p->rank != (v->rank ? v->rank : 1) ||
                   (v->rank > 1 && memcmp(p->shape + 1, v->shape + 1,
                                          (size_t)(v->rank - 1) * sizeof(*p->shape)) != 0)))
        return tool_error(TOOL_FAILURE, "%s changes its shape between passes", p->name);
    p->shape[0] += v->rank ? v->shape[0] : 1;
    return TOOL_OK;
}

static int append(struct part *p)
{
    struct run_view view;
    int status = run_view_all(p->blob, &view);
    size_t count = status == TOOL_OK ? (size_t)view.count : 0;

    if (status == TOOL_OK)
        status = check_shape(p, &view);
    if (status == TOOL_OK && count > p->room - p->count) {
        size_t room = 2 * p->room + count;
        float *grown = realloc(p->values, room * sizeof(*grown));

        if (!grown)
            return tool_error(TOOL_FAILURE, "out of memory");
        p->values = grown;
        p->room = room;
    }
    if (status == TOOL_OK && count > 0)
        memcpy(p->values + p->count, view.values, count * sizeof(*p->values));
    p->count += count;
    return status;
}

int run_series_add(struct run_series *s)
{
    int status = TOOL_OK;

    for (size_t i = 0; status == TOOL_OK && i < s->n; i++)
        status = append(&s->parts[i]);
    return status;
}

int run_series_write(const struct run_series *s)
{
    ferry_io_writer *w;
    int status = create_file(s->run, &w), err = 0;

    if (status != TOOL_OK)
        return status;
    for (size_t i = 0; !err && i < s->n; i++) {
        ferry_io_entry entry = { .struct_size = sizeof entry, .name = s->parts[i].name };

        entry.dtype = FERRY_F32;
        entry.rank = s->parts[i].rank;
        entry.shape = s->parts[i].shape;
        err = ferry_io_writer_declare(w, &entry);
    }
    for (size_t i = 0; !err && i < s->n; i++)
        err = ferry_io_writer_write_values(w, s->parts[i].values,
                                           s->parts[i].count * sizeof(*s->parts[i].values));
    return close_file(w, err);
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* An array to write: a blob's data or its diff. */
struct array {
    char name[600];
    const ferry_blob *blob;
    bool diff;
};

struct arrays {
    struct array *at;
    size_t count, room;
};

static int add_array(struct arrays *arrays, const ferry_blob *b, bool diff, const char *name)
{
    struct array *new;

    if (arrays->count == arrays->room) {
        size_t room = arrays->room ? 2 * arrays->room : 64;
        struct array *grown = realloc(arrays->at, room * sizeof(*grown));

        if (!grown)
            return tool_error(TOOL_FAILURE, "out of memory");
        arrays->at = grown;
        arrays->room = room;
    }
    new = &arrays->at[arrays->count++];
    snprintf(new->name, sizeof(new->name), "%s%s", name, diff ? ".diff" : "");
    new->blob = b;
    new->diff = diff;
    return TOOL_OK;
}

static int add_blob(const struct run *run, struct arrays *arrays, const ferry_blob *b,
                    const char *name)
{
    int status = add_array(arrays, b, false, name);

    return status == TOOL_OK && run->backward ? add_array(arrays, b, true, name) : status;
}

/* Adds every blob of the net, and parameters as LAYER/i. */
static int add_all(const struct run *run, ferry_net *net, struct arrays *arrays)
{
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < ferry_net_blob_count(net); i++) {
        const ferry_blob *b = ferry_net_blob_at(net, i);

        status = add_blob(run, arrays, b, ferry_blob_name(b));
    }
    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(net); i++) {
        const char *layer = ferry_layer_name(ferry_net_layer_at(net, i));

        for (int k = 0; status == TOOL_OK && k < ferry_net_param_count(net, i); k++) {
            const ferry_blob *b = ferry_net_param_at(net, i, k);
            char name[560];

            snprintf(name, sizeof name, "%.500s/%d", layer, k);
            status = b ? add_blob(run, arrays, b, name) : tool_ferry_error();
        }
    }
    return status;
}

/* Adds the blobs of --blobs, or the outputs. */
static int add_chosen(const struct run *run, ferry_net *net, struct arrays *arrays)
{
    struct run_series *s = run_series_create(run, net);
    int status = s ? TOOL_OK : TOOL_FAILURE;

    for (size_t i = 0; status == TOOL_OK && i < s->n; i++)
        status = add_blob(run, arrays, s->parts[i].blob, s->parts[i].name);
    run_series_destroy(s);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct array *)a)->name, ((const struct array *)b)->name);
}

/* Checks for equal names: a blob may be named "conv1/0" or "y.diff". */
static int check_names(struct arrays *arrays)
{
    struct array *sorted = malloc((arrays->count + 1) * sizeof(*sorted));
    int status = sorted ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");

    if (sorted && arrays->count) {
        memcpy(sorted, arrays->at, arrays->count * sizeof(*sorted));
        qsort(sorted, arrays->count, sizeof(*sorted), compare_names);
    }
    for (size_t i = 1; status == TOOL_OK && i < arrays->count; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
            status = tool_error(TOOL_FAILURE, "two arrays would be written as \"%s\"",
                                tool_printable(sorted[i].name));
    free(sorted);
    return status;
}

static int declare_array(ferry_io_writer *w, const struct array *array)
{
    ferry_io_entry entry = { .struct_size = sizeof entry, .name = array->name };

    entry.dtype = FERRY_F32;
    entry.rank = ferry_blob_rank(array->blob);
    entry.shape = ferry_blob_shape(array->blob);
    return ferry_io_writer_declare(w, &entry);
}

static int write_array(ferry_io_writer *w, const struct array *array)
{
    size_t bytes = (size_t)ferry_blob_element_count(array->blob) * sizeof(float);
    const void *values =
        array->diff ? ferry_blob_host_diff(array->blob) : ferry_blob_host_data(array->blob);

    if (!values && bytes)
        return ferry_last_error_code();
    return bytes ? ferry_io_writer_write_values(w, values, bytes) : FERRY_OK;
}

int run_write_once(const struct run *run, ferry_net *net)
{
    struct arrays arrays = { 0 };
    ferry_io_writer *w;
    int status = run->all ? add_all(run, net, &arrays) : add_chosen(run, net, &arrays), err = 0;

    if (status == TOOL_OK)
        status = check_names(&arrays);
    if (status == TOOL_OK)
        status = create_file(run, &w);
    if (status == TOOL_OK) {
        for (size_t i = 0; !err && i < arrays.count; i++)
            err = declare_array(w, &arrays.at[i]);
        for (size_t i = 0; !err && i < arrays.count; i++)
            err = write_array(w, &arrays.at[i]);
        status = close_file(w, err);
    }
    free(arrays.at);
    return status;
}
