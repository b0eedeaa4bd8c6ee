# SPDX-License-Identifier: BSD-2-Clause
"""Reduces a failing net as long as it fails in the same way."""

import time

import model


def shrink(net, fails, seconds=60):
    """The smallest net found for which fails(net) is true, within that time. `fails` never raises."""
    end = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < end:
        again = False
        for candidates in PASSES:
            net, better = _pass(net, candidates, fails, end)
            again = again or better
    return net


def _pass(net, candidates, fails, end):
    """Accepts every candidate of one kind that still fails, and continues from it."""
    better, skip = False, 0
    while time.monotonic() < end:
        for i, smaller in enumerate(candidates(net)):
            if i < skip or time.monotonic() > end:
                continue
            if _tidy(smaller) and fails(smaller):
                net, better, skip = smaller, True, i
                break
        else:
            return net, better
    return net, better


def _tidy(net):
    """Drops inputs without a reader and layers without their bottoms; False if nothing is left."""
    while True:
        made, kept, read = set(), [], {name for layer in net.layers for name in layer.bottoms}
        for layer in net.layers:
            if all(name in made for name in layer.bottoms) and \
                    not (isinstance(layer, model.Input) and layer.name not in read):
                kept.append(layer)
                made.update(layer.tops)
        if len(kept) == len(net.layers):
            return bool(kept)
        net.layers = kept


def _without_tails(net):
    """Only the first layers, then all but one layer and those that depend on it."""
    n = len(net.layers)
    for keep in (n // 4, n // 2, 3 * n // 4):
        out = net.copy()
        del out.layers[keep:]
        yield out
    for i in reversed(range(n)):
        out = net.copy()
        del out.layers[i]
        yield out


def _bypassed(net):
    """Removes a layer: the layers after it read its first bottom."""
    for i, layer in enumerate(net.layers):
        if not layer.bottoms or not layer.tops:
            continue
        out = net.copy()
        del out.layers[i]
        for later in out.layers[i:]:
            later.bottoms = [layer.bottoms[0] if name in layer.tops else name for name in later.bottoms]
            later.tops = [layer.bottoms[0] if name in layer.tops and name in later.bottoms else name
                          for name in later.tops]
        yield out


def _made_inputs(net):
    """Replaces a layer by inputs of the shapes of its tops, which net.shapes has."""
    for i, layer in enumerate(net.layers):
        if isinstance(layer, model.Input) or set(layer.tops) & set(layer.bottoms):
            continue
        if not layer.tops or any(name not in net.shapes for name in layer.tops):
            continue
        out = net.copy()
        out.layers[i:i + 1] = [model.Input(name, net.shapes[name], "values") for name in layer.tops]
        yield out


def _simpler_state(net):
    for name, value in (("phase", "TEST"), ("level", 0), ("stages", []), ("force_backward", False)):
        if getattr(net, name) != value:
            out = net.copy()
            setattr(out, name, value)
            yield out


def _paths(pairs, at=()):
    """The paths of all fields of a message, including nested messages."""
    for i, (_, value) in enumerate(pairs):
        yield at + (i,)
        if isinstance(value, list):
            yield from _paths(value, at + (i,))


def _parent(layer, path):
    pairs = layer.fields
    for i in path[:-1]:
        pairs = pairs[i][1]
    return pairs


def _fewer_fields(net):
    for i, layer in enumerate(net.layers):
        if isinstance(layer, model.Input):
            continue
        for path in reversed(list(_paths(layer.fields))):
            out = net.copy()
            del _parent(out.layers[i], path)[path[-1]]
            yield out


def _smaller_numbers(net):
    for i, layer in enumerate(net.layers):
        if isinstance(layer, model.Input):
            continue
        for path in _paths(layer.fields):
            value = _parent(layer, path)[path[-1]][1]
            for less in _less(value):
                out = net.copy()
                _parent(out.layers[i], path)[path[-1]][1] = less
                yield out


def _less(value):
    if isinstance(value, (bool, str, list)):
        return ()
    if isinstance(value, int):
        return sorted({n for n in (1, value // 2, value - 1) if 0 < n < value})
    return [x for x in (1.0, 0.5) if value != x and value not in (1.0,)]


def _smaller_shapes(net):
    """Inputs with fewer axes or a smaller shape; all inputs with the same dim at an axis change together."""
    inputs = [i for i, layer in enumerate(net.layers) if isinstance(layer, model.Input)]
    for axis, dim in sorted({(a, n) for i in inputs for a, n in enumerate(net.layers[i].shape) if n > 1}):
        for less in sorted({1, dim // 2, dim - 1}):
            for chosen in [inputs] + [[i] for i in inputs]:
                out = net.copy()
                shapes = [out.layers[i].shape for i in chosen]
                shapes = [shape for shape in shapes if axis < len(shape) and shape[axis] == dim]
                for shape in shapes:
                    shape[axis] = less
                if shapes:
                    yield out
    for i in inputs:
        for axis in range(len(net.layers[i].shape)):
            out = net.copy()
            del out.layers[i].shape[axis]
            yield out


def _one_user(net):
    """Removes a repeated bottom of a layer with any number of bottoms."""
    for i, layer in enumerate(net.layers):
        for k in range(len(layer.bottoms) if len(layer.bottoms) > 1 else 0):
            out = net.copy()
            del out.layers[i].bottoms[k]
            yield out
        for k in range(len(layer.tops) if len(layer.tops) > 1 else 0):
            out = net.copy()
            del out.layers[i].tops[k]
            yield out


PASSES = (_without_tails, _made_inputs, _bypassed, _simpler_state, _one_user, _fewer_fields, _smaller_shapes,
          _smaller_numbers)
