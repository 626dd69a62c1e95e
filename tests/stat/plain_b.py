#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plain_b.py SKIDPROF DIR PROGRAM...: the table of plain_b.sh, from DIR/PROGRAM.CORE.data and .truth."""
import collections
import json
import os
import subprocess
import sys

MOST = 0.01  # of the instructions in the wrong function


def run(*words):
    out = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return json.loads(out) if out else None


def timed(skidprof, base):
    """A comparison has everything."""
    d = run(skidprof, "compare", "-i", base + ".data", "--truth", base + ".truth", "--format", "json")
    if not d:
        return None
    total = sum(f["truth"] for f in d["functions"])
    big = [f for f in d["functions"] if f["truth"] > 0.01 * total]
    holds = [f["lo"] is not None and f["lo"] <= f["truth"] <= f["hi"] for f in big]
    fixed = [(f, h) for f, h in zip(big, holds) if f["status"] == "fixed"]
    false = sum(abs(f["fixed_err"]) > 0.05 and not h for f, h in fixed)
    off = sum(f["fixed"] for f in d["functions"]) / total - 1
    words = f"total {off:+.1%}, holds {sum(holds)} of {len(big)}, fixed {len(fixed)}, false {false}"
    return d["eps_raw"], d["eps_fixed"], words


def untimed(skidprof, base):
    """Shares of a region.  Exact counts are by function: of one that runs in two regions all are taken for the first's."""
    d = run(skidprof, "report", "-i", base + ".data", "--format", "json")
    t = run(skidprof, "report", "-i", base + ".data", "--truth", base + ".truth", "--format", "json")
    if not d or not t:
        return None
    truth = collections.Counter()
    for f in t["functions"]:
        truth[f["name"]] += f["fixed"] or 0
    regions = collections.defaultdict(list)
    for f in d["functions"]:
        if f["region"] and f["region_share"] is not None:
            regions[f["region"]].append(f)
    time = sum(f["cycles"] for fs in regions.values() for f in fs)
    raw = fixed = sure = 0
    for fs in regions.values():
        exact, told, cycles = (sum(x) for x in zip(*((truth[f["name"]], f["region_share"], f["cycles"]) for f in fs)))
        if not exact or not told or not cycles:
            continue
        raw += sum(abs(f["cycles"] / cycles - truth[f["name"]] / exact) for f in fs) / 2 * cycles / time
        off = sum(abs(f["region_share"] / told - truth[f["name"]] / exact) for f in fs) / 2
        fixed += off * cycles / time
        sure += cycles / time if all(f["status"] != "unreliable" for f in fs) else 0
    return raw, fixed, f"{sure:.0%} of its time in regions that are not said to be unreliable"


def main():
    skidprof, folder, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    failed = False
    for core, words, measure in (("skylake-real", "records that tell cycles", timed), ("zen5-real", "records that don't", untimed)):
        rows = []
        print(f"{words}: points in the wrong function, by time and corrected")
        for p in programs:
            base = os.path.join(folder, f"{p}.{core}")
            row = measure(skidprof, base) if os.path.exists(base + ".data") else None
            print(f"  {p:14s} " + (f"{100 * row[0]:6.2f} {100 * row[1]:6.2f}  {row[2]}" if row else "failed"), flush=True)
            rows.append(row[1] if row else 1)
        right = sum(r <= MOST for r in rows)
        print(f"  {right} of {len(rows)} are right to a point, the median {100 * sorted(rows)[len(rows) // 2]:.2f}")
        failed |= core == "skylake-real" and right < 0.9 * len(rows)
    return failed


if __name__ == "__main__":
    sys.exit(main())
