#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""check.py GUEST: what the guest recorded (GUEST/out), against what its programs must do.

The programs' instructions are known one by one: by hand (see the .S files) and from a run that is single-stepped in
qemu-aarch64.  In this guest a cycle is an instruction, and a counter's value v in a sample says that v instructions
have retired, so the sample's ip must be the program's instruction number v, counted from 0.
"""
import collections
import json
import math
import os
import re
import subprocess
import sys

GUEST = sys.argv[1]
OUT = os.path.join(GUEST, "out")
SKIDPROF = os.path.join(os.environ["BUILD"], "skidprof")
# As run.sh builds the programs, and as their sources count.
TURNS, STRAIGHT_TURNS = 100000, 20000
TURNS_INSNS = 4 + TURNS * 51 + 3
LONG_INSNS = 4 + 2000000 * 51 + 3
TURNS_TRUTH = {"_start": 7 + TURNS * 13 // 2, "chain": 13 * TURNS, "divide": 7 * TURNS, "inner": 20 * TURNS, "odd": 9 * TURNS // 2}
STRAIGHT_INSNS = 2 + STRAIGHT_TURNS * 1000 + 3
STRAIGHT_TRUTH = {"_start": 5 + 250 * STRAIGHT_TURNS, "one": 100 * STRAIGHT_TURNS, "two": 200 * STRAIGHT_TURNS,
                  "three": 50 * STRAIGHT_TURNS, "four": 250 * STRAIGHT_TURNS, "five": 150 * STRAIGHT_TURNS}

n_checks = n_failed = 0


def check(name, good, *notes):
    global n_checks, n_failed
    n_checks += 1
    n_failed += not good
    print(f"{'ok' if good else 'not ok'} {n_checks} - {name}")
    for note in notes if not good else ():
        print("# " + str(note).strip()[:600].replace("\n", "\n# "))


def text(name):
    try:
        with open(os.path.join(OUT, name)) as f:
            return f.read()
    except OSError as e:
        return str(e)


def plain(event):
    return re.sub(r":u$", "", event)


Record = collections.namedtuple("Record", "pid tid time kind fields")
Sample = collections.namedtuple("Sample", "pid tid time event ip mode period values")


class Recording:
    def __init__(self, name):
        run = subprocess.run([os.path.join(GUEST, "dump"), os.path.join(OUT, name + ".data"), "all"], capture_output=True,
                             text=True)
        self.error, self.records, self.samples = run.stderr, [], []
        for line in run.stdout.splitlines():
            pid, tid, time, kind, *fields = line.split(" ")
            self.records.append(Record(int(pid), int(tid), int(time), kind, fields))
            if kind == "sample":
                event, ip, mode, period, *values = fields
                values = {plain(k): int(v) for k, v in (f.rsplit("=", 1) for f in values)}
                self.samples.append(Sample(int(pid), int(tid), int(time), plain(event), int(ip, 16), mode, int(period), values))

    def of(self, event):
        return [s for s in self.samples if s.event == event]

    def records_of(self, kind):
        return [r for r in self.records if r.kind == kind]

    def lost(self):
        return sum(int(r.fields[0]) for r in self.records_of("lost"))


class Path:
    """The ips of a program with one loop: those before it, then its turns."""

    def __init__(self, name, before, body):
        log = os.path.join(GUEST, name + ".trace")
        subprocess.run(["qemu-aarch64", "-singlestep", "-d", "exec,nochain", "-D", log, os.path.join(GUEST, name + ".short")],
                       check=True)
        with open(log) as f:
            self.ips = [int(line.split("/")[1], 16) for line in f if line.startswith("Trace")]
        self.before, self.body = before, body

    def at(self, n):
        return self.ips[n if n < self.before else self.before + (n - self.before) % self.body]

    def phases(self, ip):
        """Places in the loop that have this ip."""
        return [i for i in range(self.body) if self.ips[self.before + i] == ip]


def wrong_ips(samples, path):
    return [(s.event, hex(s.ip), s.values, hex(path.at(s.values["instructions"]))) for s in samples
            if s.mode != "user" or s.ip != path.at(s.values["instructions"])]


def recorded(name, status="0"):
    check(f"{name}: recorded", text(name + ".status").strip() == status, text(name + ".status"), text(name + ".err"))
    r = Recording(name)
    check(f"{name}: the file is read to its end", not r.error and r.records, r.error)
    return r


def the_pmu():
    probe = text("probe.out")
    check("libpfm4 knows the guest's core", "core arm_ac57\n" in probe, probe)
    check("the guest's PMU counts cycles and instructions exactly", "cycles 4000000\ninstructions 4000000\n" in probe, probe)


def one_program(turns):
    r = recorded("turns")
    for event in ("instructions", "cycles"):
        check(f"turns: {TURNS_INSNS // 10007} samples of {event}, as its instructions make",
              len(r.of(event)) == TURNS_INSNS // 10007, len(r.of(event)))
    check("turns: every sample is where the program was", not wrong_ips(r.samples, turns), wrong_ips(r.samples, turns)[:3])
    check("turns: cycles are instructions", all(s.values["cycles"] == s.values["instructions"] for s in r.samples))
    check("turns: no sample is late", all(s.values[s.event] % 10007 == 0 for s in r.samples))
    check("turns: nothing is lost, nothing throttled", r.lost() == 0 and not r.records_of("throttle"))
    perf = recorded("perf")
    check("turns: perf record takes the same samples", [(s.ip, s.values) for s in perf.samples] ==
          [(s.ip, s.values) for s in r.of("cycles")])


def stacks_of(name):
    """Branch stacks of bursts, newest branch first."""
    script = subprocess.run(["perf", "script", "-i", os.path.join(OUT, name + ".data"), "-F", "event,brstack"],
                            capture_output=True, text=True).stdout
    return [[tuple(int(x, 16) for x in e.split("/")[:2]) for e in line.split()[1:]]
            for line in script.splitlines() if line.split()[0].startswith("bursts")]


def check_stacks(name, turns, shortest):
    loop = turns.ips[turns.before:turns.before + turns.body + 1]
    taken = {(a, b) for a, b in zip(loop, loop[1:]) if b != a + 4}
    stacks = stacks_of(name)
    check(f"{name}: there are some, of {shortest} branches", len(stacks) > 5 and min(map(len, stacks)) >= shortest, stacks[:1])
    follows = all(a[1] <= b[0] and all(x in loop for x in range(a[1], b[0] + 4, 4)) for s in stacks for b, a in zip(s, s[1:]))
    check(f"{name}: each branch is one that the program takes, and leads to the next", follows and
          {b for s in stacks for b in s} <= taken, {b for s in stacks for b in s} - taken)


def stepped(turns):
    """Single steps change no count, and the branches they take are those of the program."""
    r = recorded("stepped")
    counted = r.of("instructions") + r.of("cycles")
    check("stepped: as many samples as without", len(counted) == 2 * (LONG_INSNS // 100003), len(counted))
    # An overflow on a step is noticed when the step's trap has entered the kernel: such a sample is of a burst, which
    # is on record when it ends, before the program has gone on to its next sample.
    trapped = {i for i, s in enumerate(r.samples) if s.mode != "user" and s.event != "bursts"}
    outside = [s for i, s in enumerate(r.samples) if s.event != "bursts" and i not in trapped]
    after = {next((s.event for s in r.samples[i + 1:] if s.mode == "user"), None) for i in trapped}
    check("stepped: every sample is where the program was", not wrong_ips(outside, turns), wrong_ips(outside, turns)[:3])
    check("stepped: but for few, noticed in the kernel on a burst's step", len(trapped) <= 20 and after <= {"bursts"},
          [r.samples[i] for i in sorted(trapped)][:3], after)
    check_stacks("stepped", turns, 24)


def replayed(turns):
    """Replays are of another process: they change nothing, and see the same branches."""
    r = recorded("replayed")
    counted = r.of("instructions") + r.of("cycles")
    check("replayed: as many samples as without", len(counted) == 2 * (LONG_INSNS // 100003), len(counted))
    check("replayed: every sample is where the program was", not wrong_ips(counted, turns), wrong_ips(counted, turns)[:3])
    check_stacks("replayed", turns, 1)
    whole = [s for s in stacks_of("replayed") if 1000 <= len(s) <= 2000]
    # But for the one that comes to the program's end.
    check("replayed: they are of 1,000 to 2,000 branches", len(whole) >= len(stacks_of("replayed")) - 1)
    r, err = recorded("unasked"), text("unasked.err")
    said = re.search(r"(\d+) bursts of (\d+) branches", err)
    check("replayed: unasked too, where there are no branch records, and it is said", "taking bursts instead" in err and
          said and int(said[1]) > 0, err)
    check("replayed: no sample is missing for it",
          len(r.of("instructions") + r.of("cycles")) == 2 * (LONG_INSNS // 100003))


def known_skid(name, n, period, path, insns):
    """A late sample: by value mod period, which the companion bounds by n, and whose phase in its period is fixed."""
    r = recorded(name)
    # An overflow of the last few instructions is noticed when the kernel has the program already, and it ends.
    if r.samples and r.samples[-1].values["instructions"] == insns:
        r.samples.pop()
    late = [s.values["instructions"] % period for s in r.samples]
    check(f"{name}: {insns // period} samples", len(late) in (insns // period, insns // period - 1), len(late))
    check(f"{name}: every sample is where the program was", not wrong_ips(r.samples, path), wrong_ips(r.samples, path)[:3])
    check(f"{name}: it is late by 0..{n - 1}", late and max(late) < n, max(late, default=None))
    # A tick, once in 4e6 instructions, may notice an overflow first: one in 1e5 samples here, one in 1e4 for n = 1009.
    phases = collections.Counter(s.values["instructions"] % n for s in r.samples).most_common(3)
    check(f"{name}: as the companion made it", phases and phases[0][1] >= len(r.samples) - 2, phases)
    return r, late


def skids(turns, straight):
    for n in (101, 1009):
        _, late = known_skid(f"skid{n}", n, 10007, turns, TURNS_INSNS)
        # Uniform: standard deviation of the mean n / sqrt(12) / sqrt(509); 4 of them.
        mean = sum(late) / max(len(late), 1)
        check(f"skid{n}: evenly late", abs(mean - (n - 1) / 2) < 4 * n / (12 * 509) ** 0.5, mean)
    r, _ = known_skid("straight", 101, 10000, straight, STRAIGHT_INSNS)
    ips = {s.ip for s in r.samples}
    check("straight: the recorder warns of such a period", "period 10000 is not prime" in text("straight.err"), text("straight.err"))
    check("straight: its period shows at most 101 of 1000 instructions", len(ips) <= 101, len(ips))


def tasks():
    """Each task by the ips of its loop; the place in the loop tells how many instructions it did before it was counted."""
    # First instruction of a task's loop; a turn's length; instructions before it, at its end.
    nm = subprocess.run(["nm", os.path.join(GUEST, "root/t/tasks")], capture_output=True, text=True).stdout
    loops = {w[2][0]: int(w[0], 16) for w in map(str.split, nm.splitlines()) if w[2].endswith("_turn")}
    length = {"a": 5, "b": 7, "c": 9, "m": 11}
    r = recorded("tasks")
    by_task = collections.defaultdict(list)
    for s in r.of("instructions"):
        by_task[s.tid].append(s)
    seen = {}
    for tid, samples in by_task.items():
        inside = [(s, name) for s in samples for name in loops if 0 <= s.ip - loops[name] < 4 * length[name]]
        names = {name for _, name in inside}
        if len(names) == 1:
            name = names.pop()
            phases = {((s.ip - loops[name]) // 4 - s.values["instructions"]) % length[name] for s, _ in inside}
            seen[name] = (tid, samples, len(inside), phases)
    check("tasks: both threads, the child and the first thread are sampled", set(seen) == set("abcm"), seen.keys())
    for name, (tid, samples, n_inside, phases) in sorted(seen.items()):
        total = length[name] * TURNS + (30 if name == "m" else 6)
        # A task begins to be counted some time after it was made: at most 50,000 instructions (50 us) are missed.
        n_max, n_min = total // 10007, (total - 50000) // 10007
        check(f"tasks: {name} has its samples and no others", n_min <= len(samples) <= n_max and n_inside == len(samples),
              (len(samples), n_min, n_max, n_inside))
        check(f"tasks: {name}'s samples are where it was, all of them", len(phases) == 1, phases)
    executed = [s for s in r.of("instructions") if s.tid not in {t[0] for t in seen.values()}]
    check("tasks: the program executed in the second child is sampled, whole", len(executed) == TURNS_INSNS // 10007 and
          len({s.tid for s in executed}) == 1, len(executed))
    check("tasks: threads and children are recorded as such", len(r.records_of("fork")) == 4 and len(r.records_of("exit")) >= 5,
          len(r.records_of("fork")), len(r.records_of("exit")))
    check("tasks: so are their names", {"tasks", "turns"} <= {c.fields[0] for c in r.records_of("comm")})


def attach(turns):
    r = recorded("attach")
    check("attach: samples of 0.3 s of a running process", 250 < len(r.of("instructions")) <= 310, len(r.of("instructions")))
    common = None
    for s in r.samples:
        phases = {(p - s.values["instructions"]) % turns.body for p in turns.phases(s.ip)}
        common = phases if common is None else common & phases
    check("attach: every sample is where the process was", common, common)
    check("attach: its maps are there", any(m.fields[-1] == "/t/spin" for m in r.records_of("mmap")))
    check("attach: the process runs on", text("attach.state") == "R\n", text("attach.state"))


def lost():
    err = text("forbidden.err")
    check("lost: what an ordinary user may not is said in one line, with the remedy", text("forbidden.status") == "1\n" and
          err.count("\n") == 1 and "perf_event_paranoid" in err and not os.path.exists(os.path.join(OUT, "user/forbidden.data")), err)
    for name in ("lost", "ended"):
        err = text(name + ".err")
        check(f"{name}: recorded by an ordinary user", text(name + ".status") == "0\n", err)
        said = re.search(r"(\d+) samples .*lost", err)
        n, lost, r = 2 * (LONG_INSNS // 100003), int(said[1]) if said else 0, Recording("user/" + name)
        check(f"{name}: what is there and what the recorder says was lost make all samples", lost > 0 and r.samples and
              len(r.samples) + lost == n, len(r.samples), n, err)
        check(f"{name}: the file says so too", r.lost() == lost, r.lost())


def killed(turns):
    r = Recording("killed")
    check("killed: the recorder was", text("killed.status") == "137\n", text("killed.status"))
    check("killed: its file is readable", not r.error and r.samples, r.error)
    late = float(text("killed.time")) - (r.samples[-1].time / 1e9 if r.samples else 0)
    check("killed: at most the last second is lost", late < 1, late)
    check("killed: its samples are where the program was", not wrong_ips(r.samples, turns), wrong_ips(r.samples, turns)[:3])
    check("killed: the program is not left stopped", text("killed.state") in ("R\n", "S\n"), text("killed.state"))


def steps(turns):
    r = recorded("steps", "137")
    times = [s.time for s in r.samples]
    check("steps: times go on while the clock of the day steps", times and times == sorted(times) and
          times[-1] - times[0] < 1e9, times[:1], times[-1:])
    check("steps: every sample is where the program was", not wrong_ips(r.samples, turns), wrong_ips(r.samples, turns)[:3])


def throttle(turns):
    r = recorded("throttle")
    n = len(r.records_of("throttle"))
    check("throttle: the kernel throttles, and its records are there", n > 0 and len(r.of("cycles")) < TURNS_INSNS // 997, n)
    check("throttle: the recorder says so", re.search(rf"stopped sampling {n} times?", text("throttle.err")), text("throttle.err"))
    # While it is throttled it isn't counted either: values fall behind the program, by more each time.
    check("throttle: the first samples are where the program was", not wrong_ips(r.samples[:100], turns),
          wrong_ips(r.samples[:100], turns)[:3])


def functions(report):
    d = json.loads(report)
    return d, {f["name"]: f for f in d["functions"]}


def outside(funcs, truth, period):
    """What ran after the last sample, less than a period, is not in the file, and in no interval."""
    return {n: (t, funcs[n]["lo"], funcs[n]["hi"]) for n, t in truth.items()
            if not funcs[n]["lo"] - period <= t <= funcs[n]["hi"] + period}


def eps(funcs, truth, key):
    total = sum(f[key] for f in funcs.values())
    return 0.5 * sum(abs(funcs.get(n, {key: 0})[key] / total - t / sum(truth.values())) for n, t in truth.items())


def same(here, there):
    """Functions as another processor reports them.  The libraries it has contract to fma what they don't here, so the last digits differ."""
    def alike(a, b):
        number = all(type(x) in (int, float) for x in (a, b))
        return math.isclose(a, b, rel_tol=1e-12) if number else a == b

    def equal(f, g):
        return f.keys() == g.keys() and all(alike(f[k], g[k]) for k in f if k != "module")

    return len(here) == len(there) and all(map(equal, here, there))


def corrected():
    for name, truth, period in (("turns", TURNS_TRUTH, 10007), ("straight", STRAIGHT_TRUTH, 10000), ("perf", TURNS_TRUTH, 10007)):
        host = subprocess.run([SKIDPROF, "report", "--format", "json", "-i", os.path.join(OUT, name + ".data"), "--symfs",
                               os.path.join(GUEST, "root")], capture_output=True, text=True)
        check(f"{name}: corrected here", host.returncode in (0, 3), host.stderr)
        d, funcs = functions(host.stdout)
        check(f"{name}: all functions are there", set(truth) <= set(funcs), set(truth) - set(funcs))
        raw, fixed = eps(funcs, truth, "raw"), eps(funcs, truth, "fixed")
        print(f"# {name}: eps raw {raw:.2%}, fixed {fixed:.2%}")
        check(f"{name}: the truth is in each interval", not outside(funcs, truth, period), outside(funcs, truth, period))
        if name == "straight":
            check("straight: its samples say nearly nothing of it, the correction makes it right", raw > 0.5 and fixed < 0.001)
        if name == "perf":
            continue
        check(f"{name}: corrected in the guest", text(f"{name}_report.status").strip() == str(host.returncode),
              text(f"{name}_report.err"))
        there, _ = functions(text(f"{name}_report.out"))
        check(f"{name}: to the same numbers", same(d["functions"], there["functions"]))


def paths():
    """From the same stop the thread takes the branches that were replayed: programs of others."""
    for name in ("long", "sort", "gzip", "sha512sum", "awk", "clock", "sh", "memcpy"):
        out = text(f"paths_{name}.out")
        print(f"# {name}: {out.strip().splitlines()[-1][:160] if out.strip() else text(f'paths_{name}.err')}")
        check(f"paths: {name} goes the way that was replayed", text(f"paths_{name}.status").strip() == "0" and
              " differ 0 " in out, out[-600:], text(f"paths_{name}.err"))


def bursts(name, fewest, most, truth=TURNS_TRUTH):
    """Every turn of turns.S is known, so is each function's share: paths must tell it."""
    check(f"{name}: recorded", text(f"{name}.status").strip() == "0", text(f"{name}.err"))
    said = re.search(r"(\d+) bursts of (\d+) branches", text(f"{name}.err"))
    check(f"{name}: a few dozen of {fewest} to {most} branches", said and int(said[1]) > 30 and
          fewest - 1 <= int(said[2]) <= most, text(f"{name}.err"))
    host = subprocess.run([SKIDPROF, "report", "--format", "json", "-i", os.path.join(OUT, f"{name}.data"), "--symfs",
                           os.path.join(GUEST, "root")], capture_output=True, text=True)
    check(f"{name}: corrected", host.returncode == 0, host.stderr)
    share = {f["name"]: f["region_share"] for f in functions(host.stdout)[0]["functions"]}
    off = {n: share.get(n, 0) - t / sum(truth.values()) for n, t in truth.items()}
    print(f"# {name}: off by " + ", ".join(f"{n} {x:+.2%}" for n, x in off.items()))
    # Only whether a turn is odd differs between turns, and they alternate: 30 bursts of two turns and more, each cut off
    # at either end by part of one, see each function's share to about 1/60 of itself, 0.7% of all.
    check(f"{name}: shares within 1.5%", all(abs(x) < 0.015 for x in off.values()), off)


def doctor():
    """What doctor says a recording takes by default is what one did that was asked for nothing."""
    found = json.loads(text("doctor.out"))
    states = {c["name"]: c["state"] for c in found["checks"]}
    check("doctor: counters, a group, no branch records", states["counters"] == "ok" and states["group reads"] == "ok" and
          states["branch records"] == "missing", found["checks"])
    record = found["record"]
    check("doctor: the counters are the source", record["source"] == "hardware" and record["counters"], record)
    check("doctor: the events are those that were recorded", f"this machine's PMU: {record['events']}\n" in text("unasked.err"),
          record["events"], text("unasked.err"))
    check("doctor: bursts beside them, as was recorded", record["bursts"] == "replayed" and "bursts of" in text("unasked.err"),
          record, text("unasked.err"))
    check("doctor: that can be corrected", text("doctor.status").strip() == "0" and found["corrected"], text("doctor.status"))


def main():
    # Two turns of turns.S (an even, an odd one) and one of straight.S; see there.
    turns, straight = Path("turns", 4, 102), Path("straight", 2, 1000)
    check("turns.S, single-stepped, has the instructions counted by hand", len(turns.ips) == 4 + 4 * 51 + 3, len(turns.ips))
    check("straight.S too", len(straight.ips) == 2 + 4 * 1000 + 3, len(straight.ips))
    the_pmu()
    doctor()
    one_program(turns)
    stepped(turns)
    replayed(turns)
    skids(turns, straight)
    tasks()
    attach(turns)
    lost()
    killed(turns)
    steps(turns)
    throttle(turns)
    corrected()
    bursts("bursts", 40, 160)
    bursts("replays", 900, 2000)
    # A call a turn, and a burst ends when it has gone past 32.
    bursts("calls", 300, 900, {**TURNS_TRUTH, "_start": TURNS_TRUTH["_start"] + 3 * TURNS})
    passed = re.search(r"went past (\d+) system calls; (\d+) threads", text("calls.err"))
    check("calls: gone past, and none led elsewhere", passed and int(passed[1]) > 300 and int(passed[2]) == 0, text("calls.err"))
    paths()
    print(f"1..{n_checks}")
    return n_failed > 0


sys.exit(main())
