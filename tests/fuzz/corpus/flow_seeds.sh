#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rebuild the seeds of fuzz_flow: the code of the cases, behind the two bytes that say how to read it.
set -eu
cd "$(dirname "$0")/fuzz_flow"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=../../../cases
# seed COMPILER CASE HEAD...
seed()
{
	"$1" -c -x assembler "$cases/$2.S" -o "$work/o"
	"$1" -static -nostdlib -Wl,-e,main -Wl,-Ttext=0x401000 -Wl,--build-id=none "$work/o" -o "$work/elf"
	"${1%gcc}objcopy" -O binary -j .text "$work/elf" "$work/code"
	# shellcheck disable=SC2059 # octal bytes
	{ printf "$3"; head -c 2048 "$work/code"; } >"$2"
}
seed gcc plain '\000\000'
seed gcc recursion '\010\000'
seed gcc tailcall '\010\002\000\000\020\000\004\000\000\000'
seed gcc overlap '\004\001\010\000\000\000'
seed gcc noreturn '\006\000'
seed aarch64-linux-gnu-gcc calls_a64 '\011\000'
seed aarch64-linux-gnu-gcc table_a64 '\001\000'
