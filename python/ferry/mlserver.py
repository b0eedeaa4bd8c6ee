# SPDX-License-Identifier: BSD-2-Clause
"""A runtime for MLServer: Caffe nets served by the KServe v2 protocol, over HTTP and gRPC.

model-settings.json, beside the net:

    {"name": "lenet", "implementation": "ferry.mlserver.FerryModel",
     "parameters": {"uri": ".", "extra": {"device": "cpu"}}}

`uri` is a folder with net.prototxt (or one other .prototxt) and one file of weights, or the path of the
definition. `extra` may contain `device` (as FERRY_BACKEND), `place` (as of `ferry run`), `weights`, a file in
the same folder, and `keep`, a list of blobs that requests may ask for besides the outputs.

Axis 0 of an input is the batch, so MLServer's adaptive batching (`max_batch_size`, `max_batch_time`) combines
requests. A net runs one batch at a time; `parallel_workers` of MLServer's settings are processes, each with
its own nets. A failed request is answered with ferry's message; the model stays loaded."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError, MLServerError
from mlserver.types import InferenceResponse, MetadataTensor, RequestOutput
from mlserver.utils import get_model_uri

from . import _errors
from ._net import Net
from ._runtime import Runtime

__all__ = ["FerryModel"]

WEIGHTS = (".caffemodel", ".h5", ".npz", ".safetensors")
EXTRAS = ("device", "place", "weights", "keep")
DATATYPES = {"float32": "FP32", "float64": "FP64", "float16": "FP16", "int8": "INT8", "uint8": "UINT8",
             "int32": "INT32", "int64": "INT64", "uint32": "UINT32"}
#: Errors that a request causes; all others are errors of the device or the server.
OF_REQUESTS = (_errors.InvalidArgument, _errors.ShapeMismatch, _errors.Overflow, _errors.Unsupported)


def _one(folder, suffixes, kind):
    """The path of the only file with one of those suffixes; None if there is none."""
    found = sorted(n for n in os.listdir(folder) if n.endswith(suffixes) and not n.startswith("."))
    if len(found) > 1:
        raise MLServerError(f"{folder} has several files of {kind}: {', '.join(found)}", 422)
    return os.path.join(folder, found[0]) if found else None


def _find(path, weights):
    """Definition and weights of a model, from its path and the setting `weights`."""
    if os.path.isdir(path):
        folder = path
        path = _one(folder, (".prototxt",), "definitions")
        if not path:
            raise MLServerError(f"{folder}: there is no net.prototxt and no other .prototxt", 422)
    folder = os.path.dirname(path)
    if weights is None:
        return path, _one(folder, WEIGHTS, "weights")
    if os.path.basename(weights) != weights or not os.path.isfile(os.path.join(folder, weights)):
        raise MLServerError(f"weights {weights!r}: the name of a file in {folder}", 422)
    return path, os.path.join(folder, weights)


def _metadata(blobs):
    """Names, types and shapes of blobs; axis 0 has any size."""
    return [MetadataTensor(name=name, datatype=DATATYPES[str(blob.dtype)],
                           shape=[-1, *blob.shape[1:]]) for name, blob in blobs.items()]


class FerryModel(MLModel):
    """A Caffe net in MLServer; the module's documentation lists its settings."""

    _thread = _net = None

    async def load(self):
        path = await get_model_uri(self.settings, wellknown_filenames=["net.prototxt"])
        self._thread = ThreadPoolExecutor(1, "ferry")  # a net is used by one thread at a time
        await self._on_thread(self._open, path)
        return True

    async def unload(self):
        if self._net:  # MLServer also unloads a model whose loading failed
            await self._on_thread(self._net.close)
        if self._thread:
            self._thread.shutdown()
        return True

    async def predict(self, payload):
        arrays = {entry.name: self._decoded(entry) for entry in payload.inputs}
        wanted = [entry.name for entry in payload.outputs or ()] or self._outputs
        for name in wanted:
            if name not in self._readable:
                raise InferenceError(f"output {name!r}: the net has {', '.join(self._readable)}")
        missing = self._inputs.keys() - arrays.keys()
        if missing:
            raise InferenceError(f"input {min(missing)!r} is missing")
        found = await self._on_thread(self._run, arrays, wanted)
        asked = {entry.name: entry for entry in payload.outputs or ()}
        return InferenceResponse(
            id=payload.id, model_name=self.name, model_version=self.version,
            outputs=[self.encode(array, asked.get(name, RequestOutput(name=name)), NumpyCodec)
                     for name, array in found.items()])

    # ---- on the net's thread ---------------------------------------------------------------------

    def _on_thread(self, work, *arguments):
        return asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def _open(self, path):
        extra = (self.settings.parameters.extra if self.settings.parameters else None) or {}
        for key in extra:
            if key not in EXTRAS:
                raise MLServerError(f"extra {key!r} is unknown: expected one of {', '.join(EXTRAS)}", 422)
        definition, weights = _find(path, extra.get("weights"))
        device = Runtime(backend=extra.get("device")).device()
        keep = list(extra.get("keep", ()))
        self._net = Net(device, definition, weights, place=extra.get("place"), keep=keep)
        self._net.reshape()
        self._inputs, self._outputs = self._net.inputs, list(self._net.outputs)
        self._readable = self._outputs + [name for name in keep if name not in self._outputs]
        if not self.inputs:
            self.inputs = _metadata(self._inputs)
        if not self.outputs:
            self.outputs = _metadata(self._net.outputs)

    def _run(self, arrays, wanted):
        try:
            outputs = self._net.forward(**arrays)
        except OF_REQUESTS as error:
            raise InferenceError(str(error)) from None
        except _errors.Error as error:
            raise MLServerError(str(error), 503) from None
        blobs = self._net.blobs
        return {name: outputs[name] if name in outputs else np.array(blobs[name].data)
                for name in wanted}

    # ---- requests --------------------------------------------------------------------------------

    def _decoded(self, entry):
        """The array of an input, checked against the net's input."""
        if entry.name not in self._inputs:
            raise InferenceError(f"input {entry.name!r}: the net has {', '.join(self._inputs)}")
        try:
            array = np.asarray(self.decode(entry, default_codec=NumpyCodec))
        except Exception as error:  # the codecs' exceptions have no common class
            raise InferenceError(f"input {entry.name!r}: {error}") from None
        blob = self._inputs[entry.name]
        wanted = blob.dtype
        if array.dtype != wanted:
            raise InferenceError(f"input {entry.name!r}: {array.dtype}, the net takes {wanted}")
        if array.ndim != len(blob.shape) or array.size == 0:
            raise InferenceError(f"input {entry.name!r}: shape {list(array.shape)}, the net takes "
                                 f"{[-1, *blob.shape[1:]]}")
        return array
