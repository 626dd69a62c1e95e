#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# accuracy.sh BUILD [--seeds N] [--programs N] [--first SEED] [--real N] [--variants 'V V'] [--groups 'G G'] [--methods 'M M'] [--dir DIR]
#	[--jobs N] [--quick] [--keep]
#
# How right are corrected counts?  The five samples with N seeds each and N random programs (odd seeds are for those who
# develop, even ones are held out), each recorded with and without branch records and with fewer counters and events; and, with
# the first N seeds each, the programs in written/, which were written by those who did not know how they would be corrected,
# and open programs from Debian's sources (real.sh), with branch records, of the default core and of one whose records tell
# cycles.  All are corrected by every method and held against the exact counts of the same run.  Only commands that a user
# has are used.
# --keep leaves the recordings where they are, and the next run with --keep corrects those anew instead of making them again:
# what changed in correct/ is then held against the same recordings.
# --groups (of: sample written real random) and --methods leave out all others; --dir is where recordings and results go.
# Bursts are as many as a program of a few minutes has of them where a step takes some microseconds: one to some sixty samples.
# --first is the seed of the first random program, 1 by default: others than those that were looked at before.
# The forms plain-pair, plain-b, plain-turns, plain-precise and plain-hybrid are recordings as `perf record -e` writes them,
# without group reads, instructions at a period that no skid reaches (eq. 5); they are run where --variants names them: --variants 'plain-b plain-turns' --groups random --programs 10
# is a part, and --keep goes on with one that was stopped.
# Recordings that fail are counted and named in the table, never dropped; so are open programs that are not to be had.
set -u
usage="accuracy.sh BUILD [--seeds N] [--programs N] [--first SEED] [--real N] [--variants 'V V'] [--groups 'G G'] [--methods 'M M'] [--dir DIR] [--jobs N] [--quick] [--keep]"
B=${1:?$usage}
shift
seeds=20 programs=300 first=1 real=4 jobs=2 keep='' groups='sample written real random' only='' DIR='' forms='plain-pair plain-b plain-turns plain-precise plain-hybrid' variants='plain bursts branches branches-bursts four four-branches limited limited-bursts limited-branches limited-both two two-short skidless timed'
while [ $# -gt 0 ]; do
	case $1 in
	--seeds) seeds=${2:?$usage} && shift ;;
	--programs) programs=${2:?$usage} && shift ;;
	--first) first=${2:?$usage} && shift ;;
	--real) real=${2:?$usage} && shift ;;
	--jobs) jobs=${2:?$usage} && shift ;;
	--variants) variants=${2:?$usage} && shift ;;
	--groups) groups=${2:?$usage} && shift ;;
	--methods) only=${2:?$usage} && shift ;;
	--dir) DIR=${2:?$usage} && shift ;;
	--quick) seeds=2 programs=8 real=1 ;;
	--keep) keep=1 ;;
	*) echo "$usage" >&2 && exit 2 ;;
	esac
	shift
done
cd "$(dirname "$0")/../.." || exit 1
[[ $B == /* ]] || B=$PWD/$B
DIR=$(realpath -m "${DIR:-$B/accuracy}")
export SKIDPROF=$B/skidprof DIR KEEP=$keep B ONLY=$only
export LIMITED=${LIMITED:-cycles,instructions,branches,calls} TWO=cycles,instructions TURNS=cycles,instructions,branches,loads,stores,calls,cond-branches BURSTS=${BURSTS:-25000}
millions=${MILLIONS:-200}
[ -n "$keep" ] || rm -rf "$DIR"
rm -rf "$DIR/json"
mkdir -p "$DIR/json" "$DIR/bin" || exit 1

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

# one GROUP PROGRAM SEED VARIANT: record, then compare by every method that the variant is about.
one()
{
	local group=$1 program=$2 seed=$3 variant=$4 job status command
	local methods=(raw loops flow full) how=(--no-branches)
	job=$group.$program.$seed.$variant
	case $variant in
	branches) how=(-b --bursts 0) methods=(raw path full) ;;
	bursts) how=(--no-branches --bursts "$BURSTS") methods=(raw path full) ;;
	branches-bursts) how=(-b --bursts "$BURSTS") methods=(full) ;;
	timed) how=(-b --bursts 0 --core skylake) methods=(raw path full) ;;
	four) how=(--no-branches --core "$DIR/four.core") methods=(full) ;;
	four-branches) how=(-b --bursts 0 --core "$DIR/four.core") methods=(full) ;;
	limited) how=(--no-branches -e "$LIMITED") methods=(full) ;;
	limited-bursts) how=(--no-branches --bursts "$BURSTS" -e "$LIMITED") methods=(full) ;;
	limited-both) how=(-b --bursts "$BURSTS" -e "$LIMITED") methods=(full) ;;
	limited-branches) how=(-b --bursts 0 -e "$LIMITED") methods=(path full) ;;
	two) how=(--no-branches -e "$TWO") methods=(raw loops full) ;;
	two-short) how=(--no-branches -e "$TWO" --core "$DIR/short.core") methods=(raw loops full) ;;
	skidless) how=(--no-branches --core "$DIR/skidless.core") methods=(raw full) ;;
	plain-pair) how=(--plain --no-branches --bursts 0 -c 20011 -e "$TWO") methods=(raw full) ;;
	plain-b) how=(--plain -b --bursts 0 -c 2003 --core skylake) methods=(full) ;;
	plain-turns) how=(--plain --no-branches --bursts 0 -F 400000 --core "$DIR/four.core" -e "$TURNS") methods=(raw full) ;;
	plain-precise) how=(--plain --no-branches --bursts 0 -c 20011 --core skylake -e 'cycles,instructions:uppp') methods=(raw full) ;;
	plain-hybrid) how=(--plain --no-branches --bursts 0 -c 20011 --core 'skylake,zen5' -e "$TWO") methods=(raw full) ;;
	esac
	mapfile -t command < <(words "$group" "$program")
	[ -x "${command[0]}" ] || { echo 'it did not compile' >"$DIR/$job.err" && fail "$job" build && return; }
	[ -s "$DIR/$job.data" ] && [ -s "$DIR/$job.truth" ] || record "$job" --seed "$seed" "${how[@]}" -- "${command[@]}" ||
		{ fail "$job" record && return; }
	for method in "${methods[@]}"; do
		[ -z "$ONLY" ] || [[ " $ONLY " == *" $method "* ]] || continue
		timeout 600 "$SKIDPROF" compare -i "$DIR/$job.data" --truth "$DIR/$job.truth" --method "$method" \
			--format json >"$DIR/json/$job.$method.json" 2>"$DIR/$job.err"
		status=$?
		# 3: done, but not to be trusted; the table says how often and how wrong.
		[ $status -eq 0 ] || [ $status -eq 3 ] ||
			{ rm -f "$DIR/json/$job.$method.json" && fail "$job" "compare --method $method ($status)" &&
				mv "$DIR/json/$job.fail" "$DIR/json/$job.$method.fail"; }
	done
	# Lines and instructions are harder than functions: the samples' hot loops tell how much.
	case $ONLY$group.$variant in
	sample.plain | sample.branches)
		for by in line insn; do
			timeout 600 "$SKIDPROF" compare -i "$DIR/$job.data" --truth "$DIR/$job.truth" --by "$by" --format json \
				>"$DIR/json/$job.full-by-$by.json" 2>"$DIR/$job.err" || [ $? -eq 3 ] || fail "$job" "compare --by $by"
		done
		;;
	esac
	[ -n "$KEEP" ] || rm -f "$DIR/$job.data" "$DIR/$job.truth"
	rm -f "$DIR/$job.err"
}
export -f one fail record words

# compile SEED: one random program.
compile()
{
	local p=p$1
	# Kept recordings are of this very file.
	[ -z "$KEEP" ] || [ ! -x "$DIR/bin/$p" ] || return 0
	"$DIR/gen" "$1" "$2" >"$DIR/bin/$p.c" && gcc -O2 -g "$DIR/bin/$p.c" -o "$DIR/bin/$p"
}
export -f compile

# compile_written FILE
compile_written()
{
	local cc=gcc program
	[[ $1 == *.c ]] || cc=g++
	program=$DIR/bin/$(basename "${1%.*}")
	[ -z "$KEEP" ] || [ ! -x "$program" ] || return 0
	"$cc" -O2 -g "$1" -o "$program" -lm -pthread
}
export -f compile_written

gcc -O1 -std=gnu11 -D_GNU_SOURCE tests/stat/gen.c tests/stat/gen_body.c -lm -o "$DIR/gen" || exit 1
chosen random && seq "$first" $((first + programs - 1)) | xargs -P "$jobs" -I '{}' bash -c 'compile "$@"' compile '{}' "$millions"

written=(tests/stat/written/*)
[ "$real" -eq 0 ] || ! chosen written || printf '%s\n' "${written[@]}" | xargs -P "$jobs" -I '{}' bash -c 'compile_written "$@"' compile '{}'

# Open programs are fetched and built once; what is missing is said in the table.
[[ $variants == *branches* ]] || groups=${groups//real/}
if [ "$real" -gt 0 ] && chosen real; then
	mkdir -p "$B/real"
	[ -s "$B/real/programs" ] || tests/stat/real.sh "$B/real" 2>"$B/real/missing" >/dev/null
	cp "$B/real/missing" "$DIR/json/missing"
fi

# The default core, but with interrupts that come within a loop's period, or at once.
skid()
{
	sed '/^[[:space:]]*skid[[:space:]]/d' profiler/sim/cores/zen5.core && echo "skid $1 $2 1"
}
skid 12 28 >"$DIR/short.core"
skid 0 1 >"$DIR/skidless.core"
# With four counters, as other cores have: two at a time beside instructions and cycles.
{ sed '/^n_counters[[:space:]]/d' profiler/sim/cores/zen5.core && echo 'n_counters 4'; } >"$DIR/four.core"

# A seed of every sample, its part of the random programs, and so on: a sweep that is stopped has some of everything.
list()
{
	local s v n=0 p sample group program
	for ((s = 1; s <= seeds; s++)); do
		! chosen sample || for sample in soplex omnetpp mcf hmmer libsvm; do
			for v in ${variants//timed/}; do
				echo "sample $sample $s $v"
			done
		done
		((s > real)) || {
			! chosen real || while read -r group program _; do
				for v in branches timed bursts branches-bursts; do
					[[ " $variants " != *" $v "* ]] || echo "$group $program $s $v"
				done
			done <"$B/real/programs"
			! chosen written || for program in "${written[@]##*/}"; do
				for v in branches timed plain bursts branches-bursts $forms; do
					[[ " $variants " != *" $v "* ]] || echo "written ${program%.*} $s $v"
				done
			done
		}
		chosen random || continue
		while ((n * seeds < s * programs)); do
			p=$((first + n)) n=$((n + 1)) group=tune
			[ $((p % 2)) -eq 0 ] && group=heldout
			for v in $variants; do
				case $v in two-short | skidless | timed) ;; *) echo "$group p$p $p $v" ;; esac
			done
		done
	done
}
# Ctrl-C ends the sweep; what is there by then is shown.
trap 'echo "stopped: not all of it" >&2' INT
list | xargs -P "$jobs" -L 1 bash -c 'one "$@"' one

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
[ $status -eq 0 ] && [ "$same" = yes ]
