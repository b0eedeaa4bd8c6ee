# SPDX-License-Identifier: BSD-2-Clause
"""caffe.Detector."""

import numpy as np

from .._errors import Unsupported
from . import io
from ._net import TEST, Net
from .classifier import transformer_for


class Detector(Net):
    """A net that scores windows of pictures, each cropped and resized to its input. `context_pad` pixels at
    the input's border show the surroundings of the window, or the mean outside the picture (as in R-CNN)."""

    def __init__(self, model_file, pretrained_file, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None, context_pad=None):
        super().__init__(model_file, TEST, weights=pretrained_file)
        name = self.inputs[0]
        shape = self.blobs[name].shape
        self.transformer = transformer_for(name, shape, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def detect_windows(self, images_windows):
        """Scores windows, given as (file name, windows) pairs, each window as (ymin, xmin, ymax, xmax).
        Returns for each window a dictionary of window, prediction and filename."""
        found, crops = [], []
        for filename, windows in images_windows:
            image = io.load_image(filename)
            for window in windows:
                found.append({"window": window, "filename": filename})
                crops.append(self.crop(image, window))
        name = self.inputs[0]
        ready = np.array([self.transformer.preprocess(name, crop) for crop in crops])
        scores = self.forward_all(**{name: ready})[self.outputs[0]]
        return [dict(one, prediction=score) for one, score in zip(found, scores)]

    def detect_selective_search(self, image_fnames):
        """Unsupported: pycaffe runs this selective search of windows in Matlab."""
        raise Unsupported("detect_selective_search: requires Matlab; pass windows to detect_windows instead")

    def crop(self, im, window):
        """The window of a picture, with its surroundings if context_pad is set."""
        top, left, bottom, right = (int(side) for side in window)
        if not self.context_pad:
            return im[top:bottom, left:right]
        size = self.blobs[self.inputs[0]].width
        half = np.array([(bottom - top + 1) / 2.0, (right - left + 1) / 2.0])
        centre = np.array([top, left]) + half
        half = half * size / (size - 2.0 * self.context_pad)
        low, high = np.round(centre - half), np.round(centre + half)
        scale = size / (high - low + 1)
        start = np.round(np.maximum(0, -low) * scale).astype(int)
        low, high = (np.clip(side, 0, im.shape[:2]).astype(int) for side in (low, high))
        room = np.minimum(np.round((high - low + 1) * scale).astype(int), size - start)
        made = np.ones(self.crop_dims, np.float32) * self.crop_mean
        made[start[0]:start[0] + room[0], start[1]:start[1] + room[1]] = io.resize_image(
            im[low[0]:high[0], low[1]:high[1]], room)
        return made

    def configure_crop(self, context_pad):
        """Sets the number of pixels of context, and the value outside the picture, which is the mean in the
        form of a picture."""
        name = self.inputs[0]
        shape = self.blobs[name].shape[1:]
        self.context_pad = context_pad
        self.crop_dims = np.array([shape[1], shape[2], shape[0]])
        self.crop_mean = np.zeros(self.crop_dims, np.float32)
        mean = self.transformer.mean.get(name)
        if mean is not None:
            planes = np.broadcast_to(mean, shape)
            swap = self.transformer.channel_swap.get(name)
            planes = planes if swap is None else planes[np.argsort(swap)]
            self.crop_mean = planes.transpose(1, 2, 0) / np.float32(self.transformer.raw_scale.get(name, 1))
