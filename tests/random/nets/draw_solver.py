# SPDX-License-Identifier: BSD-2-Clause
"""A solver and a smooth net for it, determined by a seed: every type, policy and regularization, and all
options that scale gradients."""

import model
from draw import Draw
from model import Word

TYPES = ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")
POLICIES = ("fixed", "step", "exp", "inv", "multistep", "poly", "sigmoid")
SMOOTH = ("TanH", "Sigmoid", "BNLL", "Swish", "ELU", "GELU", "Mish", "Softsign")
ITERATIONS = 20


class Solver:
    """A solver's prototxt, its net, and the seeds of both their values."""

    def __init__(self, seed, fields, net):
        self.seed, self.fields, self.net = seed, fields, net

    def text(self):
        """The solver's prototxt, including its net."""
        inner = [["layer", _pairs(layer)] for layer in self.net.layers]
        return model.message_text(self.fields + [["net_param", inner]])


def _pairs(layer):
    layer.text()
    pairs = [["name", layer.name], ["type", layer.kind]]
    return pairs + [["bottom", b] for b in layer.bottoms] + [["top", t] for t in layer.tops] + layer.fields


def draw(seed):
    """The solver of this seed."""
    d = Draw(seed)
    d.net.phase = "TRAIN"
    kind = d.one(*TYPES)
    fields = [["type", kind], ["base_lr", _rate(d, kind)], ["max_iter", 3 * ITERATIONS], ["display", 0]]
    fields += _policy(d) + _momentum(d, kind) + _scaling(d) + [["random_seed", 1]]
    _net(d)
    return Solver(seed, fields, d.net)


def _rate(d, kind):
    if kind == "AdaDelta":
        return d.one(1.0, 0.5)
    return d.one(0.001, 0.01, 0.03) if kind in ("RMSProp", "Adam", "AdaGrad") else d.one(0.01, 0.05, 0.1)


def _policy(d):
    policy = d.one(*POLICIES)
    fields = [["lr_policy", policy]]
    if policy in ("step", "exp", "inv", "multistep"):
        fields.append(["gamma", d.one(0.5, 0.9) if policy != "inv" else d.one(0.01, 0.1)])
    if policy == "step":
        fields.append(["stepsize", d.integer(1, 7)])
    if policy in ("inv", "poly"):
        fields.append(["power", d.one(0.5, 0.75, 1.0, 2.0)])
    if policy == "multistep":
        fields += [["stepvalue", n] for n in sorted(d.rng.sample(range(1, 18), d.integer(1, 4)))]
    if policy == "sigmoid":
        fields += [["gamma", d.one(0.1, 0.5)], ["stepsize", d.integer(3, 12)]]
    return fields


def _momentum(d, kind):
    fields = []
    if kind in ("SGD", "Nesterov", "AdaDelta", "Adam"):
        fields.append(["momentum", d.one(0.5, 0.9, 0.95) if kind != "SGD" else d.one(0.0, 0.5, 0.9)])
    if kind == "Adam":
        fields.append(["momentum2", d.one(0.9, 0.99, 0.999)])
    if kind == "RMSProp":
        fields.append(["rms_decay", d.one(0.5, 0.9, 0.98)])
    if kind in ("AdaGrad", "RMSProp", "AdaDelta", "Adam"):
        fields.append(["delta", d.one(1e-8, 1e-6, 1e-3)])
    return fields


def _scaling(d):
    fields = []
    if d.chance(0.6):
        fields.append(["weight_decay", d.one(0.0005, 0.01, 0.1)])
        if d.chance(0.6):
            fields.append(["regularization_type", d.one("L1", "L2")])
    if d.chance(0.4):
        fields.append(["clip_gradients", d.one(0.05, 0.5, 5.0)])
    if d.chance(0.4):
        fields.append(["iter_size", d.integer(2, 4)])
    return fields


def _params(d, shared):
    """Rates and decays of weights and bias, equal for both layers of a pair."""
    out = []
    for i in range(2):
        message = [["name", f"{shared}_{i}"]] if shared else []
        if d.chance(0.4):
            message.append(["lr_mult", d.one(0, 0.5, 2)])
        if d.chance(0.4):
            message.append(["decay_mult", d.one(0, 0.5, 2)])
        out.append(["param", message])
    return out


def _weighted(d, blob, n_out, more):
    if blob.rank == 4 and d.chance(0.6):
        k = min(d.integer(1, 3), *blob.shape[2:])
        shape = [blob.shape[0], n_out] + [n - k + 1 for n in blob.shape[2:]]
        kind = "Convolution"
        fields = [["convolution_param", [["num_output", n_out], ["kernel_size", k]]]]
    else:
        kind, shape = "InnerProduct", [blob.shape[0], n_out]
        fields = [["inner_product_param", [["num_output", n_out]]]]
    return d.layer(kind, [blob], [shape], fields + more)[0]


def _pair(d, x):
    """Two layers on two inputs with shared parameters."""
    n_out, more = d.integer(1, 4), _params(d, d.name("w"))
    other = d.input(x.shape)
    fields = [["inner_product_param", [["num_output", n_out]]]] + more
    tops = [d.layer("InnerProduct", [b], [[b.shape[0], n_out]], fields)[0] for b in (x, other)]
    return d.layer("Eltwise", tops, [tops[0].shape], [["eltwise_param", [["operation", Word(d.one("SUM", "PROD"))]]]])[0]


def _net(d):
    x = d.input(d.one([3, 4], [2, 2, 4, 4], [4, 3, 3, 3]))
    if d.chance(0.3):
        x = _pair(d, x)
    for _ in range(d.integer(1, 2)):
        x = _weighted(d, x, d.integer(2, 5), _params(d, None) if d.chance(0.6) else [])
        if d.chance(0.2):
            x = d.layer("Scale", [x], [x.shape], [["scale_param", [["bias_term", True]]]])[0]
        x = d.layer(d.one(*SMOOTH), [x], [x.shape], [], d.chance(0.5))[0]
    n_out = d.integer(2, 4)
    x = d.layer("InnerProduct", [x], [[x.shape[0], n_out]], [["inner_product_param", [["num_output", n_out]]]])[0]
    kind = d.one("EuclideanLoss", "SoftmaxWithLoss", "SigmoidCrossEntropyLoss")
    shape, target = {"EuclideanLoss": (x.shape, "values"), "SigmoidCrossEntropyLoss": (x.shape, "probability"),
                     "SoftmaxWithLoss": (x.shape[:1], f"integers 0 {n_out - 1}")}[kind]
    d.layer(kind, [x, d.input(shape, target)], [[]])
