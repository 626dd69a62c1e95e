#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench_bursts.py BUILD: what replayed bursts cost and what they are worth, of the samples and of real programs.

Each program is recorded natively with all defaults, for ten seconds of its time.  Beside that: how long its thread is
held for a burst, replayed and stepped in turns in the same run; the shares of its functions against exact counts of the
same work, or of a part of it where it repeats itself; its CPU time with and without the recorder, in turns; and its
instructions in all, as timed paths tell them, against the exact count.  And what a stop costs loops, which note the time
of each turn of some 20 microseconds: no pair of runs tells a tenth of a percent, turns about a stop do.

Each of these is kept in BUILD/bench-bursts as it is finished.  After LIMIT seconds (540) it ends with status 1, and goes
on where it was when it is run again; when all is there the tables are printed.  FRESH=1 begins anew, PROGRAMS="xz mcf"
does those only.
"""
import array
import bisect
import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from shares import shares

build = os.path.abspath(sys.argv[1])
top = os.getcwd()
skidprof = os.path.join(build, 'skidprof')
state = os.path.join(build, 'bench-bursts')
SECONDS, LIMIT = float(os.environ.get('SECONDS_EACH', 10)), float(os.environ.get('LIMIT', 540))
PART = 0.3  # of a second: counting takes some twenty times as long
PAIRS, PAIR_SECONDS, HELD = int(os.environ.get('PAIRS', 12)), 2, int(os.environ.get('BURSTS', 20))
begun = time.monotonic()
# Exact counts are of an emulated run, whose processor has no AVX-512: the library's functions are to be the same.
os.environ.update(LC_ALL='C.UTF-8', PERL_HASH_SEED='0', PYTHONHASHSEED='0',
                  GLIBC_TUNABLES='glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD')

# Work of one turn; what many turns of it are is a program's own matter, or a shell's.
LOOP = 'i=0; while [ $i -lt $0 ]; do i=$((i + 1)); "$@" || exit 1; done'
FILES = {
    'w.lua': '''local n, s = tonumber(arg[1]), 0
for r = 1, n do
	local t, w = {}, {}
	for i = 1, 20000 do t[i] = (i * 7919 + r) % 10007 end
	table.sort(t)
	for i = 1, 2000 do w[i] = string.format("k%d", t[i]) end
	local text = table.concat(w, " ")
	for k in text:gmatch("k(%d+)") do s = s + #k end
	s = s + #text:gsub("k1", "x"):upper()
end
print(s)
''',
    'w.py': '''import json, re, sys
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
for _ in range(int(sys.argv[1])):
    f(15)
    json.loads(json.dumps({i: str(i) for i in range(500)}))
    re.findall(r"(\\d+)a", "x12a" * 200)
    sorted((str(i * 7 % 1000) for i in range(1000)), key=lambda s: s[::-1])
''',
    'w.pl': '''for (1 .. $ARGV[0]) {
	my %h; for my $i (1 .. 2000) { $h{"k$i"} = $i * 3.5; }
	my $s = join ",", sort keys %h; $s =~ s/k(\\d+)/x$1y/g;
}
''',
    'w.sql': '''create table t (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) insert into t select i, hex(i * 7) from n;
select count(*), sum(length(b)) from t where b like '%A%' group by a % 100 order by 2;
''',
    'w.cc': '''#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() {
	std::map<std::string, std::vector<int>> m;
	for (int i = 0; i < 1000; i++) m[std::to_string(i % 37)].push_back(i);
	std::regex r("([0-9]+)a");
	for (auto &p : m) std::sort(p.second.begin(), p.second.end(), [](int a, int b) { return a > b; });
	return std::regex_match("12a", r) ? 0 : 1;
}
''',
}


# What makes them run for a second.  What they do changes as they go on: counted is all of it.
SAMPLES = {'soplex': 2500, 'omnetpp': 400000, 'mcf': 45000, 'hmmer': 900000, 'libsvm': 2800}


def sample(name, second):
    return name, lambda n: [os.path.join(build, 'samples', name), str(int(second * n))]


def real_python():
    found = shutil.which('python3')
    return subprocess.run([found, '-c', 'import os, sys; print(os.path.realpath(sys.executable))'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def loop(second, *words):
    """n seconds of a program that does one thing and ends."""
    return lambda n: ['sh', '-c', LOOP, str(max(int(second * n), 1)), *words]


def cc1():
    flags = [os.path.join(top, 'correct', 'solve', 'solve.c'), '-quiet', '-O2', '-std=gnu11', '-D_GNU_SOURCE', '-o', 'cc1.s']
    told = [subprocess.run(['gcc', what], stdout=subprocess.PIPE, text=True).stdout.strip()
            for what in ('-print-prog-name=cc1', '-print-multiarch')]
    return [told[0], '-imultiarch', told[1], '-iquote', top, *flags]


def programs():
    """Name, and the words that have it work for about n seconds of a processor of 2023."""
    for name, second in SAMPLES.items():
        yield sample(name, second)
    yield 'xz', lambda n: ['xz', '-6', '-k', '-c', '-T1', *['small'] * max(int(1.8 * n), 1)]
    yield 'gzip', lambda n: ['gzip', '-9', '-c', *['small'] * max(int(12 * n), 1)]
    yield 'sqlite3', loop(8, 'sqlite3', ':memory:', '-init', 'w.sql', '.quit')
    yield 'lua', lambda n: [shutil.which('lua5.4') or 'lua', 'w.lua', str(int(140 * n))]
    yield 'python3', lambda n: [real_python(), 'w.py', str(int(1200 * n))]
    yield 'gcc cc1', loop(2.5, *cc1())
    yield 'perl', lambda n: ['perl', 'w.pl', str(int(600 * n))]
    yield 'clang (C++)', loop(0.6, 'clang-14', '-cc1', '-internal-isystem', *clang_includes(), '-O2', '-fcxx-exceptions',
                              '-fexceptions', '-emit-obj', '-o', 'w.o', '-x', 'c++', 'w.cc')
    yield 'ripgrep (Rust)', lambda n: ['rg', '-j1', '--no-config', '-c', '-a', '([a-z]+)_([0-9a-f]+)x?\\b',
                                      *['small'] * max(int(100 * n), 1)]


def clang_includes():
    """What the driver would say, without it: one process, and the same each time."""
    out = subprocess.run(['clang-14', '-E', '-v', '-x', 'c++', '/dev/null'], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True).stderr if shutil.which('clang-14') else ''
    found = re.findall(r'^ (/\S+)$', out, re.M)
    return [w for at in found for w in ('-internal-isystem', at)][1:] or ['/usr/include']


def inputs(folder):
    for name, text in FILES.items():
        with open(os.path.join(folder, name), 'w') as f:
            f.write(text)
    sources = sorted(glob.glob(os.path.join(top, 'correct', '**', '*.[ch]'), recursive=True))
    text = b''.join(open(s, 'rb').read() for s in sources)
    with open(os.path.join(folder, 'small'), 'wb') as f:
        f.write(text[:600000] + open(os.path.join(build, 'libskidprof.a'), 'rb').read()[:600000])


class Late(Exception):
    pass


def left():
    return LIMIT - (time.monotonic() - begun)


def run(words, output=subprocess.DEVNULL):
    """What is told on standard error.  Late: the rest is for the next time."""
    try:
        if left() < 10:
            raise Late
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                              errors='replace', timeout=left()).stderr
    except subprocess.TimeoutExpired:
        raise Late from None


def measure_held(name, work):
    """Of one process: the one that a loop begins again and again, or one that doesn't end."""
    words = work(1)[4:] if work(1)[0] == 'sh' else work(1000)
    with open('held.out', 'w') as f:
        run(['./held', str(HELD), *words], f)
    return [float(x) for x in open('held.out').read().split()]


def measure_record(name, work):
    err = run([skidprof, 'record', '-v', '-o', name + '.data', *work(SECONDS)])
    found = re.search(r'(\d+) bursts of (\d+) branches', err)
    if not found:
        sys.exit(f'bench_bursts.py: {name}: {err}')
    held, of = re.search(r'held for ([\d.]+) ms of ([\d.]+) ms', err).groups()
    return {'bursts': int(found[1]), 'length': int(found[2]), 'held': float(held) / float(of), 'seconds': float(of) / 1e3,
            'ends': {why: int(k) for k, why in re.findall(r'bursts: (\d+) ended by (.+)', err)}}


def report(name, *more):
    with open('report.json', 'w') as f:
        err = run([skidprof, 'report', '-i', name + '.data', '--format', 'json', '--insns', *more], f)
    try:
        return json.load(open('report.json'))
    except ValueError:
        sys.exit(f'bench_bursts.py: {name}: {err}')


def measure_shares(name, work):
    """Functions of at least 1% of their region, which has 1% of the time: how far their shares are off, by bursts and by time."""
    part = SECONDS if name in SAMPLES else PART
    run([skidprof, 'truth', '-o', name + '.truth', *work(part)])
    bursts, exact = report(name), report(name, '--truth', name + '.truth')
    return sorted([abs(f.by_bursts - f.exact), abs(f.by_time - f.exact)] for f in shares(bursts, exact, least_region=0.01))


def turns(words):
    """Of the work that a program repeats."""
    return int(words[3]) if words[0] == 'sh' else words.count('small') or int(words[-1])


def count_exactly(name, words):
    run([skidprof, 'truth', '-o', name, *words])
    with open(name) as f:
        return int(re.search(r'^summary: (\d+)', f.read(), re.M)[1]), turns(words)


def exact_instructions(name, work):
    """Of all of it, or of two parts: what a turn takes, and what comes before the first (146 million of python3's)."""
    if name in SAMPLES:
        return count_exactly('all.truth', work(SECONDS))[0]
    (less, few), (more, many) = (count_exactly('part.truth', work(part)) for part in (PART / 6, PART))
    if few == many:
        return more * turns(work(SECONDS)) / many
    return more + (more - less) * (turns(work(SECONDS)) - many) / (many - few)


def measure_timed(name, work):
    """By how much all instructions are off, and half of their 90% interval; None where paths told none."""
    run([skidprof, 'record', '-v', '--timed-bursts', 'auto', '-o', 'timed.data', *work(SECONDS)])
    timed = report('timed')['meta']['timed']
    if not timed['instructions']:
        return {'paths': timed['paths'], 'off': None, 'half': None}
    exact = exact_instructions(name, work)
    return {'paths': timed['paths'], 'off': timed['instructions'] / exact - 1, 'half': (timed['hi'] - timed['lo']) / 2 / exact}


def cpu_seconds(words):
    """Of the program alone: the shell's own count of what it waited for."""
    err = run(['bash', '-c', 'TIMEFORMAT="%U %S cpu"; time "$@" 2>/dev/null', 'bash', *words])
    user, system = re.search(r'([\d.]+) ([\d.]+) cpu', err).groups()
    return float(user) + float(system)


def measure_slower(name, work):
    """In turns, so that both have the same neighbours; the program is timed inside the recording."""
    inner = ['bash', '-c', 'TIMEFORMAT="%U %S cpu"; time "$@" 2>/dev/null', 'bash', *work(PAIR_SECONDS)]
    ratios = []
    for _ in range(PAIRS):
        plain = cpu_seconds(work(PAIR_SECONDS))
        err = run([skidprof, 'record', '-o', 'pair.data', *inner])
        user, system = re.search(r'([\d.]+) ([\d.]+) cpu', err).groups()
        ratios.append((float(user) + float(system)) / plain)
    return ratios


# Kilobytes that a loop goes through: the first level of caches holds them, the second, the last.
LOOPS = (16, 400, 4000)
LOOP_SECONDS, LOOP_ROUNDS = 4, 3
STOPPED_NS, BEFORE_NS, AFTER_NS, BESIDE_NS = 80e3, 0.3e6, 3e6, 8e6


def read_turns(name):
    """When each began and ended, and its CPU time, ns."""
    ends = array.array('Q')
    with open(name, 'rb') as f:
        ends.frombytes(f.read())
    wall, cpu = ends[::2], ends[1::2]
    return [(wall[i - 1], wall[i], cpu[i] - cpu[i - 1]) for i in range(1, len(wall))]


def lost_at_stops(turns):
    """CPU time, ns, by which turns from just before a stop to AFTER_NS behind it are dearer than those that follow."""
    lost = []
    ended = [t[1] for t in turns]
    at = lambda ns: bisect.bisect_left(ended, ns)
    for began, end, cpu in turns:
        if end - began - cpu < STOPPED_NS:
            continue
        near = turns[at(began - BEFORE_NS):at(end + AFTER_NS)]
        beside = turns[at(end + AFTER_NS):at(end + AFTER_NS + BESIDE_NS)]
        if beside:
            base = statistics.mean(t[2] for t in beside)
            lost.append(sum(t[2] - base for t in near))
    return sorted(lost)


def middle_mean(values):
    """Without a tenth at either end: neighbours come and go."""
    cut = len(values) // 10
    return statistics.mean(values[cut:len(values) - cut])


def measure_stops(kb):
    loop = ['./stops', str(kb), str(LOOP_SECONDS * 1000), 'turns']
    alone, recorded, lost = [], [], []
    for _ in range(LOOP_ROUNDS):
        run(loop)
        alone.append(statistics.median(t[2] for t in read_turns('turns')))
        run([skidprof, 'record', '-o', 'stops.data', *loop])
        turns = read_turns('turns')
        recorded.append(statistics.median(t[2] for t in turns))
        lost.append(lost_at_stops(turns))
    all_lost = sorted(x for one in lost for x in one)
    return {'alone': statistics.median(alone), 'recorded': statistics.median(recorded),
            'lost': middle_mean(all_lost), 'a_second': len(all_lost) / (LOOP_SECONDS * LOOP_ROUNDS)}


STEPS = (('record', measure_record), ('held', measure_held), ('slower', measure_slower), ('shares', measure_shares),
         ('timed', measure_timed))


def result(name, step):
    return os.path.join(state, f'{name}.{step}.json')


def go_on(todo):
    """False where there was no time for all."""
    for name, work in todo:
        for step, measure in STEPS:
            if os.path.exists(result(name, step)):
                continue
            print(f'{name}: {step}', file=sys.stderr)
            try:
                found = measure(name, work)
            except Late:
                return False
            with open(result(name, step), 'w') as f:
                json.dump(found, f)
    for kb in LOOPS:
        if os.path.exists(result(f'{kb} KB', 'stops')):
            continue
        try:
            found = measure_stops(kb)
        except Late:
            return False
        with open(result(f'{kb} KB', 'stops'), 'w') as f:
            json.dump(found, f)
    return True


# As profiler/pmu/replayer.c names what can't be replayed.
OURS = ('code that was overwritten', 'too many pages', 'a segment', 'a transaction', 'a shadow stack', 'a protection key',
        'scalable vectors', 'matrices (SME)', 'memory tags', 'AMX', 'FP16', 'too much code', 'memory mapped twice',
        'an unknown instruction')


# Student's t: half of a 90% interval of a mean, over its standard error.
T95 = [6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76, 1.75]


def mean_of(values):
    """The mean, and half of its 90% interval."""
    if len(values) < 2:
        return values[0], float('nan')
    t = T95[min(len(values) - 2, len(T95) - 1)]
    return statistics.mean(values), t * statistics.stdev(values) / len(values) ** 0.5


def median_of(values):
    """The median, and half of its interval of at least 90% by rank: a neighbour that comes in one run of a pair is no part of it."""
    values, n, k, less = sorted(values), len(values), 0, 0.5 ** len(values)
    while less <= 0.05:
        k += 1
        less += math.comb(n, k) / 2 ** n
    return statistics.median(values), (values[n - k] - values[k - 1]) / 2 if k else float('nan')


def percent(mean, half):
    return f'{100 * mean:+.1f}+-{100 * half:.1f}%'


def row(name):
    found = {step: json.load(open(result(name, step))) for step, _ in STEPS}
    record, held, off, timed = found['record'], found['held'], found['shares'], found['timed']
    early = {why: k for why, k in record['ends'].items() if why in OURS}
    number = lambda x: f'{100 * x:6.2f}'
    times = lambda i: f'{held[i + 2] / held[i]:5.0f}' if held[i] and held[i + 2] else '    -'
    mean = lambda k: number(statistics.mean(o[k] for o in off)) if off else '     -'
    worst = lambda k: number(max(o[k] for o in off)) if off else '     -'
    slower = median_of([r - 1 for r in found['slower']])
    first = (f'{name:15}{record["bursts"] * 10 / record["seconds"]:7.0f}{record["length"]:6d}{100 * record["held"]:6.2f}%'
             f'{percent(*slower):>12}{100 * sum(early.values()) / max(record["bursts"], 1):6.1f}%'
             f'{len(off):7d}{mean(1)} {worst(1)}  {mean(0)} {worst(0)}' +
             (f'{100 * timed["off"]:+7.1f}% +-{100 * timed["half"]:.0f}%' if timed['off'] is not None else '       -'))
    second = f'{name:15}' + ''.join(f'{h:9.0f}' for h in held) + f'  {times(0)}  {times(1)}'
    return first, second, early, slower[0]


def tables(names):
    rows = [row(name) for name in names]
    head = [f'{"":47}{"ended":>7}{"func-":>7}{"by time":>15}{"by bursts":>15}{"instructions":>15}',
            f'{"":15}{"bursts":>7}{"long":>6}{"held":>7}{"slower":>12}{"early":>7}{"tions":>7}{"mean":>6} {"worst":>6}'
            f'  {"mean":>6} {"worst":>6}{"in all":>15}']
    cost = [f'{"":15}{"replayed":>18}{"stepped":>18}{"times less":>14}',
            f'{"":15}{"160":>9}{"1,000":>9}{"160":>9}{"1,000":>9}{"160":>7}{"1,000":>7}']
    causes = {}
    for _, _, early, _ in rows:
        for why, k in early.items():
            causes[why] = causes.get(why, 0) + k
    head_end = ['', f'slower, the mean of these programs: {percent(*mean_of([r[3] for r in rows]))}']
    return head + [r[0] for r in rows] + head_end, cost + [r[1] for r in rows], causes


def stops_table():
    yield f'{"":15}{"stops":>10}{"CPU time lost":>18}{"a turn of the loop":>22}'
    yield f'{"":15}{"a second":>10}{"a stop":>10}{"in all":>8}{"alone":>11}{"recorded":>11}'
    for kb in LOOPS:
        found = json.load(open(result(f'{kb} KB', 'stops')))
        yield (f'{f"{kb} KB":15}{found["a_second"]:10.0f}{found["lost"] / 1e3:10.0f}{found["lost"] * found["a_second"] / 1e7:7.2f}%'
               f'{found["alone"] / 1e3:11.1f}{found["recorded"] / 1e3:11.1f}')


def show(names, missing):
    first, second, causes = tables(names)
    print('\n'.join([*first, '', *second, '', *stops_table()]))
    if causes:
        print('\nended early:', ', '.join(f'{k} by {why}' for why, k in causes.items()))
    if missing:
        print('\nnot here:', ', '.join(missing))


def is_here(work):
    words = work(1)[4:] if work(1)[0] == 'sh' else work(1)
    return shutil.which(words[0]) is not None


def main():
    if os.environ.get('FRESH'):
        shutil.rmtree(state, ignore_errors=True)
    os.makedirs(state, exist_ok=True)
    inputs(state)
    libs = '-lcapstone -lgsl -lgslcblas -lelf -ldw -lm'.split()
    subprocess.run(['gcc', '-std=gnu11', '-D_GNU_SOURCE', '-O1', '-Wall', '-iquote', '.', 'tests/bench_bursts.c',
                    os.path.join(build, 'libskidprof.a'), *libs, '-o', os.path.join(state, 'held')], check=True)
    subprocess.run(['gcc', '-std=gnu11', '-O2', '-D_GNU_SOURCE', '-Wall', 'tests/bench_stops.c', '-o', os.path.join(state, 'stops')],
                   check=True)
    if not os.path.exists(os.path.join(state, 'skidreplay')):
        os.symlink(os.path.join(build, 'skidreplay'), os.path.join(state, 'skidreplay'))
    wanted = os.environ.get('PROGRAMS', '').split()
    known = [p for p in programs() if not wanted or p[0].split()[0] in wanted]
    os.chdir(state)
    here = [p for p in known if is_here(p[1])]
    if not go_on(here):
        sys.exit('bench_bursts.py: not all is measured yet: run it again, it goes on from here')
    show([p[0] for p in here], [p[0] for p in known if p not in here])


if __name__ == '__main__':
    main()
