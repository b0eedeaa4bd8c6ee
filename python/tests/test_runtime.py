# SPDX-License-Identifier: BSD-2-Clause
"""Runtimes, devices, errors, and the order in which objects are closed."""

import itertools
import os
import subprocess
import sys
import threading

import pytest

import ferry


def python(script, backend, **environment):
    """Runs a script in a process of its own, on that backend; returns its output. The test is skipped if the
    backend was not built."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60,
                          check=False, env={**os.environ, "FERRY_BACKEND": backend, **environment})
    if "no such plugin" in done.stderr:
        pytest.skip(f"{backend} was not built")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_device_reports_its_properties(runtime, device):
    assert device.name == f"{device.properties.plugin}:0"
    assert device in runtime.devices() and device == runtime.device(device.name)
    assert any(line.ok and line.name == device.properties.plugin for line in runtime.report())
    assert ferry.library_version


def test_counters_count_copies(device):
    before = device.stats()
    blob = ferry.Blob(device, (64,))
    blob.fill(1)
    assert blob.data.sum() == 64
    after = device.stats()
    if device.properties.discrete:
        assert after.bytes_d2h - before.bytes_d2h == 256
    assert after.live_bytes >= before.live_bytes


def test_no_device_says_why():
    with pytest.raises(ferry.NoDevice, match="nosuch: no such plugin"):
        ferry.Runtime(backend="nosuch").device()


def test_an_open_plugins_options_are_settled(runtime, device):
    with pytest.raises(ferry.Busy):
        runtime.set_option(device.properties.plugin, "pool_limit", "1MiB")


def test_errors_are_also_what_python_calls_them(device):
    with pytest.raises(ValueError) as caught:
        ferry.Blob(device, (2, -3))
    assert isinstance(caught.value, ferry.InvalidArgument) and caught.value.code == -1
    assert "-3" in str(caught.value)
    with pytest.raises(OverflowError):
        ferry.Blob(device, (1 << 40, 1 << 40))
    with pytest.raises(OSError, match="/nowhere"):
        ferry.open("/nowhere")
    with pytest.raises(NotImplementedError):
        ferry.Blob(device, (2,), "complex64")


def test_memory_exhaustion_is_a_memory_error(device):
    blob = ferry.Blob(device, (1 << 50,))
    with pytest.raises(MemoryError) as caught:
        blob.writing().__enter__()
    assert isinstance(caught.value, ferry.OutOfMemory)
    assert blob.head == "uninitialized"


@pytest.mark.parametrize("order", itertools.permutations(range(4)), ids=str)
def test_objects_are_closed_in_any_order(order):
    runtime = ferry.Runtime(backend=os.environ.get("FERRY_BACKEND", "cpu"))
    blob = ferry.Blob(runtime.device(), (4, 2))
    blob.fill(5)
    objects = [runtime, blob, blob.slice(1, 2), ferry.Blob(blob.home, (3,))]
    with blob.reading() as view:
        for index in order:
            objects[index].close()
        assert (view == 5).all()
    assert all(thing.closed for thing in objects)
    for use in (lambda: blob.data, blob.asum, lambda: runtime.device()):
        with pytest.raises(ValueError, match="is closed"):
            use()


def test_a_device_outlives_its_runtimes_close():
    with ferry.Runtime(backend=os.environ.get("FERRY_BACKEND", "cpu")) as runtime:
        device = runtime.device()
    blob = ferry.Blob(device, (3,))
    blob.fill(2)
    assert blob.asum() == 6


def test_closing_during_work_of_other_threads_is_safe(device):
    blobs = [ferry.Blob(device, (1000,)) for _ in range(50)]
    seen = []

    def work():
        for blob in blobs:
            try:
                for _ in range(20):
                    blob.asum()
            except ValueError as error:
                seen.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for blob in blobs:
        blob.fill(1)
    for thread in threads:
        thread.start()
    for blob in blobs:
        blob.close()
    for thread in threads:
        thread.join()
    assert all("is closed" in line for line in seen)


def test_other_threads_run_while_a_device_works():
    # On a busy machine the other threads may run hardly once, and not at every attempt.
    script = """
import threading, time, ferry
device = ferry.Runtime(options={"sim": {"latency": 400000}}).device()
blob = ferry.Blob(device, (8,))
turns = tries = 0
while turns < 8 and tries < 10:
    blob.fill(1)
    thread = threading.Thread(target=lambda: blob.data)
    thread.start()
    turns, tries = 0, tries + 1
    while thread.is_alive():
        time.sleep(0.01)
        turns += 1
print(turns)
"""
    assert int(python(script, "sim")) >= 8


def test_a_late_failure_is_an_exception_and_then_lost():
    script = """
import ferry
device = ferry.Runtime(options={"sim": {"fail_memcpy": 1}}).device()
blob = ferry.Blob(device, (8,))
blob.fill(1)
try:
    blob.data
except ferry.DeviceError as error:
    print(error)
blob.data = 2
print(blob.asum())
"""
    out = python(script, "sim").splitlines()
    assert "sim:0" in out[0] and out[1] == "16.0"


def test_missing_libraries_are_an_import_error(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import ferry"], capture_output=True, text=True,
                          check=False, env={**os.environ, "FERRY_LIBRARY_PATH": f"{tmp_path}:lib"})
    assert done.returncode == 1
    assert f"ImportError: ferry: libferry.so.0 cannot be loaded: {tmp_path}/libferry.so.0" in done.stderr
    assert "lib: not an absolute path" in done.stderr
    assert "FERRY_LIBRARY_PATH" in done.stderr
