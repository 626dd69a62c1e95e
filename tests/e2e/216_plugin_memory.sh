#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plugin as the emulator runs it, over real programs, under valgrind's memcheck: no access outside what it has.
# (A sanitizer's runtime needs addresses that the emulator gives to its guest.)
set -u
# Memcheck keeps account of all memory that is mapped: with this limit the plugin takes the smallest for its counts.
ulimit -f 200000
. "$TOP/tests/e2e/lib200.sh"
command -v valgrind >/dev/null || { echo 'skip: no valgrind'; exit 77; }
case $(uname -m) in x86_64 | aarch64) ;; *) echo 'skip: an emulator of another machine'; exit 77 ;; esac
emulator=qemu-$(uname -m)
real=$(command -v "$emulator") || { echo "skip: no $emulator"; exit 77; }

mkdir -p bin
cat >"bin/$emulator" <<S
#!/bin/sh
exec valgrind -q --smc-check=all-non-file --undef-value-errors=no --log-file=$SCRATCH/log.%p "$real" "\$@"
S
chmod +x "bin/$emulator"

# The instructions of a program's own in a file of counts: the start of all is another under valgrind, whose variables
# are in the environment.
own() # FILE PROGRAM
{
	awk -v name="/$(basename "$2")\$" '/^ob=/ { on = $0 ~ name } on && /^0x/ && $2 > 0 { n += $3 } END { print n + 0 }' "$1"
}

# clean NAME COMMAND...: it ends well, counts agree with the same without memcheck, and memcheck has nothing to say.
clean()
{
	local name=$1
	shift
	rm -f log.* v.out w.out
	PATH=$SCRATCH/bin:$PATH "$SKIDPROF" "${record[@]}" v.out "$@" >got 2>err
	ok $? "$name: runs under memcheck"
	head -3 err | sed 's/^/# /'
	check "$name: memcheck watched it" test -n "$(ls log.* 2>/dev/null)"
	cat log.* >log
	check "$name: memcheck is silent" test ! -s log
	head -20 log | sed 's/^/# /'
	"$SKIDPROF" truth -q -o w.out "$@" >want 2>/dev/null
	check "$name: the counts are those without it" test "$(own v.out "$1")" = "$(own w.out "$1")"
}

# Misses down a block that ends in a rep instruction, whose later steps lie within a line that has been fetched.
build rep <<'C'
#include <stdio.h>
#include <stdlib.h>
static inline void fill(void *p, long n)
{
#ifdef __x86_64__
	__asm__ volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(7l) : "memory");
#else
	for (long *q = p; n--; ) *q++ = 7;
#endif
}
int main(void)
{
	long n = 1 << 14, t = 0, *a = calloc((size_t)n, 8), *buf = calloc((size_t)n, 8), *p = buf;
	unsigned x = 1;
	for (int i = 0; i < 300; i++) {
		x = x * 1664525 + 1013904223;
		t += a[x % n] + a[(x >> 3) % n] + a[(x >> 5) % n] + a[(x * 7u) % n];
		fill(p, 3);
		p += 3;
	}
	printf("%ld\n", t);
	return 0;
}
C
record=(record -q --pmu sim -c 1009 -o v.data --truth)
clean 'a rep instruction behind misses, on the simulated core' ./rep
record=(truth -q -o)
build threads -pthread <<'C'
#include <pthread.h>
#include <stddef.h>
static void *work(void *p) { volatile long s = 0; for (long i = 0; i < 3000; i++) s += i; return p; }
int main(void)
{
	for (int k = 0; k < 40; k++) {
		pthread_t t[3];
		for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	}
	return 0;
}
C
clean 'threads that come and go' ./threads
clean 'a shell that forks and executes' sh -c 'ls / | cat; (echo x)'
exit 0
