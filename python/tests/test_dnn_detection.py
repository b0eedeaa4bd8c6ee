# SPDX-License-Identifier: BSD-2-Clause
"""DetectionOutput with the fields that only OpenCV has, compared with OpenCV 4 if it is installed."""

import numpy as np
import pytest

import ferry.dnn as dnn

TEXT = """input: "places" input_shape { dim: 2 dim: 24 } input: "scores" input_shape { dim: 2 dim: 12 }
input: "priors" input_shape { dim: 1 dim: 2 dim: 24 }
layer { name: "d" type: "DetectionOutput" bottom: "places" bottom: "scores" bottom: "priors" top: "out"
  detection_output_param { num_classes: 2 share_location: true background_label_id: 0 nms_param { nms_threshold: 0.45 top_k: 100 }
    code_type: CENTER_SIZE keep_top_k: 50 confidence_threshold: 0.01 %s } }"""


def rows(of, fields):
    random = np.random.default_rng(3)
    net = of.readNetFromCaffe(bytearray((TEXT % fields).encode()))
    net.setInput(random.normal(0, 2, (2, 24)).astype("f4"), "places")
    net.setInput(random.random((2, 12)).astype("f4"), "scores")
    corners = np.sort(random.random((6, 2, 2)), axis=1).ravel()
    net.setInput(np.stack([corners, np.tile((0.1, 0.1, 0.2, 0.2), 6)])[None].astype("f4"), "priors")
    return net.forward()


def test_clip_cuts_boxes_to_the_picture():
    free, cut = rows(dnn, "")[..., 3:], rows(dnn, "clip: true")[..., 3:]
    assert free.max() > 1.2 and cut.max() == 1 and cut.min() == 0


@pytest.mark.parametrize("fields", ("", "clip: true"))
def test_rows_match_opencv(fields):
    cv2 = pytest.importorskip("cv2")
    if not cv2.__version__.startswith("4") or tuple(map(int, cv2.__version__.split(".")[:2])) < (4, 14):
        pytest.skip("the OpenCV of the comparison is 4.14 or a later 4")
    np.testing.assert_allclose(rows(dnn, fields), rows(cv2.dnn, fields), atol=1e-6)


def test_boxes_in_pixels_are_refused():
    with pytest.raises(dnn.error, match="normalized_bbox"):
        rows(dnn, "normalized_bbox: false")
