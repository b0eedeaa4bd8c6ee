#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the SBOM of a release, SPDX 2.3 as JSON: sbom.py VERSION FILE... >ferry-VERSION.spdx.json

FILEs are the released files: a tarball, wheels. A wheel contains the libraries that packaging/wheel/build.sh
links, from the Debian packages that its packages.txt lists; the wheel of the plugin cuda contains CUDA's
runtime. The same files give the same bytes: the time is that of SOURCE_DATE_EPOCH."""

import hashlib
import json
import os
import re
import sys
import time
import zipfile

# The libraries in the wheel: Debian's package, and the licence in SPDX's terms.
LICENCES = {"libinih1": "BSD-3-Clause", "libjansson4": "MIT", "zlib1g": "Zlib", "libhdf5-103-1": "NOASSERTION",
            "libaec0": "BSD-2-Clause", "libpng16-16": "NOASSERTION", "libjpeg62-turbo": "NOASSERTION",
            "liblmdb0": "OLDAP-2.8", "libclblast1": "Apache-2.0", "libopenblas0-pthread": "BSD-3-Clause",
            "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1"}
SITE = "https://spdx.org/spdxdocs/"


def linked(wheel):
    """(name, version) of each Debian package whose library the wheel contains."""
    with zipfile.ZipFile(wheel) as archive:
        name, = (name for name in archive.namelist() if name.endswith("/licenses/packages.txt"))
        return [tuple(line.split()) for line in archive.read(name).decode().splitlines()]


def package(name, version, licence, key=None, **more):
    return {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", key or name), "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def released(path, version):
    data = open(path, "rb").read()
    sums = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]
    return package(os.path.basename(path), version, "BSD-2-Clause", checksums=sums,
                   packageFileName=os.path.basename(path)), sums[0]["checksumValue"]


def related(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def main():
    version, paths = sys.argv[1], sys.argv[2:]
    if not paths:
        sys.exit(__doc__)
    packages, relations, digests = [], [], []
    for path in paths:
        entry, digest = released(path, version)
        packages.append(entry)
        digests.append(digest)
        relations.append(related("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"]))
    wheels = [(path, entry["SPDXID"]) for path, entry in zip(paths, packages)
              if re.fullmatch(r"ferry_caffe-.*\.whl", entry["name"])]
    plugins = [(found[1], entry["SPDXID"]) for entry in packages
               if (found := re.match(r"ferry_caffe_cuda(\d+)-.*\.whl", entry["name"]))]
    parts = {}
    for path, wheel in wheels:
        for name, of in linked(path):
            if (name, of) not in parts:
                parts[name, of] = package(name, of, LICENCES[name], f"{name}-{of}")
                packages.append(parts[name, of])
            relations.append(related(wheel, "CONTAINS", parts[name, of]["SPDXID"]))
    for major, plugin in plugins:
        packages.append(package(f"cudart-{major}", major, "NOASSERTION"))
        relations.append(related(plugin, "CONTAINS", packages[-1]["SPDXID"]))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    unique = hashlib.sha256("".join(digests).encode()).hexdigest()[:32]
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"ferry-{version}", "documentNamespace": f"{SITE}ferry-{version}-{unique}",
               "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                                "creators": ["Tool: ferry-packaging-sbom"]},
               "packages": packages, "relationships": relations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
