#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another runtime's side of the suites `quantized` and `bf16`: peer-runtime.py onnxruntime|openvino f32|bf16 MODEL

Runs MODEL with two threads and a line when it has run once. For each line of the input, a number of passes, it writes
their seconds. The precision is that of OpenVINO's F32 operations; onnxruntime has only F32."""

import sys
import time

import numpy as np


def filled(shape):
    return (np.arange(int(np.prod(shape))) * 7919 % 255 / 255).astype(np.float32).reshape(shape)


def of_onnxruntime(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (x,) = session.get_inputs()
    values = {x.name: filled(x.shape)}
    return lambda: session.run(None, values)


def of_openvino(path, precision):
    import openvino

    hints = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    model = openvino.Core().compile_model(path, "CPU", hints)
    request = model.create_infer_request()
    request.set_input_tensor(openvino.Tensor(filled(tuple(model.input(0).shape))))
    return request.infer


def main():
    engine, precision, path = sys.argv[1:]
    run = of_openvino(path, precision) if engine == "openvino" else of_onnxruntime(path)
    run()
    print(0, flush=True)
    for line in sys.stdin:
        begin = time.monotonic()
        for _ in range(int(line)):
            run()
        print(time.monotonic() - begin, flush=True)


main()
