#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""reasons.py SKIDPROF FILE...: a function of a recording has one status and one reason, in all that report writes.

JSON, CSV, the page of --html, and --why in words and as JSON (of the largest functions); status 1 and a line for each that differs.
"""
import collections
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

MOST = 4  # functions of a file that are explained


def run(*args):
    p = subprocess.run(args, capture_output=True, text=True, errors="replace", check=False)
    return p.stdout if p.returncode in (0, 3) else None


def page_rows(report):
    with tempfile.TemporaryDirectory() as room:
        path = os.path.join(room, "page.html")
        run(*report, "-q", "--html", path)
        text = open(path, encoding="utf-8").read()
    rows = collections.defaultdict(set)
    for f in json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["functions"]:
        rows[f.get("full_name", f["name"]), f["module"]].add((f["status"], f["why"] or ""))
    return rows


def differences(skidprof, path):
    report = (skidprof, "report", "-i", path, "--no-debuginfod")
    out = run(*report, "-q", "--format", "json")
    if out is None:
        return None, []
    rows, bad = json.loads(out)["functions"], []
    table = {(r["full_name"], r["module"], r["linkage"]): (r["status"], r["why"]) for r in csv.DictReader(io.StringIO(run(*report, "-q", "--format", "csv")))}
    page = page_rows(report)
    for n, r in enumerate(rows):
        name, said = r["full_name"], (r["status"], r["why"] or "")
        if table.get((name, r["module"], r["linkage"] or "")) != said:
            bad.append((name, "csv", table.get((name, r["module"], r["linkage"] or "")), said))
        if said not in page[name, r["module"]]:
            bad.append((name, "html", page[name, r["module"]], said))
        if n >= MOST or re.search(r"[*?\[]", name):
            continue
        text = re.findall(r"^  status: (\w+)(?:: (.*))?$", run(*report, "-q", "--why", name) or "", re.M)
        # What is fixed has no reason, and what that means is said instead.
        if (said if said[1] else r["status"]) not in (text if said[1] else [s for s, _ in text]):
            bad.append((name, "--why", text, said))
        why = json.loads(run(*report, "-q", "--why", name, "--format", "json") or '{"why": []}')["why"]
        if said not in [(w["status"], w["why"] or "") for w in why]:
            bad.append((name, "--why as JSON", why and (why[0]["status"], why[0]["why"]), said))
    return len(rows), bad


def main():
    n_rows, n_bad = 0, 0
    for path in sys.argv[2:]:
        n, bad = differences(sys.argv[1], path)
        n_rows += n or 0
        n_bad += len(bad)
        for b in bad:
            print(os.path.basename(path), *b)
    print(f"{n_rows} functions, {n_bad} differ")
    sys.exit(n_bad > 0 or not n_rows)


if __name__ == "__main__":
    main()
