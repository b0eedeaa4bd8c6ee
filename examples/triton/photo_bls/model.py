# SPDX-License-Identifier: BSD-2-Clause
"""Business logic scripting (BLS) for the Triton server's Python backend: calls other models."""

import triton_python_backend_utils as pb


def ask(model, outputs, *inputs):
    """Runs another model of the server. Returns its outputs in the order of `outputs`."""
    request = pb.InferenceRequest(model_name=model, requested_output_names=outputs, inputs=list(inputs))
    response = request.exec()
    if response.has_error():
        raise pb.TritonModelException(response.error().message())
    return [pb.get_output_tensor_by_name(response, name) for name in outputs]


def renamed(tensor, name):
    """Returns the tensor under another name: that of the next model's input."""
    return pb.Tensor.from_dlpack(name, tensor.to_dlpack())


def classify(request):
    """Returns the response for one request."""
    pixels, = ask("decode", ["pixels"], pb.get_input_tensor_by_name(request, "file"))
    scores, = ask("squeezenet", ["pool_final"], renamed(pixels, "data"))
    return pb.InferenceResponse(ask("best", ["classes", "best"], renamed(scores, "scores")))


class TritonPythonModel:
    """The model. The server finds the class by this name."""

    def execute(self, requests):
        """Returns one response for each request: an error for each request that fails."""
        responses = []
        for request in requests:
            try:
                responses.append(classify(request))
            except pb.TritonModelException as error:
                responses.append(pb.InferenceResponse([], pb.TritonError(str(error))))
        return responses
