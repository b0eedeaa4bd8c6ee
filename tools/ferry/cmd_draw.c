/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* `ferry draw`: draws a net with Graphviz. */

extern char **environ;

/* The maximum number of characters of a layer's parameters. */
#define LONGEST 72

/* ---- text ------------------------------------------------------------------------------------ */

/* Writes text inside quotes of a .dot file; control characters become '?'. */
static void put_escaped(FILE *to, const char *text)
{
    bool plain;

    for (size_t n; *text; text += n) {
        n = tool_character(text, &plain);
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fwrite(plain ? text : "?", 1, plain ? n : 1, to);
    }
}

/* Writes the scalar fields of a message: "num_output: 20, kernel_size: 5". */
static void put_message(FILE *to, const ferry_proto *message, size_t *left)
{
    size_t size = 0;
    char *text = NULL, *rest, *line;
    int depth = 0;

    if (ferry_proto_print(message, NULL, 0, &size) == FERRY_OK)
        text = malloc(size + 1);
    if (!text || ferry_proto_print(message, text, size + 1, &size) != FERRY_OK) {
        free(text);
        return;
    }
    for (rest = text; (line = strtok_r(rest, "\n", &rest));) {
        bool opens = strchr(line, '{') != NULL, closes = strchr(line, '}') != NULL;

        if (!opens && !closes && depth == 0 && strlen(line) + 2 < *left) {
            fputs(*left == LONGEST ? "\\n" : ", ", to);
            put_escaped(to, line);
            *left -= strlen(line) + 2;
        }
        depth += opens - closes;
    }
    free(text);
}

static void put_parameters(FILE *to, const ferry_layer *layer)
{
    const ferry_proto *message = ferry_layer_message(layer);
    const char *const *own = ferry_layer_get_type(layer)->messages;
    size_t left = LONGEST;

    for (; own && *own; own++)
        if (ferry_proto_value_count(message, *own) > 0)
            put_message(to, ferry_proto_message(message, *own, 0), &left);
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* A colour of Graphviz's scheme pastel19 for each kind of layer. */
static int colour_of(const char *type)
{
    static const char *const kinds[][8] = {
        { "Input", "Data", "HDF5Data", "DummyData", "ImageData", "MemoryData", "Parameter" },
        { "Convolution", "Deconvolution", "DepthwiseConvolution", "ConvolutionDepthwise",
          "Im2col" },
        { "Pooling", "SPP", "ROIPooling", "PSROIPooling", "Upsample", "Interp" },
        { "InnerProduct", "Embed", "LSTM", "RNN" },
        { "Softmax", "SoftmaxWithLoss", "Accuracy", "ArgMax", "DetectionOutput" },
        { "BatchNorm", "Scale", "LRN", "MVN", "Normalize", "BN", "Bias" },
    };

    for (int i = 0; i < (int)(sizeof(kinds) / sizeof(kinds[0])); i++)
        for (int k = 0; k < 8 && kinds[i][k]; k++)
            if (strcmp(kinds[i][k], type) == 0)
                return i + 1;
    return 9;
}

static void put_layer(FILE *to, const ferry_net *net, int i)
{
    const ferry_layer *layer = ferry_net_layer_at(net, i);
    const char *type = ferry_layer_get_type(layer)->name;
    const char *device = ferry_device_name(ferry_layer_device(layer));

    fprintf(to, "    layer%d [fillcolor=%d, label=\"", i, colour_of(type));
    put_escaped(to, ferry_layer_name(layer));
    fputs("\\n", to);
    put_escaped(to, type);
    put_parameters(to, layer);
    if (strcmp(device, ferry_device_name(ferry_net_device(net))) != 0) {
        fputs("\\non ", to);
        put_escaped(to, device);
    }
    fputs("\"];\n", to);
}

/*
 * Whether the net inserted the layer: a Split for a blob with several readers, which the text does
 * not have; its message has no fields.
 */
static bool is_inserted(const ferry_layer *layer)
{
    return strcmp(ferry_layer_get_type(layer)->name, "Split") == 0 &&
           ferry_proto_field_count(ferry_layer_message(layer)) == 0;
}

/*
 * The last layer before `i` that wrote a blob, and the blob as the text names it; −1 if there is
 * none.
 */
static int maker_of(const ferry_net *net, int i, const ferry_blob **b)
{
    while (--i >= 0) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);

        for (int k = 0; k < ferry_layer_top_count(layer); k++) {
            if (ferry_layer_top_at(layer, k) != *b)
                continue;
            if (!is_inserted(layer))
                return i;
            *b = ferry_layer_bottom_at(layer, 0);
            break;
        }
    }
    return -1;
}

static void put_blob(FILE *to, const ferry_blob *b)
{
    put_escaped(to, ferry_blob_name(b) ? ferry_blob_name(b) : "");
    fputs("\\n", to);
    for (int i = 0; i < ferry_blob_rank(b); i++)
        fprintf(to, "%s%lld", i ? " x " : "", (long long)ferry_blob_dim(b, i));
}

static void put_edges(FILE *to, const ferry_net *net, int i)
{
    const ferry_layer *layer = ferry_net_layer_at(net, i);

    for (int k = 0; k < ferry_layer_bottom_count(layer); k++) {
        const ferry_blob *b = ferry_layer_bottom_at(layer, k);
        int maker = maker_of(net, i, &b);

        if (maker < 0)
            continue;
        fprintf(to, "    layer%d -> layer%d [label=\"", maker, i);
        put_blob(to, b);
        fputs("\"];\n", to);
    }
}

static void put_net(FILE *to, const ferry_net *net)
{
    int n = ferry_net_layer_count(net);

    fputs("digraph net {\n"
          "    node [shape=box, style=\"rounded,filled\", colorscheme=pastel19, "
          "fontname=\"Helvetica\"];\n"
          "    edge [fontname=\"Helvetica\", fontsize=10];\n",
          to);
    for (int i = 0; i < n; i++)
        if (!is_inserted(ferry_net_layer_at(net, i)))
            put_layer(to, net, i);
    for (int i = 0; i < n; i++)
        if (!is_inserted(ferry_net_layer_at(net, i)))
            put_edges(to, net, i);
    for (int i = 0; i < ferry_net_output_count(net); i++) {
        const ferry_blob *b = ferry_net_output_at(net, i);
        int maker = b ? maker_of(net, n, &b) : -1;

        if (maker < 0)
            continue;
        fprintf(to, "    output%d [shape=ellipse, style=solid, label=\"", i);
        put_blob(to, b);
        fprintf(to, "\"];\n    layer%d -> output%d;\n", maker, i);
    }
    fputs("}\n", to);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_dot(const ferry_net *net, const char *path)
{
    FILE *file = fopen(path, "w");
    bool bad;

    if (!file)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    put_net(file, net);
    bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        int status = tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));

        unlink(path);
        return status;
    }
    return TOOL_OK;
}

/*
 * Runs Graphviz, which writes to a temporary file beside `to`; the file is renamed when it is
 * complete.
 */
static int run_dot(const char *from, const char *format, const char *made, const char *to)
{
    const char *const words[] = { "dot", format, "-o", made, from, NULL };
    char *argv[6];
    int status = 0;
    pid_t pid;

    memcpy(argv, words, sizeof(words));
    if (posix_spawnp(&pid, "dot", NULL, NULL, argv, environ) != 0)
        return tool_error(TOOL_FAILURE,
                          "%s: Graphviz's dot is not installed (Debian: graphviz); writing a .dot "
                          "does not need it",
                          to);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return tool_error(TOOL_FAILURE, "%s: Graphviz's dot failed", to);
    if (rename(made, to) != 0)
        return tool_error(TOOL_FAILURE, "%s: %s", to, strerror(errno));
    return TOOL_OK;
}

/* Writes a picture in a format of Graphviz, which is passed as "-Tsvg". */
static int write_picture(const ferry_net *net, const char *format, const char *path)
{
    size_t size = strlen(path) + 16;
    char *dot = malloc(size), *made = malloc(size);
    int status = dot && made ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");

    if (status == TOOL_OK) {
        snprintf(dot, size, "%s.tmp.dot", path);
        snprintf(made, size, "%s.tmp.out", path);
        status = write_dot(net, dot);
        if (status == TOOL_OK)
            status = run_dot(dot, format, made, path);
        unlink(dot);
        if (status != TOOL_OK)
            unlink(made);
    }
    free(dot);
    free(made);
    return status;
}

static bool has_layers(const char *path)
{
    ferry_proto *text = NULL;
    bool has = ferry_proto_open(path, "NetParameter", NULL, &text) == FERRY_OK &&
               (ferry_proto_value_count(text, "layer") || ferry_proto_value_count(text, "layers"));

    ferry_proto_close(text);
    return has;
}

/* Refuses the text of a solver, and names the net that it trains. */
static int refuse_solver(const char *path)
{
    static const char *const fields[] = { "net", "train_net" };
    const char *net = NULL;
    ferry_proto *text = NULL;
    int status;

    if (has_layers(path) || ferry_proto_open(path, "SolverParameter", NULL, &text) != FERRY_OK)
        return TOOL_OK;
    for (int i = 0; i < 2; i++)
        if (ferry_proto_value_count(text, fields[i]) > 0)
            net = ferry_proto_string(text, fields[i], 0, NULL);
    status =
        net ? tool_error(TOOL_USAGE, "%s: it is a solver; draw its net, %s", path, net) : TOOL_OK;
    ferry_proto_close(text);
    return status;
}

static int draw(const struct tool_command *self, const struct net_request *r, const char *path)
{
    const char *suffix = path ? strrchr(path, '.') : NULL;
    const char *format = NULL;
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status;

    if (suffix && strcmp(suffix, ".svg") == 0)
        format = "-Tsvg";
    else if (suffix && strcmp(suffix, ".png") == 0)
        format = "-Tpng";
    else if (!suffix || strcmp(suffix, ".dot") != 0)
        return tool_error(TOOL_USAGE, "%s: -o %s: expected a .svg, a .png or a .dot", self->name,
                          path);
    status = refuse_solver(r->prototxt);
    if (status != TOOL_OK)
        return status;
    status = net_open(r, &rt, &net);
    if (status != TOOL_OK)
        return status;
    status = format ? write_picture(net, format, path) : write_dot(net, path);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

int cmd_draw(const struct tool_command *self, int argc, char **argv)
{
    struct net_request r = { .self = self };
    const char *output = NULL;
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &output },
        { "--phase", NULL, NULL, &r.phase },
        { "--level", NULL, NULL, &r.level },
        { "--place", NULL, NULL, &r.place },
        { "--layers", NULL, NULL, &r.layers },
        { "--allow-write", NULL, NULL, &r.allow_write },
        { NULL, NULL, NULL, NULL },
    };
    int n, status;

    n = net_take_all(self, "--stage", &argc, argv, &r.stages)
            ? -2
            : tool_parse(self, argc, argv, options, 1);
    if (n < 0)
        status = tool_parse_status(n);
    else if (n < 1 || !output)
        status = tool_error(TOOL_USAGE, "%s: expected a net and -o FILE", self->name);
    else {
        r.prototxt = argv[0];
        status = draw(self, &r, output);
    }
    free(r.stages.at);
    return status;
}
