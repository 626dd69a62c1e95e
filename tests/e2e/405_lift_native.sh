#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks of the system's own programs, run in the sandbox: none may crash the server, hang it, or leave anything
# behind.  BLOCKS=20000 for the whole (make lift-torture).
set -u
. "$TOP/tests/e2e/lib200.sh"
[ "$(uname -m)" = x86_64 ] || { echo 'skip: blocks are run on x86-64 only' && exit 77; }
# shellcheck disable=SC2046
gcc -std=gnu11 -D_GNU_SOURCE -O2 -iquote "$TOP" "$TOP/tests/e2e/lift_torture.c" "$BUILD/libskidprof.a" \
	$(pkg-config --libs libdw libelf capstone) -liberty -lm -o torture || exit 1
mkdir -p empty && cd empty || exit 1
files=(/usr/bin/*)
[ "${BLOCKS:-0}" -gt 0 ] || files=(/bin/bash /bin/ls /usr/bin/awk /usr/bin/find /usr/bin/objdump)
servers() { pgrep -x skidblock | sort; }
servers >../before
timeout 1500 ../torture "$BUILD/skidblock" "${BLOCKS:-800}" "${files[@]}" >../torture.out 2>&1
status=$?
sed 's/^/# /' ../torture.out
check 'every block is served, and none takes the server with it' test $status -eq 0
check 'most of them are timed' awk '/ run:/ { for (i = 1; i < NF; i++) { if ($i == "run:") n = $(i - 1); if ($(i + 1) == "timed,") t = $i } }
	END { exit !(t > 0.7 * n) }' ../torture.out
check 'no file is left' test -z "$(ls -A)"
sleep 0.2
check 'no process is left' test -z "$(servers | comm -13 ../before -)"
