# SPDX-License-Identifier: BSD-2-Clause
"""Preprocessing for the Triton server's Python backend: decodes the file of a picture."""

import cv2
import numpy
import triton_python_backend_utils as pb

SIDE, CROP = 256, 227
MEAN = numpy.array([104, 117, 123], numpy.float32)  # blue, green, red: the order of Caffe's models


def pixels_of(data):
    """Returns the centre of the resized picture minus the mean: 1 x 3 x CROP x CROP floats."""
    picture = cv2.imdecode(data, cv2.IMREAD_COLOR)
    if picture is None:
        raise ValueError(f"{data.size} bytes that are not a picture")
    picture = cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    begin = (SIDE - CROP) // 2
    picture = picture[begin:begin + CROP, begin:begin + CROP].astype(numpy.float32) - MEAN
    return numpy.ascontiguousarray(picture.transpose(2, 0, 1)[None])


class TritonPythonModel:
    """The model. The server finds the class by this name."""

    def execute(self, requests):
        """Returns one response for each request: an error if the picture cannot be decoded."""
        responses = []
        for request in requests:
            data = pb.get_input_tensor_by_name(request, "file").as_numpy()
            try:
                tensors, error = [pb.Tensor("pixels", pixels_of(data))], None
            except (ValueError, cv2.error) as failure:
                tensors, error = [], pb.TritonError(f"decode: {failure}")
            responses.append(pb.InferenceResponse(tensors, error))
        return responses
