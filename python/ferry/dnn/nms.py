# SPDX-License-Identifier: BSD-2-Clause
"""Non-maximum suppression of boxes."""

import numpy as np

from ._error import ASSERTION, made

SOFT_NMSMETHOD_SOFTNMS_LINEAR = SoftNMSMethod_SOFTNMS_LINEAR = 1
SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN = SoftNMSMethod_SOFTNMS_GAUSSIAN = 2


def _assert(holds, what, function):
    if not holds:
        raise made(ASSERTION, what, function)


def _boxes(bboxes, kinds, function):
    """An array of x, y, width, height; integers if `kinds` requires them."""
    boxes = np.asarray(bboxes)
    if not boxes.size:
        return np.zeros((0, 4))
    if boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.dtype.kind not in kinds:
        raise made(ASSERTION, "Can't parse 'bboxes': a sequence of x, y, width, height", function)
    return boxes.astype(np.float64)


def _check(boxes, scores, score_threshold, nms_threshold, function, eta=1.0):
    _assert(len(boxes) == len(scores), "bboxes.size() == scores.size()", function)
    _assert(score_threshold >= 0, "score_threshold >= 0", function)
    _assert(nms_threshold >= 0, "nms_threshold >= 0", function)
    _assert(eta > 0, "eta > 0", function)


def overlaps(box, others):
    """The intersection over the union of one box with each of several, as float32; 1 for two boxes without
    area."""
    corner = np.maximum(others[:, :2], box[:2])
    sides = np.minimum(others[:, :2] + others[:, 2:], box[:2] + box[2:]) - corner
    common = np.where((sides > 0).all(1), sides.prod(1), 0.0)
    both = others[:, 2:].prod(1) + box[2:].prod()
    empty = both <= np.finfo(np.float64).eps
    distance = np.where(empty, 0, 1 - common / np.where(empty, 1, both - common))
    return np.float32(1) - distance.astype(np.float32)


def _best(scores, threshold, top_k):
    """The indices of the scores above the threshold, the best first, at most top_k."""
    above = np.flatnonzero(scores > np.float32(threshold))
    ordered = above[np.argsort(-scores[above], kind="stable")]
    return ordered[:top_k] if top_k > 0 else ordered


def _kept(boxes, ordered, threshold, eta):
    kept, threshold = [], np.float32(threshold)
    if eta >= 1:  # a selected box removes others at once
        while len(ordered):
            kept.append(ordered[0])
            rest = ordered[1:]
            ordered = rest[overlaps(boxes[kept[-1]], boxes[rest]) <= threshold]
        return kept
    for one in ordered:
        if not kept or (overlaps(boxes[one], boxes[kept]) <= threshold).all():
            kept.append(one)
            if threshold > 0.5:
                threshold *= np.float32(eta)
    return kept


def _indices(kept):
    return np.array(kept, np.int32) if len(kept) else ()


def NMSBoxes(bboxes, scores, score_threshold, nms_threshold, eta=1.0, top_k=0):
    """The indices of the boxes (x, y, width, height) that no better box overlaps by more than nms_threshold."""
    boxes, scores = _boxes(bboxes, "iuf", "NMSBoxes"), np.asarray(scores, np.float32).ravel()
    _check(boxes, scores, score_threshold, nms_threshold, "NMSBoxes", eta)
    return _indices(_kept(boxes, _best(scores, score_threshold, top_k), nms_threshold, eta))


def NMSBoxesBatched(bboxes, scores, class_ids, score_threshold, nms_threshold, eta=1.0, top_k=0):
    """As NMSBoxes, but only boxes of one class count as overlapping."""
    boxes, scores = _boxes(bboxes, "iuf", "NMSBoxesBatched"), np.asarray(scores, np.float32).ravel()
    classes = np.asarray(class_ids)
    _assert(len(classes) == len(scores), "scores.size() == class_ids.size()", "NMSBoxesBatched")
    _assert(not classes.size or classes.dtype.kind in "iu", "Can't parse 'class_ids': integers",
            "NMSBoxesBatched")
    _check(boxes, scores, score_threshold, nms_threshold, "NMSBoxesBatched", eta)
    if not len(boxes):
        return ()
    far = (boxes[:, :2] + boxes[:, 2:]).max() + 1
    moved = boxes.copy()
    moved[:, :2] += (classes * far)[:, None]
    return _indices(_kept(moved, _best(scores, score_threshold, top_k), nms_threshold, eta))


def softNMSBoxes(bboxes, scores, score_threshold, nms_threshold, top_k=0, sigma=0.5,
                 method=SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN):
    """The updated scores and the indices of integer boxes: overlapping boxes get lower scores instead of
    being removed."""
    boxes, scores = _boxes(bboxes, "iu", "softNMSBoxes"), np.array(scores, np.float32).ravel()
    _check(boxes, scores, score_threshold, nms_threshold, "softNMSBoxes")
    _assert(sigma >= 0, "sigma >= 0", "softNMSBoxes")
    score_threshold = np.float32(score_threshold)
    left = list(np.flatnonzero(scores >= score_threshold))
    count = min(len(left), top_k) if top_k > 0 else len(left)
    updated, indices = [], []
    while left and len(indices) < count:
        best = max(left, key=lambda one: (scores[one], -one))
        if scores[best] < score_threshold:
            break
        left.remove(best)
        updated.append(scores[best])
        indices.append(best)
        if left:
            over = overlaps(boxes[best], boxes[left])
            scores[left] *= _weights(over, nms_threshold, sigma, method)
            left = [one for one in left if scores[one] >= score_threshold]
    return (np.array(updated, np.float32), np.array(indices, np.int32)) if indices else ((), ())


def _weights(over, nms_threshold, sigma, method):
    if method == SOFT_NMSMETHOD_SOFTNMS_LINEAR:
        return np.where(over > np.float32(nms_threshold), 1 - over, np.float32(1))
    return np.exp(-(over * over) / np.float32(sigma))
