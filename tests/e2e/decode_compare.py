# SPDX-License-Identifier: GPL-3.0-or-later
"""decode_compare.py DUMP OBJDUMP FILE: our decoding of all code sections against objdump's.

Prints the disagreements, at most ten, and how many instructions were compared.
Exit status 1 if there are any.
"""
import re
import subprocess
import sys

X86 = {
    "call": {"call", "callq", "callw"}, "jump": {"jmp", "jmpq", "jmpw"},
    "ret": {"ret", "retq", "retw", "lret", "lretw", "lretq", "iret", "iretq", "iretw", "sysret", "sysretl",
            "sysretq", "sysexit"},
    "stop": {"ud2", "ud1", "ud0", "hlt", "int3", "int1"}, "syscall": {"syscall", "sysenter", "int"},
}
A64 = {
    "call": {"bl"}, "jump": {"b", "b.al", "b.nv"}, "cond": {"cbz", "cbnz", "tbz", "tbnz"},
    "jump-ind": {"br", "braa", "brab", "braaz", "brabz"}, "call-ind": {"blr", "blraa", "blrab", "blraaz", "blrabz"},
    "ret": {"ret", "retaa", "retab", "eret"}, "stop": {"brk", "hlt", "udf"}, "syscall": {"svc", "hvc", "smc"},
}
PREFIXES = re.compile(r"^((bnd|notrack|data16|addr32|rex(\.\w+)?|[c-g]s|ss|lock|rep[a-z]*|\{\w+\})\s+)+")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def code_sections(path):
    pattern = re.compile(r"\s*\[\s*\d+\]\s+\S+\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)\s+\S+\s+\w*X")
    return [word for line in run("readelf", "-SW", path) for m in [pattern.match(line)] if m for word in m.groups()]


def x86_flow(text):
    text = PREFIXES.sub("", re.sub(r"\s+#.*", "", text))
    name, _, operand = text.partition(" ")
    name, operand = name.split(",")[0], operand.strip()
    flow = next((f for f, names in X86.items() if name in names), "plain")
    if name in ("ljmp", "lcall") or operand.startswith("*") and flow in ("call", "jump"):
        flow = ("call" if "call" in name else "jump") + "-ind"
    elif flow == "plain" and (name.startswith(("j", "loop")) or name == "xbegin"):
        flow = "cond"
    m = re.match(r"(?:0x)?([0-9a-f]+)\b", operand)
    return flow, int(m.group(1), 16) if m and flow in ("call", "jump", "cond") else None


def a64_flow(text):
    text = re.sub(r"\s+//.*", "", text)
    name = text.split()[0]
    flow = next((f for f, names in A64.items() if name in names), "cond" if name.startswith("b.") else "plain")
    m = re.search(r"(?:^|[\s,])(?:0x)?([0-9a-f]+)(?: <.*)?$", text)
    return flow, int(m.group(1), 16) if m and flow in ("call", "jump", "cond") else None


def main():
    dump, objdump, path = sys.argv[1:]
    a64 = "aarch64" in objdump
    ours = {}
    for line in run(dump, path, *code_sections(path)):
        vaddr, size, flow, target, unknown = line.split()
        ours[int(vaddr, 16)] = int(size), flow, int(target, 16), unknown == "1"
    compared, unknown, bad = 0, 0, []
    for line in run(objdump, "-d", "-w", *([] if a64 else ["--insn-width=16"]), path):
        m = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+|[0-9a-f]{8} )\s*\t?(.*)$", line)
        if not m or not m.group(3) or re.search(r"\(bad\)|\.byte|\.inst|undefined", m.group(3)):
            continue
        compared += 1
        size = 4 if a64 else len(m.group(2).split())
        flow, target = (a64_flow if a64 else x86_flow)(m.group(3).strip())
        mine = ours.get(int(m.group(1), 16))
        unknown += bool(mine and mine[3])
        if not mine or mine[:2] != (size, flow) or target is not None and mine[2] != target:
            bad.append("%s, ours: %s" % (line.strip(), mine))
    print("# %s: %d instructions compared, %d without details, %d disagree" % (path, compared, unknown, len(bad)))
    for line in bad[:10]:
        print("#   " + line)
    return 1 if bad or compared < 1000 else 0


sys.exit(main())
