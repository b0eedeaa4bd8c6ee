/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folds affine functions of channels, such as BatchNorm and Scale, into the weights of the node
 * that computes their input, if no other node reads it.
 */
#include "common/affine.h"
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

/* The node that node `k` can be folded into, or NULL. */
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

/*
 * Composes `f` with the affine function of the node's channels: the factors of its weights, and the
 * shifts in value `bias`; shifts are 0 without a bias.
 */
static struct ferry__affine compose(struct ferry__onnx *o, const struct ferry__onnx_tensor *w,
                                    int bias, const struct ferry__onnx_affine *f)
{
    struct ferry__affine a = { .channels = w->channels };
    size_t n = (size_t)w->channels;
    float *old = ferry__onnx_alloc(o, n * sizeof *old);
    int64_t i;

    a.scale = ferry__onnx_alloc(o, n * sizeof *a.scale);
    a.shift = ferry__onnx_alloc(o, n * sizeof *a.shift);
    if (!o->err && bias)
        o->err = ferry__onnx_tensor_read(tensor_of(o, bias), 0, w->channels, old);
    if (o->err)
        return a;
    ferry__affine_reset(&a);
    for (i = 0; i < w->channels; i++) {
        int64_t c = f->channels == 1 ? 0 : i;

        if (w->factors)
            a.scale[i] = w->factors[i];
        if (bias)
            a.shift[i] = (double)old[i];
        ferry__affine_then(&a, i, f->factors[c], f->terms[c]);
    }
    return a;
}

static void absorb(struct ferry__onnx *o, struct ferry__onnx_node *into,
                   struct ferry__onnx_node *node)
{
    int bias = into->n_in > 2 ? into->in[2] : 0;
    struct ferry__affine a = compose(o, tensor_of(o, into->in[1]), bias, node->affine);
    int w = ferry__onnx_tensor_copy(o, into->in[1]);
    int b = o->err ? 0 : ferry__onnx_rounded(o, 1, &a.channels, a.shift);
    int *in = ferry__onnx_alloc(o, 8 * sizeof *in);

    if (o->err)
        return;
    tensor_of(o, w)->factors = a.scale;
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
