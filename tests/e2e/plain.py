#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""plain.py IN OUT [WORD...]: a recording of the simulated core as perf would have written it on another machine.

Samples keep their place, task, time, period and, where asked for, their branches; counts read with them are dropped unless
'read' is given.

  events=A,B     sampled events that are kept, by their generic names (cycles, instructions, branches); default: all sampled
  counted=A,B    these of them are counted in the group and not sampled (with read: perf's {cycles,instructions}:S)
  as=TYPE:CONFIG[:NAME],...  the first of them are other events'
  stack=KIND     any (as recorded), cond, call, ret, callstack, none (default)
  untimed        branches do not tell their cycles
  lose=SHARE     of so many stacks the branch before the newest is missing
  brbe=SHARE:HOW branches as Linux writes those of Arm's BRBE: kind and privilege beside the cycles, of these nine bits; between so
                 many of two an interrupt came: 'unknown', the second has no cycles, 'kernel', it and what the kernel did are on record,
                 'half', they are without the kernel's addresses
  freq           a frequency was asked for, not a period
  read           group reads are kept
  ran=N          their counters say that they ran for N times as long as they did
  precise=N      the events' precise_ip
  there=TRUTH    samples of instructions are where they were caused: at any instruction as often as it ran by these exact counts
  turns=SHARE:US each event counts in so many of the turns, of US microseconds of the core's time; with read the group does, as one
  hybrid=US      the core is another kind's every second US microseconds: two PMUs, an event of each name in both
  cut=SHARE      so many samples at the end of each millisecond are lost, which a LOST record tells ('throttle': a THROTTLE)
  nameless       no record tells a thread's name
  cpuid=ID       of the header
"""
import bisect
import itertools
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import exact

CONFIG = {"cycles": 0, "instructions": 1, "branches": 4}
(IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, RAW, STACK, IDENT) = (1 << n for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16))
ANY, ANY_CALL, ANY_RETURN, COND, CALL_STACK, USER, KERNEL, NO_CYCLES = 1 << 3, 1 << 4, 1 << 5, 1 << 10, 1 << 11, 1, 2, 1 << 15
KINDS = {"any": ANY, "cond": COND, "call": ANY_CALL, "ret": ANY_RETURN, "callstack": ANY_CALL | 1 << 11}


class Event:
    def __init__(self, data, at, size):
        (self.type, _, self.config, self.period, self.sample_type, self.read_format, self.flags) = struct.unpack_from("<IIQQQQQ", data, at)
        (self.branch_type,) = struct.unpack_from("<Q", data, at + 72)
        ids, n_bytes = struct.unpack_from("<QQ", data, at + size - 16)
        self.ids = struct.unpack_from(f"<{n_bytes // 8}Q", data, ids)
        self.name = next((n for n, c in CONFIG.items() if self.type == 0 and self.config == c), None)


class Sample:
    """Of the fields that are kept; read: the bytes of the counts."""

    def __init__(self, data, at, event_of):
        misc, _ = struct.unpack_from("<HH", data, at + 4)
        p, self.misc, self.branches, self.read = at + 8, misc, [], b""

        def take(form):
            nonlocal p
            values = struct.unpack_from("<" + form, data, p)
            p += struct.calcsize("<" + form)
            return values

        (ident,) = take("Q")
        self.event = event_of[ident]
        kind = self.event.sample_type
        (self.ip,) = take("Q")
        self.pid, self.tid = take("II")
        (self.time,) = take("Q") if kind & TIME else (0,)
        for bit in (ADDR, ID, STREAM):
            if kind & bit:
                take("Q")
        self.cpu = take("II")[0] if kind & CPU else 0
        (self.period,) = take("Q") if kind & PERIOD else (self.event.period,)
        if kind & READ:
            start, form = p, self.event.read_format
            n = take("Q")[0] if form & 8 else 1
            take("Q" * (bool(form & 1) + bool(form & 2)))
            take("Q" * n * (1 + bool(form & 4) + bool(form & 16)) if form & 8 else "Q" * (1 + bool(form & 4) + bool(form & 16)))
            self.read = data[start:p]
        if kind & CHAIN:
            take("Q" * take("Q")[0])
        if kind & RAW:
            take(f"{take('I')[0]}s")
        if kind & STACK:
            (n,) = take("Q")
            if self.event.branch_type & 1 << 17:
                take("Q")
            self.branches = [take("QQQ") for _ in range(n)]


def offsets(path):
    """The function from an ELF file's linked addresses to offsets in it; None of those that are in no segment."""
    head = open(path, "rb").read()
    (phoff,), (n,) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<H", head, 56)
    loads = [x for x in (struct.unpack_from("<IIQQQQQQ", head, phoff + 56 * i) for i in range(n)) if x[0] == 1]
    return lambda vaddr: next((vaddr - x[3] + x[2] for x in loads if x[3] <= vaddr < x[3] + x[5]), None)


def kinds_of_branches(path):
    """{file offset: the word of the instruction there} of all branches of an ELF file."""
    of_vaddr = offsets(path)
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
    out = {}
    for at, word in re.findall(r"^\s*([0-9a-f]+):\t(?:bnd |notrack )*(call|ret|j\w+)", text, re.M):
        out[of_vaddr(int(at, 16))] = word
    return out


class Exact:
    """Instructions of a file of exact counts, drawn as often as they ran."""

    def __init__(self, path):
        self.where, counts, of_vaddr = [], [], {}
        for ob, at, n in exact.executions(path):
            if ob not in of_vaddr:
                try:
                    of_vaddr[ob] = offsets(ob)
                except (OSError, struct.error):
                    of_vaddr[ob] = lambda vaddr: None
            self.where.append((ob, of_vaddr[ob](at)))
            counts.append(n)
        self.sums = list(itertools.accumulate(counts))

    def draw(self, rng):
        return self.where[bisect.bisect_right(self.sums, rng.randrange(self.sums[-1]))]


class Maps:
    def __init__(self):
        self.maps, self.kinds = {}, {}

    def add(self, pid, start, size, off, path):
        self.maps.setdefault(pid, []).append((start, start + size, off, path))

    def ip(self, pid, path, at):
        """Where the byte of a file is, None if nowhere."""
        for lo, hi, off, mapped in reversed(self.maps.get(pid, [])):
            if mapped == path and at is not None and off <= at < off + hi - lo:
                return lo + at - off
        return None

    def word(self, pid, ip):
        for lo, hi, off, path in reversed(self.maps.get(pid, [])):
            if lo <= ip < hi:
                if path not in self.kinds:
                    try:
                        self.kinds[path] = kinds_of_branches(path)
                    except (OSError, struct.error):
                        self.kinds[path] = {}
                return self.kinds[path].get(ip - lo + off, "")
        return ""


class Writer:
    def __init__(self, words):
        opts = dict(w.split("=", 1) if "=" in w else (w, "1") for w in words)
        self.opts, self.rng, self.maps, self.body = opts, random.Random(1), Maps(), bytearray()
        self.wanted = opts["events"].split(",") if "events" in opts else None
        self.counted = opts.get("counted", "").split(",")
        self.stack = opts.get("stack", "none")
        self.others = opts["as"].split(",") if "as" in opts else []
        self.exact = Exact(opts["there"]) if "there" in opts else None
        self.cut, self.lost, self.lost_in = float(opts.get("cut", 0)), 0, None
        self.values = {}  # by thread and event: the last that was written
        self.rests = {}  # by thread: its last time and counts, and what of them its group did not count

    def choose(self, events):
        # Groups that took turns have an event of the same name each: here it is one.
        first = {e.name: e for e in reversed(events) if e.name and e.period}
        self.events = [e for e in first.values() if not self.wanted or e.name in self.wanted]
        if self.wanted:
            self.events.sort(key=lambda e: self.wanted.index(e.name))
        self.n_pmus = 2 if "hybrid" in self.opts else 1

    def number(self, sample):
        """The event's, of those written; None where the sample is of none."""
        n = next((i for i, e in enumerate(self.events) if e.name == sample.event.name), None)
        if n is None or not sample.event.period or sample.event.name in self.counted:
            return None
        if "turns" in self.opts:
            # Every event rests in its own tenths of each ten turns, as counters are handed round; never do all.
            if not self.counts(sample.time, 0 if "read" in self.opts else n * 10 // len(self.events)):
                return None
        if self.n_pmus == 2:
            n += len(self.events) * (int(sample.time // (1000 * float(self.opts["hybrid"]))) & 1)
        return n

    def counts(self, time, turn):
        share, us = map(float, self.opts["turns"].split(":"))
        return (int(time // (1000 * us)) + turn) % 10 < 10 * share

    def rest(self, sample):
        """Counters of a group that rests stand still.  Whole periods of what they miss are taken off: where overflows are stays as it is."""
        members, _ = self.members(sample)
        time, values, gone = self.rests.get(sample.tid, (sample.time, {}, {}))
        if not self.counts((time + sample.time) / 2, 0):
            for m in members:
                gone[m[1]] = gone.get(m[1], 0) + m[0] - values.get(m[1], m[0])
            gone["ns"] = gone.get("ns", 0) + sample.time - time
        self.rests[sample.tid] = (sample.time, {m[1]: m[0] for m in members}, gone)

    def branches(self, sample):
        out = sample.branches
        if self.stack in ("call", "ret", "cond", "callstack"):
            ok = {"call": lambda w: w == "call", "ret": lambda w: w == "ret", "cond": lambda w: w[:1] == "j" and w[:3] != "jmp"}
            if self.stack == "callstack":
                return self.call_stack(sample)
            out = [b for b in out if ok[self.stack](self.maps.word(sample.pid, b[0]))]
        elif "lose" in self.opts and len(out) > 2 and self.rng.random() < float(self.opts["lose"]):
            out = out[:1] + out[2:]
        return out

    def brbe(self, stack):
        share, how = self.opts["brbe"].split(":")
        out, kernel = [], 1 << 63 if how == "kernel" else 0
        for k, (start, to, flags) in enumerate(stack):
            cycles, older = flags >> 4 & 0xffff, stack[k + 1][1] if k + 1 < len(stack) else start + 4
            ways = [(start, to, cycles, 1)]
            if older <= start and self.rng.random() < float(share):
                if how == "unknown":
                    ways = [(start, to, 0, 1)]
                else:
                    at, part = older + self.rng.randrange((start - older) // 4 + 1) * 4, self.rng.randrange(cycles + 1)
                    inside = [(kernel + 0x2000, kernel + 0x3000, 40, 2)] if kernel else []
                    ways = [(start, to, cycles - part, 1), (kernel and kernel + 0x3040, at, 700, 1), *inside, (at, kernel and kernel + 0x1480, part, 2)]
            for a, b, cyc, priv in ways:
                cyc = cyc >> max(cyc.bit_length() - 9, 0) << max(cyc.bit_length() - 9, 0)
                out.append((a, b, flags & 3 | cyc << 4 | self.rng.randrange(1, 7) << 20 | priv << 30))
        return out[:64]

    def call_stack(self, sample):
        """What is left of calls once returns have taken theirs away."""
        open_calls = []
        for b in reversed(sample.branches):
            word = self.maps.word(sample.pid, b[0])
            if word == "call":
                open_calls.append(b)
            elif word == "ret" and open_calls:
                open_calls.pop()
        return open_calls[::-1]

    def lose(self, sample):
        if not self.cut or sample.time % 1000000 < (1 - self.cut) * 1000000:
            return False
        self.lost += 1
        if self.lost_in != sample.time // 1000000:
            self.lost_in = sample.time // 1000000
            if "throttle" in self.opts:
                self.body += struct.pack("<IHHQQQ", 5, 0, 32, sample.time, 1000, 1000)
        return True

    @staticmethod
    def members(sample):
        """[(count, id, ...)] of the group, and its times."""
        form, words = sample.event.read_format, struct.unpack(f"<{len(sample.read) // 8}Q", sample.read)
        n_times, step = bool(form & 1) + bool(form & 2), 1 + bool(form & 4) + bool(form & 16)
        return [words[i:i + step] for i in range(1 + n_times, len(words), step)], list(words[1:1 + n_times])

    def value(self, count, gone, number, period, tid):
        """Counters never go back."""
        last = self.values.get((tid, number), 0)
        out = count - min(gone // period, (count - last) // period) * period if count >= last else count
        self.values[tid, number] = out
        return out

    def read(self, sample):
        """The group's counts, of the events that are kept, by the ids that they have here."""
        members, times = self.members(sample)
        number = {i: (1000 + n, e.period) for n, e in enumerate(self.events) for i in e.ids}
        gone = self.rests[sample.tid][2] if "turns" in self.opts else {}
        kept = [(self.value(m[0], gone.get(m[1], 0), *number[m[1]], sample.tid), number[m[1]][0], *m[2:]) for m in members if m[1] in number]
        if sample.event.read_format & 2:
            times[-1] = int((times[-1] - gone.get("ns", 0)) * float(self.opts.get("ran", 1)))
        return b"".join(struct.pack("<Q", x) for x in (len(kept), *times, *sum(kept, ())))

    def sample(self, sample):
        n = self.number(sample)
        if "turns" in self.opts and sample.read:
            self.rest(sample)
        if n is None or self.lose(sample):
            return
        if self.exact and sample.event.name == "instructions":
            sample.ip = self.maps.ip(sample.pid, *self.exact.draw(self.rng)) or sample.ip
        if self.lost and "throttle" not in self.opts:
            self.body += struct.pack("<IHHQQ", 2, 0, 24, 1000 + n, self.lost)
            self.lost = 0
        body = struct.pack("<QQIIQQ", 1000 + n, sample.ip, sample.pid, sample.tid, sample.time, sample.period)
        if "read" in self.opts:
            body += self.read(sample)
        if self.stack != "none":
            stack = self.branches(sample)
            if "brbe" in self.opts:
                stack = self.brbe(stack)
            mask = 0xf if "untimed" in self.opts else 2**64 - 1
            body += struct.pack("<Q", len(stack)) + b"".join(struct.pack("<QQQ", f, t, x & mask) for f, t, x in stack)
        self.body += struct.pack("<IHH", 9, sample.misc, 8 + len(body)) + body

    def other(self, kind, data, at, size):
        if kind in (1, 10):
            pid, _, start, length, off = struct.unpack_from("<IIQQQ", data, at + 8)
            path = data[at + (72 if kind == 10 else 40):at + size].split(b"\0")[0].decode("latin1")
            self.maps.add(pid, start, length, off, path)
        if kind in (1, 10, 4, 7) or kind == 3 and "nameless" not in self.opts:
            self.body += data[at:at + size]

    def attr(self, event, pmu, other):
        # exclude_kernel, exclude_hv, mmap, comm, mmap2, comm_exec
        flags = 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 23 | 1 << 24
        kind, config, period = event.type, event.config, event.period
        if event.name in self.counted:
            period = 0
        if "freq" in self.opts and period:
            flags, period = flags | 1 << 10, 4000
        flags |= int(self.opts.get("precise", 0)) << 15
        sample_type = IDENT | IP | TID | TIME | PERIOD
        read_format = event.read_format if "read" in self.opts else 0
        sample_type |= READ if "read" in self.opts else 0
        sample_type |= STACK if self.stack != "none" else 0
        if other:
            kind, config = (int(x, 0) for x in other.split(":")[:2])
        if self.n_pmus == 2:
            config |= (4, 10)[pmu] << 32
        out = bytearray(120)
        struct.pack_into("<IIQQQQQ", out, 0, kind, 120, config, period, sample_type, read_format, flags)
        if self.stack != "none":
            struct.pack_into("<Q", out, 72, USER | (KERNEL if "kernel" in self.opts.get("brbe", "") else 0) | KINDS[self.stack])
        return bytes(out)

    def text(self, s):
        raw = s.encode() + b"\0"
        raw += b"\0" * (-len(raw) % 64)
        return struct.pack("<I", len(raw)) + raw

    def features(self, attrs, names):
        desc = struct.pack("<II", len(attrs), 120)
        for n, (attr, name) in enumerate(zip(attrs, names)):
            desc += attr + struct.pack("<I", 1) + self.text(name) + struct.pack("<Q", 1000 + n)
        out = {}
        if "cpuid" in self.opts:
            out[9] = self.text(self.opts["cpuid"])
        out[12] = desc
        if self.n_pmus == 2:
            out[16] = struct.pack("<I", 2) + b"".join(struct.pack("<I", n) + self.text(w) for n, w in ((4, "cpu_core"), (10, "cpu_atom")))
        if "read" in self.opts and len(attrs) > 1:
            out[17] = struct.pack("<I", 1) + self.text("") + struct.pack("<II", 0, len(attrs))
        return dict(sorted(out.items()))

    def names(self):
        for pmu in range(self.n_pmus):
            for i, event in enumerate(self.events):
                name = self.others[i].split(":")[2] if i < len(self.others) else event.name
                suffix = "u" + "p" * int(self.opts.get("precise", 0))
                yield f"{('cpu_core', 'cpu_atom')[pmu]}/{name}/{suffix}" if self.n_pmus == 2 else f"{name}:{suffix}"

    def write(self, path):
        attrs = [self.attr(e, pmu, self.others[i] if i < len(self.others) else None) for pmu in range(self.n_pmus) for i, e in enumerate(self.events)]
        ids = b"".join(struct.pack("<Q", 1000 + n) for n in range(len(attrs)))
        table = b"".join(a + struct.pack("<QQ", 104 + 8 * n, 8) for n, a in enumerate(attrs))
        features = self.features(attrs, list(self.names()))
        attrs_at, data_at = 104 + len(ids), 104 + len(ids) + len(table)
        bits = [0, 0, 0, 0]
        for f in features:
            bits[f // 64] |= 1 << f % 64
        at = data_at + len(self.body) + 16 * len(features)
        index = b""
        for text in features.values():
            index += struct.pack("<QQ", at, len(text))
            at += len(text)
        with open(path, "wb") as f:
            f.write(b"PERFILE2" + struct.pack("<QQQQQQQQQ4Q", 104, 136, attrs_at, len(table), data_at, len(self.body), 0, 0, *bits[:1], *bits[1:], 0)[:96])
            f.write(ids + table + bytes(self.body) + index + b"".join(features.values()))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data, out = open(sys.argv[1], "rb").read(), Writer(sys.argv[3:])
    size, attrs_at, n_bytes, at, data_bytes = struct.unpack_from("<5Q", data, 16)
    events = [Event(data, attrs_at + i * size, size) for i in range(n_bytes // size)]
    out.choose(events)
    event_of = {i: e for e in events for i in e.ids}
    end = at + data_bytes
    while at + 8 <= end:
        kind, _, n = struct.unpack_from("<IHH", data, at)
        if kind == 9:
            out.sample(Sample(data, at, event_of))
        else:
            out.other(kind, data, at, n)
        at += n
    out.write(sys.argv[2])


if __name__ == "__main__":
    main()
