#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The inner loops of the cpu plugin for NEON, by llvm-mca's model of a processor.

The compiler makes the assembly of the sources in SOURCES; llvm-mca (19, or any with a model of the processor)
computes the cycles of each innermost loop with multiply-adds. The limit is that of the pipelines for the
loop without its moves between registers, its addresses and its branch: what remains multiplies, loads, clamps and
stores. The status is 1 if a loop has less than 0.9 of its limit.
"""

import argparse
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# source, the instruction of a multiply-add, the processor, functions
SOURCES = [
    ("loops_neon.c", "fmla", "neoverse-n1",
     ["micro_2_12_neon", "micro_2_6_neon", "micro_1_12_neon", "slide_1_neon", "slide_1_leaky_neon",
      "slide_2_neon", "slide_2_leaky_neon", "depthwise_last_neon"]),
    ("integer_dotprod.c", "sdot", "neoverse-n1",
     ["integer_tile_12_dotprod", "integer_tile_8_dotprod", "integer_tile_4_dotprod"]),
    ("integer_i8mm.c", "smmla", "neoverse-v1",
     ["integer_tile_11_i8mm", "integer_tile_7_i8mm", "integer_tile_3_i8mm", "integer_tile_1_i8mm"]),
    ("integer_i8mm.c", "smmla", "neoverse-n2",
     ["integer_tile_11_i8mm", "integer_tile_7_i8mm", "integer_tile_3_i8mm", "integer_tile_1_i8mm"]),
]
ENOUGH = 0.9
LEAST = 7  # multiply-adds of a loop that is counted
ITERATIONS = 200
BRANCH = re.compile(r"\s+(?:b\.\w+|b\w\w|b|cbn?z\s+\w+,|tbn?z\s+[^,]+,[^,]+,)\s+(\.L\w+)\s*$")
OVERHEAD = re.compile(r"\s+(?:mov\s+v\d|(?:add|sub|subs|cmp|mov)\s+[xw]\d|b)")


def assembly(compiler, flags, source):
    command = [*compiler.split(), "-std=c11", "-O2", "-fPIC", "-S", "-o", "-", f"-I{TOP}", f"-I{TOP}/include",
               *flags.split(), str(TOP / "backends/cpu/op" / source)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return text.replace("0xffffffffffffff80", "0x80")  # gcc's form of a byte, which llvm-mca does not read


def instructions(text, function):
    """The lines of a function, without directives and comments."""
    body = re.search(rf"^{function}:\n(.*?)^\s*\.size", text, re.S | re.M)
    if not body:
        sys.exit(f"mca.py: the assembly has no function {function}")
    return [line for line in body.group(1).splitlines()
            if line.strip() and not re.match(r"\s*(//|#|\.(?!L))", line)]


def innermost(lines):
    """The innermost loops: lines from a label to the branch back to it, unless the function returns between them."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    loops = []
    for i, line in enumerate(lines):
        branch = BRANCH.match(line)
        begin = labels.get(branch.group(1), i + 1) if branch else i + 1
        if begin <= i and not any(re.match(r"\s+ret\b", code) for code in lines[begin:i]):
            loops.append((begin, i))
    for begin, end in loops:
        if not any(begin <= a and b <= end and (a, b) != (begin, end) for a, b in loops):
            yield lines[begin:end + 1]


def model(tool, cpu, lines):
    """The cycles of an iteration, and the reciprocal throughput of the busiest pipeline."""
    command = [tool, "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", "-mattr=+dotprod,+i8mm", f"-iterations={ITERATIONS}"]
    report = subprocess.run(command, input="\n".join(lines), check=True, capture_output=True, text=True).stdout
    cycles = re.search(r"^Total Cycles: +(\d+)", report, re.M)
    limit = re.search(r"^Block RThroughput: +([\d.]+)", report, re.M)
    return int(cycles.group(1)) / ITERATIONS, float(limit.group(1))


def measure(options, source, instruction, cpu, functions):
    """Prints the loops of functions; returns the functions that have a loop which is too slow."""
    text = assembly(options.cc, options.cflags, source)
    short = []
    for function in functions:
        ratios = []
        for loop in innermost(instructions(text, function)):
            adds = sum(bool(re.match(rf"\s+{instruction}\s", line)) for line in loop)
            if adds < LEAST:
                continue
            cycles, _ = model(options.llvm_mca, cpu, loop)
            _, limit = model(options.llvm_mca, cpu, [line for line in loop if not OVERHEAD.match(line)])
            code = sum(not line.endswith(":") for line in loop)
            ratios.append(limit / cycles)
            print(f"{function:25} {cpu:12} {adds:13} {code / adds:22.2f} {cycles:7.1f} {limit:6.1f} "
                  f"{limit / cycles:6.3f}")
        if not ratios:
            sys.exit(f"mca.py: {function} has no loop of {LEAST} multiply-adds")
        if min(ratios) < ENOUGH:
            short.append(f"{function}, {cpu}")
    return short


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="aarch64-linux-gnu-gcc", help="the compiler [%(default)s]")
    parser.add_argument("--cflags", default="", help="more flags of it")
    parser.add_argument("--llvm-mca", default="llvm-mca-19", help="the tool [%(default)s]")
    parser.add_argument("--cpu", help="the processor, instead of that of each source")
    options = parser.parse_args()
    short = []
    print(f"{'loop':25} {'processor':12} multiply-adds  instructions for each  cycles  limit  ratio")
    for source, instruction, cpu, functions in SOURCES:
        short += measure(options, source, instruction, options.cpu or cpu, functions)
    for function in short:
        print(f"mca.py: {function}: a loop has less than {ENOUGH} of its limit", file=sys.stderr)
    return bool(short)


if __name__ == "__main__":
    sys.exit(main())
