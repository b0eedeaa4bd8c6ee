#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a wheel: assemble.py PYTHON NATIVE LICENCES VERSION TAG FOLDER

PYTHON is the folder python/ of ferry, NATIVE what becomes ferry/_native of the package, LICENCES a folder with the texts
of what is linked in. Needs Python alone. The same inputs make the same bytes: names in order, the time of
SOURCE_DATE_EPOCH (else 1980), modes 644 and 755."""

import base64
import hashlib
import os
import stat
import sys
import time
import zipfile

NAME = "ferry_caffe"
METADATA = """Metadata-Version: 2.1
Name: ferry-caffe
Version: {version}
Summary: Blobs kept coherent over any number of devices, and Caffe models on them
License: BSD-2-Clause
Classifier: License :: OSI Approved :: BSD License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
Description-Content-Type: text/markdown

{description}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: ferry\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRY_POINTS = "[console_scripts]\nferry = ferry._native:main\n"


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


def contents(python, native, licences, version, tag):
    """(name in the wheel, bytes, mode) of everything but RECORD."""
    info = f"{NAME}-{version}.dist-info"
    for name, path in files_below(os.path.join(python, "ferry")):
        if name.endswith(".py"):
            yield "ferry/" + name, open(path, "rb").read(), 0o644
    for name, path in files_below(native):
        yield "ferry/_native/" + name, open(path, "rb").read(), mode_of(path)
    for name, path in files_below(licences):
        yield f"{info}/licenses/{name}", open(path, "rb").read(), 0o644
    description = open(os.path.join(python, "README.md"), encoding="utf-8").read()
    yield f"{info}/METADATA", METADATA.format(version=version, description=description).encode(), 0o644
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode(), 0o644
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode(), 0o644


def moment():
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)  # a zip begins in 1980
    return time.gmtime(seconds)[:6]


def write(path, version, entries):
    record, name = [], f"{NAME}-{version}.dist-info/RECORD"
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


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    python, native, licences, version, tag, folder = sys.argv[1:]
    path = os.path.join(folder, f"{NAME}-{version}-{tag}.whl")
    write(path, version, contents(python, native, licences, version, tag))
    print(path)


if __name__ == "__main__":
    main()
