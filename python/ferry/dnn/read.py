# SPDX-License-Identifier: BSD-2-Clause
"""Reads nets from files, or from their contents."""

import os
import tempfile

import numpy as np

from .._errors import Error, IOFailed
from ._error import BAD_ARGUMENT, ERROR, arguments_in_cv2s_form, made, of_ferry
from ._forms import overloaded
from .net import Net


def _bytes(value):
    """The content of a buffer; None for a path. Bytes are a path if a file has that name, as in cv2,
    otherwise content."""
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, np.ndarray):
        return value.astype(np.uint8, casting="equiv").tobytes()
    if isinstance(value, bytes) and (b"\0" in value or not os.path.exists(value)):
        return value
    return None


def _text_of(prototxt):
    """The text, and its name in errors."""
    held = _bytes(prototxt)
    if held is not None:
        return held, "prototxt"
    try:
        with open(prototxt, "rb") as file:
            return file.read(), os.fsdecode(prototxt)
    except OSError as error:
        raise made(ERROR, f"FAILED: fs.is_open(). Can't open \"{os.fsdecode(prototxt)}\": {error.strerror}",
                   "readNetFromCaffe") from error


def _path_of(model):
    """A path from which the weights can be read, or None, and the object that must exist until then, or None."""
    held = None if model is None else _bytes(model)
    if held is None:
        return os.fsdecode(model) if model else None, None
    if not held:
        return None, None
    content = _Content(held)
    return content.path, content


class _Content:
    """Stores the content of a model under a path that is valid as long as this object exists."""

    def __init__(self, held):
        if hasattr(os, "memfd_create"):
            self._file = os.fdopen(os.memfd_create("ferry.dnn"), "wb")
            self.path = f"/proc/self/fd/{self._file.fileno()}"
        else:
            self._file = tempfile.NamedTemporaryFile("wb")
            self.path = self._file.name
        self._file.write(held)
        self._file.flush()

    def __del__(self):
        self._file.close()


_PATHS = (str, bytes, os.PathLike)


@arguments_in_cv2s_form
def readNetFromCaffe(prototxt=None, caffeModel=None, *, bufferProto=None, bufferModel=None):
    """Reads a net from a prototxt and a caffemodel: paths, or their contents as bytearray, bytes or an array
    of uint8."""
    prototxt = bufferProto if prototxt is None else prototxt
    caffeModel = bufferModel if caffeModel is None else caffeModel
    for value in (prototxt, "" if caffeModel is None else caffeModel):
        if not isinstance(value, (*_PATHS, bytearray, memoryview, np.ndarray)):
            raise made(BAD_ARGUMENT, "Expected 'prototxt' to be a str or path-like object, or a buffer",
                       "readNetFromCaffe")
    text, name = _text_of(prototxt)
    path, content = _path_of(caffeModel)
    try:
        return Net()._read(text, name, path, content)
    except Error as raised:
        if content:
            raised = type(raised)(str(raised).replace(path, "caffeModel"))
        if isinstance(raised, IOFailed):
            raise made(ERROR, f"FAILED: fs.is_open(). {raised}", "readNetFromCaffe") from raised
        raise of_ferry(raised, "readNetFromCaffe") from raised


def _is_caffe(path):
    return isinstance(path, _PATHS) and os.fsdecode(path).endswith((".caffemodel", ".prototxt"))


@arguments_in_cv2s_form
@overloaded("framework bufferModel [bufferConfig]")
def readNet(model, config="", framework=""):
    """Reads a Caffe model from its files, in either order; or readNet("caffe", bufferModel, bufferConfig).
    Formats other than Caffe's are an error."""
    if not isinstance(model, str) or not isinstance(config, _PATHS) or model == "caffe":
        if str(model).lower() != "caffe":
            raise made(ERROR, f"Cannot determine an origin framework of files: {model}", "readNet")
        return readNetFromCaffe(framework if len(framework) else bytearray(), config)
    if str(framework).lower() != "caffe" and not (_is_caffe(model) or _is_caffe(config)):
        raise made(ERROR, f"Cannot determine an origin framework of files: {model} {config}", "readNet")
    if os.fsdecode(model).endswith(".prototxt") or os.fsdecode(config).endswith(".caffemodel"):
        model, config = config, model
    return readNetFromCaffe(config, model or None)
