#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One program's side of the suites `quantized`, `bf16` and `first-pass`, and of beside-others.py:
peer-runtime.py onnxruntime|openvino|cv2|ncnn|ferry f32|bf16 MODEL [first]

Opens MODEL, on the CPU with two threads, runs it once, and writes a line with the sum of the magnitudes of the outputs. MODEL
is an ONNX file; for cv2 and ferry a prototxt, for ncnn a .param, with the weights beside it. For each line of the input, a number of passes,
it writes their seconds. With `first`, the line has the seconds until then, without the import of the runtime, the resident
memory and its peak in KiB, and the sum of the outputs, and nothing follows. The precision is that of OpenVINO's F32
operations; the others have only F32."""

import importlib
import sys
import time

import numpy as np


def kib(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field))


def filled(shape):
    return (np.arange(int(np.prod(shape))) * 7919 % 255 / 255).astype(np.float32).reshape(shape)


def shape_of(path):
    """The shape of the only input, which beside-others.py writes beside the model."""
    with open(path.rsplit("/", 1)[0] + "/shape", encoding="ascii") as f:
        return tuple(int(word) for word in f.read().split())


def of_onnxruntime(runtime, path, _):
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


def of_cv2(runtime, path, _):
    runtime.setNumThreads(2)
    net = runtime.dnn.readNetFromCaffe(path, path.replace(".prototxt", ".caffemodel"))
    outputs = net.getUnconnectedOutLayersNames()
    value = filled(shape_of(path))

    def run():
        net.setInput(value)
        return net.forward(outputs)

    return run


def of_ncnn(runtime, path, _):
    net = runtime.Net()
    net.opt.num_threads = 2
    net.load_param(path)
    net.load_model(path.replace(".param", ".bin"))
    image = filled(shape_of(path))[0]
    value = runtime.Mat(image)

    def run(_=image):  # which keeps the array
        extractor = net.create_extractor()
        extractor.input(net.input_names()[0], value)
        return [np.array(extractor.extract(name)[1]) for name in net.output_names()]

    return run


def of_ferry(runtime, path, _):
    device = runtime.Runtime("cpu", options={"cpu": {"threads": 2}}).device()
    net = runtime.Net(device, path, path.replace(".prototxt", ".caffemodel"), share_inputs=True)
    values = {name: filled(blob.shape) for name, blob in net.inputs.items()}
    return lambda: list(net.forward(**values).values())


ENGINES = {"onnxruntime": of_onnxruntime, "openvino": of_openvino, "cv2": of_cv2, "ncnn": of_ncnn, "ferry": of_ferry}


def main():
    engine, precision, path = sys.argv[1:4]
    runtime = importlib.import_module(engine)
    begin = time.monotonic()
    run = ENGINES[engine](runtime, path, precision)
    outputs = run()
    if sys.argv[4:] == ["first"]:
        print(time.monotonic() - begin, kib("VmRSS:"), kib("VmHWM:"), sum(float(y.sum()) for y in outputs), flush=True)
        return
    print(sum(float(np.abs(y).sum()) for y in outputs), flush=True)
    for line in sys.stdin:
        begin = time.monotonic()
        for _ in range(int(line)):
            run()
        print(time.monotonic() - begin, flush=True)


main()
