#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""sets.py CACHE/rec/SET RESULTS [OTHER]: the table of what sets.sh evaluate made, and with OTHER the difference of two trees.

A row is a mode.  eps is (21) of skidprof-model(7), in points (percent), over functions, its mean and median over programs, beside
the raw counts' and the mean of relative errors of functions of at least 1%.  Where no instructions were counted only shares
within regions are corrected: then the true total of every region is given, and of all code that is in none; a function counts once
for each region that runs it.
holds:  share of 90% intervals that hold the truth, of functions of at least 1%; in brackets how many there are.
score:  interval score (Gneiting and Raftery, 2007), width + 20 times what the truth lies outside by, summed over those functions,
        in points of the program's instructions; the mean over programs.
fixed:  share of those functions called so; false: of these, off by over 5% and outside their interval.
worse:  share of programs whose eps is over 1.2 times the raw one (and .1 points more).
Differences are OTHER less RESULTS, program by program, with the 95% interval of their mean.
"""
import collections
import glob
import json
import math
import os
import statistics
import sys

MODES = ["intel", "amd", "arm", "clock", "plain", "counters", "few"]
MIN_SHARE = 0.01
Function = collections.namedtuple("Function", "truth fixed raw lo hi status")
COUNTS = ["inside", "n", "fixed", "false", "large", "seconds"]
Program = collections.namedtuple("Program", "eps raw error inside n score fixed false large seconds")


def key(f):
    """Static functions of one name are told apart by where they stand."""
    return f["module"], f["linkage"] or f["name"], f["file"], f["line"], f["inlined"]


def of_compare(result):
    total = sum(f["truth"] for f in result["functions"])
    return [Function(f["truth"], f["fixed"], f["raw"], f["lo"], f["hi"], f["status"]) for f in result["functions"]], total, \
        result["eps_fixed"], result["eps_raw"]


def of_counts(result, true):
    """Functions of a report that tells instructions, by cycles in its branch records."""
    said = collections.defaultdict(list)
    for f in result["functions"]:
        said[key(f)].append(f)
    out = []
    for k, functions in said.items():
        # Without lines they are not: then only their sum is known.
        alone, f = len(functions) == 1, functions[0]
        lo, hi = (f[end] if alone else None for end in ("lo", "hi"))
        out.append(Function(true.get(k, 0), sum(g["fixed"] or 0 for g in functions), sum(g["raw"] or 0 for g in functions), lo, hi,
                            f["status"] if alone else "raw"))
    return out + [Function(v, 0, 0, None, None, "raw") for k, v in true.items() if k not in said]


def eps(functions, what):
    """(21): each by its own sum."""
    total, own = (max(sum(getattr(f, w) for f in functions), 1) for w in ("truth", what))
    return sum(abs(getattr(f, what) / own - f.truth / total) for f in functions) / 2


def of_shares(result, exact):
    """Functions of a report without instructions.  A share is said of the region where a function spends most of its time, and held
    against what it ran in that region; what it ran elsewhere is divided by time, as the raw counts are: nothing is said of it."""
    if not result["meta"]["instructions_relative"] and any(f["fixed"] for f in result["functions"]):
        true = {}
        for f in exact["functions"]:
            true[key(f)] = true.get(key(f), 0) + (f["fixed"] or 0)
        out = of_counts(result, true)
        return out, sum(true.values()), eps(out, "fixed"), eps(out, "raw")
    ran, time, region_ran, region_time = (collections.Counter() for _ in range(4))
    for i in exact["instructions"]:
        for of, by in (((i["module"], i["function"], i["region"]), (ran, time)), (i["region"], (region_ran, region_time))):
            by[0][of] += i["fixed"] or 0
            by[1][of] += i["cycles"] or 0
    raw = lambda part: ran[part] if not part[2] else region_ran[part[2]] * time[part] / max(region_time[part[2]], 1)
    said = collections.defaultdict(list)
    for f in result["functions"]:
        if f["region"] and f["region_share"] is not None:
            said[f["module"], f["name"], f["region"]].append(f)
    out = []
    for part, functions in said.items():
        # Of functions of one name only the sum is known.
        total, alone, f = region_ran[part[2]], len(functions) == 1, functions[0]
        lo, hi = (f[k] * total if alone and f[k] is not None else None for k in ("region_share_lo", "region_share_hi"))
        out.append(Function(ran[part], sum(g["region_share"] for g in functions) * total, raw(part), lo, hi, f["status"]))
    out += [Function(n, raw(part), raw(part), None, None, "raw") for part, n in ran.items() if part not in said]
    total = sum(ran.values())
    return out, total, *(sum(abs(getattr(f, what) - f.truth) for f in out) / 2 / max(total, 1) for what in ("fixed", "raw"))


def judge(functions, total, eps, raw, seconds):
    large = [f for f in functions if total > 0 and f.truth >= MIN_SHARE * total]
    score = inside = n = false = 0
    for f in large:
        held = f.lo is not None and f.lo <= f.truth <= f.hi
        if f.lo is not None:
            n, inside = n + 1, inside + held
            score += (f.hi - f.lo + 20 * max(0, f.lo - f.truth) + 20 * max(0, f.truth - f.hi)) / total
        false += f.status == "fixed" and abs(f.fixed - f.truth) > 0.05 * f.truth and not held
    error = statistics.mean(abs(f.fixed / f.truth - 1) for f in large) if large else 0
    return Program(100 * eps, 100 * raw, 100 * error, inside, n, 100 * score, sum(f.status == "fixed" for f in large), false, len(large), seconds)


def over_seeds(programs):
    """One program's recordings of different seeds: counts add up, all else is their mean."""
    return Program(*((sum if k in COUNTS else statistics.mean)([getattr(p, k) for p in programs]) for k in Program._fields))


def load(folder):
    """{(program, mode): Program}, and the names of what failed."""
    out, failed = collections.defaultdict(list), []  # program, mode: one of each seed
    for path in sorted(glob.glob(os.path.join(folder, "*.json")) + glob.glob(os.path.join(folder, "*.failed"))):
        program, mode, end = os.path.basename(path).rsplit(".", 2)
        program = program.split("@")[0]
        if end == "failed":
            failed.append((program, mode))
            continue
        try:
            with open(path) as f:
                result = json.load(f)
            with open(path[:-5] + ".time") as f:
                seconds = sum(map(float, f.read().split()[-2:]))
            if mode in ("clock", "plain"):
                with open(path[:-5] + ".exact") as f:
                    told = of_shares(result, json.load(f))
            else:
                told = of_compare(result)
            out[program, mode].append(judge(*told, seconds))
        except (ValueError, KeyError, OSError):
            failed.append((program, mode))
    return {k: over_seeds(v) for k, v in out.items()}, failed


def percent(a, b):
    return "%.1f%%" % (100 * a / b) if b else "-"


def table(programs):
    print("%-9s %4s %15s %8s %15s %15s %9s %7s %7s %6s %6s" % ("", "n", "eps mean median", "raw", "error mean med.", "holds", "score", "fixed", "false", "worse", "CPU s"))
    for mode in MODES:
        rows = [p for (_, m), p in programs.items() if m == mode]
        if not rows:
            continue
        mean = lambda what: statistics.mean(getattr(p, what) for p in rows)
        total = lambda what: sum(getattr(p, what) for p in rows)
        print("%-9s %4d %7.3f %7.3f %8.2f %7.2f %7.2f %7s (%5d) %9.2f %7s %7s %6s %6.1f" % (
            mode, len(rows), mean("eps"), statistics.median(p.eps for p in rows), mean("raw"), mean("error"), statistics.median(p.error for p in rows),
            percent(total("inside"), total("n")), total("n"), mean("score"), percent(total("fixed"), total("large")),
            percent(total("false"), total("fixed")), percent(sum(p.eps > 1.2 * p.raw and p.eps > p.raw + 0.1 for p in rows), len(rows)), total("seconds")))


def spread(values):
    return 1.96 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0


def differences(programs, other):
    print("other less these, points, mean +- half of a 95% interval over programs")
    for mode in MODES:
        both = [(programs[k], other[k]) for k in sorted(programs) if k[1] == mode and k in other]
        if not both:
            continue
        words = []
        for what in ("eps", "error", "score"):
            d = [getattr(b, what) - getattr(a, what) for a, b in both]
            words.append("%s %+.3f +-%.3f" % (what, statistics.mean(d), spread(d)))
        moved = [b.eps - a.eps for a, b in both if b.eps != a.eps]
        holds = [percent(sum(p[i].inside for p in both), sum(p[i].n for p in both)) for i in (0, 1)]
        print("%-9s %s  holds %s -> %s; %d of %d moved, %d better" % (
            mode, "  ".join(words), *holds, len(moved), len(both), sum(d < 0 for d in moved)))


def main():
    recordings, folder = sys.argv[1:3]
    programs, failed = load(folder)
    other, other_failed = load(sys.argv[3]) if len(sys.argv) > 3 else ({}, [])
    if not other:
        table(programs)
    else:
        differences(programs, other)
        failed += [f for f in other_failed if f not in failed]
    # Whose program it is says nothing that the table doesn't: kept for who develops.
    if os.path.basename(os.path.normpath(recordings)) == "dev" and os.environ.get("PROGRAMS"):
        for k in sorted(programs):
            p = programs[k]
            print("%-22s %-9s eps %7.3f%s raw %7.2f holds %d/%d score %7.2f CPU %5.2f" % (
                *k, p.eps, " -> %7.3f" % other[k].eps if k in other else "", p.raw, p.inside, p.n, p.score, p.seconds))
    if failed:
        print("%d could not be corrected: %s" % (len(failed), ", ".join(sorted("%s: %d" % (m, sum(f[1] == m for f in failed)) for m in {f[1] for f in failed}))))
    return 0 if programs and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
