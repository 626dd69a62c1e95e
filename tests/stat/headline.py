#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""headline.py NATIVE JSON: the five rows of headline.sh from its files, as a Markdown table.

Errors are relative, of each function (inlined ones are functions too) of at least 1% of what is compared: natively a function's
share of its region's instructions, on the simulated core its instructions.  "holds" is how many 90% intervals hold the exact value.
"""
import glob
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from shares import shares

LEAST = 0.01


def read(path):
    with open(path) as f:
        return json.load(f)


def native(folder):
    """Errors by bursts and by time, and whether the intervals hold."""
    errors, by_time, holds = [], [], []
    for path in sorted(glob.glob(os.path.join(folder, "*.bursts.json"))):
        for s in shares(read(path), read(path.replace(".bursts.", ".truth.")), LEAST):
            errors.append(abs(s.by_bursts / s.exact - 1))
            by_time.append(abs(s.by_time / s.exact - 1))
            if s.lo is not None:
                holds.append(s.lo <= s.exact <= s.hi)
    return errors, by_time, holds


def simulated(folder, variant, column):
    errors, holds = [], []
    for path in sorted(glob.glob(os.path.join(folder, f"*.{variant}.full.json"))):
        functions = read(path)["functions"]
        total = sum(f["truth"] for f in functions)
        for f in functions:
            if not total or f["truth"] < LEAST * total:
                continue
            errors.append(abs(f[column + "_err"]))
            if column == "fixed" and f["lo"] is not None and f["hi"] is not None:
                holds.append(f["lo"] <= f["truth"] <= f["hi"])
    return errors, holds


def percent(x):
    return f"{100 * x:.2f}%" if x < 0.01 else f"{100 * x:.1f}%"


def row(name, errors, holds):
    held = f"{sum(holds)} of {len(holds)}, {100 * sum(holds) / len(holds):.0f}%" if holds else "-"
    return f"| {name} | {percent(statistics.median(errors))} | {percent(statistics.mean(errors))} | {held} |"


def main():
    folder, results = sys.argv[1:]
    errors, by_time, holds = native(folder)
    n = {v: len(glob.glob(os.path.join(results, f"*.{v}.full.json"))) for v in ("branches", "bursts", "plain")}
    if not errors or not all(n.values()) or len(set(n.values())) != 1:
        sys.exit(f"headline.py: recordings are missing: {len(errors)} functions natively, {n}")
    print("| recorded with | median | mean | 90% interval holds |")
    print("|---|---|---|---|")
    print(row(f"the defaults on real hardware without a PMU: shares of a region, by bursts "
              f"(by time alone: {percent(statistics.median(by_time))}, {percent(statistics.mean(by_time))})", errors, holds))
    for name, variant in (("branch records", "branches"), ("bursts", "bursts"), ("counters alone", "plain")):
        print(row(f"{name}, simulated Zen 5", *simulated(results, variant, "fixed")))
    print(row("raw samples, simulated Zen 5", *simulated(results, "plain", "raw")))


main()
