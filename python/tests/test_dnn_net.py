# SPDX-License-Identifier: BSD-2-Clause
"""Nets by cv2.dnn's names: their properties and results, compared with OpenCV 4 if it is installed."""

import os
import re
import threading
import warnings

import numpy as np
import pytest

import ferry.caffe as caffe
import ferry.dnn as dnn

X = np.arange(-9, 9, dtype="f4").reshape(1, 2, 3, 3)
DATA = os.path.join(os.environ.get("FERRY_TEST_DATA", ""), "nets")
MODELS = (("ultraface/RFB-320",) * 2, ("mtcnn/det1",) * 2, ("mtcnn/det2",) * 2, ("mtcnn/det3",) * 2,
          ("mtcnn/det4",) * 2, ("wechat_detect/detect",) * 2,
          ("squeezenet_dc/SqueezeNet_deploy", "squeezenet_dc/squeezenet_v1.0_decoded"),
          ("opencv_caffe_refs/layer_convolution",) * 2, ("opencv_caffe_refs/layer_deconvolution",) * 2,
          ("opencv_caffe_refs/layer_inner_product",) * 2)
needs_data = pytest.mark.skipif(not os.path.isdir(DATA), reason="FERRY_TEST_DATA names no models")


def given(*shape):
    return ('layer { name: "data" type: "Input" top: "data" input_param { shape { %s } } }\n'
            % " ".join(f"dim: {dim}" for dim in shape))


CHAIN = given(1, 2, 3, 3) + """
layer { name: "p" type: "Power" bottom: "data" top: "p" power_param { shift: 1 } }
layer { name: "r" type: "ReLU" bottom: "p" top: "p" }
layer { name: "q" type: "Power" bottom: "p" top: "q" power_param { scale: 2 } }"""
PAIR = ('input: "a" input: "b" input_shape { dim: 1 dim: 2 dim: 3 dim: 3 } input_shape { dim: 1 dim: 2 dim: 3 dim: 3 }'
        ' layer { name: "s" type: "Eltwise" bottom: "a" bottom: "b" top: "s" }')
SLICED = given(1, 2, 3, 3) + """
layer { name: "s" type: "Slice" bottom: "data" top: "a" top: "b" slice_param { axis: 1 slice_point: 1 } }
layer { name: "r" type: "ReLU" bottom: "a" top: "c" }
layer { name: "t" type: "ReLU" bottom: "b" top: "d" }"""


def opened(text, of=dnn):
    return of.readNetFromCaffe(bytearray(text.encode()))


def same(one, other):
    """Whether two results are equal in type and shape, and close in value."""
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.shape == other.shape and one.dtype == other.dtype and (
            np.allclose(one, other, rtol=1e-4, atol=1e-5))
    return type(one) is type(other) and one == other


@pytest.fixture
def chain():
    net = opened(CHAIN)
    net.setInput(X)
    return net


def test_a_layer_output_is_not_changed_by_later_layers_in_place(chain):
    shifted, positive = X + 1, np.maximum(X + 1, 0)
    assert np.array_equal(chain.forward(), 2 * positive) and np.array_equal(chain.forward("r"), positive)
    assert np.array_equal(chain.forward("p"), shifted)
    got = chain.forward(["q", "p", "r"])
    assert isinstance(got, tuple) and same(got, (2 * positive, shifted, positive))
    assert same(chain.forward(None, "p"), (shifted,)) and same(chain.forward([]), (2 * positive,))
    assert same(chain.forward(outputName="r"), positive) and same(chain.forward(outBlobNames=["r"]), (positive,))
    assert same(chain.forwardAndRetrieve(["r", "p"]), ((positive,), (shifted,)))


def test_all_outputs_of_a_layer():
    net = opened(SLICED)
    net.setInput(X)
    assert same(net.forwardAndRetrieve(["s", "r"]), ((X[:, :1], X[:, 1:]), (np.maximum(X[:, :1], 0),)))
    assert net.getUnconnectedOutLayersNames() == ("r", "t")
    assert net.getLayer("s").outputNameToIndex("b") == 1 and net.getLayer("s").outputNameToIndex("c") == -1


def test_a_silence_layer_returns_its_inputs():
    text = (given(1, 2, 3, 3) + 'layer { name: "p" type: "Power" bottom: "data" top: "p" power_param { shift: 1 } } '
            'layer { name: "q" type: "ReLU" bottom: "p" top: "q" } '
            'layer { name: "s" type: "Silence" bottom: "p" bottom: "q" }')
    net = opened(text)
    net.setInput(X)
    assert same(net.forward(), X + 1) and net.getUnconnectedOutLayersNames() == ("s",)
    assert same(net.forwardAndRetrieve(["s"]), ((X + 1, np.maximum(X + 1, 0)),))
    assert [shape.tolist() for shape in net.getLayersShapes(X.shape)[2][3]] == [[1, 2, 3, 3]] * 2


def test_names_and_numbers(chain):
    assert chain.getLayerNames() == ("p", "r", "q") and chain.getLayerId("r") == 2
    assert chain.getLayerId("nobody") == -1 and chain.getLayerId("_input") == 0
    assert chain.getUnconnectedOutLayersNames() == ("q",) and same(chain.getUnconnectedOutLayers(),
                                                                   np.array([3], np.int32))
    assert chain.getLayer(1).name == "p" and chain.getLayer("r").type == "ReLU"
    assert chain.getLayerTypes() == ("Power", "ReLU", "__NetInputLayer__") and chain.getLayersCount("Power") == 2
    twice = opened(given(1, 2) + 'layer { name: "r" type: "ReLU" bottom: "data" top: "a" } '
                   'layer { name: "r" type: "ReLU" bottom: "a" top: "b" }')
    assert twice.getLayerNames() == ("r", "r_1")
    ids, ins, outs = chain.getLayersShapes([4, 2, 3, 5])
    assert same(ids, np.arange(4, dtype=np.int32)) and outs[3][0].tolist() == [4, 2, 3, 5]
    assert ins[0][0].dtype == np.int32 and np.array_equal(chain.forward(), 2 * np.maximum(X + 1, 0))


def test_results_do_not_share_memory_with_the_net(chain):
    kept = []
    for k in range(4):
        chain.setInput(X + k)
        out = chain.forward()
        assert out.flags.writeable and out.flags.owndata
        kept.append((out, out[0, 0].copy()))
        out[0, 1] = 99
    for k, (out, plane) in enumerate(kept):
        assert np.array_equal(out[0, 0], plane) and (out[0, 1] == 99).all()
        assert np.array_equal(plane, 2 * np.maximum(X[0, 0] + k + 1, 0))


def test_a_pass_for_another_output_leaves_a_result_alone():
    net = opened(given(1, 2, 3, 3) + "".join(
        'layer { name: "%s" type: "Power" bottom: "data" top: "%s" power_param { scale: %d } }' % (name, name, scale)
        for name, scale in (("a", 2), ("b", 3))))
    net.setInput(X)
    a = net.forward("a")
    for k, pass_again in enumerate((lambda: net.forward("b"), net.getPerfProfile, lambda: net.forward("b"))):
        net.setInput(X + k + 1)
        pass_again()
        assert same(a, 2 * X)
    net.setInput(np.concatenate([X, X]))
    b = net.forward("b")
    assert same(a, 2 * X) and same(b, 3 * np.concatenate([X, X]))


def test_a_result_that_shares_an_inputs_memory_is_a_copy():
    net = opened(given(1, 2, 3, 3) + 'layer { name: "f" type: "Flatten" bottom: "data" top: "f" }')
    for k in range(3):
        x = X + k
        net.setInput(x)
        out = net.forward()
        out[...] = 7
        assert np.array_equal(x, X + k) and np.array_equal(net.forward().ravel(), x.ravel())


def test_an_input_of_contiguous_floats_is_not_copied(chain, device):
    chain.setInput(X.copy())
    chain.forward()
    if not device.properties.host_memory:
        pytest.skip("the device has a memory of its own")
    before = device.stats()
    x = X * 2
    chain.setInput(x)
    out = chain.forward()
    after = device.stats()
    assert (after.bytes_h2d, after.bytes_d2h) == (before.bytes_h2d, before.bytes_d2h)
    slot = chain._main._inputs["data"]
    assert slot.array is x and slot.place.handle == x.ctypes.data
    assert chain._main._outputs["q"].array is out and chain._main._outputs["q"].address == out.ctypes.data


def test_inputs_take_any_shape_and_type(chain):
    for k, shape in enumerate(((2, 2, 5, 5), (1, 2, 3, 3), (1, 2, 2, 2), (4, 2, 3, 3), (2, 3))):
        x = np.random.default_rng(k).standard_normal(shape).astype("f4")
        chain.setInput(x)
        assert same(chain.forward(), 2 * np.maximum(x + 1, 0))
        assert same(chain.forward("p"), x + 1)
    for x in (X.astype("f8"), X.astype("i4"), np.concatenate([X, X], 3)[..., ::2]):
        chain.setInput(x)
        assert same(chain.forward(), 2 * np.maximum(x.astype("f4") + 1, 0))


def test_an_input_that_several_blobs_share_shrinks():
    net = opened(given(1, 2, 30, 30) + 'layer { name: "f" type: "Flatten" bottom: "data" top: "f" }'
                 'layer { name: "r" type: "ReLU" bottom: "data" top: "r" }'
                 'layer { name: "s" type: "Power" bottom: "f" top: "s" power_param { scale: 3 } }')
    for size in (30, 3, 2, 31, 5):
        x = np.full((1, 2, size, size), size, np.float32)
        net.setInput(x)
        assert same(net.forward(["s", "r"]), (3 * x.reshape(1, -1), x))


def test_a_mean_and_a_scale(chain):
    wanted = 2 * np.maximum((X - np.array([1, 2], "f4").reshape(1, 2, 1, 1)) * 2 + 1, 0)
    chain.setInput(X, "", 2.0, (1, 2))
    assert same(chain.forward(), wanted)
    chain.setInput((X + 9).astype("u1"), scalefactor=2.0, mean=(10, 11))
    assert same(chain.forward(), wanted)
    chain.setInput(X)
    assert same(chain.forward(), 2 * np.maximum(X + 1, 0))


def test_two_inputs_and_their_names():
    net = opened(PAIR)
    net.setInput(X)
    with pytest.raises(dnn.error, match="inp.total.*\"b\""):
        net.forward()
    net.setInput(X, "b")
    assert same(net.forward(), 2 * X)
    net.setInputsNames(["left", "right"])
    net.setInput(X * 3, "right")
    assert same(net.forward(), 4 * X)
    with pytest.raises(dnn.error) as raised:
        net.setInput(X, "b")
    assert raised.value.code == -204


@pytest.mark.parametrize("text", (
    'input: "data" # { no shape\nlayer { name: "r" type: "ReLU" bottom: "data" top: "r" }',
    'layer { name: "i" type: "Input" top: "data" } layer { name: "r" type: \'ReLU\' bottom: "data" top: "r" }'))
def test_an_input_without_a_shape_has_that_of_its_blob(text):
    net = opened(text)
    assert not net.empty()
    with pytest.raises(dnn.error, match="no shape"):
        net.getLayerNames()
    net.setInput(X)
    assert same(net.forward(), np.maximum(X, 0)) and net.getLayerNames() == ("r",)
    net = opened(text)
    net.setInputShape("data", X.shape)
    assert net.getLayerNames() == ("r",)


def test_parameters_are_read_and_written(tmp_path):
    text = given(1, 2) + ('layer { name: "ip" type: "InnerProduct" bottom: "data" top: "y" '
                          'inner_product_param { num_output: 3 } }')
    net = opened(text)
    x = np.array([[1, 2]], "f4")
    net.setInput(x)
    with pytest.raises(dnn.error, match="\"ip\" has no weights"):
        net.forward()
    net.setParam("ip", 0, np.arange(6).reshape(3, 2))
    assert same(net.forward(), np.array([[2, 8, 14]], "f4"))
    net.setParam(1, 1, [1, 1, 1])
    assert same(net.forward("ip"), np.array([[3, 9, 15]], "f4"))
    assert same(net.getParam("ip", 1), np.ones((3, 1), "f4")) and net.getParam(1).shape == (3, 2)
    assert [blob.shape for blob in net.getLayer("ip").blobs] == [(3, 2), (3, 1)]
    net.getLayer("ip").blobs = [2 * np.arange(6).reshape(3, 2), np.ones(3)]
    assert same(net.forward(), np.array([[5, 17, 29]], "f4"))
    net.getLayer("ip").blobs = [np.arange(6).reshape(3, 2)]
    assert same(net.forward(), np.array([[2, 8, 14]], "f4"))
    for call in (lambda: net.getParam("ip", 2), lambda: net.setParam("ip", 0, [1]),
                 lambda: setattr(net.getLayer("ip"), "blobs", []), lambda: setattr(net.getLayer("ip"), "blobs", [1] * 3)):
        with pytest.raises(dnn.error) as raised:
            call()
        assert raised.value.code == -215
    (tmp_path / "ip.prototxt").write_text(text)
    kept = caffe.Net(str(tmp_path / "ip.prototxt"), caffe.TEST)
    kept.params["ip"][0].data[...] = 2
    kept.save(str(tmp_path / "ip.caffemodel"))
    weights = (tmp_path / "ip.caffemodel").read_bytes()
    for model in (str(tmp_path / "ip.caffemodel"), tmp_path / "ip.caffemodel", bytearray(weights), weights,
                  np.frombuffer(weights, np.uint8)):
        for config in (str(tmp_path / "ip.prototxt"), text.encode(), np.frombuffer(text.encode(), np.uint8)):
            net = dnn.readNetFromCaffe(config, model)
            net.setInput(x)
            assert same(net.forward(), np.full((1, 3), 6, "f4"))
    for pair in (("ip.caffemodel", "ip.prototxt"), ("ip.prototxt", "ip.caffemodel")):
        net = dnn.readNet(*(str(tmp_path / name) for name in pair))
        net.setInput(x)
        assert net.forward()[0, 0] == 6
    assert not dnn.readNet("caffe", bytearray(weights), bytearray(text.encode())).empty()


def test_weights_in_memory_are_loaded_when_the_input_has_a_shape(tmp_path):
    ip = 'layer { name: "ip" type: "InnerProduct" bottom: "data" top: "y" inner_product_param { num_output: 3 } }'
    (tmp_path / "ip.prototxt").write_text(given(1, 2) + ip)
    kept = caffe.Net(str(tmp_path / "ip.prototxt"), caffe.TEST)
    kept.params["ip"][0].data[...] = 2
    kept.save(str(tmp_path / "ip.caffemodel"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = dnn.readNetFromCaffe(b'input: "data" ' + ip.encode(), (tmp_path / "ip.caffemodel").read_bytes())
        net.setInput(np.array([[1, 2]], "f4"))
        assert same(net.forward(), np.full((1, 3), 6, "f4"))
    assert not [warning for warning in caught if warning.category is ResourceWarning]


@pytest.mark.parametrize("call, code", (
    (lambda: dnn.readNetFromCaffe("/nowhere.prototxt"), -2),
    (lambda: dnn.readNetFromCaffe(bytearray(CHAIN.encode()), "/nowhere.caffemodel"), -2),
    (lambda: dnn.readNetFromCaffe(bytearray(CHAIN.encode()), bytearray(b"abc")), -2),
    (lambda: opened("layer {"), -2),
    (lambda: opened("404: Not Found"), -2),
    (lambda: opened("<!DOCTYPE html>"), -2),
    (lambda: opened("\n\1x\0"), -2),
    (lambda: opened('layer { name: "n" type: "Unknown" bottom: "data" top: "n" }').getLayerNames(), -2),
    (lambda: opened('layer { name: "r" type: "ReLU" bottom: "data" top: "r" }'), -2),
    (lambda: dnn.readNetFromCaffe(3), -5),
    (lambda: dnn.readNet("a.xyz"), -2),
    (lambda: opened(CHAIN).forward(), -215),
    (lambda: opened(CHAIN).setInput(X, "nobody"), -204),
    (lambda: opened(CHAIN).setInput([1, 2]), -5),
    (lambda: opened(CHAIN).setInput(), -5),
    (lambda: opened(CHAIN).setInput(X, "data", 1.0, "mean"), -5),
    (lambda: opened(CHAIN).forward(3), -5),
    (lambda: opened(CHAIN).forward({"q"}), -5),
    (lambda: opened(CHAIN).forward([1, 2]), -5),
    (lambda: opened(CHAIN).getLayersShapes("x"), -5),
    (lambda: dnn.readNetFromCaffe("a", "b", "c"), -5),
    (lambda: dnn.readNet(), -5),
    (lambda: opened(CHAIN).getLayer(99), -204),
    (lambda: opened(CHAIN).setInputShape("nobody", [1]), -2),
    (lambda: dnn.Net().forward(), -215)))
def test_errors_have_the_form_of_cv2_error(call, code):
    with pytest.raises(dnn.error) as raised:
        call()
    assert raised.value.code == code and re.search(rf"error: \({code}:.*in function '\w+'", str(raised.value))


def test_none_is_an_arguments_default(chain):
    chain.setInput(X, None, None, None)
    expected = np.maximum(X + 1, 0) * 2
    for result in chain.forward(None), chain.forward(outputName=None), chain.forward([], None)[0]:
        assert isinstance(result, np.ndarray) and (result == expected).all()


def test_an_unknown_layer_is_an_error(chain):
    for names, code in (("nobody", -2), (["nobody"], -204), ("_input", -204)):
        with pytest.raises(dnn.error) as raised:
            chain.forward(names)
        assert raised.value.code == code
    assert dnn.readNetFromCaffe(bytearray()).empty() and dnn.Net().getLayerNames() == ()
    assert opened('name: "x" input: "data" # nothing else').empty()


def test_the_target_selects_the_device_of_a_net(chain, monkeypatch):
    chain.setPreferableBackend(dnn.DNN_BACKEND_OPENCV)
    chain.setPreferableTarget(dnn.DNN_TARGET_CPU)
    assert same(chain.forward(), 2 * np.maximum(X + 1, 0))
    monkeypatch.delenv("FERRY_BACKEND", raising=False)
    with pytest.warns(RuntimeWarning, match="switching to the CPU"):
        chain.setPreferableTarget(dnn.DNN_TARGET_MYRIAD)
    assert same(chain.forward(), 2 * np.maximum(X + 1, 0))


def test_without_fusion_the_answer_is_the_same(chain):
    before = chain.forward()
    chain.enableFusion(False)
    assert same(chain.forward(), before) and same(chain.forward("p"), X + 1)


def test_a_profile_and_a_graph(chain, tmp_path):
    total, times = chain.getPerfProfile()
    assert isinstance(total, int) and times.shape == (3,) and times.sum() == pytest.approx(total, abs=3)
    chain.dumpToFile(tmp_path / "net.dot")
    text = (tmp_path / "net.dot").read_text()
    assert text == chain.dump() and text.startswith("digraph G {") and text.count("->") == 3
    assert "output: 1 x 2 x 3 x 3" in text


def test_threads_share_a_net():
    net, x = opened(CHAIN), np.random.default_rng(1).standard_normal((8, 2, 64, 64)).astype("f4")
    net.setInput(x)
    wanted, shifted = 2 * np.maximum(x + 1, 0), x + 1
    raised = []

    def run():
        try:
            for _ in range(100):
                assert same(net.forward(), wanted)
                assert same(net.forward("p"), shifted)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            raised.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised, raised


# ---- compared with OpenCV ------------------------------------------------------------------------------------

def files(model):
    return os.path.join(DATA, model[0] + ".prototxt"), os.path.join(DATA, model[1] + ".caffemodel")


@needs_data
@pytest.mark.parametrize("model", MODELS, ids=lambda model: os.path.basename(model[0]))
def test_a_model_matches_opencv(cv4, model):
    one, other = cv4.readNetFromCaffe(*files(model)), dnn.readNetFromCaffe(*files(model))
    shape, = other._main.input_shapes.values()
    x = np.random.RandomState(0).uniform(-1, 1, shape).astype("f4")
    results = []
    for net in (one, other):
        net.setInput(x)
        names = net.getUnconnectedOutLayersNames()
        results.append([net.getLayerNames(), names, net.getUnconnectedOutLayers(), net.getLayersShapes(shape),
                        net.getMemoryConsumption(shape), net.getFLOPS(shape), net.forward(), net.forward(names)])
    for theirs, ours in zip(*results):
        assert same(theirs, ours)
    for mine, yours in zip(results[0][-1], results[1][-1]):
        assert np.abs(mine - yours).max() <= 3e-6 * np.abs(mine).max()


def texts():
    folder = os.path.join(DATA, "prototxt")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


@needs_data
@pytest.mark.parametrize("name", texts())
def test_layers_have_opencvs_names(cv4, name):
    path = os.path.join(DATA, "prototxt", name)
    try:
        one, other = cv4.readNetFromCaffe(path), dnn.readNetFromCaffe(path)
    except (dnn.error, ModuleNotFoundError) as error:
        pytest.skip(f"OpenCV or ferry cannot read it: {error}")
    assert other.getLayerNames() == one.getLayerNames()
    assert other.getUnconnectedOutLayersNames() == one.getUnconnectedOutLayersNames()
    assert same(other.getUnconnectedOutLayers(), one.getUnconnectedOutLayers())


def test_a_convolution_has_the_name_of_its_top():
    text = given(1, 1, 2, 2) + ('layer { name: "c" type: "Convolution" bottom: "data" top: "t" '
                                'convolution_param { num_output: 1 kernel_size: 1 bias_term: false } }'
                                'layer { name: "r" type: "ReLU" bottom: "t" top: "t" }')
    net = opened(text)
    assert net.getLayerNames() == ("t", "r")
    net.setParam("t", 0, [-2])
    net.setInput(np.ones((1, 1, 2, 2), "f4"))
    assert same(net.forward(["t", "r"]), (np.full((1, 1, 2, 2), -2, "f4"), np.zeros((1, 1, 2, 2), "f4")))


@needs_data
def test_detections_equal_stored_results_of_opencv():
    """OpenCV 4.14's detections, with zeros up to keep_top_k."""
    net = dnn.readNetFromCaffe(*files(("wechat_detect/detect",) * 2))
    stored = np.load(os.path.join(DATA, "wechat_detect", "detect.opencv_ref.npz"))
    net.setInput(stored["input"])
    assert same(stored["detection_output"], net.forward())


SSD = """
input: "loc" input_shape { dim: 1 dim: 40 } input: "conf" input_shape { dim: 1 dim: 30 }
input: "prior" input_shape { dim: 1 dim: 2 dim: 40 }
layer { name: "det" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "det"
  detection_output_param { num_classes: 3 share_location: true background_label_id: 0 code_type: CENTER_SIZE
    nms_param { nms_threshold: 0.45 top_k: 20 } keep_top_k: %d confidence_threshold: 0.2 } }"""


@pytest.mark.parametrize("keep, images", ((8, 1), (50, 1), (8, 2), (50, 2)))
def test_detections_have_opencvs_order_and_shape(cv4, keep, images):
    random = np.random.RandomState(keep)
    corner = random.rand(10, 2) * .6
    prior = np.concatenate([corner, corner + .1 + random.rand(10, 2) * .3], 1).reshape(1, 1, 40)
    blobs = {"loc": random.randn(images, 40) * .5, "conf": random.rand(images, 30),
             "prior": np.concatenate([prior, np.tile([.1, .1, .2, .2], 10).reshape(1, 1, 40)], 1)}
    results = []
    for of in (cv4, dnn):
        net = opened(SSD % keep, of)
        for name, blob in blobs.items():
            net.setInput(blob.astype("f4"), name)
        results.append(net.forward())
    assert same(*results) and results[0].shape == (1, 1, keep * images, 7)


@needs_data
def test_an_error_in_a_buffer_names_the_argument():
    root = os.path.join(DATA, "mtcnn", "det1")
    with open(root + ".prototxt", "rb") as text, open(root + ".caffemodel", "rb") as weights:
        with pytest.raises(dnn.error, match="caffeModel") as raised:
            dnn.readNetFromCaffe(bytearray(text.read()), bytearray(weights.read()[:-1000]))
    assert "/proc" not in str(raised.value)
