/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Products with 8 bits in the form that ONNX's runtimes recognise: QuantizeLinear and
 * DequantizeLinear before the input, integer weights and biases with DequantizeLinear. The weights
 * are those of ferry's own products (net/passes/integers.c). Values have a zero point where it is
 * finer, also before padding, which is a real 0 here.
 */
#include "net/model/ranges.h"
#include "net/onnx/graph.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 2048 /* the number of weights that are read at a time */

/* ---- inputs --------------------------------------------------------------------------------- */

int ferry__onnx_on_grid(struct ferry__onnx *o, int value, int bottom, double *out_scale)
{
    const struct ferry__net_blob *b;
    struct ferry__grid grid;
    int in[3];

    *out_scale = 0;
    if (!o->quantized || o->err || o->layer->float_only)
        return value;
    b = &o->net->blobs[ferry__net_root(o->net, o->layer->bottoms[bottom])];
    if (!b->has_range)
        return value;
    grid = ferry__grid_of(b->least, b->most, true);
    *out_scale = (double)grid.scale;
    if (!o->values[value].on_grid) {
        in[0] = value;
        in[1] = ferry__onnx_float(o, (double)grid.scale);
        in[2] = ferry__onnx_byte(o, grid.dtype == FERRY_U8 ? FERRY__ONNX_UINT8 : FERRY__ONNX_INT8,
                                 grid.zero);
        in[0] = ferry__onnx_op(o, "QuantizeLinear", 3, in);
        in[0] = ferry__onnx_op(o, "DequantizeLinear", 3, in);
        if (!o->err)
            o->values[value].on_grid = in[0];
    }
    return o->err ? 0 : o->values[value].on_grid;
}

void ferry__onnx_set_quantized(struct ferry__onnx *o, double x_scale)
{
    if (!o->err)
        o->nodes[o->n_nodes - 1].x_scale = x_scale;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* Gets the scale of each channel: its largest absolute weight becomes 127. */
static void find_scales(struct ferry__onnx *o, const struct ferry__onnx_tensor *t, double *scales)
{
    float piece[PIECE];
    int64_t first, i;

    for (first = 0; first < t->count && !o->err; first += PIECE) {
        int64_t n = t->count - first < PIECE ? t->count - first : PIECE;

        o->err = ferry__onnx_tensor_read(t, first, n, piece);
        for (i = 0; i < n && !o->err; i++) {
            double *most = &scales[(first + i) / t->inner % t->channels];

            *most = fmax(*most, fabs((double)piece[i]));
        }
    }
    for (i = 0; i < t->channels; i++)
        scales[i] = scales[i] > 0 && scales[i] <= (double)FLT_MAX ? scales[i] / 127 : 1;
}

/* The axis of the channels. */
static int axis_of(const struct ferry__onnx_tensor *t)
{
    int64_t inner = 1;
    int axis = t->rank - 1;

    for (; axis > 0 && (inner != t->inner || t->dims[axis] != t->channels); axis--)
        inner *= t->dims[axis];
    return axis;
}

/*
 * Adds a copy of a tensor as integers of `type`, multiples of its channels' steps, and the node
 * that computes its values.
 */
static int as_integers(struct ferry__onnx *o, const struct ferry__onnx_tensor *from,
                       enum ferry__onnx_type type, double *steps)
{
    int value = ferry__onnx_tensor_copy(o, from->value), out;
    struct ferry__onnx_tensor *t = o->err ? NULL : &o->tensors[o->values[value].tensor];

    if (!t)
        return 0;
    t->type = type;
    t->steps = steps;
    out = ONNX_OP(o, "DequantizeLinear", value,
                  ferry__onnx_rounded(o, 1, &(int64_t){ t->channels }, steps));
    ferry__onnx_set_int(o, "axis", axis_of(&o->tensors[o->values[value].tensor]));
    return out;
}

/* Gives node `index` integer weights and an integer bias; the nodes for them are appended. */
static void quantize_node(struct ferry__onnx *o, int index)
{
    struct ferry__onnx_node node = o->nodes[index];
    int weights = o->values[node.in[1]].tensor, bias = node.n_in > 2 ? node.in[2] : 0;
    struct ferry__onnx_tensor w = o->tensors[weights], b;
    double *steps = ferry__onnx_alloc(o, 2 * (size_t)w.channels * sizeof *steps);
    double *of_bias = steps ? steps + w.channels : NULL;
    int64_t i;

    o->layer = (ferry_layer *)(uintptr_t)node.layer;
    o->graph = node.graph;
    if (steps)
        find_scales(o, &w, steps);
    for (i = 0; !o->err && i < w.channels; i++)
        of_bias[i] = steps[i] * node.x_scale;
    node.in[1] = as_integers(o, &w, FERRY__ONNX_INT8, steps);
    if (bias && !o->err) {
        b = o->tensors[o->values[bias].tensor];
        b.channels = w.channels;
        b.inner = 1;
        o->tensors[o->values[bias].tensor] = b;
        node.in[2] = as_integers(o, &b, FERRY__ONNX_INT32, of_bias);
    }
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Moves the nodes from `n` on before those that read them: `first` has the first one of each. */
static void sort_nodes(struct ferry__onnx *o, int n, const int *first)
{
    struct ferry__onnx_node *sorted = calloc((size_t)o->n_nodes + 1, sizeof *sorted);
    int at = 0, i, k;

    if (!sorted) {
        o->err = ferry_error_set(FERRY_ENOMEM, "no memory for the ONNX graph");
        return;
    }
    for (i = 0; i < n; i++) {
        for (k = first[i]; k < first[i + 1]; k++)
            sorted[at++] = o->nodes[k];
        sorted[at++] = o->nodes[i];
    }
    free(o->nodes);
    o->nodes = sorted;
    o->room_nodes = o->n_nodes + 1;
    for (i = 0; i < o->n_nodes; i++)
        for (k = 0; k < o->nodes[i].n_out; k++)
            o->values[o->nodes[i].out[k]].node = i;
}

void ferry__onnx_quantize(struct ferry__onnx *o)
{
    struct ferry__onnx_graph *graph = o->graph;
    int n = o->n_nodes, i;
    int *first = ferry__onnx_alloc(o, ((size_t)n + 1) * sizeof *first);

    for (i = 0; i < n && !o->err; i++) {
        first[i] = o->n_nodes;
        if (o->nodes[i].x_scale > 0 && o->nodes[i].n_out && o->nodes[i].absorbs)
            quantize_node(o, i);
    }
    o->layer = NULL;
    o->graph = graph;
    if (o->err)
        return;
    first[n] = o->n_nodes;
    sort_nodes(o, n, first);
}
