# SPDX-License-Identifier: BSD-2-Clause
"""SqueezeNet by cv2.dnn in the Triton server's Python backend, as a reference: requests are combined into one
batch."""

import json

import cv2
import numpy
import triton_python_backend_utils as pb


class TritonPythonModel:
    """The model, which has to be a class of this name."""

    def initialize(self, args):
        """Opens the net that the parameters of the configuration name."""
        given = json.loads(args["model_config"])["parameters"]
        self.net = cv2.dnn.readNetFromCaffe(given["net"]["string_value"], given["weights"]["string_value"])

    def execute(self, requests):
        """One pass for all requests."""
        pictures = [pb.get_input_tensor_by_name(r, "data").as_numpy() for r in requests]
        self.net.setInput(pictures[0] if len(pictures) == 1 else numpy.concatenate(pictures))
        scores, first, responses = self.net.forward(), 0, []
        for pixels in pictures:
            part = numpy.ascontiguousarray(scores[first:first + len(pixels)])
            responses.append(pb.InferenceResponse([pb.Tensor("pool_final", part)]))
            first += len(pixels)
        return responses
