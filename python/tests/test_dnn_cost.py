# SPDX-License-Identifier: BSD-2-Clause
"""The time that ferry.dnn's setInput and forward add to the C call, for a net so small that this time is
visible."""

import itertools
import os
import time

import numpy as np
import pytest

import ferry.caffe as caffe
import ferry.dnn as dnn
from ferry._library import lib

pytestmark = pytest.mark.skipif(os.environ.get("FERRY_BACKEND", "cpu") != "cpu", reason="on the CPU alone")

# In microseconds: five times the time on an idle machine.
MOST = 60
# A net as small as MTCNN's first net on one window.
TEXT = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" 
  convolution_param { num_output: 10 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }"""


def shortest(call, times=300):
    """The shortest of a number of calls, in microseconds."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter_ns()
        call()
        taken.append(time.perf_counter_ns() - begun)
    return min(taken) / 1000


@pytest.fixture
def opened(tmp_path):
    """Opens a new net with random weights."""
    (tmp_path / "net").write_text(TEXT)
    caffe.Net(str(tmp_path / "net"), caffe.TEST).save(str(tmp_path / "net.caffemodel"))
    return lambda: dnn.readNetFromCaffe(str(tmp_path / "net"), str(tmp_path / "net.caffemodel"))


def cost(net, blobs):
    """The time of a pass minus that of the C call, in microseconds; passes use the blobs in turn."""
    turns = itertools.cycle(blobs)

    def one_pass():
        net.setInput(next(turns))
        net.forward()

    one_pass()
    handle = net._main._pointer
    return shortest(one_pass) - shortest(lambda: lib.ferry_net_forward(handle, None))


@pytest.mark.parametrize("count", (1, 2))
def test_a_small_pass_has_little_overhead_over_the_c_call(opened, count):
    blobs = [np.full((1, 3, 12, 12), i + 1, np.float32) for i in range(count)]
    rounds = [cost(opened(), blobs) for _ in range(5)]
    assert min(rounds) < MOST, rounds


def test_the_measured_net_computes(opened):
    net, outputs = opened(), []
    for scale in 1, 2:
        net.setInput(np.full((1, 3, 12, 12), scale, np.float32))
        outputs.append(net.forward())
    assert outputs[0].shape == (1, 10, 5, 5) and np.abs(outputs[0]).max() > 0
    assert np.allclose(outputs[1], 2 * outputs[0])
