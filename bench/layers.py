#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The time of each layer in ferry beside OpenVINO's own counters: layers.py FERRY NET.prototxt WEIGHTS MODEL PASSES

FERRY is the command, and MODEL the net as `ferry export` writes it, or as OpenVINO with 8 bits has it. Both run on the CPU
with two threads, one after the other. A node of OpenVINO belongs to the layer whose name its own begins with; the other nodes
are listed at the end. The columns are the name, ferry's and OpenVINO's ms, their ratio, and OpenVINO's kernel."""

import json
import statistics
import subprocess
import sys

import numpy as np
import openvino


def of_ferry(command, net, weights, passes):
    text = subprocess.run([command, "time", net, weights, "--json", "-n", str(passes)], check=True, capture_output=True).stdout
    return {layer["name"]: layer["ms"] for layer in json.loads(text)["layers"]}


def of_openvino(model, passes):
    hints = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "PERF_COUNT": True,
             "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
    request = core.compile_model(core.read_model(model), "CPU", hints).create_infer_request()
    for x in request.model_inputs:
        request.set_tensor(x, openvino.Tensor(np.random.default_rng(7).random(tuple(x.shape), dtype=np.float32)))
    times = {}
    for i in range(passes + 2):
        request.infer()
        for node in request.profiling_info if i > 1 else []:
            times.setdefault((node.node_name, node.exec_type), []).append(1e3 * node.real_time.total_seconds())
    return {name: (statistics.median(ms), kernel) for (name, kernel), ms in times.items()}


def main():
    command, net, weights, model, passes = sys.argv[1:]
    ours, theirs = of_ferry(command, net, weights, int(passes)), of_openvino(model, int(passes))
    of_layer, rest = {}, []
    for name, (ms, kernel) in theirs.items():
        layer = name.split("/")[0]
        if layer in ours:
            before, kernels = of_layer.get(layer, (0, []))
            of_layer[layer] = before + ms, kernels + [kernel] * (ms > 0)
        elif ms:
            rest.append((name, ms, kernel))
    for layer, ms in ours.items():
        other, kernels = of_layer.get(layer, (0, []))
        if ms or other:
            ratio = f"{ms / other:7.2f}" if other else "       "
            print(f"{layer:24} {ms:8.3f} {other:8.3f} {ratio}  {', '.join(kernels)}")
    for name, ms, kernel in rest:
        print(f"{name:33} {ms:8.3f}          {kernel}")
    print(f"{'all':24} {sum(ours.values()):8.3f} {sum(ms for ms, _ in theirs.values()):8.3f}")


main()
