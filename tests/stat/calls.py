#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""calls.py BUILD [PROGRAM [ARG ...]]: calls and trip counts held against exact ones of the same simulated run.

Without a program: the five samples.  For each, how many intervals hold the exact value, of functions and loops that are
known in both, and how far the means are off where it matters (of at least 0.1% of the instructions).
"""
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
    found = list(found)
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


def main():
    """Record, compare, add up."""
    args = [a for a in sys.argv[1:] if a != "-v"]
    build, program = os.path.abspath(args[0]), args[1:]
    skidprof = build + "/skidprof"
    programs = [program] if program else [[f"{build}/samples/{n}"] for n in SAMPLES]
    total = [0, 0, 0, 0]
    print(f"{'program':8} {'what':14} {'inside':>9} {'>=0.1%':>9} {'worst':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for command in programs:
            data, truth = scratch + "/data", scratch + "/truth"
            subprocess.run([skidprof, "record", "--pmu", "sim", "-q", "-o", data, "--truth", truth, *command],
                           check=True, stdout=subprocess.DEVNULL)
            for kind, option, value, key in (
                    ("calls", "--calls", "calls", ("module", "function")),
                    ("insn per call", "--calls", "insn_per_call", ("module", "function")),
                    ("trips", "--trips", "trips", ("module", "vaddr"))):
                found = pairs(skidprof, data, truth, option, value, key)
                for i, n in enumerate(score(os.path.basename(command[0]), kind, found, "-v" in sys.argv)):
                    total[i] += n
    print(f"all: {total[0]} of {total[1]} inside, {total[2]} of {total[3]} where the share is at least "
          f"{LEAST_SHARE:.1%}")


main()
