#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# plain_b.sh BUILD [DIR]: what `perf record -b` tells, the commonest recording of all: cycles, branch records, and no count of
# instructions.  The programs were chosen before anything was built for such recordings, and are not looked at in between.
# A row a program: points of instructions in the wrong function (total variation), as time says and as corrected, how far the
# total is off, intervals that hold, functions called fixed that are off by more than 5% and outside their interval.
# DIR keeps the recordings for the next run.  Fails where fewer than nine programs in ten are right to a point, of records that
# tell cycles.  Of those that don't nothing tells the pace of loops that are apart in time: what is right then is said.
set -u
B=${1:?plain_b.sh BUILD [DIR]}
DIR=${2:-$B/plain-b}
cd "$(dirname "$0")/../.." || exit 1
[[ $B == /* ]] || B=$PWD/$B
random='7301 7302 7303 7304 7305 7306 7307 7308 7309 7310'
written='bptree calqueue emu6502 format huffman lz77 nbody regexnfa sparsechol trees'
mkdir -p "$DIR" || exit 1
gcc -O1 -std=gnu11 -D_GNU_SOURCE tests/stat/gen.c tests/stat/gen_body.c -lm -o "$DIR/gen" || exit 1

build()
{
	local source
	[ -x "$DIR/$1" ] && return
	case $1 in
	p[0-9]*) "$DIR/gen" "${1#p}" 60 >"$DIR/$1.c" && source=$DIR/$1.c ;;
	*) source=tests/stat/written/$1.c ;;
	esac
	gcc -O2 -g "$source" -o "$DIR/$1" -lm -pthread
}

# Some twenty thousand samples, as of ten seconds at perf's four thousand a second.
record()
{
	[ -s "$DIR/$1.$2.data" ] && return
	"$B/skidprof" record --pmu sim -q --core "$2" --plain -b -c 2003 --bursts 0 -o "$DIR/$1.$2.part" --truth "$DIR/$1.$2.truth" \
		"$DIR/$1" </dev/null >/dev/null 2>"$DIR/$1.$2.err" && mv "$DIR/$1.$2.part" "$DIR/$1.$2.data"
}

programs=$written
for s in $random; do programs="$programs p$s"; done
for core in skylake-real zen5-real; do
	for p in $programs; do
		build "$p" && record "$p" "$core" || echo "$p: not built or recorded: $(tail -1 "$DIR/$p.$core.err" 2>/dev/null)"
	done
done
# shellcheck disable=SC2086
exec python3 tests/stat/plain_b.py "$B/skidprof" "$DIR" $programs
