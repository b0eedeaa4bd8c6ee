#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Exports nets and layer cases, runs them in other runtimes, and compares the results with stored numbers of
Caffe (or, for nets without any, with ferry's own). Prints a row for each: the largest difference over the
largest value.

    check-onnx.py [--engines NAME,…] [--opset N] [--only WORD] [--table FILE] [--extra] FOLDER

FOLDER is the folder of the nets. The exit status is 1 if a difference is above LIMIT or a model does not run
in onnxruntime."""

import argparse
import json
import os
import sys
import tempfile

import numpy as np

import ferry

LIMIT = 1e-5

# ---- runtimes ------------------------------------------------------------------------------------


# Each function takes a model and its inputs and returns its outputs in the model's order.


def onnxruntime(path, feeds):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in feeds.items() if k in known})


def openvino(path, feeds):
    import openvino as ov
    core = ov.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    wanted = {name: port for port in compiled.inputs for name in port.get_names()}
    request.infer({wanted[k]: v for k, v in feeds.items() if k in wanted})
    return [np.array(request.get_tensor(port).data) for port in compiled.outputs]


def cv2(path, feeds):
    import cv2 as cv
    net = cv.dnn.readNetFromONNX(path)
    for name, value in feeds.items():
        net.setInput(value, name)
    return net.forward(net.getUnconnectedOutLayersNames())


ENGINES = {"onnxruntime": onnxruntime, "openvino": openvino, "cv2": cv2}


def importable(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False


# ---- cases ---------------------------------------------------------------------------------------

class Case:
    """An open net, its inputs, and the expected outputs."""

    def __init__(self, name, net, feeds, wanted):
        self.name, self.net, self.feeds, self.wanted = name, net, feeds, wanted


def layer_case(device, folder, about):
    path = os.path.join(folder, "layers", about["name"])
    stored = np.load(path + ".npz")
    net = ferry.Net(device, path + ".prototxt", phase="default", keep="*")
    layer = next(reversed(list(net.params)), None)
    for i, blob in enumerate(net.params[layer] if layer else ()):
        blob.data = stored[f"param{i}"]
    runs = about["forward_runs"]
    feeds = {name: stored.get(f"bottom{i}_run{runs}", stored[f"bottom{i}"]) for i, name in enumerate(net.inputs)}
    wanted = {}
    for i in range(100):
        if f"top{i}" not in stored.files:
            break
        wanted[i] = stored[f"top{i}"]
    return Case(about["name"], net, feeds, wanted)


def shape_inputs(net, feeds):
    for name, value in feeds.items():
        net.blobs[name].reshape(value.shape)
        net.blobs[name].data = value
    net.reshape()


NETS = (("lenet", "lenet", "lenet_iter_10000", ("mnist16", "cv")),
        ("lenet_everpeace", "lenet", "lenet_iter_10000", ("mnist4_10000", "cv")),
        ("cifar10_quick", "cifar10_quick", "cifar10_quick_iter_5000", ("rand4", "cv")),
        ("mtcnn", "det1", "det1", ("det1", "det1_cv")), ("mtcnn", "det2", "det2", ("det2", "det2_cv")),
        ("mtcnn", "det3", "det3", ("det3", "det3_cv")), ("mtcnn", "det4", "det4", ("det4", "det4_cv")),
        ("squeezenet_dc", "SqueezeNet_deploy", "squeezenet_v1.0_decoded", ("rand_64", "cat", "cv")),
        ("ultraface", "RFB-320.stock", "RFB-320", ("rand_small", "cv")),
        ("wechat_sr", "sr", "sr", ("rand_small", "cv")))


def net_cases(device, folder):
    for model, prototxt, weights, cases in NETS:
        at = os.path.join(folder, model)
        for case in cases:
            stored = np.load(os.path.join(at, case + ".npz"))
            net = ferry.Net(device, os.path.join(at, prototxt + ".prototxt"),
                            os.path.join(at, weights + ".caffemodel"), keep="*")
            feeds = {k[len("input/"):]: stored[k] for k in stored.files if k.startswith("input/")}
            wanted = {name: stored["blob/" + name] for name in net.outputs if "blob/" + name in stored.files}
            yield Case(f"{model}/{prototxt} {case}", net, feeds, wanted)


def own_numbers(name, net, feeds):
    return Case(name, net, feeds, {k: np.array(v) for k, v in net.forward(**feeds).items()})


def reference_cases(device, folder):
    """The inputs and outputs of OpenCV for nets that end in SSD's layers."""
    at = os.path.join(folder, "wechat_detect")
    stored = np.load(os.path.join(at, "detect.opencv_ref.npz"))
    net = ferry.Net(device, os.path.join(at, "detect.prototxt"), os.path.join(at, "detect.caffemodel"), keep="*")
    feeds = {next(iter(net.inputs)): stored["input"]}
    rows = stored["detection_output"]
    yield Case("wechat_detect/detect opencv", net, feeds, {"detection_output": rows[:, :, rows[0, 0, :, 2] > 0]})
    at = os.path.join(folder, "ultraface")
    net = ferry.Net(device, os.path.join(at, "RFB-320.prototxt"), os.path.join(at, "RFB-320.caffemodel"), keep="*")
    stored = np.load(os.path.join(at, "RFB-320.opencv.npz"))
    feeds = {"input": np.load(os.path.join(at, "cv.npz"))["input/input"]}
    yield Case("ultraface/RFB-320 opencv", net, feeds, {k: stored[k] for k in net.outputs if k in stored.files})


# Layers of Caffe's forks without stored numbers: a text, the inputs' shapes, and their ranges.
FORKS = {
    "Axpy": ('type: "Axpy"', [(2, 3), (2, 3, 4, 5), (2, 3, 4, 5)]),
    "BN inference": ('type: "BN" bn_param { bn_mode: INFERENCE }', [(2, 3, 4, 5)]),
    "BN learn": ('type: "BN"', [(2, 3, 4, 5)]),
    "ConvolutionDepthwise": ('type: "ConvolutionDepthwise" convolution_param { num_output: 4 kernel_size: 3 pad: 1 '
                             'weight_filler { type: "gaussian" std: 1 } }', [(2, 4, 6, 5)]),
    "Deconvolution groups": ('type: "Deconvolution" convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 '
                             'group: 2 weight_filler { type: "gaussian" std: 1 } }', [(2, 4, 6, 5)]),
    "DetectionOutput": ('type: "DetectionOutput" detection_output_param { num_classes: 4 code_type: CENTER_SIZE '
                        'confidence_threshold: 0.3 keep_top_k: 20 nms_param { nms_threshold: 0.45 top_k: 30 } }',
                        [(1, 200), (1, 200), (1, 2, 200)]),
    "DetectionOutput all": ('type: "DetectionOutput" detection_output_param { num_classes: 3 code_type: CORNER '
                            'background_label_id: -1 nms_param { nms_threshold: 0.3 } }',
                            [(2, 120), (2, 90), (1, 2, 120)]),
    "DetectionOutput classes": ('type: "DetectionOutput" detection_output_param { num_classes: 3 '
                                'share_location: false code_type: CORNER_SIZE variance_encoded_in_target: true '
                                'keep_top_k: 9 nms_param { nms_threshold: 0.4 top_k: 11 } }',
                                [(2, 360), (2, 90), (1, 2, 120)]),
    "DetectionOutput none": ('type: "DetectionOutput" detection_output_param { num_classes: 3 '
                             'confidence_threshold: 2 nms_param { nms_threshold: 0.4 } }',
                             [(2, 120), (2, 90), (1, 2, 120)]),
    "Interp": ('type: "Interp" interp_param { height: 9 width: 7 pad_beg: -1 pad_end: -1 }', [(2, 3, 6, 5)]),
    "Interp zoom": ('type: "Interp" interp_param { zoom_factor: 3 }', [(2, 3, 6, 5)]),
    "Normalize": ('type: "Normalize" norm_param { across_spatial: false channel_shared: false '
                  'scale_filler { type: "uniform" min: 1 max: 9 } }', [(2, 3, 6, 5)]),
    "Normalize across": ('type: "Normalize" norm_param { across_spatial: true }', [(2, 3, 6, 5)]),
    "Permute": ('type: "Permute" permute_param { order: 0 order: 2 order: 3 order: 1 }', [(2, 3, 6, 5)]),
    "Pooling FLOOR": ('type: "Pooling" pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR }',
                      [(2, 3, 8, 7)]),
    "Pooling AVE clipped": ('type: "Pooling" pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }',
                            [(2, 3, 8, 7)]),
    "Pooling AVE unpadded": ('type: "Pooling" pooling_param { pool: AVE_EXC_PAD kernel_size: 3 stride: 2 pad: 1 }',
                             [(2, 3, 8, 7)]),
    "PriorBox": ('type: "PriorBox" prior_box_param { min_size: 3 max_size: 6 aspect_ratio: 2 }',
                 [(1, 3, 6, 5), (1, 3, 60, 50)]),
    "Proposal": ('type: "Proposal" proposal_param { base_size: 8 scale: 2 scale: 4 pre_nms_topn: 60 '
                 'post_nms_topn: 12 min_size: 4 feat_stride: 8 }', [(1, 12, 6, 7), (1, 24, 6, 7), (1, 3)]),
    "PSROIPooling": ('type: "PSROIPooling" psroi_pooling_param { spatial_scale: 0.5 output_dim: 2 group_size: 3 }',
                     [(1, 18, 9, 8), (6, 5)]),
    "ReLU6": ('type: "ReLU6"', [(2, 3, 4)]),
    "ROIPooling": ('type: "ROIPooling" roi_pooling_param { spatial_scale: 0.5 pooled_h: 3 pooled_w: 2 }',
                   [(2, 4, 9, 8), (6, 5)]),
    "ShuffleChannel": ('type: "ShuffleChannel" shuffle_channel_param { group: 3 }', [(2, 6, 4, 5)]),
    "SPP average": ('type: "SPP" spp_param { pyramid_height: 3 pool: AVE }', [(2, 2, 9, 7)]),
    "Upsample nearest": ('type: "Upsample" upsample_param { scale: 2 }', [(2, 3, 4, 5)]),
    "Upsample mask": ('type: "Upsample" upsample_param { scale: 2 }', [(2, 3, 4, 5), (2, 3, 4, 5)]),
}


def fork_inputs(name, shapes):
    """Valid inputs of the layer: boxes with ordered corners, masks of distinct indices."""
    random = np.random.RandomState(len(name))
    values = [random.uniform(-1, 1, shape).astype("f4") for shape in shapes]
    if name.startswith("DetectionOutput"):
        n = shapes[2][2] // 4
        low = random.uniform(0, 0.7, (n, 2))
        values[2][0, 0] = np.concatenate([low, low + random.uniform(0.1, 0.3, (n, 2))], 1).ravel()
        values[2][0, 1] = 0.1
        values[1] = random.permutation(values[1].size).reshape(values[1].shape).astype("f4") / values[1].size
    elif name == "Proposal":
        values[0] = random.permutation(values[0].size).reshape(values[0].shape).astype("f4") / values[0].size
        values[2] = np.array([[50, 60, 1.5]], "f4")
    elif "ROI" in name:
        low = random.randint(0, 8, (6, 2))
        values[1] = np.concatenate([np.zeros((6, 1)), low, low + random.randint(0, 9, (6, 2))], 1).astype("f4")
        values[1][:, 0] = 0 if name[0] == "P" else random.randint(0, 2, 6)
    elif name == "Upsample mask":
        values[1] = np.stack([random.permutation(80)[:20] for _ in range(6)]).reshape(shapes[1]).astype("f4")
    return values


def fork_cases(device, _):
    for name, (body, shapes) in FORKS.items():
        text = "".join(f'layer {{ name: "x{i}" type: "Input" top: "x{i}" input_param {{ shape {{ '
                       f'{" ".join(f"dim: {d}" for d in shape)} }} }} }}\n' for i, shape in enumerate(shapes))
        bottoms = " ".join(f'bottom: "x{i}"' for i in range(len(shapes)))
        text += f'layer {{ name: "l" {body} {bottoms} top: "y" }}\n'
        net = ferry.Net(device, name, text=text, keep="*")
        feeds = {f"x{i}": value for i, value in enumerate(fork_inputs(name, shapes))}
        yield own_numbers("fork " + name, net, feeds)


def seeded_cases(device, folder):
    """Definitions without weights, with the weights of ferry's fillers and ferry's own outputs."""
    at = os.path.join(folder, "prototxt")
    for file in sorted(os.listdir(at)):
        if not file.endswith(".prototxt"):
            continue
        try:
            net = ferry.Net(device, os.path.join(at, file), keep="*")
        except ferry.Error as error:
            print(f"{file}: not opened: {error}", flush=True)
            continue
        random = np.random.RandomState(1)
        for blobs in net.params.values():
            for blob in blobs:
                fan = max(1, int(np.prod(blob.shape[1:])))
                if len(blob.shape) > 1 and fan > 1:
                    blob.data = (random.uniform(-1, 1, blob.shape) * np.sqrt(6.0 / fan)).astype("f4")
                else:
                    blob.data = random.uniform(0.5, 1, blob.shape).astype("f4")
        feeds = {k: random.uniform(-1, 1, b.shape).astype("f4") for k, b in net.inputs.items()}
        if "im_info" in feeds:
            h, w = feeds["data"].shape[2:]
            feeds["im_info"] = np.array([[h, w, 1]], "f4")
        yield own_numbers("prototxt/" + file, net, feeds)


# ---- comparison ----------------------------------------------------------------------------------

def difference(have, want):
    have = np.asarray(have)
    if have.size != want.size:
        return f"shape {have.shape} for {want.shape}"
    have = have.reshape(want.shape).astype("f8")
    scale = max(np.abs(want[np.isfinite(want)]).max(initial=0), 1e-30)
    apart = np.where((have == want) | (np.isnan(have) & np.isnan(want)), 0, have - want)
    return float(np.abs(apart).max(initial=0) / scale)


def run_case(case, engines, options, work):
    shape_inputs(case.net, case.feeds)
    path = os.path.join(work, "net.onnx")
    try:
        ferry.export_onnx(case.net, path, **options)
    except ferry.Unsupported as error:
        return {"export": str(error)[:300]}
    outputs = list(case.net.outputs)
    row = {}
    for name in engines:
        try:
            results = dict(zip(outputs, ENGINES[name](path, case.feeds)))
        except Exception as error:  # pylint: disable=broad-except
            row[name] = "fails: " + " ".join(str(error).split())[:200]
            continue
        worst = 0.0
        for key, want in case.wanted.items():
            found = results.get(outputs[key] if isinstance(key, int) else key)
            apart = "missing" if found is None else difference(found, want)
            worst = apart if isinstance(apart, str) else worst if isinstance(worst, str) else max(worst, apart)
        row[name] = worst
    return row


def bad(row):
    value = row.get("onnxruntime", 0.0)
    return isinstance(value, str) or value > LIMIT


def cases_of(device, arguments):
    with open(os.path.join(arguments.folder, "layers", "cases.json"), encoding="utf-8") as file:
        abouts = json.load(file)
    os.chdir(os.path.join(arguments.folder, "layers"))
    for about in abouts:
        if arguments.only in about["name"]:
            yield layer_case(device, arguments.folder, about)
    for make in (net_cases, reference_cases, fork_cases) + ((seeded_cases,) if arguments.extra else ()):
        for case in make(device, arguments.folder):
            if arguments.only in case.name:
                yield case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="onnxruntime,openvino,cv2")
    parser.add_argument("--opset", type=int, default=13)
    parser.add_argument("--no-fold", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    parser.add_argument("--extra", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    arguments.folder = os.path.abspath(arguments.folder)
    engines = [name for name in arguments.engines.split(",") if importable(name)]
    options = {"opset": arguments.opset, "fold": not arguments.no_fold}
    device = ferry.Runtime(backend="cpu").device()
    failures = 0
    rows = {}
    with tempfile.TemporaryDirectory() as work:
        for case in cases_of(device, arguments):
            row = rows[case.name] = run_case(case, engines, options, work)
            failures += bad(row)
            cells = (f"{k} {v:.1e}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            print(("FAIL " if bad(row) else "     ") + case.name + ": " + "; ".join(cells), flush=True)
    if arguments.table:
        with open(arguments.table, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    print(f"{len(rows)} cases, {failures} failures")
    sys.exit(1 if failures or not rows else 0)


if __name__ == "__main__":
    main()
