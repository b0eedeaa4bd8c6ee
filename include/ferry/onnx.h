/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file onnx.h
 * Nets as ONNX models, for onnxruntime, OpenVINO, OpenCV and TensorRT. Part of libferrynet.
 *
 * Threads: distinct nets from distinct threads; one net from one thread at a time (net.h).
 */
#ifndef FERRY_ONNX_H
#define FERRY_ONNX_H

#include <ferry/net.h>

FERRY_BEGIN_DECLS

/** A string about a model, such as its licence: an entry of metadata_props. Neither is NULL. */
typedef struct ferry_onnx_property {
    const char *key, *value;
} ferry_onnx_property;

/** Options of ferry_net_export_onnx. Zero the structure, then set struct_size. */
typedef struct ferry_onnx_options {
    size_t struct_size; /* sizeof(ferry_onnx_options) of the caller */
    int opset;          /* version of the operator set, 11 … 22; 0 means 13 */
    /**
     * BatchNorm, Scale and Bias become operators of their own. Otherwise they are folded into the
     * weights of the preceding convolution or inner product where no other layer reads its top.
     */
    bool no_fold;
    /** Parameters are stored as FLOAT16, each with a Cast to FLOAT; the arithmetic is FLOAT. */
    bool half;
    /**
     * Tensors of 1 KiB and more go into the file PATH.data. A model whose tensors exceed 2^31 bytes
     * is always written so, because a protobuf message cannot be longer.
     */
    bool external;
    /** Axis 0 of the inputs and of the tops that depend on it is the parameter "N", of any size. */
    bool dynamic_batch;
    const char *doc;                       /* the model's doc_string; NULL: none */
    const ferry_onnx_property *properties; /* property_count of them */
    size_t property_count;
    /**
     * Convolutions and inner products whose input has a range (net_ranges.h) get QuantizeLinear and
     * DequantizeLinear before it, and integer weights and biases with DequantizeLinear. Weights
     * are those of ferry's own products; values have a zero point wherever it makes their steps
     * finer. Excludes `half`; opset 13 or later.
     */
    bool quantized;
} ferry_onnx_options;

/**
 * Writes a net, with the shapes and parameters that it has now, as an ONNX model. `options` may be
 * NULL. The operators are ONNX's own. Inputs, outputs and other blobs keep their names; the value
 * of a blob before an in-place layer has the layer's name and a number. Values that depend on the
 * shapes alone, such as those of PriorBox, are constants. The outputs are float and agree with
 * ferry_net_forward within rounding; their order is that of ferry_net_output_at. In a net without
 * outputs they are the bottoms of its Silence layers. If an in-place layer writes an output over an
 * input, a number follows the output's name.
 *
 * Parameters are read in pieces, so that memory does not grow with the size of the file. They must
 * not be written meanwhile; the net is used as a forward pass uses it. Equal nets, parameters and
 * options give equal bytes. The file appears under `path` only when it is complete, and replaces
 * another; with external data the tensors' file is replaced first.
 *
 * FERRY_EUNSUPPORTED, before anything is written, if layers have no meaning in ONNX or in this
 * operator set: the message lists all of them with their lines. FERRY_EINVAL for an opset out of
 * range and for NULL, also in `properties`, FERRY_EIO, FERRY_ENOMEM, FERRY_EOVERFLOW for a single
 * tensor or a graph that does not fit a message; an existing file is then unchanged.
 */
FERRY_API int ferry_net_export_onnx(ferry_net *net, const char *path,
                                    const ferry_onnx_options *options);

FERRY_END_DECLS

#endif
