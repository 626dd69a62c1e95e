#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh BUILD [--seeds N] [--programs N] [--every N] [--first SEED] [--real N] [--variants 'V V'] [--groups 'G G'] [--dir DIR]
#	[--jobs N] [--limit SECONDS] [--quick] [--keep]
#
# How right are corrected counts?  Three groups of programs: the five samples with N seeds each, random ones, and those in written/,
# by people who did not know how they would be corrected; a fourth, real, are open programs from Debian's sources (real.sh), which
# is measured where --groups names it.  Each is recorded in each of the ways below, as far as nothing is named, corrected,
# and held against the exact counts of the same run.  Only commands that a user has are used.
#
# It ends after --limit seconds, and goes on where it was when it is called again with the same build; a table is of one version.
# With another build it begins anew.  --keep leaves recordings where they are, also those of another build, which are then
# corrected anew: what changed in correct/ is held against the same recordings.
#
# --groups (of: sample random written real) leaves out all others; --dir is where recordings and results go.
# --first is the seed of the first random program: nobody looks at those of the default, which are for this table.
# Every fourth of the written programs, or every Nth by --every.
# The forms plain-* are recordings as `perf record -e` writes them, without group reads, instructions at a period that no skid
# reaches (eq. 5).  Fewer counters and events (four limited two skidless ...) are measured where --variants names them.
# Cores are those whose interrupts and branch records are like real machines' (amd, intel); zen5 and skylake are easier.
# Bursts are as many as a program of a few minutes has of them: one to some sixty samples.
# Recordings that fail are counted and named in the table, never dropped; so are open programs that are not to be had.
set -u
usage="accuracy.sh BUILD [--seeds N] [--programs N] [--every N] [--first SEED] [--real N] [--variants 'V V'] [--groups 'G G'] [--dir DIR] [--jobs N] [--limit SECONDS] [--quick] [--keep]"
B=${1:?$usage}
shift
seeds=1 programs=6 every=4 first=30001 real=1 jobs=2 limit=36000 keep='' groups='sample random written' DIR=''
variants='plain bursts branches branches-bursts timed plain-pair plain-b plain-turns plain-precise plain-hybrid plain-arm'
while [ $# -gt 0 ]; do
	case $1 in
	--seeds) seeds=${2:?$usage} && shift ;;
	--programs) programs=${2:?$usage} && shift ;;
	--every) every=${2:?$usage} && shift ;;
	--first) first=${2:?$usage} && shift ;;
	--real) real=${2:?$usage} && shift ;;
	--limit) limit=${2:?$usage} && shift ;;
	--jobs) jobs=${2:?$usage} && shift ;;
	--variants) variants=${2:?$usage} && shift ;;
	--groups) groups=${2:?$usage} && shift ;;
	--dir) DIR=${2:?$usage} && shift ;;
	--quick) programs=3 groups='sample random' ;;
	--keep) keep=1 ;;
	*) echo "$usage" >&2 && exit 2 ;;
	esac
	shift
done
cd "$(dirname "$0")/../.." || exit 1
[[ $B == /* ]] || B=$PWD/$B
DIR=$(realpath -m "${DIR:-$B/accuracy}")
export SKIDPROF=$B/skidprof DIR KEEP=$keep B
export amd=zen5-real intel=skylake-real
export LIMITED=${LIMITED:-cycles,instructions,branches,calls} TWO=cycles,instructions TURNS=cycles,instructions,branches,loads,stores,calls,cond-branches BURSTS=${BURSTS:-25000}
millions=${MILLIONS:-200}
# Of this build, and of no other one.
build=$(sha256sum "$SKIDPROF" "$B/skidsim.so") || exit 1
[ "$build" = "$(cat "$DIR/build" 2>/dev/null)" ] || if [ -n "$keep" ]; then rm -rf "$DIR/json"; else rm -rf "$DIR"; fi
mkdir -p "$DIR/json" "$DIR/bin" && echo "$build" >"$DIR/build" || exit 1
rm -f "$DIR"/json/*.fail
END=$(($(date +%s) + limit))
export END

# chosen GROUP: is it one of those to measure?
chosen() { [[ " $groups " == *" $1 "* ]]; }

# fail JOB STEP: keep the last words of what failed, for the table.
fail()
{
	printf '%s: %s\n' "$2" "$(tail -1 "$DIR/$1.err" 2>/dev/null)" >"$DIR/json/$1.fail"
}

# words GROUP PROGRAM: the command to record, a word a line.
words()
{
	case $1 in
	sample) echo "$B/samples/$2" ;;
	real | unseen) awk -v name="$2" '$2 == name { for (i = 3; i <= NF; i++) print $i }' "$B/real/programs" ;;
	*) echo "$DIR/bin/$2" ;;
	esac
}

# record JOB OPTION...: the recording has its name only once it is whole.
record()
{
	local job=$1
	shift
	timeout 600 "$SKIDPROF" record --pmu sim -q -o "$DIR/$job.part" --truth "$DIR/$job.truth" "$@" \
		</dev/null >/dev/null 2>"$DIR/$job.err" && mv "$DIR/$job.part" "$DIR/$job.data" && return
	rm -f "$DIR/$job.part" "$DIR/$job.truth"
	return 1
}

# one GROUP PROGRAM SEED VARIANT: record, then compare.
one()
{
	local group=$1 program=$2 seed=$3 variant=$4 job status command
	local how=(--no-branches) core=$amd
	job=$group.$program.$seed.$variant
	[ "$(date +%s)" -lt "$END" ] && [ ! -e "$DIR/json/$job.done" ] || return 0
	case $variant in
	branches) how=(-b --bursts 0) ;;
	bursts) how=(--no-branches --bursts "$BURSTS") ;;
	branches-bursts) how=(-b --bursts "$BURSTS") ;;
	timed) how=(-b --bursts 0) core=$intel ;;
	four) core=$DIR/four.core ;;
	four-branches) how=(-b --bursts 0) core=$DIR/four.core ;;
	limited) how=(--no-branches -e "$LIMITED") ;;
	limited-bursts) how=(--no-branches --bursts "$BURSTS" -e "$LIMITED") ;;
	limited-both) how=(-b --bursts "$BURSTS" -e "$LIMITED") ;;
	limited-branches) how=(-b --bursts 0 -e "$LIMITED") ;;
	two) how=(--no-branches -e "$TWO") ;;
	two-short) how=(--no-branches -e "$TWO") core=$DIR/short.core ;;
	skidless) core=$DIR/skidless.core ;;
	plain-pair) how=(--plain --no-branches --bursts 0 -c 20011 -e "$TWO") ;;
	plain-b) how=(--plain -b --bursts 0 -c 2003) core=$intel ;;
	plain-turns) how=(--plain --no-branches --bursts 0 -F 400000 -e "$TURNS") core=$DIR/four.core ;;
	plain-precise) how=(--plain --no-branches --bursts 0 -c 20011 -e 'cycles,instructions:uppp') core=$intel ;;
	plain-hybrid) how=(--plain --no-branches --bursts 0 -c 20011 -e "$TWO") core=$intel,$amd ;;
	plain-arm) how=(--plain --no-branches --bursts 0 -c 20011 -e "$TWO") core=cortex-a76 ;;
	esac
	mapfile -t command < <(words "$group" "$program")
	[ -x "${command[0]}" ] || { echo 'it did not compile' >"$DIR/$job.err" && fail "$job" build && return; }
	[ -s "$DIR/$job.data" ] && [ -s "$DIR/$job.truth" ] || record "$job" --seed "$seed" --core "$core" "${how[@]}" -- "${command[@]}" ||
		{ fail "$job" record && return; }
	timeout 600 "$SKIDPROF" compare -i "$DIR/$job.data" --truth "$DIR/$job.truth" --format json \
		>"$DIR/json/$job.full.json" 2>"$DIR/$job.err"
	status=$?
	# 3: done, but not to be trusted; the table says how often and how wrong.
	[ $status -eq 0 ] || [ $status -eq 3 ] ||
		{ rm -f "$DIR/json/$job.full.json" && fail "$job" "compare ($status)" && mv "$DIR/json/$job.fail" "$DIR/json/$job.full.fail"; }
	# Lines and instructions are harder than functions: the samples' hot loops tell how much.
	case $group.$variant in
	sample.plain | sample.branches)
		for by in line insn; do
			timeout 600 "$SKIDPROF" compare -i "$DIR/$job.data" --truth "$DIR/$job.truth" --by "$by" --format json \
				>"$DIR/json/$job.full-by-$by.json" 2>"$DIR/$job.err" || [ $? -eq 3 ] || fail "$job" "compare --by $by"
		done
		;;
	esac
	[ -n "$KEEP" ] || rm -f "$DIR/$job.data" "$DIR/$job.truth"
	rm -f "$DIR/$job.err"
	[ -n "$(find "$DIR/json" -name "$job.fail" -o -name "$job.*.fail")" ] || touch "$DIR/json/$job.done"
}
export -f one fail record words

# compile SEED: one random program.
compile()
{
	local p=p$1
	# What was recorded before is of this very file.
	[ ! -x "$DIR/bin/$p" ] || return 0
	"$DIR/gen" "$1" "$2" >"$DIR/bin/$p.c" && gcc -O2 -g "$DIR/bin/$p.c" -o "$DIR/bin/$p"
}
export -f compile

# compile_written FILE
compile_written()
{
	local cc=gcc program
	[[ $1 == *.c ]] || cc=g++
	program=$DIR/bin/$(basename "${1%.*}")
	[ ! -x "$program" ] || return 0
	"$cc" -O2 -g "$1" -o "$program" -lm -pthread
}
export -f compile_written

gcc -O1 -std=gnu11 -D_GNU_SOURCE tests/stat/gen.c tests/stat/gen_body.c -lm -o "$DIR/gen" || exit 1
chosen random && seq "$first" $((first + programs - 1)) | xargs -P "$jobs" -I '{}' bash -c 'compile "$@"' compile '{}' "$millions"

written=(tests/stat/written/*)
[ "$real" -eq 0 ] || ! chosen written || printf '%s\n' "${written[@]}" | xargs -P "$jobs" -I '{}' bash -c 'compile_written "$@"' compile '{}'

# Open programs are fetched and built once; what is missing is said in the table.
if [ "$real" -gt 0 ] && chosen real; then
	mkdir -p "$B/real"
	[ -s "$B/real/programs" ] || tests/stat/real.sh "$B/real" 2>"$B/real/missing" >/dev/null
	cp "$B/real/missing" "$DIR/json/missing"
fi

# The default core, but with interrupts that come within a loop's period, or at once.
skid()
{
	sed '/^[[:space:]]*skid[[:space:]]/d' profiler/sim/cores/zen5.core && sed '/^like/d' "profiler/sim/cores/$amd.core" && echo "skid $1 $2 1"
}
skid 12 28 >"$DIR/short.core"
skid 0 1 >"$DIR/skidless.core"
# With four counters, as other cores have: two at a time beside instructions and cycles.
{ cat "profiler/sim/cores/$amd.core" && echo 'n_counters 4'; } >"$DIR/four.core"

# A seed of every sample, its part of the random programs, and so on: a sweep that is stopped has some of everything.
list()
{
	local s v k n=0 sample group program
	for ((s = 1; s <= seeds; s++)); do
		! chosen sample || for sample in soplex omnetpp mcf hmmer libsvm; do
			for v in $variants; do
				echo "sample $sample $s $v"
			done
		done
		((s > real)) || {
			! chosen real || while read -r group program _; do
				for v in $variants; do
					echo "$group $program $s $v"
				done
			done <"$B/real/programs"
			! chosen written || for ((k = 0; k < ${#written[@]}; k += every)); do
				program=${written[k]##*/}
				for v in $variants; do
					echo "written ${program%.*} $s $v"
				done
			done
		}
		! chosen random || while ((n * seeds < s * programs)); do
			for v in $variants; do
				echo "random p$((first + n)) $((first + n)) $v"
			done
			n=$((n + 1))
		done
	done
}
# Ctrl-C ends the sweep; what is there by then is shown.
trap 'echo "stopped: not all of it" >&2' INT
list >"$DIR/list"
xargs -P "$jobs" -L 1 bash -c 'one "$@"' one <"$DIR/list"

# The same seed and file give the same bits.
same='not checked'
if "$SKIDPROF" record --pmu sim -q -o "$DIR/same.data" --truth "$DIR/same.truth" -- "$B/samples/soplex" >/dev/null 2>&1; then
	for k in 1 2; do
		"$SKIDPROF" compare -i "$DIR/same.data" --truth "$DIR/same.truth" --format json >"$DIR/same$k" 2>/dev/null
	done
	cmp -s "$DIR/same1" "$DIR/same2" && [ -s "$DIR/same1" ] && same=yes || same=NO
	rm -f "$DIR"/same*
fi
set -o pipefail
python3 tests/stat/accuracy.py "$DIR/json" profiler/sim/cores/zen5.core | tee "$DIR/table.txt"
status=$?
echo "Same seed, same file, same bits: $same"
echo "Each recording's comparison: $DIR/json"
of=$(wc -l <"$DIR/list") is=0
while read -r group program seed v; do
	[ ! -e "$DIR/json/$group.$program.$seed.$v.done" ] || is=$((is + 1))
done <"$DIR/list"
echo "$is of $of recordings are there: run it again to go on" >&2
[ $status -eq 0 ] && [ "$same" = yes ] && [ "$is" -eq "$of" ]
