# SPDX-License-Identifier: BSD-2-Clause
"""Memory shared with NumPy and PyTorch: equal addresses, and each library sees the other's writes."""

import sys

import numpy as np
import pytest

import ferry


def address(blob):
    with blob.reading() as array:
        return array.ctypes.data


def on_host(blob):
    return blob.__dlpack_device__() == (1, 0)


def test_numpy_shares_a_blobs_memory(device):
    blob = ferry.from_array(device, np.arange(6, dtype="f4").reshape(2, 3))
    if not on_host(blob):
        pytest.skip("NumPy can only use host memory")
    array = np.from_dlpack(blob)
    assert array.ctypes.data == address(blob) and array.shape == (2, 3)
    with blob.writing() as mine:
        mine[1, 1] = 70
    assert array[1, 1] == 70
    blob.close()
    assert array[1, 2] == 5


def test_a_blob_shares_numpys_memory(device):
    array = np.arange(6, dtype="f4").reshape(2, 3)
    references = sys.getrefcount(array)
    blob = ferry.from_dlpack(device, array)
    assert address(blob) == array.ctypes.data and sys.getrefcount(array) > references
    array[1, 2] = 9
    assert blob.data[1, 2] == 9
    with blob.writing() as mine:
        mine[0, 0] = 4
    assert array[0, 0] == 4
    blob.close()
    del mine  # an array of the blob, which keeps its memory
    assert sys.getrefcount(array) == references


def test_results_of_the_device_are_in_the_shared_numpy_array(device):
    array = np.ones(8, "f4")
    blob = ferry.from_dlpack(device, array)
    blob.scale(3)
    assert blob.asum() == 24
    assert address(blob) == array.ctypes.data
    assert (array == 3).all()


def test_a_tensor_that_nobody_took_is_deleted(device):
    before = device.stats()
    for version in (None, (1, 0)):
        other = ferry.from_array(device, np.ones(1000, "f4"))
        other.fill(1)
        capsule = other.__dlpack__(max_version=version)
        other.close()
        assert device.stats().live_bytes > before.live_bytes
        del capsule
        ferry.Blob(device).close()
        assert device.stats().live_bytes == before.live_bytes


def test_a_tensor_that_was_refused_is_deleted_and_the_reason_kept(device):
    blob = ferry.Blob(device, (4,), "bfloat16")
    blob.fill(1)
    if not on_host(blob):
        pytest.skip("NumPy can only use host memory")
    with pytest.raises((RuntimeError, BufferError)) as caught:
        np.from_dlpack(blob)
    assert str(caught.value)
    assert blob.asum() == 4
    before = device.stats()
    blob.close()
    assert device.stats().live_bytes < before.live_bytes


def test_a_capsule_is_taken_once(device):
    class Once:
        def __init__(self, array):
            self.capsule = array.__dlpack__()

        def __dlpack__(self, **_):
            return self.capsule

    once = Once(np.ones(3, "f4"))
    blob = ferry.from_dlpack(device, once)
    with pytest.raises(ValueError, match="taken"):
        ferry.from_dlpack(device, once)
    assert blob.asum() == 3


def test_a_refused_array_is_released(device):
    array = np.arange(12, dtype="f4").reshape(3, 4)
    references = sys.getrefcount(array)
    with pytest.raises(ferry.Unsupported):
        ferry.from_dlpack(device, array.T)
    assert sys.getrefcount(array) == references
    with pytest.raises(ferry.Unsupported):
        ferry.from_dlpack(device, np.ones(2, "c8"))


def test_a_copy_is_requested_with_a_version(device):
    blob = ferry.from_array(device, np.ones(3, "f4"))
    capsule = blob.__dlpack__(max_version=(1, 1), copy=True)
    assert "dltensor_versioned" in repr(capsule)
    with pytest.raises(BufferError):
        blob.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        blob.__dlpack__(dl_device=(2, 7))


def test_a_blob_adopts_the_memory_of_another_blob(device):
    first = ferry.from_array(device, np.arange(4, dtype="f4"))
    second = ferry.from_dlpack(device, first)
    if on_host(first):
        assert address(second) == address(first)
    first.close()
    assert second.asum() == 6


def test_torch_shares_both_ways(device):
    torch = pytest.importorskip("torch", reason="there is no PyTorch")
    blob = ferry.from_array(device, np.arange(6, dtype="f4"))
    if not on_host(blob):
        pytest.skip("this case tests host memory only")
    tensor = torch.from_dlpack(blob)
    assert tensor.data_ptr() == address(blob)
    tensor[3] = 40
    assert blob.data[3] == 40
    other = torch.arange(6, dtype=torch.float32)
    shared = ferry.from_dlpack(device, other)
    assert address(shared) == other.data_ptr()
    other[5] = 9
    assert shared.data[5] == 9
