#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold our exact counts against callgrind's, instruction by instruction.

callgrind_compare.py EXCEPT OURS CALLGRIND... -- OBJECT...

All callgrind files (one a process) are added up.  Compared are the instructions of the named objects that our file gives
a source line: code that the test compiled.  Left out, because the two differ by definition:
  - rep string instructions: a processor retires one, callgrind counts one an iteration;
  - start-up code without lines, which asks the processor what it can (cpuid differs) and reads the environment.
  - functions whose name the regular expression EXCEPT finds, if any: the test says why.
Prints one line and exits with 1 where the sum of all differences is above 0.1% of what was compared, or any function
differs by more than 0.1% of the total.
"""
import re
import subprocess
import sys

LIMIT = 0.001


def read(path, costs, names):
    """Add {(object, address): count} of a callgrind file; names gets {(object, address): (function, file, line)}."""
    tables = {}
    at = {"ob": "", "fn": "", "fl": ""}
    base = "fl"
    address = line = 0
    skip = False
    instr = False

    def name(kind, text):
        m = re.match(r"\((\d+)\)(?: (.*))?$", text)
        if not m:
            return text
        table = tables.setdefault(kind, {})
        if m.group(2) is not None:
            table[m.group(1)] = m.group(2)
        return table.get(m.group(1), "?")

    def position(word, before):
        if word == "*":
            return before
        if word[0] in "+-":
            return before + int(word, 0)
        return int(word, 0)

    with open(path, encoding="utf-8", errors="replace") as f:
        for text in f:
            text = text.rstrip("\n")
            if text.startswith("positions:"):
                instr = "instr" in text
            m = re.match(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=(.*)", text)
            if m:
                key, value = m.groups()
                kind = {"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}.get(key, "fl")
                value = name(kind, value)
                if key == "fl":
                    base = value
                if key in ("ob", "fn", "fl", "fi", "fe"):
                    at[kind] = value
                continue
            if text.startswith("calls="):
                skip = True
                continue
            if not re.match(r"[0-9+*-]", text):
                continue
            words = text.split()
            if len(words) < 2:
                continue
            address = position(words[0], address)
            line = position(words[1], line) if instr else line
            cost = words[2:] if instr else words[1:]
            if skip:
                skip = False
                continue
            if text and cost:
                key = (at["ob"], address)
                costs[key] = costs.get(key, 0) + int(cost[0])
                names[key] = (at["fn"], at["fl"], line)
    if not instr:
        sys.exit(f"{path}: without --dump-instr=yes")


def rep_addresses(path):
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
    return {int(m.group(1), 16) for m in re.finditer(r"^ *([0-9a-f]+):\s+rep", out, re.M)}


def main():
    split = sys.argv.index("--")
    ours, theirs, names, their_names = {}, {}, {}, {}
    read(sys.argv[2], ours, names)
    for path in sys.argv[3:split]:
        read(path, theirs, their_names)
    total = apart = n_insn = 0
    worst = {}
    for obj in sys.argv[split + 1:]:
        reps = rep_addresses(obj)
        # A program that is linked to fixed addresses has the same in both files; so has one that is not, as linked.
        places = {a for o, a in ours.keys() | theirs.keys() if o == obj}
        lined = {a for a in places if names.get((obj, a), ("", "", 0))[2] > 0 or
                 ((obj, a) not in names and their_names[(obj, a)][2] > 0)}
        if not lined:
            print(f"{obj}: no instruction with a line in both files")
            sys.exit(1)
        for a in lined - reps:
            if sys.argv[1] and re.search(sys.argv[1], (names.get((obj, a)) or their_names[(obj, a)])[0]):
                continue
            x, y = ours.get((obj, a), 0), theirs.get((obj, a), 0)
            total += y
            n_insn += 1
            apart += abs(x - y)
            fn = (names.get((obj, a)) or their_names[(obj, a)])[:2]
            d = worst.setdefault((obj, fn), [0, 0])
            d[0] += x
            d[1] += y
    if not total:
        sys.exit("nothing to compare")
    (obj, fn), (x, y) = max(worst.items(), key=lambda w: abs(w[1][0] - w[1][1]))
    print(f"{n_insn} instructions, {total} executions, apart {apart} ({100 * apart / total:.4f}%); "
          f"worst function {fn[0]}: {x}, by callgrind {y}")
    sys.exit(apart > LIMIT * total or abs(x - y) > LIMIT * total)


main()
