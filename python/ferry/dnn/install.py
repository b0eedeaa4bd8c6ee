# SPDX-License-Identifier: BSD-2-Clause
"""Adds the functions to an installed cv2."""

import functools
import os

from . import constants, custom, image, model, nms, params, read
from .net import Net

_MODELS = ("Model", "ClassificationModel", "DetectionModel", "KeypointsModel", "SegmentationModel")


def _is_ours(arguments):
    """Whether one of the arguments is a net of ferry, a file of a Caffe model (by its suffix), or "caffe"."""
    return any(isinstance(one, Net) or (isinstance(one, (str, os.PathLike)) and
                                        (read._is_caffe(one) or str(one).lower() == "caffe"))
               for one in arguments)


class _Either(type):
    """A class that creates ferry's objects for Caffe models, and cv2's for others."""

    def __call__(cls, *arguments, **named):
        kind = cls.ours if _is_ours([*arguments, *named.values()]) or cls.theirs is None else cls.theirs
        return kind(*arguments, **named)

    def __instancecheck__(cls, one):
        return isinstance(one, tuple(kind for kind in (cls.ours, cls.theirs) if kind))


def _either(ours, theirs):
    return _Either(ours.__name__, (), {"ours": ours, "theirs": theirs, "__doc__": ours.__doc__})


def _read_net(theirs):
    @functools.wraps(read.readNet)
    def readNet(*arguments, **named):
        if theirs is None or _is_ours([*arguments, *named.values()]):
            return read.readNet(*arguments, **named)
        return theirs(*arguments, **named)

    readNet.theirs = theirs
    return readNet


def _and(theirs, ours):
    """Returns a function that calls ferry's function, then that of cv2 if cv2 has it."""
    def both(*arguments, **named):
        given = list(arguments) + [named[name] for name in ("type", "class") if name in named]
        ours(*given)
        return theirs(*arguments, **named) if theirs else None

    both.theirs = theirs
    return both


def _add_layers(cv2):
    for name, ours in ("dnn_registerLayer", custom.registerLayer), ("dnn_unregisterLayer", custom.unregisterLayer):
        setattr(cv2, name, _and(getattr(cv2, name, None), ours))


def install():
    """Adds readNetFromCaffe to cv2.dnn, and the other functions of this package that cv2 does not have.
    cv2.dnn.readNet and the models then also accept Caffe models; cv2 still reads all other formats. A second
    call has no effect. Returns cv2."""
    try:
        import cv2  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ImportError("ferry.dnn.install: cv2 is not installed (pip: "
                          "opencv-python-headless); ferry.dnn itself works without it", name="cv2") from error
    dnn = cv2.dnn
    dnn.readNetFromCaffe = read.readNetFromCaffe
    if not hasattr(getattr(dnn, "readNet", None), "theirs"):
        dnn.readNet = _read_net(getattr(dnn, "readNet", None))
        for name in _MODELS:
            made = _either(getattr(model, name), getattr(dnn, name, None))
            setattr(dnn, name, made)
            setattr(cv2, "dnn_" + name, made)
        _add_layers(cv2)
    for module, names in ((constants, [name for name in dir(constants) if name.startswith("DNN_")]),
                          (params, [name for name in dir(params) if name.startswith("DNN_")] + ["Image2BlobParams"]),
                          (image, ("blobFromImage", "blobFromImages", "blobFromImageWithParams",
                                   "blobFromImagesWithParams", "imagesFromBlob")),
                          (nms, ("NMSBoxes", "NMSBoxesBatched", "softNMSBoxes"))):
        for name in names:
            if not hasattr(dnn, name):
                setattr(dnn, name, getattr(module, name))
    return cv2
