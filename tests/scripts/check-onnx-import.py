#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares ONNX models that ferry reads with the results of other programs.

    check-onnx-import.py nodes [--only WORD] [--verbose]
        the node tests of the onnx package: for each operator the numbers of passed and of rejected
        tests, and the reasons
    check-onnx-import.py exports FOLDER [--only WORD]
        the nets and layers of FOLDER with stored numbers of real Caffe: exported, read back, compared
    check-onnx-import.py models [--times] FILE…
        models compared with onnxruntime, and with --times the milliseconds of both and of OpenVINO

The exit status is 1 if a number differs by more than LIMIT of the largest one."""

import argparse
import collections
import importlib.util
import os
import sys
import tempfile
import time

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

# Operators that ferry reads; node tests of other operators are not counted.
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

# Operators whose inputs are all data; for other operators only the first one is data.
ALL_DATA = {"Add", "Sub", "Mul", "Div", "Concat", "Max", "Min", "Mean", "Sum"}


def bind(model, arrays):
    """Sets the shapes of the inputs, and makes initializers of inputs that are weights, axes or shapes."""
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
    """None, or the reason of the failure: ("refused" | "wrong", words)."""
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
    """Whether the data are real numbers; ferry computes only with these."""
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


# ---- ferry's own exports -------------------------------------------------------------------------

def exports(device, options):
    """Compares exported and re-read nets and single layers with the stored numbers of real Caffe."""
    import onnx
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location("check_onnx", os.path.join(here, "check-onnx.py"))
    check_onnx = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_onnx)
    arguments = argparse.Namespace(folder=os.path.abspath(options.files[0]), only=options.only or "", extra=False)
    passed, refused, worst = 0, [], 0.0
    for case in check_onnx.cases_of(device, arguments):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "net.onnx")
            try:
                check_onnx.shape_inputs(case.net, case.feeds)
                ferry.export_onnx(case.net, path)
                found = run(device, path, case.feeds)
            except ferry.Error as error:
                refused.append((case.name, str(error).replace(path, "FILE")))
                continue
            names = [o.name for o in onnx.load(path, load_external_data=False).graph.output]
        have = {key: found[name] for pair, name in zip(enumerate(case.net.outputs), names) for key in pair}
        off = max((difference(have[key], want) for key, want in case.wanted.items()), default=np.inf)
        worst = max(worst, off)
        passed += off <= LIMIT
        if off > LIMIT or options.verbose:
            print(f"{case.name}: {off:.1e}{'' if off <= LIMIT else '  WRONG'}", flush=True)
    for name, words in refused:
        print(f"refused: {name}: {words}")
    print(f"{passed} passed, {len(refused)} refused; largest difference {worst:.1e}")
    return worst <= LIMIT


# ---- models --------------------------------------------------------------------------------------

def random_feeds(session, rng):
    out = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        out[value.name] = rng.standard_normal(shape).astype(np.float32)
    return out


def median_times(runs, rounds=9):
    """The median milliseconds of each function; the functions alternate, after a round that is not counted."""
    times = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, one in runs.items():
            begin = time.perf_counter()
            one()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: sorted(values[1:])[rounds // 2] for name, values in times.items()}


def times_of(device, path, session, feeds):
    """A line: the median milliseconds of ferry, onnxruntime and, if it can be imported, OpenVINO."""
    runs = {}
    with ferry.Net(device, path) as net:
        for name, value in feeds.items():
            net.inputs[name].data = value
        runs["ferry"] = lambda: (net.forward(), None)
        runs["onnxruntime"] = lambda: session.run(None, feeds)
        try:
            import openvino as ov
            core = ov.Core()
            compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            request = compiled.create_infer_request()
            runs["OpenVINO"] = lambda: request.infer(feeds)
        except ImportError:
            pass
        found = median_times(runs)
    return ", ".join(f"{name} {ms:.1f} ms" for name, ms in found.items())


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
        times = "; " + times_of(device, path, session, feeds) if options.times else ""
        print(f"{os.path.basename(path)}: {worst:.1e}{'' if worst <= LIMIT else '  WRONG'}{times}", flush=True)
    return fine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["nodes", "exports", "models"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_intermixed_args()
    device = ferry.Runtime(backend=options.backend).device()
    sys.exit(0 if {"nodes": nodes, "exports": exports, "models": models}[options.what](device, options) else 1)


if __name__ == "__main__":
    main()
