#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How a report's cost grows: bench_growth.sh BUILD [functions|samples].  Wall time, processor time and the most memory of `report`
# and of `perf report --stdio` on
#  - programs of 10^3 to 10^6 functions, all called in one loop, of some four thousand samples each;
#  - one program of 10^4 to 10^7 samples.
# MOST_FUNCTIONS and MOST_SAMPLES end the rows earlier.  The recordings are kept in BUILD/bench, for the next run.
set -u
B=$(realpath "$1") || exit 1
part=${2:-}
export SKIDPROF=$B/skidprof
# shellcheck source=tests/bench_lib.sh
. "$(dirname "$0")/bench_lib.sh"
mkdir -p "$B/bench" && cd "$B/bench" || exit 1

# functions N ROUNDS: assembly of a loop that calls each of them in turn, four blocks a function
functions()
{
	cat <<S
	.text
	.globl main
	.type main, @function
main:
	push %rbx
	mov \$$2, %ebx
	mov \$1, %eax
1:
	.altmacro
	.macro call_one i
	call f\\i
	.endm
	.macro function i
	.type f\\i, @function
f\\i:	imul \$1664525, %eax, %eax
	add \$1013904223, %eax
	js 2f
	xor \$\\i, %eax
2:	ret
	.size f\\i, . - f\\i
	.endm
	.set n, 0
	.rept $1
	call_one %n
	.set n, n + 1
	.endr
	dec %ebx
	jnz 1b
	xor %eax, %eax
	pop %rbx
	ret
	.size main, . - main
	.set n, 0
	.rept $1
	function %n
	.set n, n + 1
	.endr
	.section .note.GNU-stack, "", @progbits
S
}

by_functions()
{
	local n
	for n in 1000 10000 100000 1000000; do
		[ "$n" -le "${MOST_FUNCTIONS:-1000000}" ] || break
		[ -x functions$n ] || { functions $n $((5000000 / n)) >functions$n.S && gcc functions$n.S -o functions$n && rm functions$n.S || exit 1; }
		record functions$n
		# shellcheck disable=SC2046 # three words
		row "report, $n functions" $(cost "$SKIDPROF" report -i functions$n.data)
		# shellcheck disable=SC2046
		has_perf && row "perf report --stdio, $n functions" $(cost perf report --stdio --no-inline -i functions$n.data)
	done
}

# Work of some 10^9 instructions in three loops that run in turn, sampled ever more often.
by_samples()
{
	local period
	[ -x growing ] || gcc -O2 -g -x c - -o growing <<'C' || exit 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned next(unsigned *s) { return *s = *s * 1664525u + 1013904223u; }
static int by_value(const void *a, const void *b) { return (*(const unsigned *)a > *(const unsigned *)b) - (*(const unsigned *)a < *(const unsigned *)b); }
int main(void)
{
	static unsigned v[20000], count[256];
	unsigned s = 1, sum = 0;
	for (int round = 0; round < 150; round++) {
		for (int i = 0; i < 20000; i++) v[i] = next(&s);
		qsort(v, 20000, sizeof(*v), by_value);
		for (int i = 0; i < 20000; i++) count[v[i] >> 24]++;
		for (int i = 0; i < 256; i++) sum += count[i] * (unsigned)i;
	}
	printf("%u\n", sum);
	return 0;
}
C
	for period in 100003 10007 1009 101; do
		[ $((1000000000 / period)) -le "${MOST_SAMPLES:-10000000}" ] || break
		record growing -c $period
		# shellcheck disable=SC2046
		row "report, $(samples growing.data) samples" $(cost "$SKIDPROF" report -i growing.data)
		# shellcheck disable=SC2046
		has_perf && row 'perf report --stdio on the same' $(cost perf report --stdio --no-inline -i growing.data)
		rm -f growing.data
	done
}

row '' 'wall s' 'cpu s' 'MB'
[ "$part" = samples ] || by_functions
[ "$part" = functions ] || by_samples
