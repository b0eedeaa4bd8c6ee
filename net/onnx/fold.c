/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folds affine functions of channels, such as BatchNorm and Scale, into the weights of the node
 * that computes their input, if no other node reads it.
 */
#include "net/onnx/graph.h"

#include <stdlib.h>

static struct ferry__onnx_tensor *tensor_of(const struct ferry__onnx *o, int value)
{
    int i = value ? o->values[value].tensor : -1;

    return i < 0 ? NULL : &o->tensors[i];
}

static void count_uses(struct ferry__onnx *o)
{
    int i, k;

    for (i = 0; i < o->n_nodes; i++)
        for (k = 0; k < o->nodes[i].n_in; k++)
            o->values[o->nodes[i].in[k]].uses++;
    for (i = 0; i < o->n_outputs; i++)
        o->values[o->outputs[i]].uses++;
}

/* The node that node `k` can be folded into; NULL. */
static struct ferry__onnx_node *absorber(const struct ferry__onnx *o, int k)
{
    const struct ferry__onnx_node *node = &o->nodes[k];
    const struct ferry__onnx_affine *f = node->affine;
    int before = f ? o->values[node->in[0]].node : -1;
    const struct ferry__onnx_tensor *w = before < 0 ? NULL : tensor_of(o, o->nodes[before].in[1]);

    if (!w || !o->nodes[before].absorbs || o->nodes[before].graph != node->graph ||
        o->values[node->in[0]].uses != 1)
        return NULL;
    if (f->channels != 1 && (f->axis != o->nodes[before].absorbs - 1 || f->channels != w->channels))
        return NULL;
    return &o->nodes[before];
}

/* Multiplies the channels of the weights in `value`. */
static int multiply(struct ferry__onnx *o, int value, const struct ferry__onnx_affine *f)
{
    struct ferry__onnx_tensor copy = *tensor_of(o, value), *t;
    double *factors = ferry__onnx_alloc(o, (size_t)copy.channels * sizeof *factors);
    int64_t i;
    int out;

    for (i = 0; factors && i < copy.channels; i++)
        factors[i] = (copy.factors ? copy.factors[i] : 1) * f->factors[f->channels == 1 ? 0 : i];
    out = ferry__onnx_tensor_copy(o, value);
    t = out ? tensor_of(o, out) : NULL;
    if (t)
        t->factors = factors;
    return out;
}

/* Computes factor · term + term for each channel; without a `value` its terms are 0. */
static int add(struct ferry__onnx *o, int value, int64_t channels,
               const struct ferry__onnx_affine *f)
{
    double *terms = ferry__onnx_alloc(o, (size_t)channels * sizeof *terms);
    float *old = ferry__onnx_alloc(o, (size_t)channels * sizeof *old);
    int64_t i;

    if (!o->err && value)
        o->err = ferry__onnx_tensor_read(tensor_of(o, value), 0, channels, old);
    for (i = 0; !o->err && i < channels; i++) {
        int64_t c = f->channels == 1 ? 0 : i;

        terms[i] = (double)old[i] * f->factors[c] + f->terms[c];
    }
    return o->err ? 0 : ferry__onnx_rounded(o, 1, &channels, terms);
}

static void absorb(struct ferry__onnx *o, struct ferry__onnx_node *into,
                   struct ferry__onnx_node *node)
{
    int64_t channels = tensor_of(o, into->in[1])->channels;
    int bias = into->n_in > 2 ? into->in[2] : 0;
    int w = multiply(o, into->in[1], node->affine), b = add(o, bias, channels, node->affine);
    int *in = ferry__onnx_alloc(o, 8 * sizeof *in);

    if (o->err)
        return;
    for (int i = 0; i < into->n_in; i++)
        in[i] = into->in[i];
    in[1] = w;
    in[2] = b;
    if (into->n_in < 3)
        into->n_in = 3;
    into->in = in;
    into->out[0] = node->out[0];
    o->values[node->out[0]].node = (int)(into - o->nodes);
    node->n_in = node->n_out = 0;
}

void ferry__onnx_fold(struct ferry__onnx *o)
{
    int i;

    if (o->err)
        return;
    count_uses(o);
    for (i = 0; i < o->n_nodes && !o->err; i++) {
        struct ferry__onnx_node *into = absorber(o, i);

        if (into)
            absorb(o, into, &o->nodes[i]);
    }
}
