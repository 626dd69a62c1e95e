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
cp out joint.json
check 'by core: it is reported' status 0 "$SKIDPROF" report -i plain.data --by core
check 'each kind has a table' test "$(grep -c '^SHARE' out)" -eq 2
check 'by its name' sh -c 'grep -q "^# only core cpu_core: " out && grep -q "^# only core cpu_atom: " out'
check 'JSON' status 0 "$SKIDPROF" report -i plain.data --by core --format json
check 'has both, with every sample of the file' json '[k["meta"]["filter"] for k in d] == ["core cpu_core", "core cpu_atom"] and sum(k["meta"]["samples"] for k in d) == d[0]["meta"]["all_samples"]'
check 'their counts add up' json 'abs(sum(f["raw"] for k in d for f in k["functions"]) / sum(f["raw"] for f in __import__("json").load(open("joint.json"))["functions"]) - 1) < 1e-9'
# Every other 100 us of one run is of the other kind, so both ran the same: the least function has 530 and 800 samples on each, so
# that the quotient of two IPC has a deviation of .08.
check 'the same code on the same core has the same IPC' json 'all(abs(a["ipc_raw"] / b["ipc_raw"] - 1) < 0.4 for a in d[0]["functions"] for b in d[1]["functions"] if a["name"] == b["name"] and a["name"] in ("mixed", "slow", "look", "quick"))'
# As perf record -e cycles was typed, and as each kind of cores counted it.
total='sum(f["cycles"] for f in d["functions"])'
check 'both kinds by the name that was typed' status 0 "$SKIDPROF" report -i plain.data --event cycles --format json
check 'are all of it' json "abs($total / sum(k['cycles'] for k in d['meta']['cores']) - 1) < 1e-9"
cp out both.json
check 'the name that is shown is taken, too' status 0 "$SKIDPROF" report -i plain.data --event 'cpu_core/cycles/u + cpu_atom/cycles/u' --format json
check 'and means the same' cmp -s out both.json
for kind in core atom; do
	check "cpu_$kind alone" status 0 "$SKIDPROF" report -i plain.data --event "cpu_$kind/cycles/" --format json
	check 'is its own cycles' json "abs($total / next(k['cycles'] for k in __import__('json').load(open('both.json'))['meta']['cores'] if k['name'] == 'cpu_$kind') - 1) < 1e-9"
done
plain events=cycles,instructions hybrid=100 read
check 'with counters read: by core' status 0 "$SKIDPROF" report -i plain.data --by core --format json
check 'each kind has a skid of its own' json 'all(k["meta"]["skid"]["source"] == "measured" and k["meta"]["skid"]["measured_from"] > 1000 for k in d)'
# As they are recorded by default: groups in turns, several on each kind of core.
check 'in turns: it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --core skylake,zen5 --bursts 0 -o turns.data --truth turns.truth \
	./three 300000
"$SKIDPROF" compare -i turns.data --truth turns.truth --format json >out 2>err
# What one kind alone counted is of other code at other paces: the mix is right where both kinds' counts are of one event, and cycles are of one pace.
check 'no fixed count is false' json 'sum(f["status"] == "fixed" for f in d["functions"]) >= 3 and all(abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["status"] == "fixed" and f["truth_share"] > 0.01)'
check 'all groups are counted in' json 'abs(d["total_raw"] / d["total_truth"] - 1) < 0.05'
check 'in turns, by core' status 0 "$SKIDPROF" report -i turns.data --by core --format json
check 'no more ran on one kind than was sampled there' json 'all(abs(sum(f["fixed"] for f in k["functions"]) / sum(f["raw"] for f in k["functions"]) - 1) < 0.05 for k in d)'
check 'one kind of cores' status 1 "$SKIDPROF" report -i three.data --by core
check 'is said' grep -q 'one kind of cores' err
check 'a misspelt word' status 2 "$SKIDPROF" report -i three.data --by cores
check 'is named' grep -q "did you mean 'core'" err
plain events=cycles hybrid=100 stack=any
check 'branch records of both kinds' status 0 "$SKIDPROF" report -i plain.data --format json
check 'tell the shares' shares 0.01
finish
