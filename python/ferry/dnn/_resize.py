# SPDX-License-Identifier: BSD-2-Clause
"""cv2.resize's INTER_LINEAR in NumPy: fixed-point numbers for bytes, as in OpenCV, otherwise float32."""

import numpy as np

# The number of bits of a coefficient for bytes.
_BITS = 11


def _taps(old, new, scale, across):
    """For each of `new` pixels along an axis of `old`: its two source pixels, and the weight of the second.
    Outside the image OpenCV uses only the edge's pixel along a row, and mixes it with itself along a column,
    which rounds differently."""
    at = ((np.arange(new) + 0.5) * scale - 0.5).astype(np.float32)
    low = np.floor(at).astype(np.int64)
    part = at - low.astype(np.float32)
    if across:
        part[(low < 0) | (low >= old - 1)] = 0
    return np.clip(low, 0, old - 1), np.clip(low + 1, 0, old - 1), part


def _fixed(part):
    """The coefficients of the two pixels as integers."""
    scale = np.float32(1 << _BITS)
    return (np.rint((np.float32(1) - part) * scale).astype(np.int32),
            np.rint(part * scale).astype(np.int32))


def _mixed_bytes(image, rows, columns):
    left, right = (one[:, None] for one in _fixed(columns[2]))
    top, bottom = (one[:, None, None] for one in _fixed(rows[2]))
    used, place = np.unique(np.concatenate(rows[:2]), return_inverse=True)
    lines = image[used].astype(np.int32)
    lines = (lines[:, columns[0]] * left + lines[:, columns[1]] * right) >> 4
    upper, lower = np.split(lines[place.ravel()], 2)
    return ((((top * upper) >> 16) + ((bottom * lower) >> 16) + 2) >> 2).astype(np.uint8)


def _mixed(image, rows, columns):
    along, down = columns[2][:, None], rows[2][:, None, None]
    used, place = np.unique(np.concatenate(rows[:2]), return_inverse=True)
    lines = image[used].astype(np.float64 if image.dtype == np.float64 else np.float32)
    lines = lines[:, columns[0]] * (np.float32(1) - along) + lines[:, columns[1]] * along
    upper, lower = np.split(lines[place.ravel()], 2)
    return upper * (np.float32(1) - down) + lower * down


def _halved(image):
    """Halves an image: each pixel is the mean of four, because OpenCV uses its area method at exactly half
    the size."""
    four = image[0::2, 0::2], image[0::2, 1::2], image[1::2, 0::2], image[1::2, 1::2]
    if image.dtype == np.uint8:
        return ((sum(one.astype(np.int32) for one in four) + 2) >> 2).astype(np.uint8)
    kind = np.float64 if image.dtype == np.float64 else np.float32
    return sum(four[1:], four[0].astype(kind)) * kind(0.25)


def resized(image, width, height, factor=None):
    """Resizes an image, height × width (× channels). If `factor` is given instead of the size, both sides are
    multiplied by it and rounded."""
    if image.shape[:2] == (height, width):
        return image
    whole = image if image.ndim == 3 else image[:, :, None]
    old = whole.shape[:2]
    scales = [1 / factor] * 2 if factor else [old[0] / height, old[1] / width]
    if scales == [2, 2] and old == (2 * height, 2 * width):
        made = _halved(whole)
    else:
        rows = _taps(old[0], height, scales[0], False)
        columns = _taps(old[1], width, scales[1], True)
        made = (_mixed_bytes if whole.dtype == np.uint8 else _mixed)(whole, rows, columns)
    if image.dtype not in (np.uint8, np.float32, np.float64):
        made = saturated(made, image.dtype)
    return made if image.ndim == 3 else made[:, :, 0]


def saturated(values, dtype):
    """Converts numbers to an image's element type: rounded and limited if that is an integer type."""
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
