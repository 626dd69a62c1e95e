#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Record, report and compare a short program with the build under the address and undefined sanitizers: no report of
# theirs, no leak.  The plugin runs inside the emulator, which brings no sanitizer runtime, and is built without.
set -u
cd "$(dirname "$0")/.." || exit 1
skidprof=$PWD/build-san/skidprof
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export ASAN_OPTIONS=detect_leaks=1:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99
n=0 failed=0

# step NAME STATUS COMMAND...: ends with STATUS ("any": any but a sanitizer's or a signal's), and silently for them.
step()
{
	local name=$1 want=$2 status
	shift 2
	n=$((n + 1))
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	if grep -qE 'Sanitizer|runtime error:' "$dir/err" "$dir/out" || [ $status -ge 99 ] ||
		{ [ "$want" != any ] && [ $status -ne "$want" ]; }; then
		echo "not ok $n - $name (exit $status)"
		head -40 "$dir/err" | sed 's/^/# /'
		failed=1
	else
		echo "ok $n - $name"
	fi
}

[ -x "$skidprof" ] || {
	echo "not ok 1 - no $skidprof: build it with make SAN=address,undefined"
	exit 1
}
gcc -O2 -g samples/mcf.c -o "$dir/mcf" && g++ -O2 -g samples/soplex.cc -o "$dir/soplex" || exit 1
data=$dir/san.data truth=$dir/san.truth
# 3 is "done, but not to be trusted": a run this short may end so.
step 'record with truth' 0 "$skidprof" record -q --pmu sim -o "$data" --truth "$truth" -- "$dir/mcf" 300
step 'report, both' any "$skidprof" report -i "$data" --both
step 'report as JSON' any "$skidprof" report -i "$data" --format json
step 'report as CSV' any "$skidprof" report -i "$data" --format csv
for method in raw full; do
	step "compare, --method $method" any "$skidprof" compare -i "$data" --truth "$truth" --method $method
done
step 'truth of a C++ program' 0 "$skidprof" truth -o "$dir/soplex.truth" -- "$dir/soplex" 3
step 'a C++ program with branch records' 0 "$skidprof" record -q --pmu sim -b -o "$dir/soplex.data" -- "$dir/soplex" 12
step 'its report' any "$skidprof" report -i "$dir/soplex.data" --both
if "$skidprof" record -q --pmu hardware -e page-faults -o "$dir/k.data" true 2>/dev/null; then
	step 'a group of kernel events, threads and children' 0 "$skidprof" record -q --pmu hardware -z --stats \
		-e '{task-clock:u/20011,page-faults},{cpu-clock,faults}' -o "$dir/k.data" -- sh -c 'true & true; "$0" 100' "$dir/mcf"
	step 'its report' any "$skidprof" report -i "$dir/k.data" --both
	step 'a thread alone, for a while' 0 "$skidprof" record -q --pmu hardware -t $$ -e page-faults,cpu-clock -D 10 \
		--duration 0.1 --max-size 1M -o "$dir/k.data"
	step 'names of events' 0 "$skidprof" record -e help
	step 'an event that is none' 2 "$skidprof" record --pmu hardware -e '{page-faults,no-such}' true
fi
head -c 3000 "$data" >"$dir/cut.data"
step 'a file that was cut off' any "$skidprof" report -i "$dir/cut.data"
step 'a file that is no recording' 1 "$skidprof" report -i "$dir/mcf"
step 'no such file' 1 "$skidprof" report -i "$dir/none"
step 'a wrong command line' 2 "$skidprof" report --no-such-option
echo "1..$n"
exit $failed
