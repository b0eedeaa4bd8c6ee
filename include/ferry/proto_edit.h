/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file proto_edit.h
 * Changes of nets: the shapes of their inputs, the layers before and after a layer, layers folded
 * into weights, and the V1 form of older tools. Part of libferrynet.
 *
 * Each function takes a NetParameter in the current form (ferry_proto_upgrade) and needs exclusive
 * access to its tree; distinct trees may be changed from distinct threads. FERRY_EINVAL for another
 * message, FERRY_EFORMAT for a net with layers of V0 or V1, FERRY_ENOMEM. After a failure the tree
 * can only be closed.
 */
#ifndef FERRY_PROTO_EDIT_H
#define FERRY_PROTO_EDIT_H

#include <ferry/proto.h>

FERRY_BEGIN_DECLS

/**
 * Sets the shape of the top `input` of an Input layer: `rank` dims, 0 … 32, each 0 … 2^31 − 1. The
 * shapes of other tops are unchanged. A NULL `input` is the only top of all Input layers.
 *
 * FERRY_EINVAL if there is no such top, if a NULL `input` is ambiguous (the message lists the
 * inputs), and for a rank or a dim out of range; FERRY_EFORMAT, with the position, for a layer
 * whose other tops have no shape.
 */
FERRY_API int ferry_proto_set_input_shape(ferry_proto *net, const char *input, const int64_t *shape,
                                          int rank);

/** A part of a net. */
typedef enum ferry_proto_part {
    FERRY_PROTO_BEFORE = 0, /* the layers before a layer, in the order of the file */
    FERRY_PROTO_FROM = 1    /* that layer and the layers after it */
} ferry_proto_part;

/**
 * Removes the layers of the other part: `layer` is the name of a layer, the first one of that name.
 * The fields of the net and the rules of the layers (include, exclude) are kept.
 *
 * In FERRY_PROTO_FROM, each blob that the part reads and a removed layer made is the top of a new
 * Input layer without a shape, which ferry_proto_set_input_shape sets. The new layer is named
 * "input_BLOB", with "input_" again in front as long as the net has a layer of that name, so that
 * weights of neither part are loaded into it. The new layers are first, in the order in which their
 * blobs are read.
 *
 * FERRY_EINVAL if there is no such layer, if it is the first layer, and for another value of
 * `part`.
 */
FERRY_API int ferry_proto_keep_part(ferry_proto *net, const char *layer, ferry_proto_part part);

/**
 * A function that ferry_proto_fold calls for a layer that can be folded into the weights of the
 * layer `into`; both are messages of the net. Returns 1 if the caller folds it, 0 to keep it, or a
 * ferry error, which ends ferry_proto_fold.
 */
typedef int (*ferry_proto_fold_fn)(void *arg, const ferry_proto *into, const ferry_proto *layer);

/**
 * Removes the layers BatchNorm (by its stored statistics), Scale and Bias that the caller folds
 * into the weights of the layer that makes their bottom: a Convolution, ConvolutionDepthwise,
 * DepthwiseConvolution, Deconvolution or InnerProduct whose channels are axis 1. `fold` is called
 * for each of them, in the order of the file; a layer that is folded gives its top to `into`, which
 * has a bias from then on. The weights are the caller's: each output channel of them and the bias
 * are multiplied by the layer's factor, and its term is added to the bias.
 *
 * Layers are kept if they have rules (include, exclude), shared parameters (param { name }), a
 * loss_weight, or several bottoms or tops, if their factors are of another axis than 1, and if
 * another layer reads or writes the blob between them. FERRY_EINVAL for a NULL `fold`; else its
 * error.
 */
FERRY_API int ferry_proto_fold(ferry_proto *net, ferry_proto_fold_fn fold, void *arg);

/**
 * Rewrites a net in the V1 form, for tools of Caffe's first releases: layers { type: CONVOLUTION },
 * multipliers as blobs_lr and weight_decay. Input layers become fields of the net: input_dim if
 * each input has four axes, else input_shape. In a binary file the phase of a layer, which Caffe
 * adds when it saves a net, is omitted.
 *
 * FERRY_EUNSUPPORTED, with the position, for a layer type or a field that V1 lacks and for an Input
 * layer with rules; FERRY_EFORMAT for an Input layer without a shape.
 */
FERRY_API int ferry_proto_downgrade(ferry_proto *net);

FERRY_END_DECLS

#endif
