#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""accuracy.py DIR CORE: the table of tests/stat/accuracy.sh from its files GROUP.PROGRAM.SEED.VARIANT.METHOD.json.

Errors are of functions (inlined ones are functions too) of at least 1% of the true instructions, in open programs of
at least 2%.  "mean" is over all of them, "worst" is the worst of all, "eps" is eq. 21, "raw" that of the raw counts, "worse" is
how many recordings have an eps of more than 1.2 times raw's.  "holds" is the share of functions whose 90% interval holds the
truth.  "false" is the share of those called fixed that are off by more than 5% and outside their interval.
"""
import glob
import json
import os
import statistics
import sys
from collections import defaultdict

VARIANTS = {
    "plain": "no branch records",
    "bursts": "with bursts, no branch records",
    "branches": "with branch records",
    "branches-bursts": "with branch records and bursts",
    "timed": "with branch records that tell cycles",
    "four": "four counters, no branch records",
    "four-branches": "four counters, branch records",
    "limited": "cycles, instructions and two more events, no branch records",
    "limited-bursts": "cycles, instructions and two more events, with bursts, no branch records",
    "limited-branches": "cycles, instructions and two more events, branch records",
    "limited-both": "cycles, instructions and two more events, with branch records and bursts",
    "two": "only cycles and instructions",
    "two-short": "only cycles and instructions, a skid of 12 to 27 cycles",
    "skidless": "a core whose interrupts do not skid",
    "plain-pair": "as perf record -e cycles,instructions",
    "plain-b": "as perf record -b: cycles and branch records that tell cycles",
    "plain-turns": "as perf record -F with more events than counters",
    "plain-precise": "as perf record -e cycles,instructions:ppp",
    "plain-hybrid": "as perf record -e cycles,instructions on two kinds of cores",
    "plain-arm": "as perf record -e cycles,instructions on an Arm core",
}
GROUPS = {
    "sample": "Five samples",
    "random": "Random programs",
    "written": "Programs written by others",
    "real": "Open programs",
    "unseen": "Open programs, held out",
}
OPEN = ["real", "unseen"]  # whose programs have a row each
METHODS = ["full", "raw by line", "full by line", "raw by insn", "full by insn"]
MIN_SHARE = defaultdict(lambda: 0.01, real=0.02, unseen=0.02)


class Tally:
    """All recordings of one group, variant and method; functions of at least min_share."""

    def __init__(self, min_share):
        self.min_share = min_share
        self.errors, self.eps, self.eps_raw = [], [], []
        self.inside = self.intervals = 0
        self.fixed = self.false = self.functions = 0
        self.totals = []  # of all instructions: told over true
        self.worst = []  # what the share of one function is off by, the worst of a recording

    def add(self, result, method):
        raw = method.startswith("raw")  # by line and by instruction: a row of its own
        functions = next(result[k] for k in ("functions", "lines", "instructions") if k in result)
        total = sum(f["truth"] for f in functions)
        self.eps.append(result["eps_raw" if raw else "eps_fixed"])
        self.eps_raw.append(result["eps_raw"])
        if total > 0:
            told = sum(f["fixed"] for f in functions)
            self.totals.append(told / total)
            if told > 0:
                self.worst.append(max(abs(f["fixed"] / told - f["truth"] / total) for f in functions))
        for f in functions:
            if total <= 0 or f["truth"] < self.min_share * total:
                continue
            err = f["raw_err" if raw else "fixed_err"]
            self.errors.append(abs(err))
            self.functions += 1
            if raw:
                continue
            inside = False
            if f.get("lo") is not None and f.get("hi") is not None:
                inside = f["lo"] <= f["truth"] <= f["hi"]
                self.intervals += 1
                self.inside += inside
            if f["status"] == "fixed":
                self.fixed += 1
                self.false += abs(err) > 0.05 and not inside

    def row(self):
        return [
            str(len(self.eps)),
            percent(statistics.mean(self.errors) if self.errors else None),
            percent(max(self.errors, default=None)),
            percent(statistics.mean(self.eps)),
            percent(statistics.mean(self.eps_raw)),
            str(sum(e > 1.2 * r for e, r in zip(self.eps, self.eps_raw))),
            share(self.inside, self.intervals),
            share(self.fixed, self.functions),
            share(self.false, self.fixed),
        ]


def percent(value):
    return "-" if value is None else "%.2f%%" % (100 * value)


def share(part, whole):
    return "%.1f%%" % (100 * part / whole) if whole else "-"


def quantile_of(bins, p):
    """The p-quantile of S as it is drawn: a bin is "skid FROM TO WEIGHT", S evenly in [FROM, TO)."""
    left = p * sum(w for _, _, w in bins)
    for low, high, weight in bins:
        if weight >= left:
            return low + (high - low) * left / weight
        left -= weight
    return bins[-1][1]


def density_at(bins, x):
    """How likely S as it is drawn is to be x, a cycle."""
    return next(w / (high - low) for low, high, w in bins if low <= x < high) / sum(w for _, _, w in bins)


class Skid:
    """Median and 90th percentile of S as measured in each recording, against the core file they were drawn from."""

    def __init__(self, core):
        with open(core) as f:
            bins = [tuple(map(float, l.split()[1:4])) for l in f if l.split()[:1] == ["skid"]]
        self.drawn = {"median_cyc": quantile_of(bins, 0.5), "p90_cyc": quantile_of(bins, 0.9)}
        # Of one draw; the quantile of n draws scatters by that over the root of n.
        self.scatter = {k: (p * (1 - p)) ** 0.5 / density_at(bins, self.drawn[k]) for k, p in
                        (("median_cyc", 0.5), ("p90_cyc", 0.9))}
        self.errors = {k: [] for k in self.drawn}
        self.in_scatter = {k: [] for k in self.drawn}

    def add(self, result):
        for k, v in self.drawn.items():
            measured = result["meta"]["skid"].get(k)
            self.errors[k].append(abs(measured / v - 1) if measured else 1.0)
            if measured:
                self.in_scatter[k].append((measured - v) / self.scatter[k] * result["meta"]["skid"]["measured_from"] ** 0.5)

    def print(self):
        print("S as measured against S as drawn, over %d recordings" % len(self.errors["p90_cyc"]))
        for k, name in (("median_cyc", "median"), ("p90_cyc", "90th percentile")):
            e = self.errors[k]
            z = self.in_scatter[k]
            print("  %-16s mean error %.2f%%, worst %.2f%%; %.2f times what so few draws scatter by" %
                  (name, 100 * statistics.mean(e), 100 * max(e), (sum(x * x for x in z) / max(len(z), 1)) ** 0.5))


def rows_of(result, method):
    """A comparison by line or instruction has two rows: nobody runs --method raw for it."""
    if method.startswith("full-by-"):
        by = method[len("full-by-"):]
        return ["raw by " + by, "full by " + by]
    return [method]


def load(folder, skid):
    tallies, broken = {}, []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        group, program, _, variant, method, _ = os.path.basename(path).split(".")
        try:
            with open(path) as f:
                result = json.load(f)
            if not result.get("functions", True):
                raise ValueError("no functions")
            for row in rows_of(result, method):
                for one in ["", program] if group in OPEN else [""]:
                    key = group, variant, row, one
                    tallies.setdefault(key, Tally(MIN_SHARE[group])).add(result, row)
            if method == "full" and variant in ("plain", "branches"):
                skid.add(result)
        except (ValueError, KeyError, TypeError) as e:
            broken.append("%s: %s" % (os.path.basename(path), e))
    for path in sorted(glob.glob(os.path.join(folder, "*.fail"))):
        with open(path) as f:
            broken.append("%s: %s" % (os.path.basename(path)[:-5], f.read().strip()))
    return tallies, broken


def missing(folder):
    """Open programs that could not be fetched or built: real.sh's words."""
    try:
        with open(os.path.join(folder, "missing")) as f:
            return [line.strip().removeprefix("real.sh: ") for line in f if line.startswith("real.sh: ")]
    except FileNotFoundError:
        return []


def print_musts(tallies):
    """What users of perf's files look for, over all programs of each form."""
    def of(variant):
        found = [t for (_, v, row, one), t in tallies.items() if v == variant and row == "full" and not one]
        lists = {k: [x for t in found for x in getattr(t, k)] for k in ("eps", "eps_raw", "totals", "worst")}
        return lists | {"holds": share(sum(t.inside for t in found), sum(t.intervals for t in found))}

    for variant in ("plain", "plain-pair", "plain-arm"):
        counters = of(variant)
        if counters["eps"]:
            print("Counters alone, %s: eps is over 1.2 times raw's in %d of %d" %
                  (VARIANTS[variant], sum(e > 1.2 * r for e, r in zip(counters["eps"], counters["eps_raw"])), len(counters["eps"])))
    b, turns, precise = of("plain-b"), of("plain-turns"), of("plain-precise")
    if b["eps"]:
        print("perf record -b: every function's share is within a point in %d of %d recordings; "
              "%d have at most a point in the wrong functions" %
              (sum(w <= 0.01 for w in b["worst"]), len(b["worst"]), sum(e <= 0.01 for e in b["eps"])))
    if turns["totals"]:
        off = [t - 1 for t in turns["totals"]]
        print("More events than counters: all instructions are within 3%% in %d of %d, %+.1f to %+.1f%%; intervals hold %s" %
              (sum(abs(x) <= 0.03 for x in off), len(off), 100 * min(off), 100 * max(off), turns["holds"]))
    if precise["eps"]:
        print("Precise events: eps is at most %+.2f points beside raw's" %
              (100 * max(e - r for e, r in zip(precise["eps"], precise["eps_raw"]))))


def main():
    skid = Skid(sys.argv[2])
    tallies, broken = load(sys.argv[1], skid)
    head = ["", "recordings", "mean", "worst", "eps", "raw", "worse", "holds", "fixed", "false"]
    widths = [30, 10, 8, 9, 8, 8, 6, 7, 7, 7]

    def line(cells):
        print(" ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths))).rstrip())

    line(head)
    for group, group_name in GROUPS.items():
        for variant, variant_name in VARIANTS.items():
            rows = [(m, tallies[group, variant, m, ""]) for m in METHODS if (group, variant, m, "") in tallies]
            if not rows:
                continue
            print("%s, %s" % (group_name, variant_name))
            for method, tally in rows:
                line(["  " + method] + tally.row())
            for program in sorted(k[3] for k in tallies if k[:3] == (group, variant, "full") and k[3]):
                line(["    full, " + program] + tallies[group, variant, "full", program].row())
    print_musts(tallies)
    if skid.errors["p90_cyc"]:
        skid.print()
    print("\n%d recordings or comparisons failed%s" % (len(broken), ":" if broken else "."))
    for b in broken[:40]:
        print("  " + b[:200])
    if len(broken) > 40:
        print("  ... and %d more" % (len(broken) - 40))
    for m in missing(sys.argv[1]):
        print("Not measured: " + m)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
