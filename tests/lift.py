#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""lift.py FILE.json...: a row for each kernel, and each tool's errors over all files' kernels together."""
import json
import os
import statistics
import sys


def percent(x):
    return "-" if x is None else "%+.0f%%" % (100 * x)


def main():
    levels = [(os.path.basename(f).split(".")[0], json.load(open(f, encoding="utf-8"))) for f in sys.argv[1:]]
    tools = [t["tool"] for t in levels[0][1]["tools"]]
    errors = {t: [] for t in tools}
    n = n_timed = 0

    print("%-3s %-18s %12s" % ("", "kernel", "cycles") + "".join(" %14s" % t for t in tools))
    for name, doc in levels:
        for k in sorted(doc["kernels"], key=lambda k: k["kernel"]):
            n += 1
            if k["measured"] is None:
                continue
            far = (k["miss_share"] or 0) > 0.15
            n_timed += not far
            row = [k[t + "_error"] for t in tools]
            print("%-3s %-18s %12.0f" % (name, k["kernel"].replace("kernel_", ""), k["measured"] / k["calls"])
                  + "".join(" %14s" % percent(e) for e in row) + (" misses the cache: left out" if far else ""))
            for t, e in zip(tools, row):
                if e is not None and not far:
                    errors[t].append(abs(e))
    print("\n%d kernels, %d timed and in the first-level cache.  Errors without their signs:" % (n, n_timed))
    print("%-14s %8s %8s %8s %8s %8s %8s" % ("", "kernels", "mean", "25%", "median", "75%", "worst"))
    for t in tools:
        e = errors[t]
        if len(e) > 1:
            q = statistics.quantiles(e, n=4)
            print("%-14s %8d" % (t, len(e)) + "".join(" %7.1f%%" % (100 * x)
                                                      for x in (statistics.mean(e), q[0], q[1], q[2], max(e))))
    return 0 if n_timed else 1


sys.exit(main())
