# SPDX-License-Identifier: BSD-2-Clause
"""Files of arrays as mappings."""

import json
import struct

import numpy as np
import pytest

import ferry

ARRAYS = {"w": np.arange(24, dtype="f4").reshape(2, 3, 4), "b": np.array([1, 2, 3], "i8"),
          "s": np.float64(2.5), "e": np.empty((0, 4), "f2")}


@pytest.fixture
def npz(tmp_path):
    np.savez(tmp_path / "in.npz", **ARRAYS)
    return tmp_path / "in.npz"


def test_a_file_is_a_mapping_of_arrays(npz):
    with ferry.open(npz) as file:
        assert file.format == "npz" and list(file) == list(ARRAYS) and len(file) == 4
        assert "w" in file and "nothing" not in file and file.get("nothing") is None
        for name, want in ARRAYS.items():
            assert file[name].dtype == want.dtype and file[name].shape == np.shape(want)
            assert np.array_equal(file[name], want)
        assert file.entry("w").shape == (2, 3, 4) and file.entry("w").storage == "F32"
        with pytest.raises(KeyError):
            file["nothing"]  # pylint: disable=pointless-statement
        file["w"][0] = 1  # an array of its own
        assert np.array_equal(file["w"], ARRAYS["w"])
    with pytest.raises(ValueError, match="is closed"):
        file["w"]  # pylint: disable=pointless-statement


def test_an_array_is_read_onto_a_device(npz, device):
    with ferry.open(npz) as file:
        blob = file.blob("w", device)
    assert blob.shape == (2, 3, 4) and blob.asum() == ARRAYS["w"].sum()
    assert np.array_equal(blob.data, ARRAYS["w"])


def safetensors(path, arrays, metadata):
    header, body = {"__metadata__": metadata}, b""
    for name, (dtype, shape, values) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_bfloat16_and_metadata_of_safetensors(tmp_path, device):
    path = tmp_path / "in.safetensors"
    safetensors(path, {"x": ("BF16", [2], struct.pack("<HH", 0x3fc0, 0xc000))}, {"by": "hand"})
    with ferry.open(path) as file:
        assert file.metadata == {"by": "hand"} and file.entry("x").dtype == "bfloat16"
        assert file["x"].dtype == np.float32 and list(file["x"]) == [1.5, -2]
        assert file.blob("x", device).dtype == "bfloat16"
        with pytest.raises(ferry.InvalidArgument):
            file.diff("x")


def test_a_malformed_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "bad.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
    with pytest.raises(ferry.MalformedFile, match="bad.npy"):
        ferry.open(path)


def test_arrays_of_layers_of_one_name_are_all_listed(tmp_path):
    written = [{"ip/0": np.full((2, 3), i, "f4"), "ip/1": np.full(2, i, "f4")} for i in range(3)]
    for i, arrays in enumerate(written):
        ferry.save(tmp_path / f"{i}.caffemodel", arrays)
    path = tmp_path / "all.caffemodel"  # the concatenation of messages has the layers of all of them
    path.write_bytes(b"".join((tmp_path / f"{i}.caffemodel").read_bytes() for i in range(3)))
    with ferry.open(path) as file:
        assert list(file) == ["ip/0", "ip/1", "ip/0#2", "ip/1#2", "ip/0#3", "ip/1#3"]
        for i, suffix in enumerate(["", "#2", "#3"]):
            for name, array in written[i].items():
                assert np.array_equal(file[name + suffix], array)
                assert file.entry(name + suffix).name == name


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors", "a.h5"])
def test_arrays_are_written_and_read_back(tmp_path, device, name):
    arrays = {name: array for name, array in ARRAYS.items() if name in "wb"}
    blob = ferry.from_array(device, np.full((2, 2), 7, "f4"))
    metadata = {"made": "here"} if name == "a.safetensors" else None
    ferry.save(tmp_path / name, dict(arrays, blob=blob), metadata)
    with ferry.open(tmp_path / name) as file:
        assert sorted(file) == ["b", "blob", "w"] and file["w"].dtype == np.float32
        assert all(np.array_equal(file[key], arrays[key]) for key in arrays)
        assert np.array_equal(file["blob"], blob.data)
        assert file.metadata.get("made") == (metadata or {}).get("made")


def test_the_caller_chooses_the_layout_of_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    for layout, path in (None, "ip/0"), ("plain", "ip/0"), ("weights", "data/ip/0"):
        ferry.save(tmp_path / "a.h5", {"ip/0": ARRAYS["w"], "label": ARRAYS["w"]}, layout=layout)
        with h5py.File(tmp_path / "a.h5", "r") as file:
            assert np.array_equal(file[path][...], ARRAYS["w"]) and "label" in file
    with pytest.raises(ferry.InvalidArgument):
        ferry.save(tmp_path / "a.h5", {"w": ARRAYS["w"]}, layout="odd")
    with pytest.raises(ferry.Unsupported):
        ferry.save(tmp_path / "a.npz", {"w": ARRAYS["w"]}, layout="weights")


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    ferry.save(path, {"w": ARRAYS["w"]})
    with pytest.raises(ferry.Unsupported, match="complex64"):
        ferry.save(path, {"w": np.ones(2, "c8")})
    with pytest.raises(ferry.InvalidArgument):
        ferry.save(tmp_path / "a.txt", {"w": ARRAYS["w"]})
    with ferry.open(path) as file:
        assert np.array_equal(file["w"], ARRAYS["w"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
    ferry.save(tmp_path / "odd", {"ip/0": ARRAYS["w"]}, format="caffemodel")
    with ferry.open(tmp_path / "odd") as file:
        assert file.format == "caffemodel" and np.array_equal(file["ip/0"], ARRAYS["w"])
