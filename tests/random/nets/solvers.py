# SPDX-License-Identifier: BSD-2-Clause
"""Compares a solver's run on ferry with the oracle's, iteration by iteration. Each iteration of the oracle
starts from ferry's parameters and histories, so that the bounds do not grow: they are the gradients' bounds,
which the oracle gives, propagated through the update by computing it at the corners too, plus some roundings
of a float (ROUNDINGS) for the update itself."""

import itertools

import numpy as np

import compare
import draw_solver
import oracle
import values

EPS = 2.0**-23
#: The largest float.
FLT_MAX = float(np.finfo(np.float32).max)
#: Operations of an update, each of which rounds.
ROUNDINGS = 16


class Run:
    """The job of a solver, and the oracle's comparison of its result."""

    def __init__(self, solver):
        self.given, self.seed, self.has_diverged = solver, solver.seed, False
        self.net = oracle.Net(solver.net.text(), phase="TRAIN")
        self.solver = oracle.Solver(solver.text(), self.net)
        self.batches = [self._batch(t) for t in range(draw_solver.ITERATIONS)]
        self.params = {layer.name: [values.param(layer.type, i, np.shape(p), values.source(self.seed, layer.name, i))
                                    for i, p in enumerate(layer.params)]
                       for layer in self.net.layers if len(layer.params)}

    def _batch(self, t):
        return {name: values.draw(what, self.net.given[name].shape, values.source(self.seed, name, t))
                for name, what in self.given.net.inputs.items()}

    def job(self):
        """What ferry_side runs."""
        return {"ways": ("solve",), "text": self.given.text(), "params": self.params, "batches": self.batches}

    def judge(self, result, device):
        """The first difference, in a list, or an empty list; and the number of compared arrays."""
        out = result["solve"]
        if isinstance(out, str):
            return [compare.Finding(device, "solve", "refusal", "the solver", out)], 0
        n = 0
        for t, batch in enumerate(self.batches):
            if self.has_diverged:
                break
            for what, got, want, bound in self._step(t, batch, out):
                n += 1
                wrong, _ = compare.difference(np.asarray(got), want, bound)
                if wrong:
                    return [compare.Finding(device, "solve", what, f"iteration {t}", wrong)], n
        return [], n

    def _step(self, t, batch, out):
        """The results of iteration t: names, ferry's arrays, the oracle's, and bounds."""
        before, after = out["states"][t], out["states"][t + 1]
        self._set(before)
        for name, array in batch.items():
            self.net.set_input(name, array)
        rate = self.solver.rate()
        yield "rate", out["rates"][t], rate, 4 * EPS * abs(rate)
        self.net.clear_param_diffs()
        for _ in range(self.solver.p.int("iter_size", 1)):
            loss = self.net.forward()
            self.net.backward()
        self.has_diverged = self._exceeds_floats()
        if self.has_diverged:
            return
        yield "loss", out["losses"][t], loss, 4 * self.net.loss_bound + 4 * EPS * abs(loss)
        want, bounds = self._update(t, before)
        for kind in ("params", "histories"):
            for (name, got), (_, right), (_, bound) in zip(_named(after, kind), _named(want, kind),
                                                          _named(bounds, kind)):
                yield f"{kind} {name}", got, right, bound

    def _exceeds_floats(self):
        """Whether a blob has a number that is infinite as a float: ferry's infinities then become NaN."""
        return any(np.max(np.abs(np.asarray(b)), initial=0) > FLT_MAX for b in self.net.blobs.values())

    def _set(self, state):
        for layer, blobs in state["params"].items():
            for i, blob in enumerate(blobs):
                self.net.set_param(layer, i, blob)
        self.solver.history = [h.astype(float).reshape(old.shape)
                               for h, old in zip(state["histories"], self.solver.history)]

    def _update(self, t, before):
        """The state after the update, and its bounds: from the gradients and histories at the corners of
        their bounds."""
        learned = self.net.learnable
        gradients = self.solver.gradients()
        decay = self.solver.p.float("weight_decay", 0)
        slack = [(0 if p.diff is None else p.diff.e) + ROUNDINGS * EPS * (abs(g) + decay * abs(p.data))
                 for p, g in zip(learned, gradients)]
        clip = self._clip_error(gradients, slack)
        slack = [e + abs(g) * clip for e, g in zip(slack, gradients)]
        states = []
        for gs, hs in [(0, 0)] + list(itertools.product((1, -1), (1, -1))):
            self._set(before)
            self.solver.iter = t
            self.solver.history = [h * (1 + hs * ROUNDINGS * EPS) for h in self.solver.history]
            self.solver.apply([g + gs * e if gs else g for g, e in zip(gradients, slack)])
            states.append(self._state())
        return states[0], _spread(states, before)

    def _clip_error(self, gradients, slack):
        """The error of clip_gradients' factor: it follows from the error of the length, to which all
        gradients contribute."""
        if self.solver.p.float("clip_gradients", -1) < 0:
            return 0.0
        square = sum((g * g).sum() for g in gradients)
        return sum((abs(g) * e).sum() for g, e in zip(gradients, slack)) / max(square, 1e-300)

    def _state(self):
        return {"params": {layer.name: [np.array(p) for p in layer.params] for layer in self.net.layers
                           if len(layer.params)},
                "histories": [np.array(h) for h in self.solver.history]}


def _named(state, kind):
    if kind == "histories":
        return list(enumerate(state[kind]))
    return [(f"{layer}/{i}", blob) for layer, blobs in sorted(state[kind].items()) for i, blob in enumerate(blobs)]


def _spread(states, before):
    """Twice the largest distance of the corners from the first state, and the update's own roundings."""
    def bound(kind, index):
        all_of = [_named(state, kind)[index][1] for state in states]
        old = np.asarray(_named(before, kind)[index][1], float).reshape(all_of[0].shape)
        return 2 * np.max([abs(a - all_of[0]) for a in all_of], axis=0) + \
            ROUNDINGS * EPS * (abs(old) + abs(all_of[0])) + 1e-37

    names = [name for name, _ in _named(states[0], "params")]
    out = {"params": {}, "histories": [bound("histories", i) for i in range(len(before["histories"]))]}
    for index, name in enumerate(names):
        out["params"].setdefault(name.rsplit("/", 1)[0], []).append(bound("params", index))
    return out


def run(seed, runner):
    """The findings of the solver of this seed on all devices."""
    findings = []
    for name, device in runner.devices.items():
        if runner.every and seed % runner.shares.get(name, 1):
            continue
        truth = Run(draw_solver.draw(seed))
        found, n = truth.judge(device.run(truth.job()), name)
        runner.judge.counts["arrays of solvers"] += n
        runner.solvers[name] += 1
        findings += found
    return findings
