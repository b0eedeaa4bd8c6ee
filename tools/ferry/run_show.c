/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "lines.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Prints the output of `ferry run`. */

/* ---- labels and the best --------------------------------------------------------------------- */

/* Adds a label. The capacity is a power of two, so the count shows when it is exhausted. */
static int add_label(void *arg, char *line)
{
    struct run *run = arg;
    size_t n = run->n_names;
    char **grown = run->names;

    if ((n & (n - 1)) == 0)
        grown = realloc(run->names, (n ? 2 * n : 1) * sizeof *grown);
    if (grown)
        run->names = grown;
    if (!grown || !(run->names[n] = strdup(tool_printable(line))))
        return tool_error(TOOL_FAILURE, "out of memory");
    run->n_names++;
    return TOOL_OK;
}

int run_read_labels(struct run *run)
{
    return lines_read(run->labels, add_label, run);
}

/*
 * Finds the indices of the k largest of n values; among equal values the first index comes first.
 */
static int best(const float *values, int64_t n, int64_t *out, int k)
{
    int count = 0;

    for (int64_t i = 0; i < n; i++) {
        int at = count < k ? count++ : k;

        for (; at > 0 && values[i] > values[out[at - 1]]; at--)
            if (at < k)
                out[at] = out[at - 1];
        if (at < k)
            out[at] = i;
    }
    return count;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int take_values(const ferry_blob *b, struct run_view *out)
{
    out->name = ferry_blob_name(b);
    out->rank = ferry_blob_rank(b);
    out->count = ferry_blob_element_count(b);
    if (out->rank > 0)
        memcpy(out->shape, ferry_blob_shape(b), (size_t)out->rank * sizeof(*out->shape));
    out->values = ferry_blob_host_data(b);
    return out->values || out->count == 0 ? TOOL_OK : tool_ferry_error();
}

int run_view_all(const ferry_blob *b, struct run_view *out)
{
    return take_values(b, out);
}

/* Whether the rows are detections: item, label, score and a box, as DetectionOutput makes them. */
static bool is_rows(const struct run_view *v)
{
    return v->rank == 4 && v->shape[0] == 1 && v->shape[1] == 1 && v->shape[3] == 7;
}

int run_view_item(const ferry_blob *b, int64_t item, int64_t n, struct run_view *out)
{
    int64_t first = 0, rows = 0;
    int status = take_values(b, out);

    if (status != TOOL_OK)
        return status;
    if (is_rows(out)) {
        while (first < out->shape[2] && (int64_t)out->values[first * 7] != item)
            first++;
        while (first + rows < out->shape[2] && (int64_t)out->values[(first + rows) * 7] == item)
            rows++;
        out->shape[2] = rows;
        out->count = rows * 7;
        out->values += first * 7;
    } else if (out->rank > 0 && out->shape[0] == n) {
        out->shape[0] = 1;
        out->count /= n;
        out->values += item * out->count;
    }
    return TOOL_OK;
}

static json_t *json_shape(const struct run_view *v)
{
    json_t *shape = json_array();

    for (int i = 0; shape && i < v->rank; i++)
        json_array_append_new(shape, json_integer(v->shape[i]));
    return shape;
}

static json_t *json_best(const struct run *run, const float *values, int64_t n)
{
    int64_t index[100];
    json_t *list = json_array();
    int count = best(values, n, index, run->k);

    for (int i = 0; list && i < count; i++) {
        json_t *one = json_pack("{s:I, s:o}", "index", (json_int_t)index[i], "value",
                                tool_json_real((double)values[index[i]]));

        if (one && (size_t)index[i] < run->n_names)
            json_object_set_new(one, "label", tool_json_string(run->names[index[i]]));
        json_array_append_new(list, one);
    }
    return list;
}

/* The JSON of an output. A document has at most a thousand values; more belong in a file. */
json_t *run_json_output(const struct run *run, const struct run_view *v)
{
    int64_t items = v->rank ? v->shape[0] : 1, width = items ? v->count / items : 0;
    json_t *out = json_pack("{s:o, s:o, s:I}", "name", tool_json_string(v->name), "shape",
                            json_shape(v), "count", (json_int_t)v->count);

    if (out && v->count <= 1000) {
        json_t *list = json_array();

        for (int64_t i = 0; list && i < v->count; i++)
            json_array_append_new(list, tool_json_real((double)v->values[i]));
        json_object_set_new(out, "values", list);
    }
    if (out && run->k && width > 1 && !is_rows(v)) {
        json_t *list = json_array();

        for (int64_t i = 0; list && i < items; i++)
            json_array_append_new(list, json_best(run, v->values + i * width, width));
        json_object_set_new(out, "top", list);
    }
    return out;
}

static void show_best(const struct run *run, const float *values, int64_t n)
{
    int64_t index[100];
    int count = best(values, n, index, run->k);

    for (int i = 0; i < count; i++)
        tool_printf("    %-8lld %-12g %s\n", (long long)index[i], (double)values[index[i]],
                    (size_t)index[i] < run->n_names ? run->names[index[i]] : "");
}

/* Prints a line per detection: item, label, score, box. */
static void show_rows(const struct run *run, const struct run_view *v)
{
    for (int64_t i = 0; i < v->shape[2]; i++) {
        const float *r = v->values + i * 7;
        size_t label = r[1] >= 0 && r[1] < 1e9f ? (size_t)r[1] : SIZE_MAX;

        tool_printf("    item %g, label %g, %g: %g %g %g %g %s\n", (double)r[0], (double)r[1],
                    (double)r[2], (double)r[3], (double)r[4], (double)r[5], (double)r[6],
                    label < run->n_names ? run->names[label] : "");
    }
}

/* Prints a line for an output: its shape, minimum and maximum; all values if they are few. */
static void show_line(const ferry_blob *b, const struct run_view *v)
{
    double low = INFINITY, high = -INFINITY;
    char shape[256];

    ferry_blob_shape_string(b, shape, sizeof shape);
    for (int64_t i = 0; i < v->count; i++) {
        low = fmin(low, (double)v->values[i]);
        high = fmax(high, (double)v->values[i]);
    }
    tool_print(v->name);
    tool_printf(": %s", shape);
    if (v->count > 10)
        tool_printf(", from %g to %g", low, high);
    for (int64_t i = 0; i < v->count && v->count <= 10; i++)
        tool_printf(" %g", (double)v->values[i]);
    putchar('\n');
}

static void show_output(const struct run *run, const ferry_blob *b, const struct run_view *v)
{
    int64_t items = v->rank ? v->shape[0] : 1, width = items ? v->count / items : 0;

    show_line(b, v);
    if (is_rows(v)) {
        show_rows(run, v);
        return;
    }
    for (int64_t i = 0; run->k && width > 1 && i < items; i++) {
        if (items > 1)
            tool_printf("  item %lld\n", (long long)i);
        show_best(run, v->values + i * width, width);
    }
}

/* The tier of a layer, or "segment". */
static const char *tier_of(const ferry_net_layer_info *info)
{
    return info->segment ? "segment" : ferry_operation_tier_name(info->tier);
}

static json_t *json_layers(const struct run *run, const ferry_net *net)
{
    json_t *list = json_array(), *one;

    for (int i = 0; list && i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        if (ferry_net_get_layer_info(net, i, &info))
            continue;
        one = json_pack("{s:o, s:s, s:s, s:s, s:i}", "name", tool_json_string(info.name), "type",
                        info.type, "device", info.device, "tier", tier_of(&info), "operations",
                        info.operations);
        if (one && info.precision && *info.precision)
            json_object_set_new(one, "precision", json_string(info.precision));
        if (one && info.weights && *info.weights)
            json_object_set_new(one, "weights", json_string(info.weights));
        if (one && info.segment)
            json_object_set_new(one, "segment", json_integer(info.segment));
        if (one && info.sub_batch)
            json_object_set_new(one, "sub_batch", json_integer(info.sub_batch));
        if (one && run->backward && info.needs_backward)
            json_object_set_new(one, "backward",
                                json_pack("{s:s, s:i, s:s}", "tier",
                                          ferry_operation_tier_name(info.backward_tier),
                                          "operations", info.backward_operations, "precision",
                                          info.backward_precision));
        json_array_append_new(list, one);
    }
    return list;
}

/* The tier of a layer's backward pass; a layer may need backward without any computation. */
static const char *back_tier(const ferry_net_layer_info *info)
{
    return info->backward_operations || info->backward_tier == FERRY_TIER_HOST
               ? ferry_operation_tier_name(info->backward_tier)
               : "-";
}

static int show_report(const struct run *run, const ferry_net *net)
{
    static const char *const headings[] = { "layer",   "type",     "device",      "tier",
                                            ">operations", "precision", "weights", ">sub-batch",
                                            "backward", ">operations", "precision" };
    struct tool_table *table = tool_table_create(headings, run->backward ? 11 : 8);
    bool good = table != NULL;

    for (int i = 0; good && i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };
        char operations[16], back[16], tier[32], images[32];

        if (ferry_net_get_layer_info(net, i, &info))
            continue;
        snprintf(tier, sizeof tier, info.segment ? "%s %d" : "%s", tier_of(&info), info.segment);
        snprintf(operations, sizeof operations, "%d", info.operations);
        snprintf(back, sizeof back, "%d", info.backward_operations);
        snprintf(images, sizeof images, info.sub_batch ? "%lld" : "-", (long long)info.sub_batch);
        good = tool_table_add(table, (const char *const[]){ info.name, info.type, info.device, tier,
                                                            operations,
                                                            *info.precision ? info.precision : "-",
                                                            *info.weights ? info.weights : "-",
                                                            images,
                                                            back_tier(&info), back,
                                                            *info.backward_precision
                                                                ? info.backward_precision
                                                                : "-" });
    }
    if (good)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

/* Whether a list of names separated by commas contains the name. */
static bool is_named(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* Prints one blob as a line, or adds it to the list. */
static int show_one(const struct run *run, const ferry_blob *b, json_t *list)
{
    struct run_view view;
    int status = run_view_all(b, &view);

    if (status == TOOL_OK && run->json)
        json_array_append_new(list, run_json_output(run, &view));
    else if (status == TOOL_OK && (!run->output || run->k))
        show_output(run, b, &view);
    return status;
}

/* Prints the outputs; or, with --blobs and without a file, the blobs of --blobs. */
static int show_all(const struct run *run, ferry_net *net, json_t *list)
{
    bool chosen = run->blobs && !run->output;
    int n = chosen ? ferry_net_blob_count(net) : ferry_net_output_count(net), status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < n; i++) {
        const ferry_blob *b = chosen ? ferry_net_blob_at(net, i) : ferry_net_output_at(net, i);

        if (b && (!chosen || run->all || is_named(run->blobs, ferry_blob_name(b))))
            status = show_one(run, b, list); /* skips outputs that --blobs leaves uncomputed */
    }
    return status;
}

int run_show(const struct run *run, ferry_net *net, double loss)
{
    json_t *outputs = run->json ? json_array() : NULL, *document;
    int status = TOOL_OK;

    if (run->report && !run->json)
        status = show_report(run, net);
    if (status == TOOL_OK)
        status = show_all(run, net, outputs);
    if (!run->json || status != TOOL_OK) {
        json_decref(outputs);
        return status;
    }
    document = json_pack("{s:s, s:f, s:f, s:o}", "device", ferry_device_name(ferry_net_device(net)),
                         "ms", run->ms, "loss", loss, "outputs", outputs);
    if (document && run->report)
        json_object_set_new(document, "layers", json_layers(run, net));
    return tool_json_print(document);
}
