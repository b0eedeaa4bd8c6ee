#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Folds a net by `ferry upgrade --fold`, runs it, and compares it with the unfolded net as NumPy computes it
in float64.

    check-fold.py FERRY FOLDER

FERRY is the command; FOLDER receives the files. The net and its weights are folded as a text with an .npz, as
a text with a .caffemodel, and, if the package `ferry` can be imported, as a caffemodel with its definition."""

import os
import subprocess
import sys

import numpy as np

LIMIT = 1e-5
TEXT = """
layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: [2, 6, 7, 7] } } }
layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'
  convolution_param { num_output: 8 kernel_size: 3 group: 2 bias_term: false } }
layer { name: 'c/bn' type: 'BatchNorm' bottom: 'c' top: 'c' batch_norm_param { eps: 0.01 } }
layer { name: 'c/s' type: 'Scale' bottom: 'c' top: 'cs' scale_param { bias_term: true } }
layer { name: 'd' type: 'Deconvolution' bottom: 'cs' top: 'd'
  convolution_param { num_output: 6 kernel_size: 2 stride: 2 group: 2 } }
layer { name: 'd/b' type: 'Bias' bottom: 'd' top: 'd' }
layer { name: 'd/bn' type: 'BatchNorm' bottom: 'd' top: 'dn' }
layer { name: 'p' type: 'InnerProduct' bottom: 'dn' top: 'p' inner_product_param { num_output: 5 } }
layer { name: 'p/bn' type: 'BatchNorm' bottom: 'p' top: 'pn' batch_norm_param { use_global_stats: true } }
layer { name: 't' type: 'InnerProduct' bottom: 'pn' top: 't'
  inner_product_param { num_output: 4 transpose: true bias_term: false } }
layer { name: 't/s' type: 'Scale' bottom: 't' top: 'ts' }
layer { name: 'k' type: 'Convolution' bottom: 'x' top: 'k' convolution_param { num_output: 3 kernel_size: 1 } }
layer { name: 'k/bn' type: 'BatchNorm' bottom: 'k' top: 'kn' }
layer { name: 'sum' type: 'Eltwise' bottom: 'k' bottom: 'kn' top: 'sum' }
"""
FOLDED = ["Input", "Convolution", "Deconvolution", "InnerProduct", "InnerProduct", "Convolution", "BatchNorm", "Eltwise"]
SHAPES = {"c": [(8, 3, 3, 3)], "c/bn": [(8,), (8,), (1,)], "c/s": [(8,), (8,)], "d": [(8, 3, 2, 2), (6,)], "d/b": [(6,)],
          "d/bn": [(6,), (6,), (1,)], "p": [(5, 600), (5,)], "p/bn": [(5,), (5,), (1,)], "t": [(5, 4)], "t/s": [(4,)],
          "k": [(3, 6, 1, 1), (3,)], "k/bn": [(3,), (3,), (1,)]}


def make_weights(rng):
    out = {}
    for layer, shapes in SHAPES.items():
        for i, shape in enumerate(shapes):
            low = 0.5 if layer.endswith("bn") and i > 0 else -1
            out[f"{layer}/{i}"] = rng.uniform(low, 1.5, shape).astype(np.float32)
    return out


# ---- the definition, in float64 ------------------------------------------------------------------


def channels(v, rank):
    return np.reshape(v, (1, -1) + (1,) * (rank - 2))


def norm(w, name, x, eps):
    by = 1 / w[name + "/2"][0]
    mean, variance = w[name + "/0"] * by, w[name + "/1"] * by
    return (x - channels(mean, x.ndim)) / np.sqrt(channels(variance, x.ndim) + eps)


def convolution(x, w, group):
    n, c, h, width = x.shape
    outputs, _, kh, kw = w.shape
    y = np.zeros((n, outputs, h - kh + 1, width - kw + 1))
    for o in range(outputs):
        first = o // (outputs // group) * (c // group)
        for i in range(y.shape[2]):
            for j in range(y.shape[3]):
                part = x[:, first:first + c // group, i:i + kh, j:j + kw]
                y[:, o, i, j] = np.sum(part * w[o], axis=(1, 2, 3))
    return y


def deconvolution(x, w, group, stride):
    n, c, h, width = x.shape
    _, per_group, kh, kw = w.shape
    y = np.zeros((n, per_group * group, (h - 1) * stride + kh, (width - 1) * stride + kw))
    for i in range(c):
        first = i // (c // group) * per_group
        for o in range(per_group):
            for a in range(h):
                for b in range(width):
                    at = (slice(None), first + o, slice(a * stride, a * stride + kh), slice(b * stride, b * stride + kw))
                    y[at] += x[:, i, a, b][:, None, None] * w[i, o]
    return y


def reference(w, x):
    w = {k: v.astype(np.float64) for k, v in w.items()}
    x = x.astype(np.float64)
    c = norm(w, "c/bn", convolution(x, w["c/0"], 2), 0.01)
    cs = c * channels(w["c/s/0"], 4) + channels(w["c/s/1"], 4)
    d = deconvolution(cs, w["d/0"], 2, 2) + channels(w["d/1"], 4) + channels(w["d/b/0"], 4)
    dn = norm(w, "d/bn", d, 1e-5)
    p = norm(w, "p/bn", dn.reshape(2, -1) @ w["p/0"].T + w["p/1"], 1e-5)
    k = convolution(x, w["k/0"], 1) + channels(w["k/1"], 4)
    return {"ts": p @ w["t/0"] * w["t/s/0"], "sum": k + norm(w, "k/bn", k, 1e-5)}


# ---- the cases -----------------------------------------------------------------------------------

failed = 0


def report(name, why):
    global failed
    failed += bool(why)
    print(("FAIL " if why else "pass ") + name + (": " + why if why else ""))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def types_of(path):
    with open(path, encoding="ascii") as file:
        return [line.split('"')[1] for line in file if line.startswith("  type:")]


def difference(folder, command, net, want):
    run(command, "run", *net, "--input", "x=x.npy", "-o", "out.npz", "--no-fuse")
    got = np.load(os.path.join(folder, "out.npz"))
    if sorted(got.files) != sorted(want):
        return f"outputs {got.files}"
    worst = max(np.abs(got[k] - want[k]).max() / np.abs(want[k]).max() for k in want)
    return "" if worst <= LIMIT else f"differs by {worst:.2g} of the largest value"


def fold_text(folder, command, weights, want):
    out = "folded" + os.path.splitext(weights)[1]
    run(command, "upgrade", "net.prototxt", "folded.prototxt", "--fold", "--weights", weights, "--weights-out", out)
    types = types_of(os.path.join(folder, "folded.prototxt"))
    why = "" if types == FOLDED else f"layers {types}"
    return why or difference(folder, command, ["folded.prototxt", out], want)


def fold_binary(folder, command, want):
    run(command, "upgrade", "all.caffemodel", "folded-all.caffemodel", "--fold")
    return difference(folder, command, ["folded-all.caffemodel", "folded-all.caffemodel"], want)


def main():
    command, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    rng = np.random.RandomState(3)
    weights, x = make_weights(rng), rng.uniform(-1, 1, (2, 6, 7, 7)).astype(np.float32)
    want = reference(weights, x)
    os.chdir(folder)
    with open("net.prototxt", "w", encoding="ascii") as file:
        file.write(TEXT)
    np.save("x.npy", x)
    np.savez("w.npz", **weights)
    run(command, "convert", "w.npz", "w.caffemodel")
    report("the_unfolded_net_is_the_reference", difference(".", command, ["net.prototxt", "w.npz"], want))
    for name in ("w.npz", "w.caffemodel"):
        report("a_text_is_folded_with_" + name.replace(".", "_"), fold_text(".", command, name, want))
    try:
        import ferry
    except ImportError as why:
        print(f"SKIP a_caffemodel_is_folded_with_its_definition: {why}")
    else:
        ferry.Net(ferry.Runtime().device(), "net.prototxt", "w.npz").save("all.caffemodel")
        report("a_caffemodel_is_folded_with_its_definition", fold_binary(".", command, want))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
