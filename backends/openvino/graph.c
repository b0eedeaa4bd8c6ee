/* SPDX-License-Identifier: BSD-2-Clause */
/* The table "ferry.graph/1": claiming, compiling, running and saving segments. */
#define _GNU_SOURCE
#include "openvino.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * An input or output of a compiled segment: the tensor around the memory that the latest run used.
 */
struct border {
    int64_t dim[FERRY_OP_AXES];
    uint32_t rank;
    void *data;
    ov_tensor *tensor;
};

struct segment {
    const struct ov_api *api;
    ov_compiled_model *compiled;
    ov_infer_request *request;
    size_t n_in, n_out;
    struct border *borders; /* the inputs, then the outputs */
    void *saved;            /* the bytes that the model was loaded from, which OpenVINO continues to
                             * use */
};

static void destroy(void *dev, void *prepared)
{
    struct segment *s = prepared;

    (void)dev;
    for (size_t i = 0; s->borders && i < s->n_in + s->n_out; i++)
        if (s->borders[i].tensor)
            s->api->ov_tensor_free(s->borders[i].tensor);
    if (s->request)
        s->api->ov_infer_request_free(s->request);
    if (s->compiled)
        s->api->ov_compiled_model_free(s->compiled);
    free(s->borders);
    free(s->saved);
    free(s);
}

/* ---- claiming ------------------------------------------------------------------------------ */

static int no_memory(void)
{
    return ov_host->error(FERRY_ENOMEM, "no memory for a segment");
}

/* Assigns nodes to segments: adjacent nodes that can be expressed form one segment. */
static int partition(void *dev, const ferry_graph *graph, uint32_t *out_segment)
{
    struct ov_writer w = { .dry = true };
    struct ov_lowering l = { .w = &w, .graph = graph };
    uint32_t segment = 0;
    bool before = false;

    (void)dev;
    l.edges = calloc(graph->n_edges + 1, sizeof *l.edges);
    if (!l.edges)
        return no_memory();
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        bool can = ov_lower(&l, i);

        segment += can && !before;
        out_segment[i] = can ? segment : 0;
        before = can;
    }
    free(l.edges);
    return 0;
}

/* ---- compiling ----------------------------------------------------------------------------- */

/* Writes the model of a segment: its parameters and results are in the order of its edges. */
static int write_model(const ferry_graph *graph, const void *const *constants, struct ov_writer *w)
{
    struct ov_lowering l = { .w = w, .graph = graph, .constants = constants };
    const char *refused = NULL;

    l.edges = calloc(graph->n_edges + 1, sizeof *l.edges);
    l.parts = calloc(graph->n_nodes + 1, sizeof *l.parts);
    w->failed = !l.edges || !l.parts;
    for (uint32_t i = 0; !w->failed && i < graph->n_edges; i++)
        if (graph->edges[i]->flags & FERRY_GRAPH_INPUT)
            l.edges[i] = ov_input(w, graph->edges[i]->operand.rank, graph->edges[i]->operand.shape);
    for (uint32_t i = 0; !w->failed && !refused && i < graph->n_nodes; i++)
        refused = ov_lower(&l, i) ? NULL : graph->nodes[i]->name;
    for (uint32_t i = 0; !w->failed && !refused && i < graph->n_edges; i++)
        if (graph->edges[i]->flags & FERRY_GRAPH_OUTPUT) {
            refused = l.edges[i].layer ? NULL : "an output that is made in parts";
            if (!refused)
                ov_output(w, l.edges[i]);
        }
    free(l.edges);
    free(l.parts);
    if (w->failed)
        return no_memory();
    return refused ? ov_host->error(FERRY_EUNSUPPORTED, "%s cannot be expressed", refused) : 0;
}

/*
 * Copies the constants into a tensor of OpenVINO's own, since the compiled model continues to use
 * it.
 */
static int copy_constants(const struct ov_api *api, const struct ov_writer *w, ov_tensor **out)
{
    int64_t count = (int64_t)w->count + 1;
    ov_shape shape = { 1, &count };
    void *data = NULL;
    int err = ov_check(api, api->ov_tensor_create(api->f32, shape, out), FERRY_ENOMEM, "constants");

    if (!err)
        err = ov_check(api, api->ov_tensor_data(*out, &data), FERRY_EUNSUPPORTED, "constants");
    if (!err && w->count)
        memcpy(data, w->constants, w->count * sizeof *w->constants);
    return err;
}

static int compile_text(const struct ov_device *d, const struct ov_writer *w, const char *text,
                        ov_compiled_model **out)
{
    ov_tensor *constants = NULL;
    ov_model *model = NULL;
    int err = copy_constants(d->api, w, &constants);

    if (!err)
        err = ov_check(d->api,
                       d->api->ov_core_read_model_from_memory_buffer(d->core, text, strlen(text),
                                                                     constants, &model),
                       FERRY_EUNSUPPORTED, "reading the model");
    if (!err)
        err = ov_check(d->api, d->api->ov_core_compile_model(d->core, model, d->name, 0, out),
                       FERRY_EUNSUPPORTED, "compiling");
    if (model)
        d->api->ov_model_free(model);
    if (constants)
        d->api->ov_tensor_free(constants);
    return err;
}

static void find_borders(struct segment *s, const ferry_graph *graph, uint32_t flag, size_t *n)
{
    for (uint32_t i = 0; i < graph->n_edges; i++)
        if (graph->edges[i]->flags & flag) {
            struct border *b = &s->borders[s->n_in + s->n_out];

            b->rank = graph->edges[i]->operand.rank;
            memcpy(b->dim, graph->edges[i]->operand.shape, sizeof b->dim);
            ++*n;
        }
}

/* Makes a segment around a compiled model, which the segment then owns. */
static int finish(const struct ov_device *d, const ferry_graph *graph, ov_compiled_model *compiled,
                  void **out)
{
    struct segment *s = calloc(1, sizeof *s);
    int err;

    if (!s) {
        d->api->ov_compiled_model_free(compiled);
        return no_memory();
    }
    s->api = d->api;
    s->compiled = compiled;
    s->borders = calloc(graph->n_edges + 1, sizeof *s->borders);
    err = s->borders ? 0 : no_memory();
    if (!err) {
        find_borders(s, graph, FERRY_GRAPH_INPUT, &s->n_in);
        find_borders(s, graph, FERRY_GRAPH_OUTPUT, &s->n_out);
        err =
            ov_check(d->api, d->api->ov_compiled_model_create_infer_request(compiled, &s->request),
                     FERRY_EUNSUPPORTED, "a request");
    }
    if (err)
        destroy(NULL, s);
    else
        *out = s;
    return err;
}

static int compile(void *dev, const ferry_graph *graph, const ferry_graph_compile_args *args,
                   void **out_prepared, uint64_t *out_workspace_bytes)
{
    const struct ov_device *d = dev;
    struct ov_writer w = { .failed = false };
    ov_compiled_model *compiled = NULL;
    char *text = NULL;
    int err = write_model(graph, args->constants, &w);

    if (!err && !(text = ov_finish(&w)))
        err = no_memory();
    if (!err)
        err = compile_text(d, &w, text, &compiled);
    free(text);
    ov_writer_end(&w);
    if (!err)
        err = finish(d, graph, compiled, out_prepared);
    if (!err)
        *out_workspace_bytes = 0;
    return err;
}

/* ---- running ------------------------------------------------------------------------------- */

/* Binds a tensor around `data` to a run, unless the previous run used the same one. */
static int bind(struct segment *s, size_t i, void *data)
{
    struct border *b = &s->borders[i];
    ov_shape shape = { b->rank, b->dim };
    ov_tensor *tensor = NULL;
    int status;

    if (b->data == data)
        return 0;
    b->data = NULL;
    status = s->api->ov_tensor_create_from_host_ptr(s->api->f32, shape, data, &tensor);
    if (!status)
        status = i < s->n_in
                     ? s->api->ov_infer_request_set_input_tensor_by_index(s->request, i, tensor)
                     : s->api->ov_infer_request_set_output_tensor_by_index(s->request, i - s->n_in,
                                                                           tensor);
    if (status) {
        if (tensor)
            s->api->ov_tensor_free(tensor);
        return ov_check(s->api, status, FERRY_EDEVICE, "an argument");
    }
    if (b->tensor)
        s->api->ov_tensor_free(b->tensor);
    b->tensor = tensor;
    b->data = data;
    return 0;
}

static int run(void *dev, void *queue, void *prepared, const ferry_graph_run_args *args)
{
    struct segment *s = prepared;
    int err = 0;

    (void)dev;
    (void)queue;
    for (size_t i = 0; !err && i < s->n_in; i++)
        err = bind(s, i, (char *)(uintptr_t)args->in[i].handle + args->in[i].offset);
    for (size_t i = 0; !err && i < s->n_out; i++)
        err = bind(s, s->n_in + i, (char *)args->out[i].handle + args->out[i].offset);
    return err ? err
               : ov_check(s->api, s->api->ov_infer_request_infer(s->request), FERRY_EDEVICE,
                          "inference");
}

/* ---- saving -------------------------------------------------------------------------------- */

/*
 * Returns the compatibility string. Releases may lower an operation differently, so that another
 * release compiles segments again.
 */
static int compatibility(void *dev, char *out, uint64_t size)
{
    const struct ov_device *d = dev;
    char *name = NULL;
    int err =
        ov_check(d->api, d->api->ov_core_get_property(d->core, d->name, "FULL_DEVICE_NAME", &name),
                 FERRY_EUNSUPPORTED, "the name of the device");

    if (err)
        return err;
    if ((uint64_t)snprintf(out, size, "openvino " PLUGIN_VERSION "; %s; %s; %s; threads %s",
                           d->api->version, d->name, name, d->threads) >= size)
        err = ov_host->error(FERRY_EINVAL, "the compatibility string is longer");
    d->api->ov_free(name);
    return err;
}

/* Saves a compiled model. OpenVINO writes to a path, here that of a file in memory. */
static int save(void *dev, void *prepared, ferry_graph_write write, void *arg)
{
    const struct segment *s = prepared;
    int file = memfd_create("segment", MFD_CLOEXEC), err = 0;
    char path[64], part[65536];
    ssize_t bytes = 1;

    (void)dev;
    if (file < 0)
        return ov_host->error(FERRY_EIO, "memfd_create failed");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    err = ov_check(s->api, s->api->ov_compiled_model_export_model(s->compiled, path),
                   FERRY_EUNSUPPORTED, "export");
    while (!err && bytes > 0) {
        bytes = read(file, part, sizeof part);
        if (bytes < 0)
            err = ov_host->error(FERRY_EIO, "reading what was exported failed");
        else if (bytes > 0)
            err = write(arg, part, (uint64_t)bytes);
    }
    close(file);
    return err;
}

static int load(void *dev, const ferry_graph *graph, const void *data, uint64_t bytes,
                void **out_prepared, uint64_t *out_workspace_bytes)
{
    const struct ov_device *d = dev;
    ov_compiled_model *compiled = NULL;
    void *saved;
    int err;

    if (bytes > INT64_MAX || posix_memalign(&saved, 64, (size_t)bytes))
        return no_memory();
    memcpy(saved, data, (size_t)bytes);
    err = ov_check(d->api,
                   d->api->ov_core_import_model(d->core, saved, (size_t)bytes, d->name, &compiled),
                   FERRY_EUNSUPPORTED, "import");
    if (!err)
        err = finish(d, graph, compiled, out_prepared);
    if (err) {
        free(saved);
        return err;
    }
    ((struct segment *)*out_prepared)->saved = saved;
    *out_workspace_bytes = 0;
    return 0;
}

const ferry_graph_table ov_graph_table = {
    .struct_size = sizeof(ferry_graph_table),
    .partition = partition,
    .compile = compile,
    .run = run,
    .destroy = destroy,
    .compatibility = compatibility,
    .save = save,
    .load = load,
};
