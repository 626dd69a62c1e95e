#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""check.py GUEST: what the guest recorded (GUEST/out), against what its programs (GUEST/root/t) must do.

The programs' instructions are known one by one: by hand (see the .S files) and from a run that is single-stepped in
qemu-aarch64.  In this guest a cycle is an instruction, and a counter's value v in a sample says that v instructions
have retired, so the sample's ip must be the program's instruction number v, counted from 0.
"""
import collections
import os
import re
import subprocess
import sys

GUEST = sys.argv[1]
OUT = os.path.join(GUEST, "out")
TURNS = 100000


class Tap:
    n = 0
    failed = 0

    @classmethod
    def check(cls, name, good, note=""):
        cls.n += 1
        cls.failed += not good
        print(f"{'ok' if good else 'not ok'} {cls.n} - {name}")
        if note and not good:
            print(f"# {note}")


Record = collections.namedtuple("Record", "pid tid time kind fields")


class Sample:
    def __init__(self, record):
        self.pid, self.tid, self.time = record.pid, record.tid, record.time
        self.event, ip, self.mode, period = record.fields[:4]
        self.event = re.sub(r":u$", "", self.event)
        self.ip, self.period = int(ip, 16), int(period)
        self.values = {re.sub(r":u$", "", k): int(v) for k, v in (f.rsplit("=", 1) for f in record.fields[4:])}


class Recording:
    def __init__(self, name):
        run = subprocess.run([os.path.join(GUEST, "dump"), os.path.join(OUT, name), "all"], capture_output=True, text=True)
        self.error = run.stderr if run.returncode else ""
        self.records = []
        for line in run.stdout.splitlines():
            w = line.split(" ")
            self.records.append(Record(int(w[0]), int(w[1]), int(w[2]), w[3], w[4:]))
        self.samples = [Sample(r) for r in self.records if r.kind == "sample"]

    def of(self, kind):
        return [r for r in self.records if r.kind == kind]


class Path:
    """The ips of a program with one loop: those before it, then its turns."""

    def __init__(self, name, before, body):
        log = os.path.join(GUEST, name + ".trace")
        subprocess.run(["qemu-aarch64", "-singlestep", "-d", "exec,nochain", "-D", log,
                        os.path.join(GUEST, name + ".short")], check=True)
        with open(log) as f:
            self.ips = [int(line.split("/")[1], 16) for line in f if line.startswith("Trace")]
        self.before, self.body = before, body

    def at(self, n):
        return self.ips[n if n < self.before else self.before + (n - self.before) % self.body]


# Two turns of turns.S (an even, an odd one) and one of straight.S; see there.
turns = Path("turns", 4, 102)
straight = Path("straight", 2, 1000)
Tap.check("turns.S, single-stepped, has the instructions counted by hand", len(turns.ips) == 4 + 4 * 51 + 3)
Tap.check("straight.S too", len(straight.ips) == 2 + 4 * 1000 + 3)

with open(os.path.join(OUT, "probe.out")) as f:
    probe = f.read()
Tap.check("libpfm4 knows the guest's core", "core arm_ac57\n" in probe, probe)
Tap.check("the guest's PMU counts cycles and instructions exactly",
          "cycles 4000000\n" in probe and "instructions 4000000\n" in probe, probe)

print(f"1..{Tap.n}")
sys.exit(Tap.failed > 0)
