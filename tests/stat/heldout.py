#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""heldout.py BUILD CORE.core: kernels that were not used in the fit, their cycles on this processor and on the fitted core.

The model's cycles are those of two numbers of calls subtracted.  Straight-line loops are given to llvm-mca as well, for the
nearest processor that its version knows: Zen 3 here.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# The processor has seen each kernel many hundred times when it is timed: predictors know what can be known.
FEW, MANY = 20, 40


def run(*cmd):
    done = subprocess.run(cmd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"heldout: {' '.join(cmd)}: {done.stderr.strip()}")
    return done.stdout


def model_cycles(skidprof, core, program, kernel, scratch):
    total = []
    for calls in (FEW, MANY):
        data = os.path.join(scratch, "k.data")
        run(skidprof, "record", "-q", "--pmu", "sim", "--core", core, "-o", data, "--", program, "-n", str(calls), kernel)
        doc = json.loads(run(skidprof, "report", "-i", data, "--raw", "--format", "json"))
        total.append(next(e["total"] for e in doc["meta"]["events"] if e["name"] == "cycles"))
    return (total[1] - total[0]) / (MANY - FEW)


def loop_body(program, kernel):
    """The assembly of the one loop: from the target of the last branch backwards, to that branch."""
    text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble=kernel_{kernel}", program)
    lines = re.findall(r"^\s*([0-9a-f]+):\t(.*?)\s*(?:#.*)?$", text, re.M)
    for at, insn in reversed(lines):
        jump = re.match(r"j[a-z]+\s+([0-9a-f]+) <", insn)
        if jump and int(jump[1], 16) < int(at, 16):
            body = [i for a, i in lines if int(jump[1], 16) <= int(a, 16) < int(at, 16)]
            return "\n".join(["top:"] + body + [insn.split()[0] + " top"])
    return None


def turns_of_body(body, elements, size):
    """The index is raised by the bytes of one turn."""
    step = re.search(r"^add +\$(0x[0-9a-f]+),%r", body, re.M)
    return elements * size / int(step[1], 16) if step else None


def mca_cycles(program, kernel, elements, size):
    body = loop_body(program, kernel)
    turns = turns_of_body(body, elements, size) if body else None
    if not turns:
        return None
    text = subprocess.run(["llvm-mca", "-mcpu=znver3", "-iterations=500"], input=body, capture_output=True, text=True)
    found = re.search(r"Total Cycles:\s+(\d+)", text.stdout)
    return int(found[1]) / 500 * turns if found else None


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: heldout.py BUILD CORE.core")
    build, core = sys.argv[1:]
    skidprof, program = f"{build}/skidprof", f"{build}/heldout"
    ours, theirs, ours_there = [], [], []
    print(f"{'kernel':10} {'real':>11} {'model':>11} {'error':>8} {'llvm-mca':>11} {'error':>8}  better")
    with tempfile.TemporaryDirectory() as scratch:
        for line in run(program, "-l").splitlines():
            kernel, straight, elements, size = line.split()
            real = float(run(program, "-t", kernel).split()[1])
            model = model_cycles(skidprof, core, program, kernel, scratch)
            ours.append(abs(model / real - 1))
            mca = mca_cycles(program, kernel, int(elements), int(size)) if straight == "*" else None
            tail = f"{'-':>11} {'-':>8}"
            if mca:
                theirs.append(abs(mca / real - 1))
                ours_there.append(ours[-1])
                tail = f"{mca:11.1f} {100 * (mca / real - 1):+7.1f}%  {'llvm-mca' if theirs[-1] < ours[-1] else 'model'}"
            print(f"{kernel:10} {real:11.1f} {model:11.1f} {100 * (model / real - 1):+7.1f}% {tail}", flush=True)
    mean = lambda v: 100 * sum(v) / len(v)
    print(f"mean absolute error of the model: {mean(ours):.1f}% over {len(ours)} kernels", end="")
    if theirs:
        print(f"; over the {len(theirs)} straight-line ones {mean(ours_there):.1f}%, llvm-mca {mean(theirs):.1f}%", end="")
    print()


main()
