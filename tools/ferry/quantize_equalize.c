/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Cross-layer equalisation: M. Nagel et al., "Data-Free Quantization Through Weight Equalization
 * and Bias Correction", ICCV 2019, section 4.1. A channel of a blob is divided by a factor in the
 * weights and the bias of the layer that writes it, and its factor multiplies the weights of the
 * layers that read it. Between them are layers that commute with positive factors. The weights have
 * a scale for each output channel, so that only the ranges of blobs gain: the factor is a power of
 * the channel's part of its blob's range (G. Xiao et al., "SmoothQuant", ICML 2023). The exponent,
 * the migration strength of that paper, is the part of the difference that the weights take; the
 * rest of it remains between the channels of the blob.
 *
 * Each version of a blob's contents has a node for each channel, and nodes that must have the same
 * factor form a set (union-find). Sets with a reader or a writer of another kind keep the factor 1.
 */

#define LEAST_PART (1.0 / 4096) /* smaller parts count as this one */

struct node {
    int of; /* the parent in the tree of its set; a root is its own parent */
    bool fixed;
    bool read;    /* a layer reads it: for the first node of a version */
    double most;  /* the largest absolute value: for a version that a product reads */
    double part;  /* for a root: the largest part of a blob's range */
    float factor; /* for a root */
};

/* The versions of a layer's bottom and top, by their first nodes; −1: not equalised. */
struct ends {
    int in, out;
};

struct equalizer {
    struct quantize *q;
    struct node *nodes;
    int n_nodes;
    int *version; /* of each blob of the net: the first node of its current contents; −1: none */
    struct ends *ends;
};

static const char *type_of(const ferry_layer *layer)
{
    return ferry_layer_get_type(layer)->name;
}

static bool is_any(const char *type, const char *const *types)
{
    for (; *types; types++)
        if (strcmp(type, *types) == 0)
            return true;
    return false;
}

static int channels_of(const ferry_blob *b)
{
    return b && ferry_blob_rank(b) > 1 ? (int)ferry_blob_dim(b, 1) : 1;
}

static int index_of(const struct equalizer *e, const ferry_blob *b)
{
    int i = 0;

    while (i < e->q->n_blobs && e->q->blobs[i].blob != b)
        i++;
    return i;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static struct node *root_of(struct equalizer *e, int node)
{
    while (e->nodes[node].of != node)
        node = e->nodes[node].of = e->nodes[e->nodes[node].of].of;
    return &e->nodes[node];
}

static void join(struct equalizer *e, int a, int b)
{
    struct node *x = root_of(e, a), *y = root_of(e, b);

    x->fixed = x->fixed || y->fixed;
    y->of = x->of;
}

static void fix(struct equalizer *e, int first, int count)
{
    for (int i = 0; i < count; i++)
        root_of(e, first + i)->fixed = true;
}

/* The version that a layer reads; makes it for a blob that no layer has written. */
static int begin_version(struct equalizer *e, const ferry_blob *b)
{
    int first = e->n_nodes;

    for (int i = 0; i < channels_of(b); i++, e->n_nodes++)
        e->nodes[e->n_nodes] = (struct node){ .of = e->n_nodes };
    e->version[index_of(e, b)] = first;
    return first;
}

static int version_of(struct equalizer *e, const ferry_blob *b)
{
    int *at = &e->version[index_of(e, b)];

    if (*at < 0)
        fix(e, begin_version(e, b), channels_of(b));
    e->nodes[*at].read = true;
    return *at;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Whether no other layer has one of the layer's parameters. */
static bool owns_params(const struct equalizer *e, const ferry_layer *layer)
{
    for (int k = 0; k < ferry_layer_param_count(layer); k++)
        if (!quantize_owns_param(e->q, layer, k))
            return false;
    return true;
}

bool quantize_is_product(const ferry_layer *layer)
{
    static const char *const convolutions[] = { "Convolution", "ConvolutionDepthwise",
                                                "DepthwiseConvolution", NULL };
    const ferry_proto *p = ferry_layer_message(layer);
    const ferry_proto *inner = ferry_proto_message(p, "inner_product_param", 0);
    const ferry_proto *conv = ferry_proto_message(p, "convolution_param", 0);

    if (is_any(type_of(layer), convolutions))
        return ferry_proto_integer(conv, "axis", 0) == 1 &&
               ferry_blob_rank(ferry_layer_param_at(layer, 0)) > 2;
    return strcmp(type_of(layer), "InnerProduct") == 0 &&
           ferry_proto_integer(inner, "axis", 0) == 1 &&
           !ferry_proto_boolean(inner, "transpose", 0);
}

/* A Scale with a factor for each channel. */
static bool is_scale(const ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "scale_param", 0);

    return strcmp(type_of(layer), "Scale") == 0 && ferry_proto_integer(p, "axis", 0) == 1 &&
           ferry_proto_integer(p, "num_axes", 0) == 1;
}

static bool has_weights(const struct equalizer *e, const ferry_layer *layer)
{
    return ferry_layer_bottom_count(layer) == 1 && ferry_layer_top_count(layer) == 1 &&
           ferry_layer_param_count(layer) > 0 && (quantize_is_product(layer) || is_scale(layer)) &&
           owns_params(e, layer);
}

/*
 * Whether each channel of the tops is a function of that of the bottoms that commutes with a
 * positive factor.
 */
static bool commutes(const ferry_layer *layer)
{
    static const char *const types[] = { "ReLU", "PReLU", "Dropout", "Split", NULL };
    const ferry_proto *p = ferry_layer_message(layer);

    if (strcmp(type_of(layer), "Pooling") == 0)
        return ferry_layer_top_count(layer) == 1 &&
               ferry_proto_integer(ferry_proto_message(p, "pooling_param", 0), "pool", 0) != 2;
    if (strcmp(type_of(layer), "Eltwise") == 0) /* a product does not */
        return ferry_proto_integer(ferry_proto_message(p, "eltwise_param", 0), "operation", 0) != 0;
    return is_any(type_of(layer), types);
}

static bool has_same_channels(const ferry_layer *layer)
{
    int count = channels_of(ferry_layer_bottom_at(layer, 0));

    for (int i = 0; i < ferry_layer_bottom_count(layer); i++)
        if (channels_of(ferry_layer_bottom_at(layer, i)) != count)
            return false;
    for (int i = 0; i < ferry_layer_top_count(layer); i++)
        if (channels_of(ferry_layer_top_at(layer, i)) != count)
            return false;
    return count > 1;
}

/* Whether a Concat joins its bottoms along axis 1. */
static bool concatenates(const ferry_layer *layer)
{
    int count = 0;

    for (int i = 0; i < ferry_layer_bottom_count(layer); i++)
        count += channels_of(ferry_layer_bottom_at(layer, i));
    return strcmp(type_of(layer), "Concat") == 0 &&
           count == channels_of(ferry_layer_top_at(layer, 0));
}

/* Joins a channel of each bottom with the same channel of each top. */
static void pass_channels(struct equalizer *e, const ferry_layer *layer, const int *in)
{
    int count = channels_of(ferry_layer_bottom_at(layer, 0));

    for (int t = 0; t < ferry_layer_top_count(layer); t++) {
        int out = begin_version(e, ferry_layer_top_at(layer, t));

        for (int b = 0; b < ferry_layer_bottom_count(layer); b++)
            for (int i = 0; i < count; i++)
                join(e, in[b] + i, out + i);
    }
}

static void concatenate(struct equalizer *e, const ferry_layer *layer, const int *in)
{
    int out = begin_version(e, ferry_layer_top_at(layer, 0));

    for (int b = 0; b < ferry_layer_bottom_count(layer); b++)
        for (int i = 0; i < channels_of(ferry_layer_bottom_at(layer, b)); i++)
            join(e, in[b] + i, out++);
}

/* Any other layer needs the contents as they are. */
static void fix_all(struct equalizer *e, const ferry_layer *layer, const int *in)
{
    for (int b = 0; b < ferry_layer_bottom_count(layer); b++)
        fix(e, in[b], channels_of(ferry_layer_bottom_at(layer, b)));
    for (int t = 0; t < ferry_layer_top_count(layer); t++)
        fix(e, begin_version(e, ferry_layer_top_at(layer, t)),
            channels_of(ferry_layer_top_at(layer, t)));
}

static int add_layer(struct equalizer *e, int index)
{
    const ferry_layer *layer = ferry_net_layer_at(e->q->net, index);
    int n = ferry_layer_bottom_count(layer), *in = calloc((size_t)n + 1, sizeof(*in));

    if (!in)
        return tool_error(TOOL_FAILURE, "out of memory");
    e->ends[index] = (struct ends){ -1, -1 };
    for (int b = 0; b < n; b++)
        in[b] = version_of(e, ferry_layer_bottom_at(layer, b));
    if (has_weights(e, layer))
        e->ends[index] = (struct ends){ in[0], begin_version(e, ferry_layer_top_at(layer, 0)) };
    else if (n > 0 && commutes(layer) && has_same_channels(layer))
        pass_channels(e, layer, in);
    else if (n > 0 && concatenates(layer))
        concatenate(e, layer, in);
    else
        fix_all(e, layer, in);
    free(in);
    return TOOL_OK;
}

/* Fixes the versions that no layer reads: they are the net's results. */
static void fix_results(struct equalizer *e)
{
    for (int i = 0; i < e->q->n_blobs; i++)
        if (e->version[i] >= 0 && !e->nodes[e->version[i]].read)
            fix(e, e->version[i], channels_of(e->q->blobs[i].blob));
}

/* ---- factors --------------------------------------------------------------------------------- */

/* Takes the largest absolute value of each channel of a blob. */
static int note_channels(struct equalizer *e, const ferry_blob *b, int first)
{
    const float *values = ferry_blob_host_data(b);
    int64_t count = ferry_blob_element_count(b), channels = channels_of(b), each;

    if (!values)
        return count ? tool_ferry_error() : TOOL_OK;
    each = count / (ferry_blob_dim(b, 0) * channels);
    for (int64_t i = 0; i < count; i++) {
        double *most = &e->nodes[first + i / each % channels].most;

        if (isfinite(values[i]))
            *most = fmax(*most, fabs((double)values[i]));
    }
    return TOOL_OK;
}

/* Called for each batch. The inputs of products are those at the end of a pass. */
static int note(struct quantize *q, void *arg)
{
    struct equalizer *e = arg;
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(q->net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(q->net, i);
        const ferry_blob *b = ferry_layer_bottom_at(layer, 0);

        if (e->ends[i].in >= 0 && quantize_is_product(layer) && ferry_blob_dtype(b) == FERRY_F32 &&
            e->version[index_of(e, b)] == e->ends[i].in)
            status = note_channels(e, b, e->ends[i].in);
    }
    return status;
}

/* The parts of the channels of a product's input in its range. */
static void take_parts(struct equalizer *e, int first, int count)
{
    double most = 0;

    for (int i = 0; i < count; i++)
        most = fmax(most, e->nodes[first + i].most);
    for (int i = 0; i < count; i++) {
        struct node *root = root_of(e, first + i);

        if (e->nodes[first + i].most > 0) /* other inputs may give such a channel large values */
            root->part = fmax(root->part, fmax(e->nodes[first + i].most / most, LEAST_PART));
    }
}

static void choose(struct equalizer *e)
{
    for (int i = 0; i < ferry_net_layer_count(e->q->net); i++)
        if (e->ends[i].in >= 0)
            take_parts(e, e->ends[i].in,
                       channels_of(ferry_layer_bottom_at(ferry_net_layer_at(e->q->net, i), 0)));
    for (int i = 0; i < e->n_nodes; i++) {
        struct node *node = &e->nodes[i];

        node->factor = 1;
        if (node->of == i && !node->fixed && node->part > 0)
            node->factor = (float)pow(node->part, e->q->migration);
    }
}

/* ---- weights --------------------------------------------------------------------------------- */

static float factor_of(struct equalizer *e, int node)
{
    return root_of(e, node)->factor;
}

/* Multiplies the weights by the factors of the inputs and divides them by those of the outputs. */
static int scale_weights(struct equalizer *e, const ferry_layer *layer, struct ends ends)
{
    ferry_blob *b = ferry_layer_param_at(layer, 0);
    int64_t inputs = channels_of(ferry_layer_bottom_at(layer, 0));
    int64_t outputs = channels_of(ferry_layer_top_at(layer, 0));
    bool is_inner = strcmp(type_of(layer), "InnerProduct") == 0;
    int64_t each = ferry_blob_element_count(b) / outputs, own, size;
    float *w = ferry_blob_mutable_host_data(b);

    if (!w)
        return tool_ferry_error();
    own = is_scale(layer) ? 1 : is_inner ? inputs : ferry_blob_dim(b, 1); /* of a group */
    size = each / own;
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t k = 0; k < each; k++) {
            int64_t i = o / (outputs / (inputs / own)) * own + k / size;

            w[o * each + k] *= factor_of(e, ends.in + (int)i) / factor_of(e, ends.out + (int)o);
        }
    return TOOL_OK;
}

static int scale_bias(struct equalizer *e, const ferry_layer *layer, struct ends ends)
{
    float *bias = ferry_blob_mutable_host_data(ferry_layer_param_at(layer, 1));

    if (!bias)
        return tool_ferry_error();
    for (int o = 0; o < channels_of(ferry_layer_top_at(layer, 0)); o++)
        bias[o] /= factor_of(e, ends.out + o);
    return TOOL_OK;
}

static int apply(struct equalizer *e)
{
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(e->q->net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(e->q->net, i);

        if (e->ends[i].in < 0)
            continue;
        status = scale_weights(e, layer, e->ends[i]);
        if (status == TOOL_OK && ferry_layer_param_count(layer) > 1)
            status = scale_bias(e, layer, e->ends[i]);
    }
    for (int i = 0; i < e->n_nodes; i++)
        e->q->equalized += e->nodes[i].of == i && e->nodes[i].factor < 1;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Allocates for the shapes of the first pass: a version for each blob and each top. */
static int begin(struct equalizer *e)
{
    int layers = ferry_net_layer_count(e->q->net);
    size_t count = 0;

    for (int i = 0; i < layers; i++) {
        const ferry_layer *layer = ferry_net_layer_at(e->q->net, i);

        for (int k = 0; k < ferry_layer_top_count(layer); k++)
            count += (size_t)channels_of(ferry_layer_top_at(layer, k));
        for (int k = 0; k < ferry_layer_bottom_count(layer); k++)
            count += (size_t)channels_of(ferry_layer_bottom_at(layer, k));
    }
    e->nodes = calloc(count + 1, sizeof(*e->nodes));
    e->version = calloc((size_t)e->q->n_blobs + 1, sizeof(*e->version));
    e->ends = calloc((size_t)layers + 1, sizeof(*e->ends));
    if (!e->nodes || !e->version || !e->ends)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < e->q->n_blobs; i++)
        e->version[i] = -1;
    for (int i = 0; i < layers; i++) {
        int status = add_layer(e, i);

        if (status != TOOL_OK)
            return status;
    }
    fix_results(e);
    return TOOL_OK;
}

/* Called for each batch; the first one gives the net its shapes. */
static int look(struct quantize *q, void *arg)
{
    struct equalizer *e = arg;
    int status = q->blobs ? TOOL_OK : quantize_list_blobs(q);

    if (status == TOOL_OK && !e->nodes)
        status = begin(e);
    return status == TOOL_OK ? note(q, e) : status;
}

int quantize_equalize(struct quantize *q)
{
    struct equalizer e = { .q = q };
    int status = quantize_each(q, "equalizing", look, &e);

    if (status == TOOL_OK) {
        choose(&e);
        status = apply(&e);
    }
    free(e.nodes);
    free(e.version);
    free(e.ends);
    return status;
}
