#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""landing.py [--truth FILE] [--symfs DIR] [--event NAME] [--blocks] RECORDING...

Where do samples land?  A table with a column for each recording, real or simulated, so that the one can be held against
the other: on a slow instruction or behind it, at branch targets, on returns, right after loads; how one instruction of a
group that retires together is seen more than its neighbours; how much an instruction costs in one block and in another;
blocks that have no samples though some are due; S by event and period; what the newest branch record is like.

perf (script) reads the recording and objdump the code: nothing of skidprof's is used.  Code that is not on this machine is
not counted; the share that is says how much the column is worth.  x86-64 only.

  --truth FILE   exact counts of instructions (skidprof truth), for one recording: costs and missing blocks come from them;
                 else from its branch records, where it has some
  --symfs DIR    look for the code under DIR first
  --event NAME   take this event's samples (default: cycles, or the first)
  --blocks       for the first recording, name the blocks with the most samples and show each instruction's share
"""
import argparse
import collections
import math
import os
import re
import statistics
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import exact

SLOW = re.compile(r"^(v?(div|sqrt)[sp][sd]|i?div[bwlq]?|f(div|sqrt)\w*)$")
JUMPS = re.compile(r"^(j\w+|ret\w*|call\w*|loop\w*)$")
LOAD = re.compile(r"\(%|\bptr\b|0x[0-9a-f]+\(")
MIN_SAMPLES = 50  # of a block, before shares within it say anything
HARDWARE = {0: "cycles", 1: "instructions", 4: "branches", 5: "branch-misses", 9: "ref-cycles"}
BEHIND = 8  # instructions: as many retire at once on the widest core so far
DUE = 5  # samples a block should have had before it is missed


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", check=False).stdout


class Code:
    """The instructions of one file, by address as linked, and its basic blocks."""

    def __init__(self, path):
        self.text, self.at, self.next, self.targets, self.starts = {}, [], {}, set(), set()
        self.segments = []
        for line in run("readelf", "-lW", path).splitlines():
            f = line.split()
            if f[:1] == ["LOAD"]:
                self.segments.append(tuple(int(x, 16) for x in (f[1], f[2], f[4])))
        before = None
        for line in run("objdump", "-d", "--no-show-raw-insn", path).splitlines():
            m = re.match(r"\s*([0-9a-f]+):\t(.*)", line)
            if not m:
                if line.endswith(">:"):
                    self.starts.add(int(line.split()[0], 16))
                    before = None
                continue
            at, text = int(m[1], 16), re.sub(r"^(notrack|bnd|rep|repz|lock|data16) ", "", m[2].split("#")[0].strip())
            self.text[at] = text
            self.at.append(at)
            if before is not None:
                self.next[before] = at
            before = at
            word = text.split()[0] if text else ""
            m = re.match(r"\S+\s+([0-9a-f]+) <", text)
            if JUMPS.match(word) and m:
                self.targets.add(int(m[1], 16))
        self.cut()
        self.behind_slow = {b for at in self.at if SLOW.match(self.word(at)) for b in self.behind(at)}

    def behind(self, at):
        """The next few instructions, which can retire with this one: past a call and a jump where they lead."""
        for _ in range(BEHIND):
            m = re.match(r"(?:jmp|call)\S*\s+([0-9a-f]+) <", self.text[at])
            at = int(m[1], 16) if m else self.next.get(at)
            if at not in self.text or SLOW.match(self.word(at)):
                return
            yield at

    def cut(self):
        """leader[address]: of its block; block[leader]: its instructions."""
        self.leader, self.block = {}, {}
        leader, after = None, None
        for at in self.at:
            if at != after or at in self.targets or at in self.starts:
                leader = at
                self.block[leader] = []
            self.leader[at] = leader
            self.block[leader].append(at)
            after = None if JUMPS.match(self.word(at)) else self.next.get(at)

    def word(self, at):
        text = self.text[at]
        return text.split()[0] if text else ""

    def vaddr(self, off):
        for start, vaddr, n in self.segments:
            if start <= off < start + n:
                return vaddr + off - start
        return None

    def is_load(self, at):
        word, text = self.word(at), self.text[at]
        if word.startswith(("lea", "nop", "prefetch")) or JUMPS.match(word):
            return False
        if word.startswith("pop"):
            return True
        operands = text[len(word) :].strip()
        if not LOAD.search(operands):
            return False
        # AT&T: the destination is the last operand; a plain move to memory loads nothing.
        last = re.split(r",(?![^(]*\))", operands)[-1]
        return not (LOAD.search(last) and word.startswith(("mov", "vmov", "push", "set")))


class Codes:
    def __init__(self, symfs):
        self.symfs, self.known = symfs, {}

    def get(self, path):
        if path not in self.known:
            real = next((p for p in ((self.symfs or "") + path, path) if os.path.isfile(p)), None)
            self.known[path] = Code(real) if real else None
        return self.known[path]


class Maps:
    """Where files are mapped, by process; of one address the newest mapping holds."""

    def __init__(self, codes):
        self.codes, self.by_pid, self.cache = codes, collections.defaultdict(list), {}

    def add(self, pid, start, size, off, path):
        self.by_pid[pid].insert(0, (start, start + size, off, path))
        self.cache.clear()

    def find(self, pid, ip):
        """(path, address as linked), or None."""
        key = (pid, ip)
        if key not in self.cache:
            self.cache[key] = self.look(pid, ip)
        return self.cache[key]

    def look(self, pid, ip):
        # Children inherit mappings; where none of its own is known, anybody's serves.
        for of in [pid] if self.by_pid.get(pid) else list(self.by_pid):
            for start, end, off, path in self.by_pid[of]:
                if start <= ip < end:
                    code = self.codes.get(path)
                    at = code.vaddr(ip - start + off) if code else None
                    return (path, at) if at is not None and at in code.text else None
        return None


class Recording:
    def __init__(self, file, codes, event):
        self.file, self.maps, self.codes = file, Maps(codes), codes
        self.samples = collections.defaultdict(list)  # event -> (place or None, [(from, to)])
        self.read_samples()
        names = [e for e in self.samples if self.samples[e]]
        self.event = next((e for e in [event, "cycles", *names] if e in names), None)

    def read_samples(self):
        out = run("perf", "script", "-i", self.file, "--show-mmap-events", "-F", "pid,event,ip,brstack")
        if not out:
            out = run("perf", "script", "-i", self.file, "--show-mmap-events", "-F", "pid,event,ip")
        for line in out.splitlines():
            m = re.search(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) ?.*?\]: ...p? ?(\S.*)$", line)
            if m:
                self.maps.add(int(m[1]), int(m[2], 16), int(m[3], 16), int(m[4], 16), m[5])
                continue
            m = re.match(r"\s*(\d+)\s+(\S+):\s+([0-9a-f]+)(.*)", line)
            if m:
                pid = int(m[1])
                stack = [tuple(int(x, 16) for x in b.split("/")[:2]) for b in m[4].split() if b.startswith("0x")]
                self.samples[plain(m[2])].append((pid, int(m[3], 16), stack))

    def places(self):
        return [self.maps.find(pid, ip) for pid, ip, _ in self.samples[self.event]]

    def skids(self):
        """(event, period) -> how far its counter had run on at each of its samples; empty where no values were read."""
        try:
            return read_skids(self.file)
        except (ValueError, struct.error, IndexError):
            return {}


def attributes(d):
    """A file's events: (name, fixed period or 0, sample_type, read_format), and which of them an id is of."""
    size, at, n = struct.unpack_from("<3Q", d, 16)
    events, of = [], {}
    for o in range(at, at + n, size):
        kind, _, config, period, sample_type, read_format, flags = struct.unpack_from("<IIQQQQQ", d, o)
        ids, n_bytes = struct.unpack_from("<QQ", d, o + size - 16)
        for k in range(0, n_bytes, 8):
            of[struct.unpack_from("<Q", d, ids + k)[0]] = len(events)
        name = HARDWARE.get(config & 0xFFFFFFFF, "event %d" % config) if kind == 0 else "event %d:%x" % (kind, config)
        events.append((name, 0 if flags >> 10 & 1 else period, sample_type, read_format))
    return events, of


def values_of(d, p, events, of):
    """A sample's event, and the values read with it as (event, value)."""
    first = events[0][2]
    q = p + 8
    event = None
    if first >> 16 & 1:  # IDENTIFIER
        event = of.get(struct.unpack_from("<Q", d, q)[0])
    elif first >> 6 & 1:  # ID, behind IP, TID, TIME and ADDR
        event = of.get(struct.unpack_from("<Q", d, q + 8 * sum(first >> b & 1 for b in (0, 1, 2, 3)))[0])
    event = event or 0
    _, _, sample_type, fmt = events[event]
    q += 8 * sum(sample_type >> b & 1 for b in (16, 0, 1, 2, 3, 6, 9, 7, 8))
    if not sample_type >> 4 & 1:
        return event, []
    times = (fmt & 1) + (fmt >> 1 & 1)
    extra = (fmt >> 2 & 1) + (fmt >> 4 & 1)
    if not fmt >> 3 & 1:
        return event, [(event, struct.unpack_from("<Q", d, q)[0])]
    n = struct.unpack_from("<Q", d, q)[0]
    q += 8 + 8 * times
    rows = [struct.unpack_from("<%dQ" % (1 + extra), d, q + 8 * k * (1 + extra)) for k in range(min(n, 64))]
    if not fmt >> 2 & 1:
        return event, [(event, rows[0][0])] if rows else []
    return event, [(of.get(row[1]), row[0]) for row in rows]


def read_skids(file):
    with open(file, "rb") as f:
        d = f.read()
    if d[:8] != b"PERFILE2":
        return {}
    events, of = attributes(d)
    seen = collections.defaultdict(list)
    p, n = struct.unpack_from("<QQ", d, 40)
    end = min(p + n, len(d))
    while p + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", d, p)
        if size < 8:
            break
        if kind == 9:
            event, values = values_of(d, p, events, of)
            period = events[event][1]
            # With a group of which the leader alone is sampled, others have no period.
            if period and values:
                seen[events[event][0], period] += [v % period for e, v in values if e == event]
        p += size
    return seen


def plain(name):
    """cycles:u, cpu_core/cycles/u: the event alone."""
    m = re.match(r"[\w-]+/([^/]+)/", name)
    return re.sub(r":[ukhpPGHSDI]*$", "", m[1] if m else name).rstrip(":")


def read_truth(path):
    """(file's name, address in file) -> executions; files are known by their last name."""
    counts = collections.Counter()
    for ob, at, n in exact.executions(path):
        counts[os.path.basename(ob), at] += n
    return counts


def runs_of_stacks(r):
    """(path, leader) -> times that a branch stack ran over the block."""
    runs = collections.Counter()
    for pid, _, stack in r.samples[r.event]:
        for (come, _), (_, to) in zip(stack, stack[1:]):
            a, b = r.maps.find(pid, to), r.maps.find(pid, come)
            if not a or not b or a[0] != b[0] or not a[1] <= b[1] < a[1] + 4096:
                continue
            code, at = r.codes.get(a[0]), a[1]
            while at is not None and at <= b[1]:
                if code.leader[at] == at or at == a[1]:
                    runs[a[0], code.leader[at]] += 1
                at = code.next.get(at)
    return runs


def runs_of_truth(r, truth):
    runs = {}
    for path, code in r.codes.known.items():
        for leader in code.block if code else []:
            n = truth.get((os.path.basename(path), leader), 0)
            if n:
                runs[path, leader] = n
    return runs


def percent(x):
    return "-" if x is None else "%.1f%%" % (100 * x)


def share(part, whole):
    return part / whole if whole else None


def landing_rows(r, places):
    known = [p for p in places if p]
    n = collections.Counter(known)
    total = len(known)
    on = behind = first = returns = after_load = 0
    for (path, at), k in n.items():
        code = r.codes.get(path)
        leader = code.leader[at]
        first += k * (at == leader and at in code.targets)
        returns += k * code.word(at).startswith("ret")
        before = code.block[leader][code.block[leader].index(at) - 1] if at != leader else None
        after_load += k * (before is not None and code.is_load(before))
        on += k * bool(SLOW.match(code.word(at)))
        behind += k * (at in code.behind_slow)
    yield "samples of %s" % r.event, str(len(places))
    yield "in code that is here", percent(share(total, len(places)))
    yield "on a division or root", percent(share(on, total))
    yield "within %d instructions behind one" % BEHIND, percent(share(behind, total))
    yield "on branch targets", percent(share(first, total))
    yield "on ret", percent(share(returns, total))
    yield "right after a load", percent(share(after_load, total))
    yield from group_rows(r, n)


def group_rows(r, n):
    """Of blocks with samples enough: what its instructions get, in the order of how much."""
    by_block = collections.defaultdict(int)
    for (path, at), k in n.items():
        by_block[path, r.codes.get(path).leader[at]] += k
    few = all_of = least = 0
    for (path, leader), k in by_block.items():
        insns = r.codes.get(path).block[leader]
        if k < MIN_SAMPLES or len(insns) < 4:
            continue
        shares = [n[path, at] / k for at in insns]
        all_of += k * len(insns)
        few += k * sum(s < 0.1 / len(insns) for s in shares)
        least += k
    yield "instructions with less than a tenth of an even share of their block", percent(share(few, all_of))
    yield "blocks that says it of (samples)", "%d (%d)" % (sum(k >= MIN_SAMPLES and len(r.codes.get(p).block[b]) >= 4 for (p, b), k in by_block.items()), least)


def cost_rows(r, places, truth):
    runs = runs_of_truth(r, truth) if truth else runs_of_stacks(r)
    seen = collections.Counter()
    for p in places:
        if p:
            seen[p[0], r.codes.get(p[0]).leader[p[1]]] += 1
    insns = {b: runs[b] * len(r.codes.get(b[0]).block[b[1]]) for b in runs}
    total = sum(insns.values())
    sampled = sum(seen[b] for b in runs)
    if not total or not sampled:
        yield "blocks without samples where %d were due" % DUE, "-"
        yield "cost of an instruction by block, sd of log", "-"
        return
    due = {b: insns[b] / total * sampled for b in runs}
    many = [b for b in runs if due[b] >= DUE]
    logs = [math.log(seen[b] / due[b]) for b in many if seen[b]]
    yield "blocks without samples where %d were due" % DUE, "%s of %d" % (percent(share(sum(not seen[b] for b in many), len(many))), len(many))
    yield "cost of an instruction by block, sd of log", "%.2f" % statistics.pstdev(logs) if len(logs) > 1 else "-"


def stack_rows(r):
    """Straight on from where one branch led to where the next began?  Of the newest two, of older ones, and to the sample."""
    ends = {"newest": [0, 0], "older": [0, 0], "ip": [0, 0]}

    def straight(a, b):
        if not a or not b:
            return None
        if a[0] != b[0]:
            return False
        code, at = r.codes.get(a[0]), a[1]
        for _ in range(2000):
            if at == b[1]:
                return True
            if at is None or at > b[1] or re.match(r"jmp|ret|call", code.word(at)):
                return False
            at = code.next.get(at)
        return False

    for pid, ip, stack in r.samples[r.event]:
        for k in range(min(len(stack) - 1, 8)):
            good = straight(r.maps.find(pid, stack[k + 1][1]), r.maps.find(pid, stack[k][0]))
            if good is not None:
                ends["older" if k else "newest"][0] += not good
                ends["older" if k else "newest"][1] += 1
        good = straight(r.maps.find(pid, stack[0][1]), r.maps.find(pid, ip)) if stack else None
        if good is not None:
            ends["ip"][0] += not good
            ends["ip"][1] += 1
    yield "a branch is missing behind the newest record", percent(share(*ends["newest"]))
    yield "the same, older records", percent(share(*ends["older"]))
    yield "the sample is not on the newest record's way", percent(share(*ends["ip"]))


def skid_rows(r):
    for (event, period), values in sorted((k, v) for k, v in r.skids().items() if v):
        values.sort()
        q = [values[min(len(values) - 1, int(p * len(values)))] for p in (0.1, 0.5, 0.9)]
        yield "S, %s every %d: 10, 50, 90%%" % (event, period), "%d %d %d" % tuple(q)


def distance(a, b):
    """Total variation by instruction, of what both have code for."""
    x, y = collections.Counter(p for p in a if p), collections.Counter(p for p in b if p)
    n, m = sum(x.values()), sum(y.values())
    return sum(abs(x[p] / n - y[p] / m) for p in x | y) / 2 if n and m else None


def show_blocks(r, places):
    n = collections.Counter(p for p in places if p)
    by_block = collections.Counter()
    for (path, at), k in n.items():
        by_block[path, r.codes.get(path).leader[at]] += k
    for (path, leader), k in by_block.most_common(5):
        code = r.codes.get(path)
        print("\n%s %x: %d samples" % (path, leader, k))
        for at in code.block[leader]:
            print("%6.1f%%  %x  %s" % (100 * n[path, at] / k, at, code.text[at]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--truth")
    p.add_argument("--symfs")
    p.add_argument("--event")
    p.add_argument("--blocks", action="store_true")
    p.add_argument("recordings", nargs="+")
    o = p.parse_args()
    truth = read_truth(o.truth) if o.truth else None
    codes = Codes(o.symfs)
    table, columns, first = {}, [], None
    for k, file in enumerate(o.recordings):
        r = Recording(file, codes, o.event)
        if not r.event:
            sys.exit("%s: no samples that perf script shows" % file)
        places = r.places()
        rows = [*landing_rows(r, places), *cost_rows(r, places, truth if k == 0 else None), *stack_rows(r), *skid_rows(r)]
        if k:
            rows.append(("total variation by instruction to the first recording", percent(distance(first[1], places))))
        first = first or (r, places)
        columns.append(file)
        for name, value in rows:
            table.setdefault(name, {})[file] = value
    width = max(map(len, table))
    for k, file in enumerate(columns):
        print("%*s  [%d] %s" % (width, "", k + 1, file))
    print("%-*s" % (width, ""), *("%14s" % ("[%d]" % (k + 1)) for k in range(len(columns))))
    for name, values in table.items():
        print("%-*s" % (width, name), *("%14s" % values.get(file, "-") for file in columns))
    if o.blocks:
        show_blocks(*first)


if __name__ == "__main__":
    main()
