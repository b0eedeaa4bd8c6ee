# SPDX-License-Identifier: BSD-2-Clause
"""caffe.io: pictures, their preprocessing, and Caffe's messages of arrays."""

import importlib

import numpy as np

from .. import _blob, _errors
from .._library import lib, text
from . import _state


def __getattr__(name):
    """Imports caffe_pb2 and skimage, which pycaffe's io contains, when a script requests them."""
    if name == "caffe_pb2":
        return _messages()
    if name == "skimage":
        return _scikit_image()
    raise AttributeError(f"module 'caffe.io' has no {name!r}")


def _scikit_image():
    try:
        for part in ("skimage.io", "skimage.transform"):
            importlib.import_module(part)
        return importlib.import_module("skimage")
    except ImportError as error:
        raise ImportError("caffe.io.skimage needs scikit-image (Debian: python3-skimage, pip: scikit-image)",
                          name="skimage") from error

# ---- messages -----------------------------------------------------------------------------------------------


def _messages():
    from .proto import caffe_pb2  # pylint: disable=import-outside-toplevel
    return caffe_pb2


def blobproto_to_array(blob, return_diff=False):
    """The values of a BlobProto, or its diff, in its shape; ValueError if there are none, or they do not fit
    the shape."""
    values = np.array(blob.diff if return_diff else blob.data, np.float32)
    if any(blob.HasField(name) for name in ("num", "channels", "height", "width")):
        return values.reshape(blob.num, blob.channels, blob.height, blob.width)
    return values.reshape(tuple(blob.shape.dim))


def array_to_blobproto(arr, diff=None):
    """A BlobProto with an array's values, and optionally a diff."""
    blob = _messages().BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(np.asarray(arr, np.float64).ravel().tolist())
    if diff is not None:
        blob.diff.extend(np.asarray(diff, np.float64).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arraylist):
    """The bytes of a BlobProtoVector of several arrays."""
    vector = _messages().BlobProtoVector()
    vector.blobs.extend([array_to_blobproto(array) for array in arraylist])
    return vector.SerializeToString()


def blobprotovector_str_to_arraylist(str):  # pylint: disable=redefined-builtin
    """The arrays of a BlobProtoVector's bytes."""
    vector = _messages().BlobProtoVector()
    vector.ParseFromString(str)
    return [blobproto_to_array(blob) for blob in vector.blobs]


def array_to_datum(arr, label=None):
    """Returns a Datum of channels × height × width. Its values are bytes if the array is uint8, otherwise floats."""
    if arr.ndim != 3:
        raise ValueError(f"a datum has 3 axes, but the array has {arr.ndim}")
    datum = _messages().Datum()
    datum.channels, datum.height, datum.width = arr.shape
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(np.asarray(arr, np.float64).ravel().tolist())
    if label is not None:
        datum.label = int(label)
    return datum


def datum_to_array(datum):
    """The array of a Datum; its label is datum.label."""
    shape = datum.channels, datum.height, datum.width
    if datum.data:
        return np.frombuffer(datum.data, np.uint8).reshape(shape).copy()
    return np.array(datum.float_data, np.float64).reshape(shape)


# ---- pictures -----------------------------------------------------------------------------------------------

def load_image(filename, color=True):
    """Reads a .png or .jpg file. Returns height × width × 3 floats from 0 to 1 in the order RGB, or height ×
    width × 1 if color is False."""
    blob = _blob.Blob(_state.runtime().device("cpu") if _has_cpu() else _state.device(), None, "uint8")
    lib.ferry_image_read(text(filename), 3 if color else 1, blob._use())
    planes = blob.data.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray((planes[::-1] if color else planes).transpose(1, 2, 0))


def _has_cpu():
    try:
        _state.runtime().device("cpu")
    except _errors.Error:
        return False
    return True


def _corners(old, new):
    """For each of `new` pixels along an axis of `old`: the numbers of its two neighbours, and the fraction
    between them. Neighbours outside the axis have number −1."""
    at = (np.arange(new) + 0.5) * (old / new) - 0.5
    low = np.floor(at).astype(int)
    part = (at - low).astype(np.float32)
    both = np.stack([low, low + (part > 0)])
    return np.where((both < 0) | (both >= old), -1, both), part


def _nearest(im, new_dims):
    rows, columns = (np.clip(np.rint((np.arange(new) + 0.5) * (old / new) - 0.5).astype(int), 0, old - 1)
                     for old, new in zip(im.shape[:2], new_dims))
    return im[rows[:, None], columns]


def _bilinear(im, new_dims, outside):
    """Interpolates between pixels' centres; pixels outside have the value `outside`."""
    padded = np.pad(im, [(0, 1), (0, 1), (0, 0)], constant_values=outside)  # −1 is the last element
    (rows, down), (columns, along) = (_corners(old, new) for old, new in zip(im.shape[:2], new_dims))
    down = down[:, None, None]
    mixed = padded[rows[0]] * (1 - down) + padded[rows[1]] * down
    along = along[:, None]
    return mixed[:, columns[0]] * (1 - along) + mixed[:, columns[1]] * along


def resize_image(im, new_dims, interp_order=1):
    """Resizes a picture, height × width × channels, to float32: interpolates between pixels' centres, without
    smoothing first. In pictures of 1 and 3 channels the pixels outside have the picture's least value, as in
    pycaffe, which is visible at the edges of an enlarged picture; in others the edge is repeated.
    interp_order 0 is the nearest pixel, 1 is bilinear; other values raise Unsupported."""
    if interp_order not in (0, 1):
        raise _errors.Unsupported(f"resize_image: interp_order {interp_order}: expected 0 or 1")
    im = np.asarray(im, np.float32)
    new_dims = tuple(int(side) for side in new_dims)
    if interp_order == 0:
        return _nearest(im, new_dims)
    if im.shape[-1] in (1, 3):
        return _bilinear(im, new_dims, im.min()).astype(np.float32)
    return _zoomed(im, new_dims).astype(np.float32)


def _zoomed(im, new_dims):
    """Interpolates with aligned corners: used for pictures with other numbers of channels than 1 and 3."""
    for axis, new in enumerate(new_dims):
        old = im.shape[axis]
        at = np.linspace(0, old - 1, new) if new > 1 else np.zeros(1)
        low = np.minimum(at.astype(int), max(old - 2, 0))
        part = (at - low).reshape((-1,) + (1,) * (im.ndim - axis - 1))
        im = im.take(low, axis) * (1 - part) + im.take(np.minimum(low + 1, old - 1), axis) * part
    return im


def oversample(images, crop_dims):
    """The four corners and the centre of each picture, and their mirror images: 10 × N crops."""
    height, width = images[0].shape[:2]
    rows, columns = int(crop_dims[0]), int(crop_dims[1])
    at = [(i, j) for i in (0, height - rows) for j in (0, width - columns)]
    at.append((int(height / 2.0 - rows / 2.0), int(width / 2.0 - columns / 2.0)))
    crops = [[im[i:i + rows, j:j + columns] for i, j in at] for im in images]
    return np.array([crop for five in crops for crop in five + [one[:, ::-1] for one in five]], np.float32)


# ---- preprocessing ------------------------------------------------------------------------------------------

class Transformer:
    """Converts pictures to inputs of a net: Transformer({"data": net.blobs["data"].data.shape}). The steps
    are, in this order: resizing, transposition, reordering of channels, times raw_scale, minus the mean,
    times input_scale."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.transpose, self.channel_swap, self.raw_scale = {}, {}, {}
        self.mean, self.input_scale = {}, {}

    def _shape(self, in_):
        if in_ not in self.inputs:
            raise _errors.InvalidArgument(f"{in_!r} is not an input; the inputs are {', '.join(self.inputs)}")
        return tuple(self.inputs[in_])

    def preprocess(self, in_, data):
        """Converts a picture, height × width × channels, to channels × height × width float32 for the net."""
        size = self._shape(in_)[2:]
        made = np.asarray(data).astype(np.float32)
        if made.shape[:2] != size:
            made = resize_image(made, size)
        if in_ in self.transpose:
            made = made.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            made = made[list(self.channel_swap[in_])]
        made = made * np.float32(self.raw_scale.get(in_, 1))
        if in_ in self.mean:
            made -= self.mean[in_]
        return made * np.float32(self.input_scale.get(in_, 1))

    def deprocess(self, in_, data):
        """The reverse of preprocess, except for the size."""
        self._shape(in_)
        made = np.array(data, np.float32).squeeze() / np.float32(self.input_scale.get(in_, 1))
        if in_ in self.mean:
            made += self.mean[in_]
        made = made / np.float32(self.raw_scale.get(in_, 1))
        if in_ in self.channel_swap:
            made = made[np.argsort(self.channel_swap[in_])]
        return made.transpose(np.argsort(self.transpose[in_])) if in_ in self.transpose else made

    def set_transpose(self, in_, order):
        """Sets the order of the axes: (2, 0, 1) converts height × width × channels to channels × height × width."""
        if len(order) != len(self._shape(in_)) - 1:
            raise _errors.InvalidArgument(f"set_transpose: {len(order)} axes for those of {self._shape(in_)[1:]}")
        self.transpose[in_] = tuple(order)

    def set_channel_swap(self, in_, order):
        """Sets the order of the channels: (2, 1, 0) converts RGB to BGR."""
        if len(order) != self._shape(in_)[1]:
            raise _errors.InvalidArgument(f"set_channel_swap: {len(order)} channels for {self._shape(in_)[1]}")
        self.channel_swap[in_] = tuple(order)

    def set_raw_scale(self, in_, scale):
        """Sets the factor by which values are multiplied before the mean is subtracted: 255 for pictures from
        0 to 1."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_, mean):
        """Sets the mean, which is subtracted: one value for each channel, or channels × height × width,
        resized to fit."""
        shape = self._shape(in_)[1:]
        mean = np.asarray(mean)
        if mean.ndim == 1:
            if len(mean) != shape[0]:
                raise ValueError(f"set_mean: {len(mean)} values for {shape[0]} channels")
            mean = mean[:, None, None]
        else:
            if mean.ndim not in (2, 3):
                raise ValueError(f"set_mean: a mean of shape {mean.shape}")
            whole = mean if mean.ndim == 3 else mean[None]
            if whole.shape != shape:
                mean = resize_image(whole.transpose(1, 2, 0), shape[1:]).transpose(2, 0, 1)
        self.mean[in_] = mean.astype(np.float32)

    def set_input_scale(self, in_, scale):
        """Sets the factor by which values are multiplied last."""
        self._shape(in_)
        self.input_scale[in_] = scale
