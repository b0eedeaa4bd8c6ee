# SPDX-License-Identifier: BSD-2-Clause
"""Packages with a libhdf5 of their own, in one process with ferry, imported before it and after it."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import ferry

FERRY = """
import numpy as np
import ferry

def ferry_works():
    values = np.arange(12, dtype="f4").reshape(3, 4)
    ferry.save("ferry.h5", {"a": values})
    with ferry.open("ferry.h5") as file:
        assert np.array_equal(file["a"], values), file["a"]
"""

USES = {
    "h5py": """
import h5py

def other_works():
    with h5py.File("other.h5", "w") as file:
        file.create_dataset("b", data=list(range(5)), compression="gzip")
    with h5py.File("other.h5", "r") as file:
        assert list(file["b"]) == list(range(5))
    with h5py.File("ferry.h5", "r") as file:
        assert file["a"].shape == (3, 4) and file["a"][2, 3] == 11
""",
    "tables": """
import tables

def other_works():
    with tables.open_file("other.h5", "w") as file:
        file.create_array(file.root, "b", list(range(5)))
    with tables.open_file("other.h5", "r") as file:
        assert list(file.root.b) == list(range(5))
""",
    "netCDF4": """
import netCDF4

def other_works():
    with netCDF4.Dataset("other.nc", "w") as file:
        file.createDimension("x", 5)
        file.createVariable("b", "f4", ("x",))[:] = range(5)
    with netCDF4.Dataset("other.nc", "r") as file:
        assert list(file["b"][:]) == list(range(5))
""",
}


@pytest.mark.parametrize("first", ("ferry", "other"))
@pytest.mark.parametrize("name", USES)
def test_ferry_and_other_packages_use_hdf5_in_one_process(name, first, tmp_path):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"there is no {name} in this Python")
    parts = [FERRY, USES[name]] if first == "ferry" else [USES[name], FERRY]
    program = "".join(parts) + "for _ in range(3):\n    ferry_works()\n    other_works()\n"
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(ferry.__file__).resolve().parents[1])}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
