# SPDX-License-Identifier: BSD-2-Clause
"""Layers that compute each element separately: y = f(x), dx = dy·f'(x).

In place, a backward pass that reads the bottom reads the top instead, because both are one buffer in Caffe; the graph
passes the top. This does not affect ReLU and ELU with slopes ≥ 0; AbsVal, BNLL, Clip, Log and Power compute another
gradient in place than otherwise.
"""

import math

import numpy as np

from .layer import Layer, layer
from .real import choose, erfc, exp, log, power, real, shifted, sigmoid, tanh
from .text import Unsupported


class Neuron(Layer):
    def forward(self, bottoms):
        return [self.f(bottoms[0])]

    def backward(self, tops, diffs, bottoms, needs):
        return [diffs[0] * self.slope(bottoms[0], tops[0])]

    def f(self, x):
        raise NotImplementedError

    def slope(self, x, y):
        raise NotImplementedError


@layer('ReLU', field='relu_param', in_place=True, keeps=False)
class ReLU(Neuron):
    def f(self, x):
        return choose(x > 0, x, x * self.p.float('negative_slope', 0))

    def slope(self, x, y):
        return choose(x > 0, 1.0, self.p.float('negative_slope', 0))


@layer('ReLU6', field='relu6_param', in_place=True, keeps=False)
class ReLU6(Neuron):
    """min(max(x, 0), 6), a Clip; the gradient passes at 0 and 6."""

    def f(self, x):
        return choose(x > 6, 6.0, choose(x <= 0, 0.0, x))

    def slope(self, x, y):
        return choose((x >= 0) & (x <= 6), 1.0, 0.0)


@layer('ELU', field='elu_param', in_place=True)
class ELU(Neuron):
    """x, or α·(exp(x) - 1) where x ≤ 0. The slope there is α + y, from the output."""

    def f(self, x):
        below = exp(choose(x > 0, 0.0, x)) - 1.0
        return choose(x > 0, x, below * self.p.float('alpha', 1))

    def slope(self, x, y):
        return choose(x > 0, 1.0, y + self.p.float('alpha', 1))


@layer('Sigmoid', field='sigmoid_param', in_place=True)
class Sigmoid(Neuron):
    def f(self, x):
        return sigmoid(x)

    def slope(self, x, y):
        return y * (1.0 - y)


@layer('TanH', field='tanh_param', in_place=True)
class TanH(Neuron):
    def f(self, x):
        return tanh(x)

    def slope(self, x, y):
        return 1.0 - y * y


@layer('AbsVal', in_place=True)
class AbsVal(Neuron):
    """|x|; the slope is sign(x), 0 at 0."""

    def f(self, x):
        return abs(x)

    def slope(self, x, y):
        return choose(x > 0, 1.0, choose(x < 0, -1.0, 0.0))


@layer('BNLL', in_place=True)
class BNLL(Neuron):
    """log(1 + exp(x)), from the side that does not overflow."""

    def f(self, x):
        return choose(x > 0, x, 0.0) + log(exp(-abs(x)) + 1.0)

    def slope(self, x, y):
        e = exp(choose(x < 50.0, x, 50.0))
        return e / (e + 1.0)


@layer('Threshold', field='threshold_param', in_place=True)
class Threshold(Neuron):
    """1 strictly above the threshold, else 0; no gradient."""

    def f(self, x):
        return choose(x > self.p.float('threshold', 0), 1.0, 0.0)

    def backward(self, tops, diffs, bottoms, needs):
        return [None]


@layer('Clip', field='clip_param', in_place=True, keeps=False)
class Clip(Neuron):
    """The gradient passes within [min, max], the ends included."""

    def f(self, x):
        low, high = self.p.float('min'), self.p.float('max')
        return choose(x < low, low, choose(x > high, high, x))

    def slope(self, x, y):
        return choose((x >= self.p.float('min')) & (x <= self.p.float('max')), 1.0, 0.0)


@layer('Swish', field='swish_param', in_place=True)
class Swish(Neuron):
    """x·σ(βx); the slope is βy + σ·(1 - βy)."""

    def f(self, x):
        return x * sigmoid(x * self.p.float('beta', 1))

    def slope(self, x, y):
        beta = self.p.float('beta', 1)
        return y * beta + sigmoid(x * beta) * (1.0 - y * beta)


def softplus(x):
    return choose(x > 0, x, 0.0) + log(exp(-abs(x)) + 1.0)


@layer('Softplus', in_place=True)
class Softplus(BNLL):
    """BNLL by the name of the field."""


@layer('Softsign', in_place=True)
class Softsign(Neuron):
    def f(self, x):
        return x / (abs(x) + 1.0)

    def slope(self, x, y):
        return 1.0 / ((abs(x) + 1.0) * (abs(x) + 1.0))


@layer('Mish', in_place=True)
class Mish(Neuron):
    """x·tanh(softplus(x)). The slope has 1 - tanh², which cancels for large x: 4·e·(e + 1)/d² times x, with
    e = exp(x) and d = e² + 2e + 2, is the same without."""

    def f(self, x):
        return x * tanh(softplus(x))

    def slope(self, x, y):
        at = choose(x > 20, 20.0, x)
        e = exp(at)
        d = e * (e + 2.0) + 2.0
        inner = tanh(softplus(at)) + at * e * (e + 1.0) * 4.0 / (d * d)
        return choose(x > 20, 1.0, inner)


class HardSigmoidal(Neuron):
    """A function of h = alpha·x + beta between 0 and 1."""

    alpha = 1 / 6
    beta = 0.5

    def h(self, x):
        return x * self.alpha + self.beta

    def bounded(self, h):
        return choose(h <= 0, 0.0, choose(h >= 1, 1.0, h))


class HardSigmoidBase(HardSigmoidal):
    def f(self, x):
        return self.bounded(self.h(x))

    def slope(self, x, y):
        h = self.h(x)
        return choose((h > 0) & (h < 1), self.alpha, 0.0)


@layer('HardSigmoid', in_place=True)
class HardSigmoid(HardSigmoidBase):
    """HardSigmoid as in Keras."""

    alpha = 0.2


@layer('HSigmoid', in_place=True)
class HSigmoid(HardSigmoidBase):
    """relu6(x + 3)/6."""


@layer('HardSwish', in_place=True)
class HardSwish(HardSigmoidal):
    """x·relu6(x + 3)/6."""

    def f(self, x):
        return x * self.bounded(self.h(x))

    def slope(self, x, y):
        h = self.h(x)
        return choose(h <= 0, 0.0, choose(h >= 1, 1.0, x * self.alpha + h))


@layer('HSwish', in_place=True)
class HSwish(HardSwish):
    """HardSwish by another name."""


@layer('GELU', in_place=True)
class GELU(Neuron):
    """x·Φ(x), with the distribution function of the standard normal distribution."""

    def phi(self, x):
        return erfc(x * -math.sqrt(0.5)) * 0.5

    def f(self, x):
        return x * self.phi(x)

    def slope(self, x, y):
        return self.phi(x) + x * exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


@layer('Power', field='power_param', in_place=True)
class Power(Neuron):
    """(shift + scale·x)^power. Caffe's slope is power·scale·y/(shift + scale·x): NaN for 0/0."""

    def parts(self):
        return self.p.float('power', 1), self.p.float('scale', 1), self.p.float('shift', 0)

    def inner(self, x):
        _, scale, shift = self.parts()
        inner = x if scale == 1 else x * scale
        return shifted(inner, real(shift)) if shift else inner

    def f(self, x):
        p, scale, shift = self.parts()
        if p * scale == 0:
            return real(np.full(x.shape, 1.0 if p == 0 else np.power(shift, p)))
        if p == 1:  # some builds of NumPy round x to the power of 1
            return self.inner(x)
        return power(self.inner(x), p)

    def slope(self, x, y):
        p, scale, _ = self.parts()
        if p * scale == 0 or p == 1:
            return real(np.full(x.shape, p * scale))
        if p == 2:
            return self.inner(x) * (2 * scale)
        return y / self.inner(x) * (p * scale)

    def backward(self, tops, diffs, bottoms, needs):
        p, scale, _ = self.parts()
        if p * scale == 0:  # also if the incoming diff is infinite or NaN
            return [real(np.zeros(bottoms[0].shape))]
        return super().backward(tops, diffs, bottoms, needs)


def logarithm(self):
    """The natural logarithm of the base; base -1 is e."""
    base = self.p.float('base', -1)
    self.check(base == -1 or base > 0, 'the base is %g', base)
    return 1.0 if base == -1 else math.log(base)


@layer('Exp', field='exp_param', in_place=True)
class Exp(Neuron):
    """base^(shift + scale·x)."""

    def f(self, x):
        scale, shift = self.p.float('scale', 1), self.p.float('shift', 0)
        return exp(x * (logarithm(self) * scale)) * math.exp(logarithm(self) * shift)

    def slope(self, x, y):
        return y * (logarithm(self) * self.p.float('scale', 1))


@layer('Log', field='log_param', in_place=True)
class Log(Neuron):
    """The logarithm of shift + scale·x."""

    def inner(self, x):
        return x * self.p.float('scale', 1) + self.p.float('shift', 0)

    def f(self, x):
        self.check(logarithm(self) != 0, 'the base is 1')
        return log(self.inner(x)) * (1 / logarithm(self))

    def slope(self, x, y):
        return (self.p.float('scale', 1) / logarithm(self)) / self.inner(x)


@layer('Dropout', field='dropout_param', in_place=True)
class Dropout(Neuron):
    """TEST: the identity. TRAIN is random; with ratio 0 it keeps all."""

    def f(self, x):
        if self.phase == 'TRAIN' and self.p.float('dropout_ratio', 0.5) != 0:
            raise Unsupported('layer %s: Dropout is random in TRAIN' % self.name)
        return x

    def slope(self, x, y):
        return 1.0


@layer('PReLU', field='prelu_param', in_place=True)
class PReLU(Layer):
    """max(x, 0) + a·min(x, 0), with a slope for each channel (axis 1) or one for all; at 0 the slope is a."""

    def setup(self, bottoms):
        x = bottoms[0]
        self.check(x.ndim >= 2, 'the bottom has fewer than 2 axes')
        self.legacy4(x)
        shape = () if self.p.bool('channel_shared') else (x.shape[1],)
        self.parameter(shape, self.p.sub('filler') if self.p.has('filler') else None, 0.25)

    def slopes(self, x):
        a = self.weight(0)
        return a.reshape((1, -1) + (1,) * (x.ndim - 2)) if a.ndim else a

    def forward(self, bottoms):
        x = bottoms[0]
        return [choose(x > 0, x, x * self.slopes(x))]

    def backward(self, tops, diffs, bottoms, needs):
        x, dy = bottoms[0], diffs[0]
        if self.wants(0):
            product = choose(x > 0, 0.0, dy * x)
            axes = None if not self.weight(0).ndim else (0,) + tuple(range(2, x.ndim))
            self.add_gradient(0, product.sum(axes))
        return [choose(x > 0, dy, dy * self.slopes(x))]
