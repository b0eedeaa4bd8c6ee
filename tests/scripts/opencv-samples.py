# SPDX-License-Identifier: BSD-2-Clause
"""For check-opencv-samples.sh. `nets FOLDER DATA` makes texts and random weights for the samples, and a
picture. `same FOLDER FOLDER` checks that two runs of a sample showed the same pictures and printed the same
lines."""

import os
import re
import shutil
import sys

import numpy as np

# The arguments of a sample: its text is in DATA/prototxt.
TEXTS = {"classification": "squeezenet_v1.1", "object_detection": "mobilenet_ssd_voc", "segmentation": None,
         "colorization": "colorization_v2", "openpose": "openpose_coco"}
SEGMENTATION = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 96 dim: 96 } } }
layer { name: "a" type: "Convolution" bottom: "data" top: "a"
  convolution_param { num_output: 16 kernel_size: 5 pad: 2 stride: 2 } }
layer { name: "r" type: "ReLU" bottom: "a" top: "a" }
layer { name: "b" type: "Deconvolution" bottom: "a" top: "b"
  convolution_param { num_output: 7 kernel_size: 4 pad: 1 stride: 2 } }
"""


# Layers whose weights the sample sets itself; the file lacks their names.
UNSAVED = {"colorization": ("class8_ab", "conv8_313_rh")}


def without(path, layers):
    """Writes the text with other names for those layers; returns its path."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for layer in layers:
        text, count = re.subn(rf"(name: *['\"]){layer}(['\"])", r"\1unsaved_" + layer + r"\2", text)
        assert count == 1, layer
    with open(path + ".saved", "w", encoding="utf-8") as file:
        file.write(text)
    return path + ".saved"


def fill(net, random):
    """Weights that preserve the magnitude of activations; statistics of normal data, and shifts of that magnitude."""
    kinds = dict(zip(net._layer_names, (layer.type for layer in net.layers)))
    for name, blobs in net.params.items():
        if kinds[name] == "BatchNorm":
            blobs[0].data[...], blobs[1].data[...], blobs[2].data[...] = 0, 1, 1
            continue
        weights = blobs[0].data
        inner = int(np.prod(weights.shape[1:])) or 1
        weights[...] = random.randn(*weights.shape) * np.sqrt(2 / inner) if weights.ndim > 1 else 1
        for blob in blobs[1:]:
            blob.data[...] = random.randn(*blob.shape) * 0.1


def nets(folder, data):
    import ferry.caffe as caffe
    for name, text in TEXTS.items():
        path = os.path.join(folder, name + ".prototxt")
        if text:
            shutil.copy(os.path.join(data, "nets", "prototxt", text + ".prototxt"), path)
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(SEGMENTATION)
        net = caffe.Net(without(path, UNSAVED.get(name, ())), caffe.TEST)
        fill(net, np.random.RandomState(len(name)))
        net.save(os.path.join(folder, name + ".caffemodel"))
    rows, columns = np.mgrid[:240, :320]
    picture = np.stack([rows, columns * 255 // 320, (rows * columns) // 97 % 256], 2).astype(np.uint8)
    with open(os.path.join(folder, "picture.ppm"), "wb") as file:
        file.write(b"P6\n320 240\n255\n" + picture.tobytes())


def pixels(path):
    with open(path, "rb") as file:
        head, width, height, rest = re.match(rb"(P6)\s+(\d+)\s+(\d+)\s+255\s(.*)", file.read(), re.S).groups()
    return np.frombuffer(rest, np.uint8).reshape(int(height), int(width), 3).astype(int)


def alike(one, other):
    """Whether two lines differ at most in the last digit of their numbers."""
    number = re.compile(r"\d+\.\d+")
    return number.sub("", one) == number.sub("", other) and all(
        abs(float(a) - float(b)) <= 1.01 * 10.0 ** -len(a.split(".")[1])
        for a, b in zip(number.findall(one), number.findall(other)))


def same(one, other):
    shown = sorted(name for name in os.listdir(one) if name.endswith(".ppm"))
    assert shown and shown == sorted(name for name in os.listdir(other) if name.endswith(".ppm")), shown
    worst = 0
    for name in shown:
        a, b = pixels(os.path.join(one, name)), pixels(os.path.join(other, name))
        assert a.shape == b.shape, (a.shape, b.shape)
        # A difference in the last digit moves a corner by a pixel, or a byte by one.
        differs = (np.abs(a - b) > 1).any(2).mean()
        worst = max(worst, differs)
        assert differs <= 2e-3, f"{name}: {differs:.2%} of the pixels differ"
    lines = [open(os.path.join(folder, "lines"), encoding="utf-8").read().splitlines() for folder in (one, other)]
    assert len(lines[0]) == len(lines[1]) and all(map(alike, *lines)), lines
    print(f"{len(shown)} pictures, {worst:.3%} of the pixels differ; {len(lines[0])} lines")


if __name__ == "__main__":
    {"nets": nets, "same": same}[sys.argv[1]](*sys.argv[2:])
