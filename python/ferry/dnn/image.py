# SPDX-License-Identifier: BSD-2-Clause
"""Conversion of images to blobs and back."""

import numpy as np

from ._error import ASSERTION, BAD_ARGUMENT, BAD_FORMAT, ERROR, arguments_in_cv2s_form, made
from ._forms import overloaded
from ._resize import resized, saturated
from .params import (CV_8U, CV_32F, DNN_LAYOUT_NCHW, DNN_LAYOUT_NHWC, DNN_PMODE_CROP_CENTER, DNN_PMODE_LETTERBOX,
                     DNN_PMODE_NULL, Image2BlobParams, cover, integers, letterbox, number, scalar)


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


def _bordered(image, size, border, function):
    """Scales an image so that it fits into a size, in the middle of a border."""
    _, (left, top, width, height) = letterbox((image.shape[1], image.shape[0]), size)
    if width <= 0 or height <= 0:
        raise made(ASSERTION, f"inv_scale_x > 0 && inv_scale_y > 0; the image would be {width} x {height}", function)
    whole = np.empty((size[1], size[0], image.shape[2]), image.dtype)
    whole[:] = saturated(border[:image.shape[2]], image.dtype)
    whole[top:top + height, left:left + width] = resized(image, width, height)
    return whole


def _fitted(image, size, params, function):
    """Resizes an image by the mode of the parameters."""
    width, height = size
    rows, columns = image.shape[:2]
    if (rows, columns) == (height, width):
        return image
    if width <= 0 or height <= 0:
        raise made(ASSERTION, f"size.width > 0 && size.height > 0; it is {width} x {height}", function)
    if params.paddingmode == DNN_PMODE_LETTERBOX:
        return _bordered(image, size, np.array(params.borderValue), function)
    if params.paddingmode != DNN_PMODE_CROP_CENTER:
        return resized(image, width, height)
    factor = float(cover((columns, rows), size))
    image = resized(image, round(columns * factor), round(rows * factor), factor)
    top, left = int(0.5 * (image.shape[0] - height)), int(0.5 * (image.shape[1] - width))
    return image[top:top + height, left:left + width]


def _check(params, function):
    depth = params.ddepth
    if depth not in (CV_32F, CV_8U):
        raise made(ERROR, "Blob depth should be CV_32F or CV_8U", function)
    if depth == CV_8U and params.scalefactor != (1, 1, 1, 1):
        raise made(ASSERTION, "Scaling is not supported for CV_8U blob depth", function)
    if depth == CV_8U and any(params.mean):
        raise made(ASSERTION, "Mean subtraction is not supported for CV_8U blob depth", function)
    if params.datalayout not in (DNN_LAYOUT_NCHW, DNN_LAYOUT_NHWC):
        raise made(BAD_FORMAT, "Unsupported data layout in blobFromImagesWithParams function.", function)


def _fill(planes, image, params):
    """Writes an image into channels × height × width."""
    order = [2, 1, 0, 3] if params.swapRB and len(planes) > 1 else [0, 1, 2, 3]
    for k, plane in enumerate(planes):
        np.copyto(plane, image[:, :, order[k]], casting="unsafe")
        value, factor = params.mean[k], params.scalefactor[k]
        if value:
            plane -= plane.dtype.type(value)
        if factor != 1:
            plane *= plane.dtype.type(factor)


def _blob(images, params, function):
    if not images:
        raise made(ASSERTION, "!images.empty()", function)
    _check(params, function)
    images = [_checked(image, function) for image in images]
    first = images[0]
    if not all(image.size for image in images):
        raise made(ASSERTION, "!images[k].empty()", function)
    if any(image.shape[2] != first.shape[2] or image.dtype != first.dtype for image in images):
        raise made(ASSERTION, "images[k].channels() == images[0].channels() && images[k].depth() == "
                   "images[0].depth()", function)
    width, height = params.size if params.size != (0, 0) else (first.shape[1], first.shape[0])
    images = [_fitted(image, (width, height), params, function) for image in images]
    kind = np.float32 if params.ddepth == CV_32F else np.uint8
    if params.datalayout == DNN_LAYOUT_NHWC:
        blob = np.empty((len(images), height, width, first.shape[2]), kind)
        planes = blob.transpose(0, 3, 1, 2)
    else:
        planes = blob = np.empty((len(images), first.shape[2], height, width), kind)
    for one, image in zip(planes, images):
        _fill(one, image, params)
    return blob


def _params(scalefactor, size, mean, swapRB, crop, ddepth, function):
    """The value of an argument; None means its default, as in cv2."""
    size = integers((0, 0) if size is None else size, 2, "size", function)
    ddepth = CV_32F if ddepth is None or ddepth < 0 else ddepth
    return Image2BlobParams([number(scalefactor, 1.0)] * 4, size, scalar(mean, function), swapRB, ddepth,
                            mode=DNN_PMODE_CROP_CENTER if crop else DNN_PMODE_NULL)


@arguments_in_cv2s_form
def blobFromImage(image, scalefactor=1.0, size=(0, 0), mean=(), swapRB=False, crop=False, ddepth=CV_32F):
    """Makes a blob, 1 × channels × height × width, from an image: resized, (image − mean) × scalefactor."""
    if isinstance(image, np.ndarray) and not image.size:
        return None
    return _blob([image], _params(scalefactor, size, mean, swapRB, crop, ddepth, "blobFromImage"), "blobFromImage")


@arguments_in_cv2s_form
def blobFromImages(images, scalefactor=1.0, size=(0, 0), mean=(), swapRB=False, crop=False, ddepth=CV_32F):
    """As blobFromImage, for several images. The default size is that of the first image."""
    params = _params(scalefactor, size, mean, swapRB, crop, ddepth, "blobFromImages")
    return _blob(list(images), params, "blobFromImages")


def _by_params(images, arguments, function):
    """Makes a blob by the arguments (param) or (blob, param). Fills and returns the given blob if it fits."""
    into = None
    if len(arguments) == 2 or isinstance((*arguments, None)[0], np.ndarray):
        into, *arguments = arguments
    if len(arguments) > 1 or not isinstance(into, (np.ndarray, type(None))):
        raise made(BAD_ARGUMENT, "Expected an image, a blob that is a numpy array, and an Image2BlobParams", function)
    blob = _blob(images, (*arguments, None)[0] or Image2BlobParams(), function)
    if into is None or into.shape != blob.shape or into.dtype != blob.dtype:
        return blob
    into[:] = blob
    return into


@overloaded("image [param]", "image [blob param]")
def blobFromImageWithParams(image, *blob_and_param):
    """Makes a blob from an image by an Image2BlobParams; without it, the image is not changed. The arguments are
    (image, param) or (image, blob, param). `blob` is an array that is filled if its shape and type fit."""
    return _by_params([image], blob_and_param, "blobFromImageWithParams")


@overloaded("images [param]", "images [blob param]")
def blobFromImagesWithParams(images, *blob_and_param):
    """As blobFromImageWithParams, for several images of one type."""
    return _by_params(list(images), blob_and_param, "blobFromImagesWithParams")


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
