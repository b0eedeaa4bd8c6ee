# SPDX-License-Identifier: BSD-2-Clause
"""cv2.dnn's models, and the functions in an installed cv2."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ferry.dnn as dnn
from test_dnn_net import DATA, given, needs_data, opened, same

SAME = 'layer { name: "p" type: "Power" bottom: "data" top: "p" }'
MEAN = ('layer { name: "p" type: "Pooling" bottom: "data" top: "p" '
        'pooling_param { pool: AVE global_pooling: true } }')
IMAGE = (np.random.RandomState(3).rand(9, 12, 3) * 255).astype(np.uint8)


@pytest.fixture(params=("alone", "beside"))
def others(request):
    """cv2.dnn to compare with, or None."""
    return None if request.param == "alone" else request.getfixturevalue("cv4")


def tried(others, run, wanted=None):
    """The result of run(dnn), which must equal that of run(cv2.dnn), or `wanted` without cv2."""
    result = run(dnn)
    if others or wanted is not None:
        assert same(result, run(others) if others else wanted), result
    return result


def test_an_image_is_transformed_by_the_parameters(others):
    def run(of):
        model = of.Model(opened(given(1, 3, 4, 4) + SAME, of))
        model.setInputParams(0.5, (6, 5), (1, 2, 3), True, True)
        return model.predict(IMAGE)

    wanted = (dnn.blobFromImage(IMAGE, 0.5, (6, 5), (1, 2, 3), True, True),)
    tried(others, run, wanted)
    first = tried(others, lambda of: of.Model(opened(given(1, 3, 4, 5) + SAME, of)).predict(IMAGE))
    assert first[0].shape == (1, 3, 4, 5)
    tried(others, lambda of: of.Model(opened(given(1, 3, 4, 5) + SAME, of)).setInputScale((1, 2, 3)).
          setInputMean(5).predict(IMAGE))


def test_a_class(others):
    model = tried(others, lambda of: of.ClassificationModel(opened(given(1, 3, 9, 12) + MEAN, of)).
                  classify(IMAGE)[0])
    assert model == int(IMAGE.mean((0, 1)).argmax())

    def softmax(of):
        model = of.ClassificationModel(opened(given(1, 3, 4, 4) + MEAN, of))
        model.setInputScale(0.01)
        model.setEnableSoftmaxPostProcessing(True)
        return model.getEnableSoftmaxPostProcessing(), round(model.classify(IMAGE)[1], 5)

    assert 0.3 < tried(others, softmax)[1] < 1


def test_points_and_segments(others):
    plane = dnn.blobFromImage(IMAGE, 1, (4, 4))[0]
    points = tried(others, lambda of: of.KeypointsModel(opened(given(1, 3, 4, 4) + SAME, of)).estimate(IMAGE))
    row, column = np.unravel_index(plane[0].argmax(), (4, 4))
    assert points.shape == (2, 2) and points[0].tolist() == [column * 3, row * 2.25]
    none = tried(others, lambda of: of.KeypointsModel(opened(given(1, 3, 4, 4) + SAME, of)).estimate(IMAGE, 256))
    assert (none == -1).all()
    mask = tried(others, lambda of: of.SegmentationModel(opened(given(1, 3, 4, 4) + SAME, of)).segment(IMAGE))
    assert np.array_equal(mask, plane.argmax(0)) and mask.dtype == np.uint8


@needs_data
@pytest.mark.parametrize("bounds", ((), (0.99999999,), (0.001, 0.3)))
@pytest.mark.parametrize("overlap", ("0.44999998807907104", "0.95"))
def test_detections(others, bounds, overlap):
    path = os.path.join(DATA, "wechat_detect", "detect")
    stored = np.load(path + ".opencv_ref.npz")["input"]
    image = ((stored[0, 0] + 1) * 127.5).clip(0, 255).astype(np.uint8)
    with open(path + ".prototxt", "rb") as file:
        text = file.read()
    assert b"nms_threshold: 0.44999998807907104" in text
    text = text.replace(b"nms_threshold: 0.44999998807907104", b"nms_threshold: " + overlap.encode())
    with open(path + ".caffemodel", "rb") as file:
        weights = file.read()

    def run(of, frame, across):
        model = of.DetectionModel(of.readNetFromCaffe(bytearray(text), bytearray(weights)))
        model.setInputParams(1 / 127.5, (384, 384), (127.5,))
        model.setNmsAcrossClasses(across)
        return model.detect(frame, *bounds)

    for frame, across in ((image, False), (image, True), (image[:200, :300], False), (image * 0, False)):
        classes, confidences, boxes = tried(others, lambda of: run(of, frame, across))
        assert len(classes) == len(confidences) == len(boxes)
    if bounds == (0.001, 0.3):
        assert len(run(dnn, image, False)[0]) > 1 or overlap != "0.95"


def test_errors_of_models(others):
    def code(of, run):
        try:
            run(of)
        except dnn.error as error:
            return error.code
        return 0

    assert tried(others, lambda of: code(of, lambda of: of.Model(
        opened('input: "data" ' + SAME, of)).predict(IMAGE)), -201) == -201
    assert tried(others, lambda of: code(of, lambda of: of.DetectionModel(
        opened(given(1, 3, 4, 4) + SAME, of)).detect(IMAGE)), -213) == -213


# ---- in an installed cv2 --------------------------------------------------------------------------------------

SCRIPT = """
import sys, numpy as np, cv2
net = cv2.dnn.readNetFromCaffe(sys.argv[1])
net.setInput(cv2.dnn.blobFromImage(np.full((4, 4, 3), 7, np.uint8)))
assert net.forward().shape == (1, 3, 4, 4) and (net.forward() == 7).all()
model = cv2.dnn.Model(net)
assert isinstance(model, cv2.dnn.Model) and isinstance(cv2.dnn_ClassificationModel(net), cv2.dnn.ClassificationModel)
assert not cv2.dnn.readNet(sys.argv[1]).empty()
for other in (lambda: cv2.dnn.readNet("nowhere.onnx"), lambda: cv2.dnn.Model("nowhere.onnx")):
    try:
        other()
    except (cv2.error, SystemError) as error:
        assert "ferry" not in str(error)
print(type(net).__module__, sys.argv[1:] == [sys.argv[1]], __name__)
"""


def ran(*arguments, env=None, cwd=None):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, **(env or {})}, cwd=cwd)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "net.prototxt").write_text(given(1, 3, 4, 4) + SAME)
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py"), str(tmp_path / "net.prototxt")


def test_a_script_runs_unchanged(script, tmp_path):
    pytest.importorskip("cv2", reason="there is no cv2")
    for arguments in (script, ("-m", "script", script[1])):
        done = ran("-m", "ferry.dnn", *arguments, cwd=tmp_path)
        assert done.stdout == "ferry.dnn.net True __main__\n", done.stderr
    done = ran("-c", "import ferry.dnn\nferry.dnn.install()\nferry.dnn.install()\n" + SCRIPT, script[1])
    assert done.stdout == "ferry.dnn.net True __main__\n", done.stderr
    done = ran("-m", "ferry.dnn", "nowhere.py")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_dnn_works_without_cv2(script, tmp_path):
    hidden = "import sys\nsys.modules['cv2'] = None\nimport ferry.dnn as dnn, numpy as np\n"
    done = ran("-c", hidden + """
net = dnn.readNetFromCaffe(sys.argv[1])
net.setInput(dnn.blobFromImage(np.full((9, 7, 3), 7, np.uint8), 1, (4, 4)))
assert (net.forward() == 7).all()
try:
    net.forward("nobody")
except dnn.error as error:
    print(error.code, error.func, dnn.error.__module__)
try:
    dnn.install()
except ImportError as error:
    print("cv2 is not installed" in str(error))
""", script[1])
    assert done.stdout == "-2 forward ferry.dnn._error\nTrue\n", done.stderr
