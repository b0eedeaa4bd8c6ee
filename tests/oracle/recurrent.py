# SPDX-License-Identifier: BSD-2-Clause
"""LSTMUnit, LSTM and RNN: loops over time.

Bottoms: x (T, N, …), cont (T, N), a static x (N, …) if there is one, with expose_hidden the initial
state. Tops: the outputs (T, N, D), with expose_hidden the last state. In Caffe the diffs of the
last state's tops have no effect (the diff of c_T is zero), and the initial state's diffs are never
written.
"""

from .layer import Layer, count, layer
from .layers_dense import transposed
from .real import Sum, biased, choose, matmul, sigmoid, stack, tanh, zeros


def unit(c, x, cont):
    """One step of an LSTM: c (N, D), gates x (N, 4D) in the order i, f, o, g, cont (N, 1)."""
    d = c.shape[1]
    i, o, g = sigmoid(x[:, :d]), sigmoid(x[:, 2 * d : 3 * d]), tanh(x[:, 3 * d :])
    # if cont is 0 the past counts as 0, even if it is NaN
    f = choose((cont > 0) | (cont < 0), sigmoid(x[:, d : 2 * d]) * cont, 0.0)
    past = choose((cont > 0) | (cont < 0), f * c, 0.0)
    new = past + i * g
    return new, o * tanh(new), (i, f, o, g)


def unit_back(c, new, gates, dnew, dh):
    """The diffs of c and of x. Caffe's f(1-f) uses f = cont·σ."""
    i, f, o, g = gates
    t = tanh(new)
    inner = dnew + dh * o * (1.0 - t * t)
    parts = [
        inner * g * i * (1.0 - i),
        inner * c * f * (1.0 - f),
        dh * t * o * (1.0 - o),
        inner * i * (1.0 - g * g),
    ]
    return inner * f, stack(parts, 1).reshape(c.shape[0], -1)


@layer('LSTMUnit', bottoms=3, tops=2, closed=(2,))
class LSTMUnit(Layer):
    """c (1, N, D), gates (1, N, 4D), cont (1, N) -> the new c, h."""

    def parts(self, bottoms):
        c, x, cont = bottoms
        self.check(
            c.ndim == 3 and x.ndim == 3 and cont.ndim == 2, 'the bottoms need 3, 3 and 2 axes'
        )
        self.check(
            all(b.shape[:2] == (1, c.shape[1]) for b in bottoms),
            'the bottoms need one step of equal items',
        )
        self.check(x.shape[2] == 4 * c.shape[2], '%d gates for %d cells', x.shape[2], c.shape[2])
        return c[0], x[0], cont.reshape(-1, 1)

    def forward(self, bottoms):
        new, h, self.gates = unit(*self.parts(bottoms))
        return [new.reshape(bottoms[0].shape), h.reshape(bottoms[0].shape)]

    def backward(self, tops, diffs, bottoms, needs):
        c, _, _ = self.parts(bottoms)
        dc, dx = unit_back(c, tops[0][0], self.gates, diffs[0][0], diffs[1][0])
        return [dc.reshape(bottoms[0].shape), dx.reshape(bottoms[1].shape), None]


class Recurrent(Layer):
    states = 1  # blobs of the recurrent state
    gates = 1  # rows of the input's matrix for each output

    def exposes(self):
        return self.p.bool('expose_hidden')

    def setup(self, bottoms):
        x, self.outputs = bottoms[0], self.p.int('num_output')
        self.check(self.outputs > 0, 'num_output must be positive')
        self.check(x.ndim >= 2, 'the bottom has fewer than 2 axes')
        hidden = self.states if self.exposes() else 0
        self.static = len(bottoms) > 2 + hidden
        self.check(len(bottoms) == 2 + self.static + hidden, '%d bottoms', len(bottoms))
        self.check(self.tops_wanted == 1 + hidden, '%d tops', self.tops_wanted)
        self.steps, self.state = x.shape[0], None
        weights, bias = self.p.sub('weight_filler'), self.p.sub('bias_filler')
        rows = self.gates * self.outputs
        self.parameter((rows, count(x.shape[2:])), weights)
        self.parameter((rows,), bias)
        if self.static:
            self.parameter((rows, count(bottoms[2].shape[1:])), weights)
        self.hidden = len(self.blobs)
        self.parameter((rows, self.outputs), weights)
        self.more(weights, bias)

    def more(self, weights, bias):
        pass

    def start(self, bottoms):
        """The state before the first step: given, or from the previous pass, or zero at first."""
        n = bottoms[0].shape[1]
        if self.exposes():
            given = bottoms[2 + self.static :]
            self.check(
                all(s.shape == (1, n, self.outputs) for s in given),
                'the state is not (1, N, num_output)',
            )
            return [s[0] for s in given]
        if self.state is None or self.state[0].shape != (n, self.outputs):
            return [zeros((n, self.outputs))] * self.states
        return self.state

    def drive(self, bottoms):
        """The contribution of the inputs to each step, (T, N, gates·D), and the conts, (N, 1)."""
        x, cont = bottoms[:2]
        self.check(x.shape[0] == self.steps, 'the number of time steps changed')
        self.check(cont.shape == x.shape[:2], 'cont is %s', cont.shape)
        y = matmul(x.reshape(x.shape[0], x.shape[1], -1), transposed(self.weight(0)))
        y = biased(y, self.weight(1), self.weight(0).shape[1])
        if self.static:
            self.check(
                bottoms[2].shape[0] == x.shape[1],
                'the static input has %d items',
                bottoms[2].shape[0],
            )
            y = y + matmul(bottoms[2].reshape(x.shape[1], -1), transposed(self.weight(2)))
        return y, [cont[t].reshape(-1, 1) for t in range(self.steps)]

    def forward(self, bottoms):
        drive, conts = self.drive(bottoms)
        state, self.trace = self.start(bottoms), []
        tops = []
        for t in range(self.steps):
            kept = state[0] * conts[t]
            step = drive[t] + matmul(kept, transposed(self.weight(self.hidden)))
            state, y, trace = self.step(state, step, conts[t])
            self.trace.append((kept, trace))
            tops.append(y)
        if not self.dry:
            self.state = state
        last = [s.reshape((1,) + s.shape) for s in state] if self.exposes() else []
        return [stack(tops)] + last

    def backward(self, tops, diffs, bottoms, needs):
        _, conts = self.drive(bottoms)
        w = self.weight(self.hidden)
        dstate, dsteps = [zeros(self.trace[0][0].shape)] * self.states, [None] * self.steps
        dw = Sum(w.shape)
        for t in reversed(range(self.steps)):
            kept, trace = self.trace[t]
            dsteps[t], dstate = self.step_back(diffs[0][t], dstate, trace)
            dw.product(transposed(dsteps[t]), kept)
            dstate[0] = matmul(dsteps[t], w) * conts[t]
        if self.wants(self.hidden):
            self.add_gradient(self.hidden, dw.real())
        return self.inputs_back(stack(dsteps), bottoms)

    def inputs_back(self, dsteps, bottoms):
        flat, x = dsteps.reshape(-1, dsteps.shape[2]), bottoms[0]
        if self.wants(0):
            self.add_gradient(0, matmul(transposed(flat), x.reshape(flat.shape[0], -1)))
        if self.wants(1):
            self.add_gradient(1, flat.sum(0))
        result = [matmul(flat, self.weight(0)).reshape(x.shape)] + [None] * (len(bottoms) - 1)
        if self.static:
            once, fixed = dsteps.sum(0), bottoms[2]
            if self.wants(2):
                self.add_gradient(2, matmul(transposed(once), fixed.reshape(fixed.shape[0], -1)))
            result[2] = matmul(once, self.weight(2)).reshape(fixed.shape)
        return result


@layer('LSTM', field='recurrent_param', bottoms=(2, 5), tops=(1, 3), closed=(1,))
class LSTM(Recurrent):
    """Parameters: W of x (4D, …) and its bias, W of the static x, W of h (4D, D). State: h, c."""

    states, gates = 2, 4

    def step(self, state, x, cont):
        new, h, gates = unit(state[1], x, cont)
        return [h, new], h, (state[1], new, gates)

    def step_back(self, dy, dstate, trace):
        c, new, gates = trace
        dc, dx = unit_back(c, new, gates, dstate[1], dy + dstate[0])
        return dx, [None, dc]


@layer('RNN', field='recurrent_param', bottoms=(2, 4), tops=(1, 2), closed=(1,))
class RNN(Recurrent):
    """h = tanh(W·x + W·h + b), o = tanh(W·h + b): two more parameters, (D, D) and (D), for o."""

    def more(self, weights, bias):
        self.parameter((self.outputs, self.outputs), weights)
        self.parameter((self.outputs,), bias)

    def step(self, state, x, cont):
        h = tanh(x)
        o = tanh(matmul(h, transposed(self.weight(self.hidden + 1))) + self.weight(self.hidden + 2))
        return [h], o, (h, o)

    def step_back(self, dy, dstate, trace):
        h, o = trace
        inner = dy * (1.0 - o * o)
        if self.wants(self.hidden + 1):
            self.add_gradient(self.hidden + 1, matmul(transposed(inner), h))
        if self.wants(self.hidden + 2):
            self.add_gradient(self.hidden + 2, inner.sum(0))
        dh = matmul(inner, self.weight(self.hidden + 1)) + dstate[0]
        return dh * (1.0 - h * h), [None]
