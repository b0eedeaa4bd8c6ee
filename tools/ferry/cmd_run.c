/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* `ferry run`: a net's outputs for given inputs. */

struct running {
    const char *output, *blobs, *top, *labels;
    bool json, report, all;
    int k;        /* of --top; 0: not given */
    char **names; /* of --labels */
    size_t n_names;
    double ms;
};

/* ---- labels and the best ------------------------------------------------------------------------ */

static int read_labels(struct running *run)
{
    FILE *file = fopen(run->labels, "r");
    char line[1024];
    size_t room = 0;

    if (!file)
        return tool_error(TOOL_FAILURE, "%s: %s", run->labels, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        if (run->n_names == room) {
            size_t more = room ? 2 * room : 256;
            char **grown = realloc(run->names, more * sizeof *grown);

            if (!grown)
                break;
            run->names = grown;
            room = more;
        }
        line[strcspn(line, "\r\n")] = 0;
        run->names[run->n_names] = strdup(line);
        if (!run->names[run->n_names])
            break;
        run->n_names++;
    }
    fclose(file);
    return TOOL_OK;
}

/* The indices of the k largest of n values, the first of equals first. */
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

/* ---- what is shown ------------------------------------------------------------------------------ */

static json_t *json_shape(const ferry_blob *b)
{
    json_t *shape = json_array();

    for (int i = 0; shape && i < ferry_blob_naxes(b); i++)
        json_array_append_new(shape, json_integer(ferry_blob_dim(b, i)));
    return shape;
}

static json_t *json_best(const struct running *run, const float *values, int64_t n)
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

/* Up to a thousand values stand in the document; more belong into a file. */
static json_t *json_output(const struct running *run, const ferry_blob *b, const float *values)
{
    int64_t count = ferry_blob_count(b), items, width;
    json_t *out = json_pack("{s:o, s:o, s:I}", "name", tool_json_string(ferry_blob_name(b)),
                            "shape", json_shape(b), "count", (json_int_t)count);

    if (out && count <= 1000) {
        json_t *list = json_array();

        for (int64_t i = 0; list && i < count; i++)
            json_array_append_new(list, tool_json_real((double)values[i]));
        json_object_set_new(out, "values", list);
    }
    items = ferry_blob_naxes(b) ? ferry_blob_dim(b, 0) : 1;
    width = items ? count / items : 0;
    if (out && run->k && width > 1) {
        json_t *list = json_array();

        for (int64_t i = 0; list && i < items; i++)
            json_array_append_new(list, json_best(run, values + i * width, width));
        json_object_set_new(out, "top", list);
    }
    return out;
}

static void show_best(const struct running *run, const float *values, int64_t n)
{
    int64_t index[100];
    int count = best(values, n, index, run->k);

    for (int i = 0; i < count; i++)
        printf("    %-8lld %-12g %s\n", (long long)index[i], (double)values[index[i]],
               (size_t)index[i] < run->n_names ? run->names[index[i]] : "");
}

/* A line about an output: its shape, its least and its largest value; its values where they are few. */
static void show_output(const struct running *run, const ferry_blob *b, const float *values)
{
    int64_t count = ferry_blob_count(b), items, width, i;
    double low = INFINITY, high = -INFINITY;
    char shape[256];

    ferry_blob_shape_string(b, shape, sizeof shape);
    for (i = 0; i < count; i++) {
        low = fmin(low, (double)values[i]);
        high = fmax(high, (double)values[i]);
    }
    printf("%s: %s", ferry_blob_name(b), shape);
    if (count > 10 && count > 0)
        printf(", from %g to %g", low, high);
    for (i = 0; i < count && count <= 10; i++)
        printf(" %g", (double)values[i]);
    putchar('\n');
    items = ferry_blob_naxes(b) ? ferry_blob_dim(b, 0) : 1;
    width = items ? count / items : 0;
    for (i = 0; run->k && width > 1 && i < items; i++) {
        if (items > 1)
            printf("  item %lld\n", (long long)i);
        show_best(run, values + i * width, width);
    }
}

static json_t *json_layers(const ferry_net *net)
{
    json_t *list = json_array();

    for (int i = 0; list && i < ferry_net_n_layers(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        if (ferry_net_layer(net, i, &info))
            continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", info.name,
                                              "type", info.type, "device", info.device, "tier",
                                              ferry_op_tier_name(info.tier), "operations",
                                              info.operations));
    }
    return list;
}

static int show_report(const ferry_net *net)
{
    static const char *const headings[] = { "layer", "type", "device", "tier", ">operations" };
    struct tool_table *table = tool_table_create(headings, 5);
    bool good = table != NULL;

    for (int i = 0; good && i < ferry_net_n_layers(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };
        char operations[16];

        if (ferry_net_layer(net, i, &info))
            continue;
        snprintf(operations, sizeof operations, "%d", info.operations);
        good = tool_table_add(table,
                              (const char *const[]){ info.name, info.type, info.device,
                                                     ferry_op_tier_name(info.tier), operations });
    }
    if (good)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int show(const struct running *run, ferry_net *net, double loss)
{
    json_t *outputs = run->json ? json_array() : NULL, *document;
    int status = TOOL_OK;

    if (run->report && !run->json)
        status = show_report(net);
    for (int i = 0; status == TOOL_OK && i < ferry_net_n_outputs(net); i++) {
        const ferry_blob *b = ferry_net_output(net, i);
        const float *values = b ? ferry_blob_host_data(b) : NULL;

        if (!b) /* --blobs does without it */
            continue;
        if (!values)
            status = tool_ferry_error();
        else if (run->json)
            json_array_append_new(outputs, json_output(run, b, values));
        else if (!run->output || run->k)
            show_output(run, b, values);
    }
    if (!run->json || status != TOOL_OK) {
        json_decref(outputs);
        return status;
    }
    document = json_pack("{s:s, s:f, s:f, s:o}", "device", ferry_device_name(ferry_net_device(net)),
                         "ms", run->ms, "loss", loss, "outputs", outputs);
    if (document && run->report)
        json_object_set_new(document, "layers", json_layers(net));
    return tool_json_print(document);
}

/* ---- the file of outputs ------------------------------------------------------------------------ */

static int write_named(ferry_io_writer *w, ferry_net *net, const char *names)
{
    char *copy = strdup(names), *rest = copy, *name;
    int err = copy ? 0 : FERRY_ENOMEM;

    while (!err && (name = strtok_r(rest, ",", &rest))) {
        const ferry_blob *b = ferry_net_blob(net, name);

        err = b ? ferry_io_write(w, name, b, false) : ferry_last_error_code();
    }
    free(copy);
    return err;
}

/* Everything: blobs, and parameters as LAYER/i. */
static int write_all(ferry_io_writer *w, ferry_net *net)
{
    int err = 0;

    for (int i = 0; !err && i < ferry_net_n_blobs(net); i++) {
        const ferry_blob *b = ferry_net_blob_at(net, i);

        err = ferry_io_write(w, ferry_blob_name(b), b, false);
    }
    for (int i = 0; !err && i < ferry_net_n_layers(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };
        char name[600];

        err = ferry_net_layer(net, i, &info);
        for (int k = 0; !err && k < ferry_net_n_params(net, i); k++) {
            snprintf(name, sizeof name, "%s/%d", info.name, k);
            err = ferry_io_write(w, name, ferry_net_param(net, i, k), false);
        }
    }
    return err;
}

static int write_outputs(const struct tool_command *self, const struct running *run, ferry_net *net,
                         const char *blobs)
{
    ferry_io_format format = ferry_io_format_of(run->output);
    ferry_io_writer *w;
    int err;

    if (format != FERRY_IO_NPZ && format != FERRY_IO_HDF5 && format != FERRY_IO_SAFETENSORS)
        return tool_error(TOOL_USAGE, "%s: --output %s: .npz, .h5 or .safetensors", self->name,
                          run->output);
    err = ferry_io_create(run->output, format, &w);
    if (err)
        return tool_ferry_error();
    if (run->all)
        err = write_all(w, net);
    else if (blobs)
        err = write_named(w, net, blobs);
    for (int i = 0; !err && !blobs && i < ferry_net_n_outputs(net); i++)
        err = ferry_io_write(w, ferry_blob_name(ferry_net_output(net, i)), ferry_net_output(net, i),
                             false);
    if (err) {
        int status = tool_ferry_error();

        ferry_io_abort(w);
        return status;
    }
    return ferry_io_commit(w) ? tool_ferry_error() : TOOL_OK;
}

/* ---- the command -------------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compute(const struct tool_command *self, struct running *run,
                   const struct net_request *r, const struct net_list *inputs)
{
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    double loss = 0, begin;
    int status = net_open(r, &rt, &net);

    if (status != TOOL_OK)
        return status;
    status = net_feed(net, inputs);
    if (status == TOOL_OK)
        status = net_is_fed(net);
    begin = now_ms();
    if (status == TOOL_OK &&
        (ferry_net_forward(net, &loss) || ferry_device_synchronize(ferry_net_device(net))))
        status = tool_ferry_error();
    run->ms = now_ms() - begin;
    if (status == TOOL_OK && run->output)
        status = write_outputs(self, run, net, run->blobs);
    if (status == TOOL_OK)
        status = show(run, net, loss);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

static int parse_top(const struct tool_command *self, struct running *run)
{
    char *end;
    long k;

    if (!run->top)
        return TOOL_OK;
    k = strtol(run->top, &end, 10);
    if (*end || end == run->top || k < 1 || k > 100)
        return tool_error(TOOL_USAGE, "%s: --top %s: a number from 1 to 100", self->name, run->top);
    run->k = (int)k;
    return TOOL_OK;
}

int cmd_run(const struct tool_command *self, int argc, char **argv)
{
    struct running run = { 0 };
    struct net_request r = { 0 };
    struct net_list inputs = { 0 };
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &run.output },
        { "--blobs", NULL, NULL, &run.blobs },
        { "--no-fuse", NULL, &r.no_fuse, NULL },
        { "--no-plan", NULL, &r.no_plan, NULL },
        { "--phase", NULL, NULL, &r.phase },
        { "--place", NULL, NULL, &r.place },
        { "--report", NULL, &run.report, NULL },
        { "--top", NULL, NULL, &run.top },
        { "--labels", NULL, NULL, &run.labels },
        { "--json", NULL, &run.json, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n, status = TOOL_OK;

    if (net_take_all(self, "--input", &argc, argv, &inputs) ||
        net_take_all(self, "--stage", &argc, argv, &r.stages)) {
        status = TOOL_USAGE;
    } else {
        n = tool_parse(self, argc, argv, options, 2);
        if (n < 0)
            status = tool_parse_status(n);
        else if (n < 1)
            status = tool_error(TOOL_USAGE, "%s: it takes a net; see ferry run --help", self->name);
        if (n >= 1) {
            r.prototxt = argv[0];
            r.weights = n > 1 ? argv[1] : NULL;
            r.keep = run.blobs;
            run.all = run.blobs && strcmp(run.blobs, "all") == 0;
            status = parse_top(self, &run);
            if (status == TOOL_OK && run.labels)
                status = read_labels(&run);
            if (status == TOOL_OK)
                status = compute(self, &run, &r, &inputs);
        }
    }
    for (size_t i = 0; i < run.n_names; i++)
        free(run.names[i]);
    free(run.names);
    free(inputs.at);
    free(r.stages.at);
    return status;
}
