# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of functions: as bursts and time have them, beside exact ones."""
import collections

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
