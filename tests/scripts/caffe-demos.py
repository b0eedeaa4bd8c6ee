# SPDX-License-Identifier: BSD-2-Clause
"""For check-caffe-demos.sh. `make FOLDER DATA` makes models, pictures and labels for the demos. `passes FILE
NAME=TEXT=WEIGHTS…` checks that OpenCV 4's net of that name has the outputs of each pass that
tests/cxx/passes.cpp wrote, for the same input. `pictures FOLDER FOLDER PATTERN` checks that two runs wrote
the same pictures."""

import collections
import glob
import os
import shutil
import struct
import sys

import numpy as np

BOUND = 1e-5


def code_picture(side=384, modules=25, cell=10):
    """Random modules with the three finder patterns of a QR code."""
    random = np.random.RandomState(31)
    code = random.randint(0, 2, (modules, modules))
    finder = np.ones((7, 7), int)
    finder[1:6, 1:6] = 0
    finder[2:5, 2:5] = 1
    for y, x in (0, 0), (0, modules - 8), (modules - 8, 0):
        code[y:y + 8, x:x + 8] = 0
        at = slice(y and y + 1, (y and y + 1) + 7), slice(x and x + 1, (x and x + 1) + 7)
        code[at] = finder
    picture = np.full((side, side), 235, "u1")
    at = (side - modules * cell) // 2
    picture[at:at + modules * cell, at:at + modules * cell] = np.where(np.kron(code, np.ones((cell, cell))), 25, 235)
    return picture


def make(folder, data):
    """WeChat's detector of QR codes expects values up to 1, and ssd_detect passes those of a picture."""
    import ferry.caffe as caffe
    nets = os.path.join(data, "nets")
    text = os.path.join(folder, "detect.prototxt")
    shutil.copy(os.path.join(nets, "wechat_detect", "detect.prototxt"), text)
    net = caffe.Net(text, os.path.join(nets, "wechat_detect", "detect.caffemodel"), caffe.TEST)
    mean, variance = net.params["data/bn"][:2]
    mean.data[...] *= 255
    variance.data[...] *= 255 * 255
    net.save(os.path.join(folder, "detect.caffemodel"))
    picture = code_picture()
    with open(os.path.join(folder, "code.pgm"), "wb") as file:
        file.write(b"P5 %d %d 255\n" % picture.shape[::-1] + picture.tobytes())
    with open(os.path.join(folder, "list.txt"), "w") as file:
        file.write(os.path.join(folder, "code.pgm") + "\n")
    with open(os.path.join(folder, "labels.txt"), "w") as file:
        file.write("".join(f"class {i}\n" for i in range(1000)))


class Reader:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes, self.at = file.read(), 0

    def take(self, size):
        self.at += size
        return self.bytes[self.at - size:self.at]

    def number(self):
        return struct.unpack("=q", self.take(8))[0]

    def text(self):
        return self.take(self.number()).decode()

    def blob(self):
        name, rank = self.text(), self.number()
        dims = [self.number() for _ in range(rank)]
        return name, np.frombuffer(self.take(4 * int(np.prod(dims))), "f4").reshape(dims)


def passes_of(path):
    reader = Reader(path)
    while reader.at < len(reader.bytes):
        name = reader.text()
        yield name, dict(reader.blob() for _ in range(reader.number()))


def rows(found):
    """The rows of a DetectionOutput, in a fixed order."""
    found = found.reshape(-1, 7)
    found = found[found[:, 2] > 0]
    return found[np.lexsort(found.T[::-1])]


def passes(path, *models):
    import cv2
    nets = {}
    for name, text, weights in (model.split("=") for model in models):
        nets[name] = cv2.dnn.readNetFromCaffe(text, weights)
        # OpenCV's Winograd transform has ten times the error: 1.4e-5 in det1's probabilities, against 1.3e-6
        # in ferry and Caffe.
        nets[name].enableWinograd(False)
    worst, shapes = collections.defaultdict(float), collections.defaultdict(list)
    for name, blobs in passes_of(path):
        net, data = nets[name], blobs.pop("data")
        wanted = [blob for blob in blobs if blob != "label"]
        net.setInput(data)
        for blob, value in zip(wanted, net.forward(wanted)):
            ours = blobs[blob]
            if value.shape[-1] == 7 and value.shape[:2] == (1, 1):
                ours, value = rows(ours), rows(value)
                assert len(value), f"{name} finds nothing"
            assert ours.shape == value.shape, (name, blob, ours.shape, value.shape)
            worst[name] = max(worst[name], np.abs(ours - value).max() / max(1, np.abs(value).max()))
        shapes[name].append(data.shape)
    assert sorted(worst) == sorted(nets), f"passes of {sorted(worst)} alone"
    print("; ".join(f"{name} {len(shapes[name])} passes of {len(set(shapes[name]))} shapes, {worst[name]:.1e}"
                    for name in nets))
    assert max(worst.values()) <= BOUND


def pictures(first, second, pattern):
    names = sorted(map(os.path.basename, glob.glob(f"{first}/{pattern}")))
    assert names, first
    for name in names:
        with open(f"{first}/{name}", "rb") as ours, open(f"{second}/{name}", "rb") as theirs:
            assert ours.read() == theirs.read(), name
    print(len(names), "pictures")


if __name__ == "__main__":
    {"make": make, "passes": passes, "pictures": pictures}[sys.argv[1]](*sys.argv[2:])
