# SPDX-License-Identifier: BSD-2-Clause
"""Caffe's six solvers in float64: the effect of an iteration on the parameters of a net."""

import math

import numpy as np

from .text import NetError, parse

TYPES = ('SGD', 'NESTEROV', 'ADAGRAD', 'RMSPROP', 'ADADELTA', 'ADAM')
NAMES = ('SGD', 'Nesterov', 'AdaGrad', 'RMSProp', 'AdaDelta', 'Adam')


class Solver:
    """An iteration: iter_size forward and backward passes, whose gradients accumulate; then the update.

    `net` is an oracle.Net in TRAIN; `feed(net)`, if given, sets its inputs before each pass. `history` has
    one array for each learnable parameter, and for AdaDelta and Adam a second set after the first."""

    def __init__(self, text, net, feed=None):
        self.p, self.net, self.feed = parse(text), net, feed
        self.iter = self.current_step = 0
        self.type = self.kind()
        self.update = getattr(self, self.type.lower())
        sets = 2 if self.type in ('AdaDelta', 'Adam') else 1
        self.history = [np.zeros(p.data.shape) for _ in range(sets) for p in net.learnable]
        self.momentum, self.delta = self.p.float('momentum', 0), self.p.float('delta', 1e-8)
        if self.momentum and self.type in ('AdaGrad', 'RMSProp'):
            raise NetError('%s has no momentum' % self.type)

    def kind(self):
        if not self.p.has('type'):
            old = self.p.enum('solver_type', 'SGD', *TYPES)
            return NAMES[TYPES.index(old)]
        name = self.p.get('type')
        if name not in NAMES:
            raise NetError('there is no solver %s' % name)
        return name

    def rate(self):
        """The learning rate of this iteration. multistep advances by at most one step at each call."""
        p, t = self.p, self.iter
        base, gamma, power = p.float('base_lr'), p.float('gamma'), p.float('power')
        policy, size = p.get('lr_policy', ''), p.int('stepsize')
        if policy == 'fixed':
            return base
        if policy == 'step':
            self.current_step = t // size
            return base * gamma**self.current_step
        if policy == 'exp':
            return base * gamma**t
        if policy == 'inv':
            return base * (1 + gamma * t) ** -power
        if policy == 'multistep':
            values = p.ints('stepvalue')
            if self.current_step < len(values) and t >= values[self.current_step]:
                self.current_step += 1
            return base * gamma**self.current_step
        if policy == 'poly':
            return base * (1 - t / p.int('max_iter')) ** power
        if policy == 'sigmoid':
            return base / (1 + math.exp(-gamma * (t - size)))
        raise NetError('there is no learning rate policy %s' % policy)

    def step(self):
        """One iteration; returns the mean loss of its passes."""
        self.net.clear_param_diffs()
        passes, loss = self.p.int('iter_size', 1), 0.0
        for _ in range(passes):
            if self.feed:
                self.feed(self.net)
            loss += self.net.forward()
            self.net.backward()
        self.apply(self.gradients())
        return loss / passes

    def gradients(self):
        params = self.net.learnable
        return [np.zeros(p.data.shape) if p.diff is None else p.diff.v.copy() for p in params]

    def apply(self, gradients):
        """Clip the sum, divide by iter_size, add the decay, update: in this order."""
        rate = self.rate()
        limit, length = self.p.float('clip_gradients', -1), math.sqrt(
            sum((g * g).sum() for g in gradients)
        )
        clip = limit / length if 0 <= limit < length else 1.0
        for i, (param, g) in enumerate(zip(self.net.learnable, gradients)):
            g = g * clip / self.p.int('iter_size', 1) + self.decay(param)
            param.data[...] -= self.update(i, g, rate * param.lr_mult)
        self.iter += 1

    def decay(self, param):
        amount = self.p.float('weight_decay', 0) * param.decay_mult
        kind = self.p.get('regularization_type', 'L2')
        if kind not in ('L1', 'L2'):
            raise NetError('there is no regularization_type %s' % kind)
        return amount * (np.sign(param.data) if kind == 'L1' else param.data)

    # ---- the update of parameter i from its gradient and its rate ------------------------------

    def sgd(self, i, g, rate):
        """The momentum includes the rate."""
        self.history[i] = self.momentum * self.history[i] + rate * g
        return self.history[i]

    def nesterov(self, i, g, rate):
        old = self.history[i]
        self.history[i] = self.momentum * old + rate * g
        return (1 + self.momentum) * self.history[i] - self.momentum * old

    def adagrad(self, i, g, rate):
        self.history[i] = self.history[i] + g * g
        return rate * g / (np.sqrt(self.history[i]) + self.delta)

    def rmsprop(self, i, g, rate):
        decay = self.p.float('rms_decay', 0.99)
        self.history[i] = decay * self.history[i] + (1 - decay) * g * g
        return rate * g / (np.sqrt(self.history[i]) + self.delta)

    def adadelta(self, i, g, rate):
        """delta is inside the roots; the second set has the squares of the updates, before the rate."""
        m, j = self.momentum, i + len(self.net.learnable)
        self.history[i] = m * self.history[i] + (1 - m) * g * g
        update = g * np.sqrt((self.history[j] + self.delta) / (self.history[i] + self.delta))
        self.history[j] = m * self.history[j] + (1 - m) * update * update
        return rate * update

    def adam(self, i, g, rate):
        """The rate includes the correction of the biases, so delta is not corrected."""
        j, t = i + len(self.net.learnable), self.iter + 1
        first, second = self.momentum, self.p.float('momentum2', 0.999)
        self.history[i] = first * self.history[i] + (1 - first) * g
        self.history[j] = second * self.history[j] + (1 - second) * g * g
        rate *= math.sqrt(1 - second**t) / (1 - first**t)
        return rate * self.history[i] / (np.sqrt(self.history[j]) + self.delta)
