# SPDX-License-Identifier: BSD-2-Clause
"""The oracle's run of a net, and ferry's job for the same net."""

import warnings

import numpy as np

import oracle
import values

#: Above this a float overflows in one order of addition and not in another.
LARGEST = 1e30
#: Layers whose contents are not rewritten before each pass, so that a layer in place after them
# accumulates.
CONSTANT = ("DummyData", "Parameter")
#: Layers that make a second pass differ: running statistics.
MOVING = ("BatchNorm",)


class Refused(Exception):
    """The oracle has no answer for the net, which is not counted."""


class Broken(Exception):
    """The oracle itself failed, which is a defect of the oracle."""


class Truth:
    """The expected results of ferry."""

    def __init__(self, net):
        """Runs a net (a model.Net or a model.Case) forward and, where all its layers can, backward."""
        self.given = net
        self.text = net.text()
        rng = np.random.RandomState(net.seed & 0x7fffffff)
        self.options = rng.randint(1 << 30)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._forward()
            self.backward = self._backward()
        self._keep()

    def _keep(self):
        """Results that the oracle recomputes at each access."""
        net = self.net
        self.bounds, self.fragile = net.bounds, net.fragile_values
        self.params_after = {layer.name: layer.params for layer in net.layers}
        self.params_slack = {layer.name: [param.slack for param in layer.blobs] for layer in net.layers}
        if self.backward:
            self.diffs, self.diff_bounds, self.fragile_diffs = net.blob_diffs, net.diff_bounds, net.fragile_diffs
            self.param_diffs, self.param_diff_bounds = net.param_diffs, net.param_diff_bounds
            self.fragile_params = net.fragile_param_diffs

    def _forward(self):
        given = self.given
        try:
            self.net = oracle.Net(self.text, phase=given.phase, level=given.level, stages=tuple(given.stages),
                                  tiles=given.phase == "TEST")
            self.inputs = self._inputs()
            self.params = self._params()
            self.loss = self.net.forward()
            self.blobs, self.loss_bound = self.net.blobs, self.net.loss_bound
        except (oracle.Unsupported, oracle.NetError) as error:
            raise Refused(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            raise Broken(f"{type(error).__name__}: {error}") from error
        arrays = list(self.blobs.values()) + [p for layer in self.net.layers for p in layer.params]
        sizes = [np.max(np.abs(a), initial=0, where=np.isfinite(a)) for a in arrays]
        if max(sizes, default=0) > LARGEST:
            raise Refused("a blob or a parameter overflows")

    def _inputs(self):
        out = {}
        for name in self.net.inputs:
            what = self.given.inputs.get(name, "integers 0 1" if len(self._shape(name)) == 1 else "values")
            out[name] = values.draw(what, self._shape(name), values.source(self.given.seed, name))
            self.net.set_input(name, out[name])
        return out

    def _shape(self, name):
        return self.net.given[name].shape

    def _params(self):
        out = {}
        for layer in self.net.layers:
            if not len(layer.params):
                continue
            out[layer.name] = [None] * len(layer.params)
            if layer.name.startswith("filled"):
                continue
            for i, blob in enumerate(layer.params):
                rng = values.source(self.given.seed, layer.name, i)
                out[layer.name][i] = values.param(layer.type, i, np.shape(blob), rng)
                self.net.set_param(layer.name, i, out[layer.name][i])
        return out

    def _backward(self):
        """Runs backward. Returns False where Caffe aborts because a layer has no diff for a bottom that needs
        one, and where a layer in place overwrote an operand of another's backward pass: see
        oracle.Net.begin."""
        try:
            self.net.backward()
        except (oracle.Unsupported, oracle.NetError):
            return False
        except Exception as error:
            raise Broken(f"backward: {type(error).__name__}: {error}") from error
        return not self.net.overwritten and all(key in self.net.diffs for node in self.net.nodes if node.need
                   for key, need in zip(node.reads, node.needs) if need)

    def job(self):
        """What ferry_side runs."""
        kinds = [layer.type for layer in self.net.layers]
        again = not any(kind in CONSTANT + MOVING for kind in kinds)
        return {"ways": ("plain", "planned"), "text": self.text, "phase": self.given.phase,
                "level": self.given.level, "stages": list(self.given.stages), "inputs": self.inputs,
                "params": self.params, "backward": self.backward, "planned": self._planned(), "again": again and self.given.phase == "TEST"}

    def _planned(self):
        """How the planned net is opened: with the defaults, or with one of the options."""
        way = (self.options >> 1) % 8
        names = sorted(self.blobs)
        kept = [name for i, name in enumerate(names) if self.options >> (4 + i % 20) & 1]
        return {5: {"fuse": False}, 6: {"plan": False}, 3: {"keep": kept},
                4: {"keep": kept, "only": bool(kept)}}.get(way, {})
