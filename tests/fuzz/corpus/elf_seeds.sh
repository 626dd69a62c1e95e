#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rebuild the seeds of fuzz_elf: tiny linked files of every kind the module reader knows.
set -eu
cd "$(dirname "$0")/fuzz_elf"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/s.c" <<'C'
extern int far(int);
static inline int half(int a) { return a / 2; }
int (*table[])(int) = { far };
int inner(int a) { return half(a + 1) * (a > 3 ? 7 : far(a)); }
void _start(void) { inner(3); table[0](1); for (;;) ; }
C
printf '%s\n' 'int far(int a) { return a + 1; }' >"$work/far.c"
small="-nostdlib -nostartfiles -O2 -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 -Wl,-z,norelro -Wl,--build-id=sha1"
for cc in gcc aarch64-linux-gnu-gcc; do
	isa=$($cc -dumpmachine | cut -d- -f1)
	$cc $small -shared -fpic "$work/far.c" -o "$work/libfar.so"
	$cc $small -static -gdwarf-4 "$work/s.c" "$work/far.c" -o "$isa-static-dwarf4"
	$cc $small -fpie -pie -gdwarf-5 "$work/s.c" "$work/libfar.so" -o "$isa-pie-dwarf5"
	${isa}-linux-gnu-strip "$isa-pie-dwarf5" -o "$isa-stripped" 2>/dev/null || strip "$isa-pie-dwarf5" -o "$isa-stripped"
done
# No section headers: what a packer leaves.
cp x86_64-stripped x86_64-no-sections
printf '\0\0\0\0\0\0\0\0' | dd of=x86_64-no-sections bs=1 seek=40 conv=notrunc 2>/dev/null
printf '\0\0\0\0' | dd of=x86_64-no-sections bs=1 seek=60 conv=notrunc 2>/dev/null
