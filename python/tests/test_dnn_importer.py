# SPDX-License-Identifier: BSD-2-Clause
"""The cases of OpenCV 4's own tests of its Caffe importer (modules/dnn/test/test_caffe_importer.cpp), by
their names: those with large weights run only with FERRY_TEST_LONG."""

import os
import subprocess

import numpy as np
import pytest

import ferry.caffe as caffe
import ferry.dnn as dnn
from test_dnn_net import DATA, given, needs_data, opened

BOUND = 1e-5
LONG = pytest.mark.skipif(not os.environ.get("FERRY_TEST_LONG"), reason="half a gigabyte of weights: FERRY_TEST_LONG")
# Case, text, the shape of the input, the requested layer.
NETS = (("Reproducibility_AlexNet", "bvlc_alexnet", (1, 3, 227, 227), "prob"),
        ("Reproducibility_ResNet50", "resnet50", (1, 3, 224, 224), ""),
        ("Reproducibility_SqueezeNet_v1_1", "squeezenet_v1.1", (1, 3, 227, 227), ""),
        ("Test_Caffe.read_googlenet", "bvlc_googlenet", (2, 3, 224, 224), "prob"),
        ("DenseNet_121", "densenet121", (1, 3, 224, 224), ""),
        pytest.param("Reproducibility_FCN", "fcn8s", (1, 3, 500, 500), "score", marks=LONG))
DETECTORS = (("Reproducibility_SSD", "ssd300_vgg", (1, 3, 300, 300)),
             ("Reproducibility_MobileNet_SSD", "mobilenet_ssd_voc", (1, 3, 300, 300)),
             ("Reproducibility_MobileNet_SSD.batch", "mobilenet_ssd_voc", (2, 3, 300, 300)),
             ("opencv_face_detector", "res10_ssd", (1, 3, 300, 300)))


def text_of(name):
    return os.path.join(DATA, "prototxt", name + ".prototxt")


def weights_of(text, folder, but=()):
    """The path of a file of random weights that preserve the magnitude of values; without the layers in
    `but`."""
    with open(text, encoding="utf-8") as file:
        content = file.read()
    for name in but:
        content = content.replace(f'"{name}"', f'"not_{name}"', 1)
    (folder / "saved.prototxt").write_text(content)
    random, net = np.random.default_rng(7), caffe.Net(str(folder / "saved.prototxt"), caffe.TEST)
    kinds = dict(zip(net._layer_names, (layer.type for layer in net.layers)))
    for name, blobs in net.params.items():
        if kinds[name] == "BatchNorm":
            blobs[0].data[...], blobs[1].data[...], blobs[2].data[...] = 0, 1, 1
            continue
        shape, gain = blobs[0].shape, 0.5 if kinds[name] == "InnerProduct" else 2  # scores stay small
        blobs[0].data[...] = (random.standard_normal(shape, np.float32) * np.sqrt(gain / np.prod(shape[1:]))
                              if len(shape) > 1 else 1)
        for blob in blobs[1:]:
            blob.data[...] = random.standard_normal(blob.shape, np.float32) * 0.1
    net.save(str(folder / "random.caffemodel"))
    return str(folder / "random.caffemodel")


def results(cv4, text, weights, inputs, layer="", change=lambda net: None):
    """The outputs of OpenCV and of ferry: in Python and, if the program exists, in C++ (without `change`)."""
    outs = []
    for of in (cv4, dnn):
        net = of.readNetFromCaffe(text, weights)
        assert not net.empty()
        change(net)
        for name, values in inputs.items():
            net.setInput(values, name)
        outs.append(net.forward(layer) if layer else net.forward())
    return outs


def in_cxx(folder, text, weights, inputs, layer, like):
    """The outputs of the program in C++; `like` if there is no program."""
    program = os.environ.get("FERRY_TEST_DNN_PROGRAM")
    if not program:
        return like
    arguments = []
    for name, values in inputs.items():
        values.tofile(folder / f"{name}.f32")
        arguments += [name, "x".join(map(str, values.shape)), str(folder / f"{name}.f32")]
    subprocess.run([program, "run", text, weights, layer, str(folder / "out.f32"), *arguments], check=True, timeout=600)
    return np.fromfile(folder / "out.f32", "f4").reshape(like.shape)


def check(one, other, bound=BOUND):
    assert one.shape == other.shape and np.isfinite(other).all()
    assert np.abs(one - other).max() <= bound * max(1, np.abs(one).max())


def data(shape):
    return np.random.default_rng(3).uniform(-1, 1, shape).astype("f4")


@needs_data
@pytest.mark.parametrize("case, name, shape, layer", NETS)
def test_nets(cv4, tmp_path, case, name, shape, layer):
    text, weights = text_of(name), weights_of(text_of(name), tmp_path)
    inputs = {"": data(shape)}
    theirs, ours = results(cv4, text, weights, inputs, layer)
    check(theirs, ours)
    check(theirs, in_cxx(tmp_path, text, weights, {"data": inputs[""]}, layer, ours))


def check_rows(one, other):
    """Checks that each detection with a relevant score has a similar one among the others. Of 20, one may
    have none: two boxes of nearly equal scores may suppress one another in either order."""
    for mine, yours in ((one, other), (other, one)):
        mine, yours = mine.reshape(-1, 7), yours.reshape(-1, 7)
        mine = mine[mine[:, 2] > 0.02]
        found = [(np.abs(yours - row) <= 1e-3).all(1).any() for row in mine]
        assert len(mine) and np.mean(found) >= 0.95, f"{np.sum(found)} of {len(mine)} detections"


@needs_data
@pytest.mark.parametrize("case, name, shape", DETECTORS)
def test_detectors(cv4, tmp_path, case, name, shape):
    text, weights = text_of(name), weights_of(text_of(name), tmp_path)
    inputs = {"": data(shape)}
    for layer in ("mbox_loc", "mbox_conf_flatten"):
        check(*results(cv4, text, weights, inputs, layer), 2 * BOUND)  # both round: 1.5e-5 was observed
    theirs, ours = results(cv4, text, weights, inputs)
    assert theirs.shape == ours.shape
    for one in (ours, in_cxx(tmp_path, text, weights, {"data": inputs[""]}, "", ours)):
        check_rows(theirs, one)


@needs_data
def test_memory_read(tmp_path):
    with open(text_of("bvlc_googlenet"), "rb") as file:
        text = file.read()
    with open(weights_of(text_of("bvlc_googlenet"), tmp_path), "rb") as file:
        weights = file.read()
    assert not dnn.readNetFromCaffe(bytearray(text)).empty()
    net, other = dnn.readNetFromCaffe(bytearray(text), bytearray(weights)), dnn.readNetFromCaffe(
        text_of("bvlc_googlenet"), str(tmp_path / "random.caffemodel"))
    for one in (net, other):
        one.setInput(np.ones((1, 3, 224, 224), "f4"))
    assert np.array_equal(net.forward(), other.forward())


@needs_data
def test_alexnets_input_has_its_shape():
    net = dnn.readNetFromCaffe(text_of("bvlc_alexnet"))
    _ids, ins, _outs = net.getLayersShapes([1, 3, 227, 227])
    assert ins[0][0].tolist() == [1, 3, 227, 227]


@needs_data
def test_fp16_weights(cv4, tmp_path):
    """Reproducibility_AlexNet_fp16 and Reproducibility_GoogLeNet_fp16, on a smaller net: OpenCV's shrinkCaffeModel."""
    text = text_of("squeezenet_v1.1")
    weights, half = weights_of(text, tmp_path), str(tmp_path / "half.caffemodel")
    cv4.shrinkCaffeModel(weights, half)
    theirs, ours = results(cv4, text, half, {"": data((1, 3, 227, 227))})
    check(theirs, ours)


@needs_data
def test_colorization(cv4, tmp_path):
    """Two layers have no weights in the file: the program sets them."""
    text = text_of("colorization_v2")
    weights = weights_of(text, tmp_path, ("class8_ab", "conv8_313_rh"))
    kernel = data((2, 313, 1, 1))
    outs = []
    for of in (cv4, dnn):
        net = of.readNetFromCaffe(text, weights)
        net.getLayer(net.getLayerId("class8_ab")).blobs = [kernel]
        net.getLayer(net.getLayerId("conv8_313_rh")).blobs = [np.full((1, 313), 2.606, "f4")]
        net.setInput(data((1, 1, 224, 224)))
        outs.append(net.forward())
    check(*outs)


AXPY = (given(1, 2, 1, 1).replace('"data"', '"scale"') + given(1, 2, 3, 4) +
        given(1, 2, 3, 4).replace('"data"', '"shift"') +
        'layer { name: "axpy" type: "Axpy" bottom: "scale" bottom: "data" bottom: "shift" top: "axpy" }')


def test_axpy():
    random = np.random.default_rng(1)
    scale, inp, shift = (random.uniform(-1, 1, shape).astype("f4") for shape in ((1, 2, 1, 1), (1, 2, 3, 4), (1, 2, 3, 4)))
    net = opened(AXPY)
    net.setInput(scale, "scale")
    net.setInput(shift, "shift")
    net.setInput(inp, "data")
    check(inp * scale + shift, net.forward())


INPUTS = ('input: "old_blue_green" input: "old_red" input_shape { dim: 1 dim: 2 dim: 10 dim: 11 } '
          'input_shape { dim: 1 dim: 1 dim: 10 dim: 11 } '
          'layer { name: "a" type: "Concat" bottom: "old_blue_green" bottom: "old_red" top: "a" } ' +
          given(1, 2, 10, 11) + given(1, 1, 10, 11).replace('"data"', '"different_name_for_red"') +
          'layer { name: "b" type: "Concat" bottom: "data" bottom: "different_name_for_red" top: "b" } '
          'layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }')


def test_multiple_inputs():
    first, second = data((1, 3, 10, 11)), data((1, 3, 10, 11)) * 2
    net = opened(INPUTS)
    for values, name in ((first[:, :2], "old_blue_green"), (first[:, 2:], "different_name_for_red"),
                         (second[:, :2], "data"), (second[:, 2:], "old_red")):
        net.setInput(values, name)
    check(first + second, net.forward())


SHARED = (given(1, 1, 2, 2).replace('"data"', '"input_1"') + given(1, 1, 2, 2).replace('"data"', '"input_2"') +
          "".join(f'layer {{ name: "conv{k}" type: "Convolution" bottom: "input_{k}" top: "conv{k}" '
                  'param { name: "w" } convolution_param { num_output: 1 kernel_size: 1 bias_term: false '
                  'weight_filler { type: "constant" value: 2 } } }\n' for k in (1, 2)) +
          'layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "conv2" top: "sum" }')


def test_shared_weights(tmp_path):
    (tmp_path / "shared.prototxt").write_text(SHARED)
    caffe.Net(str(tmp_path / "shared.prototxt"), caffe.TEST).save(str(tmp_path / "shared.caffemodel"))
    net = dnn.readNetFromCaffe(str(tmp_path / "shared.prototxt"), str(tmp_path / "shared.caffemodel"))
    net.setInput(dnn.blobFromImage(np.array([[0, 2], [4, 6]], "f4")), "input_1")
    net.setInput(dnn.blobFromImage(np.array([[1, 3], [5, 7]], "f4")), "input_2")
    assert net.forward()[0, 0, 0].tolist() == [2, 10]
