# SPDX-License-Identifier: BSD-2-Clause
"""cv2.dnn's interface over ferry, for Caffe models: for scripts of OpenCV 4, since OpenCV 5 does not read
such models.

    import ferry.dnn as dnn
    net = dnn.readNetFromCaffe("deploy.prototxt", "model.caffemodel")
    net.setInput(dnn.blobFromImage(image, 1, (224, 224), (104, 117, 123)))
    scores = net.forward()

ferry.dnn.install() adds the functions to an installed cv2, and `python -m ferry.dnn script.py` runs a script
with them. The module needs only NumPy; doc/dnn.md lists the functions and the differences."""

from ._error import error
from .constants import (DNN_BACKEND_CANN, DNN_BACKEND_CUDA, DNN_BACKEND_DEFAULT, DNN_BACKEND_HALIDE,
                        DNN_BACKEND_INFERENCE_ENGINE, DNN_BACKEND_OPENCV, DNN_BACKEND_TIMVX, DNN_BACKEND_VKCOM,
                        DNN_BACKEND_WEBNN, DNN_TARGET_CPU, DNN_TARGET_CPU_FP16, DNN_TARGET_CUDA,
                        DNN_TARGET_CUDA_FP16, DNN_TARGET_FPGA, DNN_TARGET_HDDL, DNN_TARGET_MYRIAD,
                        DNN_TARGET_NPU, DNN_TARGET_OPENCL, DNN_TARGET_OPENCL_FP16, DNN_TARGET_VULKAN)
from .custom import registerLayer, unregisterLayer
from .image import (blobFromImage, blobFromImages, blobFromImagesWithParams, blobFromImageWithParams,
                    imagesFromBlob)
from .install import install
from .model import ClassificationModel, DetectionModel, KeypointsModel, Model, SegmentationModel
from .net import Layer, Net
from .nms import (SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN, SOFT_NMSMETHOD_SOFTNMS_LINEAR, NMSBoxes, NMSBoxesBatched,
                  SoftNMSMethod_SOFTNMS_GAUSSIAN, SoftNMSMethod_SOFTNMS_LINEAR, softNMSBoxes)
from .params import (DNN_LAYOUT_NCDHW, DNN_LAYOUT_NCHW, DNN_LAYOUT_ND, DNN_LAYOUT_NDHWC, DNN_LAYOUT_NHWC,
                     DNN_LAYOUT_PLANAR, DNN_LAYOUT_UNKNOWN, DNN_PMODE_CROP_CENTER, DNN_PMODE_LETTERBOX,
                     DNN_PMODE_NULL, Image2BlobParams)
from .read import readNet, readNetFromCaffe

# The function `install`; the module `install` has the same name.
__all__ = [name for name in dir() if not name.startswith("_") and name not in (
    "constants", "cost", "custom", "image", "model", "net", "nms", "params", "read")]
