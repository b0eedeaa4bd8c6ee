#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Passes of nets on the plugin openvino beside OpenVINO itself: segments.py FOLDER NET ... [--rounds N]

FOLDER/NET.prototxt is a net with one input; its weights are random and moderate. OpenVINO reads the same net, with the
same weights, as the ONNX model that ferry exports. Both run in this process, with the same number of threads and the same
hints, pass by pass in turn, the first of each pair being the other the next time. The input is written before each pass, and
its writing is not timed. Prints a line of Markdown per net: the medians, and the median of the rounds' ratios. FERRY_LIBRARY_PATH,
FERRY_PLUGIN_PATH and PYTHONPATH have to find ferry; option.library of the plugin OpenVINO."""

import argparse
import glob
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import openvino

import ferry


def fill(net, seed=7):
    """He's bound for weights, moderate numbers for the rest."""
    numbers = np.random.default_rng(seed)
    for name, blobs in net.params.items():
        for k, blob in enumerate(blobs):
            shape = blob.shape
            u = 2 * numbers.random(shape, dtype=np.float32) - 1
            fan = int(np.prod(shape[1:])) if len(shape) > 1 else 0
            lowered = name.lower()
            if len(blobs) == 3 and k == 2:
                u[...] = 1
            elif (len(blobs) == 3 and k == 1) or ("scale" in lowered and k == 0):
                u = 0.5 + 0.15 * u
            else:
                u *= np.sqrt(6 / fan) if fan else 0.1
            blob.data = u


class OnFerry:
    def __init__(self, device, path, weights):
        self.net = ferry.Net(device, path, weights)
        (self.input,) = self.net.inputs.values()
        (self.output,) = self.net.outputs.values()

    def write(self, x):
        self.input.data = x

    def run(self):
        self.net.forward_range()

    def read(self):
        return np.array(self.output.data)

    def shape(self, batch):
        self.input.reshape((batch,) + tuple(self.input.shape)[1:])
        return tuple(self.input.shape)


class OnOpenVINO:
    def __init__(self, model, threads):
        core = openvino.Core()
        hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(threads)}
        self.request = core.compile_model(core.read_model(model), "CPU", hints).create_infer_request()
        self.input = self.request.get_input_tensor(0).data
        self.output = self.request.get_output_tensor(0).data

    def write(self, x):
        self.input[...] = x

    def run(self):
        self.request.infer()

    def read(self):
        return np.array(self.output)


def in_turn(a, b, x, rounds, seconds):
    """Medians of each round in milliseconds, for both."""
    medians = ([], [])
    for one in (a, b, a, b, a, b):
        one.write(x)
        one.run()
    for _ in range(rounds):
        taken, end, turn = ([], []), time.perf_counter() + seconds, 0
        while time.perf_counter() < end or len(taken[0]) < 3:
            for one in ((0, 1), (1, 0))[turn % 2]:
                (a, b)[one].write(x)
                before = time.perf_counter()
                (a, b)[one].run()
                taken[one].append(1000 * (time.perf_counter() - before))
            turn += 1
        for one in (0, 1):
            medians[one].append(statistics.median(taken[one]))
    return medians


def measure(device, folder, name, args):
    path = os.path.join(folder, name + ".prototxt")
    with tempfile.TemporaryDirectory() as work:
        weights, model = os.path.join(work, "w.caffemodel"), os.path.join(work, "net.onnx")
        source = ferry.Net(ferry.Runtime("cpu").device(), path)
        (blob,) = source.inputs.values()
        blob.reshape((args.batch,) + tuple(blob.shape)[1:])
        fill(source)
        source.save(weights)
        ferry.export_onnx(source, model)
        a = OnFerry(device, path, weights)
        b = OnOpenVINO(model, args.threads)
        shape = a.shape(args.batch)
        x = np.random.default_rng(3).random(shape, dtype=np.float32) * 4 - 2
        mine, theirs = in_turn(a, b, x, args.rounds, args.seconds)
        got, wanted = a.read(), b.read()
        worst = float(np.abs(got.ravel() - wanted.ravel()).max() / np.abs(wanted).max())
    ratios = [t / m for m, t in zip(mine, theirs)]
    print(f"| {name} | {statistics.median(mine):.2f} | {statistics.median(theirs):.2f} | "
          f"{statistics.median(ratios):.3f} | {min(ratios):.3f} to {max(ratios):.3f} | {worst:.1e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("nets", nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    libraries = glob.glob(os.path.join(os.path.dirname(openvino.__file__), "libs", "libopenvino_c.so*"))
    parser.add_argument("--library", default=libraries[0] if libraries else "libopenvino_c.so")
    args = parser.parse_args()
    print("| net | plugin openvino, ms | OpenVINO, ms | speed of the plugin | rounds | difference |\n|---|---|---|---|---|---|")
    options = {"openvino": {"threads": args.threads, "library": args.library}}
    device = ferry.Runtime("openvino", options=options).device()
    for name in args.nets:
        measure(device, args.folder, name, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
