# SPDX-License-Identifier: BSD-2-Clause
"""The processes that run ferry, one per device, as seen by the process that gives them jobs."""

import os
import select
import subprocess
import sys
import tempfile

import ferry_side

#: Seconds after which the process of a job counts as hanging.
PATIENCE = 120


class Gone(Exception):
    """The process has crashed or hangs."""


class Device:
    """The process of one device, which is restarted after a crash."""

    def __init__(self, name, build):
        self.name, self.build = name, os.path.abspath(build)
        self.process = self.errors = None

    def start(self):
        """Starts it; returns the device's name, or raises Gone if there is none."""
        env = dict(os.environ, FERRY_LIBRARY_PATH=f"{self.build}/.libs",
                   FERRY_PLUGIN_PATH=f"{self.build}/backends/.libs", FERRY_LOG="error")
        env["PYTHONPATH"] = os.path.join(os.path.dirname(ferry_side.__file__), *[".."] * 3, "python")
        if self.name == "cuda":
            env["LD_LIBRARY_PATH"] = f"{self.build}/tests/doubles/lib:" + env.get("LD_LIBRARY_PATH", "")
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, ferry_side.__file__, self.name], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        return self._read()

    def send(self, job):
        """Sends a job."""
        if not self.process:
            self.start()
        self.errors.truncate(0)
        try:
            ferry_side.write(self.process.stdin, job)
        except OSError:
            pass  # which receive finds out

    def receive(self):
        """Returns the result of the job; raises Gone, with the last output, if the process crashed."""
        return self._read()

    def run(self, job):
        """Sends a job and returns its result."""
        self.send(job)
        return self.receive()

    def _read(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        result = ferry_side.read(self.process.stdout) if ready else None
        if result is not None:
            return result
        self.process.kill()
        status = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read()[-600:].decode(errors="replace").strip()
        self.stop()
        raise Gone(f"exit status {status}: {last}" if ready else f"no answer in {PATIENCE} s")

    def stop(self):
        """Ends the process."""
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.errors.close()
        self.process = self.errors = None
