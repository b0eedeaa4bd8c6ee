#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The other side of the suite `first-pass`: peer-first.py onnxruntime|OpenVINO MODEL

Opens an ONNX model and runs it once, on the CPU with two threads in F32, and writes the seconds that took without the
import of the runtime; then the resident memory and its peak in KiB, and the sum of the outputs."""

import sys
import time

import numpy as np


def kib(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field))


def filled(shape):
    k = np.arange(int(np.prod(shape)))
    return ((k * 7919 % 255).astype(np.float32) / np.float32(255)).reshape(shape)


def on_onnxruntime(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: filled(i.shape) for i in session.get_inputs()})


def on_openvino(path):
    core = openvino.Core()
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "2"}
    request = core.compile_model(core.read_model(path), "CPU", hints).create_infer_request()
    request.infer({i: filled(tuple(i.shape)) for i in request.model_inputs})
    return [o.data for o in request.output_tensors]


if sys.argv[1] == "onnxruntime":
    import onnxruntime
else:
    import openvino

begin = time.monotonic()
outputs = (on_onnxruntime if sys.argv[1] == "onnxruntime" else on_openvino)(sys.argv[2])
seconds = time.monotonic() - begin
print(seconds, kib("VmRSS:"), kib("VmHWM:"), sum(float(o.sum()) for o in outputs), flush=True)
