/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net.h"
#include "train.h"

#include <stdlib.h>
#include <string.h>

/* `ferry test`: computes the means of a net's outputs over several passes. */

struct testing {
    const struct tool_command *self;
    const char *iterations;
    bool json;
    int64_t n;
    double loss, *sums;
    int n_sums;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Processes value `index` of all outputs; `value` is its value in the current pass. */
typedef int (*each_fn)(struct testing *t, const ferry_net *net, int output, int index, double value,
                       void *arg);

static int each_value(struct testing *t, const ferry_net *net, each_fn fn, void *arg)
{
    int index = 0, status = TOOL_OK;

    for (int i = 0; i < ferry_net_output_count(net); i++) {
        const ferry_blob *b = ferry_net_output_at(net, i);
        const float *values = ferry_blob_host_data(b);

        if (!values && ferry_blob_element_count(b) > 0)
            return tool_ferry_error();
        for (int64_t k = 0; status == TOOL_OK && k < ferry_blob_element_count(b); k++)
            status = fn(t, net, i, index++, (double)values[k], arg);
    }
    return status;
}

/* The loss weight of an output: that of the last top that writes the blob. */
static double weight_of(const ferry_net *net, int output)
{
    const ferry_blob *b = ferry_net_output_at(net, output);

    for (int i = ferry_net_layer_count(net); i-- > 0;) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);

        for (int k = 0; k < ferry_layer_top_count(layer); k++)
            if (ferry_layer_top_at(layer, k) == b)
                return ferry_layer_loss_weight(layer, k);
    }
    return 0;
}

static int add(struct testing *t, const ferry_net *net, int output, int index, double value,
               void *arg)
{
    if (index >= t->n_sums) {
        double *grown = realloc(t->sums, (size_t)(index + 1) * sizeof *grown);

        if (!grown)
            return tool_error(TOOL_FAILURE, "out of memory");
        t->sums = grown;
        t->n_sums = index + 1;
        t->sums[index] = 0;
    }
    t->sums[index] += value;
    ferry_log_write(FERRY_LOG_INFO, "Batch %d, %s = %g", *(const int *)arg,
                    ferry_blob_name(ferry_net_output_at(net, output)), value);
    return TOOL_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int measure(struct testing *t, ferry_net *net)
{
    int status = TOOL_OK;

    ferry_log_write(FERRY_LOG_INFO, "Running for %lld iterations.", (long long)t->n);
    for (int i = 0; status == TOOL_OK && i < t->n; i++) {
        double loss;

        if (ferry_net_forward(net, &loss))
            return tool_ferry_error();
        t->loss += loss / (double)t->n;
        status = each_value(t, net, add, &i);
    }
    return status;
}

static int show_one(struct testing *t, const ferry_net *net, int output, int index, double value,
                    void *arg)
{
    const char *name = ferry_blob_name(ferry_net_output_at(net, output));
    double mean = t->sums[index] / (double)t->n, weight = weight_of(net, output);

    (void)value;
    if (!arg) {
        tool_print(name);
        tool_printf(" = %g", mean);
        if (weight != 0)
            tool_printf(" (* %g = %g loss)", weight, weight * mean);
        putchar('\n');
    } else if (!tool_json_add(arg, name, tool_json_real(mean))) {
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    return TOOL_OK;
}

static int show(struct testing *t, const ferry_net *net)
{
    json_t *outputs = t->json ? json_object() : NULL;
    int status;

    if (!t->json)
        tool_printf("Loss: %g\n", t->loss);
    status = each_value(t, net, show_one, outputs);
    if (!t->json)
        return status;
    return tool_json_print(json_pack(
        "{s:s, s:I, s:o, s:o}", "device", ferry_device_name(ferry_net_device(net)), "iterations",
        (json_int_t)t->n, "loss", tool_json_real(t->loss), "outputs", outputs));
}

static int run(struct testing *t, const struct net_request *r)
{
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status;

    train_lines_prepare();
    train_lines_begin();
    status = net_open(r, &rt, &net);
    if (status == TOOL_OK)
        status = measure(t, net);
    if (status == TOOL_OK)
        status = show(t, net);
    free(t->sums);
    ferry_net_close(net);
    train_lines_end();
    ferry_runtime_close(rt);
    return status;
}

int cmd_test(const struct tool_command *self, int argc, char **argv)
{
    struct testing t = { .self = self, .n = 50 };
    struct net_request r = { .self = self, .phase = "TEST" };
    const struct tool_option options[] = {
        { "--iterations", "-n", NULL, &t.iterations },
        { "--float", NULL, &r.in_float, NULL },
        { "--precision", NULL, NULL, &r.precision },
        { "--level", NULL, NULL, &r.level },
        { "--place", NULL, NULL, &r.place },
        { "--allow-write", NULL, NULL, &r.allow_write },
        { "--max-bytes", NULL, NULL, &r.max_bytes },
        { "--layers", NULL, NULL, &r.layers },
        { "--weights-partial", NULL, &r.weights_partial, NULL },
        { "--json", NULL, &t.json, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n, status;

    n = net_take_all(self, "--stage", &argc, argv, &r.stages)
            ? -2
            : tool_parse(self, argc, argv, options, 2);
    if (n == 2) {
        r.prototxt = argv[0];
        r.weights = argv[1];
    }
    if (n < 2)
        status = n < 0 ? tool_parse_status(n)
                       : tool_error(TOOL_USAGE, "%s: expected a net and its weights", self->name);
    else
        status = tool_parse_number(self, "--iterations", t.iterations, 1, 1000000000, &t.n);
    if (status == TOOL_OK && n == 2)
        status = run(&t, &r);
    free(r.stages.at);
    return status;
}
