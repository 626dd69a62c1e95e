#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""figures.py [--from REGEX] [--into PAGE] NAME COMMAND...: run a command that measures, and put its table into a page.

What the command prints goes to the terminal as well.  When it ends with status 0, what stands in PAGE (man/skidprof-figures.7)
between the two comments that have NAME is written anew: the version, date and machine, then the output, or the part of it behind the
first line that REGEX is found in.  What comes behind a line "@figures OTHER" is put between the comments of that name.
A Markdown table (its first line begins with '|') stays that, all else is literal.
The status is the command's.  Nothing is written where PRINT_ONLY is set, as for a short run.
"""
import argparse
import datetime
import os
import platform
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TOP, "man", "skidprof-figures.7")


def words_of():
    a = argparse.ArgumentParser(description="run a command that measures, and put its table into a page")
    a.add_argument("--from", dest="start", metavar="REGEX", help="only what comes behind the first line with REGEX")
    a.add_argument("--into", default=PAGE, metavar="PAGE")
    a.add_argument("name")
    a.add_argument("command", nargs=argparse.REMAINDER)
    words = a.parse_args()
    if not words.command:
        a.error("which command?")
    return words


def run(command):
    """Its output, which is shown as it comes, and its status."""
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as p:
        for line in p.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            # A page is of no one machine's folders.
            lines.append(line.rstrip().replace(TOP + "/", ""))
    return lines, p.returncode


def git(*words):
    try:
        return subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def version():
    with open(os.path.join(TOP, "Makefile")) as f:
        number = re.search(r"^VERSION\s*:=\s*(\S+)", f.read(), re.M)[1]
    commit = os.environ.get("FIGURES_COMMIT") or git("rev-parse", "--short", "HEAD")
    return f"skidprof {number}" + (f" (commit {commit})" if commit else "")


def machine():
    with open("/proc/cpuinfo") as f:
        text = f.read()
    found = {k: re.search(rf"^{k}\s*:\s*(.*)$", text, re.M) for k in ("model name", "cpu family", "flags")}
    name = found["model name"][1] if found["model name"] else platform.machine()
    if found["cpu family"]:
        name += f" (family {int(found['cpu family'][1]):X}h)"
    cpus = os.cpu_count()
    name += f", {cpus} processor{'s'[:cpus != 1]}"
    if found["flags"] and " hypervisor" in found["flags"][1]:
        name += ", virtual machine"
    return name


def stamp():
    now = datetime.date.today()
    return f"{version()}, {now.day} {now:%B %Y}, {machine()}, load {os.getloadavg()[2]:.0f}"


def quoted(line):
    """What roff would take for a request or an escape."""
    line = line.replace("\\", "\\e")
    return "\\&" + line if line[:1] in (".", "'") else line


def mdoc(lines):
    return [f"{quoted(stamp())}:", ".Bd -literal"] + [quoted(l) for l in lines] + [".Ed"]


def markdown(lines):
    table = lines if lines[0].startswith("|") else [("    " + l).rstrip() for l in lines]
    return table + ["", f"{stamp()}."]


def put(page, name, lines):
    mark = f"figures of {name}"
    with open(page) as f:
        text = f.read()
    # The comment's line, whatever the page's language; what is between the two goes.
    between = re.compile(rf"(^[^\n]*{re.escape(mark)}: begin[^\n]*\n).*?(^[^\n]*{re.escape(mark)}: end)", re.M | re.S)
    body = "".join(l + "\n" for l in lines)
    new, n = between.subn(lambda m: m[1] + body + m[2], text)
    if n != 1:
        sys.exit(f"figures.py: {page}: no comments '{mark}: begin' and '{mark}: end'")
    with open(page, "w") as f:
        f.write(new)


def trimmed(lines):
    """Without empty lines around it, and without the "# " that begins all of its lines."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    while lines and not lines[0]:
        lines = lines[1:]
    return [l[2:] for l in lines] if all(l.startswith("# ") for l in lines) else lines


def parts(name, lines):
    """Pairs of a name and its lines."""
    found = [(name, [])]
    for line in lines:
        if line.startswith("@figures "):
            found.append((line.split(" ", 1)[1], []))
        else:
            found[-1][1].append(line)
    return found


def main():
    words = words_of()
    lines, status = run(words.command)
    if status or os.environ.get("PRINT_ONLY"):
        return status
    if words.start:
        first = next((i for i, l in enumerate(lines) if re.search(words.start, l)), None)
        if first is None:
            sys.exit(f"figures.py: no line with '{words.start}'")
        lines = lines[first + 1:]
    for name, part in parts(words.name, lines):
        part = trimmed(part)
        if not part:
            sys.exit(f"figures.py: {name}: the command printed no table")
        put(words.into, name, (markdown if words.into.endswith(".md") else mdoc)(part))
    return 0


sys.exit(main())
