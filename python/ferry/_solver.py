# SPDX-License-Identifier: BSD-2-Clause
"""Solvers."""

import ctypes
from collections import namedtuple

from . import _abi
from ._blob import Blob
from ._library import Handle, Held, InterruptWaits, called_back, lib, out_pointer, string, texts
from ._library import text as encoded
from ._net import Net

#: One number of a test: the mean of one value of a test net's output. A loss_weight of 0: it is no loss.
Score = namedtuple("Score", "net name value loss_weight")

#: What an iteration came to; `is_last`: the test behind the last one. See ferry_solver_iteration.
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
    """Trains a net as a solver's prototxt says, on a device: SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam.

    `text` stands in place of the file, whose path then only names it. `weights` are files that are loaded
    first; `stages` and `level` are added to train_state; `place` is as of Net, for all nets; `keep` are
    blobs of the test nets that can be looked at ("*": all; of the training net all can); `allow_write` is as
    of Net. solver_mode and
    device_id of the text say nothing here.

    An interrupt (Ctrl-C) ends a step between two iterations, as a KeyboardInterrupt; what a callback raises
    ends it too. One solver, with its nets, is used by one thread at a time; others run while it works."""

    def __init__(self, device, path, *, text=None, weights=(), stages=(), level=0, place=None, keep=(),
                 allow_write=None):
        body = None if text is None else text.encode()
        lists = [texts(given) for given in (weights, stages, keep)]
        options = _abi.SolverOptions(
            struct_size=ctypes.sizeof(_abi.SolverOptions), text=body, text_size=len(body or b""),
            weights=lists[0], weight_count=len(lists[0]), stages=lists[1], stage_count=len(lists[1]),
            level=level, place=encoded(place), keep=lists[2], keep_count=len(lists[2]),
            allow_write=encoded(allow_write))
        pointer = out_pointer(lib.ferry_solver_open, device._use(), encoded(path), ctypes.byref(options))
        self._handle = Handle(pointer, lib.ferry_solver_close, (device._use(),))
        self._iteration_fn = self._gradients_fn = None
        self.on_iteration(None)

    # ---- what it has -----------------------------------------------------------------------------

    @property
    def net(self):
        """The net that is trained. It keeps the solver, and may outlive this object."""
        handle = self._use()
        return Net._over(Handle(lib.ferry_solver_net(handle), None, (handle,)))

    @property
    def test_nets(self):
        """Those that test it, which share its parameters."""
        handle = self._use()
        return [Net._over(Handle(lib.ferry_solver_test_net_at(handle, i), None, (handle,)))
                for i in range(lib.ferry_solver_test_net_count(handle))]

    @property
    def iter(self):
        """How many iterations have been done."""
        return lib.ferry_solver_iter(self._use())

    @property
    def max_iter(self):
        """How many the text wants."""
        return lib.ferry_solver_max_iter(self._use())

    @property
    def iter_size(self):
        """How many passes an iteration has."""
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
        """What updates keep: a blob for each parameter, for AdaDelta and Adam as many again."""
        handle = self._use()
        return [Blob._over(Handle(lib.ferry_solver_history_at(handle, i), None, (handle,)), part=True)
                for i in range(lib.ferry_solver_history_count(handle))]

    @property
    def latest_snapshot(self):
        """The .solverstate that was written or restored last; "" before the first."""
        return string(lib.ferry_solver_latest_snapshot(self._use()))

    # ---- what it does ----------------------------------------------------------------------------

    def step(self, n=1):
        """Does n iterations, with the tests and snapshots that are due. False where stop() ended it."""
        with InterruptWaits(self.stop):
            lib.ferry_solver_step(self._use(), n)
        return not lib.ferry_solver_is_stopped(self._use())

    def solve(self):
        """Steps up to max_iter, with the last snapshot and the last test. False where stop() ended it."""
        with InterruptWaits(self.stop):
            lib.ferry_solver_solve(self._use())
        return not lib.ferry_solver_is_stopped(self._use())

    def stop(self):
        """Asks the step that is going on in another thread, or in a callback's, to end after its iteration."""
        lib.ferry_solver_request(self._use(), _abi.SOLVER_STOP)

    def apply_update(self):
        """The update alone, from the diffs that the parameters have: for loops of one's own."""
        lib.ferry_solver_apply_update(self._use())

    def snapshot(self):
        """Writes model, .ferrystate and .solverstate; the latter's path."""
        lib.ferry_solver_snapshot(self._use())
        return self.latest_snapshot

    def restore(self, path, exact=False):
        """Goes on where a .solverstate was written. `exact`: with the .ferrystate beside it, so that data and
        random numbers go on too, and what follows is to the bit what would have followed."""
        (lib.ferry_solver_restore_exact if exact else lib.ferry_solver_restore)(self._use(), encoded(path))

    # ---- who is called ---------------------------------------------------------------------------

    def on_iteration(self, fn):
        """Has fn(event) called after each iteration, on the stepping thread. None: nobody."""
        def run(_arg, _solver, event):
            if fn:
                fn(_event(event.contents))

        made = _OnIteration(called_back(run))
        lib.ferry_solver_on_iteration(self._use(), ctypes.cast(made, ctypes.c_void_p), None)
        self._iteration_fn = made

    def on_gradients(self, fn):
        """Has fn(ready) called in each iteration: False before its first pass, True where the parameters'
        diffs are whole and may still be changed. None: nobody."""
        made = _OnGradients(called_back(lambda _arg, _solver, ready: fn(bool(ready)))) if fn else None
        lib.ferry_solver_on_gradients(self._use(), ctypes.cast(made, ctypes.c_void_p), None)
        self._gradients_fn = made

    def __repr__(self):
        if self.closed:
            return "<ferry.Solver, closed>"
        return f"<ferry.Solver at iteration {self.iter} of {self.max_iter}>"
