# SPDX-License-Identifier: BSD-2-Clause
"""The boxes of MTCNN's pipeline with 8 bits, compared with those in F32. Usage: mtcnn.py FERRY NETS, where FERRY is the
command and NETS has det1 to det3. The pictures are sheets of drawn faces, and OpenCV's cat.

The pipeline is that of K. Zhang et al., "Joint Face Detection and Alignment Using Multi-task Cascaded
Convolutional Networks", IEEE Signal Processing Letters, 2016, for pictures in float RGB of 0 to 255,
height x width x 3. A net is a function from a batch to the outputs by name. As the authors' program in MATLAB gives
them, the nets read columns as rows."""

import os
import subprocess
import sys
import tempfile

import numpy as np

import ferry

THRESHOLDS = 0.6, 0.7, 0.7
SIDES = 12, 24, 48


def weights_of(old, new):
    """The matrix of new x old that resamples by a triangle as wide as a pixel of the coarser side."""
    scale = max(old / new, 1)
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    matrix = np.maximum(0, 1 - abs(centres[:, None] - np.arange(old)) / scale)
    return matrix / matrix.sum(1, keepdims=True)


def resized(picture, height, width):
    return np.einsum("yi,ijc,xj->yxc", weights_of(picture.shape[0], height), picture,
                     weights_of(picture.shape[1], width), optimize=True)


def prepared(pictures):
    """A batch of 3 x width x height."""
    return np.ascontiguousarray((np.stack(pictures).transpose(0, 3, 2, 1) - 127.5) / 128, "f4")


def areas(boxes):
    return np.prod(np.maximum(boxes[:, 2:4] - boxes[:, :2], 0), 1)


def overlaps(box, boxes, of_smaller=False):
    """Intersection over union, or over the smaller area."""
    size = np.maximum(np.minimum(box[2:4], boxes[:, 2:4]) - np.maximum(box[:2], boxes[:, :2]), 0)
    common, own, other = np.prod(size, 1), areas(box[None])[0], areas(boxes)
    return common / np.maximum(np.minimum(own, other) if of_smaller else own + other - common, 1e-9)


def suppressed(boxes, most, of_smaller=False):
    """The indices of the boxes that remain, those of the highest score first. Column 4 has the scores."""
    order, kept = np.argsort(-boxes[:, 4], kind="stable"), []
    while len(order):
        kept.append(order[0])
        order = order[1:][overlaps(boxes[order[0]], boxes[order[1:]], of_smaller) <= most]
    return np.array(kept, int)


def moved(boxes, offsets):
    size = boxes[:, 2:4] - boxes[:, :2]
    return np.hstack([boxes[:, :4] + offsets * np.hstack([size, size]), boxes[:, 4:]])


def squared(boxes):
    centre = (boxes[:, :2] + boxes[:, 2:4]) / 2
    half = (boxes[:, 2:4] - boxes[:, :2]).max(1, keepdims=True) / 2
    return np.hstack([centre - half, centre + half, boxes[:, 4:]])


def levels(picture, smallest):
    """The pictures of the pyramid, and their scales."""
    scale, result = SIDES[0] / smallest, []
    while min(picture.shape[:2]) * scale >= SIDES[0]:
        height, width = (int(np.ceil(side * scale)) for side in picture.shape[:2])
        result.append((resized(picture, height, width), scale))
        scale *= 0.709
    return result


def proposed(net, picture, smallest):
    """The boxes of the first net."""
    found = [np.empty((0, 9))]
    for level, scale in levels(picture, smallest):
        y = net(prepared([level]))
        x, down = np.nonzero(y["prob1"][0, 1] >= THRESHOLDS[0])
        corner = np.stack([x, down], 1) * 2.0
        boxes = np.hstack([corner / scale, (corner + SIDES[0]) / scale, y["prob1"][0, 1][x, down][:, None],
                           y["conv4-2"][0][:, x, down].T])
        found.append(boxes[suppressed(boxes, 0.5)])
    boxes = np.vstack(found)
    boxes = boxes[suppressed(boxes, 0.7)]
    return squared(moved(boxes[:, :5], boxes[:, 5:]))


def windows(picture, boxes, side):
    """What the boxes show, as side x side; 0 outside of the picture."""
    result = []
    for box in np.rint(boxes[:, :4]).astype(int):
        size = max(box[2] - box[0], box[3] - box[1], 1)
        window = np.zeros((size, size, 3))
        low = np.maximum(box[:2], 0)
        high = np.minimum(box[:2] + size, picture.shape[1::-1])
        if (high > low).all():
            at = low - box[:2]
            part = picture[low[1]:high[1], low[0]:high[0]]
            window[at[1]:at[1] + part.shape[0], at[0]:at[0] + part.shape[1]] = part
        result.append(resized(window, side, side))
    return result


def refined(net, picture, boxes, stage, offsets):
    """The boxes that pass a net, with its score, and the offsets of their corners."""
    y = net(prepared(windows(picture, boxes, SIDES[stage])))
    score = y["prob1"].reshape(len(boxes), 2)[:, 1]
    passed = score >= THRESHOLDS[stage]
    boxes = np.hstack([boxes[:, :4], score[:, None]])[passed]
    return boxes, y[offsets].reshape(-1, 4)[passed]


def detected(nets, picture, smallest=20):
    """The faces: x0, y0, x1, y1, score."""
    boxes = proposed(nets[0], picture, smallest)
    if len(boxes):
        boxes, offsets = refined(nets[1], picture, boxes, 1, "conv5-2")
        kept = suppressed(boxes, 0.7)
        boxes = squared(moved(boxes[kept], offsets[kept]))
    if len(boxes):
        boxes, offsets = refined(nets[2], picture, boxes, 2, "conv6-2")
        boxes = moved(boxes, offsets)
        boxes = boxes[suppressed(boxes, 0.7, of_smaller=True)]
    return boxes


def matched(faces, others):
    """For each face the largest overlap with one of the others; 0 without one."""
    return np.array([overlaps(face, others).max() if len(others) else 0.0 for face in faces])


# ---- pictures ----------------------------------------------------------------------------------

SIDE, PER_ROW = 96, 4


def ellipse(x, y, centre, size, edge):
    """1 inside and 0 outside; `edge` is the width of what is between them."""
    return np.clip((1 - ((x - centre[0]) / size[0]) ** 2 - ((y - centre[1]) / size[1]) ** 2) / edge, 0, 1)


def face(r):
    """A drawn face in the middle of SIDE x SIDE."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE - 0.5
    width, height = 0.30 + 0.05 * r.random(), 0.40 + 0.04 * r.random()
    skin = np.array([205, 165, 140]) * (0.65 + 0.45 * r.random())
    shade = skin * (1.05 - 0.45 * (x / width) ** 2 - 0.3 * y)[..., None]
    apart, eyes = width * (0.42 + 0.06 * r.random()), -0.06 + 0.02 * r.random()
    picture = np.ones((SIDE, SIDE, 3)) * (60 + 100 * r.random(3))
    parts = [((0, -0.08), (width * 1.15, height * 1.05), 0.15, 1, np.full(3, 50 * r.random() + 20)),
             ((0, 0.02), (width, height), 0.15, 1, shade)]
    for at in (-apart, apart):
        parts += [((at, eyes), (0.075, 0.06), 1.8, 1, skin * 0.6),
                  ((at, eyes), (0.055, 0.028), 0.5, 1, np.array([225, 222, 218])),
                  ((at, eyes), (0.024, 0.026), 0.5, 1, np.array([40, 28, 20])),
                  ((at, eyes - 0.08), (0.075, 0.018), 0.7, 1, skin * 0.35)]
    parts += [((0, 0.05), (0.03, 0.12), 1, 0.5, skin * 1.15)]
    parts += [((at, 0.125), (0.02, 0.012), 0.8, 0.8, skin * 0.5) for at in (-0.025, 0.025)]
    parts += [((0, 0.22 + 0.02 * r.random()), (0.1 + 0.03 * r.random(), 0.03), 0.6, 1, np.array([165, 70, 70])),
              ((0, 0.222), (0.09, 0.006), 0.6, 1, np.array([90, 30, 30]))]
    for centre, size, edge, most, colour in parts:
        part = most * ellipse(x, y, centre, size, edge)[..., None]
        picture = picture * (1 - part) + colour * part
    return picture


def sheet(seed):
    r = np.random.default_rng(seed)
    picture = np.vstack([np.hstack([face(r) for _ in range(PER_ROW)]) for _ in range(PER_ROW)])
    return np.clip(picture + 4 * r.standard_normal(picture.shape), 0, 255)


# ---- nets --------------------------------------------------------------------------------------


def opened(device, root, index, weights=None, seen=None):
    """A net as a function; `seen` gets its inputs."""
    path = os.path.join(root, f"det{index}")
    net = ferry.Net(device, path + ".prototxt", weights or path + ".caffemodel")

    def run(batch):
        if seen is not None:
            seen.append(batch)
        return net.forward(data=batch)
    return run


def calibrated(device, root, folder):
    """Writes what each net reads for a sheet, and pieces of 24 x 24 for the first; returns the files."""
    seen = [], [], []
    detected([opened(device, root, k + 1, None, seen[k]) for k in range(3)], sheet(7))
    pieces = [x[0, :, i:i + 24, j:j + 24] for x in seen[0]
              for i in range(0, x.shape[2] - 23, 24) for j in range(0, x.shape[3] - 23, 24)]
    files = []
    for k, values in enumerate((np.stack(pieces), np.vstack(seen[1]), np.vstack(seen[2]))):
        files.append(os.path.join(folder, f"{k + 1}.npz"))
        np.savez(files[-1], data=values[np.random.default_rng(1).permutation(len(values))[:400]])
    return files


def quantized(command, root, folder, index, inputs, options):
    """The file of a net's weights with ranges."""
    path, to = os.path.join(root, f"det{index}"), os.path.join(folder, f"q{index}.caffemodel")
    subprocess.run([command, "quantize", path + ".prototxt", path + ".caffemodel", "-o", to, "-q", "--calibrate",
                    inputs, "--batch", "50", "--method", "mse", "--equalize", *options], check=True)
    return to


def cat(root):
    """OpenCV's cat, which is stored as BGR without the mean of ImageNet."""
    values = np.load(os.path.join(root, "..", "squeezenet_dc", "cat.npz"))["input/data"][0]
    return values.transpose(1, 2, 0)[:, :, ::-1] + [123, 117, 104]


# ---- checks ------------------------------------------------------------------------------------


def report(name, passed, detail):
    print(f"pass {name}" if passed else f"FAIL {name}\n     {detail}", flush=True)


def main(command, root):
    device = ferry.Runtime().device()
    sheets = [sheet(1), sheet(2)]
    exact = [opened(device, root, k) for k in (1, 2, 3)]
    want = [detected(exact, picture) for picture in sheets]
    centres = np.array([[(i + 0.5) * SIDE, (j + 0.5) * SIDE] for j in range(PER_ROW) for i in range(PER_ROW)])
    far = [np.abs(centre - (w[:, :2] + w[:, 2:4]) / 2).max(1).min() for w in want for centre in centres]
    report("f32_finds_each_drawn_face", all(len(w) == PER_ROW ** 2 for w in want) and max(far) < SIDE / 6,
           f"{[len(w) for w in want]} faces, off by up to {max(far):.1f}")
    report("f32_finds_no_face_on_a_cat", len(detected(exact, cat(root))) == 0, "a face")
    with tempfile.TemporaryDirectory() as folder:
        inputs = calibrated(device, root, folder)
        nets = [opened(device, root, k + 1, quantized(command, root, folder, k + 1, inputs[k], ["--adaptive-rounding"]))
                for k in range(3)]
        last = opened(device, root, 3, quantized(command, root, folder, 3, inputs[2], ["--max-loss", "44"]))
    got = [detected(nets, picture) for picture in sheets]
    least = np.concatenate([matched(w, g) for w, g in zip(want, got)])
    report("int8_finds_the_same_faces", [len(g) for g in got] == [len(w) for w in want] and least.min() > 0.75 and
           np.median(least) > 0.93, f"{[len(g) for g in got]} faces, overlaps from {least.min():.3f}, "
           f"median {np.median(least):.3f}")
    report("int8_finds_no_face_on_a_cat", len(detected(nets, cat(root))) == 0, "a face")
    for name, net, part in (("the_third_net_with_8_bits_keeps_most_overlaps_above_0_98", nets[2], 0.9),
                            ("the_third_net_of_44_decibels_keeps_all_overlaps_above_0_98", last, 1)):
        got = [detected([*exact[:2], net], picture) for picture in sheets]
        least = np.concatenate([matched(w, g) for w, g in zip(want, got)])
        report(name, (least >= 0.98).mean() >= part, f"{(least >= 0.98).mean():.2f}, from {least.min():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
