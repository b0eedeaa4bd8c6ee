# SPDX-License-Identifier: BSD-2-Clause
"""Solvers as pycaffe has them."""

import ctypes
from types import SimpleNamespace

from .. import _solver
from .._library import Handle, lib, out_pointer, string, text
from . import _state
from ._blob import Views
from ._layer import opening
from ._net import Net
from ._vectors import NetVec


def _printed(tree):
    """A message as text."""
    size = ctypes.c_size_t()
    lib.ferry_proto_print(tree, None, 0, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value + 1)
    lib.ferry_proto_print(tree, room, len(room), ctypes.byref(size))
    return room.value.decode()


def _with_type(printed, kind):
    """A solver's text with another type."""
    lines = [line for line in printed.splitlines() if not line.startswith(("type:", "solver_type:"))]
    return "\n".join(lines + [f'type: "{kind}"', ""])


class Solver:
    """A solver, of the type that its file names. `net` and `test_nets` are there to be looked at, all of their
    blobs; `ferry` is the ferry.Solver."""

    _kind = None

    def __init__(self, path):
        tree = Handle(out_pointer(lib.ferry_proto_open, text(path), b"SolverParameter", None),
                      lib.ferry_proto_close)
        self.param = SimpleNamespace(
            max_iter=lib.ferry_proto_integer(tree, b"max_iter", 0),
            display=lib.ferry_proto_integer(tree, b"display", 0),
            layer_wise_reduce=bool(lib.ferry_proto_boolean(tree, b"layer_wise_reduce", 0)),
            base_lr=lib.ferry_proto_real(tree, b"base_lr", 0),
            type=string(lib.ferry_proto_string(tree, b"type", 0, None)))
        body = None if self._kind is None else _with_type(_printed(tree), self._kind)
        self._views = Views()
        with opening(self._views):
            self.ferry = _solver.Solver(_state.device(), path, text=body, keep="*",
                                        allow_write=_state.writes_to)
        self.net = Net._over(self.ferry.net, self._views)
        self.test_nets = NetVec(Net._over(net, self._views) for net in self.ferry.test_nets)
        self._callbacks = []

    @property
    def iter(self):
        """How many iterations have been done."""
        return self.ferry.iter

    @property
    def lr(self):
        """The learning rate of the next one."""
        return self.ferry.rate

    def _work(self, what, *arguments):
        with self._views.locked():
            for net in (self.net, *self.test_nets):
                net._move()
            with self._views.working():
                what(*arguments)

    def step(self, n):
        """Does n iterations, with the tests and snapshots that are due."""
        self._work(self.ferry.step, n)

    def solve(self, resume_file=None):
        """Steps up to max_iter, from a .solverstate where one is given."""
        if resume_file:
            self.restore(resume_file)
        self._work(self.ferry.solve)

    def apply_update(self):
        """The update alone, from the diffs that the parameters have."""
        self._work(self.ferry.apply_update)

    def snapshot(self):
        """Writes the model and the .solverstate."""
        self._work(self.ferry.snapshot)

    def restore(self, path):
        """Goes on where a .solverstate was written."""
        self._work(self.ferry.restore, path)

    def share_weights(self, net):
        """Makes the training net's parameters those of another net too."""
        net.share_with(self.net)

    def add_callback(self, on_start, on_gradients_ready=None):
        """Has on_start() called before each iteration's first pass, on_gradients_ready() before its update. An NCCL in
        the place of both has nothing to exchange."""
        if isinstance(on_start, NCCL) and on_gradients_ready is None:
            return
        if on_gradients_ready is None:
            raise TypeError("add_callback: on_gradients_ready is missing")
        self._callbacks.append((on_start, on_gradients_ready))
        self.ferry.on_gradients(self._call)

    def _call(self, ready):
        for callbacks in self._callbacks:
            callbacks[ready]()

    def __repr__(self):
        return f"<ferry.caffe.{type(self).__name__} at iteration {self.iter}>"


class NCCL:
    """The exchange between the solvers of several devices, as train.py has it. A process has one solver here, with which
    nothing is exchanged; set_solver_count refuses more."""

    def __init__(self, solver, uid=b""):
        if not isinstance(solver, Solver):
            raise TypeError("NCCL: a solver is expected")
        self._solver, self._uid = solver, uid

    @staticmethod
    def new_uid():
        """What the processes of a session have in common."""
        return b"ferry"

    def bcast(self):
        """Gives the others the first solver's parameters: there are none."""

    def __call__(self, _layer):
        """As a callback of a net."""


class SGDSolver(Solver):
    """Stochastic gradient descent, whatever type the file names."""

    _kind = "SGD"


class NesterovSolver(SGDSolver):
    """Nesterov's, likewise."""

    _kind = "Nesterov"


class AdaGradSolver(SGDSolver):
    """AdaGrad, likewise."""

    _kind = "AdaGrad"


class RMSPropSolver(SGDSolver):
    """RMSProp, likewise."""

    _kind = "RMSProp"


class AdaDeltaSolver(SGDSolver):
    """AdaDelta, likewise."""

    _kind = "AdaDelta"


class AdamSolver(SGDSolver):
    """Adam, likewise."""

    _kind = "Adam"


def get_solver(path):
    """A solver of the type that the file names."""
    return Solver(path)
