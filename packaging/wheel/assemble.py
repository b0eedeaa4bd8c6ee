#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a wheel: assemble.py PYTHON NATIVE LICENCES VERSION TAG FOLDER or the wheel of the plugin cuda:
assemble.py --cuda MAJOR PLUGIN LICENCES VERSION TAG FOLDER

PYTHON is the folder python/ of ferry, NATIVE the folder that becomes ferry/_native of the package, PLUGIN the
file ferry_cuda.so, MAJOR the version of CUDA, LICENCES a folder with the licences of the linked libraries.
Needs only Python. The same inputs give the same bytes: sorted names, the time of SOURCE_DATE_EPOCH (or 1980),
modes 644 and 755."""

import base64
import hashlib
import os
import stat
import sys
import time
import zipfile

NAME = "ferry_caffe"
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
License: BSD-2-Clause
Classifier: License :: OSI Approved :: BSD License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.9
{requires}
Description-Content-Type: text/markdown

{description}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: ferry\nRoot-Is-Purelib: false\nTag: {tag}\n"
SUMMARY = "Blobs kept coherent over any number of devices, and Caffe models on them"
ENTRY_POINTS = "[console_scripts]\nferry = ferry._native:main\n"

# The plugin cuda, found by its entry point, which names the package; the package is not imported.
CUDA_SUMMARY = "The plugin cuda of ferry-caffe, for NVIDIA's devices"
CUDA_REQUIRES = ("ferry-caffe=={version}", "nvidia-cublas>={major},<{next}", "nvidia-cuda-nvrtc>={major},<{next}")
CUDA_EXTRA = ("Provides-Extra: cudnn", "Requires-Dist: nvidia-cudnn-cu{major}>=9,<10; extra == 'cudnn'")
CUDA_ENTRY_POINTS = "[ferry.plugins]\ncuda = ferry_cuda\n"
CUDA_PACKAGE = '# SPDX-License-Identifier: BSD-2-Clause\n"""The plugin cuda of ferry."""\n'
CUDA_TEXT = """The plugin `cuda` of ferry-caffe for CUDA {major}. It contains NVIDIA's runtime,
takes cuBLAS and libnvrtc from NVIDIA's packages, and needs a driver for CUDA {major}. The extra `cudnn` adds cuDNN.

    FERRY_BACKEND=cuda ferry devices
"""


def files_below(folder):
    """(name with slashes, path) of each file, in order."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in names:
            path = os.path.join(where, name)
            found.append((os.path.relpath(path, folder).replace(os.sep, "/"), path))
    return sorted(found)


def mode_of(path):
    return 0o755 if os.stat(path).st_mode & stat.S_IXUSR else 0o644


def about(name, version, licences, tag, entry_points, **metadata):
    """(name in the wheel, bytes, mode) of the metadata files except RECORD."""
    info = f"{name}-{version}.dist-info"
    for file, path in files_below(licences):
        yield f"{info}/licenses/{file}", open(path, "rb").read(), 0o644
    text = METADATA.format(name=name.replace("_", "-"), version=version, **metadata)
    yield f"{info}/METADATA", text.encode(), 0o644
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode(), 0o644
    yield f"{info}/entry_points.txt", entry_points.encode(), 0o644


def contents(python, native, licences, version, tag):
    """(name in the wheel, bytes, mode) of all files except RECORD."""
    for name, path in files_below(os.path.join(python, "ferry")):
        if name.endswith(".py"):
            yield "ferry/" + name, open(path, "rb").read(), 0o644
    for name, path in files_below(native):
        yield "ferry/_native/" + name, open(path, "rb").read(), mode_of(path)
    description = open(os.path.join(python, "README.md"), encoding="utf-8").read()
    yield from about(NAME, version, licences, tag, ENTRY_POINTS, summary=SUMMARY, requires="Requires-Dist: numpy>=1.22",
                     description=description)


def cuda_contents(name, major, plugin, licences, version, tag):
    """As above, for the plugin's wheel."""
    yield "ferry_cuda/__init__.py", CUDA_PACKAGE.encode(), 0o644
    yield "ferry_cuda/ferry_cuda.so", open(plugin, "rb").read(), 0o644
    words = {"version": version, "major": major, "next": int(major) + 1}
    requires = ["Requires-Dist: " + line for line in CUDA_REQUIRES] + list(CUDA_EXTRA)
    yield from about(name, version, licences, tag, CUDA_ENTRY_POINTS, summary=CUDA_SUMMARY,
                     requires="\n".join(requires).format(**words), description=CUDA_TEXT.format(**words))


def moment():
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)  # a zip begins in 1980
    return time.gmtime(seconds)[:6]


def write(name, version, tag, folder, entries):
    path = os.path.join(folder, f"{name}-{version}-{tag}.whl")
    record, name = [], f"{name}-{version}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, moment())
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (stat.S_IFREG | mode) << 16
            wheel.writestr(entry, data)
        for entry in entries:
            add(*entry)
            digest = base64.urlsafe_b64encode(hashlib.sha256(entry[1]).digest()).rstrip(b"=").decode()
            record.append(f"{entry[0]},sha256={digest},{len(entry[1])}\n")
        add(name, "".join(record + [f"{name},,\n"]).encode(), 0o644)
    print(path)


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 7 and arguments[0] == "--cuda":
        major, plugin, licences, version, tag, folder = arguments[1:]
        name = f"{NAME}_cuda{major}"
        write(name, version, tag, folder, cuda_contents(name, major, plugin, licences, version, tag))
    elif len(arguments) == 6:
        python, native, licences, version, tag, folder = arguments
        write(NAME, version, tag, folder, contents(python, native, licences, version, tag))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
