# SPDX-License-Identifier: BSD-2-Clause
"""For check-openpose.sh. `make FOLDER TEXT HEIGHT WIDTH` makes random weights for a text, and an input. `same
FOLDER TEXT HEIGHT WIDTH` checks that the output in the folder equals that of OpenCV 4."""

import os
import sys

import numpy as np


def make(folder, text, height, width):
    import ferry.caffe as caffe
    random = np.random.RandomState(25)
    net = caffe.Net(text, caffe.TEST)
    for blobs in net.params.values():
        shape = blobs[0].shape
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
        blobs[0].data[...] = random.standard_normal(shape).astype("f4") * scale
        if len(blobs) > 1:
            blobs[1].data[...] = random.standard_normal(blobs[1].shape) * 0.1
    net.save(os.path.join(folder, "weights.caffemodel"))
    random.uniform(-0.5, 0.5, (3, int(height), int(width))).astype("f4").tofile(os.path.join(folder, "input"))


def same(folder, text, height, width):
    import cv2
    net = cv2.dnn.readNetFromCaffe(text, os.path.join(folder, "weights.caffemodel"))
    net.setInput(np.fromfile(os.path.join(folder, "input"), "f4").reshape(1, 3, int(height), int(width)))
    wanted = net.forward()
    made = np.fromfile(os.path.join(folder, "output"), "f4").reshape(wanted.shape)
    worst = np.abs(made - wanted).max() / np.abs(wanted).max()
    print(f"largest difference over the largest value {worst:.1e}, shape {wanted.shape}")
    assert np.isfinite(made).all() and worst <= 1e-5


if __name__ == "__main__":
    {"make": make, "same": same}[sys.argv[1]](*sys.argv[2:])
