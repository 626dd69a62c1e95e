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
VARIANTS = {"branch records": "branches", "bursts": "bursts", "counters alone": "plain"}


def read(path):
    with open(path) as f:
        return json.load(f)


def native(folder):
    """Errors by bursts and by time, whether the intervals hold, and of which programs."""
    errors, by_time, holds, programs = [], [], [], set()
    for path in sorted(glob.glob(os.path.join(folder, "*.truth.json"))):
        programs.add(os.path.basename(path).split(".")[0])
        for s in shares(read(path.replace(".truth.", ".bursts.")), read(path), LEAST):
            errors.append(abs(s.by_bursts / s.exact - 1))
            by_time.append(abs(s.by_time / s.exact - 1))
            if s.lo is not None:
                holds.append(s.lo <= s.exact <= s.hi)
    return errors, by_time, holds, programs


def complete(folder):
    """Programs that all kinds of recordings are there of: their files' names up to the kind."""
    of = {}
    for path in glob.glob(os.path.join(folder, "sample.*.full.json")) + glob.glob(os.path.join(folder, "written.*.full.json")):
        name, variant = path.removesuffix(".full.json").rsplit(".", 1)
        of.setdefault(name, set()).add(variant)
    return sorted(name for name, found in of.items() if found >= set(VARIANTS.values()))


def simulated(names, variant, column):
    errors, holds = [], []
    for name in names:
        functions = read(f"{name}.{variant}.full.json")["functions"]
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
    errors, by_time, holds, programs = native(folder)
    names = complete(results)
    programs_of = {tuple(os.path.basename(n).split(".")[:2]) for n in names}
    samples = sum(group == "sample" for group, _ in programs_of)
    if not errors or not names:
        sys.exit(f"headline.py: recordings are missing: {len(errors)} functions natively, {len(names)} programs simulated")
    print("| recorded with | median | mean | 90% interval holds |")
    print("|---|---|---|---|")
    print(row("the defaults on real hardware without a PMU (bursts): shares of a region", errors, holds))
    for name, variant in VARIANTS.items():
        print(row(f"{name}, simulated Zen 5", *simulated(names, variant, "fixed")))
    print(row("raw samples, simulated Zen 5", *simulated(names, "plain", "raw")))
    print()
    print(f"Real hardware: {len(programs)} samples ({', '.join(sorted(programs))}); by time alone, without bursts, the median there is "
          f"{percent(statistics.median(by_time))}, the mean {percent(statistics.mean(by_time))}.  "
          f"Simulated: {samples} samples and {len(programs_of) - samples} programs of tests/stat/written/.")


main()
