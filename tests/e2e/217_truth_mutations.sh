#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Is the second witness (215) awake?  The plugin is built with a fault, and what holds without it must not hold.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v valgrind >/dev/null || { echo 'skip: no valgrind'; exit 77; }
compare=$TOP/tests/e2e/callgrind_compare.py
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load

build threads -pthread <<'C'
#include <pthread.h>
#include <stddef.h>
static __attribute__((noipa)) long early(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s = s * 3 + (s >> 7); return s; }
static void *work(void *p) { early(*(long *)p); return p; }
int main(void)
{
	long n[3] = { 20000, 30000, 40000 };
	for (int i = 0; i < 3; i++) { pthread_t t; pthread_create(&t, NULL, work, &n[i]); pthread_join(t, NULL); }
	return 0;
}
C
valgrind -q --tool=callgrind --dump-instr=yes --compress-pos=no --skip-plt=no --callgrind-out-file=cg.out ./threads
agrees() # SKIDPROF: 0 yes, 1 no
{
	"$1" truth -q -o t.out ./threads 2>err || return 2
	"$compare" '' t.out cg.out -- "$PWD/threads" >said 2>&1
	local status=$?
	sed 's/^/# /' said
	return $status
}
agrees "$SKIDPROF"
ok $? 'without a fault both agree'

cp -r "$TOP/profiler" "$TOP/Makefile" .
cp "$SKIDPROF" skidprof.copy
# mutant NAME FILE FROM TO: FROM is there, and with TO in its place they no longer agree.
mutant()
{
	grep -qF -- "$3" "$2" || { ok 1 "$1: the place to mutate is not there any more"; return; }
	cp "$2" kept
	python3 - "$2" "$3" "$4" <<'P'
import sys
path, a, b = sys.argv[1:]
text = open(path).read()
open(path, "w").write(text.replace(a, b, 1))
P
	make -s B=built built/skidsim.so >make.out 2>&1 || { ok 1 "$1: does not build"; tail -3 make.out; }
	cp skidprof.copy built/skidprof
	agrees "$PWD/built/skidprof"
	ok $(($? != 1)) "$1: is seen"
	cp kept "$2"
}
mutant 'the counts of a thread that ends are dropped' profiler/sim/counts.c \
	'	if (vec_push(&c->free, slot) < 0)' '	memset(slot->runs, 0, sizeof(slot->runs));
	if (vec_push(&c->free, slot) < 0)'
mutant 'a mapping is a page off' profiler/sim/guest.c '.pgoff_bytes = page_of(ph->p_offset),' \
	'.pgoff_bytes = page_of(ph->p_offset) + PAGE,'
mutant 'a run more of each block in a thread' profiler/sim/counts.c '	slot->chunk = chunk;' \
	'	slot->chunk = chunk;
	for (int i = 0; i < COUNTS_CHUNK; i++)
		slot->runs[i] = 100;'
exit 0
