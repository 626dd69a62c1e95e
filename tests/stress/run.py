#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""run.py BUILD [whole]: recordings under load and faults. TAP, then a table of what was tried and what was lost.

The short form is part of make check; the whole one (make stress) does what its table says.
"""
import collections
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
WHOLE = sys.argv[2:] == ["whole"]
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIDPROF = os.path.join(BUILD, "skidprof")
VICTIM, DUMP, CLOCKSTEP = "./victim", "./dump", "./clockstep.so"
SEED = int(os.environ.get("SEED", "1"))

# Where samples come from: the simulated core, and the recorder of kernel events with one that every kernel has. The turns
# of a loop that a task of many does take some periods.
Source = collections.namedtuple("Source", "name options real_time work")
PERIOD_NS = 200000
SIM = Source("sim", ("--pmu", "sim"), False, "20000")
CLOCK = Source("kernel's cpu-clock", ("--pmu", "hardware", "-e", "cpu-clock", "-c", str(PERIOD_NS)), True, "2000000")

n_checks = n_failed = 0
table = []


def check(name, good, note=""):
    global n_checks, n_failed
    good = bool(good)
    n_checks += 1
    n_failed += not good
    print(f"{'ok' if good else 'not ok'} {n_checks} - {name}", flush=True)
    if note and not good:
        print("# " + str(note).strip().replace("\n", "\n# "), flush=True)
    return good


def row(source, what, lost):
    table.append((what, source.name, lost))


def number(short, whole):
    return whole if WHOLE else short


def command(source, out, *victim):
    return [SKIDPROF, "record", "-q", *source.options, "-o", out, "--", *victim]


def run(argv, limit=600, **more):
    """The finished process, with its output as text; its status is 124 when it took too long."""
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more
    try:
        return subprocess.run(argv, timeout=limit, **more)
    except subprocess.TimeoutExpired as e:
        return subprocess.CompletedProcess(argv, 124, str(e.stdout), str(e.stderr))


def one_line(text):
    return text.count("\n") == 1 and text.startswith("skidprof: ")


Reading = collections.namedtuple("Reading", "good samples tids pids lost first last events")


def read(path):
    """A recording, through our reader: is it readable to its end, and what is in it?"""
    r = run([DUMP, path, "all"])
    samples, tids, pids, lost, times = 0, set(), set(), 0, []
    events = collections.Counter()
    for line in r.stdout.splitlines():
        w = line.split(" ")
        if w[3] == "sample":
            samples += 1
            events[w[4]] += 1
            pids.add(w[0])
            tids.add(w[1])
            times.append(int(w[2]))
        elif w[3] == "lost":
            lost += int(w[4])
    return Reading(r.returncode == 0, samples, tids, pids, lost, min(times, default=0), max(times, default=0), events)


def in_group(path):
    """Processes whose command line has this word: nobody must be left behind, and stopped least of all."""
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/stat") as f:
                state = f.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if path.encode() in words and state != "Z":
            left.append((int(pid), state))
    return left


def wait_until(condition):
    """What it returns that is true; None when it does not come, however busy the machine."""
    for _ in range(2400):
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    return None


def cpu_seconds(pid):
    """CPU time that a process has had."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def programs(word):
    """Those of the group that are the program or its emulator, and no longer a copy of the recorder."""
    pids = []
    for pid, _ in in_group(word):
        try:
            with open(f"/proc/{pid}/comm") as f:
                name = f.read().strip()
        except OSError:
            continue
        if name not in ("skidprof", "burst-stepper"):
            pids.append(pid)
    return pids


def end_of(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def full_disk(source):
    os.mkdir("small")
    if run(["mount", "-t", "tmpfs", "-o", "size=32k" if source.real_time else "size=128k", "none", "small"]).returncode:
        print("# a full disk: skipped, as a small file system needs root", flush=True)
        return
    try:
        r = run(command(source, "small/x.data", VICTIM, "spin", "1.5"))
        ok = check(f"{source.name}: a full disk is one clear error", r.returncode == 1 and one_line(r.stderr) and
                   "small/x.data" in r.stderr and "No space left" in r.stderr, r)
        ok &= check(f"{source.name}: the program runs on to its end", r.stdout == "done\n", r)
        got = read("small/x.data")
        ok &= check(f"{source.name}: what was written is readable", got.good and got.samples > 50, got)
        row(source, "full disk", "what came after it was full" if ok else "FAILED")
    finally:
        run(["umount", "small"])
        os.rmdir("small")


def closed_output(source):
    r = run(command(source, "c.data", VICTIM, "spin", "0.2"), preexec_fn=lambda: os.close(1))
    ok = check(f"{source.name}: a closed standard output does no harm", r.returncode in (0, 1) and read("c.data").good, r)
    with open("/dev/full", "w") as full:
        r = run(command(source, "-", VICTIM, "spin", "0.5"), stdout=full)
        ok &= check(f"{source.name}: a full standard output is one clear error", r.returncode == 1 and
                    "No space left" in r.stderr, r)
        r = run([SKIDPROF, "report", "-q", "-i", "c.data"], stdout=full)
        ok &= check("report: a full standard output is one clear error",
                    r.returncode == 1 and one_line(r.stderr) and "No space left" in r.stderr, r)
    row(source, "closed and full standard output", "nothing" if ok else "FAILED")


def said(stderr):
    """What the recorder itself says of losses, in its last line or in warnings."""
    words = [s.split(": ")[-1] for line in stderr.splitlines() for s in line.split("; ") if re.search(r"lost|LOST|missed|could not|ended before", s)]
    return "it says: " + "; ".join(words) if words else "it says nothing"


def load(source, name, n_tasks, *victim):
    """A program of many tasks: that each was seen, and how much of its CPU time is in the samples."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    r = run([a for a in command(source, "l.data", VICTIM, *victim) if a != "-q"])
    cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    got = read("l.data")
    ok = check(f"{source.name}: {name}", r.returncode == 0 and "done" in r.stdout, r)
    ok &= check(f"{source.name}: {name}: the recording is whole", got.good and got.samples, got)
    n_seen = max(len(got.tids), len(got.pids)) - 1
    # Tasks are sampled unless the recorder says that it missed some.
    ok &= check(f"{source.name}: {name}: every task was sampled, or what was lost is said", n_seen == n_tasks or
                re.search("lost|missed|ended before", said(r.stderr).replace("none lost", "")), (n_seen, r.stderr))
    share = f"; {got.samples * PERIOD_NS / 1e9 / cpu_s:.0%} of the CPU time (the recorder's included)" if source.real_time else ""
    row(source, name, f"{got.lost} samples; {n_seen:,} of {n_tasks:,} tasks sampled{share}; {said(r.stderr)}" if ok else "FAILED")


def forks(source):
    n = number(200, 1000 if source is SIM else 10000)
    load(source, f"{n:,} forks", n, "forks", str(n), source.work)


def threads(source):
    rounds = number(1, 10 if source is SIM else 50)
    load(source, f"200 threads coming and going, {rounds} times", 200 * rounds, "threads", "200", str(rounds), source.work)


def maps(source):
    n = number(20000, 100000 if source is SIM else 1000000)
    r = run([a for a in command(source, "m.data", VICTIM, "maps", str(n), SKIDPROF) if a != "-q"])
    got, losses = read("m.data"), said(r.stderr)
    ok = check(f"{source.name}: {n} mmaps", r.returncode == 0 and r.stdout.endswith("done\n"), r)
    ok &= check(f"{source.name}: their recording is whole", got.good and got.samples, got)
    r = run([SKIDPROF, "report", "--raw", "-i", "m.data"])
    ok &= check(f"{source.name}: and is reported", r.returncode == 0 and "victim" in r.stdout, r)
    row(source, f"{n:,} mmaps", f"{got.lost} records; {losses}" if ok else "FAILED")


def target_killed(source):
    times, ok, samples = number(3, 20), True, 0
    for i in range(times):
        path = f"k{i}.data"
        p = subprocess.Popen(command(source, path, VICTIM, "spin", "60.5"), stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.exists(path) and programs("60.5"))
        time.sleep(random.uniform(0, 2))
        end_of(programs("60.5"))
        err = p.communicate(timeout=300)[1]
        got = read(path)
        os.unlink(path)
        samples += got.samples
        good = p.returncode == 137 and got.good and not in_group("60.5")
        if not good:
            ok = check(f"{source.name}: target killed, time {i + 1}", False, (p.returncode, err, got, in_group("60.5")))
    check(f"{source.name}: a target killed at {times} random moments gives 137 and a whole file", ok and samples > 0)
    row(source, f"target killed, {times} times", "nothing" if ok else "FAILED")


def recorder_killed(source):
    times, ok, no_file, worst = number(4, 100), True, 0, 0
    for i in range(times):
        path = f"r{i}.data"
        p = subprocess.Popen(command(source, path, VICTIM, "spin", "61.5"), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        # Every other one while it starts, or soon after.
        if i % 2:
            wait_until(lambda: os.path.exists(path) and programs("61.5"))
        time.sleep(random.uniform(0, 3 if i % 2 else 1))
        victims = programs("61.5")
        p.kill()
        killed_s, cpu_s = time.monotonic(), sum(map(cpu_seconds, victims))
        p.wait()
        unstopped = wait_until(lambda: not [s for s in in_group("61.5") if s[1] in "tT"])
        end_of([pid for pid, _ in in_group("61.5")])
        if not os.path.exists(path):
            no_file += 1
            continue
        got = read(path)
        # What came after the last sample, of which the program may have slept a part for others' sake.
        lost = min(killed_s - got.last / 1e9, cpu_s - got.samples * PERIOD_NS / 1e9) if source.real_time else 0
        worst = max(worst, lost)
        if not got.good or not unstopped or lost > 1.5:
            ok = check(f"{source.name}: recorder killed, time {i + 1}", False, (got, unstopped, lost))
        os.unlink(path)
    check(f"{source.name}: a recorder killed at {times} random moments leaves readable files and nothing stopped "
          f"({no_file} times before there was a file)", ok)
    row(source, f"recorder killed, {times} times",
        (f"at most the last {worst:.2f} s" if source.real_time else "at most what was not yet written") if ok else "FAILED")


def clock_steps(source):
    env = dict(os.environ, LD_PRELOAD=os.path.abspath(CLOCKSTEP))
    r = run(command(source, "s.data", VICTIM, "spin", "1"), env=env)
    got = read("s.data")
    span = (got.last - got.first) / 1e9
    ok = check(f"{source.name}: steps of the time of day do no harm", r.returncode == 0 and got.good and got.samples > 100 and
               (not source.real_time or 0.5 < span < 30), (r, got, span))
    r = run([SKIDPROF, "report", "-i", "s.data"], env=env)
    ok &= check(f"{source.name}: nor to a report", r.returncode in (0, 3) and "compute" in r.stdout, r)
    row(source, "time of day stepping by up to an hour (faked)", "nothing" if ok else "FAILED")


def unreadable(source):
    """Root reads everything, so somebody else tries."""
    if os.getuid() != 0:
        print("# unreadable binaries: skipped, as they need another user (root)", flush=True)
        return
    shutil.copy(VICTIM, "secret")
    os.chmod("secret", 0o711)
    os.makedirs("free", exist_ok=True)
    os.chmod("free", 0o777)

    def become_nobody():
        os.setgid(65534)
        os.setuid(65534)

    if source is SIM:
        r = run(command(source, "free/u.data", "./secret", "spin", "0.3"), preexec_fn=become_nobody)
        ok = check("sim: a program that can't be read is one clear error", r.returncode == 1 and one_line(r.stderr) and
                   "secret" in r.stderr, r)
        row(source, "unreadable program", "all: refused, as it can't be emulated" if ok else "FAILED")
        return
    # The kernel closes counters on a program that its user may not read.
    r = run([a for a in command(source, "free/u.data", "./secret", "spin", "0.3") if a != "-q"], preexec_fn=become_nobody)
    got = read("free/u.data")
    ok = check(f"{source.name}: a program that can't be read runs, and that it can't be sampled is said", r.returncode == 0 and
               r.stdout == "done\n" and got.good and (got.samples or "no samples" in r.stderr and "read" in r.stderr), r)
    row(source, "unreadable program", f"{'nothing' if got.samples else 'all: the kernel closes counters on it'}" if ok else "FAILED")


def replaced(source):
    shutil.copy(VICTIM, "old")
    with open(os.path.join(TOP, "tests/stress/victim.c")) as f:
        text = f.read().replace('puts("done")', 'puts("new")')
    subprocess.run(["gcc", "-x", "c", "-O2", "-g", "-", "-o", "new", "-lpthread"], input=text, text=True, check=True)
    r = run(command(source, "b.data", "./old", "replace", "old", "new"))
    ok = check(f"{source.name}: a program that is replaced while it runs", r.returncode == 0 and r.stdout == "done\n", r)
    r = run([SKIDPROF, "report", "--raw", "-i", "b.data"])
    ok &= check("report: that the build id is another is said, and no function is named by it", r.returncode in (0, 3) and
                re.search(r"/old: .*build", r.stdout) is not None and not re.search(r"\bcompute\b", r.stdout), r)
    row(source, "program replaced while it runs", "its functions' names" if ok else "FAILED")


def build():
    flags = ["-O2", "-g", "-D_GNU_SOURCE"]
    libs = subprocess.run(["pkg-config", "--libs", "libdw", "libelf", "libzstd"], stdout=subprocess.PIPE, text=True).stdout.split()
    here = os.path.join(TOP, "tests/stress")
    for argv in ([*flags, f"{here}/victim.c", "-lpthread", "-o", VICTIM],
                 [*flags, "-shared", "-fPIC", f"{here}/clockstep.c", "-ldl", "-o", CLOCKSTEP],
                 [*flags, "-std=gnu11", "-iquote", TOP, f"{TOP}/tests/e2e/perfdata_dump.c", f"{BUILD}/libskidprof.a", *libs,
                  "-o", DUMP]):
        subprocess.run(["gcc", *argv], check=True)


def sources():
    works = run(command(CLOCK, "try.data", "true"))
    if works.returncode == 0:
        return [SIM, CLOCK]
    print(f"# kernel events: skipped: {works.stderr.strip()}", flush=True)
    return [SIM]


def main():
    random.seed(SEED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        os.chdir(scratch)
        build()
        for source in sources():
            for case in (full_disk, closed_output, forks, threads, maps, target_killed, recorder_killed, clock_steps,
                         unreadable, replaced):
                begun = time.monotonic()
                case(source)
                print(f"# {case.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        os.chdir("/")
    print(f"1..{n_checks}")
    for what, source, lost in table:
        print(f"# {what:48} {source:20} {lost}")
    return n_failed > 0


sys.exit(main())
