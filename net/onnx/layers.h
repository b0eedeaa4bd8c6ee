/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layers as ONNX operators: a function for each type adds the nodes of `o->layer` to the graph.
 */
#ifndef FERRY_NET_ONNX_LAYERS_H
#define FERRY_NET_ONNX_LAYERS_H

#include "net/onnx/graph.h"
#include "net/onnx/ops.h"

struct ferry__onnx_layer {
    const char *type;
    void (*write)(struct ferry__onnx *o);
    /* The reason, a clause, why this layer cannot be expressed in ONNX; NULL: it can. The entry may
     * be NULL. */
    const char *(*refuse)(const struct ferry__onnx *o, const ferry_layer *layer);
};

/* The entry of a layer's type; NULL if there is none. */
const struct ferry__onnx_layer *ferry__onnx_layer_of(const ferry_layer *layer);

/* ---- shared functions ----------------------------------------------------------------------- */

/* The layer's message of that name. */
static inline const ferry_proto *ferry__onnx_message(const ferry_layer *layer, const char *name)
{
    return ferry_proto_message(layer->message, name, 0);
}

/* Bottom or top blobs of the layer. */
static inline const ferry_blob *ferry__onnx_bottom_blob(const struct ferry__onnx *o, int index)
{
    return ferry_layer_bottom_at(o->layer, index);
}

static inline const ferry_blob *ferry__onnx_top_blob(const struct ferry__onnx *o, int index)
{
    return ferry_layer_top_at(o->layer, index);
}

/* An axis of a blob, from a field that was validated when the net was opened. */
int ferry__onnx_axis(const ferry_blob *b, const ferry_proto *p, const char *field);

/* A pooling over two spatial axes. */
struct ferry__onnx_pool {
    bool average, unpadded; /* unpadded: an average's divisor excludes padding */
    int64_t in[2], out[2], kernel[2], stride[2], pad[2];
};

/* Whether the last window of an axis begins after the image. */
bool ferry__onnx_pool_is_empty(const struct ferry__onnx_pool *pool);
/*
 * Adds Caffe's pooling; *out_mask, if not NULL, gets the positions of the maxima in their planes,
 * as floats.
 */
int ferry__onnx_pool(struct ferry__onnx *o, int x, const struct ferry__onnx_pool *pool,
                     int *out_mask);

/* Adds x − mean over n axes and, with *out_variance, the mean of its square. */
int ferry__onnx_centred(struct ferry__onnx *o, int x, int n, const int64_t *axes,
                        int *out_variance);

/* ---- the types ------------------------------------------------------------------------------ */

#define FERRY__ONNX_TYPES(X)      \
    X(abs_val)                    \
    X(arg_max)                    \
    X(axpy)                       \
    X(batch_norm)                 \
    X(batch_reindex)              \
    X(bias)                       \
    X(bn)                         \
    X(bnll)                       \
    X(clip)                       \
    X(concat)                     \
    X(contrastive_loss)           \
    X(convolution)                \
    X(crop)                       \
    X(detection_output)           \
    X(dropout)                    \
    X(dummy_data)                 \
    X(eltwise)                    \
    X(elu)                        \
    X(embed)                      \
    X(euclidean_loss)             \
    X(exp)                        \
    X(filter)                     \
    X(hinge_loss)                 \
    X(im2col)                     \
    X(inner_product)              \
    X(input)                      \
    X(interp)                     \
    X(log)                        \
    X(lrn)                        \
    X(lstm)                       \
    X(lstm_unit)                  \
    X(multinomial_logistic_loss)  \
    X(mvn)                        \
    X(normalize)                  \
    X(parameter)                  \
    X(permute)                    \
    X(pooling)                    \
    X(power)                      \
    X(prelu)                      \
    X(prior_box)                  \
    X(proposal)                   \
    X(psroi_pooling)              \
    X(reduction)                  \
    X(relu)                       \
    X(relu6)                      \
    X(reshape)                    \
    X(rnn)                        \
    X(roi_pooling)                \
    X(scale)                      \
    X(shuffle_channel)            \
    X(sigmoid)                    \
    X(sigmoid_cross_entropy_loss) \
    X(silence)                    \
    X(slice)                      \
    X(softmax)                    \
    X(softmax_with_loss)          \
    X(split)                      \
    X(spp)                        \
    X(swish)                      \
    X(tanh)                       \
    X(threshold)                  \
    X(tile)                       \
    X(upsample)

#define FERRY__ONNX_DECLARE_LAYER(name) void ferry__onnx_##name(struct ferry__onnx *o);
FERRY__ONNX_TYPES(FERRY__ONNX_DECLARE_LAYER)
#undef FERRY__ONNX_DECLARE_LAYER

/* For layers whose nodes contain the net's batch size: refuses a dynamic batch. */
static inline const char *ferry__onnx_one_batch(const struct ferry__onnx *o,
                                                const ferry_layer *layer)
{
    (void)layer;
    return o->dynamic_batch ? "it needs a fixed batch" : NULL;
}

const char *ferry__onnx_detection_output_refuse(const struct ferry__onnx *o,
                                                const ferry_layer *layer);
const char *ferry__onnx_dropout_refuse(const struct ferry__onnx *o, const ferry_layer *layer);
const char *ferry__onnx_dummy_data_refuse(const struct ferry__onnx *o, const ferry_layer *layer);
const char *ferry__onnx_pooling_refuse(const struct ferry__onnx *o, const ferry_layer *layer);
const char *ferry__onnx_psroi_pooling_refuse(const struct ferry__onnx *o, const ferry_layer *layer);
const char *ferry__onnx_spp_refuse(const struct ferry__onnx *o, const ferry_layer *layer);
const char *ferry__onnx_upsample_refuse(const struct ferry__onnx *o, const ferry_layer *layer);

#endif
