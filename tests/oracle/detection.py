# SPDX-License-Identifier: BSD-2-Clause
"""Layers of detectors, from forks of Caffe: SSD's PriorBox and DetectionOutput, Fast R-CNN's ROIPooling,
R-FCN's PSROIPooling, the Proposal layer of Faster R-CNN in C++. Only the poolings have a gradient, and only
for bottom 0.

A list of boxes depends on rankings and thresholds; if the bounds do not determine one of them, all of the top
is undetermined."""

import math

import numpy as np

from .layer import Layer, layer
from .real import FLT_MAX, Real, Sum, choose, concatenate, exp, real, stack, undecided, zeros
from .text import Unsupported

NEAR = 1e-5  # the distance of an overlap to its threshold within which float32 may decide differently


@layer('PriorBox', field='prior_box_param', bottoms=2)
class PriorBox(Layer):
    """For each position of bottom 0, boxes as fractions of bottom 1's size: for each min_size a square of
    that side, then one of side √(min·max), then one of each other aspect ratio. Sizes are truncated to
    integers. Row 1: variances."""

    def ratios(self):
        result = [1.0]
        for ratio in self.p.floats('aspect_ratio'):
            if all(abs(ratio - other) >= 1e-6 for other in result):
                result += [ratio, 1 / ratio] if self.p.bool('flip', True) else [ratio]
        return result[1:]

    def sides(self):
        """(width, height) of the boxes of one position."""
        small, large = self.p.floats('min_size'), self.p.floats('max_size')
        self.check(small and min(small) > 0, 'min_size must be given and positive')
        self.check(
            len(large) in (0, len(small)), '%d max_size for %d min_size', len(large), len(small)
        )
        self.check(all(b > a for a, b in zip(small, large)), 'a max_size is not above its min_size')
        result = []
        for i, side in enumerate(map(math.floor, small)):
            result.append((side, side))
            if large:
                result.append((math.sqrt(side * math.floor(large[i])),) * 2)
            result += [(side * math.sqrt(r), side / math.sqrt(r)) for r in self.ratios()]
        return result

    def variances(self):
        values = self.p.floats('variance') or [float(np.float32(0.1))]
        self.check(len(values) in (1, 4) and min(values) > 0, 'variances %s', values)
        return values * (4 // len(values))

    def pair(self, both, name, given):
        """(height, width): from `both`, or from name_h and name_w, or the defaults."""
        if self.p.has(name + '_h') or self.p.has(name + '_w'):
            self.check(not self.p.has(both), 'both %s and %s_h', both, name)
            return self.p.float(name + '_h'), self.p.float(name + '_w')
        return (self.p.float(both),) * 2 if self.p.has(both) else given

    def forward(self, bottoms):
        if any(self.p.has(name) for name in ('offset_h', 'offset_w', 'width', 'height')):
            raise Unsupported('layer %s: lists of offsets or sizes' % self.name)
        (rows, columns), sizes = self.legacy4(bottoms[0])[2:], self.legacy4(bottoms[1])[2:]
        high, wide = self.pair('img_size', 'img', sizes)
        step_y, step_x = self.pair('step', 'step', (high / rows, wide / columns))
        offset, boxes = self.p.float('offset', 0.5), []
        for y in range(rows):
            for x in range(columns):
                cx, cy = (x + offset) * step_x, (y + offset) * step_y
                for w, h in self.sides():
                    ends = (
                        (cx - w / 2) / wide,
                        (cy - h / 2) / high,
                        (cx + w / 2) / wide,
                        (cy + h / 2) / high,
                    )
                    boxes.append(ends)
        boxes = np.array(boxes)
        bound = 8 * 2.0**-23 * (abs(boxes) + max(sides[0] for sides in self.sides()) / wide + 1)
        if self.p.bool('clip', True):
            boxes = np.clip(boxes, 0, 1)
        variances = np.tile(self.variances(), len(boxes))
        top = Real(np.stack([boxes.ravel(), variances]), np.stack([bound.ravel(), 0 * variances]))
        return [top.reshape(1, 2, -1)]


# ---- lists of boxes ----------------------------------------------------------------------------


def area(box, extra=0.0):
    w, h = box[..., 2] - box[..., 0], box[..., 3] - box[..., 1]
    return np.where((w < 0) | (h < 0), 0, (w + extra) * (h + extra))


def overlap(one, others, extra=0.0):
    """Intersection over union of one box with others; `extra` is 1 if the ends are pixels."""
    low, high = np.maximum(one[:2], others[:, :2]), np.minimum(one[2:], others[:, 2:])
    sides = np.maximum(high - low + extra, 0)
    common = sides[:, 0] * sides[:, 1]
    whole = area(one, extra) + area(others, extra) - common
    return np.where(common > 0, common / np.where(whole == 0, 1, whole), 0)


def suppress(boxes, order, threshold, eta=1.0, most=None, extra=0.0):
    """The boxes of `order` that overlap no previously selected box by more than the threshold, which shrinks
    by eta while it is above a half; and whether an overlap was too close to it."""
    kept, near = [], False
    for i in order:
        if kept:
            shares = overlap(boxes[i], boxes[kept], extra)
            near = near or bool((abs(shares - threshold) < NEAR).any())
            if (shares > threshold).any():
                continue
        kept.append(i)
        if most is not None and len(kept) == most:
            break
        if eta < 1 and threshold > 0.5:
            threshold *= eta
    return kept, near


def ranked(scores):
    """The order by decreasing score, equal ones in their own order; and whether two scores are too close to
    rank."""
    order = np.argsort(-scores.v, kind='stable')
    values, bounds = scores.v[order], scores.e[order]
    gaps = values[:-1] - values[1:]
    return order, bool((gaps <= bounds[:-1] + bounds[1:]).any())


@layer('DetectionOutput', field='detection_output_param', bottoms=(3, 4))
class DetectionOutput(Layer):
    """Rows (image, label, score, box): for each class except the background, the boxes whose score is above
    the threshold, after suppression by overlap; the keep_top_k best for each image. Without any box, a row
    (image, -1, …) for each image. clip, a field of OpenCV, clips boxes to [0, 1] first."""

    def decode(self, loc, prior, variance):
        """Boxes (priors, 4), computed from offsets to the priors."""
        kind = self.p.enum('code_type', 'CORNER', '', 'CORNER', 'CENTER_SIZE', 'CORNER_SIZE')
        if not self.p.bool('variance_encoded_in_target'):
            loc = loc * variance
        size = prior[:, 2:] - prior[:, :2]
        if kind == 'CORNER':
            return prior + loc
        if kind == 'CORNER_SIZE':
            return prior + loc * concatenate([size, size], 1)
        centre = (prior[:, :2] + prior[:, 2:]) * 0.5 + loc[:, :2] * size
        half = exp(loc[:, 2:]) * size * 0.5
        return concatenate([centre - half, centre + half], 1)

    def forward(self, bottoms):
        if len(bottoms) > 3 or not self.p.bool('normalized_bbox', True):
            raise Unsupported('layer %s: refined or not normalised boxes' % self.name)
        loc, conf, priors = bottoms
        classes, n = self.p.int('num_classes'), loc.shape[0]
        priors = priors.reshape(2, -1, 4)
        p = priors.shape[1]
        sets = 1 if self.p.bool('share_location', True) else classes
        self.check(
            loc.size == n * p * sets * 4 and conf.size == n * p * classes,
            'predictions and priors differ',
        )
        loc, conf = loc.reshape(n, p, sets, 4), conf.reshape(n, p, classes)
        rows, near = [], False
        for i in range(n):
            boxes = [self.decode(loc[i, :, k], priors[0], priors[1]) for k in range(sets)]
            if self.p.bool('clip'):
                boxes = [choose(b < 0, 0.0, choose(b > 1, 1.0, b)) for b in boxes]
            found, close = self.detect(boxes, conf[i])
            near = near or close
            for label, index in found:
                head = real(np.array([i, label], float))
                rows.append(
                    concatenate(
                        [head, conf[i, index : index + 1, label], boxes[label % sets][index]], 0
                    )
                )
        if not rows:
            rows = [real(np.array([i, -1, -1, -1, -1, -1, -1], float)) for i in range(n)]
        return [undecided(stack(rows).reshape(1, 1, -1, 7), near and not self.dry)]

    def detect(self, boxes, conf):
        """(label, prior) of one image's detections."""
        nms, least = self.p.sub('nms_param'), self.p.float('confidence_threshold', -FLT_MAX)
        most = nms.int('top_k', -1)
        found, near = [], False
        for label in range(conf.shape[1]):
            if label == self.p.int('background_label_id', 0):
                continue
            scores = conf[:, label]
            near = near or bool((abs(scores.v - least) <= scores.e).any())
            above = np.flatnonzero(scores.v > least)
            order, close = ranked(scores[above])
            order = above[order][: most if most > -1 else None]
            kept, close2 = suppress(
                boxes[label % len(boxes)].v,
                order,
                nms.float('nms_threshold', 0.3),
                nms.float('eta', 1),
            )
            near = near or close or close2
            found += [(label, i) for i in kept]
        limit = self.p.int('keep_top_k', -1)
        if -1 < limit < len(found):
            scores = conf[[i for _, i in found], [label for label, _ in found]]
            order, close = ranked(scores)
            near = near or close
            # by class again, within one by decreasing score
            found = sorted((found[k] for k in order[:limit]), key=lambda pair: pair[0])
        return found, near


@layer('Proposal', field='proposal_param', bottoms=3, tops=(1, 2))
class Proposal(Layer):
    """Anchors moved by bottom 1 (N, 4A, H, W) and clipped to the image, without those smaller than min_size;
    the pre_nms_topn best, reduced by overlap to post_nms_topn: rows (image, box), the same number for each
    image, the last ones 0. Top 1: their scores, a column. Bottom 0 (N, 2A, H, W): the second half is the
    scores. Bottom 2: height, width, and scales of min_size."""

    def anchors(self):
        base, result = self.p.int('base_size', 16), []
        centre = 0.5 * (base - 1)
        for ratio in self.p.floats('ratio') or (0.5, 1, 2):
            w = math.floor(math.sqrt(base * base / ratio) + 0.5)
            h = math.floor(w * ratio + 0.5)
            for scale in self.p.floats('scale') or (8, 16, 32):
                x, y = 0.5 * (w * scale - 1), 0.5 * (h * scale - 1)
                result.append((centre - x, centre - y, centre + x, centre + y))
        return np.array(result)

    def boxes(self, deltas, info):
        """(H·W·A) boxes within the image, and which of them are large enough."""
        a, (rows, columns) = self.anchors(), deltas.shape[1:]
        stride = self.p.int('feat_stride', 16)
        y, x = np.mgrid[:rows, :columns] * float(stride)
        shift = np.stack([x, y, x, y], -1)[:, :, None]
        fixed = (shift + a).reshape(-1, 4)
        d = deltas.reshape(len(a), 4, rows, columns).map(
            lambda v: v.transpose(2, 3, 0, 1).reshape(-1, 4)
        )
        size = fixed[:, 2:] - fixed[:, :2] + 1
        centre = d[:, :2] * size + (fixed[:, :2] + 0.5 * size)
        half = exp(d[:, 2:]) * size * 0.5
        moved = concatenate([centre - half, centre + half], 1)
        limit = np.array([info[1], info[0], info[1], info[0]]) - 1
        cut = Real(np.maximum(0, np.minimum(moved.v, limit)), moved.e, moved.doubt)
        sides = cut.v[:, 2:] - cut.v[:, :2] + 1
        scales = info[2], info[3] if len(info) > 3 else info[2]
        least = self.p.int('min_size', 16) * np.array([scales[1], scales[0]])
        near = abs(sides - least) <= cut.e[:, 2:] + cut.e[:, :2]
        return cut, (sides >= least).all(1), bool(near.any())

    def forward(self, bottoms):
        scores, deltas, info = bottoms
        a, rows, values, near = len(self.anchors()), [], [], False
        self.check(
            scores.ndim == 4 and scores.shape[1] == 2 * a, 'bottom 0 is not (N, 2·%d, H, W)', a
        )
        self.check(
            deltas.shape == (scores.shape[0], 4 * a) + scores.shape[2:],
            'bottom 1 is not (N, 4·%d, H, W)',
            a,
        )
        info = info.reshape(scores.shape[0], -1) if info.size % scores.shape[0] == 0 else info
        for n in range(scores.shape[0]):
            box, large, close = self.boxes(deltas[n], info.v[n])
            score = scores[n, a:].map(lambda v: v.transpose(1, 2, 0).ravel())
            order, close2 = ranked(score)
            order = [i for i in order if large[i]][: self.p.int('pre_nms_topn', 6000)]
            limit, most = self.p.float('nms_thresh', 0.7), self.p.int('post_nms_topn', 300)
            kept, close3 = suppress(box.v, order, limit, most=most, extra=1.0)
            near = near or close or close2 or close3
            for i in kept:
                rows.append(concatenate([real(np.array([float(n)])), box[i]], 0))
                values.append(score[i : i + 1])
            rows += [zeros((5,))] * (most - len(kept))
            values += [zeros((1,))] * (most - len(kept))
        tops = [stack(rows), stack(values)][: self.tops_wanted]
        return [undecided(top, near and not self.dry) for top in tops]


# ---- pooling of regions ------------------------------------------------------------------------


def rounded_half_away(x):
    """C's round."""
    return np.sign(x) * np.floor(abs(x) + 0.5)


class Regions(Layer):
    """Bottom 1: rows (image, x1, y1, x2, y2). Positions are computed in float32, because they select
    elements."""

    def places(self, bottoms):
        x, rois = bottoms
        self.check(x.ndim == 4, 'bottom 0 has %d axes, not 4', x.ndim)
        self.check(rois.size == rois.shape[0] * 5, 'bottom 1 is not (R, 5)')
        rois = rois.reshape(rois.shape[0], 5)
        image, _ = self.indices(rois[:, 0], x.shape[0])
        return image, rois.v.astype(np.float32), bool((rois.e > 0).any())

    def bins(self, start, size, outputs, limit, inner):
        """[low, high) of each output along one axis. `inner`: the start is added before rounding."""
        f = np.float32
        step, result = f(size) / f(outputs), []
        for i in range(outputs):
            low, high = f(i) * step, f(i + 1) * step
            low, high = (
                (np.floor(low + start), np.ceil(high + start))
                if inner
                else (np.floor(low) + start, np.ceil(high) + start)
            )
            result.append((int(min(max(low, 0), limit)), int(min(max(high, 0), limit))))
        return result

    def backward(self, tops, diffs, bottoms, needs):
        x, dy = bottoms[0], diffs[0]
        total = Sum(x.shape)
        open_ = self.spread(bottoms, dy, total)
        return [undecided(total.real(), open_), None]


@layer('ROIPooling', field='roi_pooling_param', bottoms=2)
class ROIPooling(Regions):
    """The maximum over each of pooled_h × pooled_w bins of each region, 0 for an empty one."""

    def windows(self, bottoms):
        """(region, image, output row, output column, rows, columns)."""
        image, rois, open_ = self.places(bottoms)
        h, w = self.p.int('pooled_h'), self.p.int('pooled_w')
        self.check(h > 0 and w > 0, 'pooled_h and pooled_w must be positive')
        scale, result = np.float32(self.p.float('spatial_scale', 1)), []
        for r, roi in enumerate(rounded_half_away(rois[:, 1:] * scale)):
            rows = self.bins(roi[1], max(roi[3] - roi[1] + 1, 1), h, bottoms[0].shape[2], False)
            columns = self.bins(roi[0], max(roi[2] - roi[0] + 1, 1), w, bottoms[0].shape[3], False)
            for i, a in enumerate(rows):
                for j, b in enumerate(columns):
                    result.append((r, image[r], i, j, a, b))
        return result, (len(rois), h, w), open_

    def forward(self, bottoms):
        x = bottoms[0]
        windows, (n, h, w), open_ = self.windows(bottoms)
        v, e = np.zeros((n, x.shape[1], h, w)), np.zeros((n, x.shape[1], h, w))
        for r, image, i, j, (a, b), (c, d) in windows:
            if a < b and c < d:
                part = x.v[image, :, a:b, c:d]
                # NaN is never larger
                v[r, :, i, j] = np.where(np.isnan(part), -FLT_MAX, part).max((1, 2))
                e[r, :, i, j] = x.e[image, :, a:b, c:d].max((1, 2))
        return [undecided(Real(v, e, x.doubt), open_)]

    def spread(self, bottoms, dy, total):
        x = bottoms[0]
        windows, _, open_ = self.windows(bottoms)
        for r, image, i, j, (a, b), (c, d) in windows:
            if a >= b or c >= d:
                continue
            part = x[image, :, a:b, c:d].reshape(x.shape[1], -1)
            # NaN is never larger; a bin that contains only NaN has no maximum
            known = np.where(np.isnan(part.v), -FLT_MAX, part.v)
            best, some = known.argmax(1), known.max(1, keepdims=True) > -FLT_MAX
            error = part.e.max(1, keepdims=True)
            near = known + part.e >= known.max(1, keepdims=True) - error
            rival = near & (near.sum(1, keepdims=True) > 1) & (error > 0)
            hit = some & (np.arange(part.shape[1]) == best[:, None])
            g = dy[r, :, i, j].reshape(-1, 1)
            term = Real(
                hit * g.v, hit * g.e + rival * (abs(g.v) + g.e), dy.doubt or bool(rival.any())
            )
            total.term(
                term.reshape(x.shape[1], b - a, d - c),
                (image, slice(None), slice(a, b), slice(c, d)),
            )
        return open_


@layer('PSROIPooling', field='psroi_pooling_param', bottoms=2)
class PSROIPooling(Regions):
    """The average over each of group × group bins, each from channels of its own; 0 for an empty bin."""

    def windows(self, bottoms):
        image, rois, open_ = self.places(bottoms)
        group, outputs = self.p.int('group_size'), self.p.int('output_dim')
        self.check(group > 0 and outputs > 0, 'group_size and output_dim must be positive')
        self.check(
            bottoms[0].shape[1] == outputs * group * group, '%d channels', bottoms[0].shape[1]
        )
        f, result = np.float32, []
        scale = f(self.p.float('spatial_scale'))
        for r, roi in enumerate(rois[:, 1:]):
            low = rounded_half_away(roi[:2]) * scale
            high = (rounded_half_away(roi[2:]) + f(1)) * scale
            size = np.maximum(high - low, f(0.1))
            rows = self.bins(low[1], size[1], group, bottoms[0].shape[2], True)
            columns = self.bins(low[0], size[0], group, bottoms[0].shape[3], True)
            for i, (a, b) in enumerate(rows):
                for j, (c, d) in enumerate(columns):
                    channels = slice(i * group + j, None, group * group)
                    where = (image[r], channels, slice(a, b), slice(c, d))
                    result.append((r, i, j, where, (b - a) * (d - c) if a < b and c < d else 0))
        return result, (len(rois), outputs, group, group), open_

    def forward(self, bottoms):
        x = bottoms[0]
        windows, shape, open_ = self.windows(bottoms)
        top = Real(np.zeros(shape), doubt=x.doubt)
        for r, i, j, where, size in windows:
            if size:
                mean = x[where].sum((1, 2)) / float(size)
                top.v[r, :, i, j], top.e[r, :, i, j] = mean.v, mean.e
        return [undecided(top, open_)]

    def spread(self, bottoms, dy, total):
        windows, _, open_ = self.windows(bottoms)
        for r, i, j, where, size in windows:
            if size:
                share = (dy[r, :, i, j] / float(size)).reshape(-1, 1, 1)
                shape = total.v[where].shape
                total.term(share.map(lambda a: np.broadcast_to(a, shape)), where)
        return open_
