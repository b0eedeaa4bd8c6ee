/* SPDX-License-Identifier: BSD-2-Clause */
/* A model in OpenVINO's own format: layers and edges as XML, and the constants in one array. */
#include "openvino.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(struct ov_writer *w, struct ov_text *t, const char *format, ...)
    FERRY_PRINTF(3, 4);

static void append(struct ov_writer *w, struct ov_text *t, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (w->dry || w->failed || length < 0)
        return;
    if (t->length + (size_t)length + 1 > t->room) {
        size_t room = 2 * (t->room + (size_t)length + 1);
        char *grown = realloc(t->at, room);

        w->failed = !grown;
        if (!grown)
            return;
        t->at = grown;
        t->room = room;
    }
    va_start(args, format);
    vsnprintf(t->at + t->length, (size_t)length + 1, format, args);
    va_end(args);
    t->length += (size_t)length;
}

static void append_port(struct ov_writer *w, int port, const char *precision, uint32_t rank,
                        const int64_t *dim)
{
    append(w, &w->layers, "<port id=\"%d\"%s>", port, precision);
    for (uint32_t i = 0; i < rank; i++)
        append(w, &w->layers, "<dim>%" PRId64 "</dim>", dim[i]);
    append(w, &w->layers, "</port>");
}

static void append_shape(struct ov_writer *w, uint32_t rank, const int64_t *dim)
{
    for (uint32_t i = 0; i < rank; i++)
        append(w, &w->layers, "%s%" PRId64, i ? "," : "", dim[i]);
}

static struct ov_value value_of(struct ov_writer *w, int port, uint32_t rank, const int64_t *dim)
{
    struct ov_value v = { .layer = w->layer, .port = port, .rank = rank };

    memcpy(v.dim, dim, rank * sizeof *dim);
    return v;
}

static void begin_layer(struct ov_writer *w, const char *type, int opset)
{
    w->layer++;
    append(w, &w->layers, "<layer id=\"%d\" name=\"n%d\" type=\"%s\" version=\"opset%d\">",
           w->layer, w->layer, type, opset);
}

struct ov_value ov_layer(struct ov_writer *w, const char *type, int opset, const char *attributes,
                         const struct ov_value *in, int n_in, uint32_t rank, const int64_t *dim)
{
    begin_layer(w, type, opset);
    append(w, &w->layers, "<data %s/><input>", attributes);
    for (int i = 0; i < n_in; i++) {
        append_port(w, i, "", in[i].rank, in[i].dim);
        append(w, &w->edges,
               "<edge from-layer=\"%d\" from-port=\"%d\" to-layer=\"%d\" to-port=\"%d\"/>",
               in[i].layer, in[i].port, w->layer, i);
    }
    append(w, &w->layers, "</input><output>");
    append_port(w, n_in, " precision=\"FP32\"", rank, dim);
    append(w, &w->layers, "</output></layer>\n");
    return value_of(w, n_in, rank, dim);
}

struct ov_value ov_input(struct ov_writer *w, uint32_t rank, const int64_t *dim)
{
    begin_layer(w, "Parameter", 1);
    append(w, &w->layers, "<data element_type=\"f32\" shape=\"");
    append_shape(w, rank, dim);
    append(w, &w->layers, "\"/><output>");
    append_port(w, 0, " precision=\"FP32\"", rank, dim);
    append(w, &w->layers, "</output></layer>\n");
    return value_of(w, 0, rank, dim);
}

void ov_output(struct ov_writer *w, struct ov_value v)
{
    begin_layer(w, "Result", 1);
    append(w, &w->layers, "<input>");
    append_port(w, 0, "", v.rank, v.dim);
    append(w, &w->layers, "</input></layer>\n");
    append(w, &w->edges, "<edge from-layer=\"%d\" from-port=\"%d\" to-layer=\"%d\" to-port=\"0\"/>",
           v.layer, v.port, w->layer);
}

/* Makes room for `n` floats; NULL in a dry run and without memory. */
static float *add_constants(struct ov_writer *w, size_t count)
{
    if (w->dry || w->failed)
        return NULL;
    if (w->count + count > w->room) {
        size_t room = 2 * (w->room + count);
        float *grown = realloc(w->constants, room * sizeof *grown);

        w->failed = !grown;
        if (!grown)
            return NULL;
        w->constants = grown;
        w->room = room;
    }
    w->count += count;
    return w->constants + w->count - count;
}

static void append_constant(struct ov_writer *w, const char *type, const char *precision,
                            size_t offset, size_t bytes, uint32_t rank, const int64_t *dim)
{
    begin_layer(w, "Const", 1);
    append(w, &w->layers, "<data element_type=\"%s\" shape=\"", type);
    append_shape(w, rank, dim);
    append(w, &w->layers, "\" offset=\"%zu\" size=\"%zu\"/><output>", offset, bytes);
    append_port(w, 0, precision, rank, dim);
    append(w, &w->layers, "</output></layer>\n");
}

struct ov_value ov_constant(struct ov_writer *w, uint32_t rank, const int64_t *dim,
                            const float *data)
{
    size_t offset = w->count, count = 1;
    float *to;

    for (uint32_t i = 0; i < rank; i++)
        count *= (size_t)dim[i];
    to = add_constants(w, count);
    if (to && data)
        memcpy(to, data, count * sizeof *to);
    append_constant(w, "f32", " precision=\"FP32\"", offset * sizeof *to, count * sizeof *to, rank,
                    dim);
    return value_of(w, 0, rank, dim);
}

/* Adds integers as a constant, which begins at a multiple of eight bytes. */
struct ov_value ov_integers(struct ov_writer *w, uint32_t count, const int64_t *values)
{
    int64_t dim = count;
    size_t offset;
    float *to;

    if (w->count % 2)
        (void)add_constants(w, 1);
    offset = w->count;
    to = add_constants(w, 2 * (size_t)count);
    if (to)
        memcpy(to, values, count * sizeof *values);
    append_constant(w, "i64", " precision=\"I64\"", offset * sizeof *to, count * sizeof *values, 1,
                    &dim);
    return value_of(w, 0, 1, &dim);
}

char *ov_finish(struct ov_writer *w)
{
    struct ov_text t = { NULL, 0, 0 };

    append(w, &t, "<?xml version=\"1.0\"?>\n<net name=\"segment\" version=\"11\"><layers>\n%s",
           w->layers.at ? w->layers.at : "");
    append(w, &t, "</layers><edges>%s</edges></net>\n", w->edges.at ? w->edges.at : "");
    if (!w->failed)
        return t.at;
    free(t.at);
    return NULL;
}

void ov_writer_end(struct ov_writer *w)
{
    free(w->layers.at);
    free(w->edges.at);
    free(w->constants);
}
