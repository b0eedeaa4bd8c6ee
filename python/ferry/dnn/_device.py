# SPDX-License-Identifier: BSD-2-Clause
"""The ferry device of a target of cv2.dnn."""

import os
import warnings

from .._errors import Error
from ..caffe import _state
from .constants import (DNN_TARGET_CPU, DNN_TARGET_CPU_FP16, DNN_TARGET_CUDA, DNN_TARGET_CUDA_FP16,
                        DNN_TARGET_OPENCL, DNN_TARGET_OPENCL_FP16)

_PLUGINS = {DNN_TARGET_CPU: "cpu", DNN_TARGET_CPU_FP16: "cpu", DNN_TARGET_OPENCL: "opencl",
            DNN_TARGET_OPENCL_FP16: "opencl", DNN_TARGET_CUDA: "cuda", DNN_TARGET_CUDA_FP16: "cuda"}


def device_of(target):
    """The device of FERRY_BACKEND if that is set: it has precedence over the script. Otherwise the device of
    the target. If ferry does not have that device, the CPU with a warning, as in OpenCV."""
    runtime = _state.runtime()
    if os.environ.get("FERRY_BACKEND"):
        return runtime.device()
    plugin = _PLUGINS.get(target)
    try:
        if plugin:
            return runtime.device(plugin)
        reason = "ferry has no such target"
    except Error as error:
        reason = str(error)
    warnings.warn(f"target {target}: {reason}; switching to the CPU", RuntimeWarning, stacklevel=4)
    return runtime.device("cpu")
