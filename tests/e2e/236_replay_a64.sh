#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The replayer of aarch64 against the processor, or an emulator of two: one that signs pointers and has atomic
# instructions, and one that does not.  CASES: as many stretches of code (make replay-torture).
set -u
. "$TOP/tests/e2e/lib200.sh"
case $(uname -m) in
aarch64)
	cc=(gcc -O2) run=() cpus=(this)
	;;
*)
	command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null || {
		echo 'no aarch64-linux-gnu-gcc, or no qemu-aarch64'
		exit 77
	}
	cc=(aarch64-linux-gnu-gcc -O2 -static) run=(qemu-aarch64 -cpu) cpus=(cortex-a57 max)
	;;
esac
flags=(-std=gnu11 -D_GNU_SOURCE -g -Wall -iquote "$TOP")
# As the Makefile builds skidreplay.
for f in "$TOP"/profiler/replay/{run,pages,blocks,marks}.c "$TOP"/profiler/replay/a64/*.c; do
	"${cc[@]}" "${flags[@]}" -mgeneral-regs-only -fno-stack-protector -fno-builtin -mbranch-protection=none \
		-c "$f" -o "$(basename "$(dirname "$f")")-$(basename "$f" .c).o" || exit 1
done
"${cc[@]}" "${flags[@]}" "$TOP/tests/e2e/replay_fuzz_a64.c" ./*.o -o fuzz || exit 1
mapfile -t files < <(ls /usr/aarch64-linux-gnu/lib/lib{c,m}.so.6 /lib/aarch64-linux-gnu/lib{c,m}.so.6 2>/dev/null)
# The same tree does not fail one time in many; another SEED looks elsewhere.
SEED=${SEED:-1}
for cpu in "${cpus[@]}"; do
	timeout 3000 "${run[@]}" ${run:+"$cpu"} ./fuzz "${CASES:-10000}" "$SEED" "${files[@]}" >fuzz.out 2>&1
	status=$?
	[ $status -ne 77 ] || {
		head -1 fuzz.out
		exit 77
	}
	check "$cpu: instructions with random registers leave the same behind (SEED=$SEED)" test $status -eq 0
	tail -60 fuzz.out | cut -c1-200 | sed 's/^# //; s/^/# /'
done
exit 0
