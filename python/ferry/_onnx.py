# SPDX-License-Identifier: BSD-2-Clause
"""Nets as ONNX models."""

import ctypes

from . import _abi
from ._library import lib
from ._library import text as encoded


def export_onnx(net, path, *, opset=13, fold=True, fp16=False, external_data=False,
                dynamic_batch=False, quantized=False, doc=None, properties=()):
    """Writes a net, with the shapes and parameters that it has now, as an ONNX model of standard operators.

    `opset` is 11 to 22. `fold` folds BatchNorm, Scale and Bias into the preceding weights if no other layer
    reads the blob between them. `fp16` stores parameters as FLOAT16, `external_data` stores large tensors in
    PATH.data; `dynamic_batch` gives axis 0 of the inputs any size. `quantized` writes products whose input has a range
    with 8 bits, as QuantizeLinear and DequantizeLinear. `doc` is the model's doc_string,
    `properties` a mapping of strings, its metadata. If layers have no meaning in ONNX, one ferry.Unsupported
    lists all of them, and nothing is written."""
    pairs = list(dict(properties).items())
    array = (_abi.OnnxProperty * len(pairs))(*((encoded(key), encoded(value)) for key, value in pairs))
    options = _abi.OnnxOptions(struct_size=ctypes.sizeof(_abi.OnnxOptions), opset=opset, no_fold=not fold,
                               half=bool(fp16), external=bool(external_data),
                               dynamic_batch=bool(dynamic_batch), doc=encoded(doc), properties=array,
                               property_count=len(pairs), quantized=bool(quantized))
    lib.ferry_net_export_onnx(net._use(), encoded(path), ctypes.byref(options))
