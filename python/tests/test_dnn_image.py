# SPDX-License-Identifier: BSD-2-Clause
"""Blobs of images and suppression of boxes by cv2.dnn's names, compared with OpenCV if it is installed."""

import numpy as np
import pytest

import ferry.dnn as dnn
from ferry.dnn._resize import resized

IMAGE = (np.arange(5 * 7 * 3) * 37 % 251).astype(np.uint8).reshape(5, 7, 3)


@pytest.fixture
def cv2(opencv):
    if hasattr(opencv, "ipp"):
        opencv.ipp.setUseIPP(False)  # IPP interpolates floats by other coefficients than OpenCV's own code
    return opencv


def test_a_blob_is_the_image_less_the_mean_times_the_scale():
    blob = dnn.blobFromImage(IMAGE, 0.5, mean=(1, 2, 3), swapRB=True)
    wanted = (IMAGE[:, :, ::-1].astype("f4") - [1, 2, 3]) * 0.5
    assert blob.dtype == np.float32 and np.array_equal(blob[0], wanted.transpose(2, 0, 1))
    assert dnn.blobFromImage(IMAGE[:, :, 0]).shape == (1, 1, 5, 7)
    assert dnn.blobFromImage(IMAGE, ddepth=0).dtype == np.uint8
    assert dnn.blobFromImages([IMAGE, IMAGE[:3]]).shape == (2, 3, 5, 7)
    assert dnn.blobFromImage(np.zeros((0, 0, 3), "u1")) is None


def test_none_is_an_arguments_default():
    assert (dnn.blobFromImage(IMAGE, None, None, None, None, None, None) == dnn.blobFromImage(IMAGE)).all()
    assert (dnn.blobFromImages([IMAGE], 2, mean=None) == dnn.blobFromImages([IMAGE], 2)).all()


def test_resizing_gives_the_numbers_of_opencv_4_14():
    """Results of cv2.resize: for bytes, which it computes in fixed-point numbers, and for floats."""
    assert resized(np.array([[0, 255]], "u1"), 8, 1).tolist() == [[0, 0, 32, 96, 159, 223, 255, 255]]
    assert resized(IMAGE[:, :, 0], 3, 2).tolist() == [[92, 100, 108], [152, 160, 147]]
    assert resized(IMAGE[:4, :6, 0], 3, 2).tolist() == [[68, 164, 135], [116, 87, 120]]
    assert resized(IMAGE[:, :, 0].astype("f4"), 3, 2).ravel()[:2].tolist() == [92, 100]


@pytest.mark.parametrize("seed", range(60))
def test_blobs_match_opencv(cv2, seed):
    random = np.random.RandomState(seed)
    channels = (0, 1, 3, 4)[seed % 4]
    shape = tuple(random.randint(4, 60, 2)) + ((channels,) if channels else ())
    image = (random.rand(*shape) * 255).astype(("u1", "f4")[seed // 4 % 2])
    size = (0, 0) if seed % 7 == 0 else tuple(int(side) for side in random.randint(2, 70, 2))
    if seed % 5 == 0:
        size = (shape[1] // 2, shape[0] // 2)
    given = {"scalefactor": (1.0, 1 / 128, 0.017)[seed % 3], "size": size, "mean": (127.5, 104, 3),
             "swapRB": bool(seed % 2), "crop": bool(seed // 2 % 2)}
    wanted, made = cv2.dnn.blobFromImage(image, **given), dnn.blobFromImage(image, **given)
    assert made.shape == wanted.shape and made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, rtol=0, atol=3e-7 * np.abs(wanted).max())


def test_parameters_are_for_each_channel_of_the_blob():
    params = dnn.Image2BlobParams((0.5, 1, 2), mean=(1, 2, 3), swapRB=True)
    wanted = (IMAGE[:, :, ::-1].astype("f4") - [1, 2, 3]) * [0.5, 1, 2]
    assert np.array_equal(dnn.blobFromImageWithParams(IMAGE, params)[0], wanted.transpose(2, 0, 1))
    params.datalayout = dnn.DNN_LAYOUT_NHWC
    assert np.array_equal(dnn.blobFromImagesWithParams([IMAGE, IMAGE], params), [wanted, wanted])
    assert np.array_equal(dnn.blobFromImageWithParams(IMAGE), dnn.blobFromImage(IMAGE))
    assert dnn.Image2BlobParams(0.5).scalefactor == (0.5, 0, 0, 0)


def test_a_letterbox_has_the_image_in_a_border():
    params = dnn.Image2BlobParams(size=(7, 11), mode=dnn.DNN_PMODE_LETTERBOX, borderValue=(300, 2.6, 3))
    made, = dnn.blobFromImageWithParams(IMAGE, params)
    assert np.array_equal(made[:, 3:8], IMAGE.transpose(2, 0, 1))
    assert (made[:, :3] == np.reshape([255, 3, 3], (3, 1, 1))).all() and np.array_equal(made[:, 8:], made[:, :3])
    assert params.blobRectToImageRect((1, 4, 2, 2), (7, 5)) == (1, 1, 2, 2)
    assert params.blobRectsToImageRects([(2, 5, 4, 2)], (14, 10)).tolist() == [[4, 4, 8, 4]]


@pytest.mark.parametrize("seed", range(120))
def test_blobs_with_parameters_match_opencv(cv2, seed):
    random = np.random.RandomState(seed)
    shape = (*random.randint(8, 60, 2), *((), (1,), (3,), (4,))[seed % 4])
    image = (random.rand(*shape) * 255).astype(("u1", "f4")[seed // 8 % 2])
    size = (0, 0) if seed % 7 == 0 else tuple(map(int, random.randint(9, 70, 2)))
    layout = (dnn.DNN_LAYOUT_NCHW, dnn.DNN_LAYOUT_NHWC)[seed // 4 % 2]
    swap = seed % 3 == 0 and shape[2:] != (4,)  # OpenCV rejects this for 4 channels
    given = ((1 / 128, 0.5, 2, 0.25), size, (127.5, 104, 3, 7), swap, 5, layout, seed % 5 % 3, (9.6, 200, 3.5, 1))
    theirs, ours = cv2.dnn.Image2BlobParams(*given), dnn.Image2BlobParams(*given)
    for name in "scalefactor", "size", "mean", "swapRB", "ddepth", "datalayout", "paddingmode", "borderValue":
        assert getattr(ours, name) == getattr(theirs, name), name
    images = [image] * (1 + seed % 2)
    wanted = cv2.dnn.blobFromImagesWithParams([one.copy() for one in images], theirs)  # the test may write into the arrays
    made = dnn.blobFromImagesWithParams(images, ours)
    assert made.shape == wanted.shape and made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, rtol=0, atol=3e-7 * np.abs(wanted).max())
    if size != (0, 0):
        boxes, of = [tuple(map(int, box)) for box in random.randint(-5, 60, (8, 4))], (shape[1], shape[0])
        made, wanted = ours.blobRectsToImageRects(boxes, of), theirs.blobRectsToImageRects(boxes, of)
        assert np.array_equal(made, wanted) and made.dtype == wanted.dtype
        assert ours.blobRectToImageRect(boxes[0], of) == theirs.blobRectToImageRect(boxes[0], of)


def test_images_from_blob_reverses_blob_from_image():
    image, = dnn.imagesFromBlob(dnn.blobFromImage(IMAGE))
    assert np.array_equal(image, IMAGE) and image.dtype == np.float32
    assert dnn.imagesFromBlob(np.zeros((2, 1, 3, 4), "f4"))[1].shape == (3, 4)


@pytest.mark.parametrize("call, code", (
    (lambda: dnn.blobFromImage(IMAGE[:, :, :2]), -215),
    (lambda: dnn.blobFromImage(None), -5),
    (lambda: dnn.blobFromImage(), -5),
    (lambda: dnn.blobFromImage(IMAGE, scale=2.0), -5),
    (lambda: dnn.blobFromImage(IMAGE, "2"), -5),
    (lambda: dnn.blobFromImage(IMAGE, (2, 2, 2)), -5),
    (lambda: dnn.blobFromImages(3), -5),
    (lambda: dnn.blobFromImage(IMAGE, 2.0, ddepth=0), -215),
    (lambda: dnn.blobFromImage(IMAGE, size=(3, 0)), -215),
    (lambda: dnn.blobFromImage(IMAGE, size=(3.5, 4)), -5),
    (lambda: dnn.blobFromImage(IMAGE, mean=(1, 2, 3, 4, 5)), -5),
    (lambda: dnn.blobFromImages([]), -215),
    (lambda: dnn.blobFromImages([IMAGE, IMAGE[:, :, 0]]), -215),
    (lambda: dnn.blobFromImageWithParams(IMAGE[:0]), -215),
    (lambda: dnn.blobFromImageWithParams(IMAGE, dnn.Image2BlobParams(datalayout=dnn.DNN_LAYOUT_NCDHW)), -210),
    (lambda: dnn.blobFromImageWithParams(IMAGE, dnn.Image2BlobParams(2.0, ddepth=0)), -215),
    (lambda: dnn.blobFromImageWithParams(IMAGE[:1], dnn.Image2BlobParams(size=(1, 40), mode=2)), -215),
    (lambda: dnn.Image2BlobParams(size=(3, 0)).blobRectToImageRect((0, 0, 1, 1), (4, 4)), -215),
    (lambda: dnn.Image2BlobParams().blobRectToImageRect((0, 0, 1.5, 1), (4, 4)), -5),
    (lambda: dnn.Image2BlobParams(size=(3,)), -5),
    (lambda: dnn.imagesFromBlob(IMAGE), -215),
    (lambda: dnn.NMSBoxes([[0, 0, 1, 1]], [0.5, 0.6], 0.1, 0.3), -215),
    (lambda: dnn.NMSBoxes([[0, 0, 1]], [0.5], 0.1, 0.3), -215),
    (lambda: dnn.NMSBoxes([[0, 0, 1, 1]], [0.5], -1, 0.3), -215),
    (lambda: dnn.softNMSBoxes([[0, 0, 1, 1]], [0.5], 0, 0.3, sigma=-1), -215)))
def test_invalid_arguments_are_errors_of_the_form_of_cv2(call, code):
    with pytest.raises(dnn.error) as raised:
        call()
    assert raised.value.code == code and f"({code}:" in str(raised.value) and raised.value.func


BOXES, SCORES = [[0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 5, 5]], [0.9, 0.8, 0.7]


def test_boxes_are_suppressed():
    kept = dnn.NMSBoxes(BOXES, SCORES, 0.1, 0.3)
    assert kept.tolist() == [0, 2] and kept.dtype == np.int32
    assert dnn.NMSBoxes(BOXES, SCORES, 0.1, 0.3, top_k=1).tolist() == [0]
    assert dnn.NMSBoxes([], [], 0.1, 0.3) == () == dnn.NMSBoxes(BOXES, SCORES, 0.95, 0.3)
    assert dnn.NMSBoxesBatched(BOXES, SCORES, [0, 1, 0], 0.1, 0.3).tolist() == [0, 1, 2]
    scores, kept = dnn.softNMSBoxes(BOXES, SCORES, 0.1, 0.3)
    assert kept.tolist() == [0, 2, 1] and np.allclose(scores, [0.9, 0.7, 0.31670862])


@pytest.mark.parametrize("seed", range(60))
def test_suppression_matches_opencv(cv2, seed):
    random = np.random.RandomState(seed)
    count = random.randint(1, 60)
    boxes, scores = random.rand(count, 4) * 40 + [0, 0, 1, 1], random.rand(count).astype("f4")
    boxes = boxes.astype(int) if seed % 3 == 0 else boxes
    scores = np.round(scores, 1) if seed % 5 == 0 else scores
    bounds = (random.choice([0, 0.1, 0.3]), random.choice([0.2, 0.4, 0.6, 0.8]))
    more = {"eta": (1.0, 0.9, 0.5)[seed % 3], "top_k": (0, 5)[seed % 2]}
    given = boxes.tolist(), scores.tolist(), *bounds
    assert np.array_equal(dnn.NMSBoxes(*given, **more), cv2.dnn.NMSBoxes(*given, **more))
    classes = random.randint(0, 3, count).tolist()
    given = boxes.tolist(), scores.tolist(), classes, *bounds
    assert np.array_equal(dnn.NMSBoxesBatched(*given, **more), cv2.dnn.NMSBoxesBatched(*given, **more))
    for method in (dnn.SOFT_NMSMETHOD_SOFTNMS_LINEAR, dnn.SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN):
        given = boxes.astype(int).tolist(), scores.tolist(), *bounds, more["top_k"], 0.5, method
        made, wanted = dnn.softNMSBoxes(*given), cv2.dnn.softNMSBoxes(*given)
        assert np.array_equal(made[1], wanted[1]) and np.allclose(made[0], wanted[0], atol=1e-6)
