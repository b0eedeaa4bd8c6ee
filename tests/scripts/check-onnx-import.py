#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ONNX models read by ferry, beside the numbers that others have for them.

    check-onnx-import.py nodes [--only WORD] [--verbose]
        the node tests that the onnx package carries: for each operator how many pass, how many are
        refused, and the reasons
    check-onnx-import.py export FOLDER [--only WORD]
        the nets of FOLDER with stored numbers of real Caffe: exported, read back, compared
    check-onnx-import.py models [--only WORD] FILE…
        models beside onnxruntime

Ends with 1 if a number differs by more than LIMIT of the largest one."""

import argparse
import collections
import glob
import json
import os
import sys
import tempfile

import numpy as np

import ferry

LIMIT = 1e-5


def difference(have, want):
    """The largest difference over the largest value; inf for another shape."""
    have, want = np.asarray(have), np.asarray(want)
    if have.shape != want.shape:
        return np.inf
    if not want.size:
        return 0.0
    have, want = have.astype(np.float64), want.astype(np.float64)
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0, np.abs(have - want))
    finite = want[np.isfinite(want)]
    scale = max(float(np.abs(finite).max()) if finite.size else 0, 1e-30)
    return np.inf if np.isnan(off).any() else float(off.max()) / scale


def run(device, path, feeds):
    """The outputs of a model, by name."""
    with ferry.Net(device, path) as net:
        for name, value in feeds.items():
            net.inputs[name].reshape(value.shape)
            net.inputs[name].data = value.astype(np.float32)
        net.forward()
        return {name: np.array(blob.data) for name, blob in net.outputs.items()}


# ---- node tests ----------------------------------------------------------------------------------

# Operators that ferry reads; the node tests of others are not counted.
OPERATORS = """Abs Add ArgMax ArgMin AveragePool BatchNormalization Cast Clip Concat Constant
ConstantOfShape Conv ConvTranspose DepthToSpace Div Dropout Elu Exp Expand Flatten Gather Gelu Gemm
GlobalAveragePool GlobalMaxPool GroupNormalization HardSigmoid HardSwish Identity
InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization MatMul Max
MaxPool Mean Min Mish Mul Neg PRelu Pad Pow Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceMax
ReduceMean ReduceMin ReduceSum ReduceSumSquare Relu Reshape Resize Selu Shape Sigmoid Size Slice
Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh Tile Transpose Unsqueeze
Upsample""".split()


# Their stored numbers have four decimals.
ROUNDED = ("test_averagepool_2d_ceil_last_window_starts_on_pad",)

# Operators each of whose inputs is data; of the others the first one is.
ALL_DATA = {"Add", "Sub", "Mul", "Div", "Concat", "Max", "Min", "Mean", "Sum"}


def bind(model, arrays):
    """Gives the inputs their shapes, and makes initializers of those that are weights, axes, shapes."""
    import onnx
    node = model.graph.node[0]
    feeds = {}
    for value, array in zip(model.graph.input, arrays):
        array = np.asarray(array)
        real = array.dtype in (np.float16, np.float32, np.float64)
        dims = value.type.tensor_type.shape
        del dims.dim[:]
        for n in array.shape:
            dims.dim.add().dim_value = n
        if real and (value.name == node.input[0] or node.op_type in ALL_DATA):
            feeds[value.name] = array
        else:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
    return feeds


def one_node(device, case):
    """None, or why it failed: ("refused" | "wrong", words)."""
    import onnx
    model = case.model
    inputs, outputs = case.data_sets[0]
    feeds = bind(model, inputs)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.onnx")
        onnx.save(model, path)
        try:
            have = run(device, path, feeds)
        except ferry.Error as error:
            return "refused", str(error).replace(path, "FILE")
    for value, want in zip(model.graph.output, outputs):
        off = difference(have[value.name], want)
        if off > (1e-3 if case.name in ROUNDED or np.asarray(want).dtype == np.float16 else LIMIT):
            return "wrong", f"{value.name} differs by {off:.1e}"
    return None


def takes_numbers(case):
    """Whether what is data has real numbers; ferry computes with nothing else."""
    inputs = case.data_sets[0][0]
    first = np.asarray(inputs[0]) if inputs and not isinstance(inputs[0], (list, type(None))) else None
    return first is None or first.dtype.kind == "f" or case.model.graph.node[0].op_type == "ConstantOfShape"


def nodes(device, options):
    import onnx.backend.test.case.node as node_cases
    passed, refused, wrong = collections.Counter(), collections.defaultdict(list), []
    for case in node_cases.collect_testcases():
        operator = case.model.graph.node[0].op_type
        if (options.only and options.only not in case.name) or len(case.model.graph.node) != 1 \
                or operator not in OPERATORS or case.model.graph.node[0].domain or not takes_numbers(case):
            continue
        failure = one_node(device, case)
        if failure is None:
            passed[operator] += 1
        elif failure[0] == "refused":
            refused[operator].append((case.name, failure[1]))
        else:
            wrong.append((case.name, failure[1]))
        if options.verbose and failure:
            print(f"{failure[0]}: {case.name}: {failure[1]}")
    for operator in OPERATORS:
        if passed[operator] or refused[operator]:
            print(f"{operator}: {passed[operator]} passed, {len(refused[operator])} refused")
    print(f"{sum(passed.values())} passed, {sum(map(len, refused.values()))} refused, "
          f"{len(wrong)} wrong")
    for case, words in wrong:
        print(f"wrong: {case}: {words}")
    return not wrong


# ---- models --------------------------------------------------------------------------------------

def random_feeds(session, rng):
    out = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        out[value.name] = rng.standard_normal(shape).astype(np.float32)
    return out


def models(device, options):
    import onnxruntime as ort
    fine = True
    for path in options.files:
        settings = ort.SessionOptions()
        settings.log_severity_level = 3
        session = ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        feeds = random_feeds(session, np.random.default_rng(1))
        names = [o.name for o in session.get_outputs()]
        want = session.run(names, feeds)
        try:
            have = run(device, path, feeds)
            worst = max(difference(have[n], w) for n, w in zip(names, want))
        except ferry.Error as error:
            print(f"{os.path.basename(path)}: refused: {error}")
            fine = False
            continue
        fine = fine and worst <= LIMIT
        print(f"{os.path.basename(path)}: {worst:.1e}{'' if worst <= LIMIT else '  WRONG'}")
    return fine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["nodes", "models"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    device = ferry.Runtime(backend=options.backend).device()
    sys.exit(0 if {"nodes": nodes, "models": models}[options.what](device, options) else 1)


if __name__ == "__main__":
    main()
