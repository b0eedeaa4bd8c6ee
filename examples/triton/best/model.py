# SPDX-License-Identifier: BSD-2-Clause
"""Postprocessing for the Triton server's Python backend: finds the classes with the best scores."""

import numpy
import triton_python_backend_utils as pb


class TritonPythonModel:
    """The model. The server finds the class by this name."""

    def execute(self, requests):
        """Returns one response for each request."""
        responses = []
        for request in requests:
            scores = pb.get_input_tensor_by_name(request, "scores").as_numpy().ravel()
            order = numpy.argsort(-scores, kind="stable")[:5].astype(numpy.int32)
            responses.append(pb.InferenceResponse([pb.Tensor("classes", order),
                                                   pb.Tensor("best", scores[order])]))
        return responses
