/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file net_ranges.h
 * The ranges of a net's blobs, by which a TEST net computes convolutions and inner products with
 * integers of 8 bits. Part of libferrynet; net.h has the rules for errors and threads.
 *
 * Ranges come from the field `quantization` of the net's text, from that of a .caffemodel that is
 * loaded (ferry quantize writes it), or from the functions below. Loading a file of weights without
 * ranges removes the ranges that earlier files have set. ferry_net_save writes them into a
 * caffemodel. Parameters are F32 in the net, and in files of ferry_net_save.
 *
 * A text or a caffemodel without that field may have Intel Caffe's field of Convolution and
 * InnerProduct, `quantization_param`: scale_in, or 2 to the power of fl_layer_in, is the number of
 * levels per unit of the layer's first bottom, which are 255 from 0, or with is_negative_input 127
 * on each side of 0; with force_u8_input the range is 0 to 255. scale_out and fl_layer_out hold for
 * the first top, unless a reader of it states a range. Layers without the field, and those whose
 * bw_layer_in or bw_params is not 8, are then computed in F32. Scales of weights follow from the
 * weights. FERRY_EFORMAT for a scale that is missing or not above 0.
 *
 * A range without negative values has 256 levels from 0 to its greatest value. Any other has 256
 * from its least to its greatest value if no convolution and no average that reads it has padding,
 * and otherwise 127 on each side of 0, up to its greatest absolute value.
 *
 * With ferry_net_options.fake_quantize a net of either phase computes in F32, and rounds the values
 * that those products read and write as their ranges say, and their weights by output. Gradients
 * are those of clipping to the ranges, and those of weights are of the rounded copy, which the net
 * does not save. TRAIN nets then load ranges too. Layers of type FakeQuantize, which the net
 * inserts and does not save, round the values. Products whose blobs have no ranges stay as they
 * are. Results equal those with integers within rounding, if the device has integers for each
 * product, except where integers are stored that no product reads: operands that a product adds,
 * concatenations that only BatchNorm or Scale reads, and parts of a Slice stay F32 here.
 */
#ifndef FERRY_NET_RANGES_H
#define FERRY_NET_RANGES_H

#include <ferry/net.h>

FERRY_BEGIN_DECLS

/**
 * Sets the range, least … most, of the contents that a blob has at the end of a forward pass;
 * values outside become the nearest bound where the blob is quantized. −∞ and +∞ remove the range.
 * Blobs that share contents, as the bottom and the top of Flatten, share the range. The next
 * forward pass or ferry_net_reshape prepares the net anew.
 *
 * FERRY_EINVAL for an unknown blob, for other bounds that are not finite, and for least > most.
 */
FERRY_API int ferry_net_set_range(ferry_net *net, const char *blob, float least, float most);

/** The range of a blob; −∞ and +∞ if none is known. FERRY_EINVAL for an unknown blob. */
FERRY_API int ferry_net_get_range(const ferry_net *net, const char *blob, float *out_least,
                                  float *out_most);

/**
 * With true, a layer is computed in F32 in spite of known ranges and of the net's precision. If
 * several layers have the name, the first of them. FERRY_EINVAL for an unknown layer.
 */
FERRY_API int ferry_net_set_float_only(ferry_net *net, const char *layer, bool on);

/** Whether ferry_net_set_float_only or `float_layer` names the layer. False for NULL. */
FERRY_API bool ferry_net_is_float_only(const ferry_net *net, const char *layer);

/**
 * Saves a net as ferry_net_save does, as a caffemodel, with the weights of the layers that have 8
 * bits as integers: a quarter of their bytes. These are the weights of Convolution and InnerProduct
 * (without `transpose`) whose first bottom has a range, that are not computed in F32
 * (ferry_net_set_float_only) and that no other layer shares. Each output has a scale, and its
 * weights are rounded to the nearest of 255 numbers, as they are for products with integers: a
 * device that has these computes the same results from this file as from that of ferry_net_save,
 * unless other layers are folded into the weights: a product with their scale may be rounded to the
 * neighbour. Weights are also rounded where a device computes the layer in F32, as a depthwise
 * convolution that reads F32 (ferry_net_set_float_only prevents it). Only ferry reads such weights
 * (ferry_io_read_integers); they are F32 for every reader of a parameter, and large ones stay
 * integers in the memory of a TEST net until they are needed in F32.
 *
 * FERRY_EOVERFLOW for such weights that are not finite, and the errors of ferry_net_save.
 */
FERRY_API int ferry_net_save_integers(const ferry_net *net, const char *path);

FERRY_END_DECLS

#endif
