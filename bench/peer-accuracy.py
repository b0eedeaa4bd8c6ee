#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How near nets with 8 bits are to F32, in ferry, onnxruntime and OpenVINO:

    peer-accuracy.py FERRY NET WEIGHTS CALIBRATION.npz TEST.npz [--random] [--ferry=OPTIONS]... [--only PROGRAM]

FERRY is the command, NET a deploy.prototxt with one input and one output. The arrays of both .npz are named as the input. Each row
is a way to choose ranges, with the number of convolutions and inner products with 8 bits, the ratio of the output of ferry in
F32 to its difference in decibels, and the share of inputs whose class is that of F32: of all, and of those whose probability
in F32 exceeds 0.3 and 0.5. Peers read the model of `ferry export`, with defaults besides the row's.

--random: WEIGHTS are random (child-net save). BatchNorm gets the means and variances of the calibration inputs, Scale factors of
0.5 to 1.5 and normal shifts; Softmax at the end is left out. Instead of classes, which hardly depend on the input, the ratio
without the output's mean over the inputs is shown. This needs the package ferry in Python."""

import argparse
import json
import logging
import os
import re
import subprocess
import tempfile

import numpy as np

ORT = "onnxruntime"
RECIPES = ("", "--equalize", "--method percentile", "--method kl", "--method mse", "--adaptive-rounding",
           "--equalize --adaptive-rounding", "--migration 0.75 --adaptive-rounding")


def ratio(reference, values):
    return 10 * np.log10((reference ** 2).sum() / max(((values - reference) ** 2).sum(), 1e-300))


def is_likely(reference, least):
    """Which rows have a class whose probability exceeds a number."""
    powers = np.exp(reference - reference.max(1, keepdims=True))
    given = reference if np.allclose(reference.sum(1), 1, atol=1e-3) else powers / powers.sum(1, keepdims=True)
    return given.max(1) > least


class Table:
    def __init__(self, reference, is_random):
        self.reference, self.is_random = reference, is_random
        self.likely = [np.full(len(reference), True), is_likely(reference, 0.3), is_likely(reference, 0.5)]
        columns = ["dB without the mean"] if is_random else [f"same class of {x.sum()}, %" for x in self.likely]
        print("| program | 8 bits | dB |", " | ".join(columns), "|\n|---|---|---|" + "---|" * len(columns), flush=True)

    def row(self, name, layers, values):
        same = values.argmax(1) == self.reference.argmax(1)
        mean = self.reference.mean(0)
        columns = [ratio(self.reference - mean, values - mean)] if self.is_random else [
            100 * same[x].mean() for x in self.likely]
        print(f"| {name} | {layers} | {ratio(self.reference, values):.1f} |", " | ".join(f"{x:.1f}" for x in columns),
              "|", flush=True)


# ---- the random net ----------------------------------------------------------------------------------


def prepare(net, weights, calibration, folder):
    """Returns a net without Softmax and weights with statistics."""
    import ferry

    text = "".join(line for line in open(net, encoding="utf-8").readlines() if "'Softmax'" not in line)
    out, values = os.path.join(folder, "net.prototxt"), os.path.join(folder, "net.caffemodel")
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
    with ferry.Runtime() as runtime:
        made = ferry.Net(runtime.device(), out, weights, phase="train")
        random = np.random.default_rng(7)
        for name, blobs in made.params.items():
            if name.startswith("Scale"):
                blobs[0].data = random.uniform(0.5, 1.5, blobs[0].shape).astype("f4")
                blobs[1].data = random.normal(0, 0.3, blobs[1].shape).astype("f4")
        made.forward(**{name: calibration[name][:24] for name in calibration.files})
        made.save(values)
    return out, values


# ---- programs ----------------------------------------------------------------------------------------


class Ferry:
    def __init__(self, command, net, test, folder):
        self.command, self.net, self.test, self.folder = command, net, test, folder

    def call(self, *arguments):
        return subprocess.run([self.command, *arguments], check=True, stdout=subprocess.PIPE).stdout

    def run(self, weights, *options):
        out = os.path.join(self.folder, "out.npz")
        name, = np.load(self.test).files
        self.call("run", self.net, weights, "--input", f"{name}={self.test}", "-o", out, *options)
        with np.load(out) as file:
            values, = (file[key] for key in file.files)
        return values.reshape(len(values), -1)

    def rows(self, table, weights, calibration, recipes):
        made = os.path.join(self.folder, "int8.caffemodel")
        for options in recipes:
            self.call("quantize", self.net, weights, "-o", made, "-q", "--calibrate", calibration, "--batch", "5",
                      *options.split())
            times = json.loads(self.call("time", self.net, made, "-n", "1", "--json"))
            kinds = [x.get("precision") for x in times["layers"] if x["type"] in ("Convolution", "InnerProduct")]
            count = f"{sum(x == 'int8' for x in kinds)} of {len(kinds)}"
            table.row(f"ferry {options}".strip(), count, self.run(made))


def inputs_of(model):
    import onnx

    return onnx.load(model, load_external_data=False).graph.input[0].name


def onnxruntime_rows(model, calibration, test, table, folder):
    import onnx
    import onnxruntime
    from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType,
                                          quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.items = iter(calibration)

        def get_next(self):
            item = next(self.items, None)
            return None if item is None else {name: item[None]}

    name = inputs_of(model)
    prepared, made = os.path.join(folder, "prepared.onnx"), os.path.join(folder, "int8.onnx")
    quant_pre_process(model, prepared, skip_symbolic_shape=True)
    for method in ("MinMax", "Entropy", "Percentile"):
        quantize_static(prepared, made, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        calibrate_method=CalibrationMethod[method])
        graph = onnx.load(made).graph
        integers = {o for n in graph.node if n.op_type == "DequantizeLinear" for o in n.output}
        kinds = [n.input[0] in integers for n in graph.node if n.op_type in ("Conv", "Gemm", "MatMul")]
        session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
        values = np.concatenate([session.run(None, {name: x[None]})[0].reshape(1, -1) for x in test])
        table.row(f"{ORT} {method}", f"{sum(kinds)} of {len(kinds)}", values)


def text(value):
    """The text of an entry of a node's information."""
    return str(getattr(value, "value", value))


def openvino_rows(model, calibration, test, table):
    import nncf
    import openvino

    source = openvino.Core().read_model(model)
    data = nncf.Dataset([x[None] for x in calibration])
    for preset in ("PERFORMANCE", "MIXED"):
        made = nncf.quantize(source, data, preset=nncf.QuantizationPreset[preset], subset_size=len(calibration))
        compiled = openvino.Core().compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        infos = [n.get_rt_info() for n in compiled.get_runtime_model().get_ops()]
        kinds = [text(x["runtimePrecision"]) for x in infos
                 if re.search("Convolution|FullyConnected|MatMul", text(x["layerType"]))]
        values = np.concatenate([compiled(x[None])[0].reshape(1, -1) for x in test])
        table.row(f"NNCF {preset.lower()}", f"{sum(x[1:] == '8' for x in kinds)} of {len(kinds)}", values)


def main():
    parser = argparse.ArgumentParser()
    for name in ("command", "net", "weights", "calibration", "test"):
        parser.add_argument(name)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--ferry", action="append")
    parser.add_argument("--only", choices=("ferry", ORT, "openvino"))
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    name, = np.load(given.test).files
    calibration, test = np.load(given.calibration), np.load(given.test)[name]
    with tempfile.TemporaryDirectory() as folder:
        net, weights = given.net, given.weights
        if given.random:
            net, weights = prepare(net, weights, calibration, folder)
        model = os.path.join(folder, "net.onnx")
        own = Ferry(given.command, net, given.test, folder)
        table = Table(own.run(weights, "--float"), given.random)
        if given.only in (None, "ferry"):
            own.rows(table, weights, given.calibration, given.ferry or RECIPES)
        own.call("export", net, weights, model)
        if given.only in (None, ORT):
            onnxruntime_rows(model, calibration[name], test, table, folder)
        if given.only in (None, "openvino"):
            openvino_rows(model, calibration[name], test, table)


main()
