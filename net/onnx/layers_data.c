/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layers without bottoms, or whose tops do not depend on their bottoms' contents: inputs and
 * constants.
 */
#include "net/onnx/layers.h"

#include "net/model/call.h"

#include <ferry/status.h>

#include <string.h>

/* Makes the tops inputs of the model. */
void ferry__onnx_input(struct ferry__onnx *o)
{
    for (int i = 0; i < o->layer->n_tops; i++) {
        int value = ferry__onnx_value(o);

        if (o->err)
            return;
        o->values[value].blob_name = o->net->blobs[o->layer->tops[i]].name;
        o->inputs[o->n_inputs++] = value;
        ferry__onnx_top(o, i, value);
    }
}

void ferry__onnx_parameter(struct ferry__onnx *o)
{
    const ferry_blob *top = ferry__onnx_top_blob(o, 0);

    ferry__onnx_top(o, 0, ferry__onnx_param(o, 0, ferry_blob_rank(top), ferry_blob_shape(top)));
}

/* ---- DummyData ------------------------------------------------------------------------------ */

/* The filler of a top; a single filler applies to all tops. */
static const ferry_proto *filler_of(const ferry_layer *layer, int top)
{
    const ferry_proto *p = ferry__onnx_message(layer, "dummy_data_param");
    int64_t n = ferry_proto_value_count(p, "data_filler");

    return n ? ferry_proto_message(p, "data_filler", n > 1 ? top : 0) : NULL;
}

void ferry__onnx_dummy_data(struct ferry__onnx *o)
{
    for (int i = 0; i < o->layer->n_tops; i++) {
        const ferry_blob *top = ferry__onnx_top_blob(o, i);
        const ferry_proto *filler = filler_of(o->layer, i);
        double value = filler ? ferry_proto_real(filler, "value", 0) : 0;

        ferry__onnx_top(o, i,
                        ferry__onnx_filled(o, value, ferry_blob_rank(top), ferry_blob_shape(top)));
    }
}

const char *ferry__onnx_dummy_data_refuse(const struct ferry__onnx *o, const ferry_layer *layer)
{
    for (int i = 0; i < layer->n_tops; i++) {
        const ferry_proto *filler = filler_of(layer, i);

        if (filler && strcmp(ferry_proto_string(filler, "type", 0, NULL), "constant") != 0)
            return "its values are random";
    }
    return ferry__onnx_one_batch(o, layer);
}

/* ---- PriorBox ------------------------------------------------------------------------------- */

/* Adds constant boxes, because the layer computes them from shapes only. */
void ferry__onnx_prior_box(struct ferry__onnx *o)
{
    ferry_blob *top = ferry_layer_top_at(o->layer, 0);
    const float *boxes;

    if (!o->err)
        o->err = ferry__layer_call(o->layer, o->layer->type->forward, "forward");
    boxes = o->err ? NULL : ferry_blob_host_data(top);
    if (!boxes && !o->err)
        o->err = ferry_last_error_code();
    if (!o->err)
        ferry__onnx_top(o, 0,
                        ferry__onnx_floats(o, ferry_blob_rank(top), ferry_blob_shape(top), boxes));
}
