# SPDX-License-Identifier: BSD-2-Clause
"""Each name of OpenCV 4's dnn module and its classes is in ferry.dnn, or doc/dnn.md gives the reason."""

import inspect
import os
import pathlib
import re

import numpy as np
import pytest

import ferry.dnn as dnn
from ferry.dnn._forms import by_position

CLASSES = ("Net", "Layer", "Model", "ClassificationModel", "DetectionModel", "KeypointsModel", "SegmentationModel",
           "Image2BlobParams")
DET1 = pathlib.Path(os.environ.get("FERRY_TEST_DATA", ""), "nets", "mtcnn", "det1.caffemodel")


def names(of):
    return {name for name in dir(of) if not name.startswith("_")}


def left_out():
    """The names that doc/dnn.md lists: of the module, and of classes as (class, name)."""
    page = pathlib.Path(__file__).parents[2] / "doc" / "dnn.md"
    table = page.read_text().split("### Names that are left out")[1].split("\n## ")[0]
    found = set()
    for row in table.split("\n| ")[1:]:
        first = row.split(" | ")[0]
        owner, listed = re.match(r"(?:`(\w+)`: )?(.*)", first).groups()
        found |= {(owner, name) if owner else name for name in re.findall(r"`(\w+)`", listed)}
    return found


@pytest.fixture
def surfaces(cv4):
    """(name of the owner, OpenCV's names, ferry's names), for the module, then for each class."""
    # The names of a class do not include its objects' attributes.
    objects = {"Layer": {"name", "type", "blobs"}, "Image2BlobParams": names(dnn.Image2BlobParams())}
    return [(None, names(cv4), names(dnn))] + [
        (owner, names(getattr(cv4, owner)), names(getattr(dnn, owner)) | objects.get(owner, set()))
        for owner in CLASSES]


def test_each_missing_name_has_a_reason(surfaces):
    lacking = {(owner, name) if owner else name for owner, theirs, ours in surfaces for name in theirs - ours}
    assert lacking == left_out() & lacking, sorted(map(str, lacking - left_out()))


def test_no_present_name_has_a_reason(surfaces):
    present = {(owner, name) if owner else name for owner, _, ours in surfaces for name in ours}
    assert not left_out() & present


def overloads(function):
    """The argument lists in OpenCV's documentation of a function: required names, optional names."""
    for line in re.findall(rf"^{function.__name__}\((.*)\) -> ", function.__doc__ or "", re.M):
        required, _, optional = line.partition("[")
        yield re.findall(r"\w+", required), re.findall(r"\w+", optional)


def takes(function, values, named):
    """Whether a function of ferry accepts the values by position, or the names."""
    placed = by_position(getattr(function, "forms", []), [], named) if named else None
    try:
        inspect.signature(function).bind(*(values if placed is None else placed), **(named if placed is None else {}))
    except TypeError:
        return False
    return True


def test_each_function_takes_opencvs_arguments(cv4):
    """Calls by position and by name, with and without the optional arguments."""
    refused, seen = [], 0
    made = {"Net": dnn.Net(), "Image2BlobParams": dnn.Image2BlobParams()}
    for owner, theirs, ours in [(None, cv4, dnn)] + [(owner, getattr(cv4, owner), made.get(owner, getattr(dnn, owner)))
                                                     for owner in CLASSES]:
        unbound = [0] if inspect.isclass(ours) else []
        for name in sorted(names(theirs) & names(ours)):
            function = getattr(ours, name)
            if inspect.isclass(function) or not callable(function):
                continue
            own = [] if isinstance(inspect.getattr_static(ours, name), staticmethod) else unbound
            for required, optional in overloads(getattr(theirs, name)):
                seen += 1
                every = required + optional
                for given in required, every:
                    if not takes(function, own + given, {}) or not takes(
                            function.__get__(0) if own else function, [], dict.fromkeys(given)):
                        refused.append((owner, name, given))
    assert not refused
    assert seen > 100


@pytest.mark.skipif(not DET1.exists(), reason="FERRY_TEST_DATA names no models")
def test_overloads_with_keywords_match_opencv(cv4):
    results = []
    for module in cv4, dnn:
        net = module.readNet(framework="caffe", bufferConfig=bytearray(DET1.with_suffix(".prototxt").read_bytes()),
                             bufferModel=bytearray(DET1.read_bytes()))
        shape, number = (1, 3, 12, 12), net.getLayerId(layer="conv1")
        net.setInput(np.ones(shape, np.float32))
        net.setParam(layerName="conv1", numParam=1, blob=np.full((10, 1), 2, np.float32))
        params = module.Image2BlobParams()
        image, filled = np.full((5, 5, 3), 7, np.uint8), np.zeros((1, 3, 5, 5), np.float32)
        returned = module.blobFromImageWithParams(image=image, blob=filled, param=params)
        results.append([
            net.getFLOPS(netInputShape=shape), net.getFLOPS(netInputShapes=[shape]),
            net.getFLOPS(layerId=number, netInputShape=shape), net.getFLOPS(number, netInputShapes=[shape]),
            net.getMemoryConsumption(layerId=number, netInputShape=shape), net.getLayer(layerName="conv1").type,
            [list(ids) for ids in net.getLayersShapes(netInputShape=shape)[:1]],
            net.getParam(layerName="conv1", numParam=1).tolist(), net.forward().round(4).tolist(),
            returned is filled, filled.tolist(), module.blobFromImagesWithParams(images=[image], param=params).tolist(),
            module.blobFromImageWithParams(image, filled[:, :1], params).shape])
        model = module.ClassificationModel(net)
        model.setInputSize(width=5, height=5)
        model.setInputSize(size=(5, 5))
    for theirs, ours in zip(*results):
        assert theirs == ours


def test_names_of_no_overload_are_refused():
    net = dnn.Net()
    for call in (lambda: net.getFLOPS(shapes=[]), lambda: net.getFLOPS(0, layerId=0),
                 lambda: dnn.blobFromImageWithParams(np.zeros((2, 2), np.uint8), blob=None, ddepth=5),
                 lambda: net.getLayer(name="c"), lambda: dnn.readNet(framework="caffe")):
        with pytest.raises((TypeError, dnn.error)):
            call()
