# SPDX-License-Identifier: BSD-2-Clause
"""Layers of a program's classes, registered as with cv2.dnn_registerLayer, compared with OpenCV 4 if it is
installed."""

import numpy as np
import pytest

import ferry.dnn as dnn
from ferry.dnn import custom

X = np.arange(40, dtype="f4").reshape(1, 2, 4, 5)
TEXT = """input: "data" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 5
layer { name: "p" type: "Power" bottom: "data" top: "p" power_param { scale: 2 } }
layer { name: "c" type: "%s" bottom: "p" bottom: "data" top: "c" include { phase: TEST }
  crop_param { axis: 2 offset: 0 offset: 0 } pooling_param { pool: AVE global_pooling: true } loss_weight: 2 }
layer { name: "q" type: "Power" bottom: "c" top: "q" power_param { shift: 1 } }"""


class Head:
    """The first channel of the first bottom."""

    seen = []

    def __init__(self, params, blobs):
        Head.seen.append((params, blobs))

    def getMemoryShapes(self, inputs):
        return [[inputs[0][0], 1, *inputs[0][2:]]]

    def forward(self, inputs):
        return [inputs[0][:, :1]]


class Wrong(Head):
    def forward(self, inputs):
        return [inputs[0]]


class Failing(Head):
    def forward(self, inputs):
        raise ZeroDivisionError("of the program")


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    for kind in ("Crop", "Mine"):
        for _ in range(4):
            dnn.unregisterLayer(kind)


def opened(kind, of=dnn):
    return of.readNetFromCaffe(bytearray((TEXT % kind).encode()))


def forward(net):
    net.setInput(X)
    return net.forward()


def test_a_class_replaces_a_type_before_and_after_reading():
    net = opened("Crop")
    dnn.registerLayer("Crop", Head)
    Head.seen.clear()
    assert np.array_equal(forward(net), 2 * X[:, :1] + 1)
    assert np.array_equal(forward(opened("Crop")), 2 * X[:, :1] + 1)
    assert Head.seen[0] == ({"axis": 2, "offset": (0, 0), "pool": "AVE", "global_pooling": 1}, [])
    assert net.getLayer("c").type == "Crop" and "Crop" in net.getLayerTypes()
    assert np.array_equal(net.forward("c"), 2 * X[:, :1])


def test_shapes_follow_the_input():
    dnn.registerLayer("Crop", Head)
    net = opened("Crop")
    assert np.array_equal(forward(net), 2 * X[:, :1] + 1)
    net.setInput(np.ones((2, 2, 6, 3), "f4"))
    assert np.array_equal(net.forward(), np.full((2, 1, 6, 3), 3))


def test_a_net_that_ran_keeps_its_classes():
    dnn.registerLayer("Crop", Head)
    net = opened("Crop")
    forward(net)
    dnn.unregisterLayer("Crop")
    assert np.array_equal(forward(net), 2 * X[:, :1] + 1)
    dnn.registerLayer("Crop", Failing)
    assert np.array_equal(forward(net), 2 * X[:, :1] + 1)
    with pytest.raises(ZeroDivisionError):
        forward(opened("Crop"))


def test_an_unknown_type_waits_for_its_class():
    net = opened("Mine")
    with pytest.raises(dnn.error, match="Mine"):
        forward(net)
    dnn.registerLayer("Mine", Head)
    assert np.array_equal(forward(net), 2 * X[:, :1] + 1)
    assert net.getLayerNames() == ("p", "c", "q")


def test_results_of_a_layer_class_are_checked():
    for kind, words in ((Wrong, r"shape \(1, 2, 4, 5\)"), (Failing, "of the program")):
        dnn.registerLayer("Mine", kind)
        with pytest.raises((dnn.error, ZeroDivisionError), match=words):
            forward(opened("Mine"))
    with pytest.raises(TypeError):
        dnn.registerLayer("Mine", 3)
    with pytest.raises(dnn.error, match="ferry.dnn's own"):
        opened(custom.TYPE)


def test_the_class_is_as_with_opencv_4():
    cv2 = pytest.importorskip("cv2")
    if not cv2.__version__.startswith("4"):
        pytest.skip("cv2 reads no Caffe models")
    outs, seen = [], []
    for register, of in ((cv2.dnn_registerLayer, cv2.dnn), (dnn.registerLayer, dnn)):
        Head.seen.clear()
        register("Crop", Head)
        outs.append(forward(opened("Crop", of)))
        seen.append(dict(Head.seen[0][0]))
    cv2.dnn_unregisterLayer("Crop")
    assert np.array_equal(*outs) and seen[0] == seen[1]
