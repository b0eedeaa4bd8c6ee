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
    """A net from a prototxt (or a caffemodel with a definition), on a device.

    `weights` is a .caffemodel, .h5, .safetensors or .npz, loaded by layer name; without it fillers initialise
    the parameters. `phase` is "test", "train", or "default", the phase in the text. In TEST layers are fused
    and blobs share memory: only inputs, outputs and the blobs in `keep` are available afterwards; keep="*"
    keeps all. `plan=False` and `fuse=False` disable the sharing and the fusion. With `only`, layers that no
    blob in `keep` depends on are not computed. `backward` allows a backward pass in TEST. `place` puts layers
    on other devices ("conv*=opencl:0"). `level` and `stages` are those of the text's rules. `seed` is the
    seed of fillers and dropout; 0 means 1. Layers that write files (HDF5Output) may write only below the
    folder `allow_write`, and nowhere without it. With `precision` "bf16" convolutions and inner products, and
    values between layers, may be rounded to BF16 if that is faster on the device; with "f32" they do not; by default FERRY_PRECISION decides.
    With `reread_weights` weights of a .caffemodel or .h5 that are used only in packed form are not stored beside
    it, but read from the file again when they are needed, and packed forms are at most as large as the weights,
    for which some convolutions take longer (net.h: ferry_net_options).
    `text` replaces the contents of the file, whose path is then only a name. With `share_inputs` forward reads
    the caller's arrays without a copy: see there. With `plan_training` the blobs of a net that runs backward
    share memory too, data and diffs, as far as `keep` permits; each backward then requires a forward. With
    `recompute` backward also computes results of cheap operations again, instead of keeping them. With
    `fake_quantize` the net rounds, in F32, what nets with ranges compute with 8 bits, as training for them needs.

    Blobs of a net live as long as the net and keep it alive: they may outlive this object. One thread at a
    time may use a net."""

    def __init__(self, device, prototxt, weights=None, *, phase="test", keep=(), backward=False,
                 place=None, level=0, stages=(), seed=0, allow_write=None, text=None, plan=True, fuse=True,
                 only=False, precision=None, share_inputs=False, plan_training=False, reread_weights=False,
                 recompute=False, fake_quantize=False):
        if phase not in _abi.PHASES:
            raise InvalidArgument(f"phase {phase!r}: expected one of {', '.join(_abi.PHASES)}")
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
                                  precision=_abi.PRECISIONS[precision], plan_training=bool(plan_training),
                                  reread_weights=bool(reread_weights), recompute=bool(recompute),
                                  fake_quantize=bool(fake_quantize))
        pointer = out_pointer(lib.ferry_net_open, device._use(), encoded(prototxt), ctypes.byref(options))
        self._handle = Handle(pointer, lib.ferry_net_close, (device._use(),))
        self._loss = None
        self._shares = share_inputs
        if weights is not None:
            self.load(weights)

    @classmethod
    def _over(cls, handle):
        """A net over an existing handle."""
        net = cls.__new__(cls)
        net._handle = handle
        net._loss = None
        net._shares = False
        return net

    def load(self, weights):
        """Loads weights by layer name; after a failure the weights are as before."""
        lib.ferry_net_load(self._use(), encoded(weights), None)

    def save(self, path, format=None, integers=False):  # pylint: disable=redefined-builtin
        """Saves the parameters as .caffemodel, .h5, .safetensors or .npz, by the path's suffix or the
        format's name ("hdf5"). With `integers`, a caffemodel with the weights of quantized layers as
        integers of 8 bits, which only ferry reads. The file atomically replaces an existing one."""
        if integers:
            if lib.ferry_io_format_find(encoded(format or path)) != lib.ferry_io_format_find(b"caffemodel"):
                raise ValueError("integers are saved as caffemodel only")
            lib.ferry_net_save_integers(self._use(), encoded(path))
            return
        lib.ferry_net_save(self._use(), encoded(path), lib.ferry_io_format_find(encoded(format or path)))

    def share(self, source):
        """Shares the memory of the parameters of another net's equally named layers."""
        lib.ferry_net_share(self._use(), source._use())

    def close(self):
        """Closes the net; its blobs stay valid. A second call has no effect."""
        super().close()
        self._ends = None

    # ---- contents --------------------------------------------------------------------------------

    _ends = None  # the inputs and outputs that forward uses, which hold the net's handle

    def _borrowed(self, pointer):
        return Blob._over(Handle(pointer, None, (self._use(),)), part=True)

    def _by_name(self, get, count):
        handle = self._use()
        pointers = (get(handle, i) for i in range(count(handle)))
        blobs = (self._borrowed(pointer) for pointer in pointers if pointer)
        return {blob.name: blob for blob in blobs}

    @property
    def inputs(self):
        """Inputs by name: the tops of Input layers."""
        return self._by_name(lib.ferry_net_input_at, lib.ferry_net_input_count)

    @property
    def outputs(self):
        """Outputs by name: blobs that no layer consumes, except those that `only` excludes."""
        return self._by_name(lib.ferry_net_output_at, lib.ferry_net_output_count)

    @property
    def blobs(self):
        """All blobs by name, in the order of the layers, except those whose contents planning or fusion
        removed: see `keep`."""
        return self._by_name(lib.ferry_net_blob_at, lib.ferry_net_blob_count)

    @property
    def layers(self):
        """The names of the layers, in order."""
        handle = self._use()
        return [string(lib.ferry_layer_name(lib.ferry_net_layer_at(handle, i)))
                for i in range(lib.ferry_net_layer_count(handle))]

    @property
    def params(self):
        """The parameters: lists of blobs by layer name, for the layers that have parameters."""
        handle, out = self._use(), {}
        for i, layer in enumerate(self.layers):
            n = lib.ferry_net_param_count(handle, i)
            if n:
                out[layer] = [self._borrowed(lib.ferry_net_param_at(handle, i, k)) for k in range(n)]
        return out

    @property
    def device(self):
        """The net's device; `to` changes it."""
        handle = self._use()
        return Device(Handle(lib.ferry_net_device(handle), None, (handle,)))

    def to(self, device):
        """Moves the net: parameters now, other blobs at their next use."""
        lib.ferry_net_move_to(self._use(), device._use())

    # ---- passes ----------------------------------------------------------------------------------

    def reshape(self):
        """Propagates the shapes of the inputs to all blobs; forward does this when needed."""
        lib.ferry_net_reshape(self._use())

    def forward(self, **inputs):
        """Runs all layers. Keyword arguments are inputs by name; each input gets the shape of its array, and
        other inputs keep their contents. Returns new arrays of the outputs, by name.

        If the net has share_inputs=True, contiguous arrays of the blob's dtype are read in place, and no
        reference to them is kept. The input's blob has no contents afterwards: reading it, or a pass that
        needs it, raises Lost until it is written or passed again. Earlier arrays of the blob's data become
        invalid."""
        handle, shared = self._use(), []
        if not self._ends:
            self._ends = self.inputs, self.outputs
        have, outputs = self._ends
        try:
            for name, values in inputs.items():
                if name not in have:
                    raise InvalidArgument(f"the net has no input {name!r}, but {', '.join(have) or 'none'}")
                values, blob = np.asarray(values), have[name]
                if blob.shape != values.shape:
                    blob.reshape(values.shape)
                memory = blob._share(values) if self._shares else None
                if memory is None:
                    blob.data = values
                else:
                    shared.append((memory, values))  # which keeps an array made by asarray
            self._loss = out_double(lib.ferry_net_forward, handle)
        finally:
            for memory, values in shared:
                Blob._unshare(memory, values.nbytes)
        return {name: blob._copy() for name, blob in outputs.items()}

    @property
    def loss(self):
        """The loss of the latest forward pass; 0 for a net without one, None before the first pass."""
        return self._loss

    def forward_range(self, first=None, last=None):
        """Runs layers `first` to `last`, by name, on the current contents of their bottoms; the net must keep
        "*" or be in TRAIN. Returns the loss of those layers."""
        self._loss = out_double(lib.ferry_net_forward_range, self._use(), encoded(first), encoded(last))
        return self._loss

    def backward(self, first=None, last=None):
        """Runs the backward pass: overwrites the diffs of blobs and adds to those of parameters. `first` and
        `last`, by name, limit it to the layers from `first` back to `last`."""
        lib.ferry_net_backward_range(self._use(), encoded(first), encoded(last))

    def clear_param_diffs(self):
        """Sets the diffs of all parameters to zeros."""
        lib.ferry_net_clear_param_diffs(self._use())

    def __repr__(self):
        if self.closed:
            return "<ferry.Net, closed>"
        return f"<ferry.Net of {lib.ferry_net_layer_count(self._use())} layers on {self.device.name}>"
