#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A processor of two kinds of cores: two PMUs have an event of the same name each, and a thread goes from one to the other.
# Samples of both are used.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
check 'it is recorded' record_three
plain events=cycles,instructions
check 'of one kind: it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
worst_of >one
cp out one.json
plain events=cycles,instructions hybrid=100
check 'of two kinds: it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'it is as right' no_worse "$(cat one)" 0.001
check 'the total is all of it' json 'abs(sum(f["raw"] for f in d["functions"]) / sum(f["raw"] for f in __import__("json").load(open("one.json"))["functions"]) - 1) < 1e-9'
check 'it is reported' status 0 "$SKIDPROF" report -i plain.data --format json
check 'every sample is used' json 'sum(e["samples"] for e in d["meta"]["events"]) == d["meta"]["samples"]'
check 'there are two kinds, each with its IPC' json '[c["name"] for c in d["meta"]["cores"]] == ["cpu_core", "cpu_atom"] and all(c["ipc"] > 0.1 for c in d["meta"]["cores"])'
check 'which add up' json 'abs(sum(c["instructions"] for c in d["meta"]["cores"]) - d["meta"]["events"][1]["total"]) < 1'
plain events=cycles hybrid=100 stack=any
check 'branch records of both kinds' status 0 "$SKIDPROF" report -i plain.data --format json
check 'tell the shares' shares 0.01
finish
