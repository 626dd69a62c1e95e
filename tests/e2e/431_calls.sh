#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Calls and trip counts against what is exact: the same simulated run, and callgrind as a second witness.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

# work() is called 200,000 times; its inner loop turns 7 times; odd() is called by one call in two.
cat >calls.c <<'END'
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t sink;

__attribute__((noinline, noclone)) static uint64_t odd(uint64_t x)
{
	return x * 0x9e3779b97f4a7c15ull ^ x >> 31;
}

__attribute__((noinline, noclone)) static uint64_t work(uint64_t x, int n)
{
	for (int i = 0; i < n; i++)
		x = (x ^ x >> 7) * 0xff51afd7ed558ccdull + (x >> (i & 31));
	return x & 1 ? odd(x) : x;
}

int main(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 200000; i++)
		x += work(x, 7);
	sink = x;
	printf("%d\n", sink != 0);
	return 0;
}
END
gcc -O2 -fno-unroll-loops -gdwarf-4 calls.c -o calls || exit 1
"$SKIDPROF" record --pmu sim -q -o calls.data --truth calls.truth ./calls >/dev/null || exit 1

check 'calls are written' status 0 "$SKIDPROF" report -i calls.data --calls --format json
check 'work was called 200,000 times, and its interval holds that' json \
	'(lambda r: abs(r["calls"] / 200000 - 1) < 0.05 and r["calls_lo"] * 0.98 <= 200000 <= r["calls_hi"] * 1.02)([r for r in d["calls"] if r["function"] == "work"][0])'
check 'functions have them as well' json '[f for f in d["functions"] if f["name"] == "work"][0]["calls"] == [r for r in d["calls"] if r["function"] == "work"][0]["calls"]'
cp out sim.json
# Its cycles were sampled some thousands of times, and its calls are known to a percent: 5 standard deviations are far below a quarter.
check 'a call of work has its cycles, with an interval, and its IPC is theirs' json \
	'(lambda r: r["cycles_per_call_lo"] < r["cycles_per_call"] < r["cycles_per_call_hi"] < 1.25 * r["cycles_per_call_lo"] and abs(r["insn_per_call"] / r["cycles_per_call"] / r["ipc"] - 1) < 1e-6)([r for r in d["calls"] if r["function"] == "work"][0])'
check 'the table of functions says the same' json \
	'(lambda f, r: f["cycles_per_call_hi"] == r["cycles_per_call_hi"] and f["ipc_of_call"] == r["ipc"])([f for f in d["functions"] if f["name"] == "work"][0], [r for r in d["calls"] if r["function"] == "work"][0])'
# In the table of functions no interval stands beside them: each is marked by its width, whatever the function's status is.
check 'a table as wide as it likes' status 0 env COLUMNS=250 "$SKIDPROF" report -i calls.data --limit 0
check 'marks counts of calls that are not known to 5%, and no others' python3 -c '
import json, re
known = {f["name"]: f for f in json.load(open("sim.json"))["functions"]}
text = [l for l in open("out") if not l.startswith("#") and l.strip()]
n = 0
for line in text[1:]:
    words, name = line.split(), line.split()[-1]
    f = known.get(name)
    # SHARE, RAW, FIXED, the interval, CYCLES, CALLS, INSN/CALL, CYC/CALL
    for word, key in zip(words[5:8], ("calls", "insn_per_call", "cycles_per_call")):
        if f and f[key] is not None and word != "-":
            wide = f[key + "_hi"] - f[key + "_lo"] > 0.1 * f[key]
            assert word.startswith("~") == wide, (name, key, word, f[key + "_lo"], f[key + "_hi"])
            n += 1
assert n >= 4, n'
check 'has none before what is not known' sh -c '! grep -q "~-" out'
check '--why has them as data' status 0 "$SKIDPROF" report -i calls.data --why work --format json
check 'too' json '(lambda w: w["cycles_per_call_lo"] < w["cycles_per_call"] < w["cycles_per_call_hi"] and 0 < w["ipc_of_call"] < 8)(d["why"][0])'
# Status 3 is of what little the recording knows of other code beside it.
"$SKIDPROF" report -i calls.data --truth calls.truth --calls --format json >out 2>err
check 'with exact counts a call has what its function has, instructions without samples too' json \
	'all(abs(f["insn_per_call"] * f["calls"] - f["fixed"]) <= 1e-6 * f["fixed"] for f in d["functions"] if f["calls"])'
check 'exactly 200,000 calls, and no interval' json '[(r["calls"], r["calls_lo"]) for r in d["calls"] if r["function"] == "work"] == [(200000, None)]'
cp out exact.json
check 'odd() is within 5% of the exact count' python3 -c '
import json
a, b = ([r for r in json.load(open(f))["calls"] if r["function"] == "odd"][0]["calls"] for f in ("sim.json", "exact.json"))
assert abs(a / b - 1) < 0.05, (a, b)'

check 'trips are written' status 0 "$SKIDPROF" report -i calls.data --trips --function work --format json
check 'seven turns, at the line of the for' json \
	'(lambda r: abs(r["trips"] - 7) < 0.2 and r["line"] in (13, 14) and r["depth"] == 1)(d["trips"][0])'
"$SKIDPROF" report -i calls.data --truth calls.truth --trips --function work --format json >out 2>err
check 'exact: seven, and nothing else' json 'd["trips"][0]["trips"] == 7 and d["trips"][0]["entries"] == 200000'
check 'a table of trips' status 0 "$SKIDPROF" report -i calls.data --trips
check 'has the loop' has out 'work (calls.c:1'
check 'sorted by calls' status 0 "$SKIDPROF" report -i calls.data --sort calls --format csv
check 'the most called is first' sh -c 'sed -n 2p out | grep -q "^work,"'
check '--why tells the calls' status 0 "$SKIDPROF" report -i calls.data --why work
check 'with the interval of its cycles, and its IPC' sh -c 'grep -qE "cycles of a call: 90% interval [0-9.]+\.\.[0-9.]+; IPC of a call [0-9.]+$" out'
check 'and what a call comes to' sh -c 'grep -qE "calls: (19|20)[0-9],[0-9]{3}, 90% interval .*; a call is [0-9.]+ instructions and [0-9.]+ cycles" out'
check 'raw counts have no calls' status 0 "$SKIDPROF" report -i calls.data --raw --calls
check 'and it is said' has out 'no functions to show'
check 'trips with their status' status 0 "$SKIDPROF" report -i calls.data --trips --format json
check 'a loop has one where something is known of it' json \
	'd["trips"] and all((r["status"] is None) == (r["trips"] is None and r["iterations"] is None) for r in d["trips"])'
check 'no such function' status 1 "$SKIDPROF" report -i calls.data --trips --function wrok
check 'the nearest is named' one_line "did you mean 'work'?"

# callgrind counts calls by itself, on the real processor's program.
if command -v valgrind >/dev/null; then
	valgrind -q --tool=callgrind --callgrind-out-file=cg.out ./calls >/dev/null 2>&1
	check 'callgrind counts as many calls of work and odd' python3 -c '
import json, re
names, calls, callee = {}, {}, None
for line in open("cg.out"):
    m = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
    if m and m[2]:
        names[m[1]] = m[2]
    if line.startswith("cfn="):
        callee = names[m[1]]
    m = re.match(r"calls=(\d+)", line)
    if m:
        calls[callee] = calls.get(callee, 0) + int(m[1])
ours = {r["function"]: r["calls"] for r in json.load(open("exact.json"))["calls"]}
for f in ("work", "odd"):
    assert ours[f] == calls[f], (f, ours[f], calls[f])'
else
	echo "ok $((n_tests += 1)) - callgrind counts as many calls # SKIP no valgrind"
fi
finish
