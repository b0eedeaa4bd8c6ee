# SPDX-License-Identifier: BSD-2-Clause
"""One device for all tests of a run: that of FERRY_BACKEND, with the options of FERRY_TEST_OPTIONS
("unified=on"), since a plugin is opened once per process."""

import sys
import os
import signal

import pytest

import ferry
from ferry.caffe import _state


@pytest.fixture(scope="session")
def runtime():
    backend = os.environ.get("FERRY_BACKEND", "cpu")
    pairs = [pair.split("=") for pair in os.environ.get("FERRY_TEST_OPTIONS", "").split(",") if pair]
    return ferry.Runtime(backend=backend, options={backend: dict(pairs)})


@pytest.fixture(scope="session")
def device(runtime):
    return runtime.device()


@pytest.fixture(scope="session", autouse=True)
def of_caffe(runtime):
    """Gives ferry.caffe the runtime of the other tests."""
    _state._runtime = runtime


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Restores the handling of interrupts, which a shell that starts the tests in the background disables."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def opencv():
    """cv2 as a reference, at least 4.14: older versions compute some results differently."""
    cv2 = pytest.importorskip("cv2", reason="there is no cv2")
    if tuple(map(int, cv2.__version__.split(".")[:2])) < (4, 14):
        pytest.skip(f"cv2 is {cv2.__version__}, older than 4.14")
    return cv2


@pytest.fixture
def cv4(opencv):
    """cv2.dnn of an OpenCV that reads Caffe models."""
    from ferry import dnn

    reader = getattr(opencv.dnn, "readNetFromCaffe", None)
    if reader is None or reader is dnn.readNetFromCaffe:
        pytest.skip("this cv2 reads no Caffe models")
    return opencv.dnn


@pytest.fixture
def unified(device):
    return bool(device.properties.unified)


@pytest.fixture(autouse=True)
def _layers_in_python():
    """Allows layers in Python, as scripts do."""
    caffe = sys.modules.get("ferry.caffe")
    if caffe:
        caffe.allow_python_layers()
    yield
    if caffe:
        caffe.allow_python_layers(False)
