# SPDX-License-Identifier: BSD-2-Clause
"""Nets with pycaffe's interface."""

import os
from collections import OrderedDict
from itertools import zip_longest

import numpy as np

from .. import _net
from .._errors import InvalidArgument
from .._library import InterruptWaits, lib, string
from . import _state
from ._blob import BlobVec, Views
from ._layer import NetLayer, blob_over, lasting, object_of, opening
from ._vectors import DtypeVec, IntVec, LayerVec, StringVec

TRAIN, TEST = 0, 1
_PHASES = ("train", "test")


def _is_path(value):
    return isinstance(value, (str, bytes, os.PathLike))


class Net:
    """A net whose blobs can be read and whose layers can be run in parts: Net(prototxt, caffe.TEST,
    weights=model), or in the older order Net(prototxt, model, caffe.TEST). Every blob keeps its contents, so
    nothing is planned or fused, and the net can run backward in TEST too. Each pass runs on the device that
    set_mode_cpu, set_mode_gpu and set_device select at that time. `ferry` is the ferry.Net, which has further
    functions.

    Any thread may use a net. Calls of one net and of its blobs run one at a time, and so do calls of nets that
    share parameters, including the nets of a solver. The arrays are the net's own: a pass of another thread writes into
    them, so copy them under a lock of your own if threads run one net on different inputs."""

    def __init__(self, network_file, phase=TEST, level=None, stages=None, weights=None):
        if _is_path(phase):
            phase, weights, level = TEST if level is None else level, phase, None
        if phase not in (TRAIN, TEST):
            raise InvalidArgument(f"a net's phase is caffe.TRAIN or caffe.TEST, not {phase!r}")
        views = Views()
        with InterruptWaits(), opening(views):
            net = _net.Net(_state.device(), network_file, phase=_PHASES[phase], keep="*", backward=True,
                           level=level or 0, stages=list(stages or ()), seed=_state.seed,
                           allow_write=_state.writes_to)
        self._begin(net, views)
        if weights is not None:
            self.copy_from(weights)

    @classmethod
    def _over(cls, net, views):
        """A Net over an existing ferry.Net."""
        made = cls.__new__(cls)
        made._begin(net, views)
        return made

    def _begin(self, net, views):
        self.ferry, self._views = net, views
        self._feed = None
        self._called = {"before_forward": [], "after_forward": [], "before_backward": [],
                        "after_backward": []}
        handle = net._use()
        self._handles = [lib.ferry_net_layer_at(handle, i)
                         for i in range(lib.ferry_net_layer_count(handle))]
        self._blobs = [blob_over(lib.ferry_net_blob_at(handle, i), views, (handle,))
                       for i in range(lib.ferry_net_blob_count(handle))]
        self._blob_names = StringVec(blob.ferry.name for blob in self._blobs)
        self.blobs = OrderedDict(zip(self._blob_names, self._blobs))
        self._layer_names = StringVec(string(lib.ferry_layer_name(layer)) for layer in self._handles)
        self.layers = LayerVec(self._layer(i) for i in range(len(self._handles)))
        self.params = OrderedDict((name, self._blobs_of(i, views, (handle,)))
                                  for i, name in enumerate(self._layer_names) if self.layers[i].blobs)
        self._name_all()

    def _blobs_of(self, index, views, keeps):
        """The parameters of a layer."""
        handle = self.ferry._use()
        made = BlobVec(blob_over(lib.ferry_net_param_at(handle, index, k), views, keeps)
                       for k in range(lib.ferry_net_param_count(handle, index)))
        made._of_net = True
        return made

    def _layer(self, index):
        made = object_of(self._handles[index])
        if made is None:
            return NetLayer(self._handles[index], self._blobs_of(index, self._views, (self.ferry._use(),)))
        made.blobs = self._blobs_of(index, lasting(self._views), ())  # keeps the net alive with the layer
        return made

    # ---- names -----------------------------------------------------------------------------------

    def _names(self, count, get):
        handles = zip(self._layer_names, self._handles)
        return OrderedDict((name, [self._name_of(get(layer, i)) for i in range(count(layer))])
                           for name, layer in handles)

    def _name_all(self):
        """By layer: the names of its tops and of its bottoms. By net: the names of the inputs, which Input
        layers make, and of the outputs, which no layer consumes."""
        self.top_names = self._names(lib.ferry_layer_top_count, lib.ferry_layer_top_at)
        self.bottom_names = self._names(lib.ferry_layer_bottom_count, lib.ferry_layer_bottom_at)
        self.inputs = [top for name, layer in zip(self._layer_names, self.layers) if layer.type == "Input"
                       for top in self.top_names[name]]
        self.outputs = list(self.ferry.outputs)

    @staticmethod
    def _name_of(pointer):
        return string(lib.ferry_blob_name(pointer))

    def _ids(self, names):
        return IntVec(self._blob_names.index(name) for name in names)

    def _top_ids(self, index):
        return self._ids(self.top_names[self._layer_names[index]])

    def _bottom_ids(self, index):
        return self._ids(self.bottom_names[self._layer_names[index]])

    @property
    def _inputs(self):
        return self._ids(self.inputs)

    @property
    def _outputs(self):
        return self._ids(self.outputs)

    @property
    def _blob_loss_weights(self):
        return DtypeVec(self.blob_loss_weights.values())

    @property
    def layer_dict(self):
        """The layers, by name."""
        return OrderedDict(zip(self._layer_names, self.layers))

    @property
    def blob_loss_weights(self):
        """The loss weight of each blob, by name."""
        out = OrderedDict.fromkeys(self._blob_names, 0.0)
        for layer in self._handles:
            for i in range(lib.ferry_layer_top_count(layer)):
                out[self._name_of(lib.ferry_layer_top_at(layer, i))] = lib.ferry_layer_loss_weight(layer, i)
        return out

    # ---- passes ----------------------------------------------------------------------------------

    def _move(self):
        """Moves the net to the device of the current mode; returns whether it moved."""
        device = _state.device()
        if self.ferry.device != device:
            self.ferry.to(device)
            return True
        return False

    def _index(self, name, other):
        if name is not None and name not in self._layer_names:
            raise InvalidArgument(f"the net has no layer {name!r}")
        return other if name is None else self._layer_names.index(name)

    def _ranges(self, first, last, before, after):
        """Runs layers `first` to `last` in one pass, or layer by layer if there are callbacks."""
        if not (self._called[before] or self._called[after]):
            yield first, last
            return
        for i in range(first, last + 1) if first <= last else range(first, last - 1, -1):
            for fn in self._called[before]:
                fn(i)
            yield i, i
            for fn in self._called[after]:
                fn(i)

    def _name(self, layer, end):
        """The name of a layer, by number; None for the layer at that end of the net, since names may repeat."""
        return None if layer == end else self._layer_names[layer]

    def _forward(self, start, end):
        """Runs layers `start` to `end`, by number; returns their loss."""
        self._move()
        self._refill()
        loss = 0
        for first, last in self._ranges(start, end, "before_forward", "after_forward"):
            with InterruptWaits(), self._views.working():
                loss += self.ferry.forward_range(self._name(first, 0), self._name(last, len(self.layers) - 1))
        return loss

    def _backward(self, start, end):
        """Runs the backward pass from layer `start` back to layer `end`."""
        if self._move():
            self.reshape()
        for first, last in self._ranges(start, end, "before_backward", "after_backward"):
            with InterruptWaits(), self._views.working():
                self.ferry.backward(self._name(first, len(self.layers) - 1), self._name(last, 0))

    def _fill(self, given, names, diff):
        if set(given) != set(names):
            raise InvalidArgument(f"given are {', '.join(sorted(given))}; the net has {', '.join(names)}")
        for name, values in given.items():
            blob = self.blobs[name]
            if values.shape[0] != blob.shape[0]:
                raise InvalidArgument(f"{name} has a batch of {blob.shape[0]}, not of {values.shape[0]}")
            (blob.diff if diff else blob.data)[...] = values

    def forward(self, blobs=None, start=None, end=None, **kwargs):
        """Runs layers `start` to `end`, by name. `kwargs` are all inputs, in the shapes that the blobs have.
        Returns the arrays of the outputs (of layer `end`'s tops) and of `blobs`, by name. They are the blobs'
        own arrays, as everywhere in this module."""
        first, last = self._index(start, 0), self._index(end, len(self.layers) - 1)
        wanted = (self.outputs if end is None else self.top_names[end]) + list(blobs or ())
        with self._views.locked():
            if kwargs:
                self._fill(kwargs, self.inputs, False)
            self._forward(first, last)
            return {name: self.blobs[name].data for name in wanted}

    def backward(self, diffs=None, start=None, end=None, **kwargs):
        """Runs the backward pass from layer `start` back to layer `end`, by name. `kwargs` are the diffs of
        all outputs. Returns the diffs of the inputs (of layer `end`'s bottoms) and of `diffs`."""
        first, last = self._index(start, len(self.layers) - 1), self._index(end, 0)
        wanted = (self.inputs if end is None else self.bottom_names[end]) + list(diffs or ())
        with self._views.locked():
            if kwargs:
                self._fill(kwargs, self.outputs, True)
            self._backward(first, last)
            return {name: self.blobs[name].diff for name in wanted}

    # ---- many batches ----------------------------------------------------------------------------

    def _batch(self, arrays):
        """Splits arrays into batches of the net's size; the last is padded with zeros."""
        size = self._blobs[0].shape[0]
        count = len(next(iter(arrays.values()))) if arrays else 0
        for at in range(0, count, size):
            piece = {name: np.asarray(values[at:at + size]) for name, values in arrays.items()}
            short = size - min(size, count - at)
            yield {name: np.pad(values, [(0, short)] + [(0, 0)] * (values.ndim - 1)) if short else values
                   for name, values in piece.items()}

    def _copied(self, run, **arguments):
        """Copies of the arrays that a pass returns, made before another thread's pass."""
        with self._views.locked():
            return {name: np.array(values) for name, values in run(**arguments).items()}

    @staticmethod
    def _gather(pieces, count):
        names = pieces[0] if pieces else ()
        return {name: np.concatenate([piece[name] for piece in pieces])[:count or None] for name in names}

    def forward_all(self, blobs=None, **kwargs):
        """Runs forward for each batch of the inputs, and returns the concatenated results."""
        pieces = [self._copied(self.forward, blobs=blobs, **batch) for batch in self._batch(kwargs)]
        return self._gather(pieces, len(next(iter(kwargs.values()))) if kwargs else 0)

    def forward_backward_all(self, blobs=None, diffs=None, **kwargs):
        """As forward_all, with backward passes: returns the blobs and the diffs."""
        ahead = self._batch({name: kwargs[name] for name in self.inputs if name in kwargs})
        back = self._batch({name: kwargs[name] for name in self.outputs if name in kwargs})
        outs, ins = [], []
        for given, taken in zip_longest(ahead, back, fillvalue={}):
            with self._views.locked():
                outs.append(self._copied(self.forward, blobs=blobs, **given))
                ins.append(self._copied(self.backward, diffs=diffs, **taken))
        count = len(next(iter(kwargs.values()))) if kwargs else 0
        return self._gather(outs, count), self._gather(ins, count)

    # ---- MemoryData ------------------------------------------------------------------------------

    def set_input_arrays(self, data, labels):
        """Sets the arrays from which the MemoryData layer of the net reads one batch in each forward pass; after
        the last batch, it continues with the first. That layer must be the first of the net. The arrays are
        float32, with 4 axes. They are not copied, so they must stay unchanged."""
        if self.layers[0].type != "MemoryData":
            raise InvalidArgument(f"set_input_arrays: layer {self._layer_names[0]!r} is not a MemoryData")
        tops = [self.blobs[name] for name in self.top_names[self._layer_names[0]]]
        size = tops[0].shape[0]
        for array, blob in zip((data, labels), tops):
            if array.dtype != np.float32 or len(array) != len(data) or len(array) % size:
                raise InvalidArgument(f"set_input_arrays: {array.dtype} of shape {array.shape}: expected float32, and a "
                                      f"multiple of the batch of {size}, the same for both")
            if array[:size].size != blob.count:
                raise InvalidArgument(f"set_input_arrays: items of shape {array.shape[1:]}; the blob has {blob.shape}")
        with self._views.locked():
            self._feed = (data, labels, tops, 0)

    def _refill(self):
        if self._feed:
            data, labels, tops, at = self._feed
            size = tops[0].shape[0]
            for array, blob in zip((data, labels), tops):
                blob.data[...] = array[at:at + size].reshape(blob.shape)
            self._feed = (data, labels, tops, (at + size) % len(data))

    # ---- parameters and shapes -------------------------------------------------------------------

    def copy_from(self, path):
        """Loads weights by layer name, from any file that ferry.Net.load reads."""
        with self._views.working():
            self.ferry.load(path)

    load_hdf5 = copy_from

    def save(self, path):
        """Saves the parameters as a caffemodel."""
        with self._views.working():
            self.ferry.save(path, "caffemodel")

    def save_hdf5(self, path):
        """Saves the parameters as Caffe's .h5."""
        with self._views.working():
            self.ferry.save(path, "hdf5")

    def share_with(self, other):
        """Shares the other net's parameters."""
        with self._views.joined(other._views):
            self.ferry.share(other.ferry)

    def reshape(self):
        """Propagates the shapes of the inputs to all blobs; forward does this when needed."""
        with self._views.working():
            self.ferry.reshape()

    def clear_param_diffs(self):
        """Sets the diffs of all parameters to zeros."""
        with self._views.working():
            self.ferry.clear_param_diffs()

    # ---- callbacks -------------------------------------------------------------------------------

    def before_forward(self, fn):
        """Adds a function fn(number of the layer) that is called before each layer's forward; layers then run
        one by one."""
        self._called["before_forward"].append(fn)

    def after_forward(self, fn):
        """As before_forward, after each layer."""
        self._called["after_forward"].append(fn)

    def before_backward(self, fn):
        """As before_forward, before each layer's backward."""
        self._called["before_backward"].append(fn)

    def after_backward(self, fn):
        """As before_forward, after each layer's backward."""
        self._called["after_backward"].append(fn)

    def __repr__(self):
        return f"<ferry.caffe.Net of {len(self.layers)} layers on {self.ferry.device.name}>"
