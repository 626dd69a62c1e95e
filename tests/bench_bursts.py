#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench_bursts.py NAME FOLDER: one row of bench_bursts.sh: shares of regions by bursts and by time, against exact ones."""
import json
import re
import sys

name, folder = sys.argv[1:]
bursts = json.load(open(folder + "/bursts.json"))
exact = json.load(open(folder + "/truth.json"))
told = open(folder + "/err").read()
n, length = re.search(r"(\d+) bursts of (\d+) branches", told).groups()
held = re.search(r"held the program for ([\d.]+)%", told).group(1)

# Overloaded functions, and places they were inlined at, share a name.
key = lambda f: (f["name"], f["module"], f["linkage"], f["file"], f["line"], f["inlined"])
counts = {key(f): f["fixed"] for f in exact["functions"] if f["fixed"]}
regions = {}
for r in exact["regions"]:
    if r["fixed"] and r["fixed"] > regions.get(r["name"], {"fixed": 0})["fixed"]:
        regions[r["name"]] = r
by_time, by_bursts = [], []
for f in bursts["functions"]:
    region = regions.get(f["region"])
    if f["region_share"] is None or not region or key(f) not in counts:
        continue
    share = counts[key(f)] / region["fixed"]
    if share < 0.01:
        continue
    by_bursts.append(abs(f["region_share"] - share))
    by_time.append(abs(f["cycles"] / region["cycles"] - share))
mean = lambda v: 100 * sum(v) / len(v) if v else float("nan")
worst = lambda v: 100 * max(v, default=float("nan"))
print(f"{name:10} {n:>7} {length:>9} {held:>5}% {mean(by_time):8.2f} {worst(by_time):8.2f} "
      f"{mean(by_bursts):8.2f} {worst(by_bursts):8.2f}")
