#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Does the table of cliffs come out the same again?

    again.py BUILD N [OPTION...]    run `skidprof calibrate` N times, with the options
    again.py FILE.json...           compare what it wrote at other times

Row by row: in how many runs it was clean, the least and the largest number of those runs, and what lies between them.
A row that is clean in two runs and moves by 3% or more is a clean row that does not repeat: exit status 1.
"""
import json
import os
import statistics
import subprocess
import sys

MUST, GOAL = 3.0, 1.0


def runs_of(args):
    if os.path.isfile(args[0]):
        for path in args:
            with open(path, encoding="utf-8") as f:
                yield path, json.load(f)
        return
    for i in range(int(args[1])):
        out = subprocess.run([os.path.join(args[0], "skidprof"), "calibrate", "-q", "--format", "json", *args[2:]],
                             check=True, stdout=subprocess.PIPE).stdout
        yield f"run {i + 1}", json.loads(out)


def say_run(name, doc):
    company = doc["core_shared"]
    clean = sum(row["verdict"] == "clean" for row in doc["cliffs"])
    share = f"{100 * company['share']:.1f}% of the time" if company["told"] else "not told"
    mean = doc.get("mean_err_after")
    fit = f", mean error of the fit {100 * mean:.2f}%" if mean is not None else ""
    print(f"{name}: {clean} of {len(doc['cliffs'])} clean{fit}; {doc['seconds']:.0f} + {doc.get('fit_seconds', 0):.0f} s; "
          f"core shared {share}, {company['taken_again']} runs taken again, {company['waited_s']:.1f} s waited; "
          f"{doc['core_ghz']:.2f} GHz", flush=True)


def move_of(values):
    least, most = min(values), max(values)
    if least == most:
        return 0.0
    return 100 * (most / least - 1) if least > 0 else float("inf")


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    docs = []
    for name, doc in runs_of(sys.argv[1:]):
        say_run(name, doc)
        docs.append(doc)
    names = [row["name"] for row in docs[0]["cliffs"]]
    runs = [{row["name"]: row for row in doc["cliffs"]} for doc in docs]
    print(f"\n{'CLIFF':<20} {'CLEAN':>7} {'LEAST':>10} {'MOST':>10} {'MOVE':>8}  VERDICTS OF THE OTHERS")
    moves = []
    for name in names:
        rows = [run[name] for run in runs if name in run]
        values = [row["real"] for row in rows if row["verdict"] == "clean"]
        others = " ".join(sorted({row["verdict"] for row in rows} - {"clean"}))
        if len(values) < 2:
            print(f"{name:<20} {len(values):>3}/{len(rows):<3} {'':>10} {'':>10} {'':>8}  {others}")
            continue
        move = move_of(values)
        moves.append((move, name, len(values) == len(rows)))
        word = "  MOVES" if move >= MUST else ""
        print(f"{name:<20} {len(values):>3}/{len(rows):<3} {min(values):>10.5g} {max(values):>10.5g} {move:>7.2f}%  {others}{word}")
    if not moves:
        sys.exit("no row was clean twice")
    bad = [name for move, name, _ in moves if move >= MUST]
    print(f"\n{len(moves)} rows clean in two runs or more, {sum(always for _, _, always in moves)} in all {len(docs)}; "
          f"largest move {max(moves)[0]:.2f}% ({max(moves)[1]}), median {statistics.median(m for m, _, _ in moves):.2f}%, "
          f"{sum(m >= GOAL for m, _, _ in moves)} by {GOAL:.0f}% or more, {len(bad)} by {MUST:.0f}% or more")
    sys.exit(1 if bad else 0)


main()
