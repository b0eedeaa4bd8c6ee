# SPDX-License-Identifier: BSD-2-Clause
"""cv2.dnn's models: nets with preprocessing of images and interpretation of outputs."""

import numpy as np

from ._error import ASSERTION, BAD_SIZE, NOT_IMPLEMENTED, made
from ._forms import overloaded
from .image import blobFromImage
from .net import Net
from .params import scalar
from .read import readNet


class Model:
    """A net for images: Model(net), or Model(model, config) from files. Setters return the model."""

    def __init__(self, model, config=""):
        self._net = model if isinstance(model, Net) else readNet(model, config)
        self._names = None
        first = self._net._main and list(self._net._main.input_shapes.values())[0]
        self._size = (first[3], first[2]) if first and len(first) == 4 else (0, 0)
        self._scale, self._mean, self._swap, self._crop = np.ones(4), (), False, False

    # ---- preprocessing ---------------------------------------------------------------------------

    @overloaded("size", "width height")
    def setInputSize(self, *size):
        """Sets the size to which images are resized: (width, height), or two numbers."""
        width, height = size if len(size) == 2 else size[0]
        self._size = (int(width), int(height))
        return self

    def setInputMean(self, mean):
        """Sets the values to subtract from the channels."""
        self._mean = tuple(scalar(mean, "setInputMean"))
        return self

    def setInputScale(self, scale):
        """Sets the factor that is applied after that: a number, or one for each channel."""
        values = scalar(scale, "setInputScale", "scale")
        self._scale = np.full(4, values[0]) if not values[1:].any() else values
        return self

    def setInputCrop(self, crop):
        """Sets whether the image is scaled to cover the size and cropped, instead of stretched."""
        self._crop = bool(crop)
        return self

    def setInputSwapRB(self, swapRB):
        """Sets whether the first and the third channel are exchanged."""
        self._swap = bool(swapRB)
        return self

    def setInputParams(self, scale=1.0, size=(0, 0), mean=(), swapRB=False, crop=False):
        """Sets all of these parameters."""
        self.setInputSize(size).setInputMean(mean).setInputScale(scale)
        self.setInputSwapRB(swapRB).setInputCrop(crop)

    # ---- the net ---------------------------------------------------------------------------------

    def setOutputNames(self, outNames):
        """Sets the layers whose outputs predict returns."""
        self._names = list(outNames)
        return self

    def setPreferableBackend(self, backendId):
        """As Net.setPreferableBackend."""
        self._net.setPreferableBackend(backendId)
        return self

    def setPreferableTarget(self, targetId):
        """As Net.setPreferableTarget."""
        self._net.setPreferableTarget(targetId)
        return self

    def enableWinograd(self, useWinograd):
        """As Net.enableWinograd."""
        self._net.enableWinograd(useWinograd)
        return self

    def _blob(self, frame):
        if not all(self._size):
            raise made(BAD_SIZE, "Input size not specified", "processFrame")
        blob = blobFromImage(frame, self._scale[0], self._size, self._mean, self._swap, self._crop)
        for k in range(1, blob.shape[1]):
            if self._scale[k] != self._scale[0]:
                blob[:, k] *= np.float32(self._scale[k] / self._scale[0])
        return blob

    def predict(self, frame, outs=None):
        """The outputs for an image."""
        self._net.setInput(self._blob(frame))
        if "im_info" in self._net._labels:  # for Faster R-CNN and R-FCN
            width, height = self._size
            self._net.setInput(np.array([[height, width, 1.6]], np.float32), "im_info")
        return self._net.forward(self._names or list(self._net.getUnconnectedOutLayersNames()))


class ClassificationModel(Model):
    """A net whose output is a score for each class."""

    _softmax = False

    def setEnableSoftmaxPostProcessing(self, enable):
        """Sets whether the scores go through a softmax."""
        self._softmax = bool(enable)
        return self

    def getEnableSoftmaxPostProcessing(self):
        """Whether the scores go through a softmax."""
        return self._softmax

    def classify(self, frame):
        """The best class of an image, and its score."""
        outs = self.predict(frame)
        if len(outs) != 1:
            raise made(ASSERTION, f"outs.size() == 1; it is {len(outs)}", "classify")
        scores = outs[0].ravel()
        if self._softmax:
            scores = np.exp(scores - scores.max())
            scores /= scores.sum()
        best = int(scores.argmax())
        return best, float(scores[best])


class KeypointsModel(Model):
    """A net whose output is a list of points, or one heat map for each point and, last, one for the background."""

    def estimate(self, frame, thresh=0.5):
        """The points of an image; (−1, −1) if a map stays below the threshold."""
        output = self.predict(frame)[0]
        if output.ndim != 4:
            return output.reshape(-1, 2)
        height, width = output.shape[2:]
        points = [self._point(plane, thresh, frame.shape[1] / width, frame.shape[0] / height)
                  for plane in output[0, :-1]]
        return np.array(points, np.float32) if points else ()

    @staticmethod
    def _point(plane, thresh, across, down):
        row, column = np.unravel_index(plane.argmax(), plane.shape)
        return (column * across, row * down) if plane[row, column] > thresh else (-1, -1)


class SegmentationModel(Model):
    """A net whose output is a score for each class and pixel."""

    def segment(self, frame, mask=None):
        """The class of each pixel of the net's output."""
        classes = self.predict(frame)[0][0].argmax(0).astype(np.uint8)
        if mask is not None and mask.shape == classes.shape:
            mask[...] = classes
        return classes


class DetectionModel(Model):
    """A net that ends with DetectionOutput."""

    _across = False

    def setNmsAcrossClasses(self, value):
        """Sets whether boxes of different classes suppress one another."""
        self._across = bool(value)
        return self

    def getNmsAcrossClasses(self):
        """Whether boxes of different classes suppress one another."""
        return self._across

    def detect(self, frame, confThreshold=0.5, nmsThreshold=0.0):
        """Classes, confidences and boxes (x, y, width, height) in the image's pixels. As in OpenCV, neither
        nmsThreshold nor setNmsAcrossClasses changes them: DetectionOutput has suppressed boxes already."""
        # pylint: disable=unused-argument
        kind = self._net.getLayer(len(self._net.getLayerNames())).type
        outs = self.predict(frame)
        if kind != "DetectionOutput":
            raise made(NOT_IMPLEMENTED, f"Unknown output layer type: \"{kind}\"", "detect")
        rows = np.concatenate([out.reshape(-1, 7) for out in outs])
        rows = rows[rows[:, 2] >= np.float32(confThreshold)]
        classes, confidences = rows[:, 1].astype(np.int32), rows[:, 2].copy()
        size = self._size if "im_info" in self._net._labels else frame.shape[1::-1]  # for Faster R-CNN and R-FCN
        boxes = np.array([_box(row[3:], *size) for row in rows], np.int32)
        return (classes, confidences, boxes) if len(rows) else ((), (), ())


def _box(corners, width, height):
    """The box in pixels, within the image. The corners are in pixels. If the box would then be too small, they
    are fractions of the size of the image."""
    left, top, right, bottom = map(int, corners)
    if right - left + 1 <= 2 or bottom - top + 1 <= 2:
        sides = np.float32([width, height, width, height])
        left, top, right, bottom = map(int, corners * sides)
    across, down = right - left + 1, bottom - top + 1
    left, top = max(0, min(left, width - 1)), max(0, min(top, height - 1))
    return left, top, max(1, min(across, width - left)), max(1, min(down, height - top))
