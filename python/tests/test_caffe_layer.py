# SPDX-License-Identifier: BSD-2-Clause
"""Layers that a class in Python computes."""

import gc
import os
import signal

import numpy as np
import pytest

import ferry
import ferry.caffe as caffe
from ferry._library import called_back
from ferry.caffe import _layer


class Times(caffe.Layer):
    """Multiplies by its param_str."""

    def setup(self, bottom, top):
        self.factor = float(self.param_str)

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.factor * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            bottom[0].diff[...] = self.factor * top[0].diff


class Positive(caffe.Layer):
    """The values above 0, as many as there are."""

    def setup(self, bottom, top):
        top[0].reshape(1)

    def reshape(self, bottom, top):
        pass

    def forward(self, bottom, top):
        chosen = bottom[0].data[bottom[0].data > 0]
        top[0].reshape(len(chosen))
        top[0].data[...] = chosen


class Learns(caffe.Layer):
    """Adds its parameter, which is 5 at first."""

    def setup(self, bottom, top):
        self.blobs.add_blob(*bottom[0].data.shape[1:])
        self.blobs[0].data[...] = 5

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data + self.blobs[0].data

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += top[0].diff.sum(0)
        bottom[0].diff[...] = top[0].diff


class Fails(caffe.Layer):
    """Raises in the function that its param_str names."""

    def setup(self, bottom, top):
        self.raise_in("setup")

    def raise_in(self, where):
        if self.param_str == where:
            raise LookupError(f"in {where}")

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        self.raise_in("forward")
        top[0].data[...] = bottom[0].data

    def backward(self, top, propagate_down, bottom):
        self.raise_in("backward")


def python(name, layer, bottom="data", param=""):
    return (f'layer {{ name: "{name}" type: "Python" bottom: "{bottom}" top: "{name}" python_param {{ '
            f'module: "{__name__}" layer: "{layer}" param_str: "{param}" }} }}\n')


INPUT = ('force_backward: true\nlayer { name: "data" type: "Input" top: "data" input_param { '
         'shape { dim: 2 dim: 3 } } }\n')
X = np.array([[1, -2, 3], [-4, 5, 6]], "f4")


def net_of(tmp_path, text, phase=caffe.TEST):
    path = tmp_path / "net.prototxt"
    path.write_text(INPUT + text)
    return caffe.Net(str(path), phase)


def test_a_net_is_freed_with_its_python_layers(tmp_path):
    """Uses the layer's state when the net closes: whether it has run, its arrays, its parameters."""
    before = len(_layer._objects)
    net = net_of(tmp_path, python("a", "Times", param="3") + python("b", "Learns", "a"))
    net.forward(data=X)
    net.backward(b=X)
    layer, kept = net.layers[2], net.params["b"]
    blob, array = layer.blobs[0], net.params["b"][0].data
    del net
    gc.collect()
    assert len(_layer._objects) == before + 2  # `kept` keeps the net alive
    assert np.array_equal(kept[0].data, [5, 5, 5])
    del kept
    gc.collect()
    assert len(_layer._objects) == before
    assert len(layer.blobs) == 0 and np.array_equal(array, [5, 5, 5])
    with pytest.raises((ValueError, ReferenceError)):
        print(blob.data)


def test_a_net_runs_python_layers_only_if_the_program_allows_it(tmp_path):
    caffe.allow_python_layers(False)
    with pytest.raises(ferry.Unsupported, match="allow_python_layers"):
        net_of(tmp_path, python("a", "Times", param="3"))
    caffe.allow_python_layers()
    with pytest.raises(ferry.InvalidArgument, match="subclass of caffe.Layer"):
        net_of(tmp_path, python("a", "net_of"))


def test_layers_write_only_to_allowed_folders(tmp_path):
    text = ('layer { name: "u" type: "Input" top: "u" input_param { shape { dim: 2 } } }\n'
            'layer { name: "o" type: "HDF5Output" bottom: "data" bottom: "u" '
            f'hdf5_output_param {{ file_name: "{tmp_path}/in/rows.h5" }} }}')
    (tmp_path / "in").mkdir()
    for allowed in None, tmp_path / "other":
        with pytest.raises(ferry.Error, match="allow"):
            caffe.allow_write(allowed)
            net_of(tmp_path, text)
    caffe.allow_write(tmp_path / "in")
    try:
        net_of(tmp_path, text)
        ferry.Net(caffe._state.device(), tmp_path / "net.prototxt", allow_write=tmp_path)
    finally:
        caffe.allow_write(None)
    with pytest.raises(ferry.Error, match="allow_write"):
        ferry.Net(caffe._state.device(), tmp_path / "net.prototxt")


def test_layers_run_forward_and_backward(tmp_path):
    net = net_of(tmp_path, python("a", "Times", param="3") + python("b", "Times", "a", "-2"))
    assert np.array_equal(net.forward(data=X)["b"], -6 * X)
    assert isinstance(net.layers[1], Times) and net.layers[1].factor == 3 and net.layers[1].phase == 1
    assert np.array_equal(net.backward(b=X)["data"], -6 * X)
    net.blobs["data"].reshape(1, 2)
    net.blobs["data"].data[...] = 1
    assert np.array_equal(net.forward()["b"], [[-6, -6]])


def test_the_shape_of_a_top_may_depend_on_values(tmp_path):
    net = net_of(tmp_path, python("a", "Positive") + python("b", "Times", "a", "2"))
    assert np.array_equal(net.forward(data=X)["b"], [2, 6, 10, 12])
    assert np.array_equal(net.forward(data=-X)["b"], [4, 8])


def test_parameters_of_a_layer_keep_the_values_of_setup(tmp_path):
    net = net_of(tmp_path, python("a", "Learns"), caffe.TRAIN)
    assert np.array_equal(net.params["a"][0].data, [5, 5, 5])
    assert np.array_equal(net.forward(data=X)["a"], X + 5)
    net.backward(a=X)
    assert np.array_equal(net.params["a"][0].diff, X.sum(0))
    net.params["a"][0].data[...] = 1
    net.save(str(tmp_path / "a.caffemodel"))
    again = net_of(tmp_path, python("a", "Learns"))
    again.copy_from(str(tmp_path / "a.caffemodel"))
    assert np.array_equal(again.forward(data=X)["a"], X + 1)


def test_an_exception_of_a_layer_reaches_the_caller(tmp_path):
    with pytest.raises(LookupError, match="in setup"):
        net_of(tmp_path, python("a", "Fails", param="setup"))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        net_of(tmp_path, python("a", "Times").replace(__name__, "nowhere"))
    net = net_of(tmp_path, python("a", "Fails", param="forward"))
    with pytest.raises(LookupError, match="in forward") as caught:
        net.forward(data=X)
    assert not isinstance(caught.value, ferry.Error)
    net = net_of(tmp_path, python("a", "Fails", param="backward"))
    net.forward(data=X)
    with pytest.raises(LookupError, match="in backward"):
        net.backward()
    assert np.array_equal(net.forward(data=X)["a"], X)


class Strikes(Times):
    """Sends an interrupt to the process while it computes."""

    def forward(self, bottom, top):
        if bottom[0].data[0, 0] == 7:
            os.kill(os.getpid(), signal.SIGINT)
        super().forward(bottom, top)


def test_an_interrupt_waits_for_the_end_of_a_pass(tmp_path):
    net = net_of(tmp_path, python("a", "Strikes", param="2") + python("b", "Times", "a", "3"))
    net.blobs["data"].data[...] = 7
    with pytest.raises(KeyboardInterrupt):
        net.forward()
    assert (net.blobs["b"].data == 42).all()
    assert np.array_equal(net.forward(data=X)["b"], 6 * X)


def test_an_earlier_callback_exception_is_not_raised_for_a_later_error(tmp_path):
    def fail():
        raise ferry.Unsupported("old")

    assert called_back(fail)() == ferry.Unsupported.code  # as ferry calls it; it must not fail
    with pytest.raises(OSError):
        caffe.Net(str(tmp_path / "nowhere.prototxt"), caffe.TEST)
    with pytest.raises(ferry.Unsupported, match="Nope"):
        net_of(tmp_path, 'layer { name: "x" type: "Nope" }')
