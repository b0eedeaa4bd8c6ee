#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles each fault of nets.list into a libferrynet and compares random nets with tests/oracle.

usage: nets.py SOURCES FOLDER [--only TEXT] [--seconds N] [--devices NAME,...], in a build folder; CC is the
compiler. FOLDER receives the libraries. For each fault, random nets from seed 1 on run that have the layer
types before its colon, for at most N seconds (300); the stored cases are omitted. A row of the Markdown table
has the seconds until a net differed, its seed and the first difference. The exit status is 1 if all nets pass
a fault, or if a net fails with the unchanged library."""

import glob
import os
import re
import shutil
import subprocess
import sys

from ops import mutants, option

#: The rooms of the library in which no fault is made.
OTHERS = ["solver/.libs/libferrysolverobjs.a", "op/.libs/libferryopobjs.a"]
FOUND = re.compile(r"^FOUND after ([0-9.]+) s \(net (\S+)\): (.*)$", re.M)


def faults(path):
    """Consecutive lines with the same description are one fault: description, [(file, old, new)]."""
    found = []
    for file, what, old, new in mutants(path):
        if not found or found[-1][0] != what:
            found.append((what, []))
        found[-1][1].append((file, old, new))
    return found


class Builder:
    """A folder that random nets use as a build, with a libferrynet of its own."""

    def __init__(self, sources, folder):
        self.sources, self.folder = sources, folder
        self.compiler = os.environ.get("CC", "cc").split()
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(f"{folder}/.libs")
        for name in os.listdir(".libs"):
            if name.startswith(("libferry.so", "libferryio.so")):
                os.symlink(os.path.abspath(f".libs/{name}"), f"{folder}/.libs/{name}")
        for part in ("backends", "tests"):
            os.symlink(os.path.abspath(part), f"{folder}/{part}")

    def changed(self, changes):
        """The texts of the changed files."""
        texts = {}
        for file, old, new in changes:
            if file not in texts:
                with open(os.path.join(self.sources, file), encoding="utf-8") as source:
                    texts[file] = source.read()
            if texts[file].count(old) != 1:
                sys.exit(f"{file}: the text to replace occurs {texts[file].count(old)} times: {old!r}")
            texts[file] = texts[file].replace(old, new)
        return texts

    def build(self, changes):
        """Compiles the changed files and links the library."""
        objects = {object: object for object in glob.glob("net/**/.libs/libferrynetobjs_la-*.o", recursive=True)}
        for n, (file, text) in enumerate(self.changed(changes).items()):
            folder, name = os.path.split(file)
            object = f"{folder}/.libs/libferrynetobjs_la-{name[:-2]}.o"
            if object not in objects:
                sys.exit(f"there is no {object} to replace")
            objects[object] = self.compile(text, f"{self.folder}/changed{n}")
        self.link(sorted(objects.values()))

    def compile(self, text, path):
        """Compiles one changed file; its headers are those of the sources."""
        with open(path + ".c", "w", encoding="utf-8") as source:
            source.write(text)
        subprocess.run(self.compiler + ["-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-w", "-DHAVE_CONFIG_H",
                                        "-I.", "-I" + self.sources, "-I" + os.path.join(self.sources, "include"),
                                        "-c", path + ".c", "-o", path + ".o"], check=True)
        return path + ".o"

    def link(self, objects):
        """Links the library with the libraries that the installed one needs."""
        needed = subprocess.run(["readelf", "-d", ".libs/libferrynet.so"], capture_output=True, text=True,
                                check=True).stdout
        soname = re.search(r"\(SONAME\).*\[(.*)\]", needed).group(1)
        library = f"{self.folder}/.libs/{soname}"
        subprocess.run(self.compiler + ["-shared", "-o", library, "-Wl,-soname," + soname, "-Wl,-z,defs"]
                       + objects + ["-Wl,--whole-archive"] + OTHERS + ["-Wl,--no-whole-archive", "-L.libs"]
                       + ["-Wl,-rpath," + os.path.abspath(".libs")]
                       + ["-l:" + name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", needed)], check=True)
        link = f"{self.folder}/.libs/libferrynet.so"
        if not os.path.islink(link):
            os.symlink(soname, link)


def search(sources, folder, devices, seconds, types):
    """Random nets with that library: (seconds, net, finding), or None if all pass."""
    run = subprocess.run([sys.executable, os.path.join(sources, "tests/random/nets"), "--build", folder,
                          "--devices", devices, "--every", "--seed", "1", "--without-cases", "--solvers", "0",
                          "--seconds", seconds, "--types", types], capture_output=True, text=True, check=False,
                         env=dict(os.environ, OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1"))
    found = FOUND.search(run.stdout)
    if not found and run.returncode:
        sys.exit(f"tests/random/nets ended with status {run.returncode}: {run.stdout}{run.stderr}")
    return found.groups() if found else None


def main():
    sources, folder = sys.argv[1:3]
    only, devices, seconds = option("--only", ""), option("--devices", "cpu"), option("--seconds", "300")
    builder = Builder(sources, folder)
    missed = total = 0
    builder.build([])
    found = search(sources, folder, devices, "60", "")
    if found:
        sys.exit(f"the library without a fault fails: {found}")
    for what, changes in faults(os.path.join(os.path.dirname(__file__), "nets.list")):
        if only not in what + " ".join(change[0] for change in changes):
            continue
        builder.build(changes)
        found = search(sources, folder, devices, seconds, what.split(":")[0])
        after, net, line = found or ("NOT FOUND", "", "")
        total, missed = total + 1, missed + (found is None)
        print(f"| {what} | {after} | {net} | {line[:100]} |", flush=True)
    print(f"{total - missed} found, {missed} not found")
    return 1 if missed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
