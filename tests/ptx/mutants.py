#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of the kernels: whether the executor finds each missing barrier, guard and bound.

A mutant is one change in one place of a kernel's text, made by a rule:

    barrier   PHASE becomes ITEMS; from LAST_GROUP, a barrier or a fence is removed
    guard     the condition of an `if` with a comparison is always true, or never true if it leaves the block
    bound     the `<` of a loop's condition becomes `<=`, its `>` becomes `>=`
    limit     `x < n ? x : n` and `lesser(x, n)` become x
    atomic    an atomic addition becomes a load and a store
    fragment  an index of a fragment of tensor.k becomes that of another element

nvcc compiles the mutant. If its PTX equals that of the original, the change has no effect. Otherwise random
operations that use a changed kernel run on the executor (test-kernels-ptx), which checks races, bounds, bytes
never written and results; the kernels of vectors run under `ferry check cuda`.

A mutant that is not found has a line in mutants.list, with the reason why it is equivalent or why it is not
found; a line without such a mutant is a failure."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parents[2]
KERNELS = TOP / "kernels"
# The header's text is compiled with this kernel text.
HEADERS = {"dialect.h": "vector", "sum.h": "row"}
LANES = {"convolution": 2, "gradient": 2}
RULES = ("barrier", "guard", "limit", "atomic", "fragment", "bound")
VECTORS = "dot,asum,sumsq,fill,convert"
TRIES = (("race,unknown", 30), ("descending,race,unknown", 60), ("interleaved,two-blocks,race", 60))


class Mutant:
    def __init__(self, file, rule, start, end, new, fragment):
        self.file, self.rule, self.start, self.end, self.new = file, rule, start, end, new
        self.fragment = " ".join(fragment.replace("\\", " ").split())
        self.name = ""

    def apply(self, text):
        return text[: self.start] + self.new + text[self.end :]


def without_comments(text):
    """The text with blanked comments, so that positions do not change."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def closing(text, at):
    """The position of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise ValueError("a parenthesis that is not closed")


def barriers(file, text):
    for m in re.finditer(r"\bPHASE\b", text):
        yield Mutant(file, "barrier", m.start(), m.end(), "ITEMS", "PHASE")


def guards(file, text):
    for m in re.finditer(r"\bif \(", text):
        end = closing(text, m.end() - 1)
        condition = text[m.end() : end]
        if not re.search(r"[^-<>][<>]|[=!]= 0", condition):
            continue
        leaves = re.match(r"[\s\\]*(continue|break|return)\b", text[end + 1 :])
        new = f"(0 && ({condition}))" if leaves else f"(1 || ({condition}))"
        yield Mutant(file, "guard", m.end() - 1, end + 1, new, f"if ({condition})")


def bounds(file, text):
    for m in re.finditer(r"\b(for|while) \(", text):
        end = closing(text, m.end() - 1)
        head = text[m.end() : end]
        parts = head.split(";") if m.group(1) == "for" else ["", head]
        at = m.end() + len(parts[0]) + (m.group(1) == "for")
        for c in re.finditer(r" ([<>]) ", parts[1]):
            place = at + c.start(1)
            yield Mutant(file, "bound", place, place + 1, c.group(1) + "=", f"{m.group(1)} ({head})")


def limits(file, text):
    """`A < B ? A : B`, by its last word `A : B`, whose B ends at , ; or )."""
    for m in re.finditer(r"([\w][\w\[\]>. *+()-]*?) < ([^?:;{}]+?)\s*\? ", text):
        for one in (m.group(1), re.sub(r"^.*?= ", "", m.group(1))):
            rest = text[m.end() :]
            both = f"{one} : {m.group(2)}"
            if rest.startswith(both):
                start = m.start() + len(m.group(1)) - len(one)
                yield Mutant(file, "limit", start, m.end() + len(both), f"({one})", text[start : m.end() + len(both)])
                break
    for m in re.finditer(r"\blesser(?=\()", text):
        end = closing(text, m.end()) + 1
        one = text[m.end() + 1 : end - 1].rsplit(", ", 1)[0]
        yield Mutant(file, "limit", m.start(), end, f"({one})", text[m.start() : end])


FRAGMENTS = ((" + pair + 4", " + pair"), ("x_next + pair", "x_at + pair"), ("% 32 / 4", "% 32 / 8"), ("% 4 * 2", "% 4"))


def fragments(file, text):
    for old, new in FRAGMENTS if file == "tensor.k" else ():
        for m in re.finditer(re.escape(old), text):
            yield Mutant(file, "fragment", m.start(), m.end(), new, old)


def of_last_group(file, text):
    at = text.index("#define LAST_GROUP", text.index("defined(__CUDACC__)"))
    end = text.index("#define multiply_high", at)
    for m in re.finditer(r"__threadfence\(\)|__syncthreads\(\)", text[at:end]):
        yield Mutant(file, "barrier", at + m.start(), at + m.end(), "(void)0", m.group())
    m = re.search(r"atomicAdd\(\(counter\), 1u\)", text[at:end])
    yield Mutant(file, "atomic", at + m.start(), at + m.end(), "(*(counter))++", m.group())
    m = re.search(r"if \((threadIdx.x == 0)\)", text[at:end])
    yield Mutant(file, "guard", at + m.start(1), at + m.end(1), "1", m.group())


def all_mutants():
    mutants = []
    for path in sorted(KERNELS.glob("*.k")) + [KERNELS / name for name in HEADERS]:
        text = without_comments(path.read_text())
        if path.name == "dialect.h":
            found = list(of_last_group(path.name, text))
        else:
            found = [m for rule in (barriers, guards, bounds, limits, fragments) for m in rule(path.name, text)]
        seen = {}
        for m in sorted(found, key=lambda m: (m.start, m.rule)):
            key = (m.rule, m.fragment)
            seen[key] = seen.get(key, 0) + 1
            m.line = text.count("\n", 0, m.start) + 1
            m.name = f"{m.file} {m.rule} {seen[key]}: {m.fragment}"
            mutants.append(m)
    return mutants


# ---- compiling ----


def entries(ptx):
    """The code of each entry, without the lines of the source."""
    code = re.sub(r"^\s*(\.loc|//|\.file).*\n", "", ptx, flags=re.M)
    parts = re.split(r"^\.visible \.entry (\w+)\(", code, flags=re.M)[1:]
    return {name: body[: body.rindex("\n}")] for name, body in zip(parts[::2], parts[1::2])}


class Compiler:
    def __init__(self, work, arch):
        self.work, self.arch, self.originals = work, arch, {}
        self.lock = threading.Lock()

    def compile(self, text, folder, out):
        source = out.with_suffix(".cu")
        lines = ['#include "backends/cuda/target.h"', "#define VEC CUDA_VEC", "#define GROUP CUDA_GROUP"]
        lines += ['#include "kernels/args.h"', '#include "kernels/dialect.h"']
        lines += [f"#define LANES {LANES.get(text, 1)}", f'#include "kernels/{text}.k"']
        source.write_text("\n".join(lines) + "\n")
        command = ["nvcc", "-ptx", "-O3", "-lineinfo", "-diag-suppress", "177", f"-arch=sm_{self.arch}"]
        command += [f"-I{f}" for f in (folder, TOP) if f] + ["-o", str(out), str(source)]
        return subprocess.run(command, capture_output=True, text=True)

    def original(self, text):
        with self.lock:
            if text not in self.originals:
                out = self.work / f"{text}.ptx"
                done = self.compile(text, None, out)
                if done.returncode:
                    sys.exit(f"{text}.k does not compile:\n{done.stdout}{done.stderr}")
                self.originals[text] = (out, entries(out.read_text()))
            return self.originals[text]

    def mutant(self, m):
        """The PTX and the changed kernels; None if the text does not compile."""
        text = HEADERS.get(m.file, m.file[:-2])
        original, before = self.original(text)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        (folder / "kernels").mkdir()
        (folder / "kernels" / m.file).write_text(m.apply((KERNELS / m.file).read_text()))
        out = folder / "mutant.ptx"
        done = self.compile(text, folder, out)
        if done.returncode:
            return None, done.stderr.strip().splitlines()[:1], original
        after = entries(out.read_text())
        return out, [name for name in before if before[name] != after.get(name)], original


# ---- running ----


def first_line(output):
    for line in output.splitlines():
        line = re.sub(r"^cuda \(double\): misuse: ", "", line.strip())
        if line.startswith(("kernel ", "kind ")):
            return re.sub(r"0x[0-9a-f]+", "an address", line)
    return next((line.strip() for line in output.splitlines() if line.startswith("fail ")), "")


def run(command, env):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={**os.environ, **env})
    except subprocess.TimeoutExpired:
        return "does not end"
    words = first_line(done.stdout + done.stderr) if done.returncode else ""
    if done.returncode and not words:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return words


def search(options, ptx, original, changed, quick):
    """The executor's report on the mutant, or ""."""
    files = f"{ptx}:{original}:{options.rest}"
    for way, ops in TRIES[: 1 if quick else len(TRIES)]:
        if all(name.startswith("vector_") for name in changed):
            env = {"CUDA_DOUBLE_PTX": files, "CUDA_DOUBLE_PTX_RUN": way}
            env["CUDA_DOUBLE_CAPABILITY"] = str(options.arch)
            said = run(options.command.split() + ["check", "cuda", "--timeout", "300", "--only", VECTORS], env)
        else:
            env = {"FERRY_TEST_PTX": files, "FERRY_TEST_PTX_RUN": way, "FERRY_TEST_OPS": str(ops)}
            env["FERRY_TEST_KERNELS"] = ",".join(changed)
            said = run([options.program], env)
        if said:
            return said
    return ""


def read_list(path):
    known = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, sign, why = re.fullmatch(r"(.*) ([=?]) (\S.*)", line).groups()
            known[name] = ("equivalent" if sign == "=" else "not found", why)
    return known


def judge(options, compiler, m, known):
    """(verdict, words)."""
    ptx, changed, original = compiler.mutant(m)
    if ptx is None:
        return "invalid", " ".join(changed)
    if not changed:
        return "same code", "nvcc makes the same instructions of it"
    said = search(options, ptx, original, changed, m.name in known)
    if said:
        return "found", said
    return known.get(m.name, ("MISSED", ", ".join(changed)))


def kind_of(words):
    for word, kind in (("race:", "race"), ("never written", "unwritten"), ("no thread has stored", "unwritten")):
        if word in words:
            return kind
    if re.search(r"(reads|writes|updates) \d+ bytes at", words):
        return "out of bounds"
    if "barrier" in words:
        return "divergent barrier"
    return "another result"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="names alone")
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--rules", default=",".join(RULES[:-1]), help=f"of {', '.join(RULES)}")
    parser.add_argument("--arch", type=int, default=80)
    parser.add_argument("--program", default="tests/unit/test-kernels-ptx")
    parser.add_argument("--command", default="tools/ferry/ferry")
    parser.add_argument("--rest", required=True, help="PTX of all kernels, not mutated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path, help="a file that each verdict is appended to")
    options = parser.parse_args()
    rules = options.rules.split(",")
    mutants = [m for m in all_mutants() if options.only in m.name and m.rule in rules]
    mutants.sort(key=lambda m: RULES.index(m.rule))
    if options.list:
        print("\n".join(m.name for m in mutants))
        return 0
    known = read_list(pathlib.Path(__file__).with_name("mutants.list"))
    counts, failures = {}, []
    done = {}
    if options.results and options.results.exists():
        done = dict(line.split("\t", 1) for line in options.results.read_text().splitlines())
    with tempfile.TemporaryDirectory() as work:
        compiler = Compiler(pathlib.Path(work), options.arch)
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        judged = {m.name: pool.submit(judge, options, compiler, m, known) for m in mutants if m.name not in done}
        for m in mutants:
            verdict, words = done[m.name].split("\t") if m.name in done else judged[m.name].result()
            if options.results and m.name not in done:
                with options.results.open("a") as out:
                    out.write(f"{m.name}\t{verdict}\t{words}\n")
            kind = kind_of(words) if verdict == "found" else verdict
            counts.setdefault(m.rule, {}).setdefault(kind, []).append(m.name)
            print(f"{verdict}: {m.file}:{m.line} {m.rule}: {m.fragment}: {words}", flush=True)
            if verdict in ("MISSED", "invalid") or (verdict == "found" and m.name in known):
                failures.append(m.name)
    if not options.only and rules == list(RULES[:-1]):
        names = {m.name for m in mutants}
        failures += [f"mutants.list: no such mutant: {name}" for name in known if name not in names]
    table(counts)
    for name in failures:
        print(f"FAIL {name}")
    return 1 if failures else 0


def table(counts):
    kinds = sorted({kind for rule in counts.values() for kind in rule})
    print("\n| rule | mutants | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 2) + "|")
    for rule, of in counts.items():
        row = [str(len(of.get(kind, []))) for kind in kinds]
        print(f"| {rule} | {sum(len(x) for x in of.values())} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    sys.exit(main())
