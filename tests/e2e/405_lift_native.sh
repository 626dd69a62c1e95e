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
# Of ours: whatever else runs on this machine is none of our business.
none_left() { ! grep -qsz "^SKIDPROF_TORTURE=$$\$" /proc/[0-9]*/environ; }
SKIDPROF_TORTURE=$$ timeout 1500 ../torture "$BUILD/skidblock" "${BLOCKS:-800}" "${files[@]}" >../torture.out 2>&1
status=$?
sed 's/^/# /' ../torture.out
check 'every block is served, and none takes the server with it' test $status -eq 0
check 'most of them are timed' awk '/ run:/ { for (i = 1; i < NF; i++) { if ($i == "run:") n = $(i - 1); if ($(i + 1) == "timed,") t = $i } }
	END { exit !(t > 0.7 * n) }' ../torture.out
check 'no file is left' test -z "$(ls -A)"
check 'no process is left' wait_until none_left
