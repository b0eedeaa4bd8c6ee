# SPDX-License-Identifier: BSD-2-Clause
"""Compares random nets on ferry's devices with the oracle of tests/oracle: python3 tests/random/nets
--help."""

import argparse
import itertools
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[2] / "python")]

# pylint: disable=wrong-import-position
import draw_solver
import generate
import model
import solvers
from runner import Runner
from shrink import shrink


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="nets", description=__doc__)
    parser.add_argument("--build", default=".", help="the build folder (.)")
    parser.add_argument("--devices", default="cpu,sim,opencl,cuda", help="backends; cuda runs on the doubles")
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--nets", type=int, help="how many nets at most")
    parser.add_argument("--solvers", type=int, help="how many solvers at most; with --nets: after those")
    parser.add_argument("--net", type=int, help="the net of this seed alone, on every device")
    parser.add_argument("--solver", type=int, help="the solver of this seed alone, on every device")
    parser.add_argument("--case", type=pathlib.Path, help="this case alone, on every device")
    parser.add_argument("--seed", type=int, help="the first seed instead of a new one")
    parser.add_argument("--without-cases", action="store_true", help="random nets alone, no stored cases")
    parser.add_argument("--types", help="random nets with layers of these types alone, separated by commas")
    parser.add_argument("--every", action="store_true", help="every net on every device, not its share")
    parser.add_argument("--keep-going", action="store_true", help="go on after a finding")
    parser.add_argument("--print", action="store_true", help="with --net: print the net")
    return parser.parse_args()


def stream(first, fixed, end, most, types):
    """Seeds: for half of the time fixed ones from 1 on, then others from `first` on. Nets without a layer of
    each of `types` are left out."""
    begin = time.monotonic()
    half = begin + (end - begin) / 2 if fixed else begin
    seeds = itertools.count(1 if fixed else first)
    for n in itertools.count():
        if time.monotonic() > end or n == most:
            return
        if fixed and time.monotonic() > half:
            fixed, seeds = False, itertools.count(first)
        net = generate.generate(next(seeds))
        while not types <= set(generate.kinds_of(net)):
            net = generate.generate(next(seeds))
        yield net


class Report:
    """Prints findings: each kind once, reduced, with the command that repeats it."""

    def __init__(self, runner, build):
        self.runner, self.build, self.seen, self.count = runner, build, {}, 0
        self.begin = time.monotonic()

    def add(self, net, findings):
        """Prints the new kinds among the findings of a net."""
        self.count += 1
        finding, after = findings[0], time.monotonic() - self.begin
        small = net
        if isinstance(net, model.Net):
            small = shrink(net.copy(), self.runner.fails_like(finding), 20)
        kinds = tuple(sorted({layer.kind for layer in getattr(small, "layers", []) if layer.kind != "Input"}))
        key = (finding.way, finding.kind) + (kinds or (net.seed,))
        if key in self.seen:
            self.seen[key] += 1
            return
        self.seen[key] = 1
        again = next(iter(self.runner.run(small, [finding.device])), finding)
        print(f"\nFOUND after {after:.1f} s (net {net.seed}): {finding}\n  of the smaller net: {again}")
        print(small.case("finding") if small is not net or isinstance(net, model.Net) else "")
        print(f"repeat: python3 {HERE} --build {self.build} --devices {finding.device} --net {net.seed}", flush=True)


    def add_solver(self, seed, finding, text):
        """Prints the differences of a solver's run, each kind once."""
        self.count += 1
        key = (finding.way, finding.kind.split()[0], text.split('"')[1])
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] == 1:
            print(f"\nFOUND (solver {seed}): {finding}\n{text}\nrepeat: python3 {HERE} --build {self.build} "
                  f"--devices {finding.device} --solver {seed}", flush=True)


def cases(paths):
    """Runs stored cases, by path."""
    for path in paths:
        case = model.Case(path.read_text())
        case.path = path
        yield case


def train(runner, report, fixed, first, end, keep_going, most):
    """Runs solvers until the time ends, alternately with a fixed seed from 1 on and with a new one."""
    for n in itertools.count() if most is None else range(most):
        seed = 1 + n // 2 if fixed and n % 2 else first + n // 2
        if time.monotonic() > end or (report.count and not keep_going):
            return
        for finding in solvers.run(seed, runner):
            report.add_solver(seed, finding, draw_solver.draw(seed).text())


def finish(runner, report, begin, first):
    """Prints the last lines; returns the exit status."""
    counts = runner.judge.counts
    nets = ", ".join(f"{name} {n}" for name, n in sorted(runner.nets.items()))
    runs = ", ".join(f"{name} {n}" for name, n in sorted(runner.solvers.items()))
    print(f"nets run: {nets}; solvers run: {runs}; seconds {time.monotonic() - begin:.1f}; seeds from 1 and from {first}")
    print("compared: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    for name, why in runner.absent.items():
        print(f"not run: {name}: {why.splitlines()[-1]}")
    print(f"nets and solvers with findings: {report.count}; kinds of findings: {len(report.seen)}")
    for key, n in sorted(report.seen.items(), key=lambda item: -item[1]):
        print(f"  {n} × {' '.join(map(str, key))}")
    # The CPU needs no driver: its process must start.
    return 1 if report.count or not runner.nets + runner.solvers or "cpu" in runner.absent else 0


def main():
    """Runs the stored cases, then random nets."""
    options = arguments()
    begin = time.monotonic()
    single = any(given is not None for given in (options.net, options.case, options.solver))
    end = begin + options.seconds
    runner = Runner(options.devices.split(","), options.build, every=not (options.every or single))
    report = Report(runner, options.build)
    first = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    if options.solver is not None:
        nets, first, end = [], options.solver, time.monotonic() + 0.001
    elif options.case:
        nets = cases([options.case])
    elif options.net is not None:
        nets = [generate.generate(options.net)]
    else:
        kept = [] if options.without_cases else cases(sorted((HERE / "cases").glob("*.prototxt")))
        types = set(options.types.split(",") if options.types else [])
        nets = itertools.chain(kept, stream(first, options.seed is None, end - options.seconds / 6, options.nets, types))
    if options.print:
        nets = list(nets)
        print(nets[0].case("printed") if options.net is not None else nets[0].text())
    print(f"new seed: {first}", flush=True)
    for net, findings in runner.stream(nets):
        if findings:
            report.add(net, findings)
            if not options.keep_going:
                break
    if options.solver is not None or not single and (options.nets is None or options.solvers is not None):
        train(runner, report, options.seed is None and not single, first, end, options.keep_going, options.solvers)
    runner.stop()
    return finish(runner, report, begin, first)


if __name__ == "__main__":
    sys.exit(main())
