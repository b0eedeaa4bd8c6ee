/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "export_check.h"
#include "net.h"
#include "sha256.h"

#include <ferry/onnx.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `ferry export`: writes a net as an ONNX model. */

struct export
{
    struct net_request request;
    const char *path, *opset;
    struct net_list inputs;
    bool check;
    ferry_onnx_options options;
    char doc[1024], sums[2][65];
    ferry_onnx_property properties[2];
};

/* ---- metadata ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Computes the digest of a file; returns an exit status. */
static int sum_file(const char *path, char out[65])
{
    FILE *file = fopen(path, "rb");
    char piece[65536];
    struct sha256 sum;
    size_t n;
    bool bad;

    if (!file)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    sha256_begin(&sum);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        sha256_add(&sum, piece, n);
    sha256_end(&sum, out);
    bad = ferror(file);
    fclose(file);
    return bad ? tool_error(TOOL_FAILURE, "%s: %s", path, strerror(EIO)) : TOOL_OK;
}

/*
 * Sets doc_string and the metadata: the names of the files and their digests. With several weight
 * files there are no digests.
 */
static int describe(struct export *e)
{
    const char *net = e->request.prototxt, *weights = e->request.weights;
    int status = sum_file(net, e->sums[0]);

    if (status == TOOL_OK && weights && !strchr(weights, ','))
        status = sum_file(weights, e->sums[1]);
    snprintf(e->doc, sizeof(e->doc), "%.400s%s%.400s", base_name(net), weights ? " with " : "",
             weights ? base_name(weights) : "");
    e->properties[0] = (ferry_onnx_property){ "net.sha256", e->sums[0] };
    e->properties[1] = (ferry_onnx_property){ "weights.sha256", e->sums[1] };
    e->options.doc = e->doc;
    e->options.properties = e->properties;
    e->options.property_count = *e->sums[1] ? 2 : 1;
    return status;
}

/* ---- the net -------------------------------------------------------------------------------- */

/* Loads values into the inputs, which take the shapes of the arrays. */
static int feed(const struct export *e, ferry_net *net)
{
    struct net_pictures pictures = { 0 };
    int status = pictures_begin(e->request.self, &pictures, ferry_net_device(net));

    if (status == TOOL_OK && e->check)
        status = export_check_fill(net);
    if (status == TOOL_OK)
        status = net_feed(net, &e->inputs, &pictures);
    pictures_end(&pictures);
    return status;
}

static int write_and_check(struct export *e, ferry_net *net)
{
    int status = feed(e, net);

    if (status == TOOL_OK)
        status = describe(e);
    if (status == TOOL_OK && ferry_net_export_onnx(net, e->path, &e->options))
        status = tool_ferry_error();
    return status == TOOL_OK && e->check ? export_check(net, e->path) : status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(struct export *e)
{
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status = net_open(&e->request, &rt, &net);

    if (status != TOOL_OK)
        return status;
    status = write_and_check(e, net);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

/* Takes the arguments NET [WEIGHTS] OUT. */
static int take_arguments(struct export *e, int n, char **argv)
{
    int64_t opset = 0;
    int status = tool_parse_number(e->request.self, "--opset", e->opset, 11, 22, &opset);

    if (status != TOOL_OK)
        return status;
    if (n < 2)
        return tool_error(TOOL_USAGE, "%s: missing files; usage: ferry %s %s",
                          e->request.self->name, e->request.self->name, e->request.self->arguments);
    e->request.inputs = &e->inputs;
    e->request.prototxt = argv[0];
    e->request.weights = n > 2 ? argv[1] : NULL;
    e->path = argv[n - 1];
    e->options.opset = (int)opset;
    return TOOL_OK;
}

int cmd_export(const struct tool_command *self, int argc, char **argv)
{
    struct export e = { .request = { .self = self },
                        .options = { .struct_size = sizeof(e.options) } };
    const struct tool_option options[] = {
        { "--opset", NULL, NULL, &e.opset },
        { "--no-fold", NULL, &e.options.no_fold, NULL },
        { "--fp16", NULL, &e.options.half, NULL },
        { "--external-data", NULL, &e.options.external, NULL },
        { "--dynamic-batch", NULL, &e.options.dynamic_batch, NULL },
        { "--qdq", NULL, &e.options.quantized, NULL },
        { "--check", NULL, &e.check, NULL },
        { "--phase", NULL, NULL, &e.request.phase },
        { "--level", NULL, NULL, &e.request.level },
        { "--layers", NULL, NULL, &e.request.layers },
        { "--weights-partial", NULL, &e.request.weights_partial, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n, status;

    n = net_take_all(self, "--stage", &argc, argv, &e.request.stages) ||
                net_take_all(self, "--input", &argc, argv, &e.inputs)
            ? -2
            : tool_parse(self, argc, argv, options, 3);
    status = n < 0 ? tool_parse_status(n) : take_arguments(&e, n, argv);
    if (n >= 0 && status == TOOL_OK)
        status = run(&e);
    free(e.inputs.at);
    free(e.request.stages.at);
    return status;
}
