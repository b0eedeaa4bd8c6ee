# SPDX-License-Identifier: BSD-2-Clause
"""Nets and solvers by pycaffe's names."""

import numpy as np
import pytest

import ferry
import ferry.caffe as caffe
from ferry.caffe import _state

TEXT = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "relu" }
layer { name: "twice" type: "Power" bottom: "relu" top: "twice" power_param { scale: 2 } }
"""
WEIGHT = np.arange(12, dtype="f4").reshape(3, 4) - 5
X = np.array([[1, 0, 2, 0], [0, -1, 0, 1]], "f4")


@pytest.fixture
def prototxt(tmp_path):
    path = tmp_path / "net.prototxt"
    path.write_text(TEXT + "force_backward: true")
    return str(path)


@pytest.fixture
def net(prototxt):
    net = caffe.Net(prototxt, caffe.TEST)
    net.params["ip"][0].data[...] = WEIGHT
    return net


def expected(x=X, weight=WEIGHT):
    return 2 * np.maximum(x @ weight.T, 0)


def test_a_last_layer_with_the_name_of_another_runs(tmp_path):
    path = tmp_path / "net.prototxt"
    path.write_text('input: "x" input_shape { dim: 1 dim: 2 } force_backward: true\n' + "".join(
        f'layer {{ name: "same" type: "Power" bottom: "{x}" top: "{y}" power_param {{ scale: {scale} }} }}\n'
        for x, y, scale in (("x", "y", 3), ("y", "z", 5))))
    net = caffe.Net(str(path), caffe.TEST)
    assert (net.forward(x=np.ones((1, 2), "f4"))["z"] == 15).all()
    assert (net.backward(z=np.ones((1, 2), "f4"))["x"] == 15).all()


def test_a_net_has_the_attributes_of_pycaffe(net):
    assert net.inputs == ["data"] and net.outputs == ["twice"]
    assert list(net.blobs) == net._blob_names == ["data", "ip", "relu", "twice"]
    assert list(net.layer_dict) == net._layer_names == ["data", "ip", "relu", "twice"]
    assert [layer.type for layer in net.layers] == ["Input", "InnerProduct", "ReLU", "Power"]
    assert net.top_names["ip"] == ["ip"] and net.bottom_names["ip"] == ["data"]
    assert [p.data.shape for p in net.params["ip"]] == [(3, 4), (3,)]
    assert net.layers[1].blobs[0].shape == (3, 4) and len(net.layers[2].blobs) == 0
    blob = net.blobs["data"]
    assert (blob.num, blob.channels, blob.height, blob.width, blob.count) == (2, 4, 1, 1, 8)
    assert net.blob_loss_weights["twice"] == 0
    assert "InnerProduct" in caffe.layer_type_list() and "Python" in caffe.layer_type_list()


def test_inputs_are_written_in_place_or_given(net):
    net.blobs["data"].data[...] = X
    assert np.allclose(net.forward()["twice"], expected())
    out = net.forward(blobs=["ip"], data=-X)
    assert set(out) == {"twice", "ip"} and np.allclose(out["ip"], -X @ WEIGHT.T)
    with pytest.raises(ValueError, match="data"):
        net.forward(dota=X)
    with pytest.raises(ValueError, match="no layer 'nobody'"):
        net.forward(end="nobody")
    with pytest.raises(ValueError, match="batch of 2"):
        net.forward(data=X[:1])


def test_kept_arrays_share_the_memory_of_the_net(net):
    data, weight, out = net.blobs["data"].data, net.params["ip"][0].data, net.blobs["twice"].data
    for k in (1, 2, 3):
        data[...] = X * k
        weight[...] = WEIGHT + k
        net.forward()
        assert np.allclose(out, expected(X * k, WEIGHT + k))
    row = data[1]
    del data
    row[:] = 1
    net.forward()
    assert np.allclose(out[1], expected(np.ones((1, 4), "f4"), WEIGHT + 3))


def test_arrays_outlive_their_net(net):
    net.blobs["data"].data[...] = X
    out, blob = net.forward()["twice"], net.blobs["ip"]
    del net
    assert np.allclose(out, expected()) and np.allclose(blob.data, X @ WEIGHT.T)


def test_an_array_is_the_blobs_own_memory(net):
    blob = net.blobs["data"]
    first, second = blob.data, blob.data
    if blob.ferry.home.properties.unified:
        pytest.skip("arrays are copies on devices with unified memory")
    assert first.ctypes.data == second.ctypes.data
    if blob.__dlpack_device__() == (1, 0):
        assert np.from_dlpack(blob).ctypes.data == first.ctypes.data


def test_torch_has_the_same_memory(net):
    torch = pytest.importorskip("torch", reason="there is no PyTorch")
    blob = net.blobs["data"]
    if blob.__dlpack_device__() != (1, 0) or blob.ferry.home.properties.unified:
        pytest.skip("the blob is not in host memory")
    tensor = torch.from_dlpack(blob)
    assert tensor.data_ptr() == blob.data.ctypes.data
    tensor[...] = torch.from_numpy(X)
    assert np.allclose(net.forward()["twice"], expected())


def test_a_range_of_layers_runs_forward_and_backward(net):
    net.blobs["ip"].data[...] = [[1, -1, 2]] * 2
    out = net.forward(start="relu", end="relu")
    assert list(out) == ["relu"] and np.array_equal(out["relu"][0], [1, 0, 2])
    net.blobs["relu"].diff[...] = 1
    back = net.backward(start="relu", end="relu")
    assert list(back) == ["ip"] and np.array_equal(back["ip"][0], [1, 0, 1])
    net.forward(data=X)
    back = net.backward(twice=np.ones((2, 3), "f4"), diffs=["ip"])
    slope = 2 * (X @ WEIGHT.T > 0).astype("f4")
    assert np.allclose(back["ip"], slope) and np.allclose(back["data"], slope @ WEIGHT)
    assert np.allclose(net.params["ip"][0].diff, slope.T @ X)
    net.clear_param_diffs()
    assert not net.params["ip"][0].diff.any()


def test_more_than_a_batch(net):
    many = np.concatenate([X, X * 2, X * 3])[:5]
    out = net.forward_all(data=many)
    assert out["twice"].shape == (5, 3) and np.allclose(out["twice"], expected(many))
    out, back = net.forward_backward_all(data=many, twice=np.ones((5, 3), "f4"))
    assert np.allclose(out["twice"], expected(many))
    assert np.allclose(back["data"], 2 * (many @ WEIGHT.T > 0) @ WEIGHT)


def test_an_input_blob_can_be_reshaped(net):
    net.blobs["data"].reshape(1, 4)
    net.reshape()
    assert net.blobs["twice"].data.shape == (1, 3)
    net.blobs["data"].data[...] = X[:1]
    assert np.allclose(net.forward()["twice"], expected(X[:1]))


def test_weights_by_every_order_of_arguments(net, prototxt, tmp_path):
    model, other = str(tmp_path / "net"), str(tmp_path / "net.h5")
    net.save(model)
    net.save_hdf5(other)
    made = [caffe.Net(prototxt, model, caffe.TEST), caffe.Net(prototxt, caffe.TRAIN, weights=model),
            caffe.Net(prototxt, model), caffe.Net(network_file=prototxt, phase=1, weights=other)]
    made.append(caffe.Net(prototxt, caffe.TEST))
    made[-1].load_hdf5(other)
    for one in made:
        assert np.array_equal(one.params["ip"][0].data, WEIGHT)
    with pytest.raises(ferry.InvalidArgument, match="phase"):
        caffe.Net(prototxt, 7)
    with pytest.raises(OSError):
        caffe.Net(prototxt, str(tmp_path / "nowhere"), caffe.TEST)


def test_parameters_are_shared(net, prototxt):
    other = caffe.Net(prototxt, caffe.TEST)
    other.share_with(net)
    held = net.params["ip"][0].data
    held[...] = WEIGHT + 1
    assert np.allclose(other.forward(data=X)["twice"], expected(weight=WEIGHT + 1))
    held[...] = WEIGHT + 2
    assert np.allclose(other.forward(data=X)["twice"], expected(weight=WEIGHT + 2))


def test_layer_callbacks_are_called_for_each_layer(net):
    seen = []
    net.before_forward(lambda i: seen.append(("before", i)))
    net.after_forward(lambda i: seen.append(("after", i)))
    assert np.allclose(net.forward(data=X)["twice"], expected())
    assert seen == [(when, i) for i in range(4) for when in ("before", "after")]
    seen.clear()
    net.before_backward(seen.append)
    net.after_backward(seen.append)
    net.backward()
    assert seen == [3, 3, 2, 2, 1, 1, 0, 0]


def test_memory_data_is_fed_batch_by_batch(tmp_path):
    path = tmp_path / "memory.prototxt"
    path.write_text("""
        layer { name: "m" type: "MemoryData" top: "x" top: "l" memory_data_param {
          batch_size: 2 channels: 1 height: 1 width: 3 } }
        layer { name: "p" type: "Power" bottom: "x" top: "y" power_param { scale: 10 } }
        layer { name: "s" type: "Silence" bottom: "l" }""")
    net = caffe.Net(str(path), caffe.TEST)
    assert net.inputs == []
    data = np.arange(12, dtype="f4").reshape(4, 1, 1, 3)
    net.set_input_arrays(data, np.arange(4, dtype="f4"))
    for k in (0, 1, 0):
        assert np.array_equal(net.forward()["y"], 10 * data[2 * k:2 * k + 2])
        assert np.array_equal(net.blobs["l"].data.ravel(), [2 * k, 2 * k + 1])
    with pytest.raises(ValueError, match="multiple of the batch"):
        net.set_input_arrays(data[:3], np.arange(3, dtype="f4"))


SOLVER = """
net_param {
  layer { name: "data" type: "DummyData" top: "x" top: "t" dummy_data_param {
    shape { dim: 4 dim: 2 } shape { dim: 4 dim: 1 } data_filler { value: 1 } data_filler { value: 3 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1 } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" } }
base_lr: 0.1 lr_policy: "fixed" max_iter: 3 test_iter: 1 test_interval: 100 momentum: 0.9
snapshot_after_train: false
"""


@pytest.fixture
def solver_file(tmp_path):
    path = tmp_path / "solver.prototxt"
    path.write_text(SOLVER)
    return str(path)


def test_a_solver_steps_and_its_nets_are_seen(solver_file, tmp_path):
    solver = caffe.SGDSolver(solver_file)
    assert solver.param.max_iter == 3 and solver.lr == pytest.approx(0.1) and solver.iter == 0
    weight, calls = solver.net.params["ip"][0].data, []
    solver.add_callback(lambda: calls.append("start"), lambda: calls.append("ready"))
    solver.step(1)
    assert weight[0, 0] == pytest.approx(0.3) and calls == ["start", "ready"]
    assert float(solver.net.blobs["loss"].data) == pytest.approx(4.5)
    test, = solver.test_nets
    assert float(test.forward()["loss"]) == pytest.approx((3 - 0.9) ** 2 / 2)
    assert test.params["ip"][0].data[0, 0] == pytest.approx(0.3)
    weight[...] = 1
    solver.net.params["ip"][1].data[...] = 1
    assert float(solver.net.forward()["loss"]) == pytest.approx(0)
    solver.snapshot()
    again = caffe.get_solver(solver_file)
    again.solve(str(tmp_path / "solver_iter_1.solverstate"))
    assert again.iter == 3


def test_a_solvers_class_is_its_type(solver_file):
    plain = SOLVER.replace("momentum: 0.9", 'type: "SGD"')
    moved = []
    for kind, text in ((caffe.SGDSolver, plain), (caffe.NesterovSolver, SOLVER), (caffe.AdaGradSolver, plain),
                       (caffe.RMSPropSolver, plain + "rms_decay: 0.9"), (caffe.AdaDeltaSolver, SOLVER),
                       (caffe.AdamSolver, SOLVER)):
        with open(solver_file, "w", encoding="utf-8") as file:
            file.write(text)
        solver = kind(solver_file)
        solver.step(2)
        moved.append(float(solver.net.params["ip"][0].data[0, 0]))
    assert len(set(moved)) == len(moved)


def test_train_pys_calls_with_one_device(solver_file):
    caffe.set_solver_count(1)
    caffe.set_multiprocess(True)
    solver, calls = caffe.SGDSolver(solver_file), []
    nccl = caffe.NCCL(solver, caffe.NCCL.new_uid())
    nccl.bcast()
    solver.add_callback(nccl)
    solver.add_callback(lambda: calls.append("start"), lambda: calls.append("ready"))
    assert solver.param.layer_wise_reduce is True
    solver.net.after_backward(nccl)
    solver.step(2)
    assert calls == ["start", "ready"] * 2 and solver.iter == 2
    with pytest.raises(TypeError):
        caffe.NCCL(3)
    with pytest.raises(TypeError):
        solver.add_callback(calls.clear)


def test_functions_for_one_device_return_fixed_values():
    assert caffe.solver_count() == 1 and caffe.solver_rank() == 0 and not caffe.has_nccl()
    with pytest.raises(NotImplementedError):
        caffe.set_solver_count(2)
    with pytest.raises(ferry.NoDevice):
        caffe.set_device(-1)
    timer = caffe.Timer()
    timer.start()
    timer.stop()
    assert timer.ms >= 0
    caffe.set_mode_gpu()  # FERRY_BACKEND selects the device
    caffe.set_mode_cpu()


def test_a_missing_gpu_is_a_warning(device, monkeypatch):
    if device.properties.plugin != "cpu":
        pytest.skip("the device is no CPU")
    monkeypatch.delenv("FERRY_BACKEND", raising=False)
    monkeypatch.setattr(_state, "_found", {})
    with pytest.warns(RuntimeWarning, match="no GPU"):
        caffe.set_mode_gpu()
    assert _state.device() == device
    caffe.set_mode_cpu()
