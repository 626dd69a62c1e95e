#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""sensitivity.py BUILD CACHE/rec/dev: what half and twice of every constant of the model do on the development set.

SECONDS_EACH=900  a call's time; it goes on where it was, and prints what there is.  Status 3: not all was done.
SHOW=1            measures nothing: the table of what there is, with status 0.
PROGRAMS="A B"    of the set; CONSTANTS="few small": these only.  TURNS=2: recordings of each mode.
Results stay in BUILD/sensitivity.tsv, each for as long as the recording's result without a change is the same, byte by byte.

Constants are changed several at a time first; where nothing moves none of them is tried alone.

A row is a constant.  eps: what the mean eps of all recordings changes by, in points; holds: what the share of 90% intervals
that hold the truth changes by, in points; of: how many recordings' results are not the same, byte by byte.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

import sets

# Random programs, those of other authors, and short phases in turn; as many as there are modes, so that a turn has all of both.
PROGRAMS = "p20010 libdeflate phases2 liblinear p20011 phases4 libgsm"
MODES = ["counters", "amd", "few", "intel", "plain", "arm", "clock"]
TURNS = 2
SIDES = ["half", "twice"]


def rows_of(build):
    """Key, value, half, twice of every constant: within its range, and whole where it is."""
    with open("correct/model/model.def") as f:
        text = f.read()
    out = []
    for kind, key, value, least, most in re.findall(r"^(CONSTANT|COUNT)\((\w+), ([^,]+), ([^,]+), ([^,]+), ", text, re.M):
        value, least, most = (eval(x, {}) for x in (value, least, most))
        ends = [min(max(value * by, least), most) for by in (0.5, 2)]
        if kind == "COUNT":
            ends = [int(x + 0.5) for x in ends]
        out.append((key, value, dict(zip(SIDES, (None if x == value else x for x in ends)))))
    return out


def run(command):
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def plain_bytes(text):
    return re.sub(rb'"model": *(null|"[^"]*"),?', b"", text)


def judged(skidprof, stem, mode, change, base=None):
    """Digest of the result, and its eps, intervals and those that hold; of the result without a change where it is the same."""
    shares = mode in ("plain", "clock")
    what = ["report"] if shares else ["compare", "--truth", stem + ".truth"]
    text = run([skidprof, *what, "-i", stem + ".data", "--format", "json", *change])
    digest = hashlib.md5(plain_bytes(text)).hexdigest()
    if base and digest == base[0]:
        return base
    result = json.loads(text)
    if shares:
        exact = run([skidprof, "report", "-i", stem + ".data", "--truth", stem + ".truth", "--insns", "--format", "json", *change])
        p = sets.judge(*sets.of_shares(result, json.loads(exact)), 0)
    else:
        p = sets.judge(*sets.of_compare(result), 0)
    return digest, p.eps, p.inside, p.n


class Results:
    """{(recording, key, value): (digest of the base, digest, eps, inside, n)}, kept in a file."""

    def __init__(self, path):
        self.path, self.v = path, {}
        if os.path.exists(path):
            with open(path) as f:
                for line in f:
                    recording, key, value, of_base, digest, eps, inside, n = line.rstrip("\n").split("\t")
                    self.v[recording, key, value] = of_base, digest, float(eps), int(inside), int(n)
        self.file = open(path, "a")

    def get(self, recording, key, value, base):
        found = self.v.get((recording, key, "%.9g" % value))
        return found[1:] if found and found[0] == base[0] else None

    def moves(self):
        return {key for (_, key, _), r in self.v.items() if r[0] != r[1]}

    def put(self, recording, key, value, base, result):
        self.v[recording, key, "%.9g" % value] = base[0], *result
        self.file.write("\t".join([recording, key, "%.9g" % value, base[0], result[0], "%.9g" % result[1], str(result[2]), str(result[3])]) + "\n")
        self.file.flush()


def try_group(state, group):
    """[(key, value)] changed together: where nothing moves, none of them does alone; else each half of them is tried.  True: all was done."""
    skidprof, name, stem, mode, base, results, end = state
    if time.monotonic() > end:
        return False
    change = [word for key, value in group for word in ("--model", "%s=%.9g" % (key, value))]
    if len(group) > 1 and judged(skidprof, stem, mode, change, base) != base:
        half = len(group) // 2
        return all([try_group(state, group[:half]), try_group(state, group[half:])])
    for key, value in group:
        results.put(name, key, value, base, base if len(group) > 1 else judged(skidprof, stem, mode, change, base))
    return True


def groups_of(rows, side, wanted, moves):
    """What was seen to move a result, of the same side, is tried alone; all else up to twelve at a time."""
    out, some = [], []
    for key, _, ends in rows:
        if ends[side] is None or not wanted(key, ends[side]):
            continue
        if key in moves:
            out.append([(key, ends[side])])
        else:
            some.append((key, ends[side]))
    return out + [some[k:k + 12] for k in range(0, len(some), 12)]


def measure(skidprof, recordings, rows, results, end):
    """Recordings in the order given, all constants of each: {recording: base}, and whether all was done."""
    bases, done = {}, True
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, stem, mode in recordings:
            if time.monotonic() > end:
                return bases, False
            base = bases[name] = judged(skidprof, stem, mode, [])
            state = skidprof, name, stem, mode, base, results, end
            groups = [g for side in SIDES for g in groups_of(rows, side, lambda k, v: not results.get(name, k, v, base), results.moves())]
            done = all(list(pool.map(lambda g: try_group(state, g), groups))) and done
    return bases, done


def cell(key, value, bases, results):
    """Of the recordings that have it."""
    if value is None:
        return "%8s %6s %6s" % ("-", "-", "-")
    both = [(b, results.get(name, key, value, b)) for name, b in bases.items()]
    both = [(b, r) for b, r in both if r]
    if not both:
        return "%8s %6s %6s" % ("", "", "")
    held = [100 * sum(p[i][2] for p in both) / max(sum(p[i][3] for p in both), 1) for i in (0, 1)]
    moved = sum(b[0] != r[0] for b, r in both)
    if not moved:
        return "%8s %6s %6s" % ("same", "same", "0/%d" % len(both))
    return "%+8.3f %+6.1f %6s" % (statistics.mean(r[1] - b[1] for b, r in both), held[1] - held[0], "%d/%d" % (moved, len(both)))


def table(rows, bases, results):
    print("%d recordings of %s: eps %.3f points, %.1f%% of %d intervals hold" % (
        len(bases), ", ".join(dict.fromkeys(n.split(".")[0] for n in bases)), statistics.mean(b[1] for b in bases.values()),
        100 * sum(b[2] for b in bases.values()) / max(sum(b[3] for b in bases.values()), 1), sum(b[3] for b in bases.values())))
    print("%-18s %9s %28s   %28s" % ("CONSTANT", "VALUE", "HALF: eps  holds of", "TWICE: eps  holds of"))
    for key, value, ends in rows:
        print("%-18s %9.6g %28s   %28s" % (key, value, *(cell(key, ends[s], bases, results) for s in SIDES)))


def main():
    build, recordings_at = sys.argv[1:3]
    end = time.monotonic() + float(os.environ.get("SECONDS_EACH", "900"))
    show = bool(os.environ.get("SHOW"))
    wanted = os.environ.get("CONSTANTS", "").split()
    rows = [r for r in rows_of(build) if not wanted or r[0] in wanted]
    programs = os.environ.get("PROGRAMS", PROGRAMS).split()
    turns = min(int(os.environ.get("TURNS", TURNS)), len(programs))
    # Every mode comes before any comes again, each time with other programs: what was stopped has something of all.
    pairs = [(programs[(i + turn) % len(programs)], m) for turn in range(turns) for i, m in enumerate(MODES)]
    recordings = [("%s.%s" % (p, m), os.path.join(recordings_at, "%s.%s" % (p, m)), m) for p, m in pairs]
    recordings = [r for r in recordings if os.path.exists(r[1] + ".data") and os.path.exists(r[1] + ".truth")]
    if not recordings:
        sys.exit("sensitivity.py: no recordings of these programs in %s: make accuracy-dev makes them" % recordings_at)
    results = Results(os.path.join(build, "sensitivity.tsv"))
    if show:
        recordings = [r for r in recordings if any(name == r[0] for name, _, _ in results.v)]
    bases, done = measure(os.path.join(build, "skidprof"), recordings, [] if show else rows, results, end)
    if bases:
        table(rows, bases, results)
    if not done:
        print("sensitivity.py: stopped after its time; call it again for the rest")
    return 0 if done else 3


if __name__ == "__main__":
    sys.exit(main())
