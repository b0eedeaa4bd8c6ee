# SPDX-License-Identifier: BSD-2-Clause
"""Layers that move elements: parts, joins, other shapes, and selections."""

from draw import Refused, count
from model import Word


def _concat(d):
    bottom = d.bottom(1, 6)
    axis = d.integer(0, bottom.rank - 1) if bottom.rank < 2 or d.chance(0.5) else 1
    bottoms = [bottom]
    for _ in range(d.one(0, 1, 1, 1, 2)):
        if d.chance(0.2):
            bottoms.append(bottom)
            continue
        shape = list(bottom.shape)
        found = [b for b in d.blobs if b.rank == bottom.rank and b not in bottoms and b.values == "values"
                 and all(b.shape[i] == shape[i] for i in range(b.rank) if i != axis)]
        shape[axis] = d.integer(1, 4)
        bottoms.append(d.rng.choice(found) if found and d.chance(0.8) else d.input(shape))
    d.rng.shuffle(bottoms)
    shape = list(bottom.shape)
    shape[axis] = sum(b.shape[axis] for b in bottoms)
    fields = []
    if axis != 1 or d.chance(0.2):
        fields = [["concat_dim", axis]] if d.chance(0.2) else [["axis", d.axis(axis, bottom.rank)]]
    d.layer("Concat", bottoms, [shape], [["concat_param", fields]] if fields else [])


def _slice(d):
    bottom = d.bottom(1, 6)
    axis = d.integer(0, bottom.rank - 1) if bottom.rank < 2 or d.chance(0.5) else 1
    n = bottom.shape[axis]
    parts = d.integer(1, min(n, 4))
    if n % parts == 0 and d.chance(0.5):
        sizes, fields = [n // parts] * parts, []
    else:
        points = sorted(d.rng.sample(range(1, n), parts - 1))
        sizes = [b - a for a, b in zip([0] + points, points + [n])]
        fields = [["slice_point", p] for p in points]
    if axis != 1 or d.chance(0.2):
        fields.append(["slice_dim", axis] if d.chance(0.2) else ["axis", d.axis(axis, bottom.rank)])
    shapes = [bottom.shape[:axis] + [size] + bottom.shape[axis + 1:] for size in sizes]
    d.layer("Slice", [bottom], shapes, [["slice_param", fields]] if fields else [])


def _crop(d):
    bottom = d.bottom(2, 6)
    axis = 2 if bottom.rank > 2 and d.chance(0.5) else d.integer(0, bottom.rank - 1)
    shape = bottom.shape[:axis] + [d.integer(1, n) for n in bottom.shape[axis:]]
    found = [b for b in d.blobs if b.rank == bottom.rank and b.values != "chosen"
             and all(m <= n for m, n in zip(b.shape[axis:], bottom.shape[axis:]))]
    if found and d.chance(0.5):
        reference = d.rng.choice(found)
    else:
        given = [d.size() for _ in range(axis)] + shape[axis:]
        reference = d.input(given)
    outs = bottom.shape[:axis] + reference.shape[axis:]
    room = [n - m for n, m in zip(bottom.shape[axis:], outs[axis:])]
    fields = []
    if d.chance(0.7):
        one = d.chance(0.4)
        fields = [["offset", d.integer(0, min(room))]] if one else [["offset", d.integer(0, r)] for r in room]
    if axis != 2 or d.chance(0.2):
        fields.append(["axis", d.axis(axis, bottom.rank)])
    d.layer("Crop", [bottom, reference], [outs], [["crop_param", fields]] if fields else [])


def _tile(d):
    bottom = d.bottom(1, 6)
    axis = d.integer(0, bottom.rank - 1) if bottom.rank < 2 or d.chance(0.5) else 1
    tiles = d.integer(1, 4)
    shape = list(bottom.shape)
    shape[axis] *= tiles
    fields = [["tiles", tiles]] + ([["axis", d.axis(axis, bottom.rank)]] if axis != 1 or d.chance(0.2) else [])
    d.layer("Tile", [bottom], [shape], [["tile_param", fields]])


def _split_count(d, n):
    """Some shape whose product is n."""
    out = []
    while n > 1 and len(out) < 4:
        divisors = [k for k in range(1, n + 1) if n % k == 0]
        out.append(d.rng.choice(divisors))
        n //= out[-1]
    return out + [n] if n > 1 or not out or d.chance(0.2) else out


def _reshape(d):
    bottom = d.bottom(1, 6)
    if d.chance(0.5):
        start, end = 0, bottom.rank
    else:
        start = d.integer(0, bottom.rank)
        end = d.integer(start, bottom.rank)
    inner = bottom.shape[start:end]
    shape = _split_count(d, count(inner))
    if inner and d.chance(0.4):
        shape = inner[:1] + _split_count(d, count(inner[1:]))
    shape = bottom.shape[:start] + shape + bottom.shape[end:]
    written = list(shape)
    for i, n in enumerate(shape):
        if start + i < bottom.rank and bottom.shape[start + i] == n and d.chance(0.4):
            written[i] = 0
    if written and d.chance(0.4):
        written[d.rng.randrange(len(written))] = -1
    fields = [["shape", [["dim", n] for n in written]]]
    if start or d.chance(0.1):
        fields.append(["axis", start - bottom.rank - 1 if d.chance(0.3) else start])
    if end < bottom.rank or d.chance(0.2):
        fields.append(["num_axes", end - start])
    d.layer("Reshape", [bottom], [shape], [["reshape_param", fields]])


def _flatten(d):
    bottom = d.bottom(1, 6)
    if d.chance(0.5) and bottom.rank > 1:
        first, last, fields = 1, bottom.rank - 1, []
    else:
        first = d.integer(0, bottom.rank - 1)
        last = d.integer(first, bottom.rank - 1)
        fields = [["axis", d.axis(first, bottom.rank)], ["end_axis", d.axis(last, bottom.rank)]]
    shape = bottom.shape[:first] + [count(bottom.shape[first:last + 1])] + bottom.shape[last + 1:]
    d.layer("Flatten", [bottom], [shape], [["flatten_param", fields]] if fields else [])


def _permute(d):
    bottom = d.bottom(1, 6)
    order = list(range(bottom.rank))
    if d.chance(0.85):
        d.rng.shuffle(order)
    named = d.integer(1, bottom.rank)
    order = order[:named] + [i for i in range(bottom.rank) if i not in order[:named]]
    d.layer("Permute", [bottom], [[bottom.shape[i] for i in order]],
            [["permute_param", [["order", i] for i in order[:named]]]])


def _split(d):
    bottom = d.bottom(0, 10)
    d.layer("Split", [bottom], [bottom.shape] * d.integer(1, 3))


def _silence(d):
    if len(d.blobs) < 3:
        raise Refused
    d.layer("Silence", [d.rng.choice(d.blobs) for _ in range(d.integer(1, 2))], [])


def _reduction(d):
    bottom = d.bottom(1, 6)
    axis = 0 if d.chance(0.2) else d.integer(0, bottom.rank - 1)
    fields = [["operation", Word(d.one("SUM", "ASUM", "SUMSQ", "MEAN"))]] if d.chance(0.8) else []
    if axis or d.chance(0.2):
        fields.append(["axis", d.axis(axis, bottom.rank)])
    if d.chance(0.5):
        fields.append(["coeff", d.real(-2, 2)])
    d.layer("Reduction", [bottom], [bottom.shape[:axis]], [["reduction_param", fields]] if fields else [])


def _filter(d):
    bottom = d.bottom(1, 5)
    rows = bottom.shape[0]
    bottoms = [bottom]
    if d.chance(0.4):
        bottoms.append(d.other([rows] + d.shape(d.integer(0, 3))))
    ones = d.integer(1, rows)
    selector = d.input([rows] + [1] * d.integer(0, 3), f"selector {ones}")
    d.layer("Filter", bottoms + [selector], [[ones] + b.shape[1:] for b in bottoms])


def _batch_reindex(d):
    bottom = d.bottom(1, 5)
    index = d.input([d.integer(1, 5)], f"integers 0 {bottom.shape[0] - 1}")
    d.layer("BatchReindex", [bottom, index], [[index.shape[0]] + bottom.shape[1:]])


def _arg_max(d):
    bottom = d.bottom(1, 5)
    pairs, fields = d.chance(0.4), []
    if pairs:
        fields.append(["out_max_val", True])
    axis = d.integer(0, bottom.rank - 1) if d.chance(0.6) or bottom.rank < 2 else None
    room = bottom.shape[axis] if axis is not None else count(bottom.shape[1:])
    top_k = d.integer(1, min(room, 4))
    if top_k > 1:
        fields.append(["top_k", top_k])
    if axis is not None:
        fields.append(["axis", d.axis(axis, bottom.rank)])
        shape = list(bottom.shape)
        shape[axis] = top_k
    else:
        shape = [1] * max(bottom.rank, 3)
        shape[0], shape[2] = bottom.shape[0], top_k
        if pairs:
            shape[1] = 2
    top = d.layer("ArgMax", [bottom], [shape], [["argmax_param", fields]] if fields else [])[0]
    top.values = "chosen"


KINDS = {
    "ArgMax": _arg_max,
    "BatchReindex": _batch_reindex,
    "Concat": _concat,
    "Crop": _crop,
    "Filter": _filter,
    "Flatten": _flatten,
    "Permute": _permute,
    "Reduction": _reduction,
    "Reshape": _reshape,
    "Silence": _silence,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
}
