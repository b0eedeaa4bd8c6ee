#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The mutants of mutants.py with the OpenCL plugin: on PoCL, or with --oclgrind in that simulator.

Each mutant is linked into a copy of the plugin, which random operations of test-op-random use in groups of
many items. PoCL finds a mutant by a wrong result, Oclgrind by a report of a race or an invalid access; wrong
results of Oclgrind do not count, because its own mathematical functions differ. Each mutant takes minutes.
OpenCL does not use the programs CONVERT, VECTOR and TENSOR and the part of the header dialect.h for CUDA. Run
it in a build folder; it never fails, and the table has the results."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from mutants import KERNELS, RULES, TOP, all_mutants, table

NOT_OPENCL = ("convert.k", "vector.k", "tensor.k", "dialect.h")
BACKEND = "opencl[items=many]"


def lines_of(text):
    """The text in the form in which kernels/local.mk writes it into texts.h."""
    kept = [line for line in text.splitlines() if not line.startswith('#include "')]
    return "".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n",\n' for line in kept)


def texts_with(m):
    """texts.h with the mutated text."""
    text = m.apply((KERNELS / m.file).read_text())
    head = f"static const char *const text_{m.file[:-2]}[] = {{\n"
    before, rest = pathlib.Path("kernels/texts.h").read_text().split(head)
    return before + head + lines_of(text) + rest[rest.index("};\n") :]


def plugin_with(m, folder):
    """A folder of plugins, one of them the mutant."""
    (folder / "texts.h").write_text(texts_with(m))
    plugins = folder / "plugins"
    plugins.mkdir()
    for other in pathlib.Path("backends/.libs").resolve().glob("ferry_cpu.so"):
        shutil.copy(other, plugins)
    flags = ["-std=c11", "-fPIC", f"-I{folder}", f"-I{TOP}/include", f"-I{TOP}"]
    subprocess.run(["gcc", *flags, "-c", "-o", str(folder / "texts.o"), f"{TOP}/kernels/texts.c"], check=True)
    objects = [str(o) for o in pathlib.Path("backends/opencl/.libs").glob("*.o")]
    libraries = ["kernels/.libs/libkerneltexts.a", "-lclblast", "-lOpenCL", "-ldl", "-lpthread", "-lm"]
    out = ["-fvisibility=hidden", "-o", str(plugins / "ferry_opencl.so")]
    subprocess.run(["gcc", "-shared", *objects, str(folder / "texts.o"), *libraries, *out], check=True)
    return plugins


def run(command, plugins, folder, more):
    env = {"FERRY_PLUGIN_PATH": str(plugins), "FERRY_TEST_BACKENDS": BACKEND, "FERRY_TEST_QUICK": "1"}
    env |= {"POCL_CACHE_DIR": str(folder / "pocl"), "XDG_CACHE_HOME": str(folder / "cache")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=600, env={**os.environ, **env, **more}
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    output = done.stdout + done.stderr
    wrong = re.search(r"^(kind|seed|FAIL|     kind) .*", output, flags=re.M)
    return "" if done.returncode == 0 else wrong.group().strip() if wrong else f"ends with {done.returncode}"


def on_pocl(options, plugins, folder):
    return run([options.program], plugins, folder, {"FERRY_TEST_OPS": "10"})


def on_oclgrind(options, plugins, folder):
    log = folder / "log"
    command = ["oclgrind", "--log", str(log), "--data-races", options.program]
    run(command, plugins, folder, {"FERRY_TEST_OPS": str(options.ops), "FERRY_TEST_NO_HANDLERS": "1"})
    return next((line.strip() for line in log.read_text().splitlines() if line.strip()), "")


def judge(options, m):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plugins = plugin_with(m, folder)
        return (on_oclgrind if options.oclgrind else on_pocl)(options, plugins, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--rules", default=",".join(RULES[:-1]), help=f"of {', '.join(RULES)}")
    parser.add_argument("--oclgrind", action="store_true", help="in Oclgrind, not on PoCL")
    parser.add_argument("--program", default="tests/unit/test-op-random")
    parser.add_argument("--ops", type=int, default=3, help="operations of a kind under Oclgrind")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rules = options.rules.split(",")
    mutants = [m for m in all_mutants() if options.only in m.name and m.rule in rules and m.file not in NOT_OPENCL]
    mutants = [m for m in mutants if m.file.endswith(".k")]
    mutants.sort(key=lambda m: RULES.index(m.rule))
    counts = {}
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    for m, judged in [(m, pool.submit(judge, options, m)) for m in mutants]:
        verdict = "found" if judged.result() else "not found"
        counts.setdefault(m.rule, {}).setdefault(verdict, []).append(m.name)
        print(f"{verdict}: {m.name}: {judged.result()}", flush=True)
    table(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
