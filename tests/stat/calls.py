#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""calls.py [-v] [-n SEEDS] BUILD [PROGRAM [ARG ...]]: calls and trip counts held against exact ones of the same simulated runs.

Without a program: the five samples.  For each, how many 90% intervals hold the exact value, of functions and loops that are
known in both, and how far the means are off where it matters (of at least 0.1% of the instructions).  One recording of a
program has few of them, which are wrong together where they are: so there are SEEDS of each (default 5).  -v: those that miss.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SAMPLES = ("hmmer", "libsvm", "mcf", "omnetpp", "soplex")
LEAST_SHARE = 0.001


def view(skidprof, data, option, extra=()):
    """The rows of one view."""
    args = [skidprof, "report", "-i", data, "--format", "json", option, *extra]
    out = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(out.stdout)[option.strip("-")]


def pairs(skidprof, data, truth, option, value, key):
    """(share, mean, lo, hi, exact) of what both know."""
    exact = {}
    for row in view(skidprof, data, option, ("--truth", truth)):
        exact.setdefault(tuple(row[k] for k in key), []).append(row[value])
    for row in view(skidprof, data, option):
        known = exact.get(tuple(row[k] for k in key), [])
        # Functions of one name are not told apart.
        if len(known) == 1 and None not in (known[0], row[value], row[value + "_lo"]):
            high = row[value + "_hi"]
            yield row, row[value], row[value + "_lo"], float("inf") if high is None else high, known[0]


def score(name, kind, found, verbose):
    """One line of the table: intervals that hold, and errors."""
    large = [f for f in found if f[0]["share"] >= LEAST_SHARE]
    holds = [lo * (1 - 1e-6) <= exact <= hi * (1 + 1e-6) for _, _, lo, hi, exact in found]
    large_holds = [lo * (1 - 1e-6) <= exact <= hi * (1 + 1e-6) for _, _, lo, hi, exact in large]
    errors = [abs(mean / exact - 1) for _, mean, _, _, exact in large if exact]
    print(f"{name:8} {kind:14} {sum(holds):4}/{len(holds):<4} {sum(large_holds):4}/{len(large):<4} "
          f"{max(errors, default=0):8.2%}")
    for (row, mean, low, high, exact), held in zip(found, holds):
        if verbose and not held:
            what = row.get("function") or row.get("loop")
            print(f"    {row['share']:7.2%} {what[:60]}: {mean:.6g} [{low:.6g}..{high:.6g}], exact {exact:.6g}")
    return sum(holds), len(holds), sum(large_holds), len(large)


KINDS = (("calls", "--calls", "calls", ("module", "function")),
         ("insns per call", "--calls", "insn_per_call", ("module", "function")),
         ("trips", "--trips", "trips", ("module", "vaddr")))


def compare(skidprof, command, seeds, scratch):
    """What each kind finds, of all recordings."""
    found = {kind: [] for kind, *_ in KINDS}
    data, truth = scratch + "/data", scratch + "/truth"
    for seed in range(1, seeds + 1):
        subprocess.run([skidprof, "record", "--pmu", "sim", "-q", "--seed", str(seed), "-o", data, "--truth", truth, *command],
                       check=True, stdout=subprocess.DEVNULL)
        for kind, option, value, key in KINDS:
            found[kind] += pairs(skidprof, data, truth, option, value, key)
    return found


def main():
    """Record, compare, add up."""
    words = argparse.ArgumentParser(description=__doc__.partition(":")[2])
    words.add_argument("-v", dest="verbose", action="store_true")
    words.add_argument("-n", dest="seeds", type=int, default=5)
    words.add_argument("build")
    words.add_argument("program", nargs=argparse.REMAINDER)
    o = words.parse_args()
    build = os.path.abspath(o.build)
    programs = [o.program] if o.program else [[f"{build}/samples/{n}"] for n in SAMPLES]
    total = [0, 0, 0, 0]
    print(f"{'program':8} {'what':14} {'inside':>9} {'>=0.1%':>9} {'worst':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for command in programs:
            for kind, found in compare(build + "/skidprof", command, o.seeds, scratch).items():
                for i, n in enumerate(score(os.path.basename(command[0]), kind, found, o.verbose)):
                    total[i] += n
    print(f"all: {total[0]} of {total[1]} inside ({total[0] / max(total[1], 1):.0%}), {total[2]} of {total[3]} "
          f"({total[2] / max(total[3], 1):.0%}) where the share is at least {LEAST_SHARE:.1%}; {o.seeds} recordings of each")


main()
