# SPDX-License-Identifier: BSD-2-Clause
"""Blobs and their NumPy arrays."""


import numpy as np
import pytest

import ferry


def counting(device, shape=(2, 3), dtype="float32"):
    return ferry.from_array(device, np.arange(np.prod(shape)).reshape(shape), dtype)


def test_a_blob_reads_as_zeros_and_has_its_shape(device):
    blob = ferry.Blob(device, (2, 3), np.float64)
    assert blob.shape == (2, 3) and blob.size == 6 and blob.ndim == 2 and len(blob) == 2
    assert blob.dtype == np.float64 and blob.home == device and blob.head == "uninitialized"
    assert (blob.data == 0).all() and blob.data.dtype == np.float64


def test_a_blob_without_a_shape_gets_one(device):
    blob = ferry.Blob(device)
    assert blob.shape == (0,) and blob.size == 0 and blob.data.shape == (0,)
    blob.reshape(2, 2)
    assert blob.shape == (2, 2)
    blob.reshape(())
    assert blob.shape == () and blob.size == 1 and blob.data.shape == ()
    with pytest.raises(TypeError):
        len(blob)


def test_two_views_are_one_memory(device, unified):
    blob = counting(device)
    with blob.reading() as a, blob.reading() as b:
        assert a.ctypes.data == b.ctypes.data
        assert (blob.data.ctypes.data == a.ctypes.data) != unified
        assert (np.asarray(blob).ctypes.data == a.ctypes.data) != unified


def test_writes_of_device_and_host_are_visible(device):
    blob = ferry.Blob(device, (2, 3))
    blob.fill(3)
    assert (blob.data == 3).all()
    with blob.writing() as array:
        array[0] = 7
    assert blob.asum() == 3 * 7 + 3 * 3
    blob.data = np.full(3, 2)
    assert blob.asum() == 12 and blob.sumsq() == 24


def test_data_and_diff_are_apart(device):
    blob = counting(device)
    blob.diff = 1
    blob.update()
    assert (blob.data == np.arange(6).reshape(2, 3) - 1).all() and (blob.diff == 1).all()
    blob.scale(3, diff=True)
    with blob.writing(diff=True) as array:
        array[1, 2] = 0
    assert blob.asum(diff=True) == 15


def test_arrays_are_read_only_outside_writing(device):
    blob = counting(device)
    with pytest.raises(ValueError):
        blob.data[0] = 1
    with pytest.raises(ValueError):
        np.asarray(blob)[0] = 1
    with blob.writing() as array:
        array += 1
    with pytest.raises(ValueError):
        array[0] = 1
    with pytest.raises(ValueError), blob.reading() as array:
        array[0] = 1


def test_an_array_outlives_its_blob_and_frees_the_memory(device):
    before = device.stats().live_bytes
    blob = counting(device, (100, 100))
    with blob.reading() as array:
        blob.close()
        assert array[99, 99] == 9999
    part = array[50:]
    del array
    assert part[0, 0] == 5000 and device.stats().live_bytes > before
    del part
    assert device.stats().live_bytes == before


def test_an_old_array_can_be_read_after_writes_of_the_device(device):
    blob = counting(device)
    array = blob.data
    blob.fill(9)
    device.synchronize()
    float(array.sum())  # the old values or the new, on unified memory a copy; never a crash
    blob.reshape(1000, 1000)
    blob.fill(1)
    float(array.sum())
    assert blob.data.sum() == 1e6


def test_an_exception_in_writing_the_whole_blob_loses_its_contents(device):
    blob = counting(device)
    with pytest.raises(ZeroDivisionError), blob.writing(whole=True) as array:
        array[0] = 1 / 0
    with pytest.raises(ferry.Lost):
        blob.data  # pylint: disable=pointless-statement
    blob.data = 1
    assert blob.asum() == 6
    with pytest.raises(ZeroDivisionError), blob.writing() as array:
        array[0] = 2
        array[1] = 1 / 0
    assert blob.asum() == 9


def test_values_that_do_not_fit_leave_the_blob_as_it_was(device):
    blob = counting(device)
    with pytest.raises(ferry.ShapeMismatch):
        blob.data = np.zeros(7)
    with pytest.raises(TypeError):
        blob.data = np.zeros((2, 3), complex)
    with pytest.raises(TypeError):
        ferry.Blob(device, (2,), "int32").data = [0.5, 1]
    with pytest.raises(ferry.InvalidArgument):
        blob.reshape(2, -1)
    assert (blob.data == np.arange(6).reshape(2, 3)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64",
                                   "uint32"])
def test_every_common_dtype_round_trips(device, dtype):
    values = np.array([0, 1, 100]).astype(dtype)
    blob = ferry.from_array(device, values)
    assert blob.dtype == values.dtype
    assert blob.data.dtype == values.dtype and (blob.data == values).all()


def test_bfloat16_is_looked_at_as_float32(device):
    blob = ferry.Blob(device, (3,), "bfloat16")
    blob.fill(1.0078125)
    assert blob.dtype == "bfloat16" and (blob.astype("float32").data == 1.0078125).all()
    with pytest.raises(ferry.Unsupported, match="astype"):
        blob.data  # pylint: disable=pointless-statement


def test_dtypes_convert_as_they_are_copied(device):
    blob = ferry.from_array(device, np.array([0.4, 1.6, 300]), "float32").astype("uint8")
    assert list(blob.data) == [0, 2, 255]
    other = ferry.Blob(device)
    other.copy_from(blob, reshape=True)
    assert list(other.data) == [0, 2, 255]
    with pytest.raises(ferry.ShapeMismatch):
        other.copy_from(ferry.Blob(device, (4,)))


def test_a_slice_is_the_same_memory(device):
    blob = counting(device, (4, 2))
    part = blob.slice(1, 2)
    assert part.shape == (2, 2) and (part.data == [[2, 3], [4, 5]]).all()
    part.data = 0
    assert (blob.data[1:3] == 0).all() and blob.data[3, 1] == 7
    with pytest.raises(ferry.InvalidArgument):
        blob.slice(3, 2)
    with pytest.raises(ZeroDivisionError), part.writing(whole=True):
        raise ZeroDivisionError
    assert blob.data[3, 1] == 7


def test_an_array_is_made_of_a_blob(device):
    blob = counting(device)
    assert np.asarray(blob, "float64").dtype == np.float64
    assert np.array(blob).flags.writeable
    assert (np.add(blob, 1) == np.arange(1, 7).reshape(2, 3)).all()


def test_a_name_is_kept(device):
    blob = ferry.Blob(device, (1,))
    blob.name = "conv1"
    assert blob.name == "conv1" and "conv1" in repr(blob)
    blob.close()
    assert "closed" in repr(blob)


def test_a_blob_moves(runtime, device):
    devices = runtime.devices()
    blob = counting(device)
    blob.to(devices[-1])
    assert blob.home == devices[-1] and blob.data[1, 2] == 5


def test_an_empty_blob_has_arrays(device):
    blob = ferry.Blob(device, (0, 3))
    blob.data = np.empty((0, 3))
    with blob.writing() as array:
        assert array.shape == (0, 3) and array.flags.writeable
    assert not blob.data.flags.writeable
