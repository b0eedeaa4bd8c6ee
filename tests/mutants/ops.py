#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles each fault of ops.list into a sim plugin and runs `ferry check` on it.

usage: ops.py SOURCES FOLDER [--only TEXT] [--groups GROUP,...], in a build folder; CC is the compiler. FOLDER
receives the copies. --only selects faults by file or description. The output is the rows of a Markdown table.
The exit status is 1 if `ferry check` passes a mutant, or fails the unchanged plugin."""

import os
import shutil
import subprocess
import sys

# Prefixes of the objects that are linked into the plugin; the folders have other objects, too.
OBJECTS_OF = ("ferry_sim_la", "libkernelhost_la", "libkernelplans_la")
GROUPS = ["ops-values", "ops-steps", "ops-reuse", "ops", "ops-large", "ops-random"]


def mutants(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                file, what, change = line.rstrip("\n").split(" | ", 2)
                old, new = (text.replace("\\n", "\n") for text in change.split(" => "))
                yield file, what, old, new


class Builder:
    """Plugins from a copy of sim and the kernels, with the objects of the build that did not change."""

    def __init__(self, sources, folder):
        self.sources, self.folder = sources, folder
        self.tree = os.path.join(folder, "tree")
        self.compiler = os.environ.get("CC", "cc").split()

    def copy(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("common", "kernels", "backends/sim"):
            shutil.copytree(os.path.join(self.sources, part), os.path.join(self.tree, part))

    def change(self, file, old, new):
        path = os.path.join(self.tree, file)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        if text.count(old) != 1:
            sys.exit(f"{file}: the text to replace occurs {text.count(old)} times: {old!r}")
        with open(path, "w", encoding="utf-8") as source:
            source.write(text.replace(old, new))
        return text

    def build(self, file, name):
        unit = file if file.endswith(".c") else "kernels/host.c"
        out = os.path.join(self.folder, "changed.o")
        subprocess.run(self.compiler + ["-std=c11", "-O1", "-fPIC", "-fvisibility=hidden", "-w",
                                        "-DHAVE_CONFIG_H", "-I.", "-I" + self.tree,
                                        "-I" + os.path.join(self.sources, "include"), "-c",
                                        os.path.join(self.tree, unit), "-o", out], check=True)
        objects = [os.path.join(folder, object)
                   for folder in ("backends/sim/.libs", "kernels/.libs")
                   for object in sorted(os.listdir(folder))
                   if object.endswith(".o") and object.startswith(OBJECTS_OF)
                   and object.split("-", 1)[-1] != os.path.basename(unit)[:-2] + ".o"]
        plugin = os.path.join(self.folder, name)
        subprocess.run(self.compiler + ["-shared", "-o", plugin, out] + objects
                       + ["-lpthread", "-lm"], check=True)
        return plugin


def check(plugin, groups):
    """The first group that fails, and its line; (None, None) if all pass."""
    for group in groups:
        run = subprocess.run(["tools/ferry/ferry", "check", plugin, "--timeout", "300", "--only",
                              group], capture_output=True, text=True, check=False)
        failed = [line for line in run.stdout.splitlines() if line.startswith("fail ")]
        if failed:
            return group, failed[0][len("fail         "):][len(group):].strip()
        if run.returncode:
            sys.exit(f"ferry check ended with status {run.returncode}: {run.stdout}{run.stderr}")
    return None, None


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main():
    sources, folder = sys.argv[1:3]
    only = option("--only", "")
    groups = option("--groups", ",".join(GROUPS)).split(",")
    builder = Builder(sources, folder)
    builder.copy()
    found = missed = 0
    group, line = check(builder.build("kernels/host.c", "ferry_sim_plain.so"), groups)
    if group:
        sys.exit(f"the plugin without a fault fails: {group}: {line}")
    for file, what, old, new in mutants(os.path.join(os.path.dirname(__file__), "ops.list")):
        if only not in file + what:
            continue
        before = builder.change(file, old, new)
        group, line = check(builder.build(file, "ferry_sim_mutant.so"), groups)
        with open(os.path.join(builder.tree, file), "w", encoding="utf-8") as source:
            source.write(before)
        found += group is not None
        missed += group is None
        print(f"| {file} | {what} | {group or 'NOT FOUND'} | {(line or '')[:100]} |", flush=True)
    print(f"{found} found, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
