# SPDX-License-Identifier: BSD-2-Clause
"""A net of 1 to 15 layers, determined by a seed."""

import kinds_ferry
import kinds_loss
import kinds_other
import kinds_pairs
import kinds_shape
import kinds_unary
import kinds_window
from draw import Draw, Refused
from model import Layer, Word

KINDS = {}
for _module in (kinds_ferry, kinds_loss, kinds_other, kinds_pairs, kinds_shape, kinds_unary, kinds_window):
    KINDS.update(_module.KINDS)

#: Layers that share their bottom's memory, in Caffe and here: a layer in place after them writes
# it too.
ALIASES = ("Split", "Flatten", "Reshape", "Slice", "Concat", "Permute", "Dropout", "Silence")
ACTIVATIONS = ("ReLU", "ELU", "Sigmoid", "TanH", "PReLU", "Power", "Clip", "Swish", "AbsVal", "BNLL",
               "GELU", "HardSigmoid", "HardSwish", "Mish", "Softplus", "Softsign")
WEIGHTED = ("Convolution", "Deconvolution", "InnerProduct", "ConvolutionDepthwise", "DepthwiseConvolution")
SOURCES = ("Input", "MemoryData", "DummyData", "Parameter")
#: The kinds of a net of few kinds: kinds that are fused, aliased and accumulated.
THEMES = (ALIASES + ACTIVATIONS, WEIGHTED + ("Scale", "Bias", "BatchNorm", "Again") + ACTIVATIONS,
          WEIGHTED + ("Excite", "Widen", "Operand", "Scale", "Bias"), WEIGHTED + ("Eltwise", "Concat", "Split"),
          ("Kept", "Likeness", "Weighed") + WEIGHTED,
          ("Kept", "Excite", "Widen", "Operand"),
          ("LRN", "Softmax", "MVN", "Normalize", "Pooling", "BatchNorm") + ACTIVATIONS,
          ("Scale", "Bias", "Eltwise", "Operand", "Dropout", "Reshape"),
          ("Concat", "Slice", "Split", "Eltwise", "Reshape", "Flatten", "Crop", "Tile"))


def generate(seed):
    """The net of this seed."""
    d = Draw(seed)
    d.net.phase = "TEST" if d.chance(0.7) else "TRAIN"
    d.net.force_backward = d.chance(0.3)
    if d.chance(0.2):
        d.net.stages = d.rng.sample(["deploy", "tune"], d.integer(1, 2))
    d.net.level = d.one(0, 0, 0, 1)
    kinds = _favourites(d)
    d.input(d.shape(d.one(4, 4, 4, 4, 2, 3, 5, 1, d.integer(6, 10))))
    _layers(d, kinds, d.one(1, 2, 3, 4, 5, 6, 8, 11, 15))
    _ends(d)
    _options(d)
    return d.net


def _favourites(d):
    """All kinds, or a few of them."""
    if d.chance(0.5):
        return sorted(KINDS)
    theme = sorted(d.one(*THEMES)) if d.chance(0.7) else sorted(KINDS)
    return d.rng.sample(theme, min(len(theme), d.integer(2, 5)))


def _layers(d, kinds, n):
    for _ in range(3 * n):
        if sum(1 for layer in d.net.layers if layer.kind != "Input") >= n:
            return
        _layer(d, d.rng.choice(kinds))


def _layer(d, kind):
    """One layer and the layers that it needs; nothing if it does not fit."""
    blobs = [(blob, list(blob.shape), blob.users, blob.values) for blob in d.blobs]
    n = len(d.net.layers)
    try:
        KINDS[kind](d)
    except Refused:
        del d.net.layers[n:]
        d.blobs = [blob for blob, _, _, _ in blobs]
        for blob, shape, users, values in blobs:
            blob.shape, blob.users, blob.values = shape, users, values


def _ends(d):
    """Consumes blobs without a user: a loss, a loss weight, Silence, or nothing."""
    for blob in [b for b in d.blobs if not b.users and b.values == "values"]:
        way = d.rng.random()
        if way < 0.25:
            _weighted_sum(d, blob)
        elif way < 0.4 and blob.rank:
            target = d.input(blob.shape)
            d.layer("EuclideanLoss", [blob, target], [[]])[0].values = "loss"
        elif way < 0.55:
            _weigh_last(d, blob)
        elif way < 0.6:
            d.layer("Silence", [blob], [])


def _weighted_sum(d, blob):
    """Its product with distinct weights as a loss: a gradient that differs in every element."""
    top = d.layer("Eltwise", [blob, d.input(blob.shape)], [blob.shape],
                  [["eltwise_param", [["operation", Word("PROD")]]]])[0]
    if blob.rank:
        top = d.layer("Reduction", [top], [[]])[0]
    d.latest().fields.append(["loss_weight", d.one(1.0, 0.5, -1.0)])
    top.values = "loss"


def _weigh_last(d, blob):
    """A loss weight at the layer that makes the blob."""
    makers = [layer for layer in d.net.layers if blob.name in layer.tops]
    layer = makers[-1]
    if layer.kind in SOURCES or any(field[0] == "loss_weight" for field in layer.fields):
        return
    for top in layer.tops:
        layer.fields.append(["loss_weight", d.one(1.0, 0.5, -2.0) if top == blob.name else 0.0])


def _options(d):
    """propagate_down, and rules of phase, level and stage."""
    for layer in d.net.layers:
        if layer.kind == "Input":
            continue
        if layer.bottoms and d.chance(0.05):
            plain = all(name not in d.net.inputs or d.net.inputs[name] == "values" for name in layer.bottoms)
            if plain and layer.kind not in kinds_loss.KINDS:
                layer.fields += [["propagate_down", d.chance(0.4)] for _ in layer.bottoms]
        if d.chance(0.06):
            _rule(d, layer)


def _rule(d, layer):
    """A rule that the net's state meets; a layer in place may also be excluded by one."""
    droppable = layer.tops and layer.tops == layer.bottoms[:1]
    met = not droppable or d.chance(0.5)
    true = [["phase", Word(d.net.phase)], ["min_level", d.net.level], ["max_level", d.net.level + 1]]
    true += [["stage", s] for s in d.net.stages] + [["not_stage", "other"]]
    false = [["phase", Word("TRAIN" if d.net.phase == "TEST" else "TEST")], ["min_level", d.net.level + 1],
             ["stage", "other"]] + [["not_stage", s] for s in d.net.stages]
    if d.chance(0.6):
        layer.fields.append(["include", [d.rng.choice(true if met else false)]])
    else:
        layer.fields.append(["exclude", [d.rng.choice(false if met else true)]])


def kinds_of(net):
    """The types of a net's layers."""
    return [layer.kind for layer in net.layers if isinstance(layer, Layer)]
