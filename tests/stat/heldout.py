#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""heldout.py BUILD CORE.core [--each]: kernels that were not used in the fit, their cycles on this processor and on the fitted core.

Two sets: of the fresh one, which nobody looked at while the model was made, only mean, median and worst are shown unless --each
asks for its kernels (after that it is no longer fresh); of the other one each kernel.

The processor's cycles are the least of several processes.  Processes in which a neighbour had a part of the core all the time, so that
independent additions ran 3% slower than in the best one, don't count; others are started until STEADY of them lie within 2% of
the least, for some SECONDS.  A kernel that has fewer by then is noisy: named and left out.

Both have called the kernel as often before it is timed, so that predictors know what can be known: the processor for some ten million
cycles, the model for WARM_CYC, and WARM times at least; its cycles are those of as many calls more.  Totals of a recording end with its
last sample: so they are right within a period.

Straight-line loops are given to llvm-mca as well, for the nearest processor that its version knows: Zen 3 here.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

WARM, WARM_CYC = 160, 5e6
RUNS, STEADY, SAME, ALONE, SECONDS = 9, 6, 1.02, 0.97, 60


def run(*cmd):
    done = subprocess.run(cmd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"heldout: {' '.join(cmd)}: {done.stderr.strip()}")
    return done.stdout


def model_cycles(skidprof, core, program, kernel, real, scratch):
    total = []
    warm = max(WARM, round(WARM_CYC / real))
    for calls in (warm, 2 * warm):
        data = os.path.join(scratch, "k.data")
        run(skidprof, "record", "-q", "--pmu", "sim", "--core", core, "--no-branches", "-o", data, "--",
            program, "-n", str(calls), kernel)
        doc = json.loads(run(skidprof, "report", "-i", data, "--raw", "--format", "json"))
        total.append(next(e["total"] for e in doc["meta"]["events"] if e["name"] == "cycles"))
    return (total[1] - total[0]) / warm


def loop_body(program, kernel):
    """The assembly of the one loop: from the target of the last branch backwards, to that branch."""
    text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble=kernel_{kernel}", program)
    lines = re.findall(r"^\s*([0-9a-f]+):\t(.*?)\s*(?:#.*)?$", text, re.M)
    for at, insn in reversed(lines):
        jump = re.match(r"j[a-z]+\s+([0-9a-f]+) <", insn)
        if jump and int(jump[1], 16) < int(at, 16):
            body = [i for a, i in lines if int(jump[1], 16) <= int(a, 16) < int(at, 16)]
            return "\n".join(["top:"] + body + [insn.split()[0] + " top"])
    return None


def turns_of_body(body, elements, size):
    """The index is raised by the bytes of one turn."""
    step = re.search(r"^add +\$(0x[0-9a-f]+),%r", body, re.M)
    return elements * size / int(step[1], 16) if step else None


def mca_cycles(program, kernel, elements, size):
    body = loop_body(program, kernel)
    turns = turns_of_body(body, elements, size) if body else None
    if not turns:
        return None
    text = subprocess.run(["llvm-mca", "-mcpu=znver3", "-iterations=500"], input=body, capture_output=True, text=True)
    found = re.search(r"Total Cycles:\s+(\d+)", text.stdout)
    return int(found[1]) / 500 * turns if found else None


class Real:
    """A kernel's cycles on this processor, by process, with the additions that it did a cycle meanwhile."""

    def __init__(self, program, kernel):
        self.command = (program, "-t", kernel)
        self.runs = []

    def again(self):
        cycles, adds = run(*self.command).split()
        self.runs.append((float(cycles), float(adds)))

    def alone(self, most_adds):
        return sorted(cycles for cycles, adds in self.runs if adds >= ALONE * most_adds)

    def is_steady(self, most_adds):
        times = self.alone(most_adds)
        return len(self.runs) >= RUNS and len(times) >= STEADY and times[STEADY - 1] <= times[0] * SAME


def time_all(program, kernels):
    """In turns, as what neighbours do lasts for seconds."""
    reals = [Real(program, k) for k in kernels]
    start, most = time.monotonic(), 0
    while open_ := [r for r in reals if not r.is_steady(most)]:
        if time.monotonic() > start + SECONDS:
            break
        for r in open_:
            r.again()
            most = max(most, r.runs[-1][1])
    return reals, most


class Row:
    def __init__(self, line, build, core, real, most_adds, scratch):
        program = f"{build}/heldout"
        self.set, self.kernel, straight, elements, size = line.split()
        times = real.alone(most_adds) or [cycles for cycles, _ in real.runs]
        self.real, self.upto, self.steady = times[0], times[:STEADY][-1], real.is_steady(most_adds)
        self.model = model_cycles(f"{build}/skidprof", core, program, self.kernel, self.real, scratch) if self.steady else None
        self.mca = mca_cycles(program, self.kernel, int(elements), int(size)) if straight == "*" else None

    def error(self, cycles):
        return 100 * (cycles / self.real - 1)

    def text(self):
        start = f"{self.kernel:11} {self.real:10.1f} .. {self.upto:<10.1f}"
        if not self.steady:
            return f"{start} noisy: left out"
        start += f" {self.model:11.1f} {self.error(self.model):+7.1f}%"
        if not self.mca:
            return f"{start} {'-':>11} {'-':>8}"
        better = "llvm-mca" if abs(self.error(self.mca)) < abs(self.error(self.model)) else "model"
        return f"{start} {self.mca:11.1f} {self.error(self.mca):+7.1f}%  {better}"


def summary(name, rows):
    noisy = [r.kernel for r in rows if not r.steady]
    rows = [r for r in rows if r.steady]
    if not rows:
        return f"{name}: no kernel is steady here"
    errors = sorted(abs(r.error(r.model)) for r in rows)
    text = (f"{name}: mean absolute error of the model {sum(errors) / len(errors):.1f}% over {len(errors)} kernels, "
            f"median {statistics.median(errors):.1f}%, worst {errors[-1]:.1f}%")
    known = [r for r in rows if r.mca]
    if known:
        mean = lambda cycles: sum(abs(r.error(cycles(r))) for r in known) / len(known)
        text += (f"; over the {len(known)} straight-line ones {mean(lambda r: r.model):.1f}%, llvm-mca {mean(lambda r: r.mca):.1f}% "
                 f"(better on {sum(abs(r.error(r.mca)) < abs(r.error(r.model)) for r in known)} of them)")
    return text + (f"; noisy, left out: {', '.join(noisy)}" if noisy else "")


def main():
    if len(sys.argv) < 3 or sys.argv[3:] not in ([], ["--each"]):
        sys.exit("usage: heldout.py BUILD CORE.core [--each]")
    build, core = sys.argv[1:3]
    rows = []
    print(f"{'kernel':11} {'real':>10} .. {'':10} {'model':>11} {'error':>8} {'llvm-mca':>11} {'error':>8}  better")
    lines = run(f"{build}/heldout", "-l").splitlines()
    reals, most_adds = time_all(f"{build}/heldout", [line.split()[1] for line in lines])
    with tempfile.TemporaryDirectory() as scratch:
        for line, real in zip(lines, reals):
            rows.append(Row(line, build, core, real, most_adds, scratch))
            if rows[-1].set == "seen" or sys.argv[3:]:
                print(rows[-1].text(), flush=True)
    print(f"{sum(len(r.runs) for r in reals)} processes timed, {sum(len(r.alone(most_adds)) for r in reals)} of them with the core to "
          f"themselves: {most_adds:.2f} additions a cycle")
    for name in ("seen", "fresh"):
        print(summary(name, [r for r in rows if r.set == name]))


main()
