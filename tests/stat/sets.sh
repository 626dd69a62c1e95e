#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# sets.sh record SET [SECONDS [MODE...]] | sets.sh evaluate SET BUILD RESULTS [MODE...]
#
# Two sets of programs that corrected counts are judged on: "dev" for who changes correct/, "frozen" to confirm with.  Half of
# each are random programs (gen.c; seeds from 10001 are frozen), half open programs of other authors (sets/programs).  The unit is
# the program.  Nothing here prints a single program of the frozen set.
#
# record makes what is missing below $CACHE (default ~/.cache/skidprof-sets), which lies outside the tree, for SECONDS (600)
# at most, and can be called again until it says that all is there; of these modes, else of all.  Each program once; SEEDS=3: with three
# seeds, the second when all have the first.  evaluate corrects the recordings with any tree's BUILD, into the folder RESULTS, for PART_S
# seconds (36000) at most.  It goes on where it was stopped, and begins anew with another BUILD; 3: there is more to do.  sets.py prints the
# table, and the difference of two such folders.
#
# Modes:  intel, amd, arm  what record takes by default on these cores (random programs are built for aarch64, too)
#         clock            time and bursts, natively; a program runs as often as makes two seconds
#         plain            as perf record -b writes it; every other program on a core whose records tell no cycles
#         counters         no branch records, no bursts
#         few              the same with some ten bursts: they must not be worse than none
set -u
usage="sets.sh record SET [SECONDS [MODE...]] | sets.sh evaluate SET BUILD RESULTS [MODE...]"
what=${1:?$usage} set=${2:?$usage}
cd "$(dirname "$0")/../.." || exit 1
CACHE=${CACHE:-$HOME/.cache/skidprof-sets}
mkdir -p "$CACHE/rec/$set" || exit 1
CACHE=$(cd "$CACHE" && pwd) rec=$CACHE/rec/$set
millions=${MILLIONS:-40} jobs=${JOBS:-2}
case $set in dev) first=20001 ;; frozen) first=10001 ;; *) echo "$usage" >&2 && exit 2 ;; esac
end=$(($(date +%s) + ${PART_S:-36000}))
export CACHE set rec millions end

# generate SEED FOLDER MODE: a random program, if it is not there, for aarch64 where that is asked for.
generate()
{
	local cc=gcc
	[ $(($1 % 2)) -eq 0 ] && cc=clang
	[ -s "$2/command" ] || {
		mkdir -p "$2" && "$CACHE/gen" "$1" "$millions" >"$2/program.c" &&
			$cc -O2 -g "$2/program.c" -o "$2/program" && echo "$2/program" >"$2/command"
	}
	[ "$3" != arm ] || [ -s "$2/program.arm" ] || aarch64-linux-gnu-gcc -O2 -g -static "$2/program.c" -o "$2/program.arm" 2>/dev/null
}

# one NAME[@SEED] NUMBER MODE: record, unless that was done or failed before.
one()
{
	local name=${1%@*} number=$2 mode=$3 out=$rec/$1.$3 input=/dev/null how=() seed=0 command runs core=skylake f
	f=$CACHE/$set/$name
	[[ $1 != *@* ]] || seed=${1#*@}
	[ -s "$out.data" ] || [ -e "$out.failed" ] && return
	[[ $name == p$number ]] && generate "$number" "$f" "$mode"
	mapfile -t command <"$f/command"
	[ -s "$f/stdin" ] && input=$f/stdin
	[ $((number % 2)) -eq 0 ] && core=zen5
	case $mode in
	intel) how=(--core skylake) ;;
	amd) how=(--core zen5) ;;
	arm) how=(--core cortex-a76) && [ -x "$f/program.arm" ] && command=("$f/program.arm") ;;
	plain) how=(--core "$core" --plain -b) ;;
	counters) how=(--core zen5 --no-branches) ;;
	few) how=(--core zen5 --no-branches --bursts 3000) ;;
	esac
	if [ "$mode" = clock ]; then
		runs=$("$CACHE/again" 0 "$input" "${command[@]}")
		# The emulated processor, whose counts are the truth, has no AVX-512: the C library must choose alike.
		GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512BW,-AVX512F,-RTM,-Prefer_No_VZEROUPPER timeout 120 "$SKIDPROF" record --pmu clock \
			-q -o "$out.part" -- "$CACHE/again" "$runs" "$input" "${command[@]}" </dev/null >/dev/null 2>"$out.err"
		cp "$rec/$name.amd.truth" "$out.truth" 2>>"$out.err"
	else
		timeout 300 "$SKIDPROF" record --pmu sim -q --seed $((number + 100000 * seed)) -o "$out.part" --truth "$out.truth" "${how[@]}" -- \
			"${command[@]}" <"$input" >/dev/null 2>"$out.err"
	fi
	[ -s "$out.part" ] && [ -s "$out.truth" ] && mv "$out.part" "$out.data" && rm -f "$out.err" && return
	rm -f "$out.part" && mv "$out.err" "$out.failed"
}

# correct NAME MODE
correct()
{
	local in=$rec/$1.$2 out=$results/$1.$2 how status
	[ -s "$out.json" ] || [ -e "$out.failed" ] && return
	[ "$(date +%s)" -lt "$end" ] || { echo more >&3 && return; }
	case $2 in
	clock | plain) how=(report) ;;
	*) how=(compare --truth "$in.truth") ;;
	esac
	TIMEFORMAT='%U %S'
	time (timeout 300 "$SKIDPROF" "${how[@]}" -i "$in.data" --format json >"$out.part" 2>"$out.err") 2>"$out.time"
	status=$?
	# What each instruction of each region really ran: the same regions.
	[ "${how[0]}" = compare ] || "$SKIDPROF" report -i "$in.data" --truth "$in.truth" --insns --format json >"$out.exact" 2>>"$out.err"
	# It has its name only once it is whole.
	case $status in
	0 | 3) mv "$out.part" "$out.json" ;;
	*) mv "$out.part" "$out.failed" ;;
	esac
}
export -f one correct

# names: NAME NUMBER, random and open programs in turn.
names()
{
	local k=0 open
	mapfile -t open < <(awk -v set="$set" '$1 == set { print $2 }' tests/stat/sets/programs)
	while [ $k -lt 30 ] || [ $k -lt ${#open[@]} ]; do
		[ $k -ge 30 ] || echo "p$((first + k)) $((first + k))"
		[ $k -ge ${#open[@]} ] || [ ! -s "$CACHE/$set/${open[k]}/command" ] || echo "${open[k]} $((k + 1))"
		k=$((k + 1))
	done
}

case $what in
record)
	until=$((SECONDS + ${3:-600})) modes=${*:4}
	export SKIDPROF=${SKIDPROF:-$PWD/build/skidprof}
	# What can't record at all would call every program failed, for good.
	"$SKIDPROF" record --pmu sim -q -o "$rec/try" -- true || exit 1
	rm -f "$rec/try"
	gcc -O1 -std=gnu11 -D_GNU_SOURCE tests/stat/gen.c tests/stat/gen_body.c -lm -o "$CACHE/gen" || exit 1
	gcc -O1 -std=gnu11 -D_GNU_SOURCE tests/stat/sets/again.c -o "$CACHE/again" || exit 1
	[ -n "${NOBUILD:-}" ] || tests/stat/sets/build.sh "$CACHE" "$set"
	# A dozen programs at a time: what was stopped has some in every mode.
	names | awk -v modes="${modes:-amd counters intel plain arm few clock}" -v seeds="${SEEDS:-1}" '{ name[NR] = $1; number[NR] = $2 }
		END {
			m = split(modes, mode, " ")
			for (s = 0; s < seeds; s++)
				for (k = 0; k < NR; k += 12)
					for (i = 1; i <= m; i++)
						for (j = k + 1; j <= NR && j <= k + 12; j++)
							print name[j] (s ? "@" s : ""), number[j], mode[i]
		}' | {
		while read -r name number mode; do
			[ $SECONDS -lt $until ] || { echo "sets.sh: stopped after its time; call it again for the rest" && exit 3; }
			one "$name" "$number" "$mode" </dev/null
		done
		echo "sets.sh: all recordings of the $set set are there: $(find "$rec" -name '*.data' | wc -l), failed: $(find "$rec" -name '*.failed' | wc -l)"
	}
	;;
evaluate)
	build=${3:?$usage} results=${4:?$usage}
	shift 4
	SKIDPROF=$(cd "$build" && pwd)/skidprof
	mkdir -p "$results" && results=$(cd "$results" && pwd) || exit 1
	export SKIDPROF results
	build=$(sha256sum <"$SKIDPROF")
	[ "$build" = "$(cat "$results/build" 2>/dev/null)" ] || { rm -rf "${results:?}"/* && echo "$build" >"$results/build"; }
	left=$(for mode in "${@:-}"; do
		find "$rec" -name "*.${mode:-*}.data" | sort
	done | sed 's|.*/||; s/\.data$//; s/\.\([a-z]*\)$/ \1/' | xargs -r -P "$jobs" -L 1 bash -c 'correct "$@" 3>&1 >/dev/null' correct | wc -l)
	[ "$left" -eq 0 ] || { echo "sets.sh: $left recordings are not corrected yet; call it again for the rest" && exit 3; }
	;;
*) echo "$usage" >&2 && exit 2 ;;
esac
