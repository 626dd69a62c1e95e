#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench_bursts.py NAME FOLDER: one row of bench_bursts.sh: shares of regions by bursts and by time, against exact ones."""
import collections
import json
import re
import sys

Share = collections.namedtuple("Share", "exact by_time by_bursts lo hi")


def key(f):
    """Overloaded functions, and places they were inlined at, share a name."""
    return f["name"], f["module"], f["linkage"], f["file"], f["line"], f["inlined"]


def shares(bursts, exact, least=0.01):
    """Of two reports in JSON: each function's share of its region, exact and as time and bursts have it; of those of at least so much."""
    counts = {key(f): f["fixed"] for f in exact["functions"] if f["fixed"]}
    regions = {}
    for r in exact["regions"]:
        if r["fixed"] and r["fixed"] > regions.get(r["name"], {"fixed": 0})["fixed"]:
            regions[r["name"]] = r
    for f in bursts["functions"]:
        region = regions.get(f["region"])
        if f["region_share"] is None or not region or key(f) not in counts:
            continue
        share = counts[key(f)] / region["fixed"]
        if share >= least:
            yield Share(share, f["cycles"] / region["cycles"], f["region_share"], f["region_share_lo"], f["region_share_hi"])


def main():
    name, folder = sys.argv[1:]
    with open(folder + "/bursts.json") as b, open(folder + "/truth.json") as t, open(folder + "/err") as e:
        rows, told = list(shares(json.load(b), json.load(t))), e.read()
    n, length = re.search(r"(\d+) bursts of (\d+) branches", told).groups()
    held = re.search(r"held the program for ([\d.]+)%", told).group(1)
    by_time, by_bursts = [abs(s.by_time - s.exact) for s in rows], [abs(s.by_bursts - s.exact) for s in rows]
    mean = lambda v: 100 * sum(v) / len(v) if v else float("nan")
    worst = lambda v: 100 * max(v, default=float("nan"))
    print(f"{name:10} {n:>7} {length:>9} {held:>5}% {mean(by_time):8.2f} {worst(by_time):8.2f} "
          f"{mean(by_bursts):8.2f} {worst(by_bursts):8.2f}")


if __name__ == "__main__":
    main()
