# SPDX-License-Identifier: BSD-2-Clause
"""Compares nets on devices with the oracle: one net after another, and smaller versions of a net that
fails."""

from collections import Counter

import compare
import devices
import truth

#: Interval of nets at which a device runs one, by the cost of a net there.
EVERY = {"cpu": 1, "sim": 2, "cuda": 4, "opencl": 8}


class Runner:
    """The devices' processes, and their statistics."""

    def __init__(self, names, build, every=True):
        """`every`: each device runs its share of the nets, otherwise all of them."""
        self.judge = compare.Judge()
        self.every = every
        self.devices = {name: devices.Device(name, build) for name in names}
        self.absent = {}
        self.nets, self.solvers, self.shares = Counter(), Counter(), EVERY
        for name, device in list(self.devices.items()):
            try:
                device.start()
            except devices.Gone as gone:
                self.absent[name] = str(gone)
                del self.devices[name]

    def stop(self):
        """Ends the processes."""
        for device in self.devices.values():
            device.stop()

    def _those(self, number):
        return [name for name in self.devices if not self.every or number % EVERY.get(name, 1) == 0]

    def stream(self, nets):
        """For each net of an iterable: the net and its findings. Devices run while the oracle computes the
        next net."""
        waiting = None
        for number, net in enumerate(nets):
            answer = self.ask(net)
            if waiting:
                yield self._collect(*waiting)
            waiting = None
            if not isinstance(answer, truth.Truth):
                yield net, self._without(answer)
                continue
            names = self._those(number)
            for name in names:
                self.devices[name].send(answer.job())
            waiting = answer, names
        if waiting:
            yield self._collect(*waiting)

    @staticmethod
    def ask(net):
        """The truth of a net, or the exception that explains why there is none."""
        try:
            answer = truth.Truth(net)
            net.shapes = {blob: list(array.shape) for blob, array in answer.blobs.items()}
            return answer
        except (truth.Refused, truth.Broken) as refused:
            return refused

    def _without(self, why):
        """The findings of a net for which the oracle has no answer: none, unless the oracle failed."""
        self.judge.counts["nets that the oracle refuses"] += 1
        if isinstance(why, truth.Broken):
            return [compare.Finding("oracle", "-", "failure", "the oracle", str(why))]
        return []

    def _collect(self, answer, names):
        findings = []
        for name in names:
            findings += self._receive(answer, name)
        return answer.given, findings

    def _receive(self, answer, name):
        self.nets[name] += 1
        try:
            result = self.devices[name].receive()
        except devices.Gone as gone:
            return [compare.Finding(name, "-", "crash", "the process", str(gone))]
        return self.judge.judge(answer, result, name)

    def run(self, net, names=None):
        """The findings of one net, on these devices or all."""
        answer = self.ask(net)
        if not isinstance(answer, truth.Truth):
            return self._without(answer)
        findings = []
        for name in names or self.devices:
            if name not in self.devices:
                continue
            self.devices[name].send(answer.job())
            findings += self._receive(answer, name)
        return findings

    def fails_like(self, finding):
        """The function that says whether a net has the same finding."""
        def fails(net):
            return any(other.key == finding.key for other in self.run(net, [finding.device]))
        return fails
