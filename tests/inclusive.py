#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold inclusive counts against callgrind's, function by function.

usage: inclusive.py [option ...] RECORDING CALLGRIND-FILE
       inclusive.py [option ...] RECORDING -- PROGRAM [ARGUMENT ...]

With a program callgrind counts it first: valgrind --tool=callgrind --separate-recs=2.  A file is to be made with that option.

How a recursion counts: a function that is several times on a stack counts once, by its outermost call, on both sides.
skidprof counts so by itself.  callgrind adds up calls, also those that lie within others of the same function; with
--separate-recs=2 inner calls of f are those of another function, f'2, and what the outer ones run and call is f's.
Cycles need no rule then, for nothing is added up along callers.

callgrind's run is another one, of another processor: libraries choose other versions of functions, and hashes are seeded
anew.  --truth FILE, of 'skidprof truth -g' or of the recording's run, adds a second witness; where both are there the last
line counts by each.  Where a program switches stacks, as Go does, neither knows who called, and where code has no symbols
callgrind names places, not functions: they are no witnesses then.
Exit status: 1 where no function is there to be compared.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

SKIDPROF = os.environ.get("SKIDPROF", "skidprof")
# What callgrind calls all that runs before main() and after it: it is one name for several functions.
NOBODY = ("(below main)", "???")


def callgrind_inclusive(path):
    """{function: instructions} of outermost calls, and all instructions."""
    names, total, whole, current, is_call = {}, collections.Counter(), 0, None, False
    with open(path) as lines:
        for line in lines:
            named = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line)
            if named:
                if named[3]:
                    names[named[2]] = named[3]
                if not named[1]:
                    current = names[named[2]]
            elif line.startswith("calls="):
                is_call = True
            elif current is not None and re.match(r"[+*\-\d]", line):
                cost = int(line.split()[-1])
                total[current] += cost
                whole += 0 if is_call else cost
                is_call = False
    return {name: n for name, n in total.items() if not re.search(r"'\d+$", name)}, whole


def plain(name):
    """A name without what tools write in different ways: parameters, a hash, a part's number."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv|llvm)\b.*$", "", name)
    before = None
    while before != name:
        before, name = name, re.sub(r"<[^<>]*>|\([^()]*\)( const)?$", "", name)
    return re.sub(r"^(void|bool|int|double|unsigned|long) ", "", name).replace("$LT$", "<")


def ours(recording, options):
    """Rows of report --children, by name and by plain name."""
    text = subprocess.run([SKIDPROF, "report", "-q", "-i", recording, "--children", "--format", "json", *options],
                          stdout=subprocess.PIPE, check=False).stdout
    rows = collections.defaultdict(list)
    for row in json.loads(text)["children"]:
        for name in {row["full_name"], plain(row["full_name"])}:
            rows[name].append(row)
    return rows


def row_of(rows, name):
    """The one of that name, or else of that plain name; else None, and how many there are."""
    found = rows.get(name, []) if len(rows.get(name, [])) == 1 else rows.get(plain(name), [])
    return (found[0] if len(found) == 1 else None), len(found)


def main():
    args = argparse.ArgumentParser(usage=__doc__.split("\n", 2)[2])
    args.add_argument("--least", type=float, default=5, help="functions of so many per cent of all instructions")
    args.add_argument("--within", type=float, default=2, help="right is within so many per cent of callgrind's")
    args.add_argument("--truth", help="exact counts of another run, with calls")
    args.add_argument("--report", action="append", default=[], help="an option of report")
    args.add_argument("recording")
    args.add_argument("theirs", nargs="+")
    a = args.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = a.theirs[0]
        if len(a.theirs) > 1 or os.access(path, os.X_OK):
            path = os.path.join(scratch, "callgrind.out")
            subprocess.run(["valgrind", "-q", "--tool=callgrind", "--separate-recs=2",
                            "--callgrind-out-file=" + path, *a.theirs], stdout=subprocess.DEVNULL, check=True)
        theirs, whole = callgrind_inclusive(path)
    rows = ours(a.recording, a.report)
    exact = ours(a.recording, a.report + ["--truth", a.truth]) if a.truth else {}
    right = held = all_ = open_ = unmatched = 0
    exact_right = exact_held = exact_all = 0
    print(f"{'CALLGRIND':>14} {'OURS':>14} {'DIFF':>8} {'BOUNDS':>27} {'HOLD':4} " +
          (f"{'EXACT':>14} " if exact else "") + f"{'STATUS':10} FUNCTION")
    for name, n in sorted(theirs.items(), key=lambda x: -x[1]):
        if name in NOBODY or n < a.least / 100 * whole:
            continue
        row, n_found = row_of(rows, name)
        if not row:
            unmatched += 1
            print(f"{n:14,} {'-':>14} {'':8} {'':27} {'':4} " + (f"{'':14} " if exact else "") +
                  f"{'several' if n_found else 'not here':10} {name[:90]}")
            continue
        all_ += 1
        fixed, lo, hi = (row.get(k) for k in ("fixed", "lo", "hi"))
        hold = lo is not None and hi is not None and lo <= n <= hi
        held += hold
        open_ += fixed is None
        off = None if fixed is None else fixed / n - 1
        right += off is not None and abs(off) <= a.within / 100
        truth = (row_of(exact, name)[0] or {}).get("fixed")
        if truth:
            exact_all += 1
            exact_right += fixed is not None and abs(fixed / truth - 1) <= a.within / 100
            exact_held += lo is not None and hi is not None and lo <= truth <= hi
        print(f"{n:14,} {'?' if fixed is None else f'{fixed:,.0f}':>14} {'?' if off is None else f'{off:+.1%}':>8} "
              f"{'' if lo is None or hi is None else f'{lo:,.0f}..{hi:,.0f}':>27} {'yes' if hold else 'no':4} " +
              (f"{'?' if truth is None else f'{truth:,.0f}':>14} " if exact else "") + f"{row.get('status') or '':10} {name[:90]}")
    print(f"# of {all_} functions of {a.least:g}%: {right} within {a.within:g}%, {open_} not known, {held} within bounds; "
          f"{unmatched} not matched by name")
    if exact:
        print(f"# by exact counts, of {exact_all}: {exact_right} within {a.within:g}%, {exact_held} within bounds")
    return 0 if all_ else 1


if __name__ == "__main__":
    sys.exit(main())
