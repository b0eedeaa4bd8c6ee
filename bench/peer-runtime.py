#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another runtime's side of the suites `quantized`, `bf16` and `first-pass`:
peer-runtime.py onnxruntime|openvino f32|bf16 MODEL [first]

Opens MODEL, on the CPU with two threads, runs it once, and writes a line. For each line of the input, a number of passes,
it writes their seconds. With `first`, the line has the seconds until then, without the import of the runtime, the resident
memory and its peak in KiB, and the sum of the outputs, and nothing follows. The precision is that of OpenVINO's F32
operations; onnxruntime has only F32."""

import importlib
import sys
import time

import numpy as np


def kib(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field))


def filled(shape):
    return (np.arange(int(np.prod(shape))) * 7919 % 255 / 255).astype(np.float32).reshape(shape)


def of_onnxruntime(runtime, path):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 2
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    values = {x.name: filled(x.shape) for x in session.get_inputs()}
    return lambda: session.run(None, values)


def of_openvino(runtime, path, precision):
    hints = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
             "INFERENCE_PRECISION_HINT": precision}
    core = runtime.Core()
    request = core.compile_model(core.read_model(path), "CPU", hints).create_infer_request()
    for x in request.model_inputs:
        request.set_tensor(x, runtime.Tensor(filled(tuple(x.shape))))

    def run():
        request.infer()
        return [y.data for y in request.output_tensors]

    return run


def main():
    engine, precision, path = sys.argv[1:4]
    runtime = importlib.import_module(engine)
    begin = time.monotonic()
    run = of_openvino(runtime, path, precision) if engine == "openvino" else of_onnxruntime(runtime, path)
    outputs = run()
    if sys.argv[4:] == ["first"]:
        print(time.monotonic() - begin, kib("VmRSS:"), kib("VmHWM:"), sum(float(y.sum()) for y in outputs), flush=True)
        return
    print(0, flush=True)
    for line in sys.stdin:
        begin = time.monotonic()
        for _ in range(int(line)):
            run()
        print(time.monotonic() - begin, flush=True)


main()
