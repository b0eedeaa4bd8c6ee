# SPDX-License-Identifier: BSD-2-Clause
"""caffe.Timer."""

import time


class Timer:
    """Measures from start to stop, in `ms`."""

    ms = 0.0

    def start(self):
        """Starts the timer."""
        self._began = time.perf_counter()

    def stop(self):
        """Stops the timer."""
        self.ms = (time.perf_counter() - self._began) * 1e3
