# SPDX-License-Identifier: GPL-3.0-or-later
"""forms.py CHECK FILE [ARGUMENT...]: one check of a recording of ./forms against the exact counts in t.cg; used by 234_sim_forms.sh.

Everything is read by perf script, objdump and nm: nothing of skidprof's reader is in it.
"""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import exact

PROGRAM = "forms"
KERNEL = 0xFFFFFFFF81000000
ENDS = {"call", "ret", "jmp"}


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def read_insns():
    insns, functions, name = {}, {}, None
    for line in run("objdump", "-d", "--no-show-raw-insn", PROGRAM).splitlines():
        m = re.match(r"[0-9a-f]+ <(\S+)>:", line)
        name = m[1] if m else name
        m = re.match(r" +([0-9a-f]+):\t(\w+)(?: (\w+))?", line)
        if m:
            # notrack jmp, bnd ret
            insns[int(m[1], 16)] = m[3] if m[2] in ("notrack", "bnd") else m[2]
            functions[int(m[1], 16)] = name
    return insns, functions


def read_truth():
    counts = collections.Counter()
    for ob, at, n in exact.executions("t.cg"):
        if ob.endswith("/" + PROGRAM):
            counts[at] += n
    with open("t.cg", encoding="utf-8") as f:
        total = next(int(line.split()[1]) for line in f if line.startswith("summary:"))
    return counts, total


class Recording:
    def __init__(self, file):
        self.file = file
        self.bias = None
        for line in run("perf", "script", "-i", file, "--show-mmap-events").splitlines():
            m = re.search(r"\[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (0x[0-9a-f]+|0) .*r-xp .*/%s$" % PROGRAM, line)
            if m:
                self.bias = int(m[1], 16) - int(m[2], 16)

    def fields(self, what):
        return [line.split() for line in run("perf", "script", "-i", self.file, "--ns", "-G", "-F", what).splitlines()]

    def at(self, ip):
        return int(ip, 16) - self.bias

    def places(self):
        return [self.at(f[-1]) for f in self.fields("ip") if f]

    def stacks(self):
        """(ip, [(from, to), ...] newest first), as places in the program's file."""
        out = []
        for f in self.fields("ip,brstack"):
            if f:
                pairs = [tuple(self.at(x) for x in b.split("/")[:2]) for b in f[1:]]
                out.append((self.at(f[0]), pairs))
        return out


def tv(places, counts):
    seen = collections.Counter(p for p in places if p in counts)
    n, m = sum(seen.values()), sum(counts.values())
    return sum(abs(seen[p] / n - counts[p] / m) for p in counts) / 2


def exact_shares(r, most):
    """Samples are spread over instructions as executions are: total variation below `most`."""
    distance = tv(r.places(), read_truth()[0])
    print("# total variation %.4f, below %s?" % (distance, most))
    return distance < float(most)


def far_shares(r, least):
    return not exact_shares(r, least)


def divisions(r, on, behind):
    """Share of the samples in divide() that is on the division, and on the next instruction."""
    insns, functions = read_insns()
    order = sorted(insns)
    div = next(a for a in order if functions[a] == "divide" and insns[a].startswith("div"))
    there = [p for p in r.places() if functions.get(p) == "divide"]
    shares = [there.count(a) / len(there) for a in (div, order[order.index(div) + 1])]
    print("# of %d samples %.3f on the division, %.3f behind it" % (len(there), *shares))
    limits = [tuple(float(x) for x in w.split("-")) for w in (on, behind)]
    return all(lo <= s <= hi for s, (lo, hi) in zip(shares, limits))


def only(r, *kinds):
    """All branches recorded in the program are of these kinds, and each kind is there."""
    insns, _ = read_insns()
    test = {
        "cond": lambda m: m.startswith("j") and m != "jmp",
        "call": lambda m: m == "call",
        "ret": lambda m: m == "ret",
    }
    seen = collections.Counter()
    for _, pairs in r.stacks():
        for come, _ in pairs:
            if come in insns:
                seen[next((k for k in kinds if test[k](insns[come])), "other: " + insns[come])] += 1
    print("#", dict(seen))
    return set(seen) == set(kinds)


def call_stack(r):
    """Who is in leaf was called by middle, and that by main: records of calls, newest first."""
    _, functions = read_insns()
    n = 0
    for ip, pairs in r.stacks():
        if functions.get(ip) != "leaf":
            continue
        n += 1
        if [functions.get(come) for come, _ in pairs[:2]] != ["middle", "main"]:
            print("# in leaf, called by", [functions.get(come) for come, _ in pairs[:2]])
            return False
    print("# %d samples in leaf" % n)
    return n > 50


def gaps(r, low, high):
    """How often the newest branch can't be come to from the one before without another; of older ones it always can."""
    insns, functions = read_insns()

    def leads(pair, newer):
        to, come = pair[1], newer[0]
        if to not in insns or come not in insns:
            return True
        return (
            functions[to] == functions[come]
            and to <= come
            and not any(insns[a] in ENDS for a in range(to, come) if a in insns)
        )

    n = missing = older = 0
    for ip, pairs in r.stacks():
        # A loop of one branch looks the same with one missing.
        if functions.get(ip) in ("leaf", "middle") and len(pairs) > 8:
            n += 1
            missing += not leads(pairs[1], pairs[0])
            older += sum(not leads(pairs[k + 1], pairs[k]) for k in range(1, len(pairs) - 1))
    print("# %d of %d stacks lack a branch behind the newest; elsewhere %d" % (missing, n, older))
    return n > 100 and float(low) <= missing / n <= float(high) and older == 0


def turns(r, event, share):
    """Its samples' periods, scaled by the share of turns that it is in, are the count; and it was silent for whole turns."""
    total = read_truth()[1]
    got = []
    for line in run("perf", "script", "-i", r.file, "-F", "period,event").splitlines():
        m = re.match(r"\s*(\d+)\s+(\S+?):", line)
        if m and m[2] == event:
            got.append(int(m[1]))
    counted = sum(got) / float(share)
    print("# %d samples of %s: %.0f, executed %d" % (len(got), event, counted, total))
    return len(got) > 200 and abs(counted - total) <= 0.05 * total


def silent(r, event, turn_ns):
    """Of a turn's length and more, with other events' samples in it."""
    times, others = [], []
    for line in run("perf", "script", "-i", r.file, "--ns", "-F", "time,event").splitlines():
        m = re.match(r"\s*([0-9]+)\.([0-9]{9}):\s+(\S+?):", line)
        if m:
            (times if m[3] == event else others).append(int(m[1] + m[2]))
    gaps_ns = [(b - a, sum(a < t < b for t in others)) for a, b in zip(times, times[1:]) if b - a > float(turn_ns)]
    print("# %d gaps of a turn and more, with %d samples of others" % (len(gaps_ns), sum(n for _, n in gaps_ns)))
    return len(gaps_ns) > 5 and all(n > 0 for _, n in gaps_ns)


def kernel(r, number, cycles):
    """The kernel's samples times the period are the cycles of the calls of that number."""
    ips = [(int(f[1], 16), int(f[0])) for f in r.fields("period,ip") if f]
    there = sum(p for ip, p in ips if ip >= KERNEL and (ip - KERNEL) // 4096 == int(number))
    print("# %d cycles in that call, of %d" % (there, sum(p for _, p in ips)))
    return abs(there - float(cycles)) <= 0.05 * float(cycles)


def hybrid(r):
    """Both PMUs have samples, each on its own CPU; together they have counted what ran."""
    total = read_truth()[1]
    seen, cpus = collections.Counter(), collections.defaultdict(set)
    for line in run("perf", "script", "-i", r.file, "-F", "cpu,period,event").splitlines():
        m = re.match(r"\s*\[(\d+)\]\s+(\d+)\s+(cpu_\w+)/(\w+)/", line)
        if m and m[4] == "instructions":
            seen[m[3]] += int(m[2])
            cpus[m[3]].add(m[1])
    print("# %s instructions, executed %d, on CPUs %s" % (dict(seen), total, dict(cpus)))
    apart = not cpus["cpu_core"] & cpus["cpu_atom"]
    return apart and len(seen) == 2 and min(seen.values()) > 0.1 * total and abs(sum(seen.values()) - total) <= 0.03 * total


def stats(r, name, n):
    m = re.search(r"\b%s events:\s+(\d+)" % name, run("perf", "report", "--stats", "-i", r.file))
    print("# %s %s of %s" % (m and m[1], name, n))
    return bool(m) and int(m[1]) == int(n)


if __name__ == "__main__":
    sys.exit(0 if globals()[sys.argv[1]](Recording(sys.argv[2]), *sys.argv[3:]) else 1)
