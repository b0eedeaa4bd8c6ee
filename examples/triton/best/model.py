# SPDX-License-Identifier: BSD-2-Clause
"""Postprocessing for the Triton server's Python backend: scores to the best classes."""

import numpy
import triton_python_backend_utils as pb


class TritonPythonModel:
    """The class of this name is the model."""

    def execute(self, requests):
        """One response for each request."""
        responses = []
        for request in requests:
            scores = pb.get_input_tensor_by_name(request, "scores").as_numpy().ravel()
            order = numpy.argsort(-scores, kind="stable")[:5].astype(numpy.int32)
            responses.append(pb.InferenceResponse([pb.Tensor("classes", order),
                                                   pb.Tensor("best", scores[order])]))
        return responses
