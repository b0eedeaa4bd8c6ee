# SPDX-License-Identifier: BSD-2-Clause
"""Solvers: a line through one point, with results computed by hand."""

import os
import signal

import numpy as np
import pytest

import ferry

NET = """
net_param { name: "line"
  layer { name: "data" type: "DummyData" top: "x" top: "t" dummy_data_param {
    shape { dim: 4 dim: 2 } shape { dim: 4 dim: 1 }
    data_filler { value: 1 } data_filler { value: 3 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1 } }
  layer { name: "two" type: "Power" bottom: "y" top: "z" }
  layer { name: "loss" type: "EuclideanLoss" bottom: "z" bottom: "t" top: "loss" } }
base_lr: 0.1 lr_policy: "fixed" max_iter: 10 snapshot_after_train: false
"""


@pytest.fixture
def solver(device, tmp_path):
    return ferry.Solver(device, tmp_path / "line.prototxt", text=NET)


def weight(solver):
    return solver.net.params["ip"][0].data[0, 0]


def test_steps_match_a_computation_in_plain_numbers(solver):
    assert solver.iter == 0 and solver.max_iter == 10 and solver.iter_size == 1
    value = 0.0
    for i in range(3):
        assert solver.rate == pytest.approx(0.1)
        assert solver.step(1) and solver.iter == i + 1
        slope = 3 * value - 3
        assert solver.loss == pytest.approx(slope ** 2 / 2, rel=1e-5)
        value -= 0.1 * slope
        assert weight(solver) == pytest.approx(value, rel=1e-5)
    assert [h.shape for h in solver.histories] == [(1, 2), (1,)]


def test_the_precision_is_f32_or_bf16(device, tmp_path):
    with pytest.raises(ferry.InvalidArgument, match="bf17"):
        ferry.Solver(device, tmp_path / "line.prototxt", text=NET, precision="bf17")
    for precision in "f32", "bf16":
        solver = ferry.Solver(device, tmp_path / "line.prototxt", text=NET, precision=precision)
        assert solver.step(1) and weight(solver) == pytest.approx(0.3, rel=1e-2)
    with pytest.raises(ferry.InvalidArgument, match="fake_quantize"):
        ferry.Solver(device, tmp_path / "line.prototxt", text=NET, precision="bf16", fake_quantize=True)


def test_an_update_by_hand(solver):
    solver.net.params["ip"][0].diff = 2
    solver.net.params["ip"][1].diff = 0
    solver.apply_update()
    assert solver.iter == 1 and weight(solver) == pytest.approx(-0.2)


def test_an_iteration_callback_can_stop_the_solver(solver):
    told = []
    solver.on_iteration(told.append)
    solver.step(2)
    assert [event.iter for event in told] == [0, 1] and told[0].loss == pytest.approx(4.5)
    assert told[0].lr == pytest.approx(0.1) and told[0].scores == ()
    solver.on_iteration(lambda event: solver.stop())
    assert solver.step(5) is False and solver.iter == 3

    def fail(_):
        raise KeyboardInterrupt

    solver.on_iteration(fail)
    with pytest.raises(KeyboardInterrupt):
        solver.solve()
    solver.on_iteration(None)
    assert solver.solve() and solver.iter == 10


def test_an_interrupt_ends_training_between_two_iterations(solver):
    interrupts = []

    def strike(event):
        if event.iter == 1:
            os.kill(os.getpid(), signal.SIGINT)
            interrupts.append(event.iter)

    solver.on_iteration(strike)
    with pytest.raises(KeyboardInterrupt):
        solver.step(5)
    assert interrupts == [1] and solver.iter == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert solver.step(1) and solver.iter == 3


def test_gradients_can_be_changed(solver):
    seen = []

    def halve(ready):
        seen.append(ready)
        if ready:
            solver.net.params["ip"][0].scale(0.5, diff=True)

    solver.on_gradients(halve)
    solver.step(1)
    assert seen == [False, True] and weight(solver) == pytest.approx(0.15)
    solver.on_gradients(lambda ready: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        solver.step(1)
    assert solver.iter == 1
    solver.on_gradients(None)
    solver.step(1)


def test_test_nets_are_scored_and_accessible(device, tmp_path):
    solver = ferry.Solver(device, tmp_path / "line.prototxt", keep="*",
                          text=NET + "test_iter: 1 test_interval: 2")
    told = []
    solver.on_iteration(told.append)
    solver.step(3)
    assert [len(event.scores) for event in told] == [1, 0, 1]
    assert told[0].scores[0].name == "loss" and told[0].scores[0].value == pytest.approx(4.5)
    net, = solver.test_nets
    assert "z" in net.blobs and np.allclose(net.blobs["z"].data, net.blobs["y"].data)


def test_a_solver_resumes_from_a_snapshot(device, tmp_path, solver):
    solver.step(2)
    path = solver.snapshot()
    assert os.path.exists(path) and path.endswith("_iter_2.solverstate")
    solver.step(2)
    for exact in (False, True):
        again = ferry.Solver(device, tmp_path / "line.prototxt", text=NET)
        again.restore(path, exact=exact)
        assert again.iter == 2
        again.step(2)
        assert weight(again) == weight(solver)
    with pytest.raises(OSError):
        again.restore(tmp_path / "nowhere.solverstate")


def test_nets_outlive_their_solver_and_errors_name_the_file(device, tmp_path, solver):
    net = solver.net
    solver.step(1)
    solver.close()
    assert net.params["ip"][0].data[0, 0] == pytest.approx(0.3)
    with pytest.raises(ValueError, match="closed"):
        solver.step(1)
    with pytest.raises(ferry.MalformedFile, match="odd.prototxt"):
        ferry.Solver(device, tmp_path / "odd.prototxt", text=NET + 'type: "Nobody"')
