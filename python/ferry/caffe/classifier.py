# SPDX-License-Identifier: BSD-2-Clause
"""caffe.Classifier."""

import numpy as np

from . import io
from ._net import TEST, Net


class Classifier(Net):
    """A net that classifies pictures. `image_dims` is the size to which pictures are resized before they are
    cropped to the net's input (default: that size); mean, input_scale, raw_scale and channel_swap are those
    of Transformer."""

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None,
                 raw_scale=None, channel_swap=None):
        super().__init__(model_file, TEST, weights=pretrained_file)
        name = self.inputs[0]
        shape = self.blobs[name].shape
        self.transformer = transformer_for(name, shape, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = np.array(shape[2:])
        self.image_dims = self.crop_dims if image_dims is None or not len(image_dims) else image_dims

    def predict(self, inputs, oversample=True):
        """Scores of pictures (height × width × channels), one row for each: the mean over ten crops, or the
        scores of the centre crop."""
        images = np.array([io.resize_image(image, self.image_dims) for image in inputs], np.float32)
        if oversample:
            images = io.oversample(images, self.crop_dims)
        else:
            top, left = (int(have / 2.0 - want / 2.0) for have, want in zip(self.image_dims, self.crop_dims))
            images = images[:, top:top + self.crop_dims[0], left:left + self.crop_dims[1]]
        name = self.inputs[0]
        ready = np.array([self.transformer.preprocess(name, image) for image in images])
        scores = self.forward_all(**{name: ready})[self.outputs[0]]
        return scores.reshape(len(scores) // 10, 10, -1).mean(1) if oversample else scores


def transformer_for(name, shape, mean, input_scale, raw_scale, channel_swap):
    """A Transformer of pictures for one input, with the given parameters."""
    made = io.Transformer({name: shape})
    made.set_transpose(name, (2, 0, 1))
    for value, setter in ((mean, made.set_mean), (input_scale, made.set_input_scale),
                          (raw_scale, made.set_raw_scale), (channel_swap, made.set_channel_swap)):
        if value is not None:
            setter(name, value)
    return made
