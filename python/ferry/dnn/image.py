# SPDX-License-Identifier: BSD-2-Clause
"""Images into blobs and back."""

import numpy as np

from ._error import ASSERTION, BAD_ARGUMENT, ERROR, made
from ._resize import resized

# cv2's numbers of element types.
CV_8U, CV_32F = 0, 5


def scalar(values, function, argument="mean"):
    """A Scalar of cv2's, 4 numbers, from a number or up to 4."""
    values = [values] if isinstance(values, (int, float, np.number)) else list(values)
    if len(values) > 4:
        raise made(BAD_ARGUMENT, f"Scalar value for argument '{argument}' is longer than 4", function)
    return np.array([float(value) for value in values] + [0.0] * (4 - len(values)))


def _checked(image, function):
    if not isinstance(image, np.ndarray):
        raise made(BAD_ARGUMENT, "image is not a numpy array", function)
    if image.dtype.kind not in "uif" or image.dtype == np.float16:
        raise made(BAD_ARGUMENT, f"images of {image.dtype} are not supported", function)
    if image.ndim not in (2, 3):
        raise made(ASSERTION, f"image.shape == 2; its shape is {image.shape}", function)
    channels = image.shape[2] if image.ndim == 3 else 1
    if channels not in (1, 3, 4):
        raise made(ASSERTION, f"channels == 1 || channels == 3 || channels == 4; they are {channels}", function)
    if image.dtype not in (np.uint8, np.uint16, np.int8, np.int16, np.float32, np.float64):
        image = image.astype(np.float32 if image.dtype.itemsize <= 2 else np.float64)
    return image if image.ndim == 3 else image[:, :, None]


def _fitted(image, size, crop, function):
    """An image in another size: stretched, or scaled so that it covers the size and cropped from the centre."""
    width, height = size
    rows, columns = image.shape[:2]
    if (rows, columns) == (height, width):
        return image
    if width <= 0 or height <= 0:
        raise made(ASSERTION, f"size.width > 0 && size.height > 0; it is {width} x {height}", function)
    if not crop:
        return resized(image, width, height)
    factor = float(max(np.float32(width) / np.float32(columns), np.float32(height) / np.float32(rows)))
    image = resized(image, round(columns * factor), round(rows * factor), factor)
    top, left = int(0.5 * (image.shape[0] - height)), int(0.5 * (image.shape[1] - width))
    return image[top:top + height, left:left + width]


def _size(size, function):
    try:
        width, height = (int(side) for side in size if side == int(side))
    except (TypeError, ValueError):
        raise made(BAD_ARGUMENT, "Can't parse 'size': two integers, width and height", function) from None
    return width, height


def _check_depth(ddepth, scalefactor, mean, function):
    if ddepth not in (CV_32F, CV_8U):
        raise made(ERROR, "Blob depth should be CV_32F or CV_8U", function)
    if ddepth == CV_8U and scalefactor != 1:
        raise made(ASSERTION, "Scaling is not supported for CV_8U blob depth", function)
    if ddepth == CV_8U and mean.any():
        raise made(ASSERTION, "Mean subtraction is not supported for CV_8U blob depth", function)


def _fill(planes, image, scalefactor, mean, swap):
    """Writes an image into channels × height × width."""
    order = [2, 1, 0, 3] if swap and len(planes) > 1 else [0, 1, 2, 3]
    for k, plane in enumerate(planes):
        np.copyto(plane, image[:, :, order[k]], casting="unsafe")
        value = mean[k]
        if value:
            plane -= plane.dtype.type(value)
        if scalefactor != 1:
            plane *= plane.dtype.type(scalefactor)


def _blob(images, scalefactor, size, mean, swapRB, crop, ddepth, function):
    if not images:
        raise made(ASSERTION, "!images.empty()", function)
    scalefactor, mean = float(scalefactor), scalar(mean, function)
    ddepth = CV_32F if ddepth < 0 else ddepth
    _check_depth(ddepth, scalefactor, mean, function)
    images = [_checked(image, function) for image in images]
    first = images[0]
    if any(image.shape[2] != first.shape[2] or image.dtype != first.dtype for image in images):
        raise made(ASSERTION, "images[k].channels() == images[0].channels() && images[k].depth() == "
                   "images[0].depth()", function)
    width, height = _size(size, function)
    width, height = (width, height) if (width, height) != (0, 0) else (first.shape[1], first.shape[0])
    images = [_fitted(image, (width, height), crop, function) for image in images]
    blob = np.empty((len(images), first.shape[2], height, width), np.float32 if ddepth == CV_32F else np.uint8)
    for planes, image in zip(blob, images):
        _fill(planes, image, scalefactor, mean, swapRB)
    return blob


def blobFromImage(image, scalefactor=1.0, size=(0, 0), mean=(), swapRB=False, crop=False, ddepth=CV_32F):
    """A blob, 1 × channels × height × width, of an image: resized, (image − mean) × scalefactor."""
    if isinstance(image, np.ndarray) and not image.size:
        return None
    return _blob([image], scalefactor, size, mean, swapRB, crop, ddepth, "blobFromImage")


def blobFromImages(images, scalefactor=1.0, size=(0, 0), mean=(), swapRB=False, crop=False, ddepth=CV_32F):
    """The same of several images, in the size that is given or that the first has."""
    return _blob(list(images), scalefactor, size, mean, swapRB, crop, ddepth, "blobFromImages")


def imagesFromBlob(blob_, images_=None):
    """The images of a blob, height × width × channels, or height × width of one channel."""
    if not isinstance(blob_, np.ndarray) or blob_.dtype != np.float32:
        raise made(ASSERTION, "blob_.depth() == CV_32F", "imagesFromBlob")
    if blob_.ndim != 4:
        raise made(ASSERTION, "blob_.shape == 4", "imagesFromBlob")
    made_of = (np.ascontiguousarray(planes.transpose(1, 2, 0)) for planes in blob_)
    images = tuple(image[:, :, 0] if image.shape[2] == 1 else image for image in made_of)
    if images_ is not None:
        images_[:] = images
    return images
