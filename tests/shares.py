# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of functions: as bursts and time have them, beside exact ones."""
import collections

Share = collections.namedtuple("Share", "exact by_time by_bursts lo hi")


def in_regions(report, what):
    """What each function has in each region: one may lie in several, and a share is of one of them."""
    sums = collections.defaultdict(float)
    for i in report["instructions"]:
        if i["region"]:
            sums[i["function"], i["module"], i["region"]] += i[what] or 0
    return sums


def shares(bursts, exact, least=0.01, least_region=0):
    """
    Of two reports in JSON with --insns: each function's share of its region, exact and as time and bursts have it; of
    those of at least so much, in regions of at least so much of the time.  Instructions name their function only: of two of
    one name in a module nothing is told.
    """
    counts, cycles = in_regions(exact, "fixed"), in_regions(bursts, "cycles")
    regions = {r["name"]: r for r in exact["regions"]}
    all_cycles = sum(f["cycles"] or 0 for f in bursts["functions"])
    names = collections.Counter((f["name"], f["module"]) for f in bursts["functions"])
    for f in bursts["functions"]:
        at, region = (f["name"], f["module"], f["region"]), regions.get(f["region"])
        if f["region_share"] is None or names[at[:2]] > 1 or not region or not region["fixed"] or at not in counts:
            continue
        share = counts[at] / region["fixed"]
        if share >= least and region["cycles"] >= least_region * all_cycles:
            yield Share(share, cycles[at] / region["cycles"], f["region_share"], f["region_share_lo"],
                        f["region_share_hi"])
