#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""readers.py BUILD PAGE: counts of other tools beside our own, of two samples, as a table of a manual page.

Each tool counts the same binary.  Of functions with at least 1% of the instructions of skidprof truth the largest
difference is given, and the largest of all differences as a share of the total.  The table stands between two
comments of the page and is written anew.  EXTRA_TRUTH is a folder with lists of DrCCTProf, where there are some.
"""
import glob, json, os, subprocess, sys, tempfile

BEGIN, END = '.\\" figures of tests/readers.py: begin', '.\\" figures of tests/readers.py: end'
SAMPLES = (('soplex', '20'), ('libsvm', '50'))
build, page = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
top = os.getcwd()
extra = os.environ.get('EXTRA_TRUTH', os.path.join(top, '..', 'shared', 'truth'))
skidprof = os.path.join(build, 'skidprof')


def run(*words):
    return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def functions(truth):
    d = json.loads(run(skidprof, 'compare', '-i', 'data', '--truth', truth, '--rollup', '--format', 'json'))
    rows = {}
    for f in d['functions']:
        name = f['name'].split('(')[0]
        rows[name] = rows.get(name, 0) + f['truth']
    return rows


def bolt():
    found = sorted(glob.glob('/usr/lib/llvm-*/bin/llvm-bolt'))
    if not found:
        sys.exit('readers.py: no llvm-bolt: install bolt-16')
    return found[-1]


def tools(arg):
    """Files of exact counts of ./app arg, each with its name in the table."""
    valgrind = ('valgrind', '-q', '--tool=callgrind', '--skip-plt=no')
    run(*valgrind, '--dump-instr=yes', '--callgrind-out-file=instr', './app', arg)
    yield 'callgrind, by instruction', 'instr'
    run(*valgrind, '--callgrind-out-file=lines', './app', arg)
    yield 'callgrind, by function', 'lines'
    run('valgrind', '-q', '--tool=cachegrind', '--cachegrind-out-file=cache', './app', arg)
    yield 'cachegrind', 'cache'
    run(bolt(), 'app', '--instrument', '-o', 'app.inst', '--instrumentation-file=' + os.path.abspath('fdata'))
    run('./app.inst', arg)
    yield 'BOLT, on this processor', 'fdata'


def measure(sample, arg, source):
    """Rows of one sample: what of the program's own functions each tool counts otherwise."""
    run('g++', '-O2', '-g', '-Wl,-q', source, '-o', 'app')
    run(skidprof, 'record', '--pmu', 'sim', '-q', '-o', 'data', '--truth', 'own', './app', arg)
    run('g++', '-O2', '-g', source, '-o', 'plain')
    own = functions('own')
    total = sum(own.values())
    # BOLT counts the program alone, so that is what is compared.
    names = {line[19:].split('(')[0] for line in run('nm', '-C', 'app').decode().splitlines() if line[17:18] in 'tTwW'}
    for tool, file in tools(arg):
        counts = functions(file)
        off = {n: counts.get(n, 0) - own[n] for n in own if n in names and own[n] >= 0.01 * total}
        yield sample, tool, sum(counts.values()), off, own, total
    lists = sorted(glob.glob(os.path.join(extra, 'drcctprof-real-soplex20.out'))) if sample == 'soplex' else []
    if lists:
        # The list is of a build without relocations kept: the same code elsewhere.
        run(skidprof, 'record', '--pmu', 'sim', '-q', '-o', 'data', '--truth', 'own', './plain', arg)
        rows = json.loads(run(skidprof, 'compare', '-i', 'data', '--truth', lists[0], '--by', 'insn', '--format', 'json'))
        mine = json.loads(run(skidprof, 'compare', '-i', 'data', '--truth', 'own', '--by', 'insn', '--format', 'json'))
        mine = {r['name']: r['truth'] for r in mine['instructions']}
        off = {r['name']: r['truth'] - mine[r['name']] for r in rows['instructions']
               if r['truth'] and r['name'] in mine and not r['name'].startswith('(')}
        yield sample, 'DrCCTProf, its 200 contexts', rows['total_truth'], off, mine, total


def table():
    lines = ['.Bd -literal',
             '%-8s%-27s%13s%10s%10s' % ('sample', 'counted by', 'instructions', 'largest', 'of total')]
    for sample, arg in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for name, tool, n, off, own, total in measure(sample, arg, os.path.join(top, 'samples', sample + '.cc')):
                worst = max(off, key=lambda k: abs(off[k]) / own[k])
                share = max(abs(x) for x in off.values()) / total
                lines.append('%-8s%-27s%13s%+9.3f%%%9.4f%%' %
                             (name, tool, format(int(n), ','), 100 * off[worst] / own[worst], 100 * share))
            os.chdir(top)
    return lines + ['.Ed']


text = open(page).read()
head, rest = text.split(BEGIN + '\n')
tail = rest.split(END + '\n')[1]
body = '\n'.join(table())
with open(page, 'w') as f:
    f.write(head + BEGIN + '\n' + body + '\n' + END + '\n' + tail)
