/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <ferry/net_ranges.h>

#include <stdio.h>

/* Prints the report of `ferry quantize`. */

#define COLUMNS 9

/* The cells of a row. */
struct row {
    char text[COLUMNS][32];
    const char *at[COLUMNS];
};

static void put_number(struct row *row, int column, double value)
{
    snprintf(row->text[column], sizeof(row->text[column]), "%.6g", value);
    row->at[column] = row->text[column];
}

static void put_decibels(struct row *row, int column, double value)
{
    snprintf(row->text[column], sizeof(row->text[column]), "%.1f", value);
    row->at[column] = row->text[column];
}

/* Prints a table, then frees it. */
static int print(struct tool_table *table, bool complete)
{
    if (table && complete)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    return table && complete ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int show_blobs(const struct quantize *q)
{
    static const char *const headings[5] = { "blob", ">min", ">max", ">from", ">to" };
    struct tool_table *table = tool_table_create(headings, 5);
    bool complete = table != NULL;

    for (int i = 0; complete && i < q->n_blobs; i++) {
        const struct quantize_range *r = &q->blobs[i].range;
        struct row row;

        if (!r->finite)
            continue;
        row.at[0] = ferry_blob_name(q->blobs[i].blob);
        put_number(&row, 1, (double)r->min);
        put_number(&row, 2, (double)r->max);
        put_number(&row, 3, (double)r->least);
        put_number(&row, 4, (double)r->most);
        complete = tool_table_add(table, row.at);
    }
    return print(table, complete);
}

static int show_layers(const struct quantize *q)
{
    static const char *const headings[COLUMNS] = { "layer",      ">weights dB", ">input dB",
                                                   ">both dB",   ">mean dB",    ">nearest dB",
                                                   ">chosen dB", ">alone dB",   "left in" };
    struct tool_table *table = tool_table_create(headings, COLUMNS);
    bool complete = table != NULL;

    for (int i = 0; complete && i < q->n_layers; i++) {
        const struct quantize_layer *l = &q->layers[i];
        struct row row;

        row.at[0] = ferry_layer_name(l->layer);
        put_decibels(&row, 1, quantize_of_weights(l));
        put_decibels(&row, 2, quantize_of_input(q, l));
        put_decibels(&row, 3, quantize_of_both(q, l));
        row.at[4] = "";
        if (l->has_mean)
            put_decibels(&row, 4, range_decibels(l->output_power, l->mean_noise));
        row.at[5] = row.at[6] = "";
        if (l->is_adapted) {
            put_decibels(&row, 5, range_decibels(l->power, l->nearest_noise));
            put_decibels(&row, 6, range_decibels(l->power, l->adapted_noise));
        }
        row.at[7] = "";
        if (l->is_alone)
            put_decibels(&row, 7, l->alone);
        row.at[8] = ferry_net_is_float_only(q->net, row.at[0]) ? "F32" : "";
        complete = tool_table_add(table, row.at);
    }
    return print(table, complete);
}

/* The layers that are left in F32, and their part of the multiplications of all layers. */
static int count_floats(const struct quantize *q, double *part)
{
    double of = 0, all = 0;
    int count = 0;

    for (int i = 0; i < q->n_layers; i++) {
        double n = quantize_multiplications(&q->layers[i]);
        bool is_float = ferry_net_is_float_only(q->net, ferry_layer_name(q->layers[i].layer));

        count += is_float;
        of += is_float ? n : 0;
        all += n;
    }
    *part = all > 0 ? of / all : 0;
    return count;
}

static void show_floats(const struct quantize *q)
{
    double part;
    int count = count_floats(q, &part);

    tool_printf("\n%d of %d layers left in F32, %.1f %% of the multiplications\n\n", count,
                q->n_layers, 100 * part);
}

static int show_outputs(const struct quantize *q)
{
    static const char *const headings[2] = { "output", ">dB" };
    struct tool_table *table = tool_table_create(headings, 2);
    bool complete = table != NULL;

    for (int i = 0; complete && i < q->n_outputs; i++) {
        struct row row;

        row.at[0] = q->outputs[i].name;
        put_decibels(&row, 1, range_decibels(q->outputs[i].power, q->outputs[i].noise));
        complete = tool_table_add(table, row.at);
    }
    return print(table, complete);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_blobs(const struct quantize *q)
{
    json_t *list = json_array();

    for (int i = 0; i < q->n_blobs; i++) {
        const struct quantize_range *r = &q->blobs[i].range;

        if (r->finite)
            json_array_append_new(list,
                                  json_pack("{s:o, s:f, s:f, s:f, s:f}", "name",
                                            tool_json_string(ferry_blob_name(q->blobs[i].blob)),
                                            "min", (double)r->min, "max", (double)r->max, "from",
                                            (double)r->least, "to", (double)r->most));
    }
    return list;
}

/* A ratio, or null if it is not known. */
static json_t *json_ratio(bool is_known, double power, double noise)
{
    return is_known ? tool_json_real(range_decibels(power, noise)) : json_null();
}

/* The layers as JSON; infinite ratios are null. */
static json_t *json_layers(const struct quantize *q)
{
    json_t *list = json_array();

    for (int i = 0; i < q->n_layers; i++) {
        const struct quantize_layer *l = &q->layers[i];
        const char *name = ferry_layer_name(l->layer);

        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "name",
                      tool_json_string(name), "weights_db", tool_json_real(quantize_of_weights(l)),
                      "input_db", tool_json_real(quantize_of_input(q, l)), "both_db",
                      tool_json_real(quantize_of_both(q, l)), "mean_db",
                      json_ratio(l->has_mean, l->output_power, l->mean_noise), "nearest_db",
                      json_ratio(l->is_adapted, l->power, l->nearest_noise), "chosen_db",
                      json_ratio(l->is_adapted, l->power, l->adapted_noise), "alone_db",
                      l->is_alone ? tool_json_real(l->alone) : json_null(), "corrected",
                      (int)l->is_corrected, "float", (int)ferry_net_is_float_only(q->net, name)));
    }
    return list;
}

static json_t *json_outputs(const struct quantize *q)
{
    json_t *list = json_array();

    for (int i = 0; i < q->n_outputs; i++)
        json_array_append_new(
            list,
            json_pack("{s:o, s:o}", "name", tool_json_string(q->outputs[i].name), "db",
                      tool_json_real(range_decibels(q->outputs[i].power, q->outputs[i].noise))));
    return list;
}

static int show_json(const struct quantize *q)
{
    const char *device = ferry_device_name(ferry_net_device(q->net));
    double part;
    int floats = count_floats(q, &part);

    return tool_json_print(json_pack("{s:o, s:s, s:I, s:i, s:i, s:f, s:o, s:o, s:o}", "file",
                                     tool_json_string(q->path), "device", device, "inputs",
                                     (json_int_t)q->feed.items, "equalized", q->equalized, "floats",
                                     floats, "float_part", part, "blobs", json_blobs(q), "layers",
                                     json_layers(q), "outputs", json_outputs(q)));
}

int quantize_show(const struct quantize *q)
{
    int status;

    if (q->json)
        return show_json(q);
    status = show_blobs(q);

    putchar('\n');
    if (status == TOOL_OK)
        status = show_layers(q);
    show_floats(q);
    return status == TOOL_OK ? show_outputs(q) : status;
}
