# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact counts by instruction, as `skidprof truth` and `record --truth` write them."""
import re


def executions(path):
    """(path of the file, address in it, executions) of each instruction, in their order."""
    ob, names, of_call = None, {}, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("calls="):
                of_call = True
            elif of_call:
                # What a call came to is nothing that ran there.
                of_call = False
            elif line.startswith("ob="):
                number, name = re.match(r"ob=(\(\d+\))(?: (.*))?", line).groups()
                ob = names.setdefault(number, name)
            elif line.startswith("0x"):
                at, _, n = line.split()[:3]
                yield ob, int(at, 16), int(n)
