#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Instruction boundaries, branch kinds and targets against objdump's, on real libraries of both instruction sets.
set -u
command -v objdump >/dev/null && command -v python3 >/dev/null && command -v gcc >/dev/null || exit 77
# shellcheck disable=SC2046
gcc -std=gnu11 -D_GNU_SOURCE -O2 -iquote "$TOP" "$TOP/tests/e2e/decode_dump.c" "$BUILD/libskidprof.a" \
	$(pkg-config --libs libdw libelf capstone) -liberty -lm -o "$SCRATCH/dump" || exit 1
n=0
one()
{
	n=$((n + 1))
	if [ ! -e "$2" ] || ! command -v "$1" >/dev/null; then
		echo "ok $n - $2 # SKIP not here"
	elif python3 "$TOP/tests/e2e/decode_compare.py" "$SCRATCH/dump" "$1" "$2"; then
		echo "ok $n - $2 is decoded as $1 does"
	else
		echo "not ok $n - $2 is decoded as $1 does"
	fi
}
libc=$(ldd "$SCRATCH/dump" | awk '$1 == "libc.so.6" { print $3 }')
x86=objdump a64=aarch64-linux-gnu-objdump
[ "$(uname -m)" = x86_64 ] || x86=x86_64-linux-gnu-objdump a64=objdump
[ "$(uname -m)" = x86_64 ] && one "$x86" "$libc" || one "$a64" "$libc"
one "$a64" /usr/aarch64-linux-gnu/lib/libc.so.6
