# SPDX-License-Identifier: BSD-2-Clause
"""Nets."""

import ctypes

import numpy as np

from . import _abi
from ._blob import Blob
from ._errors import InvalidArgument
from ._library import Handle, Held, lib, out_double, out_pointer, string, texts
from ._library import text as encoded
from ._runtime import Device


class Net(Held):
    """A net from a prototxt (or a caffemodel that holds its definition), on a device.

    `weights` is a .caffemodel, .h5, .safetensors or .npz, by layer name; without it parameters are as
    their fillers leave them. `phase` is "test", "train", or "default", as the text says. In TEST layers
    join and blobs share memory: inputs, outputs and what `keep` names can be had afterwards, keep="*" is
    all of them. `plan` and `fuse` False turn the sharing and the joining off; with `only`, layers that nothing
    in `keep` needs are not computed. `backward` lets a net in TEST go backward. `place` puts layers elsewhere
    ("conv*=opencl:0"). `level` and `stages` are those of the text's rules; fillers and dropout draw their
    numbers from `seed`, of which 0 is 1. Layers that write files (HDF5Output) may do so in the folder
    `allow_write` and below it, and nowhere without it. `precision` "bf16" lets convolutions and inner
    products round to BF16 where the device gains by it, "f32" does not; without one, FERRY_PRECISION
    decides. `text` stands in place of the file, whose path then only names it.

    Blobs of a net live as long as it does, and keep it: they may outlive this object. One net is used by
    one thread at a time."""

    def __init__(self, device, prototxt, weights=None, *, phase="test", keep=(), backward=False,
                 place=None, level=0, stages=(), seed=0, allow_write=None, text=None, plan=True, fuse=True,
                 only=False, precision=None):
        if phase not in _abi.PHASES:
            raise InvalidArgument(f"phase {phase!r} is none of {', '.join(_abi.PHASES)}")
        if precision not in _abi.PRECISIONS:
            raise InvalidArgument(f"precision {precision!r}: expected f32 or bf16")
        kept, stages = texts(keep), texts(stages)
        body = None if text is None else text.encode()
        options = _abi.NetOptions(struct_size=ctypes.sizeof(_abi.NetOptions),
                                  phase=_abi.PHASES[phase], place=encoded(place), text=body,
                                  text_size=len(body or b""), no_plan=not plan,
                                  no_fuse=not fuse, only=bool(only), keep=kept,
                                  keep_count=len(kept), backward=int(backward), level=level, stages=stages,
                                  stage_count=len(stages), seed=seed, allow_write=encoded(allow_write),
                                  precision=_abi.PRECISIONS[precision])
        pointer = out_pointer(lib.ferry_net_open, device._use(), encoded(prototxt), ctypes.byref(options))
        self._handle = Handle(pointer, lib.ferry_net_close, (device._use(),))
        self._loss = None
        if weights is not None:
            self.load(weights)

    @classmethod
    def _over(cls, handle):
        """A net over a handle that exists."""
        net = cls.__new__(cls)
        net._handle = handle
        net._loss = None
        return net

    def load(self, weights):
        """Loads weights by layer name; after a failure the net has those that it had."""
        lib.ferry_net_load(self._use(), encoded(weights), None)

    def save(self, path, format=None):  # pylint: disable=redefined-builtin
        """Keeps the parameters in a .caffemodel, .h5, .safetensors or .npz, by the path's suffix or the
        format's name ("hdf5"). The file replaces what was there in one step, or not at all."""
        lib.ferry_net_save(self._use(), encoded(path), lib.ferry_io_format_find(encoded(format or path)))

    def share(self, source):
        """Makes the parameters of equally named layers of another net this one's too: one memory."""
        lib.ferry_net_share(self._use(), source._use())

    # ---- what it has -----------------------------------------------------------------------------

    def _borrowed(self, pointer):
        return Blob._over(Handle(pointer, None, (self._use(),)), part=True)

    def _by_name(self, get, count):
        handle = self._use()
        pointers = (get(handle, i) for i in range(count(handle)))
        blobs = (self._borrowed(pointer) for pointer in pointers if pointer)
        return {blob.name: blob for blob in blobs}

    @property
    def inputs(self):
        """Blobs by name: tops of Input layers."""
        return self._by_name(lib.ferry_net_input_at, lib.ferry_net_input_count)

    @property
    def outputs(self):
        """Blobs by name: those that no layer consumes, less those that `only` leaves out."""
        return self._by_name(lib.ferry_net_output_at, lib.ferry_net_output_count)

    @property
    def blobs(self):
        """All blobs by name, in the order in which they are made, but for those whose contents were
        planned or fused away: see `keep`."""
        return self._by_name(lib.ferry_net_blob_at, lib.ferry_net_blob_count)

    @property
    def layers(self):
        """The names of the layers, in order."""
        handle = self._use()
        return [string(lib.ferry_layer_name(lib.ferry_net_layer_at(handle, i)))
                for i in range(lib.ferry_net_layer_count(handle))]

    @property
    def params(self):
        """The parameters: lists of blobs by the names of the layers that have some."""
        handle, out = self._use(), {}
        for i, layer in enumerate(self.layers):
            n = lib.ferry_net_param_count(handle, i)
            if n:
                out[layer] = [self._borrowed(lib.ferry_net_param_at(handle, i, k)) for k in range(n)]
        return out

    @property
    def device(self):
        """Where it is; `to` moves it."""
        handle = self._use()
        return Device(Handle(lib.ferry_net_device(handle), None, (handle,)))

    def to(self, device):
        """Moves the net: parameters now, other blobs at their next use."""
        lib.ferry_net_move_to(self._use(), device._use())

    # ---- what it does ----------------------------------------------------------------------------

    def reshape(self):
        """Brings everything to the shapes that the inputs now have; forward does so by itself."""
        lib.ferry_net_reshape(self._use())

    def forward(self, **inputs):
        """Computes every layer. Inputs are given by name, each taking on the shape of its array; what is
        not given keeps what it has. Returns new arrays of the outputs, by name."""
        handle, have = self._use(), self.inputs if inputs else {}
        for name, values in inputs.items():
            if name not in have:
                raise InvalidArgument(f"the net has no input {name!r}, but {', '.join(have) or 'none'}")
            values, blob = np.asarray(values), have[name]
            if blob.shape != values.shape:
                blob.reshape(values.shape)
            blob.data = values
        self._loss = out_double(lib.ferry_net_forward, handle)
        return {name: blob._copy() for name, blob in self.outputs.items()}

    @property
    def loss(self):
        """The loss of the latest forward, 0 for a net without one; None before the first."""
        return self._loss

    def forward_range(self, first=None, last=None):
        """Computes layers `first` to `last`, by name, from what their bottoms hold; the net keeps "*" or
        is in TRAIN. Returns the loss of those layers."""
        self._loss = out_double(lib.ferry_net_forward_range, self._use(), encoded(first), encoded(last))
        return self._loss

    def backward(self, first=None, last=None):
        """Computes diffs: those of blobs are overwritten, those of parameters added to; from layer `first`
        back to layer `last`, by name, where one is given."""
        lib.ferry_net_backward_range(self._use(), encoded(first), encoded(last))

    def clear_param_diffs(self):
        """Sets the diffs of all parameters to zeros."""
        lib.ferry_net_clear_param_diffs(self._use())

    def __repr__(self):
        if self.closed:
            return "<ferry.Net, closed>"
        return f"<ferry.Net of {lib.ferry_net_layer_count(self._use())} layers on {self.device.name}>"
