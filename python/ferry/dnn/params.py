# SPDX-License-Identifier: BSD-2-Clause
"""How images become a blob: Image2BlobParams."""

import numpy as np

from ._error import ASSERTION, BAD_ARGUMENT, made

# cv2's numbers of element types.
CV_8U, CV_32F = 0, 5

DNN_LAYOUT_UNKNOWN = 0
DNN_LAYOUT_ND = 1
DNN_LAYOUT_NCHW = 2
DNN_LAYOUT_NCDHW = 3
DNN_LAYOUT_NHWC = 4
DNN_LAYOUT_NDHWC = 5
DNN_LAYOUT_PLANAR = 6

DNN_PMODE_NULL = 0
DNN_PMODE_CROP_CENTER = 1
DNN_PMODE_LETTERBOX = 2


def scalar(values, function, argument="mean"):
    """A Scalar of cv2, 4 numbers, from a number or up to 4."""
    values = [values] if isinstance(values, (int, float, np.number)) else [] if values is None else list(values)
    if len(values) > 4:
        raise made(BAD_ARGUMENT, f"Scalar value for argument '{argument}' is longer than 4", function)
    return np.array([float(value) for value in values] + [0.0] * (4 - len(values)))


def number(value, default):
    """A float; None means the default."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{value!r} is not a number")
    return default if value is None else float(value)


def integers(values, count, argument, function):
    """A size or a rectangle: a tuple of `count` integers."""
    try:
        whole = tuple(int(value) for value in values if value == int(value))
    except (TypeError, ValueError):
        whole = ()
    if len(whole) != count:
        raise made(BAD_ARGUMENT, f"Can't parse '{argument}': {count} integers", function)
    return whole


def cover(image, size):
    """The float32 factor with which an image, (width, height), covers a size."""
    return max(np.float32(size[0]) / np.float32(image[0]), np.float32(size[1]) / np.float32(image[1]))


def letterbox(image, size):
    """The float32 factor with which an image fits into a size, and its position there: left, top, width,
    height."""
    factor = min(np.float32(size[0]) / np.float32(image[0]), np.float32(size[1]) / np.float32(image[1]))
    width, height = (int(np.float32(side) * factor) for side in image)
    return factor, ((size[0] - width) // 2, (size[1] - height) // 2, width, height)


class Image2BlobParams:
    """The parameters of blobFromImageWithParams. The blob is (image − mean) × scalefactor, with one mean and one
    factor for each channel; swapRB exchanges red and blue before. The image is first resized to `size`,
    as `paddingmode` selects: stretched (DNN_PMODE_NULL), cropped from the centre, or fitted into a border
    (DNN_PMODE_LETTERBOX) of `borderValue`, which has a value for each channel of the image."""

    def __init__(self, scalefactor=(1.0, 1.0, 1.0, 1.0), size=(0, 0), mean=(), swapRB=False, ddepth=CV_32F,
                 datalayout=DNN_LAYOUT_NCHW, mode=DNN_PMODE_NULL, borderValue=()):
        self._scalars, self._size = {}, (0, 0)
        self.scalefactor, self.size, self.mean, self.borderValue = scalefactor, size, mean, borderValue
        self.swapRB, self.ddepth, self.datalayout, self.paddingmode = bool(swapRB), ddepth, datalayout, mode

    @property
    def size(self):
        """Width and height of the blob; (0, 0) means the size of the first image."""
        return self._size

    @size.setter
    def size(self, size):
        self._size = integers(size, 2, "size", "Image2BlobParams")

    def blobRectToImageRect(self, rBlob, size):
        """Converts a rectangle of the blob, (x, y, width, height), to one of an image of that size, (width,
        height)."""
        rectangle = integers(rBlob, 4, "rBlob", "blobRectToImageRect")
        image = integers(size, 2, "size", "blobRectToImageRect")
        if min(*image, *self.size) <= 0:
            raise made(ASSERTION, f"size.width > 0 && size.height > 0; they are {image} and {self.size}",
                       "blobRectToImageRect")
        return tuple(map(int, self._in_image(np.array(rectangle, np.float32), image)))

    def blobRectsToImageRects(self, rBlob, size):
        """As blobRectToImageRect, for several rectangles: an array of n × 4 integers."""
        return np.array([self.blobRectToImageRect(one, size) for one in rBlob], np.int32).reshape(-1, 4)

    def _in_image(self, rectangle, image):
        """The corner and the sides, in float32 except for the corner of a crop, as OpenCV computes them."""
        if image == self.size:
            return rectangle
        sides = np.array(image, np.float32)
        if self.paddingmode == DNN_PMODE_CROP_CENTER:
            factor = cover(image, self.size)
            margin = 0.5 * (sides * factor - np.array(self.size, np.float32)).astype(np.float64)
            return [*((rectangle[:2] + margin) / factor), *(rectangle[2:] / factor)]
        if self.paddingmode == DNN_PMODE_LETTERBOX:
            factor, place = letterbox(image, self.size)
            return [*((rectangle[:2] - np.array(place[:2], np.float32)) / factor), *(rectangle[2:] / factor)]
        if self.paddingmode == DNN_PMODE_NULL:
            return rectangle * np.tile(sides, 2) / np.tile(np.array(self.size, np.float32), 2)
        raise made(BAD_ARGUMENT, f"Unknown padding mode {self.paddingmode}", "blobRectToImageRect")


def _of_four(name):
    def get(self):
        return tuple(self._scalars[name])

    def put(self, values):
        self._scalars[name] = scalar(values, "Image2BlobParams", name)

    return property(get, put)


for _name in "scalefactor", "mean", "borderValue":
    setattr(Image2BlobParams, _name, _of_four(_name))
