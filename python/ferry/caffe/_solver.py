# SPDX-License-Identifier: BSD-2-Clause
"""Solvers with pycaffe's interface."""

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
    """A solver's text with a different type."""
    lines = [line for line in printed.splitlines() if not line.startswith(("type:", "solver_type:"))]
    return "\n".join(lines + [f'type: "{kind}"', ""])


class Solver:
    """A solver of the type that its file names. All blobs of `net` and `test_nets` can be read; `ferry` is
    the ferry.Solver."""

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
        """The number of completed iterations."""
        return self.ferry.iter

    @property
    def lr(self):
        """The learning rate of the next iteration."""
        return self.ferry.rate

    def _work(self, what, *arguments):
        with self._views.locked():
            for net in (self.net, *self.test_nets):
                net._move()
            with self._views.working():
                what(*arguments)

    def step(self, n):
        """Runs n iterations, with the tests and snapshots that are due."""
        self._work(self.ferry.step, n)

    def solve(self, resume_file=None):
        """Runs the iterations up to max_iter, from a .solverstate if one is given."""
        if resume_file:
            self.restore(resume_file)
        self._work(self.ferry.solve)

    def apply_update(self):
        """Applies the update from the parameters' current diffs."""
        self._work(self.ferry.apply_update)

    def snapshot(self):
        """Writes the model and the .solverstate."""
        self._work(self.ferry.snapshot)

    def restore(self, path):
        """Restores a .solverstate."""
        self._work(self.ferry.restore, path)

    def share_weights(self, net):
        """Shares the training net's parameters with another net."""
        net.share_with(self.net)

    def add_callback(self, on_start, on_gradients_ready=None):
        """Adds callbacks: on_start() is called before each iteration's first pass, on_gradients_ready()
        before its update. If an NCCL is passed instead of the functions, the call has no effect."""
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
    """The interface of Caffe's NCCL, as train.py uses it. A process has one solver here, so nothing is
    exchanged; set_solver_count refuses more."""

    def __init__(self, solver, uid=b""):
        if not isinstance(solver, Solver):
            raise TypeError("NCCL: a solver is expected")
        self._solver, self._uid = solver, uid

    @staticmethod
    def new_uid():
        """The identifier of a session of processes."""
        return b"ferry"

    def bcast(self):
        """Does nothing: there are no other solvers to send the parameters to."""

    def __call__(self, _layer):
        """As a callback of a net: does nothing."""


class SGDSolver(Solver):
    """Stochastic gradient descent, regardless of the type in the file."""

    _kind = "SGD"


class NesterovSolver(SGDSolver):
    """Nesterov's accelerated gradient, regardless of the type in the file."""

    _kind = "Nesterov"


class AdaGradSolver(SGDSolver):
    """AdaGrad, regardless of the type in the file."""

    _kind = "AdaGrad"


class RMSPropSolver(SGDSolver):
    """RMSProp, regardless of the type in the file."""

    _kind = "RMSProp"


class AdaDeltaSolver(SGDSolver):
    """AdaDelta, regardless of the type in the file."""

    _kind = "AdaDelta"


class AdamSolver(SGDSolver):
    """Adam, regardless of the type in the file."""

    _kind = "Adam"


def get_solver(path):
    """A solver of the type that the file names."""
    return Solver(path)
