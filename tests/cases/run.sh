#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh BUILD: literate cases.  Each tests/cases/*.S is assembled, linked, and its graph compared with the
# comments in it:
#   # @isa aarch64             x86-64 without it
#   # @link -shared            options instead of -static -nostdlib
#   # @hot f g                 functions with samples; all without it
#   # @expect regions 1        a line that flowdump prints
#   # @expect region*recursive    a pattern for a line
#   # @never *unknown*         a pattern no line matches
#   # @edge f -> f:top taken   an edge; f:top is the label `top` in function f
#   # @no-edge f:a -> f:b fall
#   # @trip f -> f:top 16      trip count of the loop at f:top when it is entered from f
#   # @no-trip f:top           no trip count of this loop is told
# Then switch.c by every compiler at every level: all its tables must be read.
set -u
B=${1:?usage: run.sh BUILD}
cd "$(dirname "$0")/../.." || exit 1
dump=$B/cases/flowdump
case $B in *san*) san='SAN=address,undefined' ;; *) san= ;; esac
make -s B="$B" $san "$dump" || { echo "not ok 1 - flowdump builds"; exit 1; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0 linkflags=

# result STATUS NAME DETAIL
result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		failed=1
		echo "not ok $n - $2"
		printf '%s\n' "$3" | sed 's/^/# /'
	fi
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# name TEXT: "f:top" becomes "f+0x5", "f" "f+0x0".
name()
{
	local f=${1%%:*} label=${1#*:}
	printf '%s+0x%x' "$f" $((0x${addr[$label]:-0} - 0x${addr[$f]:-0}))
}

# has PATTERN: some line of the output matches.
has()
{
	local line
	while IFS= read -r line; do
		# shellcheck disable=SC2254 # a pattern is meant
		case $line in $1) return 0 ;; esac
	done <"$tmp/out"
	return 1
}

# check KIND REST: one comment of a case.
check()
{
	local from to kind
	read -r from _ to kind <<<"$2"
	case $1 in
	expect) has "$2" ;;
	never) ! has "$2" ;;
	edge) has "edge $(name "$from") -> $(name "$to") $kind" ;;
	no-edge) ! has "edge $(name "$from") -> $(name "$to") $kind*" ;;
	trip) has "trip $(name "$from") -> $(name "$to") count $kind" ;;
	no-trip) ! has "trip * -> $(name "$from") count *" ;;
	isa | link | hot) ;;
	*) false ;;
	esac
}

one_case()
{
	local src=$1 title cc link hot kind rest bad='' checks=0
	title=${src##*/}
	cc=gcc
	grep -q '^# @isa aarch64' "$src" && cc=aarch64-linux-gnu-gcc
	command -v $cc >/dev/null || { skip "$title" "no $cc"; return; }
	link=$(sed -n 's/^# @link //p' "$src")
	hot=$(sed -n 's/^# @hot //p' "$src")
	# shellcheck disable=SC2086 # options are words
	if ! $cc -x assembler ${link:--static} -nostdlib -Wl,-e,main -Wl,--build-id=none "$src" -o "$tmp/elf" 2>"$tmp/err"; then
		result 1 "$title" "$(cat "$tmp/err")"
		return
	fi
	declare -A addr=()
	while read -r at _ symbol; do addr[$symbol]=$at; done < <(nm "$tmp/elf" | grep -v ' U ')
	# shellcheck disable=SC2086
	if ! "$dump" "$tmp/elf" $hot >"$tmp/out" 2>"$tmp/err"; then
		result 1 "$title" "$(cat "$tmp/err")"
		return
	fi
	while read -r kind rest; do
		case $kind in isa | link | hot) ;; *) checks=$((checks + 1)) ;; esac
		check "$kind" "$rest" || bad+="@$kind $rest"$'\n'
	done < <(sed -n 's/^# @//p' "$src")
	[ $checks -gt 0 ] || bad='nothing is expected of it'
	[ -z "$bad" ]
	result $? "$title ($checks)" "$bad$(cat "$tmp/out")"
}

# A switch of 24 dense cases by the compiler given: its table is read, without a guess.
switch_case()
{
	local title="switch.c: $*" targets
	command -v "$1" >/dev/null || { skip "$title" "no $1"; return; }
	# clang assembles for aarch64; the linker is gcc's.
	if ! "$@" -fno-inline -c tests/cases/switch.c -o "$tmp/switch.o" 2>"$tmp/err" ||
	   ! ${linker:-$1} "$linkflags" "$tmp/switch.o" -o "$tmp/elf" 2>>"$tmp/err"; then
		result 1 "$title" "$(cat "$tmp/err")"
		return
	fi
	"$dump" "$tmp/elf" dispatch interpret >"$tmp/out" 2>"$tmp/err"
	targets=$(grep -c '^edge dispatch.* ind$' "$tmp/out")
	[ "$targets" -ge 24 ] && [ "$(grep -c '^edge interpret.* ind$' "$tmp/out")" -ge 24 ] &&
		! grep -qE '^block (dispatch|interpret).* unknown' "$tmp/out" && ! grep -qE ' ind guessed$' "$tmp/out"
	result $? "$title" "$(grep -E ' ind|unknown' "$tmp/out")"
}

for src in tests/cases/*.S; do
	one_case "$src"
done
for level in -O0 -O1 -O2 -O3 -Os; do
	for cc in gcc clang; do
		linkflags=-pie switch_case $cc $level -fPIE
		linkflags=-no-pie switch_case $cc $level -fno-pie
	done
	linkflags=-pie switch_case aarch64-linux-gnu-gcc $level -fPIE
	linker=aarch64-linux-gnu-gcc linkflags=-pie switch_case clang --target=aarch64-linux-gnu $level -fPIE
done
exit $failed
