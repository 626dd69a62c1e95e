#!/bin/bash
# Run tests: run.sh BUILD [unit|cases|guest|e2e|stress|san|fuzz|lint ...]; all of them without names.
# As many run at once as there are processors, but for those that use all of them by themselves.
# Every test speaks TAP ("ok 1 - name", "not ok 2 - name", "ok 3 - name # SKIP why"), or is a script
# whose exit status is its result, 77 meaning skipped.  Closes with "N passed, N failed".
set -u
B=$1
shift
# The guest takes longest, and one processor: it runs beside all others.
[ $# -gt 0 ] || set -- build unit cases guest e2e stress lint san fuzz
passed=0 failed=0 skipped=0
export SKIDPROF=$PWD/$B/skidprof BUILD=$PWD/$B TOP=$PWD
# Extra inputs, used where they are there: never needed.
export EXTRA_PERFDATA=${EXTRA_PERFDATA-$PWD/../shared/perfdata}
export PATH=$PWD/$B:$PATH
# Numbers have points, lists the order of their bytes, and no tool complains of a locale that is not there.
export LC_ALL=C.UTF-8
unset LANGUAGE
# Nobody's own options.
export SKIDPROF_CONFIG=
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'jobs -p | xargs -I {} pkill -P {}; exit 130' INT TERM
# Without job control the tests would ignore SIGINT, which some send.
set -m

# Seconds of the clock and of processors that a test took.
TIMEFORMAT='%0R s, %0U + %0S of CPU'

# count NAME STATUS OUTPUT: read TAP from a test's output, or take its status as one result.
count()
{
	local name=$1 status=$2 out=$3 ok nok skip
	ok=$(grep -cE '^ok ' "$out")
	# TAP's word for a fault that is known and not mended: it is shown each time, and fails nothing.
	nok=$(grep -E '^not ok ' "$out" | grep -vc '# TODO')
	skip=$(grep -cE '^ok .*# SKIP' "$out")
	grep -E '^not ok .*# TODO' "$out" | sed "s|^|known   $name: |"
	if [ "$((ok + nok))" -eq 0 ]; then
		case $status in
		0) ok=1 ;;
		77) skip=1 ok=1 ;;
		*) nok=1 ;;
		esac
	elif [ "$status" -ne 0 ] && [ "$status" -ne 77 ] && [ "$nok" -eq 0 ]; then
		nok=1
	fi
	passed=$((passed + ok - skip))
	failed=$((failed + nok))
	skipped=$((skipped + skip))
	if [ "$nok" -gt 0 ]; then
		printf 'FAILED  %s (exit %s)\n' "$name" "$status"
		grep -vE '^ok ' "$out" | tail -40 | sed 's/^/    /'
	elif [ "$skip" -gt 0 ]; then
		printf 'ok      %s, skipped: %s\n' "$name" "$(grep -hE '# SKIP|^skip' "$out" | head -3 | tr '\n' ';')"
	else
		printf 'ok      %s (%d; %s)\n' "$name" "$ok" "$(cat "$out.time")"
	fi
}

jobs=$(nproc)
# Tests that were started and not yet counted: the files of their output, and their names.
started=() names=() n_started=0

# start NAME SECONDS COMMAND...: beside others, one for each processor.
start()
{
	local name=$1 limit=$2 out=$scratch/$((n_started += 1))
	shift 2
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	{
		{ time timeout -k 10 "$limit" "$@" >"$out" 2>&1 </dev/null; } 2>"$out.time"
		status=$?
		[ $status -eq 124 ] && echo "timed out after $limit s" >>"$out"
		echo $status >"$out.status"
	} &
	started+=("$out") names+=("$name")
	count_ended
}

# Those that ended are counted in the order in which they were started.
count_ended()
{
	while [ ${#started[@]} -gt 0 ] && [ -s "${started[0]}.status" ]; do
		count "${names[0]}" "$(cat "${started[0]}.status")" "${started[0]}"
		rm -f "${started[0]}" "${started[0]}".{status,time}
		started=("${started[@]:1}") names=("${names[@]:1}")
	done
}

# What has no status was killed with its shell.
finish()
{
	local out
	wait
	for out in "${started[@]}"; do [ -s "$out.status" ] || echo 137 >"$out.status"; done
	count_ended
}

# run NAME SECONDS COMMAND...: alone.
run()
{
	finish
	start "$@"
	finish
}

for group in "$@"; do
	case $group in
	build)
		run 'build with gcc' 900 make -j"$jobs" B="$B" CFLAGS=-Werror all samples
		run 'build with clang' 900 make -j"$jobs" B=build-clang CC=clang CFLAGS=-Werror all
		;;
	unit)
		run "unit tests build ($B)" 900 make -j"$jobs" B="$B" ${SAN:+SAN=$SAN} unit-tests
		for t in "$B"/tests/test_*; do
			[ -x "$t" ] && [ -f "$t" ] && [[ $t != *.d ]] || continue
			CMOCKA_MESSAGE_OUTPUT=TAP start "unit ${t##*/} ($B)" 600 "$t"
		done
		;;
	cases) start "cases ($B)" 900 tests/cases/run.sh "$B" ;;
	e2e)
		for t in tests/e2e/[0-9]*.sh; do
			[ -e "$t" ] || continue
			mkdir -p "$scratch/${t##*/}"
			SCRATCH=$scratch/${t##*/} start "e2e ${t##*/}" 1200 "$t"
		done
		;;
	guest) start 'guest (hardware PMU, aarch64)' 1500 tests/guest/run.sh ;;
	stress) start 'stress, short' 1500 tests/stress/run.py "$B" ;;
	san)
		run 'build with sanitizers' 900 make -j"$jobs" SAN=address,undefined CFLAGS=-Werror all unit-tests
		for t in build-san/tests/test_*; do
			[ -x "$t" ] && [ -f "$t" ] || continue
			CMOCKA_MESSAGE_OUTPUT=TAP start "unit ${t##*/} (sanitizers)" 600 "$t"
		done
		start 'cases (sanitizers)' 900 tests/cases/run.sh build-san
		start 'recordings (sanitizers)' 900 tests/san.sh
		;;
	fuzz) run 'fuzz' 1800 make -j"$jobs" B="$B" SECONDS_EACH="${SECONDS_EACH:-20}" fuzz ;;
	lint) run 'lint' 1800 make B="$B" lint ;;
	*)
		echo "run.sh: no group of tests '$group'" >&2
		exit 2
		;;
	esac
done
finish
[ "$skipped" -gt 0 ] && echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
