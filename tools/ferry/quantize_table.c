/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "lines.h"
#include "quantize.h"
#include "whole.h"

#include <ferry/net_ranges.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Tables of scales as ncnn's ncnn2table writes them (tools/quantize/ncnn2table.cpp, save_table).
 * They begin with a line for the weights of each layer: "LAYER_param_0" and, for each output
 * channel, or each group of a convolution with groups, 127 divided by the largest absolute value. A
 * line for the input of each layer follows: "LAYER" and 127 divided by the largest absolute value.
 */

#define LEVELS 127

/* The scale for a largest absolute value. If that is 0, any scale will do, and ncnn writes 1. */
static double scale_of(double most)
{
    return most > 0 ? LEVELS / most : 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t groups_of(const ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "convolution_param", 0);

    return strcmp(ferry_layer_get_type(layer)->name, "Convolution") == 0
               ? ferry_proto_integer(p, "group", 0)
               : 1;
}

static int write_weights(const struct quantize_layer *l, FILE *to)
{
    const struct quantize_channels c = quantize_channels_of(l);
    int64_t groups = groups_of(l->layer), per = groups > 1 ? c.count / groups : 1;

    if (!c.values)
        return tool_ferry_error();
    fprintf(to, "%s_param_0 ", ferry_layer_name(l->layer));
    for (int64_t i = 0; i < c.count; i += per) {
        double most = 0;

        for (int64_t k = i; k < i + per && k < c.count; k++)
            most = fmax(most, quantize_channel_most(&c, k));
        fprintf(to, "%.9g ", scale_of(most));
    }
    fputc('\n', to);
    return TOOL_OK;
}

static int write_lines(const struct quantize *q, FILE *to)
{
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < q->n_layers; i++)
        status = write_weights(&q->layers[i], to);
    for (int i = 0; status == TOOL_OK && i < q->n_layers; i++) {
        float least, most;

        if (ferry_net_get_range(q->net, ferry_blob_name(q->blobs[q->layers[i].input].blob), &least,
                                &most))
            return tool_ferry_error();
        fprintf(to, "%s %.9g \n", ferry_layer_name(q->layers[i].layer),
                scale_of(fmax(fabs((double)least), fabs((double)most))));
    }
    return status;
}

int quantize_write_table(const struct quantize *q)
{
    struct whole to;
    int status = whole_open(&to, q->table);

    if (status != TOOL_OK)
        return status;
    return whole_close(&to, write_lines(q, to.file));
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct quantize *q;
    int lines, used;
};

/* The net's layer with that name; NULL if the net has no such layer. */
static const struct quantize_layer *find(const struct quantize *q, const char *name)
{
    for (int i = 0; i < q->n_layers; i++)
        if (strcmp(ferry_layer_name(q->layers[i].layer), name) == 0)
            return &q->layers[i];
    return NULL;
}

/* Takes a line. Lines of weights are skipped, since their scales follow from the weights. */
static int take_line(void *arg, char *line)
{
    struct reading *r = arg;
    char *value = line + strcspn(line, " \t"), *end;
    const struct quantize_layer *l;
    double scale;

    r->lines++;
    if (*value)
        *value++ = '\0';
    l = find(r->q, line);
    if (!*line || !l)
        return TOOL_OK;
    scale = strtod(value, &end);
    if (end == value || !(scale > 0) || !isfinite((float)(LEVELS / scale)))
        return tool_error(TOOL_FAILURE, "%s:%d: expected a layer and a scale above 0",
                          r->q->from_table, r->lines);
    r->used++;
    return ferry_net_set_range(r->q->net, ferry_blob_name(r->q->blobs[l->input].blob),
                               (float)(-LEVELS / scale), (float)(LEVELS / scale))
               ? tool_ferry_error()
               : TOOL_OK;
}

int quantize_read_table(struct quantize *q)
{
    struct reading r = { .q = q };
    int status = lines_read(q->from_table, take_line, &r);

    if (status == TOOL_OK && r.used == 0)
        status =
            tool_error(TOOL_FAILURE, "%s: names no layer of the net with weights", q->from_table);
    return status;
}
