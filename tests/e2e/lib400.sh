# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Shared by 400-449: TAP lines, and a program with a small inlined function in its loop, recorded once a test.
n_tests=0
failed=0

# check NAME COMMAND...: one TAP line by the command's status.
check()
{
	local name=$1
	shift
	n_tests=$((n_tests + 1))
	if "$@"; then
		echo "ok $n_tests - $name"
	else
		echo "not ok $n_tests - $name"
		failed=1
	fi
}

# status WANT COMMAND...: the command exits with WANT; output in out and err, and neither crash nor noise.
status()
{
	local want=$1 got
	shift
	timeout 120 "$@" >out 2>err </dev/null
	got=$?
	[ "$got" -eq "$want" ] && return
	echo "# $* exited with $got, not $want: $(head -c 300 err)"
	return 1
}

# one_line TEXT: the error is one line and has this in it.
one_line()
{
	[ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err && return
	echo "# not one line with '$1': $(head -c 300 err)"
	return 1
}

# has FILE TEXT
has()
{
	grep -qF -- "$2" "$1" && return
	echo "# no '$2' in: $(head -c 300 "$1")"
	return 1
}

# python EXPRESSION of d, the JSON in the file out.
json()
{
	python3 -c 'import json, sys
d = json.load(open("out"))
sys.exit(0 if eval(sys.argv[1]) else 1)' "$1" && return
	echo "# not so: $1"
	return 1
}

# The truth for one turn of the loop is known by reading it: mix is inlined and loses instructions to its neighbours.
# Two million turns are many for the simulated core, and few milliseconds for a real one: there the number is given.
two_program()
{
	cat >two.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	return x ^ x >> 29;
}

__attribute__((noinline)) static uint64_t cheap(uint64_t x)
{
	return x * 3 + 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2000000;
	uint64_t sum = 1;

	for (int i = 0; i < n; i++) {
		if (sum & 3)
			sum += mix(sum);
		else
			sum = cheap(sum);
	}
	printf("%ju\n", (uintmax_t)sum);
	return 0;
}
END
	gcc -O2 -g two.c -o two
}

record_two()
{
	two_program && "$SKIDPROF" record --pmu sim -q -o two.data --truth two.cg ./two >/dev/null
}

finish()
{
	echo "1..$n_tests"
	exit $failed
}
