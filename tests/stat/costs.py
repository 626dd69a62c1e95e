#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""costs.py SKIDPROF DIR [NAME...]: how much do blocks of real programs differ in cost?  What eq. 16 takes for it was found so.

DIR has, for each program, NAME.data of `perf record -e cpu-clock:u -F 12000` on a real machine and NAME.truth of `skidprof truth`
of the same command.  A block's cost is its samples over those expected, had all instructions of the program cost the same.
Blocks count from ten expected samples on: what is expected does not depend on their cost.  Prints the likeliest variance of the
log of cost by length, and how likely the constants of the model are beside half and twice of them.
"""
import glob
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import exact

LEAST_EXPECTED = 10
GRID = [i / 20 for i in range(-160, 161)]  # of the log of cost
LENGTHS = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 9), (10, 15), (16, 10**6)]
VARIANCES = [0.1 * 1.25**i for i in range(22)]


def constant(key):
    with open("correct/model/model.def") as f:
        return float(re.search(rf"CONSTANT\({key}, ([^,]+),", f.read()).group(1))


def samples(skidprof, path):
    """module -> address -> samples."""
    words = ["report", "-q", "-i", path, "--raw", "--insns", "--limit", "0", "--format", "json"]
    d = json.loads(subprocess.run([skidprof, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
    total, out = sum(f["samples"] or 0 for f in d["functions"]), {}
    for i in d["instructions"]:
        out.setdefault(i["module"], {})[int(i["vaddr"], 16)] = i["share"] * total
    return out


def code(path):
    """(address, does it lead elsewhere?, where to) of each instruction, in order."""
    words = ["objdump", "-d", "-w", "--no-show-raw-insn", path]
    for line in subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.splitlines():
        found = re.match(r" *([0-9a-f]+):\t(?:bnd |notrack |rep |repz )*(\S+)(?: +([0-9a-f]+) <)?", line)
        if found:
            address, word, to = found.groups()
            away = re.match(r"j|call|ret|loop|b$|b\.|bl|br|cbn?z|tbn?z", word)
            yield int(address, 16), bool(away), int(to, 16) if away and to and not re.match("call|bl", word) else None


def blocks(path, executed, sampled):
    """[instructions, executions, samples] of each block that ran: up to what leads elsewhere, or is led to, or another count."""
    insns = list(code(path))
    targets, out, ends = {to for _, _, to in insns}, [], True
    for address, away, _ in insns:
        n = executed.get(address, 0)
        if ends or address in targets or n != out[-1][1]:
            out.append([0, n, 0.0])
        out[-1][0] += 1
        out[-1][2] += sampled.get(address, 0)
        ends = away
    return [b for b in out if b[1] > 0]


def known(skidprof, base):
    """(instructions, samples expected, samples) of the blocks that count."""
    sampled, found = samples(skidprof, base + ".data"), []
    counts = {}
    for path, address, n in exact.executions(base + ".truth"):
        of = counts.setdefault(path, {})
        of[address] = of.get(address, 0) + n
    for path, executed in counts.items():
        if os.path.basename(path) in sampled:
            found += blocks(path, executed, sampled[os.path.basename(path)])
    insns, seen = sum(b[0] * b[1] for b in found), sum(b[2] for b in found)
    each = [(b[0], seen * b[0] * b[1] / insns, b[2]) for b in found]
    return [b for b in each if b[1] >= LEAST_EXPECTED]


def log_likelihood(variance, expected, seen):
    """Of samples, Poisson about what is expected times a cost that is log-normal, of mean 1."""
    terms = []
    for x in GRID:
        log_mean = math.log(expected) + x
        terms.append(-((x + variance / 2) ** 2) / (2 * variance) + seen * log_mean - math.exp(log_mean))
    most = max(terms)
    total = sum(math.exp(t - most) for t in terms if t > most - 40)
    return most + math.log(total * (GRID[1] - GRID[0]) / math.sqrt(2 * math.pi * variance)) - math.lgamma(seen + 1)


def main():
    skidprof, where, *names = sys.argv[1:]
    names = names or sorted(os.path.basename(f)[:-5] for f in glob.glob(where + "/*.data"))
    rows = []
    for name in names:
        found = known(skidprof, f"{where}/{name}")
        print(f"{name:12} {len(found):5} blocks of {sum(b[2] for b in found):7.0f} samples")
        rows += found
    if not rows:
        sys.exit(f"costs.py: {where}: no block of a NAME.data with its NAME.truth has {LEAST_EXPECTED} expected samples")
    for least, most in LENGTHS:
        some = [b for b in rows if least <= b[0] <= most]
        if some:
            best = max(VARIANCES, key=lambda v: sum(log_likelihood(v, e, k) for _, e, k in some))
            mean = sum(b[0] for b in some) / len(some)
            model = constant("long_variance") + constant("short_variance") / mean**1.5
            print(f"{least:3} to {min(most, max(b[0] for b in some)):3} instructions: {len(some):5} blocks, s^2 {best:5.2f}, the model's {model:5.2f}")
    for of_long, of_short in ((1, 1), (0.5, 1), (2, 1), (1, 0.5), (1, 2)):
        a, b = of_long * constant("long_variance"), of_short * constant("short_variance")
        total = sum(log_likelihood(a + b / n**1.5, e, k) for n, e, k in rows)
        print(f"long_variance {a:.2g}, short_variance {b:.3g}: log likelihood {total:.1f}")


if __name__ == "__main__":
    main()
