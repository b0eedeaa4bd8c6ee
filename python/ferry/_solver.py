# SPDX-License-Identifier: BSD-2-Clause
"""Solvers."""

import ctypes
from collections import namedtuple

from . import _abi
from ._blob import Blob
from ._errors import InvalidArgument
from ._library import Handle, Held, InterruptWaits, called_back, lib, out_pointer, string, texts
from ._library import text as encoded
from ._net import Net

#: One score of a test: the mean of one value of a test net's output. A loss_weight of 0 means that it is not
#: a loss.
Score = namedtuple("Score", "net name value loss_weight")

#: The result of an iteration; `is_last`: the final test. See ferry_solver_iteration.
Event = namedtuple("Event", "iter is_last lr loss smoothed_loss scores")

_OnIteration = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                ctypes.POINTER(_abi.SolverEvent))
_OnGradients = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_bool)


def _event(structure):
    scores = tuple(Score(s.net, string(s.name), s.value, s.loss_weight)
                   for s in structure.scores[:structure.score_count])
    return Event(structure.iter, bool(structure.is_last), structure.lr, structure.loss,
                 structure.smoothed_loss, scores)


class Solver(Held):
    """Trains a net as a solver's prototxt describes, on a device: SGD, Nesterov, AdaGrad, RMSProp, AdaDelta,
    Adam.

    `text` replaces the contents of the file, whose path is then only a name. `weights` are files that are
    loaded first; `stages` and `level` are added to train_state; `place` is as of Net, for all nets; `keep`
    are the blobs of the test nets that are available ("*": all; the training net's always are, unless it has
    `plan_training` or `recompute`, which are as of Net, like `allow_write`). With `fake_quantize` all nets round
    what they compute with 8 bits later, for the ranges of the weights. `precision` "bf16" lets convolutions and
    inner products of the training net round their factors to BF16, forward and backward; weights and updates
    stay F32; by default the field `precision` of the text decides, else "f32". solver_mode and device_id of the text
    have no effect.

    An interrupt (Ctrl-C) ends a step between two iterations with a KeyboardInterrupt; an exception of a
    callback ends it too. One thread at a time may use a solver with its nets; other threads run while it
    works."""

    def __init__(self, device, path, *, text=None, weights=(), stages=(), level=0, place=None, keep=(),
                 allow_write=None, plan_training=False, recompute=False, fake_quantize=False, precision=None):
        if precision not in _abi.PRECISIONS:
            raise InvalidArgument(f"precision {precision!r}: expected f32 or bf16")
        body = None if text is None else text.encode()
        lists = [texts(given) for given in (weights, stages, keep)]
        options = _abi.SolverOptions(
            struct_size=ctypes.sizeof(_abi.SolverOptions), text=body, text_size=len(body or b""),
            weights=lists[0], weight_count=len(lists[0]), stages=lists[1], stage_count=len(lists[1]),
            level=level, place=encoded(place), keep=lists[2], keep_count=len(lists[2]),
            allow_write=encoded(allow_write), plan_training=bool(plan_training),
            recompute=bool(recompute), fake_quantize=bool(fake_quantize),
            precision=_abi.PRECISIONS[precision])
        pointer = out_pointer(lib.ferry_solver_open, device._use(), encoded(path), ctypes.byref(options))
        self._handle = Handle(pointer, lib.ferry_solver_close, (device._use(),))
        self._iteration_fn = self._gradients_fn = None
        self.on_iteration(None)

    # ---- properties ------------------------------------------------------------------------------

    @property
    def net(self):
        """The training net. It keeps the solver alive, and may outlive this object."""
        handle = self._use()
        return Net._over(Handle(lib.ferry_solver_net(handle), None, (handle,)))

    @property
    def test_nets(self):
        """The test nets, which share the training net's parameters."""
        handle = self._use()
        return [Net._over(Handle(lib.ferry_solver_test_net_at(handle, i), None, (handle,)))
                for i in range(lib.ferry_solver_test_net_count(handle))]

    @property
    def iter(self):
        """The number of completed iterations."""
        return lib.ferry_solver_iter(self._use())

    @property
    def max_iter(self):
        """max_iter of the text."""
        return lib.ferry_solver_max_iter(self._use())

    @property
    def iter_size(self):
        """iter_size of the text: the number of passes of an iteration."""
        return lib.ferry_solver_iter_size(self._use())

    @property
    def loss(self):
        """The loss of the latest iteration, unsmoothed; 0 before the first."""
        return lib.ferry_solver_loss(self._use())

    @property
    def rate(self):
        """The learning rate of the next iteration."""
        return lib.ferry_solver_learning_rate(self._use())

    @property
    def histories(self):
        """The histories of the updates: a blob for each parameter, for AdaDelta and Adam two for each."""
        handle = self._use()
        return [Blob._over(Handle(lib.ferry_solver_history_at(handle, i), None, (handle,)), part=True)
                for i in range(lib.ferry_solver_history_count(handle))]

    @property
    def latest_snapshot(self):
        """The path of the latest .solverstate that was written or restored; "" before the first."""
        return string(lib.ferry_solver_latest_snapshot(self._use()))

    # ---- training --------------------------------------------------------------------------------

    def step(self, n=1):
        """Runs n iterations, with the tests and snapshots that are due. False if stop() ended it."""
        with InterruptWaits(self.stop):
            lib.ferry_solver_step(self._use(), n)
        return not lib.ferry_solver_is_stopped(self._use())

    def solve(self):
        """Runs the iterations up to max_iter, the last snapshot and the final test. False if stop() ended it."""
        with InterruptWaits(self.stop):
            lib.ferry_solver_solve(self._use())
        return not lib.ferry_solver_is_stopped(self._use())

    def stop(self):
        """Requests that a step in another thread, or the step that called this callback, ends after its
        iteration."""
        lib.ferry_solver_request(self._use(), _abi.SOLVER_STOP)

    def apply_update(self):
        """Applies the update from the parameters' current diffs, for programs with their own training loop."""
        lib.ferry_solver_apply_update(self._use())

    def snapshot(self):
        """Writes the model, the .ferrystate and the .solverstate; returns the path of the last."""
        lib.ferry_solver_snapshot(self._use())
        return self.latest_snapshot

    def restore(self, path, exact=False):
        """Restores a .solverstate. `exact` also restores the .ferrystate beside it, with positions in the
        data and random numbers, so that training continues bit-identically."""
        (lib.ferry_solver_restore_exact if exact else lib.ferry_solver_restore)(self._use(), encoded(path))

    # ---- callbacks -------------------------------------------------------------------------------

    def on_iteration(self, fn):
        """Sets a function fn(event) that is called after each iteration, on the stepping thread. None removes
        it."""
        def run(_arg, _solver, event):
            if fn:
                fn(_event(event.contents))

        made = _OnIteration(called_back(run))
        lib.ferry_solver_on_iteration(self._use(), ctypes.cast(made, ctypes.c_void_p), None)
        self._iteration_fn = made

    def on_gradients(self, fn):
        """Sets a function fn(ready) that is called in each iteration: with False before the first pass, and
        with True when the parameters' diffs are complete and may still be changed. None removes it."""
        made = _OnGradients(called_back(lambda _arg, _solver, ready: fn(bool(ready)))) if fn else None
        lib.ferry_solver_on_gradients(self._use(), ctypes.cast(made, ctypes.c_void_p), None)
        self._gradients_fn = made

    def __repr__(self):
        if self.closed:
            return "<ferry.Solver, closed>"
        return f"<ferry.Solver at iteration {self.iter} of {self.max_iter}>"
