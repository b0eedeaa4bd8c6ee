# SPDX-License-Identifier: BSD-2-Clause
"""Several threads use one net of ferry.caffe, as in scripts for pycaffe, which never releases the
interpreter's lock."""

import sys
import threading

import numpy as np
import pytest

import ferry.caffe as caffe

ROUNDS = 200

TEXT = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 16 dim: 16 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""

CALLING = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 16 dim: 16 } } }
layer { name: "own" type: "Python" bottom: "data" top: "own" python_param { module: "calling" layer: "Calls" } }
"""

SOLVER = """
net: "%s" base_lr: 0.01 lr_policy: "fixed" max_iter: 1000 snapshot_after_train: false type: "SGD"
test_iter: 1 test_interval: 1000 test_initialization: false random_seed: 7
"""

TRAINED = TEXT.replace('name: "prob" type: "Softmax"', 'name: "unused" type: "Softmax"') + """
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 dim: 5 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def prototxt(tmp_path):
    path = tmp_path / "small.prototxt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture(autouse=True)
def often():
    """Makes the interpreter switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*functions):
    """Runs each function on a thread of its own; the first exception is raised here."""
    raised = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread waits for ever"
    if raised:
        raise raised[0]


def some(seed):
    return np.random.default_rng(seed).standard_normal((2, 3, 16, 16)).astype("f4")


def test_two_threads_run_one_net(prototxt):
    net = caffe.Net(prototxt, caffe.TEST)
    x = some(1)
    expected = net.forward(data=x)["prob"].copy()

    def run():
        for _ in range(ROUNDS):
            assert np.array_equal(net.forward(data=x)["prob"], expected)

    together(run, run)


def test_results_of_many_batches_are_those_of_the_thread_that_asked(prototxt):
    net = caffe.Net(prototxt, caffe.TEST)
    batches = [np.concatenate([some(seed), some(seed + 10)]) for seed in (1, 2)]
    expected = [net.forward_all(data=batch)["prob"] for batch in batches]

    def run(k):
        for _ in range(ROUNDS):
            assert np.array_equal(net.forward_all(data=batches[k])["prob"], expected[k])

    together(lambda: run(0), lambda: run(1))


def test_one_thread_reads_and_reshapes_while_another_runs_the_net(prototxt):
    net = caffe.Net(prototxt, caffe.TEST)
    x = some(1)
    expected = net.forward(data=x)["prob"].copy()

    def run():
        for _ in range(ROUNDS):
            assert np.array_equal(net.forward(data=x)["prob"], expected)
            net.backward()

    def look():
        for _ in range(ROUNDS):
            assert net.blobs["conv"].data.shape == (2, 8, 16, 16)
            assert net.params["conv"][0].diff.shape == (8, 3, 3, 3)
            net.blobs["data"].reshape(2, 3, 16, 16)
            net.reshape()
            net.clear_param_diffs()

    together(run, look)


def test_nets_that_share_weights_run_on_a_thread_each(prototxt):
    nets = [caffe.Net(prototxt, caffe.TEST) for _ in range(3)]
    for net in nets[1:]:
        net.share_with(nets[0])
    inputs = [some(k) for k in range(3)]
    expected = [net.forward(data=x)["prob"].copy() for net, x in zip(nets, inputs)]
    weights = nets[0].params["conv"][0].data

    def run(k):
        for _ in range(ROUNDS):
            assert np.array_equal(nets[k].forward(data=inputs[k])["prob"], expected[k])

    together(*(lambda k=k: run(k) for k in range(3)))
    weights[...] = 0
    assert all(np.array_equal(net.params["conv"][0].data, weights) for net in nets)


def test_two_threads_share_parameters_of_running_nets_with_each_other(prototxt):
    nets = [caffe.Net(prototxt, caffe.TEST) for _ in range(2)]
    x = some(1)

    def run(k):
        for _ in range(ROUNDS // 4):
            nets[k].share_with(nets[1 - k])
            assert nets[k].forward(data=x)["prob"].shape == (2, 5)

    together(lambda: run(0), lambda: run(1))
    assert np.array_equal(nets[0].forward(data=x)["prob"], nets[1].forward(data=x)["prob"])


def test_a_layer_in_python_uses_its_net_and_waits_for_its_threads(tmp_path, monkeypatch):
    (tmp_path / "calling.py").write_text("""
import threading
import ferry.caffe as caffe

class Calls(caffe.Layer):
    net = None

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        def fill():
            top[0].data[...] = bottom[0].data * 2
        worker = threading.Thread(target=fill, daemon=True)
        worker.start()
        worker.join(5)
        assert not worker.is_alive()
        assert self.net.blobs["data"].shape == bottom[0].shape
""")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "calling.prototxt").write_text(CALLING)
    net = caffe.Net(str(tmp_path / "calling.prototxt"), caffe.TEST)
    net.layers[1].net = net
    x = some(1)

    def run():
        for _ in range(ROUNDS // 4):
            assert np.array_equal(net.forward(data=x)["own"], x * 2)

    together(run, run)
    net.layers[1].net = None


def test_a_solver_and_its_nets_on_two_threads(tmp_path):
    (tmp_path / "net.prototxt").write_text(TRAINED)
    (tmp_path / "solver.prototxt").write_text(SOLVER % (tmp_path / "net.prototxt"))
    x, label = some(1), np.ones((2, 5), "f4")

    def trained(beside):
        solver = caffe.SGDSolver(str(tmp_path / "solver.prototxt"))
        for net in (solver.net, solver.test_nets[0]):
            net.blobs["data"].data[...] = x
            net.blobs["label"].data[...] = label

        def step():
            for _ in range(ROUNDS // 2):
                solver.step(1)

        def look():
            for _ in range(ROUNDS // 2):
                assert np.isfinite(solver.test_nets[0].forward()["loss"])
                assert np.isfinite(solver.net.params["ip"][0].data).all()

        together(step, *([look] if beside else []))
        return solver.net.params["ip"][0].data.copy()

    assert np.array_equal(trained(True), trained(False))


def test_other_threads_run_while_a_net_works(prototxt):
    net = caffe.Net(prototxt, caffe.TEST)
    net.blobs["data"].reshape(128, 3, 16, 16)
    net.reshape()
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    def run():
        before = counted[0]
        try:
            for _ in range(50):
                net.forward(end="pool")
                if counted[0] > before:
                    return
            raise AssertionError("the other thread never ran")
        finally:
            done.set()

    together(run, count)
