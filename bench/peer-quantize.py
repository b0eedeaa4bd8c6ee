#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The models with 8 bits of the suite `quantized`: peer-quantize.py MODEL.onnx INPUTS.npz ONNXRUNTIME.onnx OPENVINO.xml

Writes inputs for calibration, which `ferry quantize` reads too, and MODEL as onnxruntime's static quantization and NNCF
make it: per channel for weights, U8 for values in onnxruntime, as its guide recommends with VNNI."""

import logging
import os
import sys

import nncf
import numpy as np
import onnx
import openvino
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

ITEMS = 8


class Reader(CalibrationDataReader):
    def __init__(self, name, items):
        self.items = iter([{name: x} for x in items])

    def get_next(self):
        return next(self.items, None)


def main():
    source, inputs, for_onnxruntime, for_openvino = sys.argv[1:]
    logging.disable(logging.WARNING)
    given = onnx.load(source, load_external_data=False).graph.input[0]
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    items = np.random.default_rng(7).random((ITEMS, *shape), dtype=np.float32)
    np.savez(inputs, **{given.name: items.reshape(ITEMS * shape[0], *shape[1:])})
    prepared = for_onnxruntime + ".prepared"
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, for_onnxruntime, Reader(given.name, items), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    os.remove(prepared)
    model = openvino.Core().read_model(source)
    openvino.save_model(nncf.quantize(model, nncf.Dataset(list(items)), subset_size=ITEMS), for_openvino,
                        compress_to_fp16=False)


main()
