# SPDX-License-Identifier: BSD-2-Clause
"""Nets."""


import numpy as np
import pytest

import ferry

TEXT = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "relu" }
layer { name: "prob" type: "Softmax" bottom: "relu" top: "prob" }
"""

LOSS = """
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "prob" bottom: "label" top: "loss" }
"""


@pytest.fixture
def prototxt(tmp_path):
    path = tmp_path / "small.prototxt"
    path.write_text(TEXT)
    return path


def known(net):
    """Sets and returns the weights and the bias."""
    weight = np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4)
    bias = np.array([0.5, 0, -0.5], "f4")
    net.params["ip"][0].data = weight
    net.params["ip"][1].data = bias
    return weight, bias


def expected(x, weight, bias):
    z = np.maximum(x @ weight.T + bias, 0)
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_a_net_computes_what_numpy_does_for_any_batch(device, prototxt):
    net = ferry.Net(device, prototxt)
    weight, bias = known(net)
    for n in (1, 5, 2):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype("f4")
        out = net.forward(data=x)
        assert list(out) == ["prob"] and out["prob"].shape == (n, 3)
        np.testing.assert_allclose(out["prob"], expected(x, weight, bias), rtol=1e-5, atol=1e-6)
    assert net.loss == 0


INPLACE = """
name: "inplace"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "relu" type: "ReLU" bottom: "data" top: "data" }
layer { name: "power" type: "Power" bottom: "data" top: "out" power_param { scale: 2 } }
"""


def test_a_net_shares_inputs(device, prototxt):
    net = ferry.Net(device, prototxt, share_inputs=True)
    weight, bias = known(net)
    for n in (1, 5, 2):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype("f4")
        before = x.copy()
        np.testing.assert_allclose(net.forward(data=x)["prob"], expected(x, weight, bias), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(x, before)
        with pytest.raises(ferry.Lost):
            net.forward()
    x[:] = 7
    with pytest.raises(ferry.Lost):
        net.inputs["data"].data  # pylint: disable=expression-not-assigned
    net.inputs["data"].data = before
    np.testing.assert_allclose(net.forward()["prob"], expected(before, weight, bias), rtol=1e-5, atol=1e-6)
    assert (x == 7).all()


def test_arrays_that_cannot_be_shared_are_copied(device, prototxt):
    net = ferry.Net(device, prototxt, share_inputs=True)
    weight, bias = known(net)
    x = np.random.default_rng(1).standard_normal((4, 5)).astype("f4").T
    out = net.forward(data=x[:, :4])["prob"]
    np.testing.assert_allclose(out, expected(x[:, :4], weight, bias), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(net.inputs["data"].data, x[:, :4])
    with pytest.raises(TypeError):
        net.forward(data=np.ones((1, 4)) * 1j)


def test_a_layer_in_place_leaves_a_shared_input_alone(device, tmp_path):
    path = tmp_path / "inplace.prototxt"
    path.write_text(INPLACE)
    x = np.array([[1, -2, 3], [-4, 5, -6]], "f4")
    before = x.copy()
    for options in ({}, {"plan": False, "fuse": False}, {"keep": "*"}):
        net = ferry.Net(device, path, share_inputs=True, **options)
        for _ in range(2):
            np.testing.assert_array_equal(net.forward(data=x)["out"], 2 * np.maximum(x, 0))
            np.testing.assert_array_equal(x, before)


SUM = """
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 100 } } }
layer { name: "b" type: "Input" top: "b" input_param { shape { dim: 100 } } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
"""


class Made:
    """Gives NumPy a new array each time."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return np.full(100, self.value, dtype or "f4")


def test_arrays_that_only_the_pass_holds_are_shared_until_its_end(device, tmp_path):
    path = tmp_path / "sum.prototxt"
    path.write_text(SUM)
    net = ferry.Net(device, path, share_inputs=True)
    for _ in range(3):
        np.testing.assert_array_equal(net.forward(a=Made(1), b=Made(2))["sum"], np.full(100, 3))


def test_a_failed_pass_ends_the_sharing(device, prototxt):
    net = ferry.Net(device, prototxt, share_inputs=True)
    known(net)
    x = np.ones((1, 4), "f4")
    with pytest.raises(ferry.InvalidArgument):
        net.forward(data=x, label=x)
    x[:] = 3
    with pytest.raises(ferry.Lost):
        net.inputs["data"].data  # pylint: disable=expression-not-assigned


WIDE = """
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 512 dim: 14 dim: 14 } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "y"
        convolution_param { num_output: 512 kernel_size: 1 weight_filler { type: "msra" } } }
"""


def test_a_fused_net_may_use_strassens_method_unless_weights_are_reread(device, tmp_path):
    path, weights = tmp_path / "wide.prototxt", tmp_path / "wide.caffemodel"
    path.write_text(WIDE)
    net = ferry.Net(device, path, fuse=False)
    net.save(weights)
    x = np.random.default_rng(1).standard_normal((1, 512, 14, 14)).astype("f4")
    product = net.forward(x=x)["y"]
    reread = ferry.Net(device, path, weights, reread_weights=True).forward(x=x)["y"]
    strassen = ferry.Net(device, path, weights).forward(x=x)["y"]
    w = np.array(net.params["c"][0].data, "f8").reshape(512, 512)
    np.testing.assert_allclose(strassen[0].reshape(512, -1), w @ x[0].reshape(512, -1).astype("f8"), atol=5e-5)
    if device.name.startswith("cpu:"):
        np.testing.assert_array_equal(reread, product)
        assert (strassen != product).any()


def test_a_net_may_round_to_bf16(device, prototxt):
    x = np.random.default_rng(1).standard_normal((1, 4)).astype("f4")
    outs = []
    for precision in (None, "f32", "bf16"):
        net = ferry.Net(device, prototxt, precision=precision)
        weight, bias = known(net)
        outs.append(net.forward(data=x)["prob"].copy())
    np.testing.assert_array_equal(outs[0], outs[1])
    np.testing.assert_allclose(outs[2], expected(x, weight, bias), rtol=4e-2)
    with pytest.raises(ferry.InvalidArgument):
        ferry.Net(device, prototxt, precision="half")


def test_a_net_lists_its_blobs_and_layers(device, prototxt):
    net = ferry.Net(device, prototxt, keep="*")
    assert net.layers == ["data", "ip", "relu", "prob"] and net.device == device
    assert list(net.inputs) == ["data"] and list(net.outputs) == ["prob"]
    assert [b.shape for b in net.params["ip"]] == [(3, 4), (3,)] and list(net.params) == ["ip"]
    weight, bias = known(net)
    x = np.ones((2, 4), "f4")
    net.forward(data=x)
    assert list(net.blobs) == ["data", "ip", "relu", "prob"]
    np.testing.assert_allclose(net.blobs["ip"].data, x @ weight.T + bias, rtol=1e-5)
    net.inputs["data"].reshape(7, 4)
    net.reshape()
    assert net.outputs["prob"].shape == (7, 3)


def test_weights_round_trip_through_a_file(device, prototxt, tmp_path):
    net = ferry.Net(device, prototxt)
    weight, bias = known(net)
    for name in ("small.caffemodel", "small.safetensors"):
        net.save(tmp_path / name)
        again = ferry.Net(device, prototxt, tmp_path / name)
        assert np.array_equal(again.params["ip"][0].data, weight)
        with ferry.open(tmp_path / name) as file:
            assert np.array_equal(file["ip/1"], bias)
    with pytest.raises(ferry.InvalidArgument):
        net.save(tmp_path / "small.txt")


RANGES = """
quantization { range { blob: "data" min: -2 max: 2 } }
"""


def test_quantized_weights_are_saved_as_integers(device, tmp_path):
    path, file = tmp_path / "ranges.prototxt", tmp_path / "small.caffemodel"
    path.write_text(TEXT + RANGES)
    net = ferry.Net(device, path)
    weight, bias = known(net)
    net.save(file, integers=True)
    with ferry.open(file) as stored:
        scale = np.abs(weight).max(axis=1, keepdims=True) / 127
        np.testing.assert_allclose(stored["ip/0"], np.round(weight / scale) * scale, rtol=1e-6)
        assert np.array_equal(stored["ip/1"], bias)
    again = ferry.Net(device, path, file)
    with ferry.open(file) as stored:
        assert np.array_equal(again.params["ip"][0].data, stored["ip/0"])
    with pytest.raises(ValueError, match="caffemodel"):
        net.save(tmp_path / "small.npz", integers=True)


def test_losses_and_gradients_match_numpy(device, tmp_path):
    path = tmp_path / "loss.prototxt"
    path.write_text(TEXT + LOSS)
    net = ferry.Net(device, path, phase="train")
    weight, bias = known(net)
    x = np.random.default_rng(1).standard_normal((2, 4)).astype("f4")
    label = np.random.default_rng(2).standard_normal((2, 3)).astype("f4")
    assert net.loss is None
    net.forward(data=x, label=label)
    prob = expected(x, weight, bias)
    np.testing.assert_allclose(net.loss, ((prob - label) ** 2).sum() / 4, rtol=1e-5)
    net.clear_param_diffs()
    net.backward()
    top = (prob - label) / 2
    z = prob * (top - (top * prob).sum(1, keepdims=True)) * (x @ weight.T + bias > 0)
    np.testing.assert_allclose(net.params["ip"][0].diff, z.T @ x, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(net.params["ip"][1].diff, z.sum(0), rtol=1e-4, atol=1e-6)


def test_blobs_of_a_net_outlive_it(device, prototxt):
    net = ferry.Net(device, prototxt)
    weight, _bias = known(net)
    param = net.params["ip"][0]
    net.close()
    del net
    assert np.array_equal(param.data, weight)


def test_close_closes_a_net_that_has_run(device, prototxt):
    net, closed = ferry.Net(device, prototxt), []
    handle = net._handle
    free, handle._free = handle._free, lambda pointer: (closed.append(pointer), free(pointer))
    del handle
    net.forward(data=np.ones((1, 4), "f4"))
    net.forward(data=np.ones((2, 4), "f4"))
    assert not closed
    net.close()
    assert closed


def test_errors_name_their_cause(device, prototxt, tmp_path):
    net = ferry.Net(device, prototxt)
    with pytest.raises(ferry.InvalidArgument, match="no input 'dota', but data"):
        net.forward(dota=np.ones((1, 4)))
    with pytest.raises(ferry.ShapeMismatch, match="ip"):
        net.forward(data=np.ones((1, 5)))
    assert net.forward(data=np.ones((1, 4)))["prob"].shape == (1, 3)
    with pytest.raises(ferry.InvalidArgument, match="phase"):
        ferry.Net(device, prototxt, phase="tset")
    (tmp_path / "bad.prototxt").write_text('layer { name: "x" type: "Nope" }')
    with pytest.raises(ferry.Unsupported, match="Nope"):
        ferry.Net(device, tmp_path / "bad.prototxt")
    with pytest.raises(OSError):
        ferry.Net(device, prototxt, tmp_path / "nowhere.caffemodel")


def test_a_net_of_a_text_runs_with_and_without_plan_and_fusion(device):
    x, answers = np.array([[1.0, -2, 3, 0.5]], "f4"), []
    for options in ({}, {"plan": False}, {"fuse": False}, {"plan": False, "fuse": False}):
        net = ferry.Net(device, "small", text=TEXT, **options)
        known(net)
        answers.append(net.forward(data=x)["prob"])
        assert ("ip" in net.blobs) == (options == {"plan": False, "fuse": False})
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-5)


def test_only_omits_outputs_that_no_kept_blob_needs(device):
    net = ferry.Net(device, "small", text=TEXT, keep="ip", only=True)
    weight, bias = known(net)
    x = np.array([[1.0, -2, 3, 0.5]], "f4")
    assert net.forward(data=x) == {}
    np.testing.assert_allclose(net.blobs["ip"].data, x @ weight.T + bias, rtol=1e-5)
