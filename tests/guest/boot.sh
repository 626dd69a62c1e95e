#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# boot.sh VMLINUZ ROOT OUT [SECONDS]: boot ROOT, whose /init writes to the console, and unpack what it sent into OUT.
#
# The same ROOT gives the same run, instruction by instruction: time is counted in instructions (1 ns each, and so is
# a cycle), the clock starts at a fixed date, and the seed is fixed.  The guest hands over files as a tar, gzip, base64
# between two marks on its console: disks would need modules, and would not be repeatable.
set -u
kernel=$1 root=$2 out=$3 limit=${4:-900}
mkdir -p "$out" || exit 1
find "$root" -exec touch -hd @0 {} +
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --reproducible -R 0:0 --quiet | gzip -1n) >"$out/initrd.gz" || exit 1
timeout "$limit" qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 1 -m 512 \
	-icount shift=0,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm \
	-nodefaults -display none -serial "file:$out/console" -monitor none -no-reboot \
	-kernel "$kernel" -initrd "$out/initrd.gz" -append 'console=ttyAMA0 quiet panic=-1' </dev/null
status=$?
tr -d '\r' <"$out/console" | sed -n '/^=== files ===$/,/^=== end ===$/p' | sed '1d;$d' | base64 -d | tar -xz -C "$out" || {
	echo "the guest sent no files; QEMU ended with status $status; the console's last lines:"
	tail -20 "$out/console"
	exit 1
}
