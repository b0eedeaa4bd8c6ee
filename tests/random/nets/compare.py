# SPDX-License-Identifier: BSD-2-Clause
"""Compares ferry's arrays with the oracle's: shapes and NaNs exactly, values within the oracle's bounds."""

import re
from collections import Counter

import numpy as np

#: Refusals by ferry that are not findings: part of the message, and the reason.
ALLOWED = ()


class Finding:
    """One difference: the device, the run, the array, and the numbers."""

    def __init__(self, device, way, kind, what, detail):
        self.device, self.way, self.kind, self.what, self.detail = device, way, kind, what, detail

    @property
    def key(self):
        """The properties that a smaller net must share to count as the same defect."""
        text = re.sub(r"\"[^\"]*\"|[\d.]+|bottom .*", "", self.detail) if self.kind == "refusal" else ""
        return self.device, self.way, self.kind, text

    def __str__(self):
        return f"{self.device}, {self.way}: {self.kind} of {self.what}: {self.detail}"


def difference(got, want, bound):
    """The difference of an array, or None; and the number of elements without a meaningful bound."""
    want = np.asarray(want, float)
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}", 0
    bound = np.broadcast_to(np.asarray(bound, float), want.shape)
    free = ~np.isfinite(bound)
    nan = np.isnan(got) != np.isnan(want)
    both = ~np.isnan(got) & ~np.isnan(want)
    with np.errstate(all="ignore"):
        wrong = nan | (both & (got != want) & ~(np.abs(got.astype(float) - want) <= bound))
    wrong &= ~free
    if not wrong.any():
        return None, int(free.sum())
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"{int(wrong.sum())} of {want.size} elements; at {list(at)} {got[at]:.9g}, expected {want[at]:.9g} "
            f"within {bound[at]:.3g}"), int(free.sum())


class Judge:
    """Compares results and counts the compared and the skipped elements."""

    def __init__(self):
        self.counts = Counter()

    def judge(self, truth, result, device):
        """The findings in the result of a net's job."""
        out = []
        for way, arrays in result.items():
            if isinstance(arrays, str):
                out += self._refused(arrays, device, way)
            else:
                out += self._judge_way(truth, arrays, device, way)
        return out

    def _refused(self, message, device, way):
        if any(part in message for part, _ in ALLOWED):
            self.counts["refusals that are allowed"] += 1
            return []
        return [Finding(device, way, "refusal", "the net", message)]

    def _judge_way(self, truth, arrays, device, way):
        out = []

        def hold(kind, what, got, want, bound, fragile=False):
            wrong, free = difference(np.asarray(got), want, bound)
            self.counts["elements without a bound"] += free
            self.counts["elements"] += np.size(want) - free
            self.counts["fragile arrays" if fragile else "arrays"] += 1
            if wrong:
                out.append(Finding(device, way, kind, what, wrong))

        hold("loss", "the net", arrays["loss"], truth.loss, truth.loss_bound)
        for name, got in arrays["blobs"].items():
            if name in truth.blobs:
                hold("data", name, got, truth.blobs[name], truth.bounds[name], name in truth.fragile)
        for layer, blobs in arrays.get("params", {}).items():
            # A running mean may cancel: the scale is that of all of the layer's parameters.
            largest = max(np.max(np.abs(p), initial=0) for p in truth.params_after[layer])
            for i, got in enumerate(blobs):
                bound = 1e-5 * largest + truth.params_slack[layer][i]
                hold("parameter", f"{layer}/{i}", got, truth.params_after[layer][i], bound)
        if "diffs" in arrays:
            self._diffs(truth, arrays, hold)
        return out

    @staticmethod
    def _diffs(truth, arrays, hold):
        for name, got in arrays["diffs"].items():
            want = truth.diffs.get(name)
            if want is not None:
                hold("diff", name, got, want, truth.diff_bounds[name], name in truth.fragile_diffs)
        for layer, wants in truth.param_diffs.items():
            for i, want in enumerate(wants):
                if want is not None:
                    hold("param diff", f"{layer}/{i}", arrays["param_diffs"][layer][i], want,
                         truth.param_diff_bounds[layer][i], (layer, i) in truth.fragile_params)
