#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# More events than counters, and no group reads: nothing in the file says that an event had no counter for a part of the time,
# but that it is silent while others have samples.  Samples that were lost are told by a record.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
check 'it is recorded' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions -c 2003 -o three.data \
	--truth three.truth ./three
# Of events that only tell ratios a turn is enough.
check 'events beside them take turns' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -o beside.data ./three 100000
check 'it is reported' status 0 "$SKIDPROF" report -i beside.data
check 'that is said' grep -q '^# also counted: .*multiplexed: ' out
check 'and nothing is scaled' sh -c '! grep -q "had no counter" out'
# total PERCENT: the instructions of the program are all there.
total()
{
	python3 - "$1" <<'P'
import json, sys
rows = json.load(open("out"))["functions"]
fixed, truth = sum(f["fixed"] for f in rows), sum(f["truth"] for f in rows)
print(f"# {fixed:.4g} of {truth:.4g} instructions, {100 * fixed / truth - 100:+.2f}%")
sys.exit(abs(fixed / truth - 1) > float(sys.argv[1]) / 100)
P
}
# compared_and_reported WHAT: plain.data, with the report left in out.
compared_and_reported()
{
	check "$1: it is compared" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
	check 'all instructions are there, to 3%' total 3
	check 'the truth is in the intervals' json 'sum(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5) >= 3'
	check 'it is reported' status 0 "$SKIDPROF" report -i plain.data --format json
}
for how in 'turns=0.6:10' 'turns=0.6:10 freq' 'turns=0.8:10 freq'; do
	# shellcheck disable=SC2086
	plain events=cycles,instructions $how
	compared_and_reported "$how"
	check 'events are multiplexed' json 'all(e["multiplexed"] and e["rested"] > 0.1 for e in d["meta"]["events"])'
	check 'IPC is right to 5%' json 'abs(sum(f["fixed"] for f in d["functions"]) / sum(f["cycles"] for f in d["functions"]) / (d["meta"]["events"][1]["total"] / d["meta"]["events"][0]["total"]) - 1) < 0.05'
done
for how in '' freq; do
	# shellcheck disable=SC2086
	plain events=cycles,instructions $how
	check "without turns ($how) none are seen" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'events are not multiplexed' json 'not any(e["multiplexed"] or e["rested"] for e in d["meta"]["events"])'
done
plain events=cycles,instructions cut=0.2
check 'lost samples: it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'all instructions are there, to 3%' total 3
check 'it is reported' status 0 "$SKIDPROF" report -i plain.data
check 'and said' grep -q '^# the kernel lost' out

# The same with the stacks of calls, and of events neither of which tells instructions or cycles.
check 'with branch records' status 0 "$SKIDPROF" record --pmu sim -q -b --bursts 0 -e cycles,instructions -c 2003 -o branches.data ./three
python3 "$TOP/tests/e2e/plain.py" branches.data stacks.data events=cycles,instructions as=0:3:cache-misses turns=0.8:10 freq stack=callstack
python3 "$TOP/tests/e2e/plain.py" branches.data few.data events=cycles,instructions as=0:3:cache-misses,0:5:branch-misses turns=0.8:10 freq

# What is scaled, and has few samples, is marked, with what chance leaves open; with most of them it is not.
plain events=cycles,instructions as=0:3:cache-misses turns=0.8:10 freq
check 'an event that takes turns is shown' status 0 "$SKIDPROF" report -i plain.data --event cache-misses --min-share 0
check 'how far it is scaled is said, and what chance leaves' grep -q '^# cache-misses[:u]* had no counter .*scaled by [0-9.]*, and marked ~ .*: 52% for 10 samples, 16% for 100' out
# marks: counts are marked where, and only where, their samples leave more than 5% to either side.
marks()
{
	awk '$1 ~ /%$/ { n++; gsub(",", "", $2); few = 1.645 / sqrt($2) > 0.05; marked += few; if (few != ($3 ~ /^~/)) bad = 1 }
		END { print "# " n + 0 " rows, " marked + 0 " marked"; exit bad || !n || !marked }' out
}
check 'what is not known to 5% is marked' marks
check 'by thread, too' status 0 "$SKIDPROF" report -i plain.data --event cache-misses --threads --time 0%..15%
check 'it is marked' marks
# In every table that has such counts: none of a row has samples enough here.
for view in --lines '--callers quick' '--callees mixed' --children --events; do
	# shellcheck disable=SC2086
	check "$view of it" status 0 "$SKIDPROF" report -i stacks.data --event cache-misses --time 0%..10% --min-share 5% $view
	check 'marks them' awk '!/^#/ && / [~]?[0-9.]+[kM] / { n++; marked += / ~[0-9]/ } END { print "# " n + 0 " rows, " marked + 0 " marked"; exit !n || n != marked }' out
done
check 'a page of it' status 0 "$SKIDPROF" report -i stacks.data --event cache-misses --time 0%..15% --html page.html
check 'marks them, too' grep -q '"events_rough":true' page.html
check 'annotate' status 0 "$SKIDPROF" annotate -i few.data quick
check 'marks them as well' grep -q '% *~[0-9.]*k ' out
plain events=cycles,instructions as=0:3:cache-misses freq
check 'without turns' status 0 "$SKIDPROF" report -i plain.data --event cache-misses
check 'nothing is marked' sh -c '! grep -q "~" out'

# totals FILE WINDOW TOLERANCE OF: those of a window are what its share of the whole run is, as OF, without turns, has it.
totals()
{
	"$SKIDPROF" report -i "$4" --time "$2" --format json --method raw >whole 2>err || return 1
	"$SKIDPROF" report -i "$1" --time "$2" --format json --method raw >out 2>err || return 1
	python3 - "$3" <<'P'
import json, sys
events = lambda name: {e["name"]: e for e in json.load(open(name))["meta"]["events"]}
whole, part = events("whole"), events("out")
for name, e in part.items():
    print(f"# {name}: {e['samples']} samples, rested {e['rested']:.2f}, {e['total']:.4g} of {whole[name]['total']:.4g}")
sys.exit(any(abs(e["total"] / whole[n]["total"] - 1) > float(sys.argv[1]) for n, e in part.items()) or not any(e["rested"] > 0.1 for e in part.values()))
P
}
# Of a window as short as a few turns the whole recording tells where in it an event had no counter.
plain events=cycles,instructions
cp plain.data steady.data
plain events=cycles,instructions turns=0.6:10
for window in 10%..20%:0.04 40%..42%:0.06 55%..56.5%:0.1; do
	check "a window of turns (${window%:*}) comes to what it is without" totals plain.data "${window%:*}" "${window#*:}" steady.data
done
check 'a window in which cycles have no counter' status 0 "$SKIDPROF" report -i plain.data --time 40%..40.5%
check 'says that it is not known how many there were' grep -q '^# cycles:u had no counter 9[0-9.]*% of this time, .*not known' out
plain events=cycles,instructions read turns=0.6:10
for window in 0%..100%:0.02 10%..20%:0.05; do
	check "counters that were read (${window%:*}) come to that, too" totals plain.data "${window%:*}" "${window#*:}" steady.data
done

# Counters that are read with each sample have counted what no sample stands for: totals are theirs, and what is missing is said.
plain events=cycles,instructions read cut=0.2
check 'lost samples of a group: it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'all instructions are there, to 3%' total 3
check 'it is reported' status 0 "$SKIDPROF" report -i plain.data
check 'and said' grep -Eq '^# instructions:u: no sample stands for 1[0-9]\.[0-9]% of what was counted' out
check 'in JSON, too' status 0 "$SKIDPROF" report -i plain.data --format json
check 'of both events' json 'all(e["unsampled"] > 0.1 and abs(e["samples"] * e["period"] / e["total"] + e["unsampled"] - 1) < 1e-6 for e in d["meta"]["events"])'
plain events=cycles,instructions read
check 'where none is lost' status 0 "$SKIDPROF" report -i plain.data --format json
check 'none is said to be' json 'not any(e["unsampled"] for e in d["meta"]["events"])'
# Counts that do not come to what was sampled are not fixed, wherever the fault is: here in times that counters ran.
plain events=cycles,instructions read
check 'counts that come to what was sampled' status 0 "$SKIDPROF" report -i plain.data --format json
check 'are not in doubt for it' json 'not any("from all that was sampled" in f["why"] for f in d["functions"])'
plain events=cycles,instructions read ran=2
check 'counters that ran for longer than the program' status 0 "$SKIDPROF" report -i plain.data --format json
check 'fix nothing' json 'not any(f["status"] == "fixed" for f in d["functions"])'
check 'and the reason is said' json 'any("from all that was sampled" in f["why"] for f in d["functions"])'

# A group that takes turns with others is read with the time that its counters ran.  What it missed is not known to be like the rest.
plain events=cycles,instructions read turns=0.6:10
compared_and_reported 'a group that takes turns'
"$SKIDPROF" report -i steady.data --format json --method raw >whole 2>err
check 'it is multiplexed, for as long as its times say' json 'all(e["multiplexed"] and abs(e["rested"] - 0.4) < 0.02 for e in d["meta"]["events"])'
check 'IPC is right to 5%' json 'abs(sum(f["fixed"] for f in d["functions"]) / sum(f["cycles"] for f in d["functions"]) / (d["meta"]["events"][1]["total"] / d["meta"]["events"][0]["total"]) - 1) < 0.05'
check 'and cycles are those of the whole run, to 3%' json 'abs(sum(f["cycles"] for f in d["functions"]) / sum(e["total"] for e in json.load(open("whole"))["meta"]["events"] if e["name"] == "cycles:u") - 1) < 0.03'
check 'the skid is measured all the same' json 'd["meta"]["skid"]["source"] == "measured" and 100 < d["meta"]["skid"]["median_cyc"] < 1000'

# At a rate they do not tell the skid: all rests on a default, and no function is fixed.  Without a group it is the same.
for how in 'read freq' ''; do
	# shellcheck disable=SC2086
	plain events=cycles,instructions $how
	check "a guessed skid ($how)" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'is a default' json 'd["meta"]["skid"]["source"] == "default"'
	check 'and nothing is fixed by it' json 'not any(f["status"] == "fixed" for f in d["functions"])'
	check 'which is said, with the remedy' sh -c '"$SKIDPROF" report -i plain.data | grep -q "^# the skid is a default, .*--skid CYCLES"'
done
# What S is may be given: without a group, as here, functions can be fixed then, and nothing else is taken for known.
S=$("$SKIDPROF" report -i three.data --format json | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["meta"]["skid"]["median_cyc"]))')
check "a skid that is given ($S), without a group" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --skid "$S" --format json
check 'the truth is in the intervals' json 'sum(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5) >= 3'
check 'it is reported' status 0 "$SKIDPROF" report -i plain.data --skid "$S" --format json
check 'no function is weak for a guess' json 'not any("how far its samples skid" in (f["why"] or "") for f in d["functions"])'
check 'as given' json 'd["meta"]["skid"]["source"] == "given" and d["meta"]["skid"]["median_cyc"] == '"$S"
# -F 99: some samples, from which nothing follows but what was sampled.
check '-F 99: it is recorded' status 0 "$SKIDPROF" record --pmu sim -q --plain -F 99 -e cycles,instructions -o rare.data --truth rare.truth ./three 100000
"$SKIDPROF" compare -i rare.data --truth rare.truth --format json >out 2>err
check 'nothing is fixed' json 'd["functions"] and not any(f["status"] == "fixed" for f in d["functions"])'

# {cycles,instructions}:S, instructions are counted between samples of cycles.  Raw counts are cycles times the mean IPC.
plain events=cycles,instructions counted=instructions read
check 'instructions that are counted, not sampled' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'all of them are there, to 1%' total 1
check 'the truth is in the intervals' json 'sum(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5) >= 3'
check 'it is reported' status 0 "$SKIDPROF" report -i plain.data --format json
check 'with the skid that cycles tell' json 'd["meta"]["skid"]["source"] == "measured" and [e["period"] for e in d["meta"]["events"]] == [2003, 0]'
check 'every function has one raw IPC' json 'max(f["ipc_raw"] for f in d["functions"] if f["raw"] > 1e6) < 1.05 * min(f["ipc_raw"] for f in d["functions"] if f["raw"] > 1e6)'

# The kernel stops an event whose samples come too often until its next tick, a hundredth of the time or most of it; records
# say when.  A tick is 4 ms, of which the program runs some 2 here: until its end it is one spell.
for form in --plain ''; do
	# shellcheck disable=SC2086
	check "throttled ($form): it is recorded" status 0 "$SKIDPROF" record --pmu sim -q $form --no-branches --bursts 0 \
		-e cycles,instructions -c 2003 --max-rate 700000 -o thr.data --truth thr.truth ./three 300000
	check 'it is compared' status 0 "$SKIDPROF" compare -i thr.data --truth thr.truth --format json
	# The loop is the same all along; the start of the program is not, and runs for a twentieth of the time.
	check 'all instructions are there, to 8%' total 8
	check 'the truth is in the intervals' json 'sum(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5) >= 4'
	check 'it is reported' status 0 "$SKIDPROF" report -i thr.data
	check 'and said' grep -Eq '^# instructions was stopped [34][0-9]\.[0-9]% of the time, .*scaled by 1\.[4-9]' out
	check 'JSON' status 0 "$SKIDPROF" report -i thr.data --format json
	check 'has the share' json '0.3 < d["meta"]["events"][1]["throttled"] < 0.5 and d["meta"]["throttled"] >= 1'
	# Of a part of the time, what was stopped in that: the spell lies behind the samples, and is the second half's.
	cp out whole
	check 'its first half' status 0 "$SKIDPROF" report -i thr.data --time ..50% --format json
	check 'was not stopped' json 'd["meta"]["events"][1]["throttled"] == 0'
	cp out first
	check 'its second half' status 0 "$SKIDPROF" report -i thr.data --time 50%.. --format json
	check 'was for more than half of its time' json '0.5 < d["meta"]["events"][1]["throttled"] < 0.7'
	check 'and both are the whole, to 5%' json 'abs(sum(json.load(open(f))["meta"]["events"][1]["total"] for f in ("first", "out")) / json.load(open("whole"))["meta"]["events"][1]["total"] - 1) < 0.05'
done
finish
